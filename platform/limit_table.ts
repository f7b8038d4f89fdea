// Rate limits: of tries, and of failed sign-ins. Their rows, by key, are in memory. If several nodes share the store, the rows are
// also in the store, so that a limit holds for all nodes together: a change is committed with a check, and two nodes never both use the last try.

import type { Clock } from "./runtime.ts";
import { KeyedMutex } from "./semaphore.ts";
import type { Check, Mutation, Store } from "./store.ts";
import { StoreUnavailable } from "./store_fault.ts";
import type { Vault } from "./vault.ts";
import { canonicalName } from "./canonical_name.ts";
import { sourceKey } from "./addresses.ts";

export interface LimitTableDeps {
  readonly clock: Pick<Clock, "nowMs">;
  /** Absent: the rows are only in memory. */
  readonly store?: Pick<Store, "isShared" | "follow" | "list" | "commit" | "reread"> | undefined;
  /** A key may contain what a person typed, so the store has only its digest. */
  readonly vault?: Pick<Vault, "digest"> | undefined;
}

interface LimitTableOptions<Row> {
  /** The key prefix `["tries", name]`. */
  readonly name: string;
  /** More rows than this: the one that changed longest ago is forgotten. */
  readonly maxRows: number;
  /** When the row no longer limits anything. */
  readonly expiresMs: (row: Row) => number;
  /**
   * A row as stored by any node. Times after `nowMs` are of a node whose clock is ahead: they count as `nowMs`, so that they do not limit for
   * longer. A value of another form, which a later version may have written, becomes a row that limits nothing.
   */
  readonly read: (value: unknown, nowMs: number) => Row;
}

/** A stored time for {@link LimitTableOptions.read}; 0 for a value of another form. */
export function readTime(value: unknown, nowMs: number): number {
  return typeof value === "number" && Number.isFinite(value) ? Math.min(value, nowMs) : 0;
}

/** Stored times for {@link LimitTableOptions.read}; none for a value of another form. */
export function readTimes(value: unknown, nowMs: number): number[] {
  return Array.isArray(value) ? value.map((time) => readTime(time, nowMs)) : [];
}

/** Receives the rows of the keys, and returns the new ones (`null`: no row), or `null` to change nothing. Runs again after a lost race. */
type DecideRows<Row> = (rows: readonly (Row | undefined)[]) => readonly (Row | null)[] | null;

interface StoredRow<Row> {
  readonly row: Row;
  readonly versionstamp: string | null;
}

/** Lost races of one change. Two nodes rarely change one row at the same moment. */
const MAX_TRIES = 20;
const ANY = "any";
/** Stands for the version of a row that is gone, or that is only in memory. */
const LATEST = "\u{10ffff}";

export class LimitTable<Row> {
  readonly #deps: LimitTableDeps;
  readonly #options: LimitTableOptions<Row>;
  readonly #rows = new Map<string, StoredRow<Row>>();
  readonly #mutex = new KeyedMutex();
  #loading: Promise<void> | null = null;

