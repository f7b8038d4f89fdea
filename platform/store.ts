// The store (Deno KV): reads share calls, commits are grouped (platform/commit_queue.ts), and audit events become records.

import { type AuditMutation, type AuditWriterOptions, createAuditWriter } from "./audit.ts";
import { AuditNames } from "./audit_names.ts";
import { type ApplyEntry, type FinishRun, Followers, keyText } from "./cluster/change_log.ts";
import type { SharedLog } from "./cluster/shared_log.ts";
import {
  type CommitOutcome,
  CommitQueue,
  type CommitTimes,
  type KvMutation,
  type KvTransaction,
} from "./commit_queue.ts";
import { type JournalLine, type JournalListener, readJournalValue } from "./journal.ts";
import { BlockFinder, BlockWriter, logRange, logTableOf, readLog } from "./log_blocks.ts";
import { type Clock, createSystemRandom } from "./runtime.ts";
import type { Log } from "./log.ts";
import { FORMAT, type StoreFormat } from "./upgrade/store_format.ts";

/** One change inside a {@link Transaction}. An audit event becomes a record, with its id, in the same commit. */
export type Mutation = KvMutation | AuditMutation;

/** A condition of a commit: the key has this version; `versionstamp: null` means that the key is absent. */
export interface Check {
  readonly key: Deno.KvKey;
  readonly versionstamp: string | null;
}

/** Changes that are made together or not at all. */
export interface Transaction extends Omit<KvTransaction, "checks" | "mutations"> {
  readonly checks?: readonly Check[];
  readonly mutations: readonly Mutation[];
}

/** A value as read. `versionstamp` is `null` if the key is absent. */
export interface StoreEntry<T> {
  readonly key: Deno.KvKey;
  readonly value: T | null;
  readonly versionstamp: string | null;
}

export interface Store {
  /** @param options.near for a login of the history: the id of the audit record with which the login was read, which finds it sooner */
  get<T>(key: Deno.KvKey, options?: { near?: string }): Promise<StoreEntry<T>>;
  /** All entries below `prefix`, in key order, read in batches of up to 500. */
  list<T>(prefix: Deno.KvKey, options?: { limit?: number; reverse?: boolean }): AsyncIterable<StoreEntry<T>>;
  /** Hands all entries below `prefix` to `apply`. An entry that `apply` cannot read is reported ({@link onUnreadable}), and the others are loaded. */
  load(prefix: Deno.KvKey, apply: ApplyEntry): Promise<void>;
  /** `report` is called for each entry that cannot be read: of a load, or of a change of another node. */
  onUnreadable(report: (key: Deno.KvKey, fault: unknown) => void): void;
  /** Entries from `start` (inclusive) to `end` (exclusive), in key order, or in `reverse`. */
  range<T>(
    selector: { start: Deno.KvKey; end: Deno.KvKey },
    options?: { limit?: number; reverse?: boolean },
  ): AsyncIterable<StoreEntry<T>>;
  /** Indexes the names of audit records in blocks, in one commit. Returns whether there are more. @param options.all also if the commit is not full */
  indexAudit(options: { all: boolean }): Promise<boolean>;
  /** The lines of the journal, newest values first. */
  journal(): AsyncIterable<Uint8Array>;
  /** Writes a line of the journal, without other changes. Copies its octets. @throws RangeError if it is too long */
  append(line: JournalLine, listener: JournalListener): void;
  /** Resolves when the changes are durable. Rejects only if the store fails. */
  commit(transaction: Transaction): Promise<CommitOutcome>;
  /**
   * Calls `apply` with entries below `prefix` that other nodes change, and with entries that are read again. Call it before entries are loaded.
   * Returns a function that ends it.
   */
  follow(prefix: Deno.KvKey, apply: ApplyEntry): () => void;
  /** Calls `changed` with the first `lengthParts` parts of keys below `prefix` that other nodes change. */
  followGroups(prefix: Deno.KvKey, lengthParts: number, changed: (group: Deno.KvKey) => void): void;
  /** Calls `finish` after each run that read the changes of other nodes. */
  onRunEnd(finish: FinishRun): void;
  /** `null` if no other node can use the store. Otherwise resolves when memory contains every change that others committed before the call. */
  catchUp(): Promise<void> | null;
  /** Reads keys and hands them to their followers, after a commit that raced. */
  reread(keys: readonly Deno.KvKey[]): Promise<void>;
  /** Whether other nodes can use the store. */
  readonly isShared: boolean;
  /** Differs for each run of a process. */
  readonly node: string;
  /** The format in which this process writes. An earlier one while nodes of an earlier version use the store. */
  readonly format: number;
  /** An audit id that is larger than those of earlier commits of this process, and smaller than those of later ones. */
  auditMark(): string;
  /** An audit id that is smaller than those of all commits of this process. */
  readonly firstAuditMark: string;
  /** When the store last answered (milliseconds since the epoch), for Status-Server and /readyz. */
  lastAnswerMs(): number;
  /** How many transactions failed because of the store; a lost race is none. */
  commitFailures(): number;
  /** How many commits the store answered, and how long that took in all. */
  commitTimes(): CommitTimes;
  /** Waits for the commits in progress and closes the store. */
  close(): Promise<void>;
}

