// Parses filters (RFC 7644 §3.4.2.2) into a tree. The parser reads each token once, whatever a client sends.

import type { Mapping, ResourceKind } from "../schema/resource.ts";
import { type AttributeDefinition, findDefinition, findSub } from "../schema/attribute_table.ts";
import { readPath, SCIM_ATTRIBUTES, withoutCoreSchema } from "../schema/attributes.ts";

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

// Splits the text of a filter or of a path into tokens.

type FilterToken =
  | { readonly kind: "(" | ")" | "[" | "]" }
  /** `tight`: there is no blank before it. */
  | { readonly kind: "word"; readonly text: string; readonly tight: boolean }
  /** A JSON text, decoded. */
  | { readonly kind: "text"; readonly text: string };

type TokensOutcome =
  | { readonly ok: true; readonly tokens: readonly FilterToken[] }
  | { readonly ok: false; readonly problem: string };

/** In every interface and in the console. The HTTP server limits a whole address to as much. */
export const MAX_FILTER_CHARACTERS = 8192;
const BLANKS = " \t";
const BRACKETS = "()[]";
const QUOTE = '"';

/** Splits a text into tokens in one pass. */
function readTokens(text: string): TokensOutcome {
  if (text.length > MAX_FILTER_CHARACTERS) {
    return { ok: false, problem: `a filter has at most ${MAX_FILTER_CHARACTERS} characters` };
  }
  const tokens: FilterToken[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    if (BLANKS.includes(character)) at++;
    else if (isBracket(character)) {
      tokens.push({ kind: character });
      at++;
    } else {
      const end = character === QUOTE ? endOfText(text, at) : endOfWord(text, at);
      const token = character === QUOTE ? decodeText(text.slice(at, end)) : {
        kind: "word",
        text: text.slice(at, end),
        tight: at > 0 && !BLANKS.includes(text.charAt(at - 1)),
      } as const;
      if (token === null) return { ok: false, problem: "a quoted value is not a JSON text" };
      tokens.push(token);
      at = end;
    }
  }
  return { ok: true, tokens };
}

function isBracket(character: string): character is "(" | ")" | "[" | "]" {
  return BRACKETS.includes(character);
}

/** The position after the closing quote, or the end of the filter. */
function endOfText(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text.charAt(at) === "\\") at++;
    else if (text.charAt(at) === QUOTE) return at + 1;
  }
  return text.length;
}

function endOfWord(text: string, from: number): number {
  let at = from;
  while (at < text.length && !BLANKS.includes(text.charAt(at)) && !isEnd(text.charAt(at))) at++;
  return at;
}

function isEnd(character: string): boolean {
  return character === QUOTE || isBracket(character);
}

function decodeText(json: string): FilterToken | null {
  try {
    const text: unknown = JSON.parse(json);
    return typeof text === "string" ? { kind: "text", text } : null;
  } catch (fault) {
    if (fault instanceof SyntaxError) return null;
    throw fault;
  }
}

// The syntax tree.

const COMPARE_OPERATORS = ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"] as const;
export type CompareOperator = typeof COMPARE_OPERATORS[number];

/** The values that a filter can compare with. */
export type FilterValue = null | boolean | number | string;

/** A filter as a tree. Inside of `each`, paths name sub-attributes: `attribute` is the sub-attribute, `sub` is `null`. */
export type ScimFilter =
  | { readonly kind: "and" | "or"; readonly filters: readonly ScimFilter[] }
  | { readonly kind: "not"; readonly filter: ScimFilter }
  | { readonly kind: "present"; readonly path: FilterPath }
  | {
    readonly kind: "compare";
    readonly path: FilterPath;
    readonly operator: CompareOperator;
    readonly value: FilterValue;
  }
  /** `emails[type eq "work"]`: some entry for which `filter` holds. */
  | { readonly kind: "each"; readonly path: FilterPath; readonly filter: ScimFilter };

/** The filter of an entry with its attribute written out: `emails[type …]` as `emails.type …`. */
export function qualifyPaths(parent: FilterPath, filter: ScimFilter): ScimFilter {
  switch (filter.kind) {
    case "and":
    case "or":
      return { kind: filter.kind, filters: filter.filters.map((one) => qualifyPaths(parent, one)) };
    case "not":
      return { kind: "not", filter: qualifyPaths(parent, filter.filter) };
    case "each":
      return filter;
    case "present":
    case "compare":
      return { ...filter, path: { ...parent, sub: filter.path.attribute } };
  }
}

/** Every attribute that a filter names. */
export function filterPaths(filter: ScimFilter): FilterPath[] {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.filters.flatMap(filterPaths);
    case "not":
      return filterPaths(filter.filter);
    case "each":
      return [filter.path, ...filterPaths(qualifyPaths(filter.path, filter.filter))];
    case "present":
    case "compare":
      return [filter.path];
  }
}

/** The problem of the first attribute or comparison that is not valid for that kind of resource, as a sentence. `null`: no problem. */
export function filterProblem(kind: ResourceKind, filter: ScimFilter, mapping?: Mapping): string | null {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.filters.map((one) => filterProblem(kind, one, mapping)).find((one) => one !== null) ??
        null;
    case "not":
      return filterProblem(kind, filter.filter, mapping);
    case "each":
      return filterProblem(kind, qualifyPaths(filter.path, filter.filter), mapping);
    case "present":
      return pathProblem(kind, filter.path, mapping);
    case "compare":
      return pathProblem(kind, filter.path, mapping) ?? comparisonProblem(kind, filter);
  }
}

