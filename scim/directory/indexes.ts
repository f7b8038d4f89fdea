// The counted indexes of one target: names, tombstones and search words.

import type { Store } from "../../platform/store.ts";
import type { ResourceKind } from "../schema/resource.ts";
import {
  type CountedIndex,
  DEPTHS,
  type IndexBucket,
  type IndexEntry,
  openCountedIndex,
} from "./counted_index.ts";
import { type DirectoryKeys, LAST_CHARACTER } from "./keys.ts";

/** To find the first key of a page, at most this many keys are skipped. */
const MAX_NAMES_PER_BUCKET = 128;
/** To count a bucket that is only partly in a range, at most this many keys are read. */
const MAX_WORDS_PER_BUCKET = 256;

/** The indexes for logins and pages. */
export interface NameIndexes {
  readonly names: Readonly<Record<ResourceKind, CountedIndex>>;
  readonly tombstones: CountedIndex;
}

/** The additional indexes for writes and searches. */
export interface Indexes extends NameIndexes {
  readonly words: Readonly<Record<ResourceKind, CountedIndex>>;
  readonly all: readonly CountedIndex[];
}

interface IndexStore {
  readonly store: Store;
  readonly keys: DirectoryKeys;
}

/** Loads the counts of names: some ten thousand small values for a million users. */
export async function openNameIndexes(place: IndexStore): Promise<NameIndexes> {
  const [user, group, tombstones] = await Promise.all([
    openNames(place, "user"),
    openNames(place, "group"),
    openNames(place, "gone"),
  ]);
  return { names: { user, group }, tombstones };
}

/** Loads the counts of words: several times as many values as for names. */
export async function withWordIndexes(names: NameIndexes, place: IndexStore): Promise<Indexes> {
  const [user, group] = await Promise.all([openWords(place, "user"), openWords(place, "group")]);
  return {
    ...names,
    words: { user, group },
    all: [names.names.user, names.names.group, user, group, names.tombstones],
  };
}

function openNames({ store, keys }: IndexStore, kind: ResourceKind | "gone"): Promise<CountedIndex> {
  const placeOf = (name: string): Deno.KvKey => kind === "gone" ? keys.gone(name) : keys.record(kind, name);
  return openCountedIndex({
    store,
    prefix: keys.buckets(kind),
    stores: "hashes",
    maxEntries: MAX_NAMES_PER_BUCKET,
    async *entries(from, to) {
      const selector = { start: placeOf(from), end: placeOf(to ?? LAST_CHARACTER) };
      for await (const { key } of store.range(selector)) yield { key: String(key[2]), depth: 0 };
    },
  });
}

function openWords({ store, keys }: IndexStore, kind: ResourceKind): Promise<CountedIndex> {
  return openCountedIndex({
    store,
    prefix: keys.buckets(`${kind} words`),
    stores: "depths",
    maxEntries: MAX_WORDS_PER_BUCKET,
    entries: (from, to) => wordEntries({ store, keys }, { kind, from, to: to ?? LAST_CHARACTER }),
  });
}

/** Entries of the word index from one place up to another, in order. */
export async function* wordEntries(
  { store, keys }: IndexStore,
  { kind, from, to }: { kind: ResourceKind; from: string; to: string },
): AsyncGenerator<IndexEntry> {
  const selector = { start: keys.wordPlace(kind, from), end: keys.wordPlace(kind, to) };
  for await (const { key, value } of store.range<number>(selector)) {
    yield { key: `${String(key[3])}\0${String(key[4])}`, depth: Math.min(value ?? 0, DEPTHS - 1) };
  }
}

export interface WordRangeDeps {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  readonly indexes: Indexes;
}

/** The beginning of a word, at most 24 characters (`cutWord`). */
export interface WordPrefix {
  readonly kind: ResourceKind;
  readonly start: string;
}

export interface PrefixRange {
  /** The number of resources that have a word with this prefix. Reads a part of at most two buckets. */
  count(beginning: WordPrefix): Promise<number>;
  /** Whether fewer than `most` entries have this prefix. Reads at most `most` entries. */
  isRare(beginning: WordPrefix, most: number): Promise<boolean>;
  /** The canonical names of these resources in order of word, then name, each once. */
  names(beginning: WordPrefix, options: { offset: number; limit: number }): Promise<string[]>;
}

/** The part of one bucket that has a prefix. */
interface BucketRange {
  readonly from: string;
  readonly to: string;
  /** The number of resources with the term; `null` if the bucket also contains other terms, so that only a read can count. */
  readonly count: number | null;
}

export function createWordRange({ store, keys, indexes }: WordRangeDeps): PrefixRange {
  const bucketRanges = ({ kind, start }: WordPrefix): BucketRange[] => {
    const index = indexes.words[kind];
    const end = start + LAST_CHARACTER;
    const first = index.locate(start);
    const last = index.locate(end);
    const buckets = index.buckets.slice(first, last + 1);
    return buckets.map((bucket, at) => {
      const isWhole = (at > 0 || bucket.bound === start) && at < buckets.length - 1;
      return {
        from: at === 0 ? start : bucket.bound,
        to: buckets[at + 1]?.bound ?? end,
        count: isWhole ? countBelow(bucket, start.length) : null,
      };
    });
  };
  const namesIn = async function* (kind: ResourceKind, { from, to, below }: BucketRange & { below: number }) {
    for await (const { key, depth } of wordEntries({ store, keys }, { kind, from, to })) {
      if (depth < below) yield key.slice(key.indexOf("\0") + 1);
    }
  };
  const countIn = async (kind: ResourceKind, range: BucketRange & { below: number }): Promise<number> => {
    if (range.count !== null) return range.count;
    let count = 0;
    for await (const _name of namesIn(kind, range)) count += 1;
    return count;
  };

  return {
    async count(beginning) {
      const { kind, start } = beginning;
      let total = 0;
      for (const range of bucketRanges(beginning)) {
        total += await countIn(kind, { ...range, below: start.length });
      }
      return total;
    },
    async isRare({ kind, start }, most) {
      const selector = {
        start: keys.wordPlace(kind, start),
        end: keys.wordPlace(kind, start + LAST_CHARACTER),
      };
      let count = 0;
      for await (const _entry of store.range(selector, { limit: most })) count += 1;
      return count < most;
    },
    async names(beginning, { offset, limit }) {
      const { kind, start } = beginning;
      const names: string[] = [];
      let skip = offset;
      for (const range of bucketRanges(beginning)) {
        if (range.count !== null && skip >= range.count) {
          skip -= range.count;
          continue;
        }
        for await (const name of namesIn(kind, { ...range, below: start.length })) {
          if (names.length >= limit) return names;
          if (skip > 0) skip -= 1;
          else names.push(name);
        }
        if (names.length >= limit) return names;
      }
      return names;
    },
  };
}

function countBelow({ below }: IndexBucket, depth: number): number {
  return below?.[depth] ?? 0;
}
