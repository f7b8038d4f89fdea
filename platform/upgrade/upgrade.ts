// Upgrades the store to the newest format: a backup, then the migrations, which continue where a killed process stopped. A store of one
// process is upgraded before it is used. A store of several nodes is upgraded while they serve, as soon as every node knows the format.

import { expiryOf, type LifetimeSettings } from "../backup/expiry.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { KnownNode } from "../cluster/nodes.ts";
import type { KvMutation } from "../commit_queue.ts";
import { faultMessage, type Log } from "../log.ts";
import { StoreFault } from "../open_kv.ts";
import { type Clock, pauseFor, withTimeout } from "../runtime.ts";
import type { Check, Store } from "../store.ts";
import { WorkLoop } from "../work_loop.ts";
import { type Migration, MIGRATIONS, type TableMigration } from "./migrations.ts";
import {
  FORMAT_KEY,
  type FormatRecord,
  type MigrationCursor,
  newestOf,
  type StoredFormat,
  type StoreFormat,
  versionOf,
} from "./store_format.ts";

export interface UpgradeDeps {
  readonly store: Pick<Store, "commit" | "isShared" | "reread">;
  /** What the store reads. The entries that a migration converts are read here. */
  readonly kv: Pick<Deno.Kv, "list" | "get">;
  readonly format: StoreFormat;
  /** Makes a backup, whose records `version` can read. @returns where it is; "" if the settings want none */
  readonly backUp: (version: string, signal: AbortSignal) => Promise<string>;
  readonly lifetimes: LifetimeSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly migrations?: readonly Migration[];
  /** Ends the upgrade between two commits with its reason. The next one continues it. */
  readonly signal?: AbortSignal;
}

const NO_END = new AbortController().signal;

/** Entries of one commit. `denokv` accepts ten checks: one is that of the change log, one that of the record of the format. */
const SHARED_CHUNK = 8;
/** A local commit costs an fsync, whatever its size. Deno KV accepts 100 checks. */
const LOCAL_CHUNK = 90;
/** Entries that are read in one call. */
const READ_ENTRIES = 500;
/** A commit that takes longer ends the upgrade, which the next start continues. */
const COMMIT_MS = 30_000;
const PROGRESS_MS = 5000;
/** An entry that other nodes change each time when it is converted. */
const MAX_RACES = 100;

/** Another node upgrades the store, or a restore replaced it. */
class FormatChanged extends Error {}

/** Whether the store has an earlier format than the newest one. */
function isOutdated({ format }: Pick<UpgradeDeps, "format">, migrations = MIGRATIONS): boolean {
  const { format: now, cursor } = format.stored.record;
  return now < newestOf(migrations) || cursor !== null;
}

/**
 * Runs the migrations that are left, one after the other. A process that is killed at any moment continues at the next call.
 *
 * @param options.writersReady resolves when every node writes in a format, before entries are converted
 * @throws StoreFault if the store does not answer in time, and what the backup throws. What was converted stays.
 */
export async function upgradeStore(
  deps: UpgradeDeps,
  { writersReady = () => Promise.resolve() }: { writersReady?: (format: number) => Promise<void> } = {},
): Promise<void> {
  const { format, log, clock, migrations = MIGRATIONS, signal = NO_END } = deps;
  const { record: { format: from, cursor } } = format.stored;
  const rest = migrations.filter(({ to }) => to > from);
  if (rest.length === 0) return;
  const startedMs = clock.nowMs();
  let { backup } = format.stored.record;
  if (cursor === null) {
    log.info("the upgrade of the store begins", { from, to: newestOf(migrations) });
    backup = await deps.backUp(versionOf(from, migrations), signal);
  } else {log.info("the upgrade of the store continues", {
      from,
      to: newestOf(migrations),
      entries: cursor.entries,
    });}
  for (const migration of rest) await migrate(deps, migration, { backup, writersReady });
  const { record } = format.stored;
  log.info("the upgrade of the store is complete", {
    format: record.format,
    backup,
    ms: clock.nowMs() - startedMs,
  });
}

async function migrate(
  deps: UpgradeDeps,
  migration: Migration,
  { backup, writersReady }: { backup: string; writersReady: (format: number) => Promise<void> },
): Promise<void> {
  const { format, clock, migrations = MIGRATIONS } = deps;
  const { to, tables } = migration;
  const head = () => {
    const reader = Math.max(format.stored.record.reader, migration.reader);
    return { reader, needs: versionOf(reader, migrations), atMs: clock.nowMs(), backup };
  };
  if (tables.length > 0) {
    // From here on, no program of an earlier version starts, and each node writes the new form.
    const cursor = format.stored.record.cursor ?? { table: 0, after: null, entries: 0 };
    await write(deps, { ...head(), format: to - 1, cursor });
    await writersReady(to);
    await new Conversion(deps, tables).run();
  }
  await write(deps, { ...head(), format: to, cursor: null });
}

