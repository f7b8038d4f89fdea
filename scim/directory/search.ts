// Answers the query parameter `q`: a filter (RFC 7644 §3.4.2.2) if it parses as one, otherwise words. Each word must be the
// beginning of a word of the resource.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { ListOptions, PageOptions, ResourceIndexes, SearchOutcome } from "../ports.ts";
import { createMapping } from "../schema/mapping.ts";
import type { Mapping, ResourceKind, Stored } from "../schema/resource.ts";
import { filterProblem, parseFilter, pathText, type ScimFilter } from "../filter/filter.ts";
import { filterView, matchesFilter } from "../filter/filter_match.ts";
import {
  cutWord,
  firstWord,
  hasPrefix,
  MAX_WORD_CHARACTERS,
  MEMBERSHIP_ATTRIBUTES,
  queryWords,
  recordWords,
  WORD_ATTRIBUTES,
  wordListing,
} from "./index_keys.ts";
import { compareText } from "./keys.ts";
import type { MemberSets } from "./member_sets.ts";
import type { ResourceReader } from "./reader.ts";

interface SearchDeps {
  readonly indexes: ResourceIndexes;
  readonly count: (kind: ResourceKind) => number;
  readonly memberSets: MemberSets;
  readonly reader: ResourceReader;
  readonly mapping: Mapping;
}

/** How many resources one search may read. */
const MAX_CANDIDATES = 10_000;
/** A word with more resources than this is checked in each resource, because a list of them would be too long. */
const MAX_LISTED = 20_000;
/** Checking one resource costs as much as listing this many. */
const LISTED_PER_CHECK = 4;
/** If a word has fewer entries than this, its resources are checked, and the other words are not counted. */
const RARE_ENTRIES = 50;
const MAX_CONCURRENT = 50;

function tooMany(what: "search" | "filter"): SearchOutcome {
  const detail = `The ${what} would read more than ${MAX_CANDIDATES} resources. Make it more specific.`;
  return { ok: false, problem: { kind: "tooMany", detail } };
}

/**
 * Searches one target. For a single word the total is exact, in order of the words and then of the names. For several words, or a
 * filter, at most {@link MAX_CANDIDATES} resources are read, in order of name.
 */
export class DirectorySearch {
  readonly #deps: SearchDeps;
  readonly #filterSearch: FilterSearch;

  constructor(deps: SearchDeps) {
    this.#deps = deps;
    this.#filterSearch = new FilterSearch(deps);
  }

  async search(kind: ResourceKind, q: string, options: PageOptions): Promise<SearchOutcome> {
    const parsed = parseFilter(q);
    if (parsed.ok) return await this.#byFilter(kind, parsed.filter, options);
    const words = queryWords(q);
    const [first] = words;
    if (first === undefined) return { ok: true, page: await this.#deps.reader.page(kind, options) };
    return words.length === 1 && first.length <= MAX_WORD_CHARACTERS
      ? await this.#byWord(kind, first, options)
      : await this.#byWords(kind, words, options);
  }

  async #byFilter(kind: ResourceKind, filter: ScimFilter, options: PageOptions): Promise<SearchOutcome> {
    const detail = filterProblem(kind, filter, this.#deps.mapping);
    if (detail !== null) return { ok: false, problem: { kind: "invalidFilter", detail } };
    return await this.#filterSearch.search(kind, filter, options);
  }

  async #byWord(kind: ResourceKind, start: string, { page, size }: PageOptions): Promise<SearchOutcome> {
    const offset = (page - 1) * size;
    const { indexes, reader } = this.#deps;
    const total = await indexes.count(kind, wordListing(start));
    const names = offset < total ? await namesWith({ indexes, kind, start }, { offset, limit: size }) : [];
    const resources = await reader.readMany(kind, names);
    return { ok: true, page: { total, startIndex: offset + 1, resources } };
  }

