// Where a restore writes. A file: beside the store, and renamed in its place at the end, so that an interrupted restore changes nothing. A
// KV Connect endpoint: in place, under a marker that stops every start until a restore is complete.

import { isKvUrl, type KvOpener } from "../open_kv.ts";
import { RESTORE_MARKER } from "./transient.ts";
import { StoreWriter } from "./store_writer.ts";

export interface RestoreTarget {
  readonly writer: StoreWriter;
  /** The store with the new content, for a comparison before {@link finish}. */
  readonly kv: Deno.Kv;
  /** Completes the restore. */
  finish(): Promise<void>;
  /** Ends an incomplete restore. @returns what the store contains then, as a sentence */
  abandon(): Promise<string>;
}

export interface RestoreTargetOptions {
  readonly open: KvOpener;
  readonly nowMs: () => number;
  /** For the deletion of an endpoint's entries. */
  readonly onDeleted?: (entries: number) => void;
  readonly signal?: AbortSignal;
}

/** Opens the store at `location` for a restore that replaces its content. @throws StoreFault if it cannot be opened */
export async function openRestoreTarget(
  location: string,
  options: RestoreTargetOptions,
): Promise<RestoreTarget> {
  return isKvUrl(location) ? await openEndpoint(location, options) : await openFile(location, options);
}

async function openEndpoint(
  url: string,
  { open, nowMs, onDeleted, signal }: RestoreTargetOptions,
): Promise<RestoreTarget> {
  const kv = await open(url);
  const abandon = () => {
    kv.close();
    return Promise.resolve(
      `The store "${url}" is incomplete, and no node starts on it. Run the command again with --force.`,
    );
  };
  await kv.set(RESTORE_MARKER, nowMs());
  const writer = new StoreWriter(kv, nowMs);
  try {
    for await (const { key } of kv.list({ prefix: [] }, { batchSize: 1000 })) {
      signal?.throwIfAborted();
      if (key[0] === RESTORE_MARKER[0]) continue;
      await writer.remove(key);
      onDeleted?.(writer.removed);
    }
    await writer.flush();
  } catch (fault) {
    kv.close();
    throw fault;
  }
  return {
    writer,
    kv,
    async finish() {
      await writer.flush();
      await kv.delete(RESTORE_MARKER);
      kv.close();
    },
    abandon,
  };
}

async function openFile(path: string, { open, nowMs }: RestoreTargetOptions): Promise<RestoreTarget> {
  const unfinished = `${path}.restore`;
  await removeStore(unfinished);
  const kv = await open(unfinished);
  const writer = new StoreWriter(kv, nowMs);
  return {
    writer,
    kv,
    async finish() {
      await writer.flush();
      kv.close();
      // Closing moved the write-ahead log into the file. The log of the earlier store must not outlive that store.
      await removeStore(path);
      for (const suffix of SUFFIXES) {
        await Deno.rename(unfinished + suffix, path + suffix).catch(ignoreMissing);
      }
    },
    async abandon() {
      kv.close();
      await removeStore(unfinished);
      return `The store "${path}" is unchanged.`;
    },
  };
}

/** The write-ahead log comes first, because without the file it is harmless. */
const SUFFIXES = ["-wal", "-shm", ""] as const;

async function removeStore(path: string): Promise<void> {
  for (const suffix of SUFFIXES) await Deno.remove(path + suffix).catch(ignoreMissing);
}

function ignoreMissing(fault: unknown): void {
  if (!(fault instanceof Deno.errors.NotFound)) throw fault;
}
