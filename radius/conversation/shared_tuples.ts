// Finds tuples that several logins share although they contain a Calling-Station-Id or a port. For example, a portal sends one value for all
// its users. State then contains a token. A shared tuple is stored for a day.

import type { Clock } from "../../platform/runtime.ts";
import type { Log } from "../../platform/log.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";

export interface SharedTupleLogin {
  /** The tuple without the user. */
  readonly place: string;
  /** Canonical name. */
  readonly user: string;
  /** Whether another login of the tuple is in progress. */
  readonly busy: boolean;
  /** Whether the sender proved that it knows the secret. If not, nothing is recorded. */
  readonly proven: boolean;
}

interface Known {
  user: string;
  /** Whether its last login has no final answer yet. */
  open: boolean;
  /** Until when the tuple counts as shared. */
  sharedUntilMs: number;
}

const SHARED_MS = 24 * 3600_000;
/** Tuples in memory, in each of two generations. */
const MAX_KNOWN = 32_768;
/** Beyond this number, every tuple counts as shared. Otherwise a removed one would count as distinct. */
const MAX_SHARED = 16_384;
const RECOUNT_MS = 60_000;
/** A longer key is replaced by its digest. */
const MAX_KEY_CHARACTERS = 128;
const STORE_KEY = "shared_tuple";

interface SharedTuplesDeps {
  readonly store: Pick<Store, "list" | "commit" | "follow">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
  readonly vault: Pick<Vault, "digest">;
  readonly maxKnown?: number;
  readonly maxShared?: number;
}

export class SharedTuples {
  readonly #deps: SharedTuplesDeps;
  readonly #maxKnown: number;
  readonly #maxShared: number;
  #current = new Map<string, Known>();
  #previous = new Map<string, Known>();
  #shared = 0;
  #countedMs = 0;

  constructor(deps: SharedTuplesDeps) {
    this.#deps = deps;
    this.#maxKnown = deps.maxKnown ?? MAX_KNOWN;
    this.#maxShared = deps.maxShared ?? MAX_SHARED;
    deps.store.follow([STORE_KEY], (entry) => this.#apply(entry));
  }

  /**
   * Records a login. Returns whether its tuple distinguishes it. It does not if several user names share the tuple, if an earlier login of
   * the tuple has no final answer yet, or if either was found within the last day.
   */
  distinguishes({ place, user, busy, proven }: SharedTupleLogin): boolean {
    const key = this.#keyOf(place);
    const known = this.#find(key);
    const isShared = busy || (known !== undefined && (known.user !== user || known.open));
    if (!proven) return !isShared && !this.#isMarked(known);
    const entry = known ?? { user, open: true, sharedUntilMs: 0 };
    if (known === undefined) this.#set(key, entry);
    const wasMarked = this.#isMarked(known);
    // Renewed at most every half day, so that not every login of a portal writes to the store.
    if (isShared && entry.sharedUntilMs < this.#nowMs() + SHARED_MS / 2 && !this.#isFull()) {
      this.#mark(key, entry);
    }
    entry.user = user;
    entry.open = true;
    return !isShared && !wasMarked;
  }

  /** Whether the tuple does not distinguish logins. Records nothing. */
  isShared(place: string): boolean {
    return this.#isMarked(this.#find(this.#keyOf(place)));
  }

  /** Records that a login has its final answer, or will get none, so that no State value of it is in use. */
  concluded(place: string, user: string): void {
    const known = this.#find(this.#keyOf(place));
    if (known !== undefined && known.user === user) known.open = false;
  }

  async load(): Promise<void> {
    for await (const entry of this.#deps.store.list([STORE_KEY])) {
      if (this.#shared >= this.#maxShared) break;
      this.#apply(entry);
    }
  }

  /** Takes over a stored mark: at the start, or after a change of another node. */
  #apply({ key: [, place], value }: StoreEntry<unknown>): void {
    const mark = value as { user: string; untilMs: number } | null;
    const now = this.#nowMs();
    if (typeof place !== "string" || typeof mark?.user !== "string" || !(mark.untilMs > now)) return;
    const known = this.#find(place);
    if (known === undefined || known.sharedUntilMs <= now) this.#shared++;
    if (known === undefined) {
      this.#set(place, { user: mark.user, open: false, sharedUntilMs: mark.untilMs });
    } else known.sharedUntilMs = Math.max(known.sharedUntilMs, mark.untilMs);
  }

  #nowMs(): number {
    return this.#deps.clock.nowMs();
  }

  #keyOf(place: string): string {
    return place.length <= MAX_KEY_CHARACTERS ? place : this.#deps.vault.digest(STORE_KEY, place);
  }

  #set(key: string, known: Known): void {
    if (this.#current.size >= this.#maxKnown) this.#startGeneration();
    this.#current.set(key, known);
  }

  #find(key: string): Known | undefined {
    const known = this.#current.get(key);
    if (known !== undefined || this.#previous.size === 0) return known;
    const older = this.#previous.get(key);
    if (older === undefined) return undefined;
    this.#previous.delete(key);
    this.#set(key, older);
    return older;
  }

  /** Removes the tuples that were unused for the longest time, except the shared ones. */
  #startGeneration(): void {
    const now = this.#nowMs();
    const next = new Map<string, Known>();
    for (const generation of [this.#previous, this.#current]) {
      for (const [key, known] of generation) if (known.sharedUntilMs > now) next.set(key, known);
    }
    this.#shared = next.size;
    this.#previous = this.#current;
    for (const key of next.keys()) this.#previous.delete(key);
    this.#current = next;
  }

  /** The count includes expired marks until it is computed again, when there is no room. */
  #isFull(): boolean {
    const now = this.#nowMs();
    if (this.#shared < this.#maxShared || now - this.#countedMs < RECOUNT_MS) {
      return this.#shared >= this.#maxShared;
    }
    this.#countedMs = now;
    this.#shared = 0;
    for (const generation of [this.#previous, this.#current]) {
      for (const { sharedUntilMs } of generation.values()) if (sharedUntilMs > now) this.#shared++;
    }
    return this.#shared >= this.#maxShared;
  }

  #isMarked(known: Known | undefined): boolean {
    return (known !== undefined && known.sharedUntilMs > this.#nowMs()) || this.#isFull();
  }

  #mark(key: string, known: Known): void {
    const now = this.#nowMs();
    if (known.sharedUntilMs <= now) this.#shared++;
    known.sharedUntilMs = now + SHARED_MS;
    const mutation: Mutation = {
      type: "set",
      key: [STORE_KEY, key],
      value: { user: known.user, untilMs: known.sharedUntilMs },
      expireInMs: SHARED_MS,
    };
    this.#deps.store.commit({ mutations: [mutation] }).catch((fault: unknown) =>
      this.#deps.log.error("a tuple that several logins share could not be recorded", {
        fault: String(fault),
      })
    );
  }
}
