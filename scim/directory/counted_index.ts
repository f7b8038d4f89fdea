// A counted index over sorted keys of the store: the key of a rank, and the number of keys in a range, without reading the keys.
// Memory holds one count per bucket of about a hundred keys.

import type { Mutation, Store } from "../../platform/store.ts";
import { compareText } from "./keys.ts";
import { HashMultiset, nameHash } from "./name_hashes.ts";

/** Entries have a depth from 0 to this minus one. */
export const DEPTHS = 24;

/** One entry: its key (parts joined by U+0000) and, in an index of words, its depth. */
export interface IndexEntry {
  readonly key: string;
  readonly depth: number;
}

/** The entries from `bound` up to the bound of the next bucket. */
export interface IndexBucket {
  readonly bound: string;
  readonly count: number;
  /** `below[n]`: how many entries have a depth under `n`. Only in an index of words. */
  readonly below: Uint16Array | null;
  /** Hashes of the keys, unordered. Only in an index of names. */
  readonly hashes: Uint32Array | null;
}

export interface CountedIndexOptions {
  readonly store: Store;
  /** The key prefix of the buckets. */
  readonly prefix: Deno.KvKey;
  readonly stores: "hashes" | "depths";
  readonly maxEntries: number;
  /** The entries of a range, in order; `to` is `null` for the end. */
  readonly entries: (from: string, to: string | null) => AsyncIterable<IndexEntry>;
}

interface StoredBucket {
  readonly hashes?: Uint32Array;
  readonly below?: Uint16Array;
}

type BucketTally = { count: number; below: Uint16Array | null; hashes: number[] | null };

/** Loads the buckets. */
export async function openCountedIndex(options: CountedIndexOptions): Promise<CountedIndex> {
  const index = new CountedIndex(options);
  await index.load();
  return index;
}

export class CountedIndex {
  readonly #options: CountedIndexOptions;
  readonly #names = new HashMultiset();
  readonly #tooLarge = new Set<string>();
  #buckets: IndexBucket[] = [];
  #total = 0;

  constructor(options: CountedIndexOptions) {
    this.#options = options;
  }

