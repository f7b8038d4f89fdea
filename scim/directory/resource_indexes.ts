// The ordered indexes of a directory for queries: names, and values of attributes.

import type { Store } from "../../platform/store.ts";
import type { Listed, Listing, ListOptions, ResourceIndexes } from "../index_port.ts";
import type { ResourceKind } from "../schema/resource.ts";
import { ANY_DEPTH, type CountedRanges, IndexRanges } from "./index_ranges.ts";
import type { IndexEntry } from "./index_bucket.ts";
import { createWordRange, type Indexes, type NameIndexes, type PrefixRange } from "./indexes.ts";
import { type DirectoryKeys, LAST_CHARACTER } from "./keys.ts";
import type { ResourceReader } from "./reader.ts";
import type { ResourceRecord } from "./records.ts";
import { INDEXED_VALUES, MORE_VALUES } from "./value_keys.ts";

interface ResourceIndexesDeps {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  readonly names: NameIndexes["names"];
  /** Resolves when all indexes are loaded. */
  readonly indexes: () => Promise<Indexes>;
  readonly reader: Pick<ResourceReader, "read" | "complete">;
}

export function createResourceIndexes(deps: ResourceIndexesDeps): ResourceIndexes {
  const { store, keys, names, indexes, reader } = deps;
  const indexOf = async (kind: ResourceKind, { by }: Pick<Listing, "by">): Promise<IndexRanges> =>
    new IndexRanges(by === "name" ? names[kind] : (await indexes()).values[kind]);
  const wordRange = async (): Promise<PrefixRange> =>
    createWordRange({ store, keys, indexes: await indexes() });
  /** A range of names is a range of records, so a page by name reads each record once. */
  const heads = new WeakMap<Listed, ResourceRecord>();
  const listNames = async (kind: ResourceKind, listing: Listing, options: ListOptions): Promise<Listed[]> => {
    const found = new Map<string, ResourceRecord>();
    const ranges = new IndexRanges(
      names[kind],
      (from, to, limit) => recordsIn({ store, keys }, { kind, from, to, limit, found }),
    );
    return (await ranges.list(placesOf(listing), options)).map((canonical) => {
      const one: Listed = { key: canonical, canonical };
      const head = found.get(canonical);
      if (head !== undefined) heads.set(one, head);
      return one;
    });
  };
  return {
    count: async (kind, listing) => await (await indexOf(kind, listing)).count(placesOf(listing)),
    async list(kind, listing, options) {
      if (listing.by === "name") return await listNames(kind, listing, options);
      const places = await (await indexOf(kind, listing)).list(placesOf(listing), options);
      const start = INDEXED_VALUES[listing.by].code.length + 1;
      return places.map((place) => ({
        key: place.slice(start),
        canonical: place.slice(place.lastIndexOf("\0") + 1),
      }));
    },
    async manyValued(kind, by) {
      const ranges = [{ from: MORE_VALUES, to: LAST_CHARACTER }];
      const listing: Listing = { by, ranges, counted: "every" };
      return await (await indexOf(kind, listing)).count(placesOf(listing)) === 0 ? null : listing;
    },
    countWord: async (kind, start) => await (await wordRange()).count({ kind, start }),
    async namesWithWord(kind, start, limit) {
      return await (await wordRange()).names({ kind, start }, { offset: 0, limit });
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

/** The names of the records in a range. `found` gets the records. */
async function* recordsIn(
  { store, keys }: Pick<ResourceIndexesDeps, "store" | "keys">,
  { kind, from, to, limit, found }: {
    kind: ResourceKind;
    from: string;
    to: string;
    limit: number | undefined;
    found: Map<string, ResourceRecord>;
  },
): AsyncGenerator<IndexEntry> {
  const selector = { start: keys.record(kind, from), end: keys.record(kind, to) };
  const options = limit === undefined ? {} : { limit };
  for await (const { key, value } of store.range<ResourceRecord>(selector, options)) {
    const canonical = String(key[2]);
    if (value !== null) found.set(canonical, value);
    yield { key: canonical, depth: 0 };
  }
}

/** The ranges in the index, which has the keys of all attributes. */
function placesOf({ by, ranges, counted }: Listing): CountedRanges {
  if (by === "name") return { ranges, below: ANY_DEPTH };
  const { code } = INDEXED_VALUES[by];
  return {
    ranges: ranges.map(({ from, to }) => ({ from: `${code}\0${from}`, to: `${code}\0${to}` })),
    below: counted === "every" ? ANY_DEPTH : counted === "first" ? 1 : Math.min(counted + 1, ANY_DEPTH),
  };
}
