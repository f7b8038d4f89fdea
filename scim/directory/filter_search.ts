// Answers a filter: from what the indexes can tell come candidates, and each is then checked against the whole filter.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Store } from "../../platform/store.ts";
import type { PageOptions, SearchOutcome } from "../ports.ts";
import type { Mapping, ResourceKind, Stored } from "../schema/resource.ts";
import { type Filter, pathText } from "../filter/filter.ts";
import { filterView, matchesFilter } from "../filter/filter_match.ts";
import { cutWord, firstWord } from "../filter/search_terms.ts";
import type { Indexes } from "./indexes.ts";
import type { Keys } from "./keys.ts";
import type { MemberSets } from "./member_sets.ts";
import type { Reader } from "./reader.ts";
import { compareText } from "./order.ts";
import type { WordRange } from "./prefix_range.ts";

export interface FilterSearchDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly indexes: Indexes;
  readonly memberSets: MemberSets;
  readonly reader: Reader;
  readonly range: WordRange;
  readonly mapping: Mapping;
}

export type FilterSearch = (
  kind: ResourceKind,
  filter: Filter,
  options: PageOptions,
) => Promise<SearchOutcome>;

/** Where candidates come from, cheapest first to be chosen; `count` says how many there are. */
type Source =
  | { readonly kind: "names"; readonly names: readonly string[]; readonly count: number }
  | { readonly kind: "word"; readonly start: string; readonly count: number }
  | { readonly kind: "union"; readonly sources: readonly Source[]; readonly count: number };

type Comparison = Filter & { readonly kind: "compare" };

/** How many resources one search may look at. */
const MAX_CANDIDATES = 10_000;
const AT_ONCE = 50;

const TOO_MANY = {
  ok: false,
  problem: {
    kind: "tooMany",
    detail: `The filter would have to look at more than ${MAX_CANDIDATES} resources. Make it narrower.`,
  },
} as const satisfies SearchOutcome;

/** Attributes whose texts begin words of the index, and how. */
const INDEXED: Readonly<Record<ResourceKind, ReadonlyMap<string, "text" | "phone">>> = {
  user: new Map([
    ["userName", "text"],
    ["name.familyName", "text"],
    ["name.givenName", "text"],
    ["name.formatted", "text"],
    ["name.middleName", "text"],
    ["displayName", "text"],
    ["nickName", "text"],
    ["emails.value", "text"],
    ["emails", "text"],
    ["phoneNumbers.value", "phone"],
    ["phoneNumbers", "phone"],
  ]),
  group: new Map([["displayName", "text"]]),
};

/** Attributes that the memberships answer. */
const LINKED: Readonly<Record<ResourceKind, ReadonlySet<string>>> = {
  user: new Set(["groups", "groups.value", "groups.display"]),
  group: new Set(["members", "members.value", "members.display"]),
};

export function createFilterSearch(deps: FilterSearchDeps): FilterSearch {
  const { reader, range, mapping, indexes } = deps;
  const named = namedBy(mapping);

  /** The members of a group, or the groups of a user, and maybe some that were: each is checked. */
  const linkedTo = async (kind: ResourceKind, other: string): Promise<readonly string[]> => {
    if (kind === "user") {
      const group = await reader.record("group", other);
      return group === null ? [] : (await deps.memberSets.load(group.setId)).canonicals;
    }
    const groups: string[] = [];
    for await (const { value } of deps.store.list<string>(deps.keys.memberships(other))) {
      if (value !== null) groups.push(value);
    }
    return groups;
  };

  const sourceOfComparison = async (
    kind: ResourceKind,
    path: string,
    filter: Comparison,
  ): Promise<Source | null> => {
    const { operator, value } = filter;
    if (typeof value !== "string" || (operator !== "eq" && operator !== "sw")) return null;
    if (operator === "eq" && named[kind].has(path)) {
      return { kind: "names", names: [canonicalName(value)], count: 1 };
    }
    if (operator === "eq" && LINKED[kind].has(path)) {
      const names = await linkedTo(kind, canonicalName(value));
      return { kind: "names", names, count: names.length };
    }
    const manner = INDEXED[kind].get(path);
    const word = manner === undefined ? null : firstWord(value, manner);
    if (word === null) return null;
    const start = cutWord(word);
    return { kind: "word", start, count: await range.count({ kind, start }) };
  };

  /** `null`: no index helps, everything would have to be looked at. */
  const sourceOf = async (kind: ResourceKind, filter: Filter, prefix = ""): Promise<Source | null> => {
    switch (filter.kind) {
      case "compare":
        return await sourceOfComparison(kind, `${prefix}${pathText(filter.path)}`, filter);
      case "each":
        return await sourceOf(kind, filter.filter, `${pathText(filter.path)}.`);
      case "and": {
        const sources = await Promise.all(filter.filters.map((one) => sourceOf(kind, one, prefix)));
        return sources.filter((source) => source !== null).toSorted((a, b) => a.count - b.count)[0] ?? null;
      }
      case "or": {
        const sources = await Promise.all(filter.filters.map((one) => sourceOf(kind, one, prefix)));
        const known = sources.filter((source) => source !== null);
        if (known.length < sources.length) return null;
        return { kind: "union", sources: known, count: known.reduce((sum, { count }) => sum + count, 0) };
      }
      case "not":
      case "present":
        return null;
    }
  };

  const namesOf = async (kind: ResourceKind, source: Source): Promise<readonly string[]> => {
    if (source.kind === "names") return source.names;
    if (source.kind === "word") {
      return await range.names({ kind, start: source.start }, { offset: 0, limit: MAX_CANDIDATES });
    }
    return (await Promise.all(source.sources.map((one) => namesOf(kind, one)))).flat();
  };

  const candidates = async function* (kind: ResourceKind, source: Source | null): AsyncGenerator<Stored> {
    if (source === null) return yield* reader.all(kind);
    const names = [...new Set(await namesOf(kind, source))].sort(compareText);
    for (let at = 0; at < names.length; at += AT_ONCE) {
      yield* await reader.readMany(kind, names.slice(at, at + AT_ONCE));
    }
  };

  return async (kind, filter, { page, size }) => {
    const source = await sourceOf(kind, filter);
    const count = source?.count ?? indexes.names[kind].total;
    if (count > MAX_CANDIDATES) return TOO_MANY;
    const offset = (page - 1) * size;
    const resources: Stored[] = [];
    let total = 0;
    for await (const stored of candidates(kind, source)) {
      if (!matchesFilter(filter, filterView(stored, mapping))) continue;
      if (total >= offset && resources.length < size) resources.push(stored);
      total += 1;
    }
    return { ok: true, page: { total, startIndex: offset + 1, resources } };
  };
}

/** The attributes that are the name itself, by the mapping. */
function namedBy({ user, group }: Mapping): Record<ResourceKind, ReadonlySet<string>> {
  const named = (rows: Mapping["user"], attribute: string): string[] =>
    rows.filter(({ frontEnd, scim }) => frontEnd === attribute && ["id", "externalId"].includes(scim))
      .map(({ scim }) => scim);
  return {
    user: new Set(["userName", ...named(user, "userName")]),
    group: new Set(["displayName", ...named(group, "groupName")]),
  };
}
