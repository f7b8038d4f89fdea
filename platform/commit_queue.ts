// Group commit: transactions and journal lines that arrive during a commit share the next one. Deno KV calls fsync once per commit, so grouping
// makes a durable challenge cheap.

import { setImmediate } from "node:timers";
import { type Basis, keyText, LostHead } from "./cluster/change_log.ts";
import type { LaneName, SharedLog, StartedBatch } from "./cluster/shared_log.ts";
import {
  createJournalKeys,
  JournalBuffer,
  type JournalLine,
  type JournalListener,
  type JournalValue,
  tellNotRecorded,
  tellRecorded,
} from "./journal.ts";
import { BLOCK_END, type BlockWriter, type LogRecord } from "./log_blocks.ts";
import { StoreUnavailable } from "./store_fault.ts";

/** `raced`: a check failed, and nothing was changed. */
export type CommitOutcome = { ok: true; versionstamp: string } | { ok: false; reason: "raced" };

interface CommitQueueDeps {
  readonly kv: Deno.Kv;
  readonly nowMs: () => number;
  /** Writes the records of transactions. */
  readonly blocks: BlockWriter;
  /** Differs between the processes that write to one store. */
  readonly node: string;
  /** Called with the records of a transaction that is durable, before the next batch is sent. */
  readonly onRecords: (records: readonly LogRecord[]) => void;
  /** Called when Deno KV has answered. */
  readonly onAnswer: () => void;
  /** Called when a transaction failed because of the store. */
  readonly onFailure?: () => void;
  /** The change log, if other nodes use the same store. */
  readonly log?: Pick<SharedLog, "begin">;
}

export interface CommitTimes {
  readonly count: number;
  readonly totalMs: number;
}

type CommitAttempt = { readonly outcome: CommitOutcome } | { readonly fault: unknown };

const RACED: CommitAttempt = { outcome: { ok: false, reason: "raced" } };

interface WaitingTransaction extends QueuedTransaction {
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (fault: unknown) => void;
}

type Batch = CommitBatch<WaitingTransaction>;

/**
 * The transactions and journal lines that wait for a commit, and the batches in progress.
 *
 * Two transactions of one batch never touch a key that one of them checks: the later one waits for the next batch,
 * because checks are evaluated against the state before the batch. A journal line depends on no other write.
 */
