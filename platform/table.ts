// Rows of one kind: in the store, and a copy of them in memory, so that reads are synchronous. A change names the row that was read, and is
// committed to the store before memory changes. It fails if the row changed since, here or on another node. The copy follows other nodes.

import type { Check, Mutation, Store } from "./store.ts";
import type { PreparedRename } from "./write_batch.ts";

/** What the rows of a table are. A constant of its module, because a backup needs it without the service. */
export interface TableKind<Row> {
  /** The first parts of the keys. The others are the id. */
  readonly prefix: Deno.KvKey;
  /** The row of a stored value; default: the value itself. @throws if it is not a value of this version */
  readonly read?: (value: unknown, id: string) => Row;
  /** What happens to a row whose stored value can no longer be read. Default "keep": the row that was readable before stays in use. */
  readonly whenUnreadable?: "keep" | "forget";
  /** The value to store; default: the row itself. */
  readonly write?: (row: Row) => unknown;
  /** When a row expires; `null`: never. */
  readonly expiresMs?: (row: Row) => number | null;
  /** The keys under which a row is found in memory. */
  readonly index?: (row: Row) => readonly string[];
}

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
  /** `null`: the change is made whatever is stored. */
  readonly check: Check | null;
  /** Updates the memory after the commit. */
  applied(versionstamp: string): void;
  /** Reads the row again after a lost race. */
  reread(): Promise<void>;
}

/** A row as it was in memory, and as it is now; `undefined`: none. */
export interface ForeignChange<Row> {
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

interface TableDeps<Row> {
  readonly store: Store;
  /** For rows that expire. */
  readonly nowMs?: () => number;
  /**
   * Called after another node added, changed or removed a row. A lost race of this node can report a change of this node too, so it
   * must be idempotent.
   */
  readonly onForeignChange?: ((change: ForeignChange<Row>) => void) | undefined;
}

/** Separates the parts of an id whose key has several. */
const SEPARATOR = "\u0000";
const SWEEP_EVERY_MS = 60_000;

/** The id of a row whose key has several texts after the prefix. */
export function joinId(...parts: readonly string[]): string {
  return parts.join(SEPARATOR);
}

export class Table<Row> {
  readonly #deps: TableDeps<Row>;
  readonly #kind: TableKind<Row>;
  readonly #rows = new Map<string, MirroredRow<Row>>();
  readonly #ids = new Map<string, Set<string>>();
  /** The versions of the rows that cannot be read. */
  readonly #unreadable = new Map<string, string>();
  /** What was removed during a load, whose list may be older; `null`: no load is in progress. */
  #removed: Set<string> | null = null;
  readonly #nowMs: () => number;
  #sweptMs: number;

