// A counted index over sorted keys of the store: the key of a rank, and the number of keys in a range, without reading the keys.
// Memory holds one count per bucket of about a hundred keys. A write appends to the index log; index_merge.ts moves the log into the buckets.

import type { Mutation, Store } from "../../platform/store.ts";
import {
  DEPTHS,
  IndexBucket,
  type IndexChange,
  type IndexContent,
  type IndexEntry,
  type PendingEntry,
  type RangeEntry,
  type StoredBucket,
} from "./index_bucket.ts";
import { compareText } from "./keys.ts";
import { HashMultiset, nameHash } from "./name_hashes.ts";

export interface CountedIndexOptions {
  readonly store: Store;
  /** The key prefix of the buckets. */
  readonly prefix: Deno.KvKey;
  /** The key prefix of the log. */
  readonly log: Deno.KvKey;
  /** The key prefix of the entries. The parts of an entry's key follow. With `hashes`, other code writes the entries. */
  readonly entries: Deno.KvKey;
  readonly stores: IndexContent;
  readonly maxEntries: number;
  /** With more changes, a bucket is merged at once, so that one commit suffices. Default: 200; Deno KV accepts 1,000 mutations. */
  readonly maxPending?: number;
  /** Present if other nodes use the store, too. */
  readonly nowMs?: (() => number) | undefined;
}

export class CountedIndex {
  readonly options: CountedIndexOptions;
  readonly #isShared: boolean;
  readonly #logged: LoggedEntries;
  readonly #names = new HashMultiset();
  readonly #tooLarge = new Set<string>();
  #buckets: IndexBucket[] = [];
  #total = 0;
  #unmerged = 0;
  #applied = 0;
  #sequence = 0;

  constructor(options: CountedIndexOptions) {
    this.options = options;
    this.#isShared = options.nowMs !== undefined;
    this.#logged = new LoggedEntries(options.nowMs ?? null);
  }

  get maxPending(): number {
    return this.options.maxPending ?? MAX_PENDING;
  }