export class CommitQueue {
  readonly #deps: CommitQueueDeps;
  readonly #journalKey: () => Deno.KvKey;
  #queue: WaitingTransaction[] = [];
  readonly #journal = new JournalBuffer();
  /** The lines of the transactions of one batch, while it is written. */
  readonly #transactionLines = new JournalBuffer();
  /** Batches in progress: one of any kind, and one with only journal lines. */
  readonly #inProgress: Record<LaneName, number> = { any: 0, journal: 0 };
  readonly #batches = new Set<Promise<void>>();
  readonly #times = { count: 0, totalMs: 0 };
  #isPumpQueued = false;
  /** Batches whose outcome is unknown. */
  #inDoubt = 0;
  /** The store does not answer, so nothing is accepted. */
  #isSilent = false;
  readonly #pumpLater = (): void => {
    this.#isPumpQueued = false;
    this.#pump();
  };

  constructor(deps: CommitQueueDeps) {
    this.#deps = deps;
    this.#journalKey = createJournalKeys(deps.nowMs, deps.node);
  }

  /** Of commits that the store answered. */
  get times(): CommitTimes {
    return this.#times;
  }

  /** Resolves when the changes are durable. Rejects with the error of Deno KV for this transaction. */
  commit(transaction: KvTransaction): Promise<CommitOutcome> {
    if (this.#isSilent) return Promise.reject(new StoreUnavailable("The store does not answer"));
    return new Promise((resolve, reject) => {
      const { journal = [], mutations, checks = [], records = [] } = transaction;
      const [line] = journal;
      if (line !== undefined && journal.length + mutations.length + checks.length + records.length === 1) {
        return this.append(line, { recorded: () => resolve(JOURNALED), notRecorded: reject });
      }
      this.#queue.push({ transaction, resolve, reject });
      this.#queuePump();
    });
  }

  /** Writes a line of the journal without other changes. The octets are copied. @throws RangeError if it is too long */
  append(line: JournalLine, listener: JournalListener): void {
    if (this.#isSilent) {
      return queueMicrotask(() => listener.notRecorded(new StoreUnavailable("The store does not answer")));
    }
    this.#journal.append(line, listener);
    if (this.#isPumpQueued) return;
    this.#isPumpQueued = true;
    // Runs after the packets that the socket already has, so that they share the commit.
    setImmediate(this.#pumpLater);
  }

  /** Resolves when nothing waits and nothing is in progress. */
  async drain(): Promise<void> {
    while (this.#batches.size > 0 || this.#queue.length > 0 || this.#journal.lines > 0) {
      this.#pump();
      await Promise.all(this.#batches);
    }
  }

  /** The versionstamp of a batch whose commit threw an error, if it was applied. If the store is silent, nothing else is accepted until it answers. */
  async #findLate(started: StartedBatch | null): Promise<string | null> {
    if (started === null) return null;
    this.#inDoubt++;
    try {
      // The end of one connection is no outage.
      return await started.findOutcome({ mayArriveLate: true }, () => this.#refuseWaiting());
    } catch (_closed) {
      return null;
    } finally {
      this.#inDoubt--;
      if (this.#inDoubt === 0) this.#isSilent = false;
    }
  }

  #refuseWaiting(): void {
    const refused = new StoreUnavailable("The store does not answer");
    const waiting = this.#queue;
    this.#queue = [];
    this.#isSilent = true;
    for (const { reject } of waiting) reject(refused);
    for (const value of this.#journal.take(Infinity)) tellNotRecorded(value, refused);
  }

  #queuePump(): void {
    if (this.#isPumpQueued) return;
    this.#isPumpQueued = true;
    queueMicrotask(this.#pumpLater);
  }

  /** Never rejects: an error of the store is a value here. */
  async #tryCommit(batch: Batch, lane: LaneName): Promise<CommitAttempt> {
    const { kv, log, onAnswer } = this.#deps;
    let started: StartedBatch | null = null;
    try {
      const atomic = kv.atomic();
      const keys = fillBatch(atomic, batch, {
        journalKey: this.#journalKey,
        lines: this.#transactionLines,
        blocks: this.#deps.blocks,
      });
      started = log?.begin(lane, atomic, keys) ?? null;
      const startedMs = performance.now();
      const done = await atomic.commit();
      this.#times.count++;
      this.#times.totalMs += performance.now() - startedMs;
      onAnswer();
      if (done.ok) {
        started?.applied(done.versionstamp);
        return this.#noteApplied(batch, done.versionstamp);
      }
      // The client of Deno KV repeats a commit whose answer was lost. The check of the repetition then fails.
      const applied = await started?.findOutcome({ mayArriveLate: false }) ?? null;
      return applied === null ? RACED : this.#noteApplied(batch, applied);
    } catch (fault) {
      const isKnown = fault instanceof LostHead || (fault instanceof StoreUnavailable && !fault.wasSent);
      const applied = isKnown ? null : await this.#findLate(started);
      return applied === null ? { fault } : this.#noteApplied(batch, applied);
    }
  }

  /** Tells the transactions of a batch that they are durable. The next batch may contain a check of what they wrote. */
  #noteApplied({ transactions }: Batch, versionstamp: string): CommitAttempt {
    for (const { transaction: { onApplied, records } } of transactions) {
      onApplied?.(versionstamp);
      if (records !== undefined) this.#deps.onRecords(records);
    }
    return { outcome: { ok: true, versionstamp } };
  }

  async #settle(batch: Batch, tried: CommitAttempt, lane: LaneName): Promise<void> {
    const { transactions, values } = batch;
    if ("outcome" in tried && (tried.outcome.ok || (transactions.length === 1 && values.length === 0))) {
      for (const value of values) tellRecorded(value);
      for (const waiting of transactions) waiting.resolve(tried.outcome);
    } else if ("fault" in tried && isFinal(batch, tried.fault)) {
      this.#deps.onFailure?.();
      for (const value of values) tellNotRecorded(value, tried.fault);
      for (const waiting of transactions) waiting.reject(tried.fault);
    } else {
      for (const part of partsOf(batch)) await this.#settle(part, await this.#tryCommit(part, lane), lane);
    }
  }

  /** Commits a batch. The next commit starts before the callers of this one continue, so that they work while the disk writes. */
  async #run(batch: Batch, lane: LaneName): Promise<void> {
    this.#inProgress[lane]++;
    let tried = await this.#tryCommit(batch, lane);
    // The connection ended, and the batch was not applied: it is sent once more.
    if ("fault" in tried && tried.fault instanceof StoreUnavailable && tried.fault.wasSent) {
      tried = await this.#tryCommit(batch, lane);
    }
    const isDone = "outcome" in tried && tried.outcome.ok;
    // A failed batch is retried in parts before the next one starts, to keep the order.
    if (!isDone) await this.#settle(batch, tried, lane);
    this.#inProgress[lane]--;
    this.#pump();
    if (isDone) await this.#settle(batch, tried, lane);
  }

  #start(batch: Batch, lane: LaneName): void {
    const running = this.#run(batch, lane);
    this.#batches.add(running);
    void running.finally(() => this.#batches.delete(running));
  }

  /** Starts one batch of any kind. In parallel, starts one with only journal lines, which depend on no other batch. */
  #pump(): void {
    const lines = this.#journal.lines;
    if (this.#inProgress.any === 0 && (this.#queue.length > 0 || lines > 0)) {
      const { batch: transactions, rest } = takeBatch(this.#queue, {
        isShared: this.#deps.log !== undefined,
      });
      this.#queue = rest;
      const maxValues = transactions.length > 0 ? MAX_ADDED_VALUES : MAX_JOURNAL_VALUES;
      this.#start({ transactions, values: this.#journal.take(maxValues) }, "any");
    } else if (this.#inProgress.journal === 0 && lines >= MIN_JOURNAL_LINES) {
      this.#start({ transactions: [], values: this.#journal.take(MAX_JOURNAL_VALUES) }, "journal");
    }
  }
}

