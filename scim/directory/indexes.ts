// The counted indexes of one target: names, tombstones, search words and values.

import type { Store } from "../../platform/store.ts";
import type { ResourceKind } from "../schema/resource.ts";
import type { CountedIndex } from "./counted_index.ts";
import { openCountedIndex } from "./index_follower.ts";
import { DEPTHS, type IndexEntry } from "./index_bucket.ts";
import { IndexMerge, type IndexMergeOptions } from "./index_merge.ts";
import { compareText, type DirectoryKeys, LAST_CHARACTER } from "./keys.ts";

/** To find the first key of a page, at most this many keys are skipped. */
const MAX_NAMES_PER_BUCKET = 128;
/** To count a bucket that is only partly in a range, at most this many keys are read. */
const MAX_WORDS_PER_BUCKET = 256;
/** More changes share the writes of a merge, but a start reads all of them: 3 MB of words, and 1 MB of names. */
const MAX_UNMERGED_WORDS = 131_072;
const MAX_UNMERGED_NAMES = 16_384;

/** The indexes for logins and pages. */
export interface NameIndexes {
  readonly names: Readonly<Record<ResourceKind, CountedIndex>>;
  readonly tombstones: CountedIndex;
}

/** The additional indexes for writes and searches. */
export interface Indexes extends NameIndexes {
  readonly words: Readonly<Record<ResourceKind, CountedIndex>>;
  readonly values: Readonly<Record<ResourceKind, CountedIndex>>;
  /** Merges a part of the index logs, and splits buckets. Call it when no write is in progress. */
  maintain(): Promise<void>;
}

