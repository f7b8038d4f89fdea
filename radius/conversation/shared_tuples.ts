// Which tuples do not distinguish logins, although they carry a Calling-Station-Id or a port: a portal sends one value for all of its users.
// There, State carries a token. What was found is remembered for a day, also across restarts.

import type { Clock } from "../../platform/runtime.ts";
import type { Log } from "../../platform/log.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";

export interface SharedTuples {
  /**
   * Notes a login, and tells whether its tuple distinguishes it. It does not if several user names share the tuple, if an earlier login of
   * the tuple has not had its final answer, or if either was found within the last day.
   */
  distinguishes(login: SharedTupleLogin): boolean;
  /** Whether the tuple still distinguishes logins; notes nothing. */
  isShared(place: string): boolean;
  /** A login had its final answer, or was never answered: no State value of it is in use. */
  concluded(place: string, user: string): void;
  load(): Promise<void>;
}

export interface SharedTupleLogin {
  /** The tuple without the user. */
  readonly place: string;
  /** Canonical name. */
  readonly user: string;
  /** Whether another login of the tuple is in progress. */
  readonly busy: boolean;
  /** Whether the sender proved that it knows the secret: only then is anything remembered. */
  readonly proven: boolean;
}

interface Known {
  user: string;
  /** Whether its last login has not had a final answer. */
  open: boolean;
  /** Until when the tuple counts as shared. */
  sharedUntilMs: number;
}

const SHARED_MS = 24 * 3600_000;
/** Tuples in memory, in each of two generations. */
const MAX_KNOWN = 32_768;
/** Shared tuples that are remembered. Beyond it every tuple counts as shared, because one that was forgotten would count as distinct. */
const MAX_SHARED = 16_384;
const RECOUNT_MS = 60_000;
/** A longer key is replaced by its digest. */
const MAX_KEY_CHARACTERS = 128;
const STORE_KEY = "shared_tuple";

export function createSharedTuples(
  { store, clock, log, vault, maxKnown = MAX_KNOWN, maxShared = MAX_SHARED }: {
    store: Pick<Store, "list" | "commit">;
    clock: Pick<Clock, "nowMs">;
    log: Log;
    vault: Pick<Vault, "digest">;
    maxKnown?: number;
    maxShared?: number;
  },
): SharedTuples {
  let current = new Map<string, Known>();
  let previous = new Map<string, Known>();
  let shared = 0;
  let countedMs = 0;

  const keyOf = (place: string): string =>
    place.length <= MAX_KEY_CHARACTERS ? place : vault.digest(STORE_KEY, place);
  const set = (key: string, known: Known): void => {
    if (current.size >= maxKnown) startGeneration();
    current.set(key, known);
  };
  const find = (key: string): Known | undefined => {
    const known = current.get(key);
    if (known !== undefined || previous.size === 0) return known;
    const older = previous.get(key);
    if (older === undefined) return undefined;
    previous.delete(key);
    set(key, older);
    return older;
  };
  /** The tuples that were not seen for the longest time are forgotten, apart from the shared ones. */
  function startGeneration(): void {
    const now = clock.nowMs();
    const next = new Map<string, Known>();
    for (const generation of [previous, current]) {
      for (const [key, known] of generation) if (known.sharedUntilMs > now) next.set(key, known);
    }
    shared = next.size;
    previous = current;
    for (const key of next.keys()) previous.delete(key);
    current = next;
  }
  /** Marks that ran out are still counted; they are counted again when there is no room. */
  const isFull = (): boolean => {
    const now = clock.nowMs();
    if (shared < maxShared || now - countedMs < RECOUNT_MS) return shared >= maxShared;
    countedMs = now;
    shared = 0;
    for (const generation of [previous, current]) {
      for (const { sharedUntilMs } of generation.values()) if (sharedUntilMs > now) shared++;
    }
    return shared >= maxShared;
  };
  const isMarked = (known: Known | undefined): boolean =>
    (known !== undefined && known.sharedUntilMs > clock.nowMs()) || isFull();
  const mark = (key: string, known: Known): void => {
    const now = clock.nowMs();
    if (known.sharedUntilMs <= now) shared++;
    known.sharedUntilMs = now + SHARED_MS;
    const mutation: Mutation = {
      type: "set",
      key: [STORE_KEY, key],
      value: { user: known.user, untilMs: known.sharedUntilMs },
      expireInMs: SHARED_MS,
    };
    store.commit({ mutations: [mutation] }).catch((fault: unknown) =>
      log.error("a tuple that several logins share could not be recorded", { fault: String(fault) })
    );
  };

  return {
    distinguishes({ place, user, busy, proven }) {
      const key = keyOf(place);
      const known = find(key);
      const isShared = busy || (known !== undefined && (known.user !== user || known.open));
      if (!proven) return !isShared && !isMarked(known);
      const noted = known ?? { user, open: true, sharedUntilMs: 0 };
      if (known === undefined) set(key, noted);
      const wasMarked = isMarked(known);
      // One that is found again stays marked for another day; not each login of a portal writes.
      if (isShared && noted.sharedUntilMs < clock.nowMs() + SHARED_MS / 2 && !isFull()) mark(key, noted);
      noted.user = user;
      noted.open = true;
      return !isShared && !wasMarked;
    },
    isShared: (place) => isMarked(find(keyOf(place))),
    concluded(place, user) {
      const known = find(keyOf(place));
      if (known !== undefined && known.user === user) known.open = false;
    },
    async load() {
      const now = clock.nowMs();
      for await (const { key, value } of store.list<{ user: string; untilMs: number }>([STORE_KEY])) {
        const place = key[1];
        if (typeof place !== "string" || typeof value?.user !== "string" || !(value.untilMs > now)) continue;
        if (shared >= maxShared) break;
        shared++;
        current.set(place, { user: value.user, open: false, sharedUntilMs: value.untilMs });
      }
    },
  };
}
