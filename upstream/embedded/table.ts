// A table of the embedded services: rows in the store, and a copy of them in memory, so that reads are synchronous. A
// change names the row that was read, and is committed to the store before memory changes. It fails if the row changed
// since, here or on another node. The copy follows the changes of other nodes.

import type { Check, Mutation, Store } from "../../platform/store.ts";

/** A row as it was read. */
export interface MirroredRow<Row> {
  readonly id: string;
  readonly value: Row;
  /** Of the store. Differs after each change. */
  readonly version: string;
}

/** A change that is ready to be committed with others; see {@link commitChanges}. */
export interface TableChange {
  readonly mutation: Mutation;
  /** `null`: a new row with a random id, which no other row can have. */
  readonly check: Check | null;
  /** Updates the memory after the commit. */
  applied(versionstamp: string): void;
  /** Reads the row again after a lost race. */
  reread(): Promise<void>;
}

interface TableDeps {
  readonly store: Store;
  readonly nowMs: () => number;
}

interface TableOptions<Row> {
  /** The last part of the key prefix `["embedded", name]`. */
  readonly name: string;
  /** When a row expires; `null` for never. */
  readonly expiresMs: (row: Row) => number | null;
  /** The index keys of a row. */
  readonly index: (row: Row) => readonly string[];
  /** Called after another node added, changed or removed a row. */
  readonly onForeignChange?: (change: ForeignChange<Row>) => void;
}

/** A row as it was in memory, and as it is now; `undefined`: none. */
export interface ForeignChange<Row> {
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

/** Rows of one kind by id. */
export class MirroredTable<Row> {
  readonly #deps: TableDeps;
  readonly #options: TableOptions<Row>;
  readonly #rows = new Map<string, MirroredRow<Row>>();
  readonly #ids = new Map<string, Set<string>>();
  /** Rows that other nodes removed during the load; `null`: no load is in progress. */
  #removed: Set<string> | null = null;

  constructor(deps: TableDeps, options: TableOptions<Row>) {
    this.#deps = deps;
    this.#options = options;
    deps.store.follow(["embedded", options.name], ({ key, value, versionstamp }) => {
      this.#follow(String(key[2]), { row: value as Row | null, versionstamp });
    });
  }

  get(id: string): MirroredRow<Row> | undefined {
    return this.#rows.get(id);
  }

  /** The rows with an index key, oldest first, at most `limit`. */
  list(indexKey: string, limit = Infinity): MirroredRow<Row>[] {
    return this.#idsOf(indexKey).values().take(limit).toArray().flatMap((id) => this.get(id) ?? []);
  }

  /** The newest `limit` rows with an index key, oldest first. */
  listNewest(indexKey: string, limit: number): MirroredRow<Row>[] {
    const ids = this.#idsOf(indexKey);
    return ids.values().drop(Math.max(0, ids.size - limit)).toArray().flatMap((id) => this.get(id) ?? []);
  }

  /** How many rows have an index key. */
  count(indexKey: string): number {
    return this.#idsOf(indexKey).size;
  }

  size(): number {
    return this.#rows.size;
  }

  /** Adds a row with a new random id. */
  add(id: string, row: Row): TableChange {
    return this.#changeOf(id, row, null);
  }

  /** Adds a row, if the store has none with this id. */
  addIfAbsent(id: string, row: Row): TableChange {
    return this.#changeOf(id, row, { key: this.#keyOf(id), versionstamp: null });
  }

  /** Replaces the row that was read, if the store still has it. */
  replace(read: Omit<MirroredRow<Row>, "value">, row: Row): TableChange {
    return this.#changeOf(read.id, row, this.unchanged(read));
  }

  /** Removes the row that was read, if the store still has it. */
  remove(read: Omit<MirroredRow<Row>, "value">): TableChange {
    return this.#changeOf(read.id, null, this.unchanged(read));
  }

