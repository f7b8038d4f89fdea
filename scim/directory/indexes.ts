// The counted indexes of one target: names, tombstones and search words.

import type { Store } from "../../platform/store.ts";
import type { ResourceKind } from "../schema/resource.ts";
import { type CountedIndex, DEPTHS, type IndexEntry, openCountedIndex } from "./counted_index.ts";
import type { Keys } from "./keys.ts";
import { LAST_CHARACTER } from "./order.ts";

/** A page starts at most this many keys before its first one. */
const MAX_NAMES_A_FENCE = 128;
/** The ends of a beginning's stretch are counted by reading this many keys at most. */
const MAX_WORDS_A_FENCE = 256;

/** What a login and a page need. */
export interface NameIndexes {
  readonly names: Readonly<Record<ResourceKind, CountedIndex>>;
  readonly gone: CountedIndex;
}

/** What a write and a search need besides. */
export interface Indexes extends NameIndexes {
  readonly words: Readonly<Record<ResourceKind, CountedIndex>>;
  readonly all: readonly CountedIndex[];
}

interface Place {
  readonly store: Store;
  readonly keys: Keys;
}

/** Loads the counts of names: some ten thousand small values for a million users. */
export async function openNameIndexes(place: Place): Promise<NameIndexes> {
  const [user, group, gone] = await Promise.all([
    openNames(place, "user"),
    openNames(place, "group"),
    openNames(place, "gone"),
  ]);
  return { names: { user, group }, gone };
}

/** Loads the counts of words, of which there are several times as many. */
export async function withWordIndexes(names: NameIndexes, place: Place): Promise<Indexes> {
  const [user, group] = await Promise.all([openWords(place, "user"), openWords(place, "group")]);
  return {
    ...names,
    words: { user, group },
    all: [names.names.user, names.names.group, user, group, names.gone],
  };
}

function openNames({ store, keys }: Place, kind: ResourceKind | "gone"): Promise<CountedIndex> {
  const placeOf = (name: string): Deno.KvKey => kind === "gone" ? keys.gone(name) : keys.record(kind, name);
  return openCountedIndex({
    store,
    prefix: keys.fences(kind),
    keeps: "hashes",
    maxEntries: MAX_NAMES_A_FENCE,
    async *entries(from, to) {
      const selector = { start: placeOf(from), end: placeOf(to ?? LAST_CHARACTER) };
      for await (const { key } of store.range(selector)) yield { key: String(key[2]), depth: 0 };
    },
  });
}

function openWords({ store, keys }: Place, kind: ResourceKind): Promise<CountedIndex> {
  return openCountedIndex({
    store,
    prefix: keys.fences(`${kind} words`),
    keeps: "depths",
    maxEntries: MAX_WORDS_A_FENCE,
    entries: (from, to) => wordEntries({ store, keys }, { kind, from, to: to ?? LAST_CHARACTER }),
  });
}

/** Entries of the index of words from one place up to another, in order. */
export async function* wordEntries(
  { store, keys }: Place,
  { kind, from, to }: { kind: ResourceKind; from: string; to: string },
): AsyncGenerator<IndexEntry> {
  const selector = { start: keys.wordPlace(kind, from), end: keys.wordPlace(kind, to) };
  for await (const { key, value } of store.range<number>(selector)) {
    yield { key: `${String(key[3])}\0${String(key[4])}`, depth: Math.min(value ?? 0, DEPTHS - 1) };
  }
}
