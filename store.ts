// Opens the store (Deno KV) and gathers writes: whatever arrives while one commit is on its way goes into the next
// one. Deno KV does one fsync a commit, so this is what makes a durable challenge cheap.

import { type AuditMutation, type AuditWriterOptions, createAuditWriter } from "./platform/audit.ts";
import type { KvMutation } from "./platform/mutation.ts";
import { createSystemRandom, toHex } from "./runtime.ts";

/** One change inside a {@link Transaction}. An audit event becomes a record, with its id, in the same commit. */
export type Mutation = KvMutation | AuditMutation;

/** What must still hold when the changes are made; `versionstamp: null` means that the key is absent. */
export interface Check {
  readonly key: Deno.KvKey;
  readonly versionstamp: string | null;
}

/** Changes that are made together or not at all. */
export interface Transaction {
  readonly checks?: readonly Check[];
  readonly mutations: readonly Mutation[];
  /** About how much the values take, when they are not small: Deno KV refuses over 800 KiB an atomic operation. */
  readonly sizeOctets?: number;
  /**
   * One line for the journal: a record that is new and small and may be among very many. Lines of one batch share a value, which
   * makes each about ten times cheaper than a key of its own.
   */
  readonly journal?: JournalLine;
}

export interface JournalLine {
  /** Without a line end; at most 20,000 characters. */
  readonly text: string;
  readonly expireInMs: number;
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
  /** Entries from `start` up to but without `end`, in key order (or from the end, `reverse`). */
  range<T>(
    selector: { start: Deno.KvKey; end: Deno.KvKey },
    options?: { limit?: number; reverse?: boolean },
  ): AsyncIterable<Entry<T>>;
  /** The journal's lines, newest first; those of one value come together. */
  journal(): AsyncIterable<string>;
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
/** Deno KV reads at most ten keys at once. */
const MAX_KEYS = 10;
/** A value takes 64 KiB; a character takes at most three octets of UTF-8. */
const MAX_JOURNAL_CHARACTERS = 20_000;
/** Deno KV takes 800 KiB an atomic operation; what says its size leaves a part of it to what does not. */
const MAX_BATCH_OCTETS = 600_000;

type Tried = { readonly outcome: CommitOutcome } | { readonly fault: unknown };

/** Fewer lines than this wait for the batch before them: a commit of their own would cost more than it saves. */
const FEWEST_BESIDE = 32;
const MOST_BESIDE = 500;

/** Batches under way: one of any kind, one of journal lines alone. */
type Lane = "any" | "journal";

/** A transaction whose audit events are complete records. */
interface WritableTransaction extends Transaction {
  readonly mutations: readonly KvMutation[];
}

interface Waiting {
  readonly transaction: WritableTransaction;
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (fault: unknown) => void;
}

/**
 * Wraps an open Deno KV with group commit.
 *
 * Two transactions of one batch never touch a key that one of them checks: the later one waits for the next batch,
 * because checks are evaluated against the state before the batch.
 */
export function createStore(
  kv: Deno.Kv,
  { nowMs = Date.now, node = toHex(createSystemRandom().bytes(4)), audit = {} }: {
    nowMs?: () => number;
    /** Differs between processes that write to one store. */
    node?: string;
    audit?: Pick<AuditWriterOptions, "newest" | "keptMs">;
  } = {},
): Store {
  const journalKey = createJournalKeys(nowMs, node);
  const completeAudit = createAuditWriter({ nowMs, node, ...audit });
  let queue: Waiting[] = [];
  const flying: Record<Lane, number> = { any: 0, journal: 0 };
  const flights = new Set<Promise<void>>();
  let pumps = false;
  let lastAnswer = nowMs();

  /** Never rejects: what the store throws is a value here. */
  const tryCommit = async (batch: readonly Waiting[]): Promise<Tried> => {
    try {
      const atomic = kv.atomic();
      for (const { transaction } of batch) fill(atomic, transaction);
      writeJournal(atomic, batch, journalKey);
      const done = await atomic.commit();
      lastAnswer = nowMs();
      return {
        outcome: done.ok ? { ok: true, versionstamp: done.versionstamp } : { ok: false, reason: "raced" },
      };
    } catch (fault) {
      return { fault };
    }
  };

  const settle = async (batch: readonly Waiting[], tried: Tried): Promise<void> => {
    if ("outcome" in tried && (tried.outcome.ok || batch.length === 1)) {
      for (const waiting of batch) waiting.resolve(tried.outcome);
    } else if ("fault" in tried && batch.length === 1) {
      batch[0]?.reject(tried.fault);
    } else {
      // One bad transaction (a value over 64 KiB, a check that does not hold) must not fail its neighbours. Halves, because one commit for each
      // neighbour would take a second.
      const middle = batch.length >> 1;
      for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
        await settle(half, await tryCommit(half));
      }
    }
  };