/** Replaces the record of the format, together with other changes. `false`: another check failed. @throws FormatChanged */
async function write(
  { store, kv, format, clock }: UpgradeDeps,
  record: FormatRecord,
  { checks = [], mutations = [] }: { checks?: readonly Check[]; mutations?: readonly KvMutation[] } = {},
): Promise<boolean> {
  const { versionstamp } = format.stored;
  const commit = store.commit({
    checks: [{ key: FORMAT_KEY, versionstamp }, ...checks],
    mutations: [{ type: "set", key: FORMAT_KEY, value: record }, ...mutations],
  });
  const done = await withTimeout(commit, { clock, timeoutMs: COMMIT_MS });
  if (!done.inTime) throw new StoreFault("Cannot upgrade the store: it did not answer in time. Start again.");
  if (done.value.ok) {
    format.take({ record, versionstamp: done.value.versionstamp });
    return true;
  }
  if ((await kv.get(FORMAT_KEY)).versionstamp !== versionstamp) {
    throw new FormatChanged("Cannot upgrade the store: another process changed its format");
  }
  return false;
}

type Entry = Deno.KvEntry<unknown>;

interface Converted {
  readonly entry: Entry;
  readonly mutations: readonly KvMutation[];
}

/** Converts the tables of one migration from the stored cursor on. */
class Conversion {
  readonly #deps: UpgradeDeps;
  readonly #tables: readonly TableMigration[];
  readonly #chunk: number;
  #saidMs: number;
  #races = 0;

  constructor(deps: UpgradeDeps, tables: readonly TableMigration[]) {
    this.#deps = deps;
    this.#tables = tables;
    this.#chunk = deps.store.isShared ? SHARED_CHUNK : LOCAL_CHUNK;
    this.#saidMs = deps.clock.nowMs();
  }

  async run(): Promise<void> {
    for (;;) {
      this.#deps.signal?.throwIfAborted();
      const cursor = this.#cursor;
      const table = this.#tables[cursor.table];
      if (table === undefined) return;
      const entries = await this.#read(table, cursor);
      const last = entries.at(-1);
      if (last === undefined) {
        await this.#commit([], { table: cursor.table + 1, after: null, entries: cursor.entries });
        continue;
      }
      await this.#convert(table, entries);
      this.#say();
    }
  }

