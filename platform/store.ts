// The store (Deno KV): reads share calls, commits are gathered (platform/commit_queue.ts), and audit events become records.

import { type AuditMutation, type AuditWriterOptions, createAuditWriter } from "./audit.ts";
import { CommitQueue } from "./commit_queue.ts";
import type { KvMutation } from "./mutation.ts";
import type { CommitOutcome, KvTransaction } from "./transaction.ts";
import { createSystemRandom } from "./runtime.ts";

/** One change inside a {@link Transaction}. An audit event becomes a record, with its id, in the same commit. */
export type Mutation = KvMutation | AuditMutation;

/** What must still hold when the changes are made; `versionstamp: null` means that the key is absent. */
export interface Check {
  readonly key: Deno.KvKey;
  readonly versionstamp: string | null;
}

/** Changes that are made together or not at all. */
export interface Transaction extends Omit<KvTransaction, "checks" | "mutations"> {
  readonly checks?: readonly Check[];
  readonly mutations: readonly Mutation[];
}

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

/** Without an answer for this long, the store counts as not answering: Status-Server (RFC 5997 §4.2) and /readyz report it. */
export const STORE_SILENT_MS = 5000;
/** Deno KV reads at most ten keys at once. */
const MAX_KEYS = 10;

/** Wraps an open Deno KV; closing the store closes it. */
export function createStore(
  kv: Deno.Kv,
  { nowMs = Date.now, node = createSystemRandom().bytes(4).toHex(), audit = {} }: {
    nowMs?: () => number;
    /** Differs between processes that write to one store. */
    node?: string;
    audit?: Pick<AuditWriterOptions, "newest" | "keptMs">;
  } = {},
): Store {
  const completeAudit = createAuditWriter({ nowMs, node, ...audit });
  let lastAnswer = nowMs();
  const onAnswer = (): void => void (lastAnswer = nowMs());
  const queue = new CommitQueue({ kv, nowMs, node, onAnswer });
  const read = createReads(kv);

  return {
    async get<T>(key: Deno.KvKey) {
      const entry = await read(key);
      onAnswer();
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
      try {
        return queue.commit({ ...transaction, mutations: completeAudit(transaction.mutations) });
      } catch (fault) {
        return Promise.reject(fault);
      }
    },
    lastAnswerMs: () => lastAnswer,
    async close() {
      await queue.drain();
      kv.close();
    },
  };
}

interface PendingRead {
  readonly key: Deno.KvKey;
  readonly resolve: (entry: Deno.KvEntryMaybe<unknown>) => void;
  readonly reject: (fault: unknown) => void;
}

/** Reads keys. What is asked for in the same turn goes out ten at a time: a call costs several times as much as a key. */
function createReads(kv: Deno.Kv): (key: Deno.KvKey) => Promise<Deno.KvEntryMaybe<unknown>> {
  let asked: PendingRead[] = [];

  const readAlone = ({ key, resolve, reject }: PendingRead): void => void kv.get(key).then(resolve, reject);
  const readTogether = async (readings: readonly PendingRead[]): Promise<void> => {
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