  /** Loads the buckets and the log. */
  async load(): Promise<void> {
    const { store, prefix, log, stores } = this.options;
    for await (const { key, value } of store.list<StoredBucket>(prefix)) {
      this.#buckets.push(new IndexBucket(key.slice(prefix.length).join("\0"), stores, value ?? {}));
    }
    if (this.#buckets[0]?.bound !== "") this.#buckets.unshift(new IndexBucket("", stores));
    this.#include(this.#buckets);
    for await (const { key, value } of store.list<StoredLogEntry>(log)) {
      const sequence = Number(key.at(-1));
      this.#logged.push(sequence);
      if (value !== null) this.applyEntry(sequence, value);
    }
    for (const bucket of this.#buckets) this.#noteSize(bucket);
  }

  get total(): number {
    return this.#total;
  }

  get buckets(): readonly IndexBucket[] {
    return this.#buckets;
  }

  /** The number of changes that are only in the log. */
  get unmerged(): number {
    return this.#unmerged;
  }

  /** The number of changes since the index was opened. */
  get applied(): number {
    return this.#applied;
  }

  /** The number of the last entry of the log. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The position in {@link buckets} that the key belongs to. */
  locate(key: string): number {
    let low = 0;
    let high = this.#buckets.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (compareText(this.#buckets[middle]?.bound ?? "", key) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The entry of that rank (from 0) is the `skip`-th from `bound` on. */
  seek(rank: number): { bound: string; skip: number } {
    let skip = rank;
    for (const { bound, count } of this.#buckets) {
      if (skip < count) return { bound, skip };
      skip -= count;
    }
    const last = this.#buckets.at(-1);
    return { bound: last?.bound ?? "", skip: skip + (last?.count ?? 0) };
  }

  /** `false`: the index does not have the key. Only for an index of names. */
  mayContain(key: string): boolean {
    return this.#names.has(nameHash(key));
  }

  /**
   * The entries of a range that the store has in another way, in order: their depth, or `null` for a removed one. Take them before the range is
   * read from the store, because a merge moves them there.
   */
  pendingIn(from: string, to: string): PendingEntry[] {
    const found: PendingEntry[] = [];
    for (let at = this.locate(from); at < this.#buckets.length; at++) {
      const bucket = this.#buckets[at];
      if (bucket === undefined || compareText(bucket.bound, to) >= 0) break;
      for (const [key, depth] of bucket.pending) {
        if (compareText(key, from) >= 0 && compareText(key, to) < 0) found.push({ key, depth });
      }
    }
    return found.sort((a, b) => compareText(a.key, b.key));
  }

  /** The entries of a range in the store, in order. */
  async *stored(from: string, to: string, limit?: number): AsyncGenerator<IndexEntry & RangeEntry> {
    const { store, entries, stores } = this.options;
    const selector = { start: this.entryKey(from), end: this.entryKey(to) };
    for await (const { key, value } of store.range<unknown>(selector, limit === undefined ? {} : { limit })) {
      const depth = stores === "hashes" ? 0 : Math.min(Number(value ?? 0), DEPTHS - 1);
      yield { key: key.slice(entries.length).join("\0"), depth, value };
    }
  }

  draft(): IndexDraft {
    return new IndexDraft(this);
  }

  /** The mutations that append changes to the log. They belong to the commit of the changes; call {@link apply} after it. */
  append(changes: readonly IndexChange[]): Mutation[] {
    if (changes.length === 0) return [];
    const entries = appendToLog(changes, { log: this.options.log, sequence: this.#sequence });
    for (let n = 0; n < entries.length; n++) this.#logged.push(++this.#sequence);
    return entries;
  }

  /** Updates memory after the commit of changes. @param after the number of the last entry before {@link append}. */
  apply(changes: readonly IndexChange[], after: number): void {
    if (changes.length === 0) return;
    const parts = this.#isShared ? splitIntoEntries(changes) : [changes];
    for (const [at, part] of parts.entries()) {
      const sequence = after + at + 1;
      this.#logged.markApplied(sequence);
      for (const change of part) this.#noteSize(this.#apply(change, sequence));
    }
    this.#applied += changes.length;
  }

  /** Updates memory by an entry of the log, in any order, and each once. */
  applyEntry(sequence: number, entry: StoredLogEntry): void {
    this.#sequence = Math.max(this.#sequence, sequence);
    if (!this.#logged.markApplied(sequence)) return;
    for (const change of decodeLogEntry(entry)) this.#noteSize(this.#apply(change, sequence));
  }

  /** The log no longer has these entries. */
  forgetEntries(removed: readonly number[]): void {
    this.#logged.forget(removed);
  }

  /** Replaces buckets by those in the store (`null`: there is none with that bound), with the changes of the log that they do not contain. */
  applyBuckets(stored: ReadonlyMap<string, StoredBucket | null>): void {
    const { stores } = this.options;
    const former = this.#buckets.filter(({ bound }) => stored.has(bound));
    const added = [...stored].flatMap(([bound, value]) =>
      value === null ? [] : [new IndexBucket(bound, stores, value)]
    );
    this.#buckets = [...this.#buckets.filter(({ bound }) => !stored.has(bound)), ...added]
      .sort((a, b) => compareText(a.bound, b.bound));
    if (this.#buckets[0]?.bound !== "") this.#buckets.unshift(new IndexBucket("", stores));
    this.#include(added);
    for (const { hashes, count, unmerged } of former) {
      this.#total -= count;
      this.#unmerged -= unmerged;
      for (const hash of hashes ?? []) this.#names.remove(hash);
    }
    const tail = former.flatMap((bucket) => bucket.tail).sort((a, b) => a.sequence - b.sequence);
    for (const change of tail) this.#apply(change, change.sequence);
    for (const bucket of added) this.#noteSize(bucket);
  }

  entryKey(key: string): Deno.KvKey {
    return [...this.options.entries, ...key.split("\0")];
  }

  bucketKey({ bound }: IndexBucket): Deno.KvKey {
    return [...this.options.prefix, ...bound.split("\0")];
  }

  /** Call it when the stored buckets contain everything up to `mergedTo`. */
  markMerged(buckets: readonly IndexBucket[], mergedTo: number): void {
    for (const bucket of buckets) {
      this.#unmerged -= bucket.unmerged;
      bucket.markMerged(mergedTo);
    }
  }

  /** Replaces one bucket by pieces after their commit. */
  replace(bucket: IndexBucket, pieces: readonly IndexBucket[]): void {
    const at = this.locate(bucket.bound);
    this.#unmerged -= bucket.unmerged;
    this.#total -= bucket.count;
    for (const piece of pieces) {
      this.#unmerged += piece.unmerged;
      this.#total += piece.count;
    }
    // A new list, because a reader may iterate over the old one.
    this.#buckets = this.#buckets.toSpliced(at, 1, ...pieces);
    this.#tooLarge.delete(bucket.bound);
    for (const piece of pieces) this.#noteSize(piece);
  }

  /** Removes empty buckets after their commit. The bucket before each gets its range. */
  remove(buckets: ReadonlySet<IndexBucket>): void {
    if (buckets.size > 0) this.#buckets = this.#buckets.filter((bucket) => !buckets.has(bucket));
  }

  /** A bucket that is too large, or that has too many changes for one commit. */
  findLarge(): IndexBucket | null {
    for (const bound of this.#tooLarge) {
      const bucket = this.#buckets[this.locate(bound)];
      if (bucket?.bound === bound && this.#isLarge(bucket)) return bucket;
      // It was merged in the meantime, or it was empty and its neighbour has its range.
      this.#tooLarge.delete(bound);
    }
    return null;
  }

  /** The numbers of the log's entries up to `sequence` that can be deleted, the oldest first. */
  removableEntries(sequence: number, most: number): number[] {
    return this.#logged.removable(sequence, most);
  }

  /** Counts buckets as they are in the store. */
  #include(buckets: readonly IndexBucket[]): void {
    for (const { count, hashes, mergedTo } of buckets) {
      this.#total += count;
      for (const hash of hashes ?? []) this.#names.add(hash);
      this.#sequence = Math.max(this.#sequence, mergedTo);
    }
  }

  #apply(change: IndexChange, sequence: number): IndexBucket {
    const bucket = this.#buckets[this.locate(change.key)];
    if (bucket === undefined) throw new Error("Cannot count a key: there is no bucket");
    if (sequence <= bucket.mergedTo) return bucket;
    const hash = this.options.stores === "hashes" ? nameHash(change.key) : 0;
    bucket.apply(change, hash);
    if (this.#isShared) bucket.addToTail(change, sequence);
    this.#total += change.isRemoval ? -1 : 1;
    this.#unmerged += 1;
    if (this.options.stores === "hashes") this.#names[change.isRemoval ? "remove" : "add"](hash);
    return bucket;
  }

  #noteSize(bucket: IndexBucket): void {
    if (this.#isLarge(bucket)) this.#tooLarge.add(bucket.bound);
  }

  #isLarge({ count, pending }: IndexBucket): boolean {
    return count > this.options.maxEntries || pending.size > this.maxPending;
  }
}

const MAX_PENDING = 200;

/** Changes of an index for one commit. `mutations` belong to the commit; call `apply` after it. */
export class IndexDraft {
  readonly #index: CountedIndex;
  readonly #changes: IndexChange[] = [];
  #octets = 0;
  /** The number of the last entry of the log before the changes. */
  #after = 0;

  constructor(index: CountedIndex) {
    this.#index = index;
  }

  /** The size of the changes in the log. */
  get sizeOctets(): number {
    return this.#octets;
  }

  add(key: string, depth = 0): void {
    this.#push({ key, depth, isRemoval: false });
  }

  remove(key: string, depth = 0): void {
    this.#push({ key, depth, isRemoval: true });
  }

  mutations(): Mutation[] {
    this.#after = this.#index.sequence;
    return this.#index.append(this.#changes);
  }

  apply(): void {
    this.#index.apply(this.#changes, this.#after);
  }

  #push(change: IndexChange): void {
    this.#changes.push(change);
    this.#octets += changeOctets(change);
  }
}

// The index log: the changes that the stored buckets may not contain yet, in order of time. A commit appends one small value per index instead of
// writing a value at a random place for each search word.

/** The value of one entry of the log. A depth `d` is an added entry of that depth, and `-1 - d` a removed one. */
export interface StoredLogEntry {
  readonly keys: readonly string[];
  readonly depths: Int8Array;
}

/** A value of the store has at most 64 KiB, and a character takes at most two octets. */
const MAX_ENTRY_OCTETS = 48_000;
const OCTETS_PER_CHANGE = 12;

/** The approximate size of a change in the log. */
function changeOctets({ key }: IndexChange): number {
  return key.length * 2 + OCTETS_PER_CHANGE;
}

/** The changes of each entry of the log, in order. */
function splitIntoEntries(changes: readonly IndexChange[]): IndexChange[][] {
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
function appendToLog(
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

function decodeLogEntry({ keys, depths }: StoredLogEntry): IndexChange[] {
  return keys.map((key, at) => {
    const depth = depths[at] ?? 0;
    return depth < 0 ? { key, depth: -1 - depth, isRemoval: true } : { key, depth, isRemoval: false };
  });
}

/** Other nodes read an entry of the log within this time. A node that is slower reads the buckets instead. */
const MIN_AGE_MS = 10_000;

/** The numbers of the entries that the log has in the store, and which of them memory contains. */
class LoggedEntries {
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
