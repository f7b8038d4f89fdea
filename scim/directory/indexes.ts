// The counted indexes of one target, of names, tombstones, search words and values: how they are opened, merged and queried, and how they follow what other
// nodes wrote: entries of a log at once, and buckets when all of them are of the same commit.

import type { Store } from "../../platform/store.ts";
import type { KeyRange, Listed, Listing, ListOptions, ResourceIndexes } from "../ports.ts";
import type { ResourceKind, Stored } from "../schema/resource.ts";
import { CountedIndex, type CountedIndexOptions, type StoredLogEntry } from "./counted_index.ts";
import {
  DEPTHS,
  type IndexBucket,
  type IndexContent,
  mergeEntries,
  type RangeEntry,
  type StoredBucket,
} from "./index_bucket.ts";
import { INDEXED_VALUES, MORE_VALUES } from "./index_keys.ts";
import { IndexMerge, type IndexMergeOptions } from "./index_merge.ts";
import { compareText, type DirectoryKeys, LAST_CHARACTER } from "./keys.ts";
import type { ResourceRecord } from "./records.ts";

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

// Queries.

/** Reads the resources of a list. */
interface ListedReader {
  read(kind: ResourceKind, canonical: string): Promise<Stored | null>;
  /** The resource of a record that was just read. `null` if it was deleted in the meantime. */
  complete(
    kind: ResourceKind,
    head: { readonly canonical: string; readonly record: ResourceRecord },
  ): Promise<Stored | null>;
}

interface ResourceIndexesDeps {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  readonly names: NameIndexes["names"];
  /** Resolves when all indexes are loaded. */
  readonly indexes: () => Promise<Indexes>;
  readonly reader: ListedReader;
}

/** The indexes of a directory for queries. */
export function createResourceIndexes(deps: ResourceIndexesDeps): ResourceIndexes {
  const { store, keys, names, indexes, reader } = deps;
  const indexOf = async (kind: ResourceKind, { by }: Pick<Listing, "by">): Promise<IndexRanges> =>
    new IndexRanges(
      by === "name" ? names[kind] : (await indexes())[by === "word" ? "words" : "values"][kind],
    );
  /** A range of names is a range of records, so a page by name reads each record once. */
  const heads = new WeakMap<Listed, ResourceRecord>();
  return {
    count: async (kind, listing) => await (await indexOf(kind, listing)).count(placesOf(listing)),
    async list(kind, listing, options) {
      const { by } = listing;
      const entries = await (await indexOf(kind, listing)).list(placesOf(listing), options);
      const start = by === "name" || by === "word" ? 0 : INDEXED_VALUES[by].code.length + 1;
      return entries.map(({ key: place, value }) => {
        const canonical = place.slice(place.lastIndexOf("\0") + 1);
        const one: Listed = { key: place.slice(start), canonical };
        if (by === "name") heads.set(one, value as ResourceRecord);
        return one;
      });
    },
    async manyValued(kind, by) {
      const ranges = [{ from: MORE_VALUES, to: LAST_CHARACTER }];
      const listing: Listing = { by, ranges, counted: "every" };
      return await (await indexOf(kind, listing)).count(placesOf(listing)) === 0 ? null : listing;
    },
    async readMany(kind, listed) {
      const found = await Promise.all(listed.map((one) => {
        const record = heads.get(one);
        const { canonical } = one;
        return record === undefined
          ? reader.read(kind, canonical)
          : reader.complete(kind, { canonical, record });
      }));
      return found.filter((stored) => stored !== null);
    },
    async groupsOf(user) {
      const groups: string[] = [];
      for await (const { value } of store.list<string>(keys.memberships(user))) {
        if (value !== null) groups.push(value);
      }
      return groups;
    },
  };
}

/** The ranges in the index, which has the keys of all attributes. */
function placesOf({ by, ranges, counted }: Listing): CountedRanges {
  if (by === "name") return { ranges, below: ANY_DEPTH };
  if (by === "word") {
    return { ranges, below: counted === "every" || counted === "first" ? ANY_DEPTH : counted };
  }
  const { code } = INDEXED_VALUES[by];
  return {
    ranges: ranges.map(({ from, to }) => ({ from: `${code}\0${from}`, to: `${code}\0${to}` })),
    below: counted === "every" ? ANY_DEPTH : counted === "first" ? 1 : Math.min(counted + 1, ANY_DEPTH),
  };
}

// Counts and lists ranges of a counted index: whole buckets are counted in memory, so a request reads only a few buckets of the store.

/** The ranges, in order and without common keys, and which entries count: those with a depth under `below`. */
interface CountedRanges {
  readonly ranges: readonly KeyRange[];
  readonly below: number;
}

