// Answers the query parameter `q`: a filter (RFC 7644 §3.4.2.2) if it parses as one, otherwise words. Each word must be the
// beginning of a word of the resource.

import type { PageOptions, SearchOutcome } from "../ports.ts";
import { createMapping } from "../schema/mapping.ts";
import type { Mapping, ResourceKind } from "../schema/resource.ts";
import { parseFilter } from "../filter/filter.ts";
import { filterProblem, type ScimFilter } from "../filter/filter_tree.ts";
import { cutWord, hasPrefix, MAX_WORD_CHARACTERS, queryWords } from "../filter/search_terms.ts";
import { FilterSearch, type FilterSearchDeps } from "./filter_search.ts";
import { createWordRange, type PrefixRange } from "./indexes.ts";
import { compareText } from "./keys.ts";
import { recordWords } from "./records.ts";

type SearchDeps = Omit<FilterSearchDeps, "range">;

/** How many resources one search may read. */
const MAX_CANDIDATES = 10_000;
/** A word with more resources than this is checked in each resource, because a list of them would be too long. */
const MAX_LISTED = 20_000;
/** Checking one resource costs as much as listing this many. */
const LISTED_PER_CHECK = 4;
/** If a word has fewer entries than this, its resources are checked, and the other words are not counted. */
const RARE_ENTRIES = 50;
const MAX_CONCURRENT = 50;

const TOO_MANY = {
  ok: false,
  problem: {
    kind: "tooMany",
    detail: `The search would read more than ${MAX_CANDIDATES} resources. Make it more specific.`,
  },
} as const satisfies SearchOutcome;

/**
 * Searches one target. For a single word the total is exact, in order of the words and then of the names. For several words, or a
 * filter, at most {@link MAX_CANDIDATES} resources are read, in order of name.
 */
export class DirectorySearch {
  readonly #deps: SearchDeps;
  readonly #range: PrefixRange;
  readonly #filterSearch: FilterSearch;

  constructor(deps: SearchDeps) {
    this.#deps = deps;
    this.#range = createWordRange(deps);
    this.#filterSearch = new FilterSearch({ ...deps, range: this.#range });
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
    const total = await this.#range.count({ kind, start });
    const names = offset < total ? await this.#range.names({ kind, start }, { offset, limit: size }) : [];
    const resources = await this.#deps.reader.readMany(kind, names);
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
    if (names === null) return TOO_MANY;
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
    const starts = words.map(cutWord);
    const rare = await Promise.all(starts.map((start) => this.#range.isRare({ kind, start }, RARE_ENTRIES)));
    const start = starts[rare.indexOf(true)];
    return start === undefined
      ? null
      : await this.#range.names({ kind, start }, { offset: 0, limit: RARE_ENTRIES });
  }

  /** The names that have all the words, each of which is common; `null` if there are too many to check. */
  async #commonNames(kind: ResourceKind, words: readonly string[]): Promise<string[] | null> {
    const counted = await Promise.all(words.map(async (word) => {
      const start = cutWord(word);
      return { word, start, count: await this.#range.count({ kind, start }) };
    }));
    const [rarest, ...others] = counted.sort((a, b) => a.count - b.count);
    if (rarest === undefined || rarest.count > MAX_CANDIDATES) return null;
    const first = { kind, start: rarest.start };
    let names = await this.#range.names(first, { offset: 0, limit: MAX_CANDIDATES });
    const unchecked = counted.filter(({ word }) => word.length > MAX_WORD_CHARACTERS).map(({ word }) => word);
    for (const { word, start, count } of others) {
      if (count > Math.min(MAX_LISTED, names.length * LISTED_PER_CHECK)) unchecked.push(word);
      else {
        const listed = new Set(await this.#range.names({ kind, start }, { offset: 0, limit: MAX_LISTED }));
        names = names.filter((name) => listed.has(name));
      }
    }
    return unchecked.length === 0 ? names : await this.#withWords(kind, { names, words: unchecked });
  }
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
