// Batches of transactions and journal lines: which ones share an atomic operation of Deno KV, and how they are written into it.

import { keyText } from "./cluster/change_log.ts";
import type { Basis } from "./cluster/record_versions.ts";
import { BLOCK_END, type BlockWriter, type LogRecord } from "./log_blocks.ts";
import type { JournalBuffer, JournalLine, JournalListener, JournalValue } from "./journal.ts";

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

export interface QueuedTransaction {
  readonly transaction: KvTransaction;
}

/** Transactions and journal values of one atomic operation. */
export interface CommitBatch<T extends QueuedTransaction = QueuedTransaction> {
  readonly transactions: readonly T[];
  readonly values: readonly JournalValue[];
}

/**
 * The parts in which a failed batch is tried again. One bad transaction (a value over 64 KiB, a failed check) must not fail the others. The
 * transactions are halved, because a commit for each one would take a second.
 */
export function partsOf<T extends QueuedTransaction>(
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
export const MAX_ADDED_VALUES = 3;
export const MAX_JOURNAL_VALUES = 8;
/** With fewer lines, a separate commit costs more than it saves, so they wait for the next batch. */
export const MIN_JOURNAL_LINES = 32;

/**
 * Writes a batch into an atomic operation. Returns the keys that it changes.
 *
 * @param options.lines collects the lines of the transactions; its content is dropped before
 * @throws RangeError if a journal line is too long
 */
export function fillBatch(
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
