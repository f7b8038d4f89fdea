// Group commit: transactions that arrive during a commit share the next one. Deno KV calls fsync once per commit, so grouping
// makes a durable challenge cheap.

/** Changes that are made together or not at all. Audit events are complete records here. */
export interface KvTransaction {
  readonly checks?: readonly Deno.AtomicCheck[];
  readonly mutations: readonly KvMutation[];
  /** The approximate size of large values: Deno KV refuses an atomic operation of more than 800 KiB. */
  readonly sizeOctets?: number;
  /** A small new record of a frequent kind. The lines of one batch share a value, which costs about a tenth of one key per line. */
  readonly journal?: JournalLine;
}

export interface JournalLine {
  /** Without a line end; at most 20,000 characters. */
  readonly text: string;
  readonly expireInMs: number;
}

/** `raced`: a check failed, and nothing was changed. */
export type CommitOutcome = { ok: true; versionstamp: string } | { ok: false; reason: "raced" };

export type KvMutation =
  | { type: "set"; key: Deno.KvKey; value: unknown; expireInMs?: number }
  | { type: "delete"; key: Deno.KvKey };

export interface CommitQueueDeps {
  readonly kv: Deno.Kv;
  readonly nowMs: () => number;
  /** Differs between the processes that write to one store. */
  readonly node: string;
  /** Called when Deno KV has answered. */
  readonly onAnswer: () => void;
}

type CommitAttempt = { readonly outcome: CommitOutcome } | { readonly fault: unknown };

/** Batches in progress: one of any kind, and one with only journal lines. */
type Lane = "any" | "journal";

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
  readonly #inProgress: Record<Lane, number> = { any: 0, journal: 0 };
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
  async #tryCommit(batch: readonly WaitingTransaction[]): Promise<CommitAttempt> {
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

  async #settle(batch: readonly WaitingTransaction[], tried: CommitAttempt): Promise<void> {
    if ("outcome" in tried && (tried.outcome.ok || batch.length === 1)) {
      for (const waiting of batch) waiting.resolve(tried.outcome);
    } else if ("fault" in tried && batch.length === 1) {
      batch[0]?.reject(tried.fault);
    } else {
      // One bad transaction (a value over 64 KiB, a failed check) must not fail the others. The batch is halved, because a commit
      // for each transaction would take a second.
      const middle = batch.length >> 1;
      for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
        await this.#settle(half, await this.#tryCommit(half));
      }
    }
  }

  /** Commits a batch. The next commit starts before the callers of this one continue, so that they work while the disk writes. */
  async #run(batch: readonly WaitingTransaction[], lane: Lane): Promise<void> {
    this.#inProgress[lane]++;
    const tried = await this.#tryCommit(batch);
    const isDone = "outcome" in tried && tried.outcome.ok;
    // A failed batch is retried in halves before the next one starts, to keep the order.
    if (!isDone) await this.#settle(batch, tried);
    this.#inProgress[lane]--;
    this.#pump();
    if (isDone) await this.#settle(batch, tried);
  }

  #start(batch: readonly WaitingTransaction[], lane: Lane): void {
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

interface QueuedTransaction {
  readonly transaction: KvTransaction;
}

/** Deno KV accepts 1,000 mutations and 100 checks per atomic operation; 500 was fastest in measurements. */
const MAX_MUTATIONS = 500;
const MAX_CHECKS = 100;
/** A value has at most 64 KiB; a character has at most three octets in UTF-8. */
const MAX_JOURNAL_CHARACTERS = 20_000;
/** Deno KV accepts 800 KiB per atomic operation; the rest is a reserve for transactions without `sizeOctets`. */
const MAX_BATCH_OCTETS = 600_000;

/** With fewer lines, a separate commit costs more than it saves, so they wait for the next batch. */
const MIN_JOURNAL_LINES = 32;
const MAX_JOURNAL_LINES = 500;

/** Writes a batch into an atomic operation. @throws RangeError if a journal line is too long */
function fillBatch(
  atomic: Deno.AtomicOperation,
  batch: readonly QueuedTransaction[],
  journalKey: () => Deno.KvKey,
): void {
  for (const { transaction } of batch) fill(atomic, transaction);
  writeJournal(atomic, batch, journalKey);
}

