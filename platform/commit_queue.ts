// Group commit: transactions that arrive during a commit share the next one. Deno KV calls fsync once per commit, so grouping
// makes a durable challenge cheap.

import {
  changedKeys,
  createJournalKeys,
  fillBatch,
  type KvTransaction,
  MIN_JOURNAL_LINES,
  type QueuedTransaction,
  takeBatch,
  takeJournalLines,
} from "./commit_batch.ts";
import type { LaneName, SharedLog, StartedBatch } from "./cluster/shared_log.ts";

/** `raced`: a check failed, and nothing was changed. */
export type CommitOutcome = { ok: true; versionstamp: string } | { ok: false; reason: "raced" };

export interface CommitQueueDeps {
  readonly kv: Deno.Kv;
  readonly nowMs: () => number;
  /** Differs between the processes that write to one store. */
  readonly node: string;
  /** Called when Deno KV has answered. */
  readonly onAnswer: () => void;
  /** The change log, if other nodes use the same store. */
  readonly log?: Pick<SharedLog, "begin">;
}

type CommitAttempt = { readonly outcome: CommitOutcome } | { readonly fault: unknown };

const RACED: CommitAttempt = { outcome: { ok: false, reason: "raced" } };

interface WaitingTransaction extends QueuedTransaction {
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (fault: unknown) => void;
}

/**
 * The transactions that wait for a commit, and the batches in progress.
 *
 * Two transactions of one batch never touch a key that one of them checks: the later one waits for the next batch,
 * because checks are evaluated against the state before the batch.
 */
export class CommitQueue {
  readonly #deps: CommitQueueDeps;
  readonly #journalKey: () => Deno.KvKey;
  #queue: WaitingTransaction[] = [];
  /** Batches in progress: one of any kind, and one with only journal lines. */
  readonly #inProgress: Record<LaneName, number> = { any: 0, journal: 0 };
  readonly #batches = new Set<Promise<void>>();
  #isPumpQueued = false;

  constructor(deps: CommitQueueDeps) {
    this.#deps = deps;
    this.#journalKey = createJournalKeys(deps.nowMs, deps.node);
  }

  /** Resolves when the changes are durable. Rejects with the error of Deno KV for this transaction. */
  commit(transaction: KvTransaction): Promise<CommitOutcome> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ transaction, resolve, reject });
      if (this.#isPumpQueued) return;
      this.#isPumpQueued = true;
      queueMicrotask(() => {
        this.#isPumpQueued = false;
        this.#pump();
      });
    });
  }

  /** Resolves when nothing waits and nothing is in progress. */
  async drain(): Promise<void> {
    while (this.#batches.size > 0 || this.#queue.length > 0) {
      this.#pump();
      await Promise.all(this.#batches);
    }
  }

  /** Never rejects: an error of the store is a value here. */
  async #tryCommit(batch: readonly WaitingTransaction[], lane: LaneName): Promise<CommitAttempt> {
    const { kv, log, onAnswer } = this.#deps;
    let started: StartedBatch | null = null;
    try {
      const atomic = kv.atomic();
      const journalKeys = fillBatch(atomic, batch, this.#journalKey);
      started = log?.begin(lane, atomic, changedKeys(batch, journalKeys)) ?? null;
      const done = await atomic.commit();
      onAnswer();
      if (done.ok) {
        started?.applied(done.versionstamp);
        return { outcome: { ok: true, versionstamp: done.versionstamp } };
      }
      // The client of Deno KV repeats a commit whose answer was lost. The check of the repetition then fails.
      return toAttempt(await started?.findOutcome({ mayArriveLate: false }), RACED);
    } catch (fault) {
      return toAttempt(await findLate(started), { fault });
    } finally {
      started?.end();
    }
  }

  async #settle(batch: readonly WaitingTransaction[], tried: CommitAttempt, lane: LaneName): Promise<void> {
    if ("outcome" in tried && (tried.outcome.ok || batch.length === 1)) {
      for (const waiting of batch) waiting.resolve(tried.outcome);
    } else if ("fault" in tried && batch.length === 1) {
      batch[0]?.reject(tried.fault);
    } else {
      // One bad transaction (a value over 64 KiB, a failed check) must not fail the others. The batch is halved, because a commit
      // for each transaction would take a second.
      const middle = batch.length >> 1;
      for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
        await this.#settle(half, await this.#tryCommit(half, lane), lane);
      }
    }
  }

  /** Commits a batch. The next commit starts before the callers of this one continue, so that they work while the disk writes. */
  async #run(batch: readonly WaitingTransaction[], lane: LaneName): Promise<void> {
    this.#inProgress[lane]++;
    const tried = await this.#tryCommit(batch, lane);
    const isDone = "outcome" in tried && tried.outcome.ok;
    // A failed batch is retried in halves before the next one starts, to keep the order.
    if (!isDone) await this.#settle(batch, tried, lane);
    this.#inProgress[lane]--;
    this.#pump();
    if (isDone) await this.#settle(batch, tried, lane);
  }

  #start(batch: readonly WaitingTransaction[], lane: LaneName): void {
    const running = this.#run(batch, lane);
    this.#batches.add(running);
    void running.finally(() => this.#batches.delete(running));
  }

  /** Starts one batch of any kind. In parallel, starts one with only journal lines, which depend on no other batch. */
  #pump(): void {
    if (this.#queue.length === 0) return;
    if (this.#inProgress.any === 0) {
      const { batch, rest } = takeBatch(this.#queue);
      this.#queue = rest;
      this.#start(batch, "any");
    } else if (this.#inProgress.journal === 0 && this.#queue.length >= MIN_JOURNAL_LINES) {
      const lines = takeJournalLines(this.#queue);
      if (lines.length < MIN_JOURNAL_LINES) return;
      this.#queue = this.#queue.slice(lines.length);
      this.#start(lines, "journal");
    }
  }
}

/** @param versionstamp of the batch, if it was applied after all */
function toAttempt(versionstamp: string | null | undefined, failed: CommitAttempt): CommitAttempt {
  return versionstamp === null || versionstamp === undefined
    ? failed
    : { outcome: { ok: true, versionstamp } };
}

/** The versionstamp of a batch whose commit threw an error, if it was applied. */
async function findLate(started: StartedBatch | null): Promise<string | null> {
  try {
    return await started?.findOutcome({ mayArriveLate: true }) ?? null;
  } catch (_closed) {
    return null;
  }
}