  /** Follows other nodes from now on, so that no change between the load and the first one is missed. */
  constructor(deps: TableDeps<Row>, kind: TableKind<Row>) {
    this.#deps = deps;
    this.#kind = kind;
    this.#nowMs = deps.nowMs ?? (() => 0);
    this.#sweptMs = this.#nowMs();
    deps.store.follow(kind.prefix, (entry) => this.#follow(entry));
  }

  /** Reads all rows. Call it once, before anything else. The store reports those that cannot be read. */
  async load(): Promise<void> {
    const removed = this.#removed = new Set<string>();
    await this.#deps.store.load(this.#kind.prefix, (entry) => {
      if (!removed.has(this.#idIn(entry.key))) this.#take(entry);
    });
    this.#removed = null;
    this.#sweep(this.#nowMs());
  }

  get(id: string): MirroredRow<Row> | undefined {
    return this.#rows.get(id);
  }

  /** Of the rows that have not expired, give or take a minute: a limit that was reached ends by itself. */
  get size(): number {
    this.#sweepIfDue();
    return this.#rows.size;
  }

  all(): IteratorObject<MirroredRow<Row>> {
    return this.#rows.values();
  }

  /** The rows with an index key, oldest first, at most `limit`. */
  list(indexKey: string, limit = Infinity): MirroredRow<Row>[] {
    return this.#found(this.#idsOf(indexKey).values().take(limit));
  }

  /** The newest `limit` rows with an index key, oldest first. */
  listNewest(indexKey: string, limit: number): MirroredRow<Row>[] {
    const ids = this.#idsOf(indexKey);
    return this.#found(ids.values().drop(Math.max(0, ids.size - limit)));
  }

  /** How many rows have an index key. Like {@link size}. */
  count(indexKey: string): number {
    this.#sweepIfDue();
    return this.#idsOf(indexKey).size;
  }

  /** The ids of the rows that are stored and cannot be read. What was readable before is still found, unless the kind forgets it. */
  get unreadable(): readonly string[] {
    return [...this.#unreadable.keys()];
  }

  /** Adds a row, if there is none with its id. A random id needs no such check: see {@link put}. */
  add(id: string, row: Row): TableChange {
    return this.#changeOf(id, row, this.unchanged({ id, version: null }));
  }

  /** Stores a row, whatever is stored: a row with a new random id, or a fact of which the last one counts. */
  put(id: string, row: Row): TableChange {
    return this.#changeOf(id, row, null);
  }

  /** Replaces the row that was read, if the store still has it. */
  replace(read: Omit<MirroredRow<Row>, "value">, row: Row): TableChange {
    return this.#changeOf(read.id, row, this.unchanged(read));
  }

  /** Removes the row that was read, if the store still has it. @param read.version `null`: there was none, and there must still be none */
  remove(read: { readonly id: string; readonly version: string | null }): TableChange {
    return this.#changeOf(read.id, null, this.unchanged(read));
  }

  /** Removes a row, whatever is stored, and also if this node does not know it yet. */
  erase(id: string): TableChange {
    return this.#changeOf(id, null, null);
  }

  /** Removes a row that cannot be read. `undefined`: there is none, or it changed meanwhile. */
  removeUnreadable(id: string): TableChange | undefined {
    const version = this.#unreadable.get(id);
    return version === undefined ? undefined : this.remove({ id, version });
  }

  /** Moves a row to another id, in place of what that id has. @param moved returns `null` if the row ends instead */
  move(from: string, to: string, moved: (row: Row) => Row | null): readonly TableChange[] {
    const row = this.get(from);
    const next = row === undefined ? null : moved(row.value);
    // A row that another node adds meanwhile must not stay with the earlier id.
    const removed = this.remove(row ?? { id: from, version: null });
    return [removed, next === null ? this.erase(to) : this.put(to, next)];
  }

  /** The check that the store still has the row that was read. */
  unchanged({ id, version }: { readonly id: string; readonly version: string | null }): Check {
    return { key: this.#keyOf(id), versionstamp: version };
  }

  /** Reads a row again, after a change of it was refused. */
  async reread(id: string): Promise<void> {
    const before = this.#rows.get(id);
    const entry = await this.#deps.store.get<unknown>(this.#keyOf(id));
    const now = this.#rows.get(id);
    // A deletion has no version. What memory learnt while the store was read is newer.
    if (now !== before && (now === undefined || entry.versionstamp === null)) return;
    try {
      this.#follow(entry as Deno.KvEntryMaybe<unknown>);
    } catch (_unreadable) {
      // It is noted in #unreadable, and the caller knows that it raced.
    }
  }

  #changeOf(id: string, row: Row | null, check: Check | null): TableChange {
    const nowMs = this.#sweepIfDue();
    return {
      mutation: row === null ? { type: "delete", key: this.#keyOf(id) } : this.#setting(id, row, nowMs),
      check,
      applied: (version) =>
        row === null ? this.#forget(id, version) : this.#mirror({ id, value: row, version }),
      reread: () => this.reread(id),
    };
  }

  #setting(id: string, row: Row, nowMs: number): Mutation {
    const { write, expiresMs } = this.#kind;
    const atMs = expiresMs?.(row) ?? null;
    const expiry = atMs === null ? {} : { expireInMs: Math.max(1, atMs - nowMs) };
    return { type: "set", key: this.#keyOf(id), value: write === undefined ? row : write(row), ...expiry };
  }

  /** Takes over what another node stored. */
  #follow(entry: Deno.KvEntryMaybe<unknown>): void {
    const id = this.#idIn(entry.key);
    const before = this.#rows.get(id);
    try {
      if (entry.versionstamp === null) this.#forget(id);
      else this.#take(entry);
    } finally {
      const after = this.#rows.get(id);
      if (after !== before) this.#deps.onForeignChange?.({ before: before?.value, after: after?.value });
    }
  }

  /** @throws what `read` throws */
  #take({ key, value, versionstamp: version }: Deno.KvEntryMaybe<unknown>): void {
    const id = this.#idIn(key);
    if (version === null || (this.#rows.get(id)?.version ?? "") >= version) return;
    const { read, whenUnreadable } = this.#kind;
    try {
      this.#mirror({ id, value: read === undefined ? value as Row : read(value, id), version });
    } catch (fault) {
      if (whenUnreadable === "forget") this.#forget(id);
      this.#unreadable.set(id, version);
      throw fault;
    }
  }

  #mirror(row: MirroredRow<Row>): void {
    const before = this.#rows.get(row.id);
    // Two commits may report in any order. The version tells which one is later. Two changes in one commit have the same.
    if (before !== undefined && before.version > row.version) return;
    const keys = this.#kind.index?.(row.value) ?? [];
    if (before !== undefined) this.#removeFromIndex(before, keys);
    this.#rows.set(row.id, row);
    this.#unreadable.delete(row.id);
    for (const key of keys) this.#ids.set(key, (this.#ids.get(key) ?? new Set()).add(row.id));
  }

  /** @param version of the commit that removed the row; absent: it is no longer stored */
  #forget(id: string, version?: string): void {
    this.#removed?.add(id);
    const before = this.#rows.get(id);
    if (before !== undefined && version !== undefined && before.version > version) return;
    this.#unreadable.delete(id);
    if (before === undefined) return;
    this.#rows.delete(id);
    this.#removeFromIndex(before, []);
  }

  /** @returns the time */
  #sweepIfDue(): number {
    const nowMs = this.#nowMs();
    if (nowMs - this.#sweptMs >= SWEEP_EVERY_MS) this.#sweep(nowMs);
    return nowMs;
  }

  /** Removes expired rows from memory. The store removes its own. */
  #sweep(nowMs: number): void {
    this.#sweptMs = nowMs;
    const { expiresMs } = this.#kind;
    if (expiresMs === undefined) return;
    for (const { id, value } of this.#rows.values()) {
      if ((expiresMs(value) ?? Infinity) <= nowMs) this.#forget(id);
    }
  }

