// The hardware tokens in memory, by serial number and by user, so that a login does not read the store.

import type { HardwareToken } from "./token.ts";

const NONE: readonly HardwareToken[] = [];

/** Reads and changes only memory. The caller writes to the store. */
export class TokenCache {
  readonly #byId = new Map<string, HardwareToken>();
  readonly #byUser = new Map<string, HardwareToken[]>();

  get size(): number {
    return this.#byId.size;
  }

  /** Users with at least one token. */
  get userCount(): number {
    return this.#byUser.size;
  }

  all(): Iterable<HardwareToken> {
    return this.#byId.values();
  }

  get(id: string): HardwareToken | null {
    return this.#byId.get(id) ?? null;
  }

  /** Oldest assignment first. */
  of(user: string): readonly HardwareToken[] {
    return this.#byUser.get(user) ?? NONE;
  }

  /** Adds a token, or replaces the one with the same serial number. */
  put(token: HardwareToken): void {
    this.drop(token.id);
    this.#byId.set(token.id, token);
    const { user } = token.record;
    if (user === null) return;
    const own = [...this.of(user), token];
    this.#byUser.set(user, own.sort((a, b) => assigned(a) - assigned(b) || (a.id < b.id ? -1 : 1)));
  }

  drop(id: string): void {
    const known = this.get(id);
    if (known === null) return;
    this.#byId.delete(id);
    const { user } = known.record;
    if (user === null) return;
    const rest = this.of(user).filter((token) => token.id !== id);
    if (rest.length === 0) this.#byUser.delete(user);
    else this.#byUser.set(user, rest);
  }
}

function assigned({ record: { assignedMs } }: HardwareToken): number {
  return assignedMs ?? 0;
}