interface IndexStore {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  /** Present if other nodes use the store, too. */
  readonly nowMs?: (() => number) | undefined;
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

/** Loads the counts of words and values: several times as many values as for names. */
export async function withWordIndexes(
  names: NameIndexes,
  { merge = {}, ...place }: IndexStore & { readonly merge?: Partial<IndexMergeOptions> | undefined },
): Promise<Indexes> {
  const [user, group, userValues, groupValues] = await Promise.all([
    openWords(place, "user"),
    openWords(place, "group"),
    openValues(place, "user"),
    openValues(place, "group"),
  ]);
  const merges = [
    ...[names.names.user, names.names.group, names.tombstones].map((index) =>
      new IndexMerge(index, { maxUnmerged: MAX_UNMERGED_NAMES, ...merge })
    ),
    ...[user, group, userValues, groupValues].map((index) =>
      new IndexMerge(index, { maxUnmerged: MAX_UNMERGED_WORDS, ...merge })
    ),
  ];
  return {
    ...names,
    words: { user, group },
    values: { user: userValues, group: groupValues },
    async maintain() {
      for (const one of merges) await one.run();
    },
  };
}

function openNames({ store, keys, nowMs }: IndexStore, kind: ResourceKind | "gone"): Promise<CountedIndex> {
  const placeOf = (name: string): Deno.KvKey => kind === "gone" ? keys.gone(name) : keys.record(kind, name);
  return openCountedIndex({
    store,
    nowMs,
    prefix: keys.buckets(kind),
    log: keys.indexLog(kind),
    stores: "hashes",
    maxEntries: MAX_NAMES_PER_BUCKET,
    async *entries(from, to) {
      const selector = { start: placeOf(from), end: placeOf(to ?? LAST_CHARACTER) };
      for await (const { key } of store.range(selector)) yield { key: String(key[2]), depth: 0 };
    },
  });
}

function openWords({ store, keys, nowMs }: IndexStore, kind: ResourceKind): Promise<CountedIndex> {
  return openCountedIndex({
    store,
    nowMs,
    prefix: keys.buckets(`${kind} words`),
    log: keys.indexLog(`${kind} words`),
    stores: "depths",
    maxEntries: MAX_WORDS_PER_BUCKET,
    entries: (from, to) => storedWords({ store, keys }, { kind, from, to: to ?? LAST_CHARACTER }),
    entryMutation(place, depth) {
      const key = keys.wordPlace(kind, place);
      return depth === null ? { type: "delete", key } : { type: "set", key, value: depth };
    },
  });
}

function openValues({ store, keys, nowMs }: IndexStore, kind: ResourceKind): Promise<CountedIndex> {
  return openCountedIndex({
    store,
    nowMs,
    prefix: keys.buckets(`${kind} values`),
    log: keys.indexLog(`${kind} values`),
    stores: "depths",
    maxEntries: MAX_WORDS_PER_BUCKET,
    async *entries(from, to) {
      const selector = {
        start: keys.valuePlace(kind, from),
        end: keys.valuePlace(kind, to ?? LAST_CHARACTER),
      };
      for await (const { key, value } of store.range<number>(selector)) {
        yield { key: key.slice(3).join("\0"), depth: Math.min(value ?? 0, DEPTHS - 1) };
      }
    },
    entryMutation(place, depth) {
      const key = keys.valuePlace(kind, place);
      return depth === null ? { type: "delete", key } : { type: "set", key, value: depth };
    },
  });
}

interface WordPlaces {
  readonly kind: ResourceKind;
  readonly from: string;
  readonly to: string;
}

/** Entries of the word index in the store from one place up to another, in order. */
async function* storedWords(
  { store, keys }: IndexStore,
  { kind, from, to, limit }: WordPlaces & { readonly limit?: number },
): AsyncGenerator<IndexEntry> {
  const selector = { start: keys.wordPlace(kind, from), end: keys.wordPlace(kind, to) };
  for await (const { key, value } of store.range<number>(selector, limit === undefined ? {} : { limit })) {
    yield { key: `${String(key[3])}\0${String(key[4])}`, depth: Math.min(value ?? 0, DEPTHS - 1) };
  }
}

/** Entries of the word index from one place up to another, in order: those of the store with the changes of the log. */
async function* wordEntries(
  { store, keys, indexes }: WordRangeDeps,
  places: WordPlaces & { readonly limit?: number },
): AsyncGenerator<IndexEntry> {
  const { kind, from, to, limit } = places;
  const pending = indexes.words[kind].pendingIn(from, to);
  let at = 0;
  const raised = limit === undefined ? {} : { limit: limit + pending.length };
  for await (const entry of storedWords({ store, keys }, { kind, from, to, ...raised })) {
    let change = pending[at];
    for (; change !== undefined && compareText(change.key, entry.key) < 0; change = pending[++at]) {
      if (change.depth !== null) yield { key: change.key, depth: change.depth };
    }
    if (change?.key !== entry.key) yield entry;
  }
  for (const { key, depth } of pending.slice(at)) if (depth !== null) yield { key, depth };
}

interface WordRangeDeps {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  readonly indexes: Indexes;
}

/** The beginning of a word, at most 24 characters (`cutWord`). */
interface WordPrefix {
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
  /** The number of entries, or `null` as with `count`. */
  readonly entries: number | null;
}

export function createWordRange(deps: WordRangeDeps): PrefixRange {
  const { indexes } = deps;
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
        count: isWhole ? bucket.countBelow(start.length) : null,
        entries: isWhole ? bucket.count : null,
      };
    });
  };
  const namesIn = async function* (kind: ResourceKind, { from, to, below }: BucketRange & { below: number }) {
    for await (const { key, depth } of wordEntries(deps, { kind, from, to })) {
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
    async isRare(beginning, most) {
      let count = 0;
      for (const { from, to, entries } of bucketRanges(beginning)) {
        if (entries !== null) count += entries;
        else {
          for await (const _ of wordEntries(deps, { kind: beginning.kind, from, to, limit: most })) {
            if (++count >= most) return false;
          }
        }
        if (count >= most) return false;
      }
      return true;
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
