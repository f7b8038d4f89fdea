// Parses filters (RFC 7644 §3.4.2.2) into a tree. The parser reads each token once, whatever a client sends.

import {
  COMPARE_OPERATORS,
  type FilterPath,
  filterPaths,
  type FilterValue,
  isKnownSomewhere,
  readFilterPath,
  readSubPath,
  type ScimFilter,
} from "./filter_tree.ts";
import { type FilterToken, readTokens } from "./filter_tokens.ts";

export { type FilterPath, isKnownPath, pathText } from "./filter_tree.ts";
export { filterProblem } from "./filter_tree.ts";
export { COMPARE_OPERATORS, type CompareOperator, type FilterValue, type ScimFilter } from "./filter_tree.ts";

type FilterOutcome =
  | { readonly ok: true; readonly filter: ScimFilter }
  | { readonly ok: false; readonly problem: string };

/** Deviations from the grammar that are accepted. */
export const FILTER_QUIRKS = {
  "a value without quotes, where everything else is right": {
    who: "Entra ID",
    sample: "externalId eq jyoung",
    ref: "Entra documentation, use-scim-to-provision-users-and-groups",
  },
  "a path of PATCH (RFC 7644 §3.5.2)": {
    who: "Entra ID",
    sample: 'emails[type eq "work"].value eq "a@example.com"',
    ref: "Entra documentation, customize-application-attributes",
  },
  "a truth as a text": {
    who: "Entra ID",
    sample: 'roles[primary eq "True"]',
    ref: "Entra documentation, application-provisioning-config-problem-scim-compatibility",
  },
} as const;

export const MAX_FILTER_LEVELS = 10;
export const MAX_FILTER_COMPARISONS = 50;
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const LITERALS = new Map<string, FilterValue>([["true", true], ["false", false], ["null", null]]);

/**
 * Parses a filter: at most 8,192 characters, 10 levels, 50 comparisons. Words alone are not a filter.
 *
 * @returns the tree, or a part of a sentence that explains the problem without a quote. For unknown attributes see `filterProblem`.
 */
export function parseFilter(text: string): FilterOutcome {
  const read = readTokens(text);
  if (!read.ok) return read;
  const strict = new FilterParser(read.tokens, { bareValues: false }).parse();
  if (strict.ok) return strict;
  const lenient = new FilterParser(read.tokens, { bareValues: true }).parse();
  // "Anna Le Smith" is a name, not a comparison. Without quotes, a text is a filter only if it names known attributes.
  return lenient.ok && filterPaths(lenient.filter).every(isKnownSomewhere) ? lenient : strict;
}

/**
 * Parses the filter between the brackets of a PATCH path (RFC 7644 §3.5.2, `valuePath`), with the limits of {@link parseFilter}.
 *
 * @param subAttribute the exact spelling of a sub-attribute. `null`: the attribute does not have it, so the filter is refused.
 */
export function parseEntryFilter(text: string, subAttribute: (name: string) => string | null): FilterOutcome {
  const read = readTokens(text);
  if (!read.ok) return read;
  const sub = (name: string): FilterPath | null => {
    const attribute = subAttribute(name);
    return attribute === null ? null : { schema: null, attribute, sub: null };
  };
  const names = { ...TABLE_NAMES, sub };
  const strict = new FilterParser(read.tokens, { bareValues: false, names }).parse(ENTRY);
  if (strict.ok) return strict;
  const lenient = new FilterParser(read.tokens, { bareValues: true, names }).parse(ENTRY);
  return lenient.ok ? lenient : strict;
}

/** The names that a filter may have. */
export interface FilterNames {
  /** `null`: the text is not the name of an attribute. */
  readonly top: (text: string) => FilterPath | null;
  /** Inside of the brackets of an attribute. */
  readonly sub: (text: string, parent: FilterPath) => FilterPath | null;
}

const TABLE_NAMES: FilterNames = { top: readFilterPath, sub: readSubPath };

/** Parses a filter with other names than those of the attribute table, with the limits of {@link parseFilter}. A value may have no quotes. */
export function parseFilterWith(text: string, names: FilterNames): FilterOutcome {
  const read = readTokens(text);
  if (!read.ok) return read;
  const strict = new FilterParser(read.tokens, { bareValues: false, names }).parse();
  if (strict.ok) return strict;
  const lenient = new FilterParser(read.tokens, { bareValues: true, names }).parse();
  return lenient.ok ? lenient : strict;
}

/** The parent of a filter that is only the part inside of the brackets. */
const ENTRY: FilterPath = { schema: null, attribute: "", sub: null };

/** Thrown inside {@link FilterParser} for a text that is not a filter. */
class NoFilter extends Error {
  override readonly name = "NoFilter";
}

