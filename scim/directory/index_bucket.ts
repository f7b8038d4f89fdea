// One bucket of a counted index: the entries of one range of keys, counted, and the changes that are only in the index log.

import { compareText } from "./keys.ts";

/** Entries have a depth from 0 to this minus one. */
export const DEPTHS = 24;

/** One entry: its key (parts joined by U+0000) and, in an index of words, its depth. */
export interface IndexEntry {
  readonly key: string;
  readonly depth: number;
}

/** An entry that was added to an index or removed from it. */
export interface IndexChange extends IndexEntry {
  readonly isRemoval: boolean;
}

/** An entry that the store has in another way than memory. `null`: it is removed. */
export interface PendingEntry {
  readonly key: string;
  readonly depth: number | null;
}

/** An entry of a range. `value` is that of the store: the record in an index of names. */
export interface RangeEntry extends PendingEntry {
  readonly value?: unknown;
}

/** `hashes`: an index of names. `depths`: an index of words, whose entries have keys of their own in the store. */
export type IndexContent = "hashes" | "depths";

/** The value of a bucket in the store. It contains the changes of the index log up to `mergedTo`; absent: none. */
export interface StoredBucket {
  readonly hashes?: Uint32Array;
  readonly below?: Uint16Array;
  readonly mergedTo?: number;
}

/** A change with the number of its entry in the index log. */
interface LoggedChange extends IndexChange {
  readonly sequence: number;
}

/** The entries from `bound` up to the bound of the next bucket. The counts include the changes of the index log. */
export class IndexBucket {
  readonly bound: string;
  readonly #below: Uint16Array | null;
  #hashes: Uint32Array | null;
  #count: number;
  #mergedTo: number;
  #unmerged = 0;
  /** Entries that the store has in another way: their depth, or `null` for a removed one. Only in an index of words. */
  #pending: Map<string, number | null> | null = null;
  /** The changes after `mergedTo`. Only if other nodes use the store. */
  #tail: LoggedChange[] | null = null;

  constructor(bound: string, content: IndexContent, { hashes, below, mergedTo = 0 }: StoredBucket = {}) {
    this.bound = bound;
    this.#below = content === "depths" ? below ?? new Uint16Array(DEPTHS + 1) : null;
    this.#hashes = content === "hashes" ? hashes ?? new Uint32Array() : null;
    this.#count = this.#below?.[DEPTHS] ?? this.#hashes?.length ?? 0;
    this.#mergedTo = mergedTo;
  }

  get count(): number {
    return this.#count;
  }

  /** Hashes of the keys, unordered. Only in an index of names. */
  get hashes(): Uint32Array | null {
    return this.#hashes;
  }

  /** The number of the last entry of the index log that the stored bucket contains. */
  get mergedTo(): number {
    return this.#mergedTo;
  }

  /** The number of changes that the stored bucket does not contain. */
  get unmerged(): number {
    return this.#unmerged;
  }

  get pending(): ReadonlyMap<string, number | null> {
    return this.#pending ?? NO_PENDING;
  }

  /** The changes that the stored bucket does not contain, if {@link addToTail} was called for them. */
  get tail(): readonly LoggedChange[] {
    return this.#tail ?? [];
  }

  addToTail({ key, depth, isRemoval }: IndexChange, sequence: number): void {
    this.#tail ??= [];
    this.#tail.push({ key, depth, isRemoval, sequence });
  }

  /** How many entries have a depth under `depth`. Only in an index of words. */
  countBelow(depth: number): number {
    return this.#below?.[depth] ?? 0;
  }

  /** @param hash the hash of the key, for an index of names. */
  apply({ key, depth, isRemoval }: IndexChange, hash: number): void {
    this.#unmerged += 1;
    this.#count += isRemoval ? -1 : 1;
    if (this.#hashes !== null) {
      this.#hashes = isRemoval ? without(this.#hashes, hash) : withOne(this.#hashes, hash);
    }
    if (this.#below === null) return;
    shift(this.#below, depth, isRemoval ? -1 : 1);
    this.#pending ??= new Map();
    this.#pending.set(key, isRemoval ? null : depth);
  }

  /** Adds entries that the store has. */
  fill(entries: Iterable<IndexEntry>, hashOf: (key: string) => number): void {
    const hashes: number[] = [...this.#hashes ?? []];
    for (const { key, depth } of entries) {
      this.#count += 1;
      if (this.#below === null) hashes.push(hashOf(key));
      else shift(this.#below, depth, 1);
    }
    if (this.#hashes !== null) this.#hashes = Uint32Array.from(hashes);
  }

  /**
   * Applies the entries of the log to a bucket that has only what the store has.
   * @param entries both without entries of other buckets.
   */
  replay({ stored, pending }: {
    stored: readonly IndexEntry[];
    pending: readonly PendingEntry[];
  }): void {
    const depths = new Map(stored.map(({ key, depth }) => [key, depth]));
    for (const { key, depth } of pending) {
      const before = depths.get(key);
      if (before !== undefined) this.apply({ key, depth: before, isRemoval: true }, 0);
      if (depth !== null) this.apply({ key, depth, isRemoval: false }, 0);
      // Added and removed in the log: it still counts as a change, because a part of the log may be deleted.
      if (before === undefined && depth === null) this.#unmerged += 1;
    }
  }

  /** The value for the store, if it contains everything up to `mergedTo`. */
  toStored(mergedTo: number): StoredBucket {
    return this.#hashes === null
      ? { below: this.#below?.slice() ?? new Uint16Array(DEPTHS + 1), mergedTo }
      : { hashes: this.#hashes, mergedTo };
  }

  /** Call it when the stored bucket contains everything up to `mergedTo`. */
  markMerged(mergedTo: number): void {
    this.#mergedTo = mergedTo;
    this.#unmerged = 0;
    this.#pending = null;
    this.#tail = this.#tail?.filter(({ sequence }) => sequence > mergedTo) ?? null;
  }
}

const NO_PENDING: ReadonlyMap<string, number | null> = new Map();

function withOne(hashes: Uint32Array, hash: number): Uint32Array {
  const longer = new Uint32Array(hashes.length + 1);
  longer.set(hashes);
  longer[hashes.length] = hash;
  return longer;
}

function without(hashes: Uint32Array, hash: number): Uint32Array {
  const at = hashes.indexOf(hash);
  return at < 0 ? hashes : hashes.filter((_, place) => place !== at);
}

/** Adds an entry of `depth` to the cumulative counts, or removes it. */
function shift(below: Uint16Array, depth: number, by: 1 | -1): void {
  for (let n = depth + 1; n <= DEPTHS; n++) below[n] = (below[n] ?? 0) + by;
}

/** Entries of the store with the changes of the log. Both are in order, and so is the result. A change replaces the entry with the same key. */
export function mergeEntries(
  stored: readonly RangeEntry[],
  pending: readonly PendingEntry[],
): readonly RangeEntry[] {
  if (pending.length === 0) return stored;
  const merged: RangeEntry[] = [];
  let at = 0;
  for (const change of pending) {
    for (let entry = stored[at]; entry !== undefined; entry = stored[++at]) {
      if (compareText(entry.key, change.key) >= 0) break;
      merged.push(entry);
    }
    if (stored[at]?.key === change.key) at++;
    merged.push(change);
  }
  return [...merged, ...stored.slice(at)];
}
