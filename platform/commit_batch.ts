// Batches of transactions: which transactions share an atomic operation of Deno KV, and how they are written into it.

import { keyText } from "./cluster/change_log.ts";
import type { Basis } from "./cluster/record_versions.ts";

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

export type KvMutation =
  | { type: "set"; key: Deno.KvKey; value: unknown; expireInMs?: number; basis?: Basis }
  | { type: "delete"; key: Deno.KvKey; basis?: Basis };

export interface QueuedTransaction {
  readonly transaction: KvTransaction;
}

/** Deno KV accepts 1,000 mutations and 100 checks per atomic operation; 500 was fastest in measurements. One check is that of the change log. */
const MAX_MUTATIONS = 500;
const MAX_CHECKS = 99;
/** A value has at most 64 KiB; a character has at most three octets in UTF-8. */
const MAX_JOURNAL_CHARACTERS = 20_000;
/** Deno KV accepts 800 KiB per atomic operation; the rest is a reserve for transactions without `sizeOctets`. */
const MAX_BATCH_OCTETS = 600_000;

/** With fewer lines, a separate commit costs more than it saves, so they wait for the next batch. */
export const MIN_JOURNAL_LINES = 32;
const MAX_JOURNAL_LINES = 500;

/** Writes a batch into an atomic operation. Returns the keys of its journal lines. @throws RangeError if a journal line is too long */
export function fillBatch(
  atomic: Deno.AtomicOperation,
  batch: readonly QueuedTransaction[],
  journalKey: () => Deno.KvKey,
): Deno.KvKey[] {
  for (const { transaction } of batch) fill(atomic, transaction);
  return writeJournal(atomic, batch, journalKey);
}

/** The keys that a batch changes. */
export function changedKeys(
  batch: readonly QueuedTransaction[],
  journalKeys: readonly Deno.KvKey[],
): Deno.KvKey[] {
  return [...batch.flatMap(({ transaction }) => transaction.mutations.map(({ key }) => key)), ...journalKeys];
}

/** Takes transactions from the front of the queue, in order, as many as fit into one atomic operation. */
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

/** Writes the journal lines of a batch into as few values as possible. Returns their keys. */
function writeJournal(
  atomic: Deno.AtomicOperation,
  batch: readonly QueuedTransaction[],
  journalKey: () => Deno.KvKey,
): Deno.KvKey[] {
  const keys: Deno.KvKey[] = [];
  let lines: string[] = [];
  let characters = 0;
  let expireIn = 0;
  const write = (): void => {
    if (lines.length > 0) {
      const key = journalKey();
      atomic.set(key, lines.join("\n"), { expireIn });
      keys.push(key);
    }
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
  return keys;
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
