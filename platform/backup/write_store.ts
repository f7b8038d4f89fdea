// Writes the backup of a store that this process reads itself: once if nothing else writes to the store, otherwise twice.

import {
  BACKUP_FORMAT,
  type BackupFile,
  type BackupTotals,
  BackupWriter,
  readUnfinished,
} from "./backup_format.ts";
import { markVersion, readChanges, readStore, type ReadStoreOptions } from "./read_store.ts";

interface WriteStoreOptions extends ReadStoreOptions {
  /** The first version that can read the records. */
  readonly version: string;
  /** Whether no other process writes to the store meanwhile. */
  readonly isAlone: boolean;
  readonly onProgress?: () => void;
}

/** Writes everything but the end of the file: the caller finishes or abandons it. */
export async function writeStore(
  kv: Deno.Kv,
  output: BackupFile,
  { version, isAlone, onProgress = () => undefined, ...reading }: WriteStoreOptions,
): Promise<BackupTotals> {
  const { nowMs } = reading;
  const writer = new BackupWriter(output.write, { deflate: true });
  await writer.begin({ format: BACKUP_FORMAT, version, createdMs: nowMs() });
  const since = isAlone ? "" : await markVersion(kv, nowMs());
  for await (const batch of readStore(kv, reading)) {
    for (const record of batch) await writer.add(record);
    onProgress();
  }
  if (isAlone) return await writer.end({ isExact: true });
  await writer.flush();
  const middle = await markVersion(kv, nowMs());
  let late = 0;
  const firstKeys = keysOf(output.path);
  const again = { ...reading, firstKeys, since, middle, onRead: onProgress };
  for await (const change of readChanges(kv, again)) {
    await writer.add(change.record);
    if (change.isLate) late++;
  }
  return await writer.end({ isExact: late === 0 });
}

/** The keys in the unfinished file of a backup. */
async function* keysOf(path: string): AsyncGenerator<Deno.KvKey> {
  for await (const record of readUnfinished(path)) yield record.key;
}
