// The change log of one node in a shared store. Each batch also writes the keys that it changed, and moves the head of the log. The check
// of the head makes the outcome of every batch known, even if the answer of the store was lost.

import { StoreUnavailable } from "../store_fault.ts";

/** Changed keys, in the order of the commits of one lane. */
type LoggedKeys = readonly Deno.KvKey[];

/** The value under ["change_head", lane]. */
export interface LogHead {
  /** The number of the newest entry; entries count from 1. */
  readonly seq: number;
  /** Differs between two writes of the same `seq`. */
  readonly attempt: number;
  /** By the clock of the node. */
  readonly writtenMs: number;
}

export const HEAD_PREFIX: Deno.KvKey = ["change_head"];

/** The key of an entry of the log. */
export function changeKey(lane: string, seq: number): Deno.KvKey {
  return ["change", lane, seq];
}

/** A node that is behind by more than this time must start again. */
const CHANGE_RETENTION_MS = 600_000;
/** The keys of one entry. A value has at most 64 KiB, and a logged key has rarely more than 150 octets. */
const MAX_ENTRY_KEYS = 250;
const MAX_ENTRY_OCTETS = 40_000;
const MAX_TRIES = 10;

/** The store lost the head of a log, for example because a backup was restored. The node must start again. */
export class LostHead extends Error {}

/** The keys of one batch in the log. */
export interface LoggedBatch {
  readonly seq: number;
  readonly attempt: number;
}

/** One sequence of batches, which are committed one after another. */
export class LogLane {
  readonly name: string;
  readonly #kv: Deno.Kv;
  readonly #nowMs: () => number;
  #seq = 0;
  #attempt = 0;
  #headVersion: string | null = null;

  /** @param name differs for each lane and each run of a process */
  constructor({ kv, name, nowMs }: { kv: Deno.Kv; name: string; nowMs: () => number }) {
    this.#kv = kv;
    this.#nowMs = nowMs;
    this.name = name;
  }

  get #headKey(): Deno.KvKey {
    return [...HEAD_PREFIX, this.name];
  }

  /** Adds the entries of a batch to its atomic operation. */
  add(atomic: Deno.AtomicOperation, keys: LoggedKeys): LoggedBatch {
    let seq = this.#seq;
    for (const entry of entriesOf(keys)) {
      atomic.set(changeKey(this.name, ++seq), entry, { expireIn: CHANGE_RETENTION_MS });
    }
    return { seq, attempt: this.#moveHead(atomic, seq) };
  }

  /** The batch is durable. */
  applied({ seq }: LoggedBatch, versionstamp: string): void {
    this.#seq = seq;
    this.#headVersion = versionstamp;
  }

  /**
   * Finds out whether a batch whose commit failed was applied. If it was not, it cannot be applied later.
   *
   * @returns the versionstamp of the batch, or `null` if it was not applied
   * @throws StoreUnavailable or an error of Deno KV: the store does not answer, so the outcome is still unknown
   */
  async findOutcome(
    batch: LoggedBatch,
    { mayArriveLate }: { mayArriveLate: boolean },
  ): Promise<string | null> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const found = await this.#readHead();
      if (found !== null && found.seq === batch.seq && found.attempt === batch.attempt) {
        this.applied(batch, found.versionstamp);
        return found.versionstamp;
      }
      if (!mayArriveLate) return null;
      // The head moves, so the check of a commit that is still on its way fails.
      const atomic = this.#kv.atomic();
      this.#moveHead(atomic, this.#seq);
      const done = await atomic.commit();
      if (done.ok) {
        this.#headVersion = done.versionstamp;
        return null;
      }
    }
    throw new StoreUnavailable("Cannot find out whether a commit was applied: the head of the log moves");
  }

  #moveHead(atomic: Deno.AtomicOperation, seq: number): number {
    const attempt = ++this.#attempt;
    const head: LogHead = { seq, attempt, writtenMs: this.#nowMs() };
    atomic.check({ key: this.#headKey, versionstamp: this.#headVersion });
    atomic.set(this.#headKey, head);
    return attempt;
  }

  /** Reads the head, and takes over its version if it is the head of an earlier attempt to move it. */
  async #readHead(): Promise<(LogHead & { versionstamp: string }) | null> {
    const { value, versionstamp } = await this.#kv.get<LogHead>(this.#headKey);
    if (value === null || versionstamp === null) {
      if (this.#headVersion !== null) {
        throw new LostHead("Cannot continue the change log: the store lost its head");
      }
      return null;
    }
    if (value.seq === this.#seq) this.#headVersion = versionstamp;
    return { ...value, versionstamp };
  }
}

function entriesOf(keys: LoggedKeys): LoggedKeys[] {
  const entries: Deno.KvKey[][] = [];
  let entry: Deno.KvKey[] = [];
  let octets = 0;
  for (const key of keys) {
    const size = keyOctets(key);
    if (entry.length > 0 && (entry.length >= MAX_ENTRY_KEYS || octets + size > MAX_ENTRY_OCTETS)) {
      entries.push(entry);
      entry = [];
      octets = 0;
    }
    entry.push(key);
    octets += size;
  }
  if (entry.length > 0) entries.push(entry);
  return entries;
}

/** An upper bound of the size of a key in a value. */
function keyOctets(key: Deno.KvKey): number {
  let octets = 8;
  for (const part of key) octets += typeof part === "string" ? part.length * 2 + 6 : 16;
  return octets;
}

/** A key as text, for maps. */
export function keyText(key: Deno.KvKey): string {
  let text = "";
  for (const part of key) {
    // Nearly every part is a text or a number.
    text += typeof part === "string"
      ? "s" + part
      : typeof part === "number"
      ? "n" + part
      : `${typeof part} ${String(part)}`;
    text += "\0";
  }
  return text;
}

// Removes the heads of change logs whose node ended long ago. Each run of a process leaves its heads behind.

/** Every running node has read the entries of a log that is older. */
const MAX_AGE_MS = 24 * 3600_000;

/** Call it at the start of a node. A head that changes meanwhile stays. */
export async function removeStaleHeads(kv: Deno.Kv, { nowMs }: { nowMs: number }): Promise<void> {
  const running = new Set<string>();
  for await (const { key } of kv.list({ prefix: ["node"] }, { batchSize: 500 })) running.add(String(key[1]));
  const heads = await Array.fromAsync(kv.list<LogHead>({ prefix: HEAD_PREFIX }, { batchSize: 500 }));
  // One log of a quiet node may be old. Each beat moves the other one.
  for (const { key, value } of heads) if (value.writtenMs > nowMs - MAX_AGE_MS) running.add(nodeOf(key));
  for (const { key, versionstamp } of heads) {
    if (running.has(nodeOf(key))) continue;
    await kv.atomic().check({ key, versionstamp }).delete(key).commit();
  }
}

function nodeOf([, lane]: Deno.KvKey): string {
  return String(lane).split(".")[0] ?? "";
}