/** After this time without an answer of the store, Status-Server (RFC 5997 §4.2) and /readyz report a failure. */
export const STORE_SILENT_MS = 5000;
const NEWEST = { writes: FORMAT };
/** Deno KV reads at most ten keys in one call. */
const MAX_KEYS = 10;

/** Keys in one read of Deno KV. */
const MAX_BATCH_KEYS = 500;

type Selector = { readonly prefix: Deno.KvKey } | { readonly start: Deno.KvKey; readonly end: Deno.KvKey };
type ListOptions = { readonly limit?: number; readonly reverse?: boolean };

interface StoreOptions {
  readonly nowMs?: () => number;
  /** Differs between processes that write to one store. */
  readonly node?: string;
  readonly audit?: Pick<AuditWriterOptions, "newest" | "retentionMs">;
  /** The change log, if other nodes use the same store. */
  readonly shared?: SharedLog | null;
  readonly format?: Pick<StoreFormat, "writes">;
}

/** Wraps an open Deno KV; closing the store closes it. */
export function createStore(
  kv: Deno.Kv,
  {
    nowMs = Date.now,
    node = createSystemRandom().bytes(4).toHex(),
    audit = {},
    shared = null,
    format = NEWEST,
  }: StoreOptions = {},
): Store {
  const auditWriter = createAuditWriter({ nowMs, node, ...audit });
  const firstAuditMark = auditWriter.mark();
  let lastAnswer = nowMs();
  const onAnswer = (): void => void (lastAnswer = nowMs());
  let failures = 0;
  const onFailure = (): void => void failures++;
  const blocks = new BlockWriter(() => auditWriter.mark());
  const queue = new CommitQueue({
    ...{ kv, nowMs, node, blocks, onAnswer, onFailure },
    onRecords: (records) => names.note(records),
    ...shared && { log: shared },
  });
  const followers = shared?.followers ?? new Followers();
  const isShared = shared !== null;
  const newest = isShared ? audit.newest ?? "" : firstAuditMark;
  const nextId = () => auditWriter.mark();
  const names: AuditNames = new AuditNames({ ...{ kv, queue, nowMs, nextId }, ...audit, newest, isShared });
  return {
    ...createReads({ kv, names, isShared: shared !== null, onAnswer }),
    async load(prefix, apply) {
      for await (const entry of kv.list({ prefix }, { batchSize: 500 })) followers.tryApply(entry, apply);
    },
    onUnreadable: (report) => void (followers.onUnreadable = report),
    indexAudit: (options) => names.indexNext(options),
    async *journal() {
      for await (
        const { value } of kv.list<unknown>({ prefix: ["journal"] }, { reverse: true, batchSize: 100 })
      ) yield* readJournalValue(value);
    },
    append: (line, listener) => queue.append(line, listener),
    commit(transaction) {
      try {
        const completed = auditWriter.complete(transaction.mutations, { asBlocks: shared === null });
        const complete = { ...transaction, ...completed };
        if (shared === null) return commitOnBasis(queue, complete);
        const endWrite = shared.beginWrite(complete.mutations.map(({ key }) => key));
        const committing = commitOnBasis(queue, complete);
        committing.then(endWrite, endWrite);
        return committing;
      } catch (fault) {
        return Promise.reject(fault);
      }
    },
    follow: (prefix, apply) => followers.follow(prefix, apply),
    followGroups: (prefix, lengthParts, changed) => followers.followGroups(prefix, lengthParts, changed),
    onRunEnd: (finish) => followers.onRunEnd(finish),
    catchUp: () => shared === null ? null : shared.reader.catchUp().then(onAnswer),
    // With one process, memory is never older than the store.
    reread: (keys) => shared === null ? Promise.resolve() : shared.entries.reread(keys),
    isShared: shared !== null,
    node,
    get format() {
      return format.writes;
    },
    auditMark: () => auditWriter.mark(),
    firstAuditMark,
    lastAnswerMs: () => lastAnswer,
    commitFailures: () => failures,
    commitTimes: () => queue.times,
    async close() {
      shared?.close();
      await queue.drain();
      kv.close();
    },
  };
}

/** Commits a transaction whose mutations have a basis: the records that they were computed from must be unchanged. */
function commitOnBasis(queue: CommitQueue, transaction: KvTransaction): Promise<CommitOutcome> {
  if (!transaction.mutations.some(({ basis }) => basis !== undefined)) return queue.commit(transaction);
  const checks: Check[] = [...transaction.checks ?? []];
  const written = new Map<string, KvMutation>();
  for (const mutation of transaction.mutations) {
    const { key, basis } = mutation;
    if (basis === undefined) continue;
    const { before } = basis;
    const text = keyText(key);
    // The version is read when the batch is sent, because an earlier write of this process may be in progress.
    if (before !== null && !written.has(text)) {
      checks.push({
        key,
        get versionstamp() {
          return before.versionstamp;
        },
      });
    }
    written.set(text, mutation);
  }
  // Set before the next batch is sent, because it may contain a write that is based on this one.
  const onApplied = (versionstamp: string): void => {
    for (const { type, basis } of written.values()) {
      if (basis !== undefined) basis.after.versionstamp = type === "delete" ? null : versionstamp;
    }
  };
  return queue.commit({ ...transaction, checks, onApplied });
}