function pathProblem(kind: ResourceKind, path: FilterPath, mapping: Mapping | undefined): string | null {
  return isKnownPath(kind, path, mapping) ? null : `No ${kind} has the attribute "${pathText(path)}".`;
}

/** RFC 7644 §3.4.2.2: a filter is not valid if it compares an order that the type does not have. */
function comparisonProblem(
  kind: ResourceKind,
  { path, operator, value }: Extract<ScimFilter, { kind: "compare" }>,
): string | null {
  const known = findAttributeOf(kind, path);
  if (operator === "eq" || operator === "ne") return null;
  if (known?.type === "boolean" || typeof value === "boolean" || value === null) {
    return `"${operator}" cannot compare true, false or null.`;
  }
  const isOrder = operator.startsWith("g") || operator.startsWith("l");
  if (!isOrder && typeof value !== "string") return `"${operator}" needs a quoted value.`;
  const isDate = known?.type === "dateTime" && isOrder;
  return isDate && Number.isNaN(Date.parse(String(value)))
    ? `Compare "${pathText(path)}" with a date and time.`
    : null;
}

/** An attribute in a filter. Known names have the stored spelling, other names the spelling of the filter. */
export interface FilterPath {
  /** The URN of an extension; `null` for attributes of the resource itself. */
  readonly schema: string | null;
  readonly attribute: string;
  readonly sub: string | null;
}

/** RFC 7643 §2.1, and `$ref`. */
const ATTRIBUTE_NAME = /^[A-Za-z$][A-Za-z0-9_$-]*$/;
const KINDS = ["user", "group"] as const;

/** `emails.value`, with the URN of its schema in front, if there is one. */
export function pathText({ schema, attribute, sub }: FilterPath): string {
  return `${schema === null ? "" : `${schema}:`}${attribute}${sub === null ? "" : `.${sub}`}`;
}

/** Reads a path. `null`: the text is not a path. */
function readFilterPath(text: string): FilterPath | null {
  const plain = withoutCoreSchema("group", withoutCoreSchema("user", text));
  const isExtension = plain.slice(0, 4).toLowerCase() === "urn:";
  const colon = isExtension ? plain.lastIndexOf(":") : -1;
  const schema = isExtension ? plain.slice(0, colon) : null;
  const [attribute = "", sub = null, ...more] = plain.slice(colon + 1).split(".");
  if (more.length > 0 || !ATTRIBUTE_NAME.test(attribute)) return null;
  if (sub !== null && !ATTRIBUTE_NAME.test(sub)) return null;
  if (schema !== null && schema.length <= "urn:".length) return null;
  const extension = schema === null ? undefined : findInAny(schema);
  const known = schema === null ? findInAny(attribute) : findSub(extension, attribute);
  return {
    schema: extension?.name ?? schema,
    attribute: known?.name ?? attribute,
    sub: sub === null ? null : findSub(known, sub)?.name ?? sub,
  };
}

/** A path inside of `emails[…]`: one of its sub-attributes. */
function readSubPath(text: string, parent: FilterPath): FilterPath | null {
  if (!ATTRIBUTE_NAME.test(text)) return null;
  const known = findSub(findAttributeAt(parent), text);
  return { schema: null, attribute: known?.name ?? text, sub: null };
}

/** The known attribute at a path, of either kind of resource. A name has the same meaning in both. */
export function findAttributeAt(path: FilterPath): AttributeDefinition | undefined {
  return findAttributeOf("user", path) ?? findAttributeOf("group", path);
}

/** The known attribute at a path of one kind of resource. */
function findAttributeOf(
  kind: ResourceKind,
  { schema, attribute, sub }: FilterPath,
): AttributeDefinition | undefined {
  const top = findDefinition(SCIM_ATTRIBUTES[kind], schema ?? attribute);
  const known = schema === null ? top : findSub(top, attribute);
  return sub === null ? known : findSub(known, sub);
}

/**
 * Whether a resource of that kind can have the attribute.
 *
 * @param mapping adds the attributes that the settings name. Other attributes are stored, but a filter that names one is refused. An empty result
 * would make provisioning programs create every user again.
 */
function isKnownPath(kind: ResourceKind, path: FilterPath, mapping?: Mapping): boolean {
  const known = findAttributeOf(kind, path);
  if (known !== undefined) return known.mutability !== "writeOnly";
  return mapping !== undefined && mapping[kind].some(({ scim }) => {
    const row = readPath(kind, scim);
    return row.attribute.toLowerCase() === path.attribute.toLowerCase() && row.schema === path.schema &&
      (path.sub === null || row.sub?.toLowerCase() === path.sub.toLowerCase());
  });
}

/** {@link isKnownPath} for any kind, without a mapping. It distinguishes a filter from words. */
function isKnownSomewhere(path: FilterPath): boolean {
  return KINDS.some((kind) => isKnownPath(kind, path));
}

function findInAny(name: string): AttributeDefinition | undefined {
  return findDefinition(SCIM_ATTRIBUTES.user, name) ?? findDefinition(SCIM_ATTRIBUTES.group, name);
}
