// Opens the store (Deno KV) and gathers writes: whatever arrives while one commit is on its way goes into the next
// one. Deno KV does one fsync a commit, so this is what makes a durable challenge cheap.

/** One change inside a {@link Transaction}. */
export type Mutation =
  | { type: "set"; key: Deno.KvKey; value: unknown; expireInMs?: number }
  | { type: "delete"; key: Deno.KvKey };

/** What must still hold when the changes are made; `versionstamp: null` means that the key is absent. */
export interface Check {
  readonly key: Deno.KvKey;
  readonly versionstamp: string | null;
}

/** Changes that are made together or not at all. */
export interface Transaction {
  readonly checks?: readonly Check[];
  readonly mutations: readonly Mutation[];
}

/** `raced`: a check did not hold any more, and nothing was changed. */
export type CommitOutcome = { ok: true; versionstamp: string } | { ok: false; reason: "raced" };

/** A value as it was read. `versionstamp` is `null` when the key is absent. */
export interface Entry<T> {
  readonly key: Deno.KvKey;
  readonly value: T | null;
  readonly versionstamp: string | null;
}

/** The store as the rest of the program sees it. */
export interface Store {
  get<T>(key: Deno.KvKey): Promise<Entry<T>>;
  /** All entries below `prefix`, in key order, read in batches of up to 500. */
  list<T>(prefix: Deno.KvKey, options?: { limit?: number; reverse?: boolean }): AsyncIterable<Entry<T>>;
  /** Resolves when the changes are durable. Rejects only when the store itself fails. */
  commit(transaction: Transaction): Promise<CommitOutcome>;
  /** When the store last answered (milliseconds since the epoch); feeds Status-Server and /readyz. */
  lastAnswerMs(): number;
  /** Waits for what is under way and closes the store. */
  close(): Promise<void>;
}

/** Deno KV takes 1,000 mutations and 100 checks an atomic operation; 500 was fastest when measured. */
const MAX_MUTATIONS = 500;
const MAX_CHECKS = 100;

interface Waiting {
  readonly transaction: Transaction;
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (fault: unknown) => void;
}

/**
 * Wraps an open Deno KV with group commit.
 *
 * Two transactions of one batch never touch a key that one of them checks: the later one waits for the next batch,
 * because checks are evaluated against the state before the batch.
 */
export function createStore(kv: Deno.Kv, nowMs: () => number = Date.now): Store {
  let queue: Waiting[] = [];
  let running: Promise<void> | null = null;
  let lastAnswer = nowMs();

  const commitOne = async (transaction: Transaction): Promise<CommitOutcome> => {
    const atomic = kv.atomic();
    fill(atomic, transaction);
    const done = await atomic.commit();
    lastAnswer = nowMs();
    return done.ok ? { ok: true, versionstamp: done.versionstamp } : { ok: false, reason: "raced" };
  };

  const commitBatch = async (batch: Waiting[]): Promise<void> => {
    try {
      const atomic = kv.atomic();
      for (const { transaction } of batch) fill(atomic, transaction);
      const done = await atomic.commit();
      lastAnswer = nowMs();
      if (done.ok) {
        const outcome: CommitOutcome = { ok: true, versionstamp: done.versionstamp };
        for (const waiting of batch) waiting.resolve(outcome);
        return;
      }
    } catch (fault) {
      if (batch.length === 1) {
        batch[0]?.reject(fault);
        return;
      }
      // One bad transaction (a value over 64 KiB, say) must not fail its neighbours: each gets its own try below.
    }
    for (const waiting of batch) {
      try {
        waiting.resolve(await commitOne(waiting.transaction));
      } catch (fault) {
        waiting.reject(fault);
      }
    }
  };

  const run = async (): Promise<void> => {
    while (queue.length > 0) {
      const { batch, rest } = takeBatch(queue);
      queue = rest;
      await commitBatch(batch);
    }
    running = null;
  };

  return {
    async get<T>(key: Deno.KvKey) {
      const entry = await kv.get<T>(key);
      lastAnswer = nowMs();
      return entry;
    },
    async *list<T>(prefix: Deno.KvKey, options: { limit?: number; reverse?: boolean } = {}) {
      yield* kv.list<T>({ prefix }, { ...options, batchSize: 500 });
    },
    commit(transaction) {
      return new Promise((resolve, reject) => {
        queue.push({ transaction, resolve, reject });
        running ??= Promise.resolve().then(run);
      });
    },
    lastAnswerMs: () => lastAnswer,
    async close() {
      while (running !== null) await running;
      kv.close();
    },
  };
}

function fill(atomic: Deno.AtomicOperation, { checks, mutations }: Transaction): void {
  if (checks !== undefined) { for (const check of checks) atomic.check(check); }
  for (const mutation of mutations) {
    if (mutation.type === "delete") atomic.delete(mutation.key);
    else if (mutation.expireInMs === undefined) atomic.set(mutation.key, mutation.value);
    else atomic.set(mutation.key, mutation.value, { expireIn: Math.max(1, Math.round(mutation.expireInMs)) });
  }
}

/** Takes from the front of the queue what fits into one atomic operation, in order. */
function takeBatch(queue: Waiting[]): { batch: Waiting[]; rest: Waiting[] } {
  const batch: Waiting[] = [];
  const rest: Waiting[] = [];
  const written = new Set<string>();
  const guarded = new Set<string>();
  let mutations = 0;
  let checks = 0;
  for (const [at, waiting] of queue.entries()) {
    const { transaction } = waiting;
    const checkCount = transaction.checks?.length ?? 0;
    const full = batch.length > 0 &&
      (mutations + transaction.mutations.length > MAX_MUTATIONS || checks + checkCount > MAX_CHECKS);
    if (full || collides(transaction, written, guarded)) {
      // Order is kept: nothing overtakes a transaction that had to wait.
      return { batch, rest: rest.concat(queue.slice(at)) };
    }
    batch.push(waiting);
    mutations += transaction.mutations.length;
    checks += checkCount;
    for (const { key } of transaction.mutations) written.add(keyText(key));
    for (const { key } of transaction.checks ?? []) guarded.add(keyText(key));
  }
  return { batch, rest };
}

function collides(transaction: Transaction, written: Set<string>, guarded: Set<string>): boolean {
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