/** Takes transactions from the front of the queue, in order, as many as fit into one atomic operation. */
function takeBatch<T extends QueuedTransaction>(queue: readonly T[]): { batch: T[]; rest: T[] } {
  const batch: T[] = [];
  const rest: T[] = [];
  const written = new Set<string>();
  const guarded = new Set<string>();
  let mutations = 0;
  let checks = 0;
  let octets = 0;
  for (const [at, waiting] of queue.entries()) {
    const { transaction } = waiting;
    const checkCount = transaction.checks?.length ?? 0;
    const size = (transaction.journal?.text.length ?? 0) + (transaction.sizeOctets ?? 0);
    const full = batch.length > 0 &&
      (mutations + transaction.mutations.length > MAX_MUTATIONS || checks + checkCount > MAX_CHECKS ||
        octets + size > MAX_BATCH_OCTETS);
    if (full || collides(transaction, written, guarded)) {
      // No transaction overtakes one that must wait.
      return { batch, rest: rest.concat(queue.slice(at)) };
    }
    batch.push(waiting);
    mutations += transaction.mutations.length;
    checks += checkCount;
    octets += size;
    for (const { key } of transaction.mutations) written.add(keyText(key));
    for (const { key } of transaction.checks ?? []) guarded.add(keyText(key));
  }
  return { batch, rest };
}

/** Takes the journal lines from the front of the queue, up to the first transaction that has other changes. */
function takeJournalLines<T extends QueuedTransaction>(queue: readonly T[]): T[] {
  const lines: T[] = [];
  for (const waiting of queue) {
    const { checks, mutations, journal } = waiting.transaction;
    const alone = journal !== undefined && mutations.length === 0 && (checks?.length ?? 0) === 0;
    if (!alone || lines.length >= MAX_JOURNAL_LINES) break;
    lines.push(waiting);
  }
  return lines;
}

/** Keys that grow with time, so that they are written in order, and differ between nodes. */
function createJournalKeys(nowMs: () => number, node: string): () => Deno.KvKey {
  let last = 0;
  return () => {
    last = Math.max(last + 1, nowMs() * 1024);
    return ["journal", last, node];
  };
}

/** Writes the journal lines of a batch into as few values as possible. */
function writeJournal(
  atomic: Deno.AtomicOperation,
  batch: readonly QueuedTransaction[],
  journalKey: () => Deno.KvKey,
): void {
  let lines: string[] = [];
  let characters = 0;
  let expireIn = 0;
  const write = (): void => {
    if (lines.length > 0) atomic.set(journalKey(), lines.join("\n"), { expireIn });
    lines = [];
    characters = 0;
    expireIn = 0;
  };
  for (const { transaction: { journal } } of batch) {
    if (journal === undefined) continue;
    if (journal.text.length > MAX_JOURNAL_CHARACTERS) {
      throw new RangeError("Cannot write a journal line of over 20,000 characters");
    }
    if (characters + journal.text.length + 1 > MAX_JOURNAL_CHARACTERS) write();
    lines.push(journal.text);
    characters += journal.text.length + 1;
    expireIn = Math.max(expireIn, Math.round(journal.expireInMs), 1);
  }
  write();
}

function fill(atomic: Deno.AtomicOperation, { checks, mutations }: KvTransaction): void {
  if (checks !== undefined) { for (const check of checks) atomic.check(check); }
  for (const mutation of mutations) {
    if (mutation.type === "delete") atomic.delete(mutation.key);
    else if (mutation.expireInMs === undefined) atomic.set(mutation.key, mutation.value);
    else atomic.set(mutation.key, mutation.value, { expireIn: Math.max(1, Math.round(mutation.expireInMs)) });
  }
}

function collides(transaction: KvTransaction, written: Set<string>, guarded: Set<string>): boolean {
  for (const { key } of transaction.checks ?? []) if (written.has(keyText(key))) return true;
  if (guarded.size > 0) {
    for (const { key } of transaction.mutations) if (guarded.has(keyText(key))) return true;
  }
  return false;
}

function keyText(key: Deno.KvKey): string {
  let text = "";
  for (const part of key) text += `${typeof part} ${String(part)}\0`;
  return text;
}
