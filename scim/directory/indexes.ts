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

/** A page starts at most this many keys before its first one. */
const MAX_NAMES_PER_BUCKET = 128;
/** The ends of a beginning's stretch are counted by reading this many keys at most. */
const MAX_WORDS_PER_BUCKET = 256;

/** What a login and a page need. */
export interface NameIndexes {
  readonly names: Readonly<Record<ResourceKind, CountedIndex>>;
  readonly tombstones: CountedIndex;
}

/** What a write and a search need besides. */
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

/** Loads the counts of words, of which there are several times as many. */
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
    prefix: keys.fences(kind),
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
    prefix: keys.fences(`${kind} words`),
    stores: "depths",
    maxEntries: MAX_WORDS_PER_BUCKET,
    entries: (from, to) => wordEntries({ store, keys }, { kind, from, to: to ?? LAST_CHARACTER }),
  });
}

/** Entries of the index of words from one place up to another, in order. */
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

/** A beginning of at most 24 characters (`cutWord`). */
export interface WordPrefix {
  readonly kind: ResourceKind;
  readonly start: string;
}

export interface PrefixRange {
  /** How many resources have such a word; reads a part of at most two fences. */
  count(beginning: WordPrefix): Promise<number>;
  /** Whether fewer than `most` entries begin so, and so at most as many resources; reads at most that many. */
  isRare(beginning: WordPrefix, most: number): Promise<boolean>;
  /** Their canonical names in order of word, then name; each once. */
  names(beginning: WordPrefix, options: { offset: number; limit: number }): Promise<string[]>;
}

/** What of one fence belongs to a beginning. */
interface Stretch {
  readonly from: string;
  readonly to: string;
  /** The number of resources with the term; `null` if the bucket also contains other terms, so that only a read can count. */
  readonly count: number | null;
}

export function createWordRange({ store, keys, indexes }: WordRangeDeps): PrefixRange {
  const stretches = ({ kind, start }: WordPrefix): Stretch[] => {
    const index = indexes.words[kind];
    const end = start + LAST_CHARACTER;
    const first = index.locate(start);
    const last = index.locate(end);
    const fences = index.buckets.slice(first, last + 1);
    return fences.map((fence, at) => {
      const isWhole = (at > 0 || fence.bound === start) && at < fences.length - 1;
      return {
        from: at === 0 ? start : fence.bound,
        to: fences[at + 1]?.bound ?? end,
        count: isWhole ? countBelow(fence, start.length) : null,
      };
    });
  };
  const namesIn = async function* (kind: ResourceKind, { from, to, below }: Stretch & { below: number }) {
    for await (const { key, depth } of wordEntries({ store, keys }, { kind, from, to })) {
      if (depth < below) yield key.slice(key.indexOf("\0") + 1);
    }
  };
  const countIn = async (kind: ResourceKind, stretch: Stretch & { below: number }): Promise<number> => {
    if (stretch.count !== null) return stretch.count;
    let count = 0;
    for await (const _name of namesIn(kind, stretch)) count += 1;
    return count;
  };

  return {
    async count(beginning) {
      const { kind, start } = beginning;
      let total = 0;
      for (const stretch of stretches(beginning)) {
        total += await countIn(kind, { ...stretch, below: start.length });
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
      for (const stretch of stretches(beginning)) {
        if (stretch.count !== null && skip >= stretch.count) {
          skip -= stretch.count;
          continue;
        }
        for await (const name of namesIn(kind, { ...stretch, below: start.length })) {
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