  async #byWords(
    kind: ResourceKind,
    words: readonly string[],
    { page, size }: PageOptions,
  ): Promise<SearchOutcome> {
    const rare = await this.#rareNames(kind, words);
    const names = rare === null
      ? await this.#commonNames(kind, words)
      : await this.#withWords(kind, { names: rare, words });
    if (names === null) return tooMany("search");
    names.sort(compareText);
    const offset = (page - 1) * size;
    const resources = await this.#deps.reader.readMany(kind, names.slice(offset, offset + size));
    return { ok: true, page: { total: names.length, startIndex: offset + 1, resources } };
  }

  /** The names of `names` that have all the words. */
  async #withWords(
    kind: ResourceKind,
    { names, words }: { names: readonly string[]; words: readonly string[] },
  ): Promise<string[]> {
    const matching: string[] = [];
    for (let at = 0; at < names.length; at += MAX_CONCURRENT) {
      const batch = names.slice(at, at + MAX_CONCURRENT);
      const records = await Promise.all(batch.map((name) => this.#deps.reader.record(kind, name)));
      for (const [i, record] of records.entries()) {
        const own = record === null ? [] : recordWords(kind, record);
        if (words.every((word) => hasPrefix(own, word))) matching.push(batch[i] ?? "");
      }
    }
    return matching;
  }

  /** The names of the first rare word; `null` if every word is common. */
  async #rareNames(kind: ResourceKind, words: readonly string[]): Promise<string[] | null> {
    const { indexes } = this.#deps;
    const options = { offset: 0, limit: RARE_ENTRIES };
    const starts = words.map(cutWord);
    const entries = await Promise.all(
      starts.map((start) => indexes.list(kind, { ...wordListing(start), counted: "every" }, options)),
    );
    const start = starts[entries.findIndex(({ length }) => length < RARE_ENTRIES)];
    return start === undefined ? null : await namesWith({ indexes, kind, start }, options);
  }

  /** The names that have all the words, each of which is common; `null` if there are too many to check. */
  async #commonNames(kind: ResourceKind, words: readonly string[]): Promise<string[] | null> {
    const { indexes } = this.#deps;
    const counted = await Promise.all(words.map(async (word) => {
      const start = cutWord(word);
      return { word, start, count: await indexes.count(kind, wordListing(start)) };
    }));
    const [rarest, ...others] = counted.sort((a, b) => a.count - b.count);
    if (rarest === undefined || rarest.count > MAX_CANDIDATES) return null;
    let names = await namesWith(
      { indexes, kind, start: rarest.start },
      { offset: 0, limit: MAX_CANDIDATES },
    );
    const unchecked = counted.filter(({ word }) => word.length > MAX_WORD_CHARACTERS).map(({ word }) => word);
    for (const { word, start, count } of others) {
      if (count > Math.min(MAX_LISTED, names.length * LISTED_PER_CHECK)) unchecked.push(word);
      else {
        const listed = new Set(await namesWith({ indexes, kind, start }, { offset: 0, limit: MAX_LISTED }));
        names = names.filter((name) => listed.has(name));
      }
    }
    return unchecked.length === 0 ? names : await this.#withWords(kind, { names, words: unchecked });
  }
}

/** The canonical names of the resources that have a word with this beginning, in order of word, then name, each once. */
async function namesWith(
  { indexes, kind, start }: { indexes: ResourceIndexes; kind: ResourceKind; start: string },
  options: ListOptions,
): Promise<string[]> {
  return (await indexes.list(kind, wordListing(start), options)).map(({ canonical }) => canonical);
}

/** The search with the mapping of now. @param mappingOf absent: the default mapping */
export function followMapping(
  mappingOf: (() => Mapping) | undefined,
  create: (mapping: Mapping) => DirectorySearch,
): () => DirectorySearch {
  const preset = createMapping({ user: {}, group: {} });
  let known: { readonly mapping: Mapping; readonly search: DirectorySearch } | null = null;
  return () => {
    const mapping = mappingOf?.() ?? preset;
    if (known?.mapping !== mapping) known = { mapping, search: create(mapping) };
    return known.search;
  };
}

// Filters: the indexes give candidates, and each candidate is checked against the whole filter.

/** Where candidates come from. The source with the smallest `count` is used. */
type Source =
  | { readonly kind: "names"; readonly names: readonly string[]; readonly count: number }
  | { readonly kind: "word"; readonly start: string; readonly count: number }
  | { readonly kind: "union"; readonly sources: readonly Source[]; readonly count: number };

type Comparison = ScimFilter & { readonly kind: "compare" };

class FilterSearch {
  readonly #deps: SearchDeps;
  readonly #nameAttributes: Record<ResourceKind, ReadonlySet<string>>;

  constructor(deps: SearchDeps) {
    this.#deps = deps;
    this.#nameAttributes = nameAttributes(deps.mapping);
  }

  async search(kind: ResourceKind, filter: ScimFilter, { page, size }: PageOptions): Promise<SearchOutcome> {
    const { mapping } = this.#deps;
    const source = await this.#sourceOf(kind, filter);
    const count = source?.count ?? this.#deps.count(kind);
    if (count > MAX_CANDIDATES) return tooMany("filter");
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
    const type = WORD_ATTRIBUTES[kind].get(path);
    const word = type === undefined ? null : firstWord(value, type);
    if (word === null) return null;
    const start = cutWord(word);
    return { kind: "word", start, count: await this.#deps.indexes.count(kind, wordListing(start)) };
  }

  /** The members of a group, or the groups of a user. The list may include former ones, because each name is checked. */
  async #linkedNames(kind: ResourceKind, other: string): Promise<readonly string[]> {
    const { reader, memberSets, indexes } = this.#deps;
    if (kind === "group") return await indexes.groupsOf(other);
    const group = await reader.record("group", other);
    return group === null ? [] : (await memberSets.load(group.setId)).canonicals;
  }

  async #namesOf(kind: ResourceKind, source: Source): Promise<readonly string[]> {
    if (source.kind === "names") return source.names;
    if (source.kind === "word") {
      const { indexes } = this.#deps;
      return await namesWith({ indexes, kind, start: source.start }, { offset: 0, limit: MAX_CANDIDATES });
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
