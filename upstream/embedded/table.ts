// A table of the embedded services: rows in the store, and a copy of them in memory, so that reads are synchronous. A
// change is committed to the store first, checked against the version in memory. One of two racing changes wins.

import type { Check, Mutation, Store } from "../../platform/store.ts";

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

/** Rows of one kind by id. */
export interface MirroredTable<Row> {
  get(id: string): Row | undefined;
  /** The rows with an index key, oldest first, at most `limit`. */
  list(indexKey: string, limit?: number): Row[];
  /** The newest `limit` rows with an index key, oldest first. */
  listNewest(indexKey: string, limit: number): Row[];
  /** How many rows have an index key. */
  count(indexKey: string): number;
  size(): number;
  /** Adds a row with a new id. */
  add(id: string, row: Row): TableChange;
  /** Replaces or removes (`null`) a row, if the store still has the version in memory. */
  change(id: string, row: Row | null): TableChange;
  /** Reads all rows from the store. */
  load(nowMs: number): Promise<void>;
  /** Removes expired rows from memory. The store removes its own. */
  sweep(nowMs: number): void;
}

/**
 * @param options.name last part of the key prefix `["embedded", name]`.
 * @param options.expiresMs when a row expires; `null` for never.
 * @param options.index index keys of a row.
 */
export function createMirroredTable<Row>(
  deps: { store: Store; nowMs: () => number },
  options: {
    name: string;
    expiresMs: (row: Row) => number | null;
    index: (row: Row) => readonly string[];
  },
): MirroredTable<Row> {
  const { store, nowMs } = deps;
  const { name, expiresMs, index } = options;
  const rows = new Map<string, { row: Row; versionstamp: string }>();
  const indexed = createIndex();
  const keyOf = (id: string): Deno.KvKey => ["embedded", name, id];

  const mirror = (id: string, row: Row | null, versionstamp: string): void => {
    const before = rows.get(id);
    // Two commits may report in any order. The version tells which one is later.
    if (before !== undefined && before.versionstamp > versionstamp) return;
    if (before !== undefined) indexed.remove(id, index(before.row));
    if (row === null) rows.delete(id);
    else {
      rows.set(id, { row, versionstamp });
      indexed.add(id, index(row));
    }
  };

  const reread = async (id: string): Promise<void> => {
    const entry = await store.get<Row>(keyOf(id));
    if (entry.value !== null && entry.versionstamp !== null) mirror(id, entry.value, entry.versionstamp);
    else mirror(id, null, rows.get(id)?.versionstamp ?? "");
  };

  const setting = (id: string, row: Row): Mutation => {
    const atMs = expiresMs(row);
    return {
      type: "set",
      key: keyOf(id),
      value: row,
      ...(atMs !== null && { expireInMs: Math.max(1, atMs - nowMs()) }),
    };
  };

  const changeOf = (id: string, row: Row | null, check: Check | null): TableChange => ({
    mutation: row === null ? { type: "delete", key: keyOf(id) } : setting(id, row),
    check,
    applied: (versionstamp) => mirror(id, row, versionstamp),
    reread: () => reread(id),
  });

  const isOver = (row: Row, atMs: number): boolean => {
    const expires = expiresMs(row);
    return expires !== null && expires <= atMs;
  };

  return {
    get: (id) => rows.get(id)?.row,
    list: (indexKey, limit) => indexed.ids(indexKey, limit).flatMap((id) => rows.get(id)?.row ?? []),
    listNewest: (indexKey, limit) =>
      indexed.newestIds(indexKey, limit).flatMap((id) => rows.get(id)?.row ?? []),
    count: (indexKey) => indexed.count(indexKey),
    size: () => rows.size,
    add: (id, row) => changeOf(id, row, null),
    change: (id, row) =>
      changeOf(id, row, { key: keyOf(id), versionstamp: rows.get(id)?.versionstamp ?? null }),
    async load(atMs) {
      for await (const { key, value, versionstamp } of store.list<Row>(["embedded", name])) {
        if (value !== null && versionstamp !== null && !isOver(value, atMs)) {
          mirror(String(key[2]), value, versionstamp);
        }
      }
    },
    sweep(atMs) {
      for (const [id, { row }] of rows) {
        if (!isOver(row, atMs)) continue;
        rows.delete(id);
        indexed.remove(id, index(row));
      }
    },
  };
}

interface Index {
  add(id: string, keys: readonly string[]): void;
  remove(id: string, keys: readonly string[]): void;
  ids(key: string, limit?: number): string[];
  newestIds(key: string, limit: number): string[];
  count(key: string): number;
}

function createIndex(): Index {
  const sets = new Map<string, Set<string>>();
  return {
    add(id, keys) {
      for (const key of keys) sets.set(key, (sets.get(key) ?? new Set()).add(id));
    },
    remove(id, keys) {
      for (const key of keys) {
        const set = sets.get(key);
        set?.delete(id);
        if (set?.size === 0) sets.delete(key);
      }
    },
    ids: (key, limit = Infinity) => (sets.get(key) ?? new Set<string>()).values().take(limit).toArray(),
    newestIds(key, limit) {
      const set = sets.get(key) ?? new Set<string>();
      return set.values().drop(Math.max(0, set.size - limit)).toArray();
    },
    count: (key) => sets.get(key)?.size ?? 0,
  };
}

/**
 * Commits all changes or none; `false` if another writer changed a row. The memory is then up to date again.
 *
 * @param options.also is committed together with the changes, such as the audit record.
 * @param options.checks further checks.
 */
export async function commitChanges(
  store: Store,
  changes: readonly TableChange[],
  { also = [], checks = [] }: { also?: readonly Mutation[] | undefined; checks?: readonly Check[] } = {},
): Promise<boolean> {
  const outcome = await store.commit({
    checks: [...changes.flatMap(({ check }) => check ?? []), ...checks],
    mutations: [...changes.map(({ mutation }) => mutation), ...also],
  });
  if (outcome.ok) { for (const change of changes) change.applied(outcome.versionstamp); }
  else for (const change of changes) await change.reread();
  return outcome.ok;
}