/** Every entry counts. */
const ANY_DEPTH = DEPTHS;

/** The part of one bucket that is in a range. */
interface RangePart extends KeyRange {
  /** `null`: only a part of the bucket, so that a read must count. */
  readonly count: number | null;
}

/** Neighbouring buckets share a read, at most so many. */
const MAX_BUCKETS_PER_READ = 64;

class IndexRanges {
  readonly #index: CountedIndex;

  constructor(index: CountedIndex) {
    this.#index = index;
  }

  async count({ ranges, below }: CountedRanges): Promise<number> {
    if (isEverything({ ranges, below })) return this.#index.total;
    let total = 0;
    for (const range of ranges) {
      for (const part of this.#partsOf(range, below)) {
        total += part.count ?? (await this.#read(part, below)).length;
      }
    }
    return total;
  }

  /** The entries from `offset` on, at most `limit`. */
  async list(wanted: CountedRanges, options: ListOptions): Promise<RangeEntry[]> {
    const { limit, isReverse = false } = options;
    if (isEverything(wanted) && !isReverse) {
      // A large index has thousands of buckets, and a page needs one or two.
      const near = this.#near(options);
      const found = await this.#listParts({ ...wanted, ranges: [near.range] }, { offset: near.skip, limit });
      if (found.length === limit || near.range.to === LAST_CHARACTER) return found;
    }
    return await this.#listParts(wanted, options);
  }

  /** The buckets around a page of the whole index, and the keys before the page in them. */
  #near({ offset, limit }: ListOptions): { readonly range: KeyRange; readonly skip: number } {
    const { buckets } = this.#index;
    const { bound, skip } = this.#index.seek(offset);
    let at = this.#index.locate(bound);
    for (let keys = 0; at < buckets.length && keys < skip + limit; at++) keys += buckets[at]?.count ?? 0;
    return { range: { from: bound, to: buckets[at]?.bound ?? LAST_CHARACTER }, skip };
  }

  async #listParts(
    { ranges, below }: CountedRanges,
    { offset, limit, isReverse = false }: ListOptions,
  ): Promise<RangeEntry[]> {
    const found: RangeEntry[] = [];
    let skip = offset;
    for (const range of isReverse ? ranges.toReversed() : ranges) {
      const parts = this.#partsOf(range, below);
      if (isReverse) parts.reverse();
      for (let at = 0; at < parts.length && found.length < limit;) {
        const first = parts[at];
        if (first?.count !== null && first !== undefined && skip >= first.count) {
          skip -= first.count;
          at++;
          continue;
        }
        // The part of a bucket may have fewer keys than are skipped.
        const together = first?.count === null && skip > 0
          ? [first]
          : partsToRead(parts.slice(at, at + MAX_BUCKETS_PER_READ), skip + limit - found.length);
        const wanted = skip + limit - found.length;
        const keys = await this.#read(joined(together), below, isReverse ? undefined : wanted);
        if (isReverse) keys.reverse();
        found.push(...keys.slice(skip, skip + limit - found.length));
        skip = Math.max(0, skip - keys.length);
        at += together.length;
      }
    }
    return found;
  }

  #partsOf({ from, to }: KeyRange, below: number): RangePart[] {
    if (compareText(from, to) >= 0) return [];
    const index = this.#index;
    const { buckets } = index;
    const parts: RangePart[] = [];
    for (let at = index.locate(from); at < buckets.length; at++) {
      const bucket = buckets[at];
      if (bucket === undefined || compareText(bucket.bound, to) >= 0) break;
      const end = buckets[at + 1]?.bound ?? LAST_CHARACTER;
      const isWhole = compareText(from, bucket.bound) <= 0 && compareText(end, to) <= 0;
      parts.push({
        from: compareText(from, bucket.bound) <= 0 ? bucket.bound : from,
        to: compareText(end, to) <= 0 ? end : to,
        count: isWhole ? countOf(bucket, below, index.options.stores) : null,
      });
    }
    return parts;
  }

  /** The entries of the store, with the changes of the log. */
  async #read({ from, to }: KeyRange, below: number, limit?: number): Promise<RangeEntry[]> {
    // Taken first, because a merge moves changes to the store.
    const pending = this.#index.pendingIn(from, to);
    const isLess = below < ANY_DEPTH;
    // An entry may have another depth in the log, or none.
    const spare = isLess ? pending.length : pending.filter(({ depth }) => depth === null).length;
    const most = limit === undefined ? undefined : limit + spare;
    const stored: RangeEntry[] = [];
    let counted = 0;
    for await (const entry of this.#index.stored(from, to, isLess ? undefined : most)) {
      stored.push(entry);
      if (entry.depth < below && ++counted === most) break;
    }
    return mergeEntries(stored, pending).filter(({ depth }) => depth !== null && depth < below);
  }
}

