// Filters (RFC 7644 §3.4.2.2): from text to a tree. Written by hand, so that it reads each token once, whatever a client sends.

import { type FilterPath, isKnownSomewhere, readFilterPath, readSubPath } from "./filter_path.ts";
import { type FilterToken, readTokens } from "./filter_tokens.ts";
import { COMPARE_OPERATORS, type Filter, type FilterValue, pathsOf } from "./filter_tree.ts";

export { type FilterPath, knownPath, pathText } from "./filter_path.ts";
export { filterProblem } from "./filter_problem.ts";
export { COMPARE_OPERATORS, type CompareOperator, type Filter, type FilterValue } from "./filter_tree.ts";

export type FilterOutcome =
  | { readonly ok: true; readonly filter: Filter }
  | { readonly ok: false; readonly problem: string };

/** What is taken from clients beyond the grammar. */
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

const MAX_LEVELS = 10;
const MAX_COMPARISONS = 50;
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const LITERALS = new Map<string, FilterValue>([["true", true], ["false", false], ["null", null]]);

/**
 * Reads a filter: at most 2,048 characters, 10 levels, 50 comparisons. Words alone are none, whatever they are.
 *
 * @returns the tree, or half a sentence that says why it is none and quotes nothing. Attributes need not be known: see `filterProblem`.
 */
export function parseFilter(text: string): FilterOutcome {
  const read = readTokens(text);
  if (!read.ok) return read;
  const strict = createParser(read.tokens, { bareValues: false }).parse();
  if (strict.ok) return strict;
  const lenient = createParser(read.tokens, { bareValues: true }).parse();
  // "Anna Le Smith" is a person, not a comparison: without quotes, only a text that names attributes is a filter.
  return lenient.ok && pathsOf(lenient.filter).every(isKnownSomewhere) ? lenient : strict;
}

/** Ends the reading of what is no filter; never leaves {@link createParser}. */
class NoFilter extends Error {
  override readonly name = "NoFilter";
}

function createParser(
  tokens: readonly FilterToken[],
  { bareValues }: { bareValues: boolean },
): { parse(): FilterOutcome } {
  let at = 0;
  let levels = 0;
  let comparisons = 0;

  const fail = (problem: string): never => {
    throw new NoFilter(problem);
  };
  const wordAt = (place: number): string | null => {
    const token = tokens[place];
    return token?.kind === "word" ? token.text : null;
  };
  const takeKeyword = (keyword: string): boolean => {
    const found = wordAt(at)?.toLowerCase() === keyword;
    if (found) at++;
    return found;
  };
  const take = (kind: "(" | ")" | "[" | "]"): boolean => {
    const found = tokens[at]?.kind === kind;
    if (found) at++;
    return found;
  };
  const nested = (closing: ")" | "]", parent: FilterPath | null): Filter => {
    if (++levels > MAX_LEVELS) fail(`a filter has at most ${MAX_LEVELS} levels`);
    const filter = readOr(parent);
    if (!take(closing)) fail(`a "${closing}" is missing`);
    levels--;
    return filter;
  };
  const chain = (kind: "and" | "or", read: () => Filter): Filter => {
    const first = read();
    const filters = [first];
    while (takeKeyword(kind)) filters.push(read());
    return filters.length === 1 ? first : { kind, filters };
  };
  /** "and" binds tighter than "or" (RFC 7644 §3.4.2.2). */
  const readOr = (parent: FilterPath | null): Filter =>
    chain("or", () => chain("and", () => readFactor(parent)));

  const readFactor = (parent: FilterPath | null): Filter => {
    if (take("(")) return nested(")", parent);
    if (wordAt(at)?.toLowerCase() === "not" && tokens[at + 1]?.kind === "(") {
      at += 2;
      return { kind: "not", filter: nested(")", parent) };
    }
    return readExpression(parent);
  };
  const readExpression = (parent: FilterPath | null): Filter => {
    if (++comparisons > MAX_COMPARISONS) fail(`a filter has at most ${MAX_COMPARISONS} comparisons`);
    const word = wordAt(at++) ?? fail("an attribute is missing");
    const path = (parent === null ? readFilterPath(word) : readSubPath(word, parent)) ??
      fail("an attribute's name is none");
    return parent === null && path.sub === null && take("[") ? readEach(path) : readOperation(path);
  };
  const readEach = (path: FilterPath): Filter => {
    const filter = nested("]", path);
    const token = tokens[at];
    if (token?.kind !== "word" || !token.tight || !token.text.startsWith(".")) {
      return { kind: "each", path, filter };
    }
    at++;
    const sub = readSubPath(token.text.slice(1), path) ?? fail("a sub-attribute's name is none");
    return { kind: "each", path, filter: { kind: "and", filters: [filter, readOperation(sub)] } };
  };
  const readOperation = (path: FilterPath): Filter => {
    const word = wordAt(at++)?.toLowerCase() ?? fail("an operator is missing");
    if (word === "pr") return { kind: "present", path };
    const operator = COMPARE_OPERATORS.find((one) => one === word) ?? fail("an operator is none");
    return { kind: "compare", path, operator, value: readValue() };
  };
  const readValue = (): FilterValue => {
    const token = tokens[at++];
    if (token?.kind === "text") return token.text;
    if (token?.kind !== "word") return fail("a value is missing");
    const literal = LITERALS.get(token.text);
    if (literal !== undefined) return literal;
    if (NUMBER.test(token.text)) return Number(token.text);
    // A text in single quotes is a mistake to be told of, not a value with quotes in it.
    const isBare = bareValues && !token.text.startsWith("'");
    return isBare ? token.text : fail("a value is neither quoted, nor a number, true, false or null");
  };

  return {
    parse() {
      try {
        const filter = readOr(null);
        if (at < tokens.length) fail("something stands behind the end");
        return { ok: true, filter };
      } catch (fault) {
        if (fault instanceof NoFilter) return { ok: false, problem: fault.message };
        throw fault;
      }
    },
  };
}