/** Reads keys, and the records of blocks as if they were keys. */
function createReads(
  { kv, names, isShared, onAnswer }: {
    kv: Deno.Kv;
    names: AuditNames;
    isShared: boolean;
    onAnswer: () => void;
  },
): Pick<Store, "get" | "list" | "range"> {
  const read = createBatchedRead(kv);
  const blocks = new BlockFinder(kv);
  const entriesOf = (
    selector: Selector,
    { limit = Infinity, reverse = false }: ListOptions,
  ): AsyncIterable<Deno.KvEntry<unknown>> => {
    const [first, last] = "prefix" in selector
      ? [selector.prefix, selector.prefix]
      : [selector.start, selector.end];
    const batchSize = Math.min(limit, MAX_BATCH_KEYS);
    const table = logTableOf(first);
    // Another range has several tables, and shows their keys.
    if (table !== null && last[0] === table) {
      // With several nodes, a page is one read (platform/log_export/record_reader.ts). They write no blocks.
      const firstKeys = isShared ? { firstKeys: batchSize } : {};
      return readLog(kv, table, { ...logRange(first, last), reverse, ...firstKeys });
    }
    if (!("prefix" in selector) && isOfOneName(first, last)) return names.read(selector, { reverse });
    return kv.list<unknown>(selector, { reverse, batchSize });
  };
  async function* range<T>(selector: Selector, options: ListOptions = {}): AsyncGenerator<StoreEntry<T>> {
    let left = options.limit ?? Infinity;
    if (left <= 0) return;
    for await (const entry of entriesOf(selector, options)) {
      yield entry as StoreEntry<T>;
      if (--left <= 0) return;
    }
  }
  return {
    async get<T>(key: Deno.KvKey, near: { near?: string } = {}) {
      const entry = await read(key);
      const table = logTableOf(key);
      const found = entry.versionstamp === null && table !== null
        ? await blocks.find(table, { id: String(key[1]), ...near })
        : null;
      onAnswer();
      return (found ?? entry) as StoreEntry<T>;
    },
    list: (prefix, options) => range({ prefix }, options),
    range,
  };
}

/** Whether a range has index entries of one name: `["audit_by", role, name, id]`. */
function isOfOneName(first: Deno.KvKey, last: Deno.KvKey): boolean {
  return first[0] === "audit_by" && first.length === 4 && [0, 1, 2].every((at) => first[at] === last[at]);
}

interface PendingRead {
  readonly key: Deno.KvKey;
  readonly resolve: (entry: Deno.KvEntryMaybe<unknown>) => void;
  readonly reject: (fault: unknown) => void;
}

/** Reads keys. Reads of the same task share calls of ten keys, because a call costs much more than a further key. */
function createBatchedRead(kv: Deno.Kv): (key: Deno.KvKey) => Promise<Deno.KvEntryMaybe<unknown>> {
  let pending: PendingRead[] = [];

  const readAlone = ({ key, resolve, reject }: PendingRead): void => void kv.get(key).then(resolve, reject);
  const readTogether = async (readings: readonly PendingRead[]): Promise<void> => {
    try {
      const entries = await kv.getMany<unknown[]>(readings.map(({ key }) => key));
      for (const [at, { resolve, reject }] of readings.entries()) {
        const entry = entries[at];
        if (entry === undefined) reject(new Error("Cannot read the store: it left out a key"));
        else resolve(entry);
      }
    } catch (_oneOfThem) {
      // One bad key must not fail the others.
      readings.forEach(readAlone);
    }
  };
  const readAll = (): void => {
    const readings = pending;
    pending = [];
    for (let at = 0; at < readings.length; at += MAX_KEYS) {
      const [first, ...others] = readings.slice(at, at + MAX_KEYS);
      if (first === undefined) return;
      if (others.length === 0) readAlone(first);
      else void readTogether([first, ...others]);
    }
  };

  return (key) =>
    new Promise((resolve, reject) => {
      pending.push({ key, resolve, reject });
      if (pending.length === 1) queueMicrotask(readAll);
    });
}

const HEARTBEAT_MS = 2000;

/** Reads a key every two seconds, so that a store that stopped answering is noticed without a login. Returns a function that stops it. */
export function startStoreHeartbeat(
  { store, clock, log }: { store: Pick<Store, "get">; clock: Clock; log: Log },
): () => void {
  let cancel = (): void => {};
  let isSilent = false;
  const beat = (): void => {
    store.get(["vault", "check"]).then(() => isSilent = false, (fault: unknown) => {
      // One line for each outage.
      if (!isSilent) log.error("the store does not answer", { fault: String(fault) });
      isSilent = true;
    });
    cancel = clock.after(HEARTBEAT_MS, beat);
  };
  beat();
  return () => cancel();
}
