// Batches of transactions: which ones go into one atomic operation of Deno KV, within its limits, and how they are written into it.

import type { KvTransaction } from "./transaction.ts";

/** A transaction in a queue. */
export interface QueuedTransaction {
  readonly transaction: KvTransaction;
}

/** Deno KV takes 1,000 mutations and 100 checks an atomic operation; 500 was fastest when measured. */
const MAX_MUTATIONS = 500;
const MAX_CHECKS = 100;
/** A value takes 64 KiB; a character takes at most three octets of UTF-8. */
const MAX_JOURNAL_CHARACTERS = 20_000;
/** Deno KV takes 800 KiB an atomic operation; what says its size leaves a part of it to what does not. */
const MAX_BATCH_OCTETS = 600_000;

/** Fewer lines than this wait for the batch before them: a commit of their own would cost more than it saves. */
export const MIN_JOURNAL_LINES = 32;
const MAX_JOURNAL_LINES = 500;

/** Writes a batch into an atomic operation. @throws RangeError when a journal line is too long */
export function fillBatch(
  atomic: Deno.AtomicOperation,
  batch: readonly QueuedTransaction[],
  journalKey: () => Deno.KvKey,
): void {
  for (const { transaction } of batch) fill(atomic, transaction);
  writeJournal(atomic, batch, journalKey);
}

/** Takes from the front of the queue what fits into one atomic operation, in order. */
export function takeBatch<T extends QueuedTransaction>(queue: readonly T[]): { batch: T[]; rest: T[] } {
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
      // Order is kept: nothing overtakes a transaction that had to wait.
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

/** Takes the journal lines, which need no order, from the front of the queue, up to the first transaction that is more than a line. */
export function takeJournalLines<T extends QueuedTransaction>(queue: readonly T[]): T[] {
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
export function createJournalKeys(nowMs: () => number, node: string): () => Deno.KvKey {
  let last = 0;
  return () => {
    last = Math.max(last + 1, nowMs() * 1024);
    return ["journal", last, node];
  };
}

/** Gathers the journal lines of a batch into as few values as they fit. */
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
