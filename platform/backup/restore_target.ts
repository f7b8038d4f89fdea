// Where a restore writes. A file: beside the store, and renamed in its place at the end, so that an interrupted restore changes nothing. A
// KV Connect endpoint: in place, under a marker that stops every start until a restore is complete.

import { isKvUrl, type KvOpener } from "../open_kv.ts";
import { type BackupRecord, OctetWriter, RESTORE_MARKER, writeRecord } from "./records.ts";

export interface RestoreTarget {
  readonly writer: StoreWriter;
  /** The store with the new content, for a comparison before {@link finish}. */
  readonly kv: Deno.Kv;
  /** Completes the restore. */
  finish(): Promise<void>;
  /** Ends an incomplete restore. @returns what the store contains then, as a sentence */
  abandon(): Promise<string>;
}

interface RestoreTargetOptions {
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

// Writes records into a store, as many per atomic operation as Deno KV accepts, in their order.

/** Deno KV accepts 1,000 mutations of together 800 KiB; this encoding can be somewhat smaller than that of Deno KV. */
const MAX_MUTATIONS = 500;
const MAX_BATCH_OCTETS = 500_000;

interface SizedRecord {
  readonly record: BackupRecord;
  readonly octets: number;
}

export class StoreWriter {
  readonly #kv: Deno.Kv;
  readonly #nowMs: () => number;
  /** Only measures the records. */
  readonly #scale = new OctetWriter();
  #batch: SizedRecord[] = [];
  #batchOctets = 0;
  #written = 0;
  #removed = 0;
  #expired = 0;
  #octets = 0;

  constructor(kv: Deno.Kv, nowMs: () => number) {
    this.#kv = kv;
    this.#nowMs = nowMs;
  }

  /** Entries that were written. */
  get written(): number {
    return this.#written;
  }

  get removed(): number {
    return this.#removed;
  }

  /** Entries that were left out because they expired. */
  get expired(): number {
    return this.#expired;
  }

  /** The size of the entries. */
  get octets(): number {
    return this.#octets;
  }

  async add(record: BackupRecord): Promise<void> {
    writeRecord(this.#scale, record);
    const octets = this.#scale.length;
    this.#scale.truncate(0);
    if (this.#batchOctets + octets > MAX_BATCH_OCTETS) await this.flush();
    this.#batch.push({ record, octets });
    this.#batchOctets += octets;
    if (record.kind === "set") this.#octets += octets;
    if (this.#batch.length >= MAX_MUTATIONS) await this.flush();
  }

  async remove(key: Deno.KvKey): Promise<void> {
    await this.add({ kind: "delete", key });
  }

  /** Writes what waits. */
  async flush(): Promise<void> {
    const batch = this.#batch.map(({ record }) => record);
    this.#batch = [];
    this.#batchOctets = 0;
    if (batch.length > 0) await this.#commit(batch);
  }

  async #commit(batch: readonly BackupRecord[]): Promise<void> {
    const nowMs = this.#nowMs();
    const operation = this.#kv.atomic();
    let written = 0;
    let removed = 0;
    let expired = 0;
    for (const record of batch) {
      const isExpired = record.kind === "set" && record.expiresAtMs !== null && record.expiresAtMs <= nowMs;
      if (record.kind === "delete" || isExpired) {
        // Not skipped: an earlier record may have set the key.
        operation.delete(record.key);
        removed++;
        if (isExpired) expired++;
        continue;
      }
      const { expiresAtMs } = record;
      // Deno KV takes whole milliseconds, and a time that was computed from an id has fractions.
      const expireIn = expiresAtMs === null ? {} : { expireIn: Math.ceil(expiresAtMs - nowMs) };
      operation.set(record.key, record.value, expireIn);
      written++;
    }
    try {
      await operation.commit();
    } catch (fault) {
      // The batch can be too large in Deno KV's encoding.
      if (batch.length === 1 || !(fault instanceof TypeError)) throw fault;
      const middle = batch.length >> 1;
      await this.#commit(batch.slice(0, middle));
      await this.#commit(batch.slice(middle));
      return;
    }
    this.#written += written;
    this.#removed += removed;
    this.#expired += expired;
  }
}
