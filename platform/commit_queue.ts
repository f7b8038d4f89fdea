// Group commit: transactions that arrive while one commit is on its way go into the next one. Deno KV does one fsync a commit, so this is
// what makes a durable challenge cheap.

import {
  createJournalKeys,
  fillBatch,
  MIN_JOURNAL_LINES,
  type QueuedTransaction,
  takeBatch,
  takeJournalLines,
} from "./commit_batch.ts";
import type { CommitOutcome, KvTransaction } from "./transaction.ts";

export interface CommitQueueDeps {
  readonly kv: Deno.Kv;
  readonly nowMs: () => number;
  /** Differs between processes that write to one store. */
  readonly node: string;
  /** Called when Deno KV has answered. */
  readonly onAnswer: () => void;
}

type Tried = { readonly outcome: CommitOutcome } | { readonly fault: unknown };

/** Batches under way: one of any kind, one of journal lines alone. */
type Lane = "any" | "journal";

interface Waiting extends QueuedTransaction {
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (fault: unknown) => void;
}

/**
 * The transactions that wait for a commit, and the batches under way.
 *
 * Two transactions of one batch never touch a key that one of them checks: the later one waits for the next batch,
 * because checks are evaluated against the state before the batch.
 */
export class CommitQueue {
  readonly #deps: CommitQueueDeps;
  readonly #journalKey: () => Deno.KvKey;
  #queue: Waiting[] = [];
  readonly #flying: Record<Lane, number> = { any: 0, journal: 0 };
  readonly #flights = new Set<Promise<void>>();
  #isPumpQueued = false;

  constructor(deps: CommitQueueDeps) {
    this.#deps = deps;
    this.#journalKey = createJournalKeys(deps.nowMs, deps.node);
  }

  /** Resolves when the changes are durable. Rejects with what Deno KV throws for this transaction. */
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

  /** Resolves when nothing waits and nothing is under way. */
  async drain(): Promise<void> {
    while (this.#flights.size > 0 || this.#queue.length > 0) {
      this.#pump();
      await Promise.all(this.#flights);
    }
  }

  /** Never rejects: what the store throws is a value here. */
  async #tryCommit(batch: readonly Waiting[]): Promise<Tried> {
    try {
      const atomic = this.#deps.kv.atomic();
      fillBatch(atomic, batch, this.#journalKey);
      const done = await atomic.commit();
      this.#deps.onAnswer();
      return {
        outcome: done.ok ? { ok: true, versionstamp: done.versionstamp } : { ok: false, reason: "raced" },
      };
    } catch (fault) {
      return { fault };
    }
  }

  async #settle(batch: readonly Waiting[], tried: Tried): Promise<void> {
    if ("outcome" in tried && (tried.outcome.ok || batch.length === 1)) {
      for (const waiting of batch) waiting.resolve(tried.outcome);
    } else if ("fault" in tried && batch.length === 1) {
      batch[0]?.reject(tried.fault);
    } else {
      // One bad transaction (a value over 64 KiB, a check that does not hold) must not fail its neighbours. Halves, because one commit for each
      // neighbour would take a second.
      const middle = batch.length >> 1;
      for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
        await this.#settle(half, await this.#tryCommit(half));
      }
    }
  }

  /** Commits a batch; the next one starts before anybody hears of this one, so that their work and the disk's go on side by side. */
  async #fly(batch: readonly Waiting[], lane: Lane): Promise<void> {
    this.#flying[lane]++;
    const tried = await this.#tryCommit(batch);
    const isDone = "outcome" in tried && tried.outcome.ok;
    // What failed is tried again in halves before anything follows it, so that order is kept.
    if (!isDone) await this.#settle(batch, tried);
    this.#flying[lane]--;
    this.#pump();
    if (isDone) await this.#settle(batch, tried);
  }

  #start(batch: readonly Waiting[], lane: Lane): void {
    const flight = this.#fly(batch, lane);
    this.#flights.add(flight);
    void flight.finally(() => this.#flights.delete(flight));
  }

  /** Keeps the disk busy: one batch of any kind at a time, and beside it one of journal lines alone, which depend on nothing. */
  #pump(): void {
    if (this.#queue.length === 0) return;
    if (this.#flying.any === 0) {
      const { batch, rest } = takeBatch(this.#queue);
      this.#queue = rest;
      this.#start(batch, "any");
    } else if (this.#flying.journal === 0 && this.#queue.length >= MIN_JOURNAL_LINES) {
      const lines = takeJournalLines(this.#queue);
      if (lines.length < MIN_JOURNAL_LINES) return;
      this.#queue = this.#queue.slice(lines.length);
      this.#start(lines, "journal");
    }
  }
}
