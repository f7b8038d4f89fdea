// The index log: the changes of a counted index that its stored buckets may not contain yet, in order of time. A commit appends one small
// value per index instead of writing a value at a random place for each search word.

import type { Mutation } from "../../platform/store.ts";
import type { IndexChange } from "./index_bucket.ts";

/** The value of one entry of the log. A depth `d` is an added entry of that depth, and `-1 - d` a removed one. */
export interface StoredLogEntry {
  readonly keys: readonly string[];
  readonly depths: Int8Array;
}

/** A value of the store has at most 64 KiB, and a character takes at most two octets. */
const MAX_ENTRY_OCTETS = 48_000;
const OCTETS_PER_CHANGE = 12;

/** The approximate size of a change in the log. */
export function changeOctets({ key }: IndexChange): number {
  return key.length * 2 + OCTETS_PER_CHANGE;
}

/** The changes of each entry of the log, in order. */
export function splitIntoEntries(changes: readonly IndexChange[]): IndexChange[][] {
  const parts: IndexChange[][] = [];
  let part: IndexChange[] = [];
  let octets = 0;
  for (const change of changes) {
    const size = changeOctets(change);
    if (part.length > 0 && octets + size > MAX_ENTRY_OCTETS) {
      parts.push(part);
      part = [];
      octets = 0;
    }
    part.push(change);
    octets += size;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}

/**
 * The mutations that append changes to a log.
 *
 * @param log the key prefix of the log.
 * @param sequence the number of the last entry. The new entries have the next numbers.
 */
export function appendToLog(
  changes: readonly IndexChange[],
  { log, sequence }: { log: Deno.KvKey; sequence: number },
): Mutation[] {
  return splitIntoEntries(changes).map((part, at) => ({
    type: "set",
    key: [...log, sequence + at + 1],
    value: encodeLogEntry(part),
  }));
}

function encodeLogEntry(changes: readonly IndexChange[]): StoredLogEntry {
  return {
    keys: changes.map(({ key }) => key),
    depths: Int8Array.from(changes, ({ depth, isRemoval }) => isRemoval ? -1 - depth : depth),
  };
}

export function decodeLogEntry({ keys, depths }: StoredLogEntry): IndexChange[] {
  return keys.map((key, at) => {
    const depth = depths[at] ?? 0;
    return depth < 0 ? { key, depth: -1 - depth, isRemoval: true } : { key, depth, isRemoval: false };
  });
}

/** Other nodes read an entry of the log within this time. A node that is slower reads the buckets instead. */
const MIN_AGE_MS = 10_000;

/** The numbers of the entries that the log has in the store, and which of them memory contains. */
export class LoggedEntries {
  readonly #nowMs: (() => number) | null;
  /** In order. */
  #numbers: number[] = [];
  /** When memory got the changes of an entry. Only if other nodes use the store. */
  readonly #appliedMs = new Map<number, number>();

  /** @param nowMs `null`: no other node uses the store. */
  constructor(nowMs: (() => number) | null) {
    this.#nowMs = nowMs;
  }

  /** Adds an entry with a number above all others. */
  push(sequence: number): void {
    this.#numbers.push(sequence);
  }

  /** Memory contains the changes of an entry. @returns whether they are new. */
  markApplied(sequence: number): boolean {
    if (this.#nowMs === null) return true;
    if (this.#appliedMs.has(sequence)) return false;
    this.#appliedMs.set(sequence, this.#nowMs());
    if (this.#numbers.lastIndexOf(sequence) >= 0) return true;
    const at = this.#numbers.findIndex((other) => other > sequence);
    this.#numbers.splice(at < 0 ? this.#numbers.length : at, 0, sequence);
    return true;
  }

  /** The oldest entries up to `sequence` that no other node needs. */
  removable(sequence: number, most: number): number[] {
    const untilMs = this.#nowMs === null ? 0 : this.#nowMs() - MIN_AGE_MS;
    const end = this.#numbers.findIndex((logged) =>
      logged > sequence || (this.#appliedMs.get(logged) ?? 0) > untilMs
    );
    return this.#numbers.slice(0, Math.min(most, end < 0 ? this.#numbers.length : end));
  }

  /** The store no longer has these entries. */
  forget(removed: readonly number[]): void {
    const gone = new Set(removed);
    this.#numbers = this.#numbers.filter((number) => !gone.has(number));
    for (const number of removed) this.#appliedMs.delete(number);
  }
}
