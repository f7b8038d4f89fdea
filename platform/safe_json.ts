// Parses JSON from outside (RFC 8259) within bounds. The platform's parser accepts millions of nested arrays, and code
// that walks them overflows the stack, so the depth is checked before the text is parsed.

/** Why a text is rejected. */
export type JsonFlaw =
  | "not_utf8"
  | "not_json"
  | "too_deep"
  | "too_many_values"
  | "too_many_names"
  | "repeated_name";

/** Members of one object. The engine needs a second for an object with 100,000 names. */
export const MAX_JSON_NAMES = 1000;

type BoundedJson =
  | { readonly ok: true; readonly value: unknown }
  | {
    readonly ok: false;
    readonly flaw: JsonFlaw;
    /** With `repeated_name`: the name. */
    readonly name?: string;
  };

/** The bounds of accepted JSON. The caller bounds the size of the text. */
export interface JsonBounds {
  /** Levels of nested arrays and objects. */
  readonly maxDepth: number;
  /** Members, elements, arrays and objects in total. Default: no bound. */
  readonly maxValues?: number;
  /** Refuses an object with two equal names. `anyCase` compares them without case, which costs a second pass. Default: the last one counts. */
  readonly uniqueNames?: "exact" | "anyCase";
}

/**
 * @param source a text, or UTF-8 octets, whose byte order mark is ignored.
 * @returns the value, or the flaw.
 */
export function parseBoundedJson(source: string | Uint8Array, bounds: JsonBounds): BoundedJson {
  const text = typeof source === "string" ? source : decodeUtf8(source);
  if (text === null) return { ok: false, flaw: "not_utf8" };
  const counted = countMembers(text, bounds);
  if (typeof counted === "string") return { ok: false, flaw: counted };
  try {
    const value: unknown = JSON.parse(text);
    const { uniqueNames } = bounds;
    // A name that an object has twice is one member of the value.
    if (uniqueNames === "anyCase" || (uniqueNames === "exact" && membersOf(value) !== counted)) {
      const name = repeatedName(text, uniqueNames);
      if (name !== null) return { ok: false, flaw: "repeated_name", name };
    }
    return { ok: true, value };
  } catch (_syntaxError) {
    return { ok: false, flaw: "not_json" };
  }
}

/** The members of all objects. The recursion ends, because the depth was checked. */
function membersOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const one of value) count += membersOf(one);
    return count;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const name in members) count += 1 + membersOf(members[name]);
  return count;
}

/** The first name that an object has twice. @param text valid JSON. */
function repeatedName(text: string, comparison: "exact" | "anyCase"): string | null {
  const around: Set<string>[] = [];
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === OPEN_OBJECT || character === OPEN_ARRAY) around.push(new Set());
    else if (character === CLOSE_OBJECT || character === CLOSE_ARRAY) around.pop();
    else if (character === QUOTE) {
      const end = endOfString(text, at);
      let next = end + 1;
      while (BLANKS.includes(text.charAt(next))) next++;
      if (text.charAt(next) === ":") {
        const name = String(JSON.parse(text.slice(at, end + 1)));
        const compared = comparison === "exact" ? name : name.toLowerCase();
        const names = around.at(-1);
        if (names?.has(compared) === true) return name;
        names?.add(compared);
      }
      at = end;
    }
  }
  return null;
}

const BLANKS: readonly string[] = [" ", "\t", "\r", "\n"];

/** A JSON object whose members are read by name; members of its prototype do not count. */
export interface JsonRecord {
  member(name: string): unknown;
}

/** `value` as a record, or `null` if it is not an object. */
export function asRecord(value: unknown): JsonRecord | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const members = new Map<string, unknown>(Object.entries(value));
  return { member: (name) => members.get(name) };
}

function decodeUtf8(octets: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(octets);
  } catch (_invalid) {
    return null;
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;
const CLOSE_ARRAY = 0x5d;
const CLOSE_OBJECT = 0x7d;

/** Counts brackets, commas and colons outside of strings. @returns the members of all objects, or the bound that the text exceeds. */
function countMembers(text: string, { maxDepth, maxValues = Infinity }: JsonBounds): number | JsonFlaw {
  let depth = 0;
  let values = 1;
  let members = 0;
  /** Of the object at each level around a place. */
  const names = new Uint32Array(maxDepth + 1);
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) at = endOfString(text, at);
    else if (character === COMMA) values++;
    else if (character === COLON) {
      members++;
      names[depth] = (names[depth] ?? 0) + 1;
      if ((names[depth] ?? 0) > MAX_JSON_NAMES) return "too_many_names";
    } else if (character === CLOSE_ARRAY || character === CLOSE_OBJECT) depth--;
    else if (character === OPEN_ARRAY || character === OPEN_OBJECT) {
      depth++;
      values++;
      if (depth > maxDepth) return "too_deep";
      names[depth] = 0;
    }
    if (values > maxValues) return "too_many_values";
  }
  return members;
}

/** The place of the closing quote, or the end of the text. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at > 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}