  /** The check that the store still has the row that was read. */
  unchanged({ id, version }: Omit<MirroredRow<Row>, "value">): Check {
    return { key: this.#keyOf(id), versionstamp: version };
  }

  /** Reads all rows from the store. */
  async load(nowMs: number): Promise<void> {
    const prefix = ["embedded", this.#options.name];
    const removed = this.#removed = new Set<string>();
    for await (const { key, value, versionstamp } of this.#deps.store.list<Row>(prefix)) {
      const id = String(key[2]);
      // The list may be older than the removal.
      if (value === null || versionstamp === null || removed.has(id)) continue;
      if (!this.#isOver(value, nowMs)) this.#mirror(id, value, versionstamp);
    }
    this.#removed = null;
  }

  /** Removes expired rows from memory. The store removes its own. */
  sweep(nowMs: number): void {
    for (const row of this.#rows.values()) {
      if (!this.#isOver(row.value, nowMs)) continue;
      this.#rows.delete(row.id);
      this.#removeFromIndex(row);
    }
  }

  #keyOf(id: string): Deno.KvKey {
    return ["embedded", this.#options.name, id];
  }

  #idsOf(indexKey: string): ReadonlySet<string> {
    return this.#ids.get(indexKey) ?? new Set();
  }

  #isOver(row: Row, atMs: number): boolean {
    const expires = this.#options.expiresMs(row);
    return expires !== null && expires <= atMs;
  }

  #changeOf(id: string, row: Row | null, check: Check | null): TableChange {
    return {
      mutation: row === null ? { type: "delete", key: this.#keyOf(id) } : this.#setting(id, row),
      check,
      applied: (versionstamp) => this.#mirror(id, row, versionstamp),
      reread: () => this.#reread(id),
    };
  }

  #setting(id: string, row: Row): Mutation {
    const atMs = this.#options.expiresMs(row);
    const expiry = atMs === null ? {} : { expireInMs: Math.max(1, atMs - this.#deps.nowMs()) };
    return { type: "set", key: this.#keyOf(id), value: row, ...expiry };
  }

  async #reread(id: string): Promise<void> {
    const { value, versionstamp } = await this.#deps.store.get<Row>(this.#keyOf(id));
    if (value !== null && versionstamp !== null) this.#mirror(id, value, versionstamp);
    else this.#mirror(id, null, this.#rows.get(id)?.version ?? "");
  }

  /** Takes over a row as it is stored now. */
  #follow(id: string, { row, versionstamp }: { row: Row | null; versionstamp: string | null }): void {
    const before = this.#rows.get(id);
    if (row === null || versionstamp === null) {
      this.#removed?.add(id);
      this.#mirror(id, null, before?.version ?? "");
    } else {
      this.#mirror(id, row, versionstamp);
    }
    this.#options.onForeignChange?.({ before: before?.value, after: this.#rows.get(id)?.value });
  }

  #mirror(id: string, value: Row | null, version: string): void {
    const before = this.#rows.get(id);
    // Two commits may report in any order. The version tells which one is later.
    if (before !== undefined && before.version > version) return;
    if (before !== undefined) this.#removeFromIndex(before);
    if (value === null) return void this.#rows.delete(id);
    this.#rows.set(id, { id, value, version });
    for (const key of this.#options.index(value)) {
      this.#ids.set(key, (this.#ids.get(key) ?? new Set()).add(id));
    }
  }

  #removeFromIndex({ id, value }: MirroredRow<Row>): void {
    for (const key of this.#options.index(value)) {
      const ids = this.#ids.get(key);
      ids?.delete(id);
      if (ids?.size === 0) this.#ids.delete(key);
    }
  }
}

/** What else belongs to the commit of changes of tables. */
export interface CommitAdditions {
  readonly also?: readonly Mutation[] | undefined;
  readonly checks?: readonly Check[] | undefined;
  readonly onCommitted?: ((versionstamp: string) => void) | undefined;
}

/**
 * Commits all changes or none; `false` if another writer changed a row. The memory is then up to date again.
 *
 * @param options.also is committed together with the changes, such as the audit record.
 * @param options.checks further checks.
 * @param options.onCommitted receives the versionstamp of the commit.
 */
export async function commitChanges(
  store: Store,
  changes: readonly TableChange[],
  { also = [], checks = [], onCommitted }: CommitAdditions = {},
): Promise<boolean> {
  const outcome = await store.commit({
    checks: [...changes.flatMap(({ check }) => check ?? []), ...checks],
    mutations: [...changes.map(({ mutation }) => mutation), ...also],
  });
  if (outcome.ok) {
    for (const change of changes) change.applied(outcome.versionstamp);
    onCommitted?.(outcome.versionstamp);
  } else for (const change of changes) await change.reread();
  return outcome.ok;
}

/** Callbacks by topic. They must not throw. */
export class EventEmitter {
  readonly #maxPerTopic: number;
  readonly #topics = new Map<string, Set<() => void>>();

  constructor({ maxPerTopic }: { maxPerTopic: number }) {
    this.#maxPerTopic = maxPerTopic;
  }

  /** Returns a function that removes the callback. If the topic has its maximum, the callback is not added. */
  on(topic: string, notify: () => void): () => void {
    const known = this.#topics.get(topic) ?? new Set();
    // One function may be added twice. A wrapper tells the registrations apart.
    const own = () => notify();
    if (known.size < this.#maxPerTopic) this.#topics.set(topic, known.add(own));
    return () => this.#remove(topic, own);
  }

  emit(topic: string): void {
    for (const notify of [...this.#topics.get(topic) ?? []]) notify();
  }

  /** Like `emit`, and removes the callbacks of the topic. */
  emitLast(topic: string): void {
    const known = this.#topics.get(topic) ?? [];
    this.#topics.delete(topic);
    for (const notify of known) notify();
  }

  #remove(topic: string, notify: () => void): void {
    const known = this.#topics.get(topic);
    known?.delete(notify);
    if (known?.size === 0) this.#topics.delete(topic);
  }
}