  constructor(deps: LimitTableDeps, options: LimitTableOptions<Row>) {
    this.#deps = deps;
    this.#options = options;
    this.#shared?.store.follow(["tries", options.name], ({ key, value, versionstamp }) => {
      this.#mirror(String(key[2]), this.#read(value), versionstamp);
    });
  }

  /** How many rows are in memory. */
  get size(): number {
    return this.#rows.size;
  }

  /** The row of a key as memory has it; `undefined` without one that is in force. */
  inMemory(key: string): Row | undefined {
    return this.#current(this.#idOf(key));
  }

  /** The rows of keys; `undefined` without one that is in force. */
  async read(keys: readonly string[]): Promise<(Row | undefined)[]> {
    if (this.#shared !== null) await this.#load(this.#shared.store);
    return keys.map((key) => this.#current(this.#idOf(key)));
  }

  /**
   * Changes the rows of keys together. On one node, `decide` runs before the call returns.
   *
   * @returns whether `decide` changed them
   * @throws StoreUnavailable if the store does not answer, or after too many lost races
   */
  change(keys: readonly string[], decide: DecideRows<Row>): Promise<boolean> {
    const shared = this.#shared;
    const ids = keys.map((key) => this.#idOf(key));
    if (shared === null) return Promise.resolve(this.#changeInMemory(ids, decide));
    // The changes of this node would only race each other.
    return this.#mutex.run(ANY, () => this.#changeStored(ids, decide, shared.store));
  }

  get #shared() {
    const { store, vault } = this.#deps;
    return store?.isShared === true && vault !== undefined ? { store, vault } : null;
  }

  #idOf(key: string): string {
    return this.#shared?.vault.digest("tries", `${this.#options.name}\0${key}`) ?? key;
  }

  #keyOf(id: string): Deno.KvKey {
    return ["tries", this.#options.name, id];
  }

  #current(id: string): Row | undefined {
    const row = this.#rows.get(id)?.row;
    return row === undefined || this.#options.expiresMs(row) <= this.#deps.clock.nowMs() ? undefined : row;
  }

  #changeInMemory(ids: readonly string[], decide: DecideRows<Row>): boolean {
    const next = decide(ids.map((id) => this.#current(id)));
    if (next === null) return false;
    for (const [at, id] of ids.entries()) this.#mirror(id, next[at] ?? null, null);
    this.#forgetOld();
    return true;
  }

  async #changeStored(
    ids: readonly string[],
    decide: DecideRows<Row>,
    store: NonNullable<LimitTableDeps["store"]>,
  ): Promise<boolean> {
    await this.#load(store);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const next = decide(ids.map((id) => this.#current(id)));
      if (next === null) return false;
      const checks = ids.map((id): Check => ({
        key: this.#keyOf(id),
        versionstamp: this.#rows.get(id)?.versionstamp ?? null,
      }));
      const mutations = ids.map((id, at) => this.#mutation(id, next[at] ?? null));
      const done = await store.commit({ checks, mutations });
      if (done.ok) {
        for (const [at, id] of ids.entries()) this.#mirror(id, next[at] ?? null, done.versionstamp);
        this.#forgetOld();
        return true;
      }
      await store.reread(ids.map((id) => this.#keyOf(id)));
    }
    throw new StoreUnavailable("Cannot count an attempt: other nodes keep changing the same row");
  }

  #mutation(id: string, row: Row | null): Mutation {
    if (row === null) return { type: "delete", key: this.#keyOf(id) };
    const expireInMs = Math.max(1, this.#options.expiresMs(row) - this.#deps.clock.nowMs());
    return { type: "set", key: this.#keyOf(id), value: row, expireInMs };
  }

  /** Reads the rows that other nodes wrote before this one started. Once; a failure is repeated by the next call. */
  #load(store: NonNullable<LimitTableDeps["store"]>): Promise<void> {
    return this.#loading ??= this.#readAll(store).catch((fault: unknown) => {
      this.#loading = null;
      throw fault;
    });
  }

  async #readAll(store: NonNullable<LimitTableDeps["store"]>): Promise<void> {
    const rows = store.list(["tries", this.#options.name], { limit: this.#options.maxRows });
    for await (const { key, value, versionstamp } of rows) {
      this.#mirror(String(key[2]), this.#read(value), versionstamp);
    }
  }

  #read(value: unknown): Row | null {
    return value === null ? null : this.#options.read(value, this.#deps.clock.nowMs());
  }

  #mirror(id: string, row: Row | null, versionstamp: string | null): void {
    const before = this.#rows.get(id);
    // Two commits may report in any order. The version tells which one is later.
    if (before !== undefined && (before.versionstamp ?? "") > (versionstamp ?? LATEST)) return;
    if (row === null) return void this.#rows.delete(id);
    const { expiresMs } = this.#options;
    // The rows are in the order of their ends, so that the ended ones are found without a search.
    if (before === undefined || expiresMs(row) > expiresMs(before.row)) this.#rows.delete(id);
    this.#rows.set(id, { row, versionstamp });
  }

  /** Not while a row is read again: the next commit checks its version, even if it has ended. */
  #forgetOld(): void {
    const { expiresMs, maxRows } = this.#options;
    const nowMs = this.#deps.clock.nowMs();
    for (const [oldest, { row }] of this.#rows) {
      if (this.#rows.size <= maxRows && expiresMs(row) > nowMs) break;
      this.#rows.delete(oldest);
    }
  }
}

// Failed sign-ins: five a minute for one name from one source, and a wider limit for the source, so that
// callers who share an address do not block each other. Bounded.

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

// A number of tries for each key in a window of time.

export interface RateLimit {
  /** Counts one; `false` if the key had used its window before. */
  take(key: string): Promise<boolean>;
  /** How long a key that has used its window must wait, in milliseconds; 0 if it need not wait. */
  waitMs(key: string): Promise<number>;
}

interface CountedWindow {
  readonly endsMs: number;
  readonly count: number;
}

const MAX_WINDOW_KEYS = 50_000;
/** If there are too many keys, new ones share this number of windows. */
const SHARED_WINDOWS = 256;

/** @param options.count the number that is allowed in each window of `windowMs`; it may change. `name` differs for each limit. */
export function createRateLimit(
  deps: LimitTableDeps,
  { name, count: given, windowMs, maxKeys = MAX_WINDOW_KEYS }: {
    name: string;
    count: number | (() => number);
    windowMs: number;
    maxKeys?: number;
  },
): RateLimit {
  const { clock } = deps;
  const allowed = () => typeof given === "number" ? given : given();
  // Windows of known keys are never forgotten early: new keys share the windows that are left.
  const windows = new LimitTable<CountedWindow>(deps, {
    name,
    maxRows: maxKeys + SHARED_WINDOWS,
    expiresMs: ({ endsMs }) => endsMs,
    read(value, nowMs) {
      const { endsMs, count } = value as Partial<Record<keyof CountedWindow, unknown>>;
      return { endsMs: readTime(endsMs, nowMs + windowMs), count: typeof count === "number" ? count : 0 };
    },
  });
  const find = async (key: string): Promise<{ used: string; window: CountedWindow | undefined }> => {
    const [own] = await windows.read([key]);
    if (own !== undefined || windows.size < maxKeys) return { used: key, window: own };
    const used = sharedKey(key);
    const [window] = await windows.read([used]);
    return { used, window };
  };
  return {
    async take(key) {
      const { used } = await find(key);
      return await windows.change([used], ([window]) => {
        if (window === undefined) {
          return allowed() < 1 ? null : [{ endsMs: clock.nowMs() + windowMs, count: 1 }];
        }
        return window.count >= allowed() ? null : [{ ...window, count: window.count + 1 }];
      });
    },
    async waitMs(key) {
      const { window } = await find(key);
      return window === undefined || window.count < allowed() ? 0 : window.endsMs - clock.nowMs();
    },
  };
}

/** The name of the window that a key shares with others. */
function sharedKey(key: string): string {
  let hash = 0;
  for (let at = 0; at < key.length; at++) hash = (hash * 31 + key.charCodeAt(at)) >>> 0;
  return `shared window ${hash % SHARED_WINDOWS}`;
}
