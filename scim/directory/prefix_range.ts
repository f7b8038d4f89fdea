// Who has a word that begins so: how many, exactly, and who comes where, read from the index of words and its counts.

import type { Store } from "../../platform/store.ts";
import type { ResourceKind } from "../schema/resource.ts";
import type { Fence } from "./counted_index.ts";
import { type Indexes, wordEntries } from "./indexes.ts";
import type { Keys } from "./keys.ts";
import { LAST_CHARACTER } from "./order.ts";

export interface WordRangeDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly indexes: Indexes;
}

/** A beginning of at most 24 characters (`cutWord`). */
export interface Beginning {
  readonly kind: ResourceKind;
  readonly start: string;
}

export interface WordRange {
  /** How many resources have such a word; reads a part of at most two fences. */
  count(beginning: Beginning): Promise<number>;
  /** Whether fewer than `most` entries begin so, and so at most as many resources; reads at most that many. */
  isRare(beginning: Beginning, most: number): Promise<boolean>;
  /** Their canonical names in order of word, then name; each once. */
  names(beginning: Beginning, options: { offset: number; limit: number }): Promise<string[]>;
}

/** What of one fence belongs to a beginning. */
interface Stretch {
  readonly from: string;
  readonly to: string;
  /** How many resources it stands for; `null` when only reading tells, because the fence holds other words too. */
  readonly count: number | null;
}

export function createWordRange({ store, keys, indexes }: WordRangeDeps): WordRange {
  const stretches = ({ kind, start }: Beginning): Stretch[] => {
    const index = indexes.words[kind];
    const end = start + LAST_CHARACTER;
    const first = index.locate(start);
    const last = index.locate(end);
    const fences = index.fences.slice(first, last + 1);
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

function countBelow({ below }: Fence, depth: number): number {
  return below?.[depth] ?? 0;
}
