// Rate limit for failed sign-ins: five a minute for one name from one source, and a wider limit for the source, so that
// callers who share an address do not block each other. Bounded.

import { canonicalName } from "./canonical_name.ts";
import { LimitTable, type LimitTableDeps, readTimes } from "./limit_table.ts";
import type { Clock } from "./runtime.ts";
import { sourceKey } from "./addresses.ts";

/** Failures per minute for one name from one source. */
export const MAX_FAILURES_PER_NAME = 5;
/** Failures per minute from one source, for all names together. */
export const MAX_FAILURES_PER_SOURCE = 30;
const WINDOW_MS = 60_000;
const MAX_KEYS = 20_000;

/** The source and name of a failure. `source: null` counts only the name, for a session or a phone that is already known. */
export interface FailureKey {
  readonly source: string | null;
  readonly name: string;
}

interface CountedKey {
  readonly key: string;
  readonly max: number;
}

/** Names have no line break, so the key of each pair of source and name is unique. */
function countedKeys({ source, name }: FailureKey): CountedKey[] {
  const own = {
    key: `${source === null ? "" : sourceKey(source)}\n${canonicalName(name)}`,
    max: MAX_FAILURES_PER_NAME,
  };
  return source === null ? [own] : [own, { key: sourceKey(source), max: MAX_FAILURES_PER_SOURCE }];
}

function deleteOldest(map: Map<string, unknown>, max: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= max) break;
    map.delete(oldest);
  }
}

/** The result of {@link SharedFailureLimit.take}. */
export type FailureTaken = { readonly waitMs: number } | { readonly forgive: () => Promise<void> };

/** The limit of all nodes that share a store; with one node, in memory. */
export class SharedFailureLimit {
  readonly #clock: Pick<Clock, "nowMs">;
  /** Times of the failures of each key, the oldest first. */
  readonly #failures: LimitTable<readonly number[]>;

  /** @param options.name differs for each limit */
  constructor(deps: LimitTableDeps, { name }: { name: string }) {
    this.#clock = deps.clock;
    this.#failures = new LimitTable<readonly number[]>(deps, {
      name,
      maxRows: MAX_KEYS,
      expiresMs: (times) => (times.at(-1) ?? -Infinity) + WINDOW_MS,
      read: readTimes,
    });
  }

  /** Milliseconds until a further try, as far as memory has the failures of other nodes; 0: now. */
  waitMs(key: FailureKey): number {
    const sinceMs = this.#clock.nowMs() - WINDOW_MS;
    return Math.max(
      ...countedKeys(key).map(({ key, max }) =>
        this.#waitOf((this.#failures.inMemory(key) ?? []).filter((time) => time > sinceMs), max)
      ),
    );
  }

  /** Counts a failure before the try, so that concurrent tries do not exceed the limit. Returns the wait if there may be no try now. */
  async take(key: FailureKey): Promise<FailureTaken> {
    const counted = countedKeys(key);
    const keys = counted.map((one) => one.key);
    const atMs = this.#clock.nowMs();
    let waitMs = 0;
    await this.#failures.change(keys, (rows) => {
      const recent = rows.map((times = []) => times.filter((time) => time > atMs - WINDOW_MS));
      waitMs = Math.max(...counted.map(({ max }, at) => this.#waitOf(recent[at] ?? [], max)));
      return waitMs > 0 ? null : recent.map((times, at) => [...times, atMs].slice(-(counted[at]?.max ?? 1)));
    });
    return waitMs > 0 ? { waitMs } : { forgive: () => this.#forgive(keys, atMs) };
  }

  async #forgive(keys: readonly string[], atMs: number): Promise<void> {
    await this.#failures.change(keys, (rows) =>
      rows.map((times = []) => {
        const at = times.indexOf(atMs);
        const rest = at < 0 ? times : times.toSpliced(at, 1);
        return rest.length === 0 ? null : rest;
      }));
  }

  #waitOf(times: readonly number[], max: number): number {
    const decisive = times[times.length - max];
    return decisive === undefined ? 0 : Math.max(1, decisive + WINDOW_MS - this.#clock.nowMs());
  }
}

const PROVEN_MS = 24 * 3_600_000;
const MAX_PROVEN = 1000;

/**
 * Keyed digests of credentials that were correct within the last day. No limit applies to such a credential. The digests are only in
 * memory, and useless without the key.
 */
export class ProvenDigests {
  readonly #clock: Clock;
  readonly #untilMs = new Map<string, number>();

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  has(digest: string): boolean {
    return (this.#untilMs.get(digest) ?? 0) > this.#clock.nowMs();
  }

  add(digest: string): void {
    this.#untilMs.delete(digest);
    this.#untilMs.set(digest, this.#clock.nowMs() + PROVEN_MS);
    deleteOldest(this.#untilMs, MAX_PROVEN);
  }

  forget(digest: string): void {
    this.#untilMs.delete(digest);
  }
}
