// Counts over sorted keys: which key is the ten-thousandth, and how many lie between two, without walking them. Keys are kept elsewhere in the
// store; here they are counted in stretches ("fences") of about a hundred, which are small enough to be held in memory whole.

import type { Mutation, Store } from "../../platform/store.ts";
import { createHashBag, nameHash } from "./name_hashes.ts";
import { compareText } from "./order.ts";

/** Entries have a depth from 0 to this less one. */
export const DEPTHS = 24;

/** One entry: its key (parts joined by U+0000) and, in an index of words, its depth. */
export interface IndexEntry {
  readonly key: string;
  readonly depth: number;
}

/** What lies from `bound` up to the next fence's bound. */
export interface Fence {
  readonly bound: string;
  readonly count: number;
  /** `below[n]`: how many entries have a depth under `n`. Only in an index of words. */
  readonly below: Uint16Array | null;
  /** Hashes of the keys, in no order. Only in an index of names. */
  readonly hashes: Uint32Array | null;
}

/** Changes for one commit. `mutations` go into it; `apply` is called when it is durable. */
export interface IndexDraft {
  add(key: string, depth?: number): void;
  remove(key: string, depth?: number): void;
  mutations(): Mutation[];
  readonly touched: number;
  apply(): void;
}

export interface CountedIndex {
  readonly total: number;
  readonly fences: readonly Fence[];
  /** Where in {@link fences} the key belongs. */
  locate(key: string): number;
  /** The entry of that rank (from 0) is the `skip`-th from `bound` on. */
  seek(rank: number): { bound: string; skip: number };
  /** `false`: no such key. Only for an index of names. */
  mayHave(key: string): boolean;
  draft(): IndexDraft;
  /** Divides fences that have grown too long; one commit each. Called by the one writer, when nothing else is under way. */
  divide(): Promise<void>;
}

export interface CountedIndexOptions {
  readonly store: Store;
  /** Where fences are kept. */
  readonly prefix: Deno.KvKey;
  readonly keeps: "hashes" | "depths";
  readonly maxEntries: number;
  /** The entries of a stretch, in order; `to` is `null` for the end. */
  readonly entries: (from: string, to: string | null) => AsyncIterable<IndexEntry>;
}

interface KeptFence {
  readonly hashes?: Uint32Array;
  readonly below?: Uint16Array;
}

type Tally = { count: number; below: Uint16Array | null; hashes: number[] | null };

