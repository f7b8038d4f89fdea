// Answers `q`: words, each of which must begin a word of the resource, or a filter (RFC 7644 §3.4.2.2) when it parses as one.

import type { Store } from "../../platform/store.ts";
import type { Directory, PageOptions, SearchOutcome } from "../ports.ts";
import type { Mapping, ResourceKind } from "../schema/resource.ts";
import { type Filter, filterProblem, parseFilter } from "../filter/filter.ts";
import { cutWord, MAX_WORD_CHARACTERS, queryWords, someBegin } from "../filter/search_terms.ts";
import { createFilterSearch } from "./filter_search.ts";
import type { Indexes } from "./indexes.ts";
import type { Keys } from "./keys.ts";
import type { MemberSets } from "./member_sets.ts";
import { compareText } from "./order.ts";
import { recordWords } from "./record_words.ts";
import type { Reader } from "./reader.ts";
import { createWordRange } from "./prefix_range.ts";

export interface SearchDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly indexes: Indexes;
  readonly memberSets: MemberSets;
  readonly reader: Reader;
  readonly mapping: Mapping;
}

/** How many resources one search may look at. */
const MAX_CANDIDATES = 10_000;
/** A word of more resources than this is looked for in the resources instead of being listed. */
const MAX_LISTED = 20_000;
/** Looking into a resource costs about as much as listing so many. */
const LISTED_A_LOOK = 4;
/** Who has a word of fewer entries than this is looked at, and the other words are not counted. */
const FEW = 50;
/** Records read side by side. */
const AT_ONCE = 50;

const TOO_MANY = {
  ok: false,
  problem: {
    kind: "tooMany",
    detail: `The search would have to look at more than ${MAX_CANDIDATES} resources. Make it narrower.`,
  },
} as const satisfies SearchOutcome;

/**
 * One word: the total is exact whatever the size, and the order is that of the words found, then of names. Several words, or a filter: at most
 * {@link MAX_CANDIDATES} are looked at, in order of name.
 */
export function createSearch(deps: SearchDeps): Directory["search"] {
  const { reader } = deps;
  const range = createWordRange(deps);
  const searchFilter = createFilterSearch({ ...deps, range });

  const oneWord = async (
    kind: ResourceKind,
    start: string,
    { page, size }: PageOptions,
  ): Promise<SearchOutcome> => {
    const offset = (page - 1) * size;
    const total = await range.count({ kind, start });
    const names = offset < total ? await range.names({ kind, start }, { offset, limit: size }) : [];
    return {
      ok: true,
      page: { total, startIndex: offset + 1, resources: await reader.readMany(kind, names) },
    };
  };

  /** Of `names` those with all the words. */
  const havingWords = async (
    kind: ResourceKind,
    { names, words }: { names: readonly string[]; words: readonly string[] },
  ): Promise<string[]> => {
    const having: string[] = [];
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const slice = names.slice(at, at + AT_ONCE);
      const records = await Promise.all(slice.map((name) => reader.record(kind, name)));
      for (const [i, record] of records.entries()) {
        const own = record === null ? [] : recordWords(kind, record);
        if (words.every((word) => someBegin(own, word))) having.push(slice[i] ?? "");
      }
    }
    return having;
  };

  /** Names behind the first word that few have; `null` when many have each. Reads a little of each word. */
  const fewNames = async (kind: ResourceKind, words: readonly string[]): Promise<string[] | null> => {
    const starts = words.map(cutWord);
    const rare = await Promise.all(starts.map((start) => range.isRare({ kind, start }, FEW)));
    const start = starts[rare.indexOf(true)];
    return start === undefined ? null : await range.names({ kind, start }, { offset: 0, limit: FEW });
  };

  /** Names of those who have all of the words, each of which many have; `null` when that is too much to look at. */
  const commonNames = async (kind: ResourceKind, words: readonly string[]): Promise<string[] | null> => {
    const counted = await Promise.all(words.map(async (word) => {
      const start = cutWord(word);
      return { word, start, count: await range.count({ kind, start }) };
    }));
    const [rarest, ...others] = counted.sort((a, b) => a.count - b.count);
    if (rarest === undefined || rarest.count > MAX_CANDIDATES) return null;
    let names = await range.names({ kind, start: rarest.start }, { offset: 0, limit: MAX_CANDIDATES });
    const unsure = counted.filter(({ word }) => word.length > MAX_WORD_CHARACTERS).map(({ word }) => word);
    for (const { word, start, count } of others) {
      if (count > Math.min(MAX_LISTED, names.length * LISTED_A_LOOK)) unsure.push(word);
      else {
        const listed = new Set(await range.names({ kind, start }, { offset: 0, limit: MAX_LISTED }));
        names = names.filter((name) => listed.has(name));
      }
    }
    return unsure.length === 0 ? names : await havingWords(kind, { names, words: unsure });
  };

  const manyWords = async (
    kind: ResourceKind,
    words: readonly string[],
    { page, size }: PageOptions,
  ): Promise<SearchOutcome> => {
    const few = await fewNames(kind, words);
    const names = few === null
      ? await commonNames(kind, words)
      : await havingWords(kind, { names: few, words });
    if (names === null) return TOO_MANY;
    names.sort(compareText);
    const offset = (page - 1) * size;
    const resources = await reader.readMany(kind, names.slice(offset, offset + size));
    return { ok: true, page: { total: names.length, startIndex: offset + 1, resources } };
  };

  const byFilter = async (
    kind: ResourceKind,
    filter: Filter,
    options: PageOptions,
  ): Promise<SearchOutcome> => {
    const detail = filterProblem(kind, filter, deps.mapping);
    if (detail !== null) return { ok: false, problem: { kind: "invalidFilter", detail } };
    return await searchFilter(kind, filter, options);
  };

  return async (kind, q, options) => {
    const parsed = parseFilter(q);
    if (parsed.ok) return await byFilter(kind, parsed.filter, options);
    const words = queryWords(q);
    const [first] = words;
    if (first === undefined) return { ok: true, page: await reader.page(kind, options) };
    if (words.length === 1 && first.length <= MAX_WORD_CHARACTERS) return await oneWord(kind, first, options);
    return await manyWords(kind, words, options);
  };
}
