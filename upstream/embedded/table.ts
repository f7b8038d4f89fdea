// A table of the embedded services: rows in the store, and a mirror of them in memory, so that reads are synchronous.
// Changes go to the store first, checked against the version that the mirror had; one of two racing changes wins.

import type { Check, Mutation, Store } from "../../store.ts";

/** A change that is ready to be committed with others; see {@link commitChanges}. */
export interface Change {
  readonly mutation: Mutation;
  /** `null`: a new row under a random id, which no other row can have. */
  readonly check: Check | null;
  /** Brings the mirror up to date after the commit. */
  applied(versionstamp: string): void;
  /** Reads the row again after a lost race. */
  reread(): Promise<void>;
}

/** Rows of one kind by id. */
export interface Table<Row> {
  get(id: string): Row | undefined;
  /** Rows under one key of the index, oldest first, at most `limit`. */
  under(indexKey: string, limit?: number): Row[];
  /** The `limit` rows under one key of the index that came last, oldest first. */
  newestUnder(indexKey: string, limit: number): Row[];
  /** How many rows stand under one key of the index. */
  count(indexKey: string): number;
  size(): number;
  /** Adds a row whose id is new. */
  add(id: string, row: Row): Change;
  /** Replaces or removes (`null`) a row, if it is still as the mirror has it. */
  change(id: string, row: Row | null): Change;
  /** Reads all rows from the store. */
  load(nowMs: number): Promise<void>;
  /** Takes rows that have expired out of the mirror; the store sweeps its own. */
  sweep(nowMs: number): void;
}

/**
 * @param options.name last part of the key prefix `["embedded", name]`.
 * @param options.expiresMs when a row may be forgotten; `null` for never.
 * @param options.index keys under which a row is found.
 */
export function createTable<Row>(
  deps: { store: Store; nowMs: () => number },
  options: {
    name: string;
    expiresMs: (row: Row) => number | null;
    index: (row: Row) => readonly string[];
  },
): Table<Row> {
  const { store, nowMs } = deps;
  const { name, expiresMs, index } = options;
  const rows = new Map<string, { row: Row; versionstamp: string }>();
  const indexed = createIndex();
  const keyOf = (id: string): Deno.KvKey => ["embedded", name, id];

  const mirror = (id: string, row: Row | null, versionstamp: string): void => {
    const before = rows.get(id);
    // Two commits may report in any order; the version decides which one is the later.
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

  const changeOf = (id: string, row: Row | null, check: Check | null): Change => ({
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
    under: (indexKey, limit) => indexed.ids(indexKey, limit).flatMap((id) => rows.get(id)?.row ?? []),
    newestUnder: (indexKey, limit) =>
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
 * Makes all changes or none; `false` when another writer changed a row; the mirror is then up to date again.
 *
 * @param options.also what else is written in the same commit, such as the record of who asked.
 * @param options.checks what else must hold.
 */
export async function commitChanges(
  store: Store,
  changes: readonly Change[],
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
