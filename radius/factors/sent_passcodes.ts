// Passcodes that were sent at the end of a rejected login: in append mode, `password,sms` is answered with a Reject, and the next login of the user
// at the same client, `password,<passcode>`, is accepted. Only the keyed hash of a passcode is stored.

import { RecordVersions } from "../../platform/cluster/record_versions.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import type { SentPasscode } from "../conversation/conversation.ts";

/** Whose passcode: the canonical name of the user, and the name of the client. */
export interface PasscodeOwner {
  readonly user: string;
  readonly client: string;
}

export interface KeptPasscode extends SentPasscode {
  /** The hash is bound to it. */
  readonly secretId: string;
}

/** A change of a passcode that is in effect in memory. `undo` reverses it if its commit fails. */
interface PasscodeChange {
  readonly mutation: Mutation;
  undo(): void;
}

const STORE_KEY = "sent_passcode";
/** Ended passcodes are removed from memory when there are so many. */
const MAX_KEPT = 10_000;

export class SentPasscodes {
  readonly #deps: { readonly store: Store; readonly clock: Pick<Clock, "nowMs"> };
  readonly #versions: RecordVersions;
  readonly #kept = new Map<string, KeptPasscode>();

  constructor(deps: { readonly store: Store; readonly clock: Pick<Clock, "nowMs"> }) {
    this.#deps = deps;
    this.#versions = new RecordVersions(deps.store);
    deps.store.follow([STORE_KEY], (entry) => this.#apply(entry));
  }

  async load(): Promise<void> {
    await this.#deps.store.load([STORE_KEY], (entry) => this.#apply(entry));
  }

  /** The passcode that was sent last, if it is still valid. */
  of(owner: PasscodeOwner): KeptPasscode | null {
    const kept = this.#kept.size === 0 ? undefined : this.#kept.get(nameOf(owner));
    return kept !== undefined && kept.expiresMs > this.#deps.clock.nowMs() ? kept : null;
  }

  /** Keeps a passcode for the next login. It replaces the one before. */
  prepareKeep(owner: PasscodeOwner, passcode: KeptPasscode): PasscodeChange {
    const key = keyOf(owner);
    const before = this.#kept.get(nameOf(owner));
    const nowMs = this.#deps.clock.nowMs();
    if (this.#kept.size >= MAX_KEPT) this.#removeEnded(nowMs);
    this.#kept.set(nameOf(owner), passcode);
    return {
      mutation: {
        ...{ type: "set", key, value: passcode, expireInMs: Math.max(1, passcode.expiresMs - nowMs) },
        basis: this.#versions.overwriteOf(key),
      },
      undo: () => this.#restore(owner, before),
    };
  }

  /** Uses up the passcode at once, so that no second login uses it meanwhile. */
  prepareUse(owner: PasscodeOwner): PasscodeChange {
    const key = keyOf(owner);
    const before = this.#kept.get(nameOf(owner));
    this.#kept.delete(nameOf(owner));
    return {
      mutation: { type: "delete", key, basis: this.#versions.basisOf(key) },
      undo: () => this.#restore(owner, before),
    };
  }

  #restore(owner: PasscodeOwner, before: KeptPasscode | undefined): void {
    if (before === undefined) this.#kept.delete(nameOf(owner));
    else this.#kept.set(nameOf(owner), before);
  }

  #removeEnded(nowMs: number): void {
    for (const [name, { expiresMs }] of this.#kept) if (expiresMs <= nowMs) this.#kept.delete(name);
  }

  #apply({ key, value, versionstamp }: StoreEntry<unknown>): void {
    const [, client, user] = key;
    if (typeof client !== "string" || typeof user !== "string") return;
    this.#versions.apply(key, versionstamp);
    const name = nameOf({ user, client });
    if (value === null) return void this.#kept.delete(name);
    const passcode = value as KeptPasscode;
    if (typeof passcode.digest !== "string" || typeof passcode.expiresMs !== "number") {
      throw new TypeError("it has no digest and no end, so this passcode is not accepted");
    }
    this.#kept.set(name, passcode);
  }
}

function keyOf({ user, client }: PasscodeOwner): Deno.KvKey {
  return [STORE_KEY, client, user];
}

/** Unambiguous: the length precedes the name of the client. */
function nameOf({ user, client }: PasscodeOwner): string {
  return `${client.length} ${client} ${user}`;
}
