// Reads all entries of a store as records of a backup, batch by batch, and a second time if other processes write to it.

import { expiryOf, type LifetimeSettings } from "./expiry.ts";
import { BACKUP_MARKER, type BackupRecord, isTransient, tableOf } from "./records.ts";

/** Deno KV reads at most this many entries in one call. A remote store answers some 20 calls in a second. */
const MAX_BATCH_ENTRIES = 1000;

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

// A second reading of a store to which other processes write: it finds what changed since the first one. Deno KV has no snapshot over
// several calls, and a change of a user has entries in several tables.

const MARKER_MS = 60_000;

/** Writes a marker. @returns its versionstamp: every later commit has a larger one */
export async function markVersion(kv: Deno.Kv, nowMs: number): Promise<string> {
  const { versionstamp } = await kv.set(BACKUP_MARKER, nowMs, { expireIn: MARKER_MS });
  return versionstamp;
}

/** A change since the first reading. */
interface LateChange {
  readonly record: BackupRecord;
  /** Whether it may have happened during the second reading, so that it may lack its counterpart in another table. */
  readonly isLate: boolean;
}

interface SecondReadingOptions extends Pick<ReadStoreOptions, "nowMs" | "settings" | "signal"> {
  /** The keys of the first reading, in their order. */
  readonly firstKeys: AsyncIterable<Deno.KvKey>;
  /** The version before the first reading. */
  readonly since: string;
  /** The version before the second reading. */
  readonly middle: string;
  readonly onRead: () => void;
}

/** Yields what changed since the first reading: new and changed entries, and deletions of keys that it found. */
export async function* readChanges(kv: Deno.Kv, options: SecondReadingOptions): AsyncGenerator<LateChange> {
  const { firstKeys, since, middle, nowMs, settings, signal, onRead } = options;
  const keys = firstKeys[Symbol.asyncIterator]();
  let first = await keys.next();
  const deletion = (key: Deno.KvKey): LateChange => ({ record: { kind: "delete", key }, isLate: true });
  for await (
    const { key, value, versionstamp } of kv.list({ prefix: [] }, { batchSize: MAX_BATCH_ENTRIES })
  ) {
    signal?.throwIfAborted();
    onRead();
    if (isTransient(key)) continue;
    while (first.done !== true && compareKeys(first.value, key) < 0) {
      yield deletion(first.value);
      first = await keys.next();
    }
    if (first.done !== true && compareKeys(first.value, key) === 0) first = await keys.next();
    if (versionstamp <= since) continue;
    const now = nowMs();
    const expiresAtMs = expiryOf({ key, value }, { nowMs: now, settings });
    yield { record: { kind: "set", key, value, expiresAtMs }, isLate: versionstamp > middle };
  }
  for (; first.done !== true; first = await keys.next()) yield deletion(first.value);
}

// The order of keys in Deno KV: part by part; octets, texts, bigints, numbers, booleans.

const TYPES: readonly string[] = ["object", "string", "bigint", "number", "boolean"];
const encoder = new TextEncoder();

/** Negative if `a` comes before `b` in a list of the store, positive if after, 0 for the same key. */
export function compareKeys(a: Deno.KvKey, b: Deno.KvKey): number {
  for (const [at, part] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    const order = compareParts(part, other);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareParts(a: Deno.KvKeyPart, b: Deno.KvKeyPart): number {
  const types = rankOf(a) - rankOf(b);
  if (types !== 0) return types;
  if (typeof a === "string" && typeof b === "string") {
    return a === b ? 0 : compareOctets(encoder.encode(a), encoder.encode(b));
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareOctets(a, b);
  if (typeof a === "number" && typeof b === "number") return compareNumbers(a, b);
  if (typeof a === "bigint" && typeof b === "bigint") return a < b ? -1 : a > b ? 1 : 0;
  return Number(a) - Number(b);
}

const rankOf = (part: Deno.KvKeyPart) => TYPES.indexOf(typeof part);

function compareOctets(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** NaN is the largest number, and -0 comes before 0. */
function compareNumbers(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  if (a !== b) return a - b;
  return Number(Object.is(b, -0)) - Number(Object.is(a, -0));
}