/** The outcome of a line of the journal. Nothing compares its version. */
const JOURNALED: CommitOutcome = { ok: true, versionstamp: "" };

/** Whether a failed batch is not tried again in parts: it cannot be divided, or the store does not answer. */
function isFinal({ transactions, values }: Batch, fault: unknown): boolean {
  return fault instanceof StoreUnavailable || transactions.length === 0 ||
    (transactions.length === 1 && values.length === 0);
}

// Batches of transactions and journal lines: which ones share an atomic operation of Deno KV, and how they are written into it.

/** Changes that are made together or not at all. Audit events are complete records here. */
export interface KvTransaction {
  readonly checks?: readonly Deno.AtomicCheck[];
  readonly mutations: readonly KvMutation[];
  /** The approximate size of large values: Deno KV refuses an atomic operation of more than 800 KiB. */
  readonly sizeOctets?: number;
  /** Lines of the journal that are written with the changes. */
  readonly journal?: readonly JournalLine[] | undefined;
  /** Records of the history and the audit log that are written into blocks. */
  readonly records?: readonly LogRecord[];
  /** Called when the changes are durable, before the next batch is sent. */
  readonly onApplied?: (versionstamp: string) => void;
}

export type KvMutation =
  | { type: "set"; key: Deno.KvKey; value: unknown; expireInMs?: number; basis?: Basis | undefined }
  | { type: "delete"; key: Deno.KvKey; basis?: Basis | undefined };

interface QueuedTransaction {
  readonly transaction: KvTransaction;
}

/** Transactions and journal values of one atomic operation. */
interface CommitBatch<T extends QueuedTransaction = QueuedTransaction> {
  readonly transactions: readonly T[];
  readonly values: readonly JournalValue[];
}

/**
 * The parts in which a failed batch is tried again. One bad transaction (a value over 64 KiB, a failed check) must not fail the others. The
 * transactions are halved, because a commit for each one would take a second.
 */
function partsOf<T extends QueuedTransaction>(
  { transactions, values }: CommitBatch<T>,
): CommitBatch<T>[] {
  if (values.length > 0) return [{ transactions: [], values }, { transactions, values: [] }];
  const middle = transactions.length >> 1;
  return [transactions.slice(0, middle), transactions.slice(middle)]
    .map((half) => ({ transactions: half, values: [] }));
}

/** Deno KV accepts 1,000 mutations per atomic operation; 500 was fastest in measurements. */
const MAX_MUTATIONS = 500;
const MAX_CHECKS = 100;
/** `denokv` refuses an atomic operation with more than ten checks (denokv_proto/limits.rs). One check is that of the change log. */
export const MAX_SHARED_CHECKS = 9;
/** Deno KV accepts 800 KiB per atomic operation; the rest is a reserve for transactions without `sizeOctets`. */
const MAX_BATCH_OCTETS = 600_000;
/** A record of the history or the audit log has fewer, except for unusual names. */
const RECORD_OCTETS = 1000;
/** Values of at most 64 KiB in a batch with transactions, and in one without. */
const MAX_ADDED_VALUES = 3;
const MAX_JOURNAL_VALUES = 8;
/** With fewer lines, a separate commit costs more than it saves, so they wait for the next batch. */
const MIN_JOURNAL_LINES = 32;

/**
 * Writes a batch into an atomic operation. Returns the keys that it changes.
 *
 * @param options.lines collects the lines of the transactions; its content is dropped before
 * @throws RangeError if a journal line is too long
 */