class FilterParser {
  readonly #tokens: readonly FilterToken[];
  readonly #bareValues: boolean;
  readonly #names: FilterNames;
  #at = 0;
  #levels = 0;
  #comparisons = 0;

  /** @param options.bareValues whether a value may have no quotes. */
  constructor(
    tokens: readonly FilterToken[],
    { bareValues, names = TABLE_NAMES }: { bareValues: boolean; names?: FilterNames },
  ) {
    this.#tokens = tokens;
    this.#bareValues = bareValues;
    this.#names = names;
  }

  /** @param parent the attribute whose entries the whole filter is about. */
  parse(parent: FilterPath | null = null): FilterOutcome {
    try {
      const filter = this.#or(parent);
      if (this.#at < this.#tokens.length) fail("unexpected text after the filter");
      return { ok: true, filter };
    } catch (fault) {
      if (fault instanceof NoFilter) return { ok: false, problem: fault.message };
      throw fault;
    }
  }

  /** "and" binds tighter than "or" (RFC 7644 §3.4.2.2). */
  #or(parent: FilterPath | null): ScimFilter {
    return this.#chain("or", () => this.#chain("and", () => this.#factor(parent)));
  }

  #chain(kind: "and" | "or", read: () => ScimFilter): ScimFilter {
    const first = read();
    const filters = [first];
    while (this.#takeKeyword(kind)) filters.push(read());
    return filters.length === 1 ? first : { kind, filters };
  }

  #factor(parent: FilterPath | null): ScimFilter {
    if (this.#take("(")) return this.#nested(")", parent);
    if (this.#wordAt(this.#at)?.toLowerCase() === "not" && this.#tokens[this.#at + 1]?.kind === "(") {
      this.#at += 2;
      return { kind: "not", filter: this.#nested(")", parent) };
    }
    return this.#expression(parent);
  }

  #nested(closing: ")" | "]", parent: FilterPath | null): ScimFilter {
    if (++this.#levels > MAX_FILTER_LEVELS) fail(`a filter has at most ${MAX_FILTER_LEVELS} levels`);
    const filter = this.#or(parent);
    if (!this.#take(closing)) fail(`a "${closing}" is missing`);
    this.#levels--;
    return filter;
  }

  #expression(parent: FilterPath | null): ScimFilter {
    if (++this.#comparisons > MAX_FILTER_COMPARISONS) {
      fail(`a filter has at most ${MAX_FILTER_COMPARISONS} comparisons`);
    }
    const word = this.#wordAt(this.#at++) ?? fail("an attribute is missing");
    const path = (parent === null ? this.#names.top(word) : this.#names.sub(word, parent)) ??
      fail("the name of an attribute is not valid");
    return parent === null && path.sub === null && this.#take("[") ? this.#each(path) : this.#operation(path);
  }

  #each(path: FilterPath): ScimFilter {
    const filter = this.#nested("]", path);
    const token = this.#tokens[this.#at];
    if (token?.kind !== "word" || !token.tight || !token.text.startsWith(".")) {
      return { kind: "each", path, filter };
    }
    this.#at++;
    const sub = this.#names.sub(token.text.slice(1), path) ??
      fail("the name of a sub-attribute is not valid");
    return { kind: "each", path, filter: { kind: "and", filters: [filter, this.#operation(sub)] } };
  }

  #operation(path: FilterPath): ScimFilter {
    const word = this.#wordAt(this.#at++)?.toLowerCase() ?? fail("an operator is missing");
    if (word === "pr") return { kind: "present", path };
    const operator = COMPARE_OPERATORS.find((one) => one === word) ?? fail("an operator is unknown");
    return { kind: "compare", path, operator, value: this.#value() };
  }

  #value(): FilterValue {
    const token = this.#tokens[this.#at++];
    if (token?.kind === "text") return token.text;
    if (token?.kind !== "word") return fail("a value is missing");
    const literal = LITERALS.get(token.text);
    if (literal !== undefined) return literal;
    if (NUMBER.test(token.text)) return Number(token.text);
    // A text in single quotes is a mistake to report, not a value that contains quotes.
    const isBare = this.#bareValues && !token.text.startsWith("'");
    return isBare ? token.text : fail("a value must be quoted, a number, true, false or null");
  }

  #wordAt(place: number): string | null {
    const token = this.#tokens[place];
    return token?.kind === "word" ? token.text : null;
  }

  #takeKeyword(keyword: string): boolean {
    const found = this.#wordAt(this.#at)?.toLowerCase() === keyword;
    if (found) this.#at++;
    return found;
  }

  #take(kind: "(" | ")" | "[" | "]"): boolean {
    const found = this.#tokens[this.#at]?.kind === kind;
    if (found) this.#at++;
    return found;
  }
}

function fail(problem: string): never {
  throw new NoFilter(problem);
}
