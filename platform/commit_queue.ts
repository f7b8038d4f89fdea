// Group commit: transactions and journal lines that arrive during a commit share the next one. Deno KV calls fsync once per commit, so grouping
// makes a durable challenge cheap.

import { setImmediate } from "node:timers";
import { LostHead } from "./cluster/change_log.ts";
import type { LaneName, SharedLog, StartedBatch } from "./cluster/shared_log.ts";
import {
  type CommitBatch,
  fillBatch,
  type KvTransaction,
  MAX_ADDED_VALUES,
  MAX_JOURNAL_VALUES,
  MIN_JOURNAL_LINES,
  partsOf,
  type QueuedTransaction,
  takeBatch,
} from "./commit_batch.ts";
import {
  createJournalKeys,
  JournalBuffer,
  type JournalLine,
  type JournalListener,
  tellNotRecorded,
  tellRecorded,
} from "./journal.ts";
import type { BlockWriter, LogRecord } from "./log_blocks.ts";
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