function fillBatch(
  atomic: Deno.AtomicOperation,
  { transactions, values }: CommitBatch,
  { journalKey, lines, blocks }: {
    readonly journalKey: () => Deno.KvKey;
    readonly lines: JournalBuffer;
    readonly blocks: BlockWriter;
  },
): Deno.KvKey[] {
  const keys: Deno.KvKey[] = [];
  const records: (LogRecord | typeof BLOCK_END)[] = [];
  lines.clear();
  for (const { transaction } of transactions) {
    fill(atomic, transaction);
    let hasAudit = false;
    for (const { key } of transaction.mutations) {
      keys.push(key);
      hasAudit ||= key[0] === "audit";
    }
    if (hasAudit) records.push(BLOCK_END);
    for (const line of transaction.journal ?? NO_LINES) lines.append(line, NO_LISTENER);
    for (const record of transaction.records ?? NO_RECORDS) records.push(record);
  }
  blocks.write(atomic, records);
  const write = ({ octets, expireInMs }: JournalValue): void => {
    const key = journalKey();
    keys.push(key);
    atomic.set(key, octets, { expireIn: expireInMs });
  };
  lines.take(Infinity).forEach(write);
  values.forEach(write);
  return keys;
}

const NO_LINES: readonly JournalLine[] = [];
const NO_RECORDS: readonly LogRecord[] = [];
/** The transaction of the line is told the result. */
const NO_LISTENER: JournalListener = { recorded: () => undefined, notRecorded: () => undefined };

/** Takes transactions from the front of the queue, in order, as many as fit into one atomic operation. */
export function takeBatch<T extends QueuedTransaction>(
  queue: readonly T[],
  { isShared = false }: { isShared?: boolean } = {},
): { batch: T[]; rest: T[] } {
  const maxChecks = isShared ? MAX_SHARED_CHECKS : MAX_CHECKS;
  const batch: T[] = [];
  const rest: T[] = [];
  if (queue.length === 0) return { batch, rest };
  const kinds = checkedKinds(queue);
  const written = new Set<string>();
  const guarded = new Set<string>();
  let mutations = 0;
  let checks = 0;
  let octets = 0;
  for (const [at, waiting] of queue.entries()) {
    const { transaction } = waiting;
    const { mutations: changes, checks: conditions = NO_CHECKS } = transaction;
    const writes = textsOf(changes, kinds);
    const guards = textsOf(conditions, kinds);
    let size = (transaction.sizeOctets ?? 0) + RECORD_OCTETS * (transaction.records ?? NO_RECORDS).length;
    for (const line of transaction.journal ?? NO_LINES) size += line.octets.length;
    const full = batch.length > 0 &&
      (mutations + changes.length > MAX_MUTATIONS || checks + conditions.length > maxChecks ||
        octets + size > MAX_BATCH_OCTETS);
    const collides = guards.some((key) => written.has(key)) || writes.some((key) => guarded.has(key));
    if (full || collides) {
      // No transaction overtakes one that must wait.
      return { batch, rest: rest.concat(queue.slice(at)) };
    }
    batch.push(waiting);
    mutations += changes.length;
    checks += conditions.length;
    octets += size;
    for (const key of writes) written.add(key);
    for (const key of guards) guarded.add(key);
  }
  return { batch, rest };
}

const NO_CHECKS: readonly Deno.AtomicCheck[] = [];
const NO_TEXTS: readonly string[] = [];

/** The kinds of keys that checks name. Keys of other kinds cannot collide: on one node, nearly all keys of logins. */
function checkedKinds(queue: readonly QueuedTransaction[]): ReadonlySet<string> {
  const kinds = new Set<string>();
  for (const { transaction: { checks = NO_CHECKS } } of queue) {
    for (const { key } of checks) kinds.add(kindOf(key));
  }
  return kinds;
}

function kindOf([kind]: Deno.KvKey): string {
  return typeof kind === "string" ? kind : "";
}

/** The keys of these kinds as texts. */
function textsOf(
  named: readonly { readonly key: Deno.KvKey }[],
  kinds: ReadonlySet<string>,
): readonly string[] {
  let texts: string[] | null = null;
  for (const { key } of named) if (kinds.has(kindOf(key))) (texts ??= []).push(keyText(key));
  return texts ?? NO_TEXTS;
}

function fill(atomic: Deno.AtomicOperation, { checks, mutations }: KvTransaction): void {
  if (checks !== undefined) { for (const check of checks) atomic.check(check); }
  for (const mutation of mutations) {
    if (mutation.type === "delete") atomic.delete(mutation.key);
    else if (mutation.expireInMs === undefined) atomic.set(mutation.key, mutation.value);
    else atomic.set(mutation.key, mutation.value, { expireIn: Math.max(1, Math.round(mutation.expireInMs)) });
  }
}