  /** A row keeps its place under a key that it still has. */
  #removeFromIndex({ id, value }: MirroredRow<Row>, except: readonly string[]): void {
    for (const key of this.#kind.index?.(value) ?? []) {
      if (except.includes(key)) continue;
      const ids = this.#ids.get(key);
      ids?.delete(id);
      if (ids?.size === 0) this.#ids.delete(key);
    }
  }

  #found(ids: IteratorObject<string>): MirroredRow<Row>[] {
    return ids.map((id) => this.#rows.get(id)).filter((row) => row !== undefined).toArray();
  }

  #idsOf(indexKey: string): ReadonlySet<string> {
    return this.#ids.get(indexKey) ?? new Set();
  }

  #keyOf(id: string): Deno.KvKey {
    return [...this.#kind.prefix, ...id.split(SEPARATOR)];
  }

  #idIn(key: Deno.KvKey): string {
    return joinId(...key.slice(this.#kind.prefix.length).map(String));
  }
}

/** Changes that another part commits. It calls `done` or `raced`. */
export interface PreparedTableChange extends Omit<PreparedRename, "undo"> {
  readonly checks: readonly Check[];
  /** Call it after the commit was refused. The changes can then be prepared again. */
  raced(): Promise<void>;
}

/** Memory changes after the commit, so there is nothing to undo. */
export function prepareChanges(changes: readonly TableChange[]): PreparedTableChange & PreparedRename {
  return {
    checks: changes.flatMap(({ check }) => check ?? []),
    mutations: changes.map(({ mutation }) => mutation),
    done: (versionstamp) => changes.forEach((change) => change.applied(versionstamp)),
    undo: () => undefined,
    async raced() {
      for (const change of changes) await change.reread();
    },
  };
}

/** What else belongs to the commit of changes, such as the audit record. */
export interface CommitAdditions {
  readonly also?: readonly Mutation[] | undefined;
  readonly checks?: readonly Check[] | undefined;
  /** Receives the versionstamp of the commit. */
  readonly onCommitted?: ((versionstamp: string) => void) | undefined;
}

/** Commits all changes with the additions, or none; `false` if a row is no longer the one that was read. Memory is then up to date again. */
export async function commitChanges(
  store: Pick<Store, "commit">,
  changes: readonly TableChange[],
  { also = [], checks = [], onCommitted }: CommitAdditions = {},
): Promise<boolean> {
  const parts = prepareChanges(changes);
  const outcome = await store.commit({
    checks: [...parts.checks, ...checks],
    mutations: [...parts.mutations, ...also],
  });
  if (outcome.ok) {
    parts.done(outcome.versionstamp);
    onCommitted?.(outcome.versionstamp);
  } else await parts.raced();
  return outcome.ok;
}
