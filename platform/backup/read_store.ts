// Reads all entries of a store as records of a backup, batch by batch.

import type { BackupRecord } from "./records.ts";
import { tableOf } from "./records.ts";
import { expiryOf, type LifetimeSettings } from "./expiry.ts";
import { isTransient } from "./transient.ts";

/** Deno KV reads at most this many entries in one call. A remote store answers some 20 calls in a second. */
export const MAX_BATCH_ENTRIES = 1000;

export interface ReadStoreOptions {
  readonly nowMs: () => number;
  readonly settings: LifetimeSettings;
  /** The entries of one batch; 1,000 unless given, which is the maximum. */
  readonly batchEntries?: number;
  /** Ends the reading with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * All entries, in the order of their keys. Each batch is read at one moment, after the caller has asked for it. Without {@link isTransient}
 * ones, and without entries that expired.
 */
export async function* readStore(
  kv: Deno.Kv,
  { nowMs, settings, signal, batchEntries = MAX_BATCH_ENTRIES }: ReadStoreOptions,
): AsyncGenerator<readonly BackupRecord[]> {
  const entries = kv.list({ prefix: [] }, { batchSize: batchEntries })[Symbol.asyncIterator]();
  for (let count = batchEntries; count === batchEntries;) {
    signal?.throwIfAborted();
    const records: BackupRecord[] = [];
    const now = nowMs();
    // The list reads as many entries in a call, so the first of them reads the batch. A client of KV Connect has no cursor for this.
    for (count = 0; count < batchEntries; count++) {
      const { value: entry, done } = await entries.next();
      if (done === true) break;
      const { key, value } = entry;
      if (isTransient(key)) continue;
      const expiresAtMs = expiryOf({ key, value }, { nowMs: now, settings });
      if (expiresAtMs === null || expiresAtMs > now) records.push({ kind: "set", key, value, expiresAtMs });
    }
    yield records;
  }
}

function isExpired(
  entry: { readonly key: Deno.KvKey; readonly value: unknown },
  { nowMs, settings }: Pick<ReadStoreOptions, "nowMs" | "settings">,
): boolean {
  const now = nowMs();
  const expiresAtMs = expiryOf(entry, { nowMs: now, settings });
  return expiresAtMs !== null && expiresAtMs <= now;
}

/** The number of entries of each table (first part of the key). */
export type TableCounts = ReadonlyMap<string, number>;

interface CountOptions {
  readonly signal?: AbortSignal;
  /** Receives the count so far, once in 1,000 entries. */
  readonly onCount?: (entries: number) => void;
  /** Leaves out the entries that {@link readStore} leaves out because they expired. Without it, they count. */
  readonly unexpired?: Pick<ReadStoreOptions, "nowMs" | "settings">;
}

/** Counts all entries. */
export async function countTables(
  kv: Deno.Kv,
  { signal, onCount = () => undefined, unexpired }: CountOptions = {},
): Promise<TableCounts> {
  const counts = new Map<string, number>();
  let entries = 0;
  for await (const { key, value } of kv.list({ prefix: [] }, { batchSize: MAX_BATCH_ENTRIES })) {
    signal?.throwIfAborted();
    if (isTransient(key) || unexpired !== undefined && isExpired({ key, value }, unexpired)) continue;
    const table = tableOf(key);
    counts.set(table, (counts.get(table) ?? 0) + 1);
    if (++entries % MAX_BATCH_ENTRIES === 0) onCount(entries);
  }
  return counts;
}