  /** Commits a batch; the next one starts before anybody hears of this one, so that their work and the disk's go on side by side. */
  const fly = async (batch: readonly Waiting[], lane: Lane): Promise<void> => {
    flying[lane]++;
    const tried = await tryCommit(batch);
    const isDone = "outcome" in tried && tried.outcome.ok;
    // What failed is tried again in halves before anything follows it, so that order is kept.
    if (!isDone) await settle(batch, tried);
    flying[lane]--;
    pump();
    if (isDone) await settle(batch, tried);
  };
  const start = (batch: readonly Waiting[], lane: Lane): void => {
    const flight = fly(batch, lane);
    flights.add(flight);
    void flight.finally(() => flights.delete(flight));
  };

  /** Keeps the disk busy: one batch of any kind at a time, and beside it one of journal lines alone, which depend on nothing. */
  const pump = (): void => {
    if (queue.length === 0) return;
    if (flying.any === 0) {
      const { batch, rest } = takeBatch(queue);
      queue = rest;
      start(batch, "any");
    } else if (flying.journal === 0 && queue.length >= FEWEST_BESIDE) {
      const lines = takeJournalLines(queue);
      if (lines.length < FEWEST_BESIDE) return;
      queue = queue.slice(lines.length);
      start(lines, "journal");
    }
  };

  const read = createReads(kv);

  return {
    async get<T>(key: Deno.KvKey) {
      const entry = await read(key);
      lastAnswer = nowMs();
      return entry as Entry<T>;
    },
    async *list<T>(prefix: Deno.KvKey, options: { limit?: number; reverse?: boolean } = {}) {
      yield* kv.list<T>({ prefix }, { ...options, batchSize: 500 });
    },
    async *range<T>(
      selector: { start: Deno.KvKey; end: Deno.KvKey },
      options: { limit?: number; reverse?: boolean } = {},
    ) {
      yield* kv.list<T>(selector, { ...options, batchSize: Math.min(options.limit ?? 500, 500) });
    },
    async *journal() {
      for await (
        const { value } of kv.list<string>({ prefix: ["journal"] }, { reverse: true, batchSize: 100 })
      ) {
        if (typeof value === "string") yield* value.split("\n");
      }
    },
    commit(transaction) {
      return new Promise((resolve, reject) => {
        const mutations = completeAudit(transaction.mutations);
        queue.push({ transaction: { ...transaction, mutations }, resolve, reject });
        if (pumps) return;
        pumps = true;
        queueMicrotask(() => {
          pumps = false;
          pump();
        });
      });
    },
    lastAnswerMs: () => lastAnswer,
    async close() {
      while (flights.size > 0 || queue.length > 0) {
        pump();
        await Promise.all(flights);
      }
      kv.close();
    },
  };
}

interface Reading {
  readonly key: Deno.KvKey;
  readonly resolve: (entry: Entry<unknown>) => void;
  readonly reject: (fault: unknown) => void;
}

/** Reads keys. What is asked for in the same turn goes out ten at a time: a call costs several times as much as a key. */
function createReads(kv: Deno.Kv): (key: Deno.KvKey) => Promise<Entry<unknown>> {
  let asked: Reading[] = [];

  const readAlone = ({ key, resolve, reject }: Reading): void => void kv.get(key).then(resolve, reject);
  const readTogether = async (readings: readonly Reading[]): Promise<void> => {
    try {
      const entries = await kv.getMany<unknown[]>(readings.map(({ key }) => key));
      for (const [at, { resolve, reject }] of readings.entries()) {
        const entry = entries[at];
        if (entry === undefined) reject(new Error("Cannot read the store: it left out a key"));
        else resolve(entry);
      }
    } catch (_oneOfThem) {
      // One bad key must not fail its neighbours.
      readings.forEach(readAlone);
    }
  };
  const readAll = (): void => {
    const readings = asked;
    asked = [];
    for (let at = 0; at < readings.length; at += MAX_KEYS) {
      const [first, ...others] = readings.slice(at, at + MAX_KEYS);
      if (first === undefined) return;
      if (others.length === 0) readAlone(first);
      else void readTogether([first, ...others]);
    }
  };

  return (key) =>
    new Promise((resolve, reject) => {
      asked.push({ key, resolve, reject });
      if (asked.length === 1) queueMicrotask(readAll);
    });
}

/** From the front of the queue what is a journal line and nothing else: it overtakes nobody, and nobody depends on it. */
function takeJournalLines(queue: readonly Waiting[]): Waiting[] {
  const lines: Waiting[] = [];
  for (const waiting of queue) {
    const { checks, mutations, journal } = waiting.transaction;
    const alone = journal !== undefined && mutations.length === 0 && (checks?.length ?? 0) === 0;
    if (!alone || lines.length >= MOST_BESIDE) break;
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

/** Gathers the journal lines of a batch into as few values as they fit. */
function writeJournal(
  atomic: Deno.AtomicOperation,
  batch: readonly Waiting[],
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

function fill(atomic: Deno.AtomicOperation, { checks, mutations }: WritableTransaction): void {
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

function collides(transaction: WritableTransaction, written: Set<string>, guarded: Set<string>): boolean {
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