/** Every key of the index. */
function isEverything({ ranges, below }: CountedRanges): boolean {
  const [range, ...others] = ranges;
  return range?.from === "" && range.to === LAST_CHARACTER && others.length === 0 && below >= DEPTHS;
}

function countOf(bucket: IndexBucket, below: number, stores: "hashes" | "depths"): number {
  return stores === "hashes" || below >= DEPTHS ? bucket.count : bucket.countBelow(below);
}

/** The first parts, until they have `wanted` keys, or up to one without keys. */
function partsToRead(parts: readonly RangePart[], wanted: number): RangePart[] {
  let keys = 0;
  const end = parts.findIndex(({ count }, at) => {
    const isEnough = keys >= wanted || (count === 0 && at > 0);
    keys += count ?? 0;
    return isEnough;
  });
  return parts.slice(0, end < 0 ? parts.length : Math.max(1, end));
}

/** The range of neighbouring parts, in either order. */
function joined(parts: readonly RangePart[]): KeyRange {
  const [first, last] = [parts[0], parts.at(-1)];
  if (first === undefined || last === undefined) return { from: "", to: "" };
  return compareText(first.from, last.from) <= 0
    ? { from: first.from, to: last.to }
    : { from: last.from, to: first.to };
}

interface ChangedBucket {
  readonly value: StoredBucket | null;
  readonly versionstamp: string | null;
  /** The run after which it was read. */
  readonly run: number;
}

/** Loads the buckets and the log, and follows the other nodes from then on. @throws Error if a newer version wrote the index. */
export async function openCountedIndex(options: CountedIndexOptions): Promise<CountedIndex> {
  const index = new CountedIndex(options);
  if (options.nowMs === undefined) {
    await index.load();
    return index;
  }
  const follower = new IndexFollower(index, options.store);
  await index.load();
  follower.start();
  // What was read was not of one commit. What changed in the meantime is read again.
  await options.store.catchUp();
  return index;
}

/**
 * The log alone contains every change of the index. The buckets are replaced only as a whole: a split moves entries from one bucket to others, so
 * a part of it would hide entries.
 */
class IndexFollower {
  readonly #index: CountedIndex;
  readonly #buckets = new Map<string, ChangedBucket>();
  readonly #entries = new Map<number, StoredLogEntry | null>();
  #run = 0;
  #isLoaded = false;

  constructor(index: CountedIndex, store: Pick<Store, "follow" | "onRunEnd">) {
    const { prefix, log } = index.options;
    this.#index = index;
    store.follow(prefix, ({ key, value, versionstamp }) => {
      const [first, ...rest] = key.slice(prefix.length);
      // A number is the form of the index.
      if (typeof first === "number") return;
      const bound = [first, ...rest].join("\0");
      this.#buckets.set(bound, { value: value as StoredBucket | null, versionstamp, run: this.#run });
    });
    store.follow(
      log,
      ({ key, value }) => this.#entries.set(Number(key.at(-1)), value as StoredLogEntry | null),
    );
    store.onRunEnd((horizon) => this.#finishRun(horizon));
  }

  /** The index is loaded. */
  start(): void {
    this.#isLoaded = true;
  }

  /** Returns whether it needs another run. */
  #finishRun(horizon: string): boolean {
    this.#run++;
    if (!this.#isLoaded) return false;
    this.#applyEntries();
    if (this.#buckets.size === 0) return false;
    if (this.#hasLater(horizon)) return true;
    this.#index.applyBuckets(new Map([...this.#buckets].map(([bound, { value }]) => [bound, value])));
    this.#buckets.clear();
    return false;
  }

  #applyEntries(): void {
    if (this.#entries.size === 0) return;
    const removed: number[] = [];
    for (const [sequence, entry] of [...this.#entries].sort(([a], [b]) => a - b)) {
      if (entry === null) removed.push(sequence);
      else this.#index.applyEntry(sequence, entry);
    }
    this.#index.forgetEntries(removed);
    this.#entries.clear();
  }

  /** Whether a bucket may be of a commit whose other buckets the next run reads. A deleted bucket has no version, so it waits for a run. */
  #hasLater(horizon: string): boolean {
    for (const { versionstamp, run } of this.#buckets.values()) {
      if (versionstamp === null ? run === this.#run - 1 : versionstamp > horizon) return true;
    }
    return false;
  }
}