/** Loads the fences: one small value for about a hundred keys. */
export async function openCountedIndex(options: CountedIndexOptions): Promise<CountedIndex> {
  const { store, prefix, keeps, maxEntries } = options;
  const bag = createHashBag();
  let fences: Fence[] = [];
  let total = 0;
  const tooLong = new Set<string>();

  const emptyTally = (): Tally => ({
    count: 0,
    below: keeps === "depths" ? new Uint16Array(DEPTHS + 1) : null,
    hashes: keeps === "hashes" ? [] : null,
  });
  const keyOf = (bound: string): Deno.KvKey => [...prefix, ...bound.split("\0")];
  const fenceOf = (bound: string, { count, below, hashes }: Tally): Fence => ({
    bound,
    count,
    below,
    hashes: hashes === null ? null : Uint32Array.from(hashes),
  });
  const mutationOf = ({ bound, count, below, hashes }: Fence): Mutation => {
    if (count === 0 && bound !== "") return { type: "delete", key: keyOf(bound) };
    const value: KeptFence = hashes === null ? { below: below ?? undefined } : { hashes };
    return { type: "set", key: keyOf(bound), value };
  };

  const locate = (key: string): number => {
    let low = 0;
    let high = fences.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (compareText(fences[middle]?.bound ?? "", key) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  };

  for await (const { key, value } of store.list<KeptFence>(prefix)) {
    const bound = key.slice(prefix.length).join("\0");
    const below = value?.below ?? null;
    const hashes = value?.hashes ?? null;
    const count = below?.[DEPTHS] ?? hashes?.length ?? 0;
    fences.push({ bound, count, below, hashes });
    total += count;
    if (hashes !== null) { for (const hash of hashes) bag.add(hash); }
    if (count > maxEntries) tooLong.add(bound);
  }
  if (fences[0]?.bound !== "") fences.unshift(fenceOf("", emptyTally()));

  const draft = (): IndexDraft => {
    const tallies = new Map<Fence, Tally>();
    const added: number[] = [];
    const removed: number[] = [];
    const tallyFor = (key: string): Tally => {
      const fence = fences[locate(key)];
      if (fence === undefined) throw new Error("Cannot count a key: there is no fence");
      const known = tallies.get(fence);
      if (known !== undefined) return known;
      const tally: Tally = {
        count: fence.count,
        below: fence.below?.slice() ?? null,
        hashes: fence.hashes === null ? null : [...fence.hashes],
      };
      tallies.set(fence, tally);
      return tally;
    };
    const changed = (): [Fence, Fence][] =>
      [...tallies].map(([fence, tally]) => [fence, fenceOf(fence.bound, tally)]);
    return {
      add(key, depth = 0) {
        const tally = tallyFor(key);
        tally.count += 1;
        shift(tally.below, depth, 1);
        if (tally.hashes === null) return;
        const hash = nameHash(key);
        tally.hashes.push(hash);
        added.push(hash);
      },
      remove(key, depth = 0) {
        const tally = tallyFor(key);
        tally.count -= 1;
        shift(tally.below, depth, -1);
        if (tally.hashes === null) return;
        const hash = nameHash(key);
        const at = tally.hashes.indexOf(hash);
        if (at >= 0) tally.hashes.splice(at, 1);
        removed.push(hash);
      },
      mutations: () => changed().map(([, next]) => mutationOf(next)),
      get touched() {
        return tallies.size;
      },
      apply() {
        let emptied = false;
        for (const [fence, next] of changed()) {
          total += next.count - fence.count;
          fences[locate(fence.bound)] = next;
          if (next.count > maxEntries) tooLong.add(next.bound);
          emptied ||= next.count === 0 && next.bound !== "";
        }
        if (emptied) fences = fences.filter(({ bound, count }) => count > 0 || bound === "");
        for (const hash of added) bag.add(hash);
        for (const hash of removed) bag.remove(hash);
      },
    };
  };

  const divideOne = async (at: number): Promise<void> => {
    const fence = fences[at];
    if (fence === undefined || fence.count <= maxEntries) return;
    const pieces: Fence[] = [];
    let bound = fence.bound;
    let tally = emptyTally();
    for await (const { key, depth } of options.entries(fence.bound, fences[at + 1]?.bound ?? null)) {
      if (tally.count >= maxEntries >> 1) {
        pieces.push(fenceOf(bound, tally));
        bound = key;
        tally = emptyTally();
      }
      tally.count += 1;
      shift(tally.below, depth, 1);
      tally.hashes?.push(nameHash(key));
    }
    pieces.push(fenceOf(bound, tally));
    await store.commit({ mutations: pieces.map(mutationOf) });
    for (const { count } of pieces) total += count;
    total -= fence.count;
    // A new list: a reader of the old one goes on with it.
    fences = fences.toSpliced(at, 1, ...pieces);
  };

  return {
    get total() {
      return total;
    },
    get fences() {
      return fences;
    },
    locate,
    seek(rank) {
      let skip = rank;
      for (const { bound, count } of fences) {
        if (skip < count) return { bound, skip };
        skip -= count;
      }
      return { bound: fences.at(-1)?.bound ?? "", skip: skip + (fences.at(-1)?.count ?? 0) };
    },
    mayHave: (key) => bag.has(nameHash(key)),
    draft,
    async divide() {
      for (const bound of tooLong) {
        const at = locate(bound);
        // A fence that was emptied in between is gone, and its neighbour stands there.
        if (fences[at]?.bound === bound) await divideOne(at);
        tooLong.delete(bound);
      }
    },
  };
}

/** Counts an entry of `depth` in or out of the cumulative counts. */
function shift(below: Uint16Array | null, depth: number, by: 1 | -1): void {
  if (below === null) return;
  for (let n = depth + 1; n <= DEPTHS; n++) below[n] = (below[n] ?? 0) + by;
}