  get #cursor(): MigrationCursor {
    return this.#deps.format.stored.record.cursor ?? { table: 0, after: null, entries: 0 };
  }

  /** The entries behind the cursor. */
  async #read({ prefix }: TableMigration, { after }: MigrationCursor): Promise<Entry[]> {
    const selector = after === null ? { prefix } : { prefix, start: after };
    const limit = READ_ENTRIES + 1;
    const read = await Array.fromAsync(this.#deps.kv.list<unknown>(selector, { limit, batchSize: limit }));
    // The range begins with the key of the cursor, unless that entry is gone.
    return after !== null && read[0] !== undefined && isSameKey(read[0].key, after) ? read.slice(1) : read;
  }

  async #convert(table: TableMigration, entries: readonly Entry[]): Promise<void> {
    const { entries: before } = this.#cursor;
    let chunk: Converted[] = [];
    for (const [at, entry] of entries.entries()) {
      const mutations = this.#withExpiry(entry, table.convert(entry));
      if (mutations.length > 0) chunk.push({ entry, mutations });
      if (chunk.length < this.#chunk && at < entries.length - 1) continue;
      const cursor = { table: this.#cursor.table, after: entry.key, entries: before + at + 1 };
      if (!await this.#commit(chunk, cursor)) return this.#raced();
      chunk = [];
      this.#races = 0;
    }
  }

  /** Commits conversions and the cursor behind them. `false`: another node changed one of the entries. */
  async #commit(chunk: readonly Converted[], cursor: MigrationCursor): Promise<boolean> {
    const { store, format, clock } = this.#deps;
    const record = { ...format.stored.record, atMs: clock.nowMs() };
    const mutations = chunk.flatMap(({ mutations }) => mutations);
    try {
      const checks = chunk.map(({ entry: { key, versionstamp } }) => ({ key, versionstamp }));
      const done = await write(this.#deps, { ...record, cursor }, { checks, mutations });
      // The parts that mirror entries follow only what other nodes write.
      if (done && mutations.length > 0) await store.reread(mutations.map(({ key }) => key));
      return done;
    } catch (fault) {
      // Too large for one commit.
      if (!(fault instanceof TypeError) || chunk.length < 2) throw fault;
      const half = chunk.slice(0, chunk.length >> 1);
      const after = half.at(-1)?.entry.key ?? null;
      // The count of the rest is added with its commit.
      const done = await this.#commit(half, { ...cursor, after, entries: this.#cursor.entries });
      return done && await this.#commit(chunk.slice(half.length), cursor);
    }
  }

  /** The entry is read again. */
  #raced(): void {
    if (++this.#races < MAX_RACES) return;
    throw new StoreFault(
      "Cannot upgrade the store: other nodes keep changing the same entry. It is tried again.",
    );
  }

  /** Deno KV removes the expiry of an entry that is written without one. */
  #withExpiry(entry: Entry, mutations: readonly KvMutation[]): readonly KvMutation[] {
    if (mutations.length === 0) return mutations;
    const { clock, lifetimes: settings } = this.#deps;
    const nowMs = clock.nowMs();
    const expiresAtMs = expiryOf(entry, { nowMs, settings });
    if (expiresAtMs === null) return mutations;
    const expireInMs = Math.max(1, expiresAtMs - nowMs);
    return mutations.map((one) => one.type === "set" ? { expireInMs, ...one } : one);
  }

  #say(): void {
    const { log, clock } = this.#deps;
    if (clock.nowMs() - this.#saidMs < PROGRESS_MS) return;
    this.#saidMs = clock.nowMs();
    log.info("the upgrade of the store converts entries", { entries: this.#cursor.entries });
  }
}

function isSameKey(a: Deno.KvKey, b: readonly unknown[]): boolean {
  return a.length === b.length &&
    a.every((part, at) => {
      const other = b[at];
      return part instanceof Uint8Array && other instanceof Uint8Array
        ? part.length === other.length && part.every((octet, i) => octet === other[i])
        : part === other;
    });
}

// Several nodes. The node that has the lease upgrades the store when no node of an earlier version is left.

interface RollingDeps extends UpgradeDeps {
  readonly cluster: Pick<Cluster, "list" | "openLease">;
}

const PASS_MS = 1000;
/** Passes that are left out after a failure, such as a full disk: each attempt can read the whole store for its backup. */
const PASSES_AFTER_FAULT = 60;
/** How long the other nodes have to follow the record. A node that is silent for five seconds counts as dead. */
const WRITERS_MS = 30_000;

/** The nodes that do not know a format. A node that stopped answering counts until its record is gone, a minute later. */
export function nodesBefore(
  nodes: readonly Pick<KnownNode, "name" | "version" | "format">[],
  format: number,
): string[] {
  return nodes.filter((node) => node.format < format).map(({ name, version }) => `${name} (${version})`);
}

/** Upgrades the store while the nodes serve. Returns a function that ends it. */
export function startRollingUpgrade(deps: RollingDeps): () => Promise<void> {
  const { cluster, clock, log, migrations = MIGRATIONS } = deps;
  const ending = new AbortController();
  const lease = cluster.openLease("upgrade", { onAcquired: () => Promise.resolve() });
  let said = "";
  let leftOut = 0;
  const mayUpgrade = (): boolean => {
    const { record } = deps.format.stored;
    const next = migrations.filter(({ to }) => to > record.format);
    const before = nodesBefore(cluster.list(), Math.max(...next.map(({ reader }) => reader)));
    const nodes = before.join(", ");
    if (nodes !== "" && nodes !== said) {
      log.info("the store keeps its format until these nodes are upgraded", { format: record.format, nodes });
    }
    said = nodes;
    return nodes === "";
  };
  const loop: WorkLoop = new WorkLoop({
    clock,
    intervalMs: PASS_MS,
    async pass() {
      if (leftOut > 0) return void leftOut--;
      if (!isOutdated(deps, migrations)) return;
      // A commit whose answer was lost may have changed it, and its own node does not follow that.
      const { value, versionstamp } = await deps.kv.get<FormatRecord>(FORMAT_KEY);
      if (value !== null) deps.format.take({ record: value, versionstamp });
      if (!isOutdated(deps, migrations) || !mayUpgrade() || !await lease.claim()) return;
      await lease.runIfHeld(() => upgradeStore({ ...deps, signal: ending.signal }, { writersReady }));
    },
    onFault(fault) {
      if (fault instanceof FormatChanged || ending.signal.aborted) return;
      leftOut = PASSES_AFTER_FAULT;
      log.error("the store could not be upgraded; it is tried again", { fault: faultMessage(fault) });
    },
  });
  async function writersReady(format: number): Promise<void> {
    for (const endMs = clock.nowMs() + WRITERS_MS; clock.nowMs() < endMs;) {
      ending.signal.throwIfAborted();
      if (cluster.list().every(({ isAlive, writes }) => !isAlive || writes >= format)) return;
      await pauseFor(clock, PASS_MS);
    }
    throw new StoreFault("Cannot upgrade the store: another node does not follow its format.");
  }
  loop.wake();
  return () => {
    ending.abort();
    return loop.close();
  };
}

/** Follows the record that another node writes. `onOutdated`: this program must not use the store any more. */
export function followFormat(
  store: Pick<Store, "follow">,
  { format, problemOf, onOutdated }: {
    format: StoreFormat;
    problemOf: (record: unknown) => string | null;
    onOutdated: (problem: string) => void;
  },
): void {
  store.follow(FORMAT_KEY, ({ value, versionstamp }) => {
    // A restore deletes it for a moment.
    if (value === null) return;
    const problem = problemOf(value);
    if (problem !== null) return onOutdated(problem);
    format.take({ record: value, versionstamp } as StoredFormat);
  });
}
