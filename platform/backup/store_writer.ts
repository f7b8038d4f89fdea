// Writes records into a store, as many per atomic operation as Deno KV accepts, in their order.

import { OctetWriter } from "./octets.ts";
import { type BackupRecord, writeRecord } from "./records.ts";

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