  async load(): Promise<void> {
    const { store, prefix, maxEntries } = this.#options;
    for await (const { key, value } of store.list<StoredBucket>(prefix)) {
      const bound = key.slice(prefix.length).join("\0");
      const below = value?.below ?? null;
      const hashes = value?.hashes ?? null;
      const count = below?.[DEPTHS] ?? hashes?.length ?? 0;
      this.#buckets.push({ bound, count, below, hashes });
      this.#total += count;
      for (const hash of hashes ?? []) this.#names.add(hash);
      if (count > maxEntries) this.#tooLarge.add(bound);
    }
    if (this.#buckets[0]?.bound !== "") this.#buckets.unshift(toBucket("", this.#emptyTally()));
  }

  get total(): number {
    return this.#total;
  }

  get buckets(): readonly IndexBucket[] {
    return this.#buckets;
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

  draft(): IndexDraft {
    return new IndexDraft(this);
  }

  /** The mutation that stores a bucket. */
  mutationOf({ bound, count, below, hashes }: IndexBucket): Mutation {
    const key = [...this.#options.prefix, ...bound.split("\0")];
    if (count === 0 && bound !== "") return { type: "delete", key };
    const value: StoredBucket = hashes === null ? { below: below ?? undefined } : { hashes };
    return { type: "set", key, value };
  }

  /** Replaces buckets after their commit. */
  replace(
    changes: readonly (readonly [IndexBucket, IndexBucket])[],
    { added, removed }: { added: readonly number[]; removed: readonly number[] },
  ): void {
    let hasEmpty = false;
    for (const [bucket, next] of changes) {
      this.#total += next.count - bucket.count;
      this.#buckets[this.locate(bucket.bound)] = next;
      if (next.count > this.#options.maxEntries) this.#tooLarge.add(next.bound);
      hasEmpty ||= next.count === 0 && next.bound !== "";
    }
    if (hasEmpty) this.#buckets = this.#buckets.filter(({ bound, count }) => count > 0 || bound === "");
    for (const hash of added) this.#names.add(hash);
    for (const hash of removed) this.#names.remove(hash);
  }

  /** Splits buckets that are too large, with one commit each. The write queue calls it when no write is in progress. */
  async splitLargeBuckets(): Promise<void> {
    for (const bound of this.#tooLarge) {
      const at = this.locate(bound);
      // An empty bucket is removed, and its neighbour has its position.
      if (this.#buckets[at]?.bound === bound) await this.#split(at);
      this.#tooLarge.delete(bound);
    }
  }

  async #split(at: number): Promise<void> {
    const { store, maxEntries, entries } = this.#options;
    const bucket = this.#buckets[at];
    if (bucket === undefined || bucket.count <= maxEntries) return;
    const pieces: IndexBucket[] = [];
    let bound = bucket.bound;
    let tally = this.#emptyTally();
    for await (const { key, depth } of entries(bucket.bound, this.#buckets[at + 1]?.bound ?? null)) {
      if (tally.count >= maxEntries >> 1) {
        pieces.push(toBucket(bound, tally));
        bound = key;
        tally = this.#emptyTally();
      }
      tally.count += 1;
      shift(tally.below, depth, 1);
      tally.hashes?.push(nameHash(key));
    }
    pieces.push(toBucket(bound, tally));
    await store.commit({ mutations: pieces.map((piece) => this.mutationOf(piece)) });
    for (const { count } of pieces) this.#total += count;
    this.#total -= bucket.count;
    // A new list, because a reader may iterate over the old one.
    this.#buckets = this.#buckets.toSpliced(at, 1, ...pieces);
  }

  #emptyTally(): BucketTally {
    const { stores } = this.#options;
    return {
      count: 0,
      below: stores === "depths" ? new Uint16Array(DEPTHS + 1) : null,
      hashes: stores === "hashes" ? [] : null,
    };
  }
}

/** Changes of an index for one commit. `mutations` belong to the commit; call `apply` after it. */
export class IndexDraft {
  readonly #index: CountedIndex;
  readonly #tallies = new Map<IndexBucket, BucketTally>();
  readonly #added: number[] = [];
  readonly #removed: number[] = [];

  constructor(index: CountedIndex) {
    this.#index = index;
  }

  get changedBuckets(): number {
    return this.#tallies.size;
  }

  add(key: string, depth = 0): void {
    const tally = this.#tallyFor(key);
    tally.count += 1;
    shift(tally.below, depth, 1);
    if (tally.hashes === null) return;
    const hash = nameHash(key);
    tally.hashes.push(hash);
    this.#added.push(hash);
  }

  remove(key: string, depth = 0): void {
    const tally = this.#tallyFor(key);
    tally.count -= 1;
    shift(tally.below, depth, -1);
    if (tally.hashes === null) return;
    const hash = nameHash(key);
    const at = tally.hashes.indexOf(hash);
    if (at >= 0) tally.hashes.splice(at, 1);
    this.#removed.push(hash);
  }

  mutations(): Mutation[] {
    return this.#changes().map(([, next]) => this.#index.mutationOf(next));
  }

  apply(): void {
    this.#index.replace(this.#changes(), { added: this.#added, removed: this.#removed });
  }

  #changes(): [IndexBucket, IndexBucket][] {
    return [...this.#tallies].map(([bucket, tally]) => [bucket, toBucket(bucket.bound, tally)]);
  }

  #tallyFor(key: string): BucketTally {
    const bucket = this.#index.buckets[this.#index.locate(key)];
    if (bucket === undefined) throw new Error("Cannot count a key: there is no bucket");
    const known = this.#tallies.get(bucket);
    if (known !== undefined) return known;
    const tally: BucketTally = {
      count: bucket.count,
      below: bucket.below?.slice() ?? null,
      hashes: bucket.hashes === null ? null : [...bucket.hashes],
    };
    this.#tallies.set(bucket, tally);
    return tally;
  }
}

function toBucket(bound: string, { count, below, hashes }: BucketTally): IndexBucket {
  return { bound, count, below, hashes: hashes === null ? null : Uint32Array.from(hashes) };
}

/** Adds an entry of `depth` to the cumulative counts, or removes it. */
function shift(below: Uint16Array | null, depth: number, by: 1 | -1): void {
  if (below === null) return;
  for (let n = depth + 1; n <= DEPTHS; n++) below[n] = (below[n] ?? 0) + by;
}
