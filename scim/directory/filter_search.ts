// Answers a filter (RFC 7644 §3.4.2.2): the indexes give candidates, and each candidate is checked against the whole filter.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Store } from "../../platform/store.ts";
import type { PageOptions, SearchOutcome } from "../ports.ts";
import type { Mapping, ResourceKind, Stored } from "../schema/resource.ts";
import { pathText, type ScimFilter } from "../filter/filter.ts";
import { filterView, matchesFilter } from "../filter/filter_match.ts";
import { cutWord, firstWord } from "../filter/search_terms.ts";
import type { Indexes, PrefixRange } from "./indexes.ts";
import { compareText, type DirectoryKeys } from "./keys.ts";
import type { MemberSets } from "./member_sets.ts";
import type { ResourceReader } from "./reader.ts";

export interface FilterSearchDeps {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  readonly indexes: Indexes;
  readonly memberSets: MemberSets;
  readonly reader: ResourceReader;
  readonly range: PrefixRange;
  readonly mapping: Mapping;
}

/** Where candidates come from. The source with the smallest `count` is used. */
type Source =
  | { readonly kind: "names"; readonly names: readonly string[]; readonly count: number }
  | { readonly kind: "word"; readonly start: string; readonly count: number }
  | { readonly kind: "union"; readonly sources: readonly Source[]; readonly count: number };

type Comparison = ScimFilter & { readonly kind: "compare" };

/** How many resources one search may read. */
const MAX_CANDIDATES = 10_000;
const MAX_CONCURRENT = 50;

const TOO_MANY = {
  ok: false,
  problem: {
    kind: "tooMany",
    detail: `The filter would read more than ${MAX_CANDIDATES} resources. Make it more specific.`,
  },
} as const satisfies SearchOutcome;

/** Attributes whose values are in the word index, and their type. */
const INDEXED_ATTRIBUTES: Readonly<Record<ResourceKind, ReadonlyMap<string, "text" | "phone">>> = {
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

/** Attributes that the memberships contain. */
const MEMBERSHIP_ATTRIBUTES: Readonly<Record<ResourceKind, ReadonlySet<string>>> = {
  user: new Set(["groups", "groups.value", "groups.display"]),
  group: new Set(["members", "members.value", "members.display"]),
};

export class FilterSearch {
  readonly #deps: FilterSearchDeps;
  readonly #nameAttributes: Record<ResourceKind, ReadonlySet<string>>;

  constructor(deps: FilterSearchDeps) {
    this.#deps = deps;
    this.#nameAttributes = nameAttributes(deps.mapping);
  }

  async search(kind: ResourceKind, filter: ScimFilter, { page, size }: PageOptions): Promise<SearchOutcome> {
    const { indexes, mapping } = this.#deps;
    const source = await this.#sourceOf(kind, filter);
    const count = source?.count ?? indexes.names[kind].total;
    if (count > MAX_CANDIDATES) return TOO_MANY;
    const offset = (page - 1) * size;
    const resources: Stored[] = [];
    let total = 0;
    for await (const stored of this.#candidates(kind, source)) {
      if (!matchesFilter(filter, filterView(stored, mapping))) continue;
      if (total >= offset && resources.length < size) resources.push(stored);
      total += 1;
    }
    return { ok: true, page: { total, startIndex: offset + 1, resources } };
  }

  /** Where the candidates of a filter come from; `null` if no index helps and every resource must be checked. */
  async #sourceOf(kind: ResourceKind, filter: ScimFilter, prefix = ""): Promise<Source | null> {
    switch (filter.kind) {
      case "compare":
        return await this.#sourceOfComparison(kind, `${prefix}${pathText(filter.path)}`, filter);
      case "each":
        return await this.#sourceOf(kind, filter.filter, `${pathText(filter.path)}.`);
      case "and": {
        const sources = await Promise.all(filter.filters.map((one) => this.#sourceOf(kind, one, prefix)));
        return sources.filter((source) => source !== null).toSorted((a, b) => a.count - b.count)[0] ?? null;
      }
      case "or": {
        const sources = await Promise.all(filter.filters.map((one) => this.#sourceOf(kind, one, prefix)));
        const known = sources.filter((source) => source !== null);
        if (known.length < sources.length) return null;
        return { kind: "union", sources: known, count: known.reduce((sum, { count }) => sum + count, 0) };
      }
      case "not":
      case "present":
        return null;
    }
  }

  async #sourceOfComparison(
    kind: ResourceKind,
    path: string,
    { operator, value }: Comparison,
  ): Promise<Source | null> {
    if (typeof value !== "string" || (operator !== "eq" && operator !== "sw")) return null;
    if (operator === "eq" && this.#nameAttributes[kind].has(path)) {
      return { kind: "names", names: [canonicalName(value)], count: 1 };
    }
    if (operator === "eq" && MEMBERSHIP_ATTRIBUTES[kind].has(path)) {
      const names = await this.#linkedNames(kind, canonicalName(value));
      return { kind: "names", names, count: names.length };
    }
    const type = INDEXED_ATTRIBUTES[kind].get(path);
    const word = type === undefined ? null : firstWord(value, type);
    if (word === null) return null;
    const start = cutWord(word);
    return { kind: "word", start, count: await this.#deps.range.count({ kind, start }) };
  }

  /** The members of a group, or the groups of a user. The list may include former ones, because each name is checked. */
  async #linkedNames(kind: ResourceKind, other: string): Promise<readonly string[]> {
    const { reader, memberSets, store, keys } = this.#deps;
    if (kind === "user") {
      const group = await reader.record("group", other);
      return group === null ? [] : (await memberSets.load(group.setId)).canonicals;
    }
    const groups: string[] = [];
    for await (const { value } of store.list<string>(keys.memberships(other))) {
      if (value !== null) groups.push(value);
    }
    return groups;
  }

  async #namesOf(kind: ResourceKind, source: Source): Promise<readonly string[]> {
    if (source.kind === "names") return source.names;
    if (source.kind === "word") {
      const prefix = { kind, start: source.start };
      return await this.#deps.range.names(prefix, { offset: 0, limit: MAX_CANDIDATES });
    }
    return (await Promise.all(source.sources.map((one) => this.#namesOf(kind, one)))).flat();
  }

  async *#candidates(kind: ResourceKind, source: Source | null): AsyncGenerator<Stored> {
    const { reader } = this.#deps;
    if (source === null) return yield* reader.all(kind);
    const names = [...new Set(await this.#namesOf(kind, source))].sort(compareText);
    for (let at = 0; at < names.length; at += MAX_CONCURRENT) {
      yield* await reader.readMany(kind, names.slice(at, at + MAX_CONCURRENT));
    }
  }
}

/** The attributes that contain the name, by the mapping. */
function nameAttributes({ user, group }: Mapping): Record<ResourceKind, ReadonlySet<string>> {
  const mapped = (rows: Mapping["user"], attribute: string): string[] =>
    rows.filter(({ frontEnd, scim }) => frontEnd === attribute && ["id", "externalId"].includes(scim))
      .map(({ scim }) => scim);
  return {
    user: new Set(["userName", ...mapped(user, "userName")]),
    group: new Set(["displayName", ...mapped(group, "groupName")]),
  };
}
