// Rows of a rate limit, by key. They are in memory. If several nodes share the store, the rows are also in the store, so that a limit
// holds for all nodes together: a change is committed with a check, and two nodes never both use the last try.

import type { Clock } from "./runtime.ts";
import { KeyedMutex } from "./semaphore.ts";
import type { Check, Mutation, Store } from "./store.ts";
import { StoreUnavailable } from "./store_fault.ts";
import type { Vault } from "./vault.ts";

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
