// Merges the index log into the stored buckets and entries, in bounded steps and in order of key, so that changes of the same page of the
// store's tree share a write. A crash between two commits loses nothing: each bucket states up to where it contains the log.

import type { Mutation } from "../../platform/store.ts";
import type { CountedIndex } from "./counted_index.ts";
import { IndexBucket, mergeEntries, type PendingEntry } from "./index_bucket.ts";
import { compareText, LAST_CHARACTER } from "./keys.ts";
import { nameHash } from "./name_hashes.ts";

export interface IndexMergeOptions {
  /** With more unmerged changes, a sweep over all buckets starts. */
  readonly minUnmerged?: number;
  /** Memory and the time of a start grow with this number. */
  readonly maxUnmerged: number;
  /** The mutations of one commit. The last bucket may exceed it. */
  readonly stepMutations?: number;
}

const MIN_UNMERGED = 4096;
/** A sweep starts when this part of the entries is unmerged. */
const UNMERGED_SHARE = 16;
const STEP_MUTATIONS = 500;
/** A sweep writes two mutations for each change that arrives, because it also writes the buckets. */
const CHANGES_PER_MUTATION = 1 / 2;

/** Merges one index. Call {@link IndexMerge.run} when no write is in progress. */
export class IndexMerge {
  readonly #index: CountedIndex;
  readonly #minUnmerged: number;
  readonly #maxUnmerged: number;
  readonly #stepMutations: number;
  /** The bound where a sweep continues; `null`: no sweep. */
  #cursor: string | null = null;
  /** When the sweep ends, the log up to here is merged. */
  #sweepTo = 0;
  #mergedTo = 0;
  #steppedAt = 0;

  constructor(
    index: CountedIndex,
    { minUnmerged = MIN_UNMERGED, maxUnmerged, stepMutations = STEP_MUTATIONS }: IndexMergeOptions,
  ) {
    this.#index = index;
    this.#minUnmerged = minUnmerged;
    this.#maxUnmerged = maxUnmerged;
    this.#stepMutations = stepMutations;
  }

