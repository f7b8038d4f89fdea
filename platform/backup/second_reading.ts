// A second reading of a store to which other processes write: it finds what changed since the first one. Deno KV has no snapshot over
// several calls, and a change of a user has entries in several tables.

import { compareKeys } from "./key_order.ts";
import { expiryOf } from "./expiry.ts";
import type { BackupRecord } from "./records.ts";
import { MAX_BATCH_ENTRIES, type ReadStoreOptions } from "./read_store.ts";
import { BACKUP_MARKER, isTransient } from "./transient.ts";

const MARKER_MS = 60_000;

/** Writes a marker. @returns its versionstamp: every later commit has a larger one */
export async function markVersion(kv: Deno.Kv, nowMs: number): Promise<string> {
  const { versionstamp } = await kv.set(BACKUP_MARKER, nowMs, { expireIn: MARKER_MS });
  return versionstamp;
}

/** A change since the first reading. */
export interface LateChange {
  readonly record: BackupRecord;
  /** Whether it may have happened during the second reading, so that it may lack its counterpart in another table. */
  readonly isLate: boolean;
}

export interface SecondReadingOptions extends Pick<ReadStoreOptions, "nowMs" | "settings" | "signal"> {
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
