// The counted indexes of one target: names, tombstones, search words and values.

import type { Store } from "../../platform/store.ts";
import type { ResourceKind } from "../schema/resource.ts";
import type { CountedIndex } from "./counted_index.ts";
import { openCountedIndex } from "./index_follower.ts";
import type { IndexContent } from "./index_bucket.ts";
import { IndexMerge, type IndexMergeOptions } from "./index_merge.ts";
import type { DirectoryKeys } from "./keys.ts";

/**
 * `maxEntries`: at most this many keys are skipped to find the first key of a page, or read to count a bucket that is only partly in a range.
 * `maxUnmerged`: more changes share the writes of a merge, but a start reads all of them: 1 MB of names, and 3 MB of words.
 */
const LIMITS = {
  hashes: { maxEntries: 128, maxUnmerged: 16_384 },
  depths: { maxEntries: 256, maxUnmerged: 131_072 },
} as const satisfies Record<IndexContent, Pick<IndexMergeOptions, "maxUnmerged"> & { maxEntries: number }>;

type ByKind = Readonly<Record<ResourceKind, CountedIndex>>;

/** The indexes for logins and pages. */
export interface NameIndexes {
  readonly names: ByKind;
  readonly tombstones: CountedIndex;
}

/** The additional indexes for writes and searches. */
export interface Indexes extends NameIndexes {
  readonly words: ByKind;
  readonly values: ByKind;
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
  const { keys } = place;
  const [user, group, tombstones] = await Promise.all([
    openIndex(place, { name: "user", entries: keys.records("user"), stores: "hashes" }),
    openIndex(place, { name: "group", entries: keys.records("group"), stores: "hashes" }),
    openIndex(place, { name: "gone", entries: keys.goneAll, stores: "hashes" }),
  ]);
  return { names: { user, group }, tombstones };
}

/** Loads the counts of words and values: several times as many values as for names. */
export async function withWordIndexes(
  names: NameIndexes,
  { merge = {}, ...place }: IndexStore & { readonly merge?: Partial<IndexMergeOptions> | undefined },
): Promise<Indexes> {
  const open = (of: "word" | "value", kind: ResourceKind) =>
    openIndex(place, { name: `${kind} ${of}s`, entries: place.keys.entries(of, kind), stores: "depths" });
  const [userWords, groupWords, userValues, groupValues] = await Promise.all([
    open("word", "user"),
    open("word", "group"),
    open("value", "user"),
    open("value", "group"),
  ]);
  const { names: { user, group }, tombstones } = names;
  const all = [user, group, tombstones, userWords, groupWords, userValues, groupValues];
  const merges = all.map((index) => new IndexMerge(index, { ...LIMITS[index.options.stores], ...merge }));
  return {
    ...names,
    words: { user: userWords, group: groupWords },
    values: { user: userValues, group: groupValues },
    async maintain() {
      for (const one of merges) await one.run();
    },
  };
}

/** @param name its name in the keys of the buckets and of the log. */
function openIndex(
  { store, keys, nowMs }: IndexStore,
  { name, ...own }: { name: string; entries: Deno.KvKey; stores: IndexContent },
): Promise<CountedIndex> {
  const { maxEntries } = LIMITS[own.stores];
  return openCountedIndex({
    ...own,
    ...{ store, nowMs, prefix: keys.buckets(name), log: keys.indexLog(name), maxEntries },
  });
}