  /** Splits large buckets. Does the steps of a sweep that are due: they merge more than was written, so that the log stays small. */
  async run(): Promise<void> {
    for (let large = this.#index.findLarge(); large !== null; large = this.#index.findLarge()) {
      await this.#split(large);
    }
    const { unmerged, applied, sequence } = this.#index;
    const changesPerStep = this.#stepMutations * CHANGES_PER_MUTATION;
    if (this.#cursor === null) {
      if (await this.#truncateLog() || unmerged <= this.#unmergedLimit()) return;
      this.#cursor = "";
      this.#sweepTo = sequence;
      this.#steppedAt = applied - changesPerStep;
    }
    while (this.#cursor !== null && applied - this.#steppedAt >= changesPerStep) {
      await this.#step(this.#cursor);
      this.#steppedAt += changesPerStep;
    }
  }

  #unmergedLimit(): number {
    const share = Math.floor(this.#index.total / UNMERGED_SHARE);
    return Math.min(Math.max(share, this.#minUnmerged), this.#maxUnmerged);
  }

  /** Deletes a part of the log that is merged. @returns whether there was one. */
  async #truncateLog(): Promise<boolean> {
    const entries = this.#index.removableEntries(this.#mergedTo, this.#stepMutations);
    if (entries.length === 0) return false;
    const { store, log } = this.#index.options;
    await store.commit({ mutations: entries.map((entry) => ({ type: "delete", key: [...log, entry] })) });
    this.#index.forgetEntries(entries);
    return true;
  }

  /** Merges buckets from `cursor` on, in one commit. */
  async #step(cursor: string): Promise<void> {
    const { buckets, sequence } = this.#index;
    const commit = new MergeCommit(this.#index);
    const removed = new Set<IndexBucket>();
    let at = this.#index.locate(cursor);
    let left = buckets[at - 1];
    for (; at < buckets.length && this.#hasRoom(commit); at++) {
      const bucket = buckets[at];
      if (bucket === undefined) break;
      if (bucket.unmerged > 0) commit.merge(bucket, sequence);
      // The left neighbour gets the range of an empty bucket, so it must contain the log up to the same place.
      if (bucket.count > 0 || bucket.unmerged === 0 || left === undefined || !this.#hasRoom(commit)) {
        left = bucket;
      } else {
        commit.merge(left, sequence);
        commit.add({ type: "delete", key: this.#index.bucketKey(bucket) });
        removed.add(bucket);
      }
    }
    await this.#commit(commit);
    this.#index.markMerged([...commit.merged], sequence);
    this.#index.remove(removed);
    this.#cursor = buckets[at]?.bound ?? null;
    if (this.#cursor === null) this.#mergedTo = this.#sweepTo;
  }

  /** Splits a bucket and merges it. The commit contains as many pieces as fit; the rest stays as it is in the store and in the log. */
  async #split(bucket: IndexBucket): Promise<void> {
    const { sequence, buckets, options } = this.#index;
    const to = buckets[this.#index.locate(bucket.bound) + 1]?.bound ?? LAST_CHARACTER;
    const stored = await Array.fromAsync(this.#index.stored(bucket.bound, to));
    const pending = toSortedEntries(bucket.pending);
    const entries = mergeEntries(stored, pending);
    const isPending = ({ key }: PendingEntry) => bucket.pending.has(key);
    const commit = new MergeCommit(this.#index);
    const pieces: IndexBucket[] = [];
    let at = 0;
    do {
      const end = pieceEnd(entries, at, {
        maxEntries: options.maxEntries >> 1,
        maxPending: this.#index.maxPending,
        isPending,
      });
      const own = entries.slice(at, end);
      const piece = new IndexBucket(pieces.length === 0 ? bucket.bound : own[0]?.key ?? "", options.stores);
      piece.fill(own.flatMap(({ key, depth }) => depth === null ? [] : [{ key, depth }]), nameHash);
      commit.addEntries(own.filter(isPending));
      commit.merge(piece, sequence);
      piece.markMerged(sequence);
      pieces.push(piece);
      at = end;
    } while (at < entries.length && this.#hasRoom(commit));
    const next = entries[at]?.key;
    if (next !== undefined) {
      const isRest = ({ key }: { key: string }) => compareText(key, next) >= 0;
      // Other code writes the entries of an index of names, so the store has all of them.
      const mergedTo = options.stores === "hashes" ? sequence : bucket.mergedTo;
      const rest = new IndexBucket(next, options.stores, { mergedTo });
      rest.fill(stored.filter(isRest), nameHash);
      commit.add({ type: "set", key: this.#index.bucketKey(rest), value: rest.toStored(mergedTo) });
      rest.replay({ stored: stored.filter(isRest), pending: pending.filter(isRest) });
      for (const change of bucket.tail) {
        if (isRest(change) && change.sequence > mergedTo) rest.addToTail(change, change.sequence);
      }
      pieces.push(rest);
    }
    await this.#commit(commit);
    this.#index.replace(bucket, pieces);
  }

  #hasRoom({ mutations, sizeOctets }: MergeCommit): boolean {
    return mutations.length < this.#stepMutations && sizeOctets < MAX_STEP_OCTETS;
  }

  async #commit({ mutations, sizeOctets }: MergeCommit): Promise<void> {
    if (mutations.length > 0) await this.#index.options.store.commit({ mutations, sizeOctets });
  }
}

/** A step may exceed it by one bucket. Deno KV accepts 800 KiB. */
const MAX_STEP_OCTETS = 200_000;
const BUCKET_OCTETS = 700;
const ENTRY_OCTETS = 50;

/** The mutations of one commit, and the buckets that it merges. */
class MergeCommit {
  readonly mutations: Mutation[] = [];
  readonly merged = new Set<IndexBucket>();
  readonly #index: CountedIndex;
  #octets = 0;

  constructor(index: CountedIndex) {
    this.#index = index;
  }

  get sizeOctets(): number {
    return this.#octets;
  }

  add(mutation: Mutation): void {
    this.mutations.push(mutation);
    this.#octets += BUCKET_OCTETS;
  }

  addEntries(entries: Iterable<PendingEntry>): void {
    for (const { key: entry, depth } of entries) {
      const key = this.#index.entryKey(entry);
      this.mutations.push(depth === null ? { type: "delete", key } : { type: "set", key, value: depth });
      this.#octets += entry.length * 2 + ENTRY_OCTETS;
    }
  }

  /** Stores a bucket and its pending entries. */
  merge(bucket: IndexBucket, mergedTo: number): void {
    if (this.merged.has(bucket)) return;
    this.merged.add(bucket);
    this.addEntries(toSortedEntries(bucket.pending));
    this.add({ type: "set", key: this.#index.bucketKey(bucket), value: bucket.toStored(mergedTo) });
  }
}

function toSortedEntries(pending: ReadonlyMap<string, number | null>): PendingEntry[] {
  return Array.from(pending, ([key, depth]) => ({ key, depth })).sort((a, b) => compareText(a.key, b.key));
}

/** The end of a piece with at most this many entries and changes. */
function pieceEnd(
  merged: readonly PendingEntry[],
  from: number,
  { maxEntries, maxPending, isPending }: {
    maxEntries: number;
    maxPending: number;
    isPending: (entry: PendingEntry) => boolean;
  },
): number {
  let entries = 0;
  let changes = 0;
  for (let at = from; at < merged.length; at++) {
    const entry = merged[at];
    if (entry === undefined) break;
    if (entry.depth !== null) entries++;
    if (isPending(entry)) changes++;
    if (entries > maxEntries || changes > maxPending) return at;
  }
  return merged.length;
}
