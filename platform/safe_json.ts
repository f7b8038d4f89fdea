// Parses JSON from outside (RFC 8259) within bounds. The platform's parser accepts millions of nested arrays, and code
// that walks them overflows the stack, so the depth is checked before the text is parsed.

/** Why a text is rejected. */
export type JsonFlaw = "not_utf8" | "not_json" | "too_deep" | "too_many_values" | "repeated_name";

export type BoundedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly flaw: JsonFlaw };

/** The bounds of accepted JSON. The caller bounds the size of the text. */
export interface JsonBounds {
  /** Levels of nested arrays and objects. */
  readonly maxDepth: number;
  /** Members, elements, arrays and objects in total. Default: no bound. */
  readonly maxValues?: number;
  /** Refuses an object with two equal names, compared without case. It costs a second pass. */
  readonly uniqueNames?: boolean;
}

/**
 * @param source a text, or UTF-8 octets, whose byte order mark is ignored.
 * @returns the value, or the flaw. If an object has a name twice, the last one counts.
 */
export function parseBoundedJson(source: string | Uint8Array, bounds: JsonBounds): BoundedJson {
  const text = typeof source === "string" ? source : decodeUtf8(source);
  if (text === null) return { ok: false, flaw: "not_utf8" };
  const excess = findExcess(text, bounds);
  if (excess !== null) return { ok: false, flaw: excess };
  try {
    const value: unknown = JSON.parse(text);
    const isRepeated = bounds.uniqueNames === true && hasRepeatedName(text);
    return isRepeated ? { ok: false, flaw: "repeated_name" } : { ok: true, value };
  } catch (_syntaxError) {
    return { ok: false, flaw: "not_json" };
  }
}

/** @param text valid JSON. */
function hasRepeatedName(text: string): boolean {
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
        const name = String(JSON.parse(text.slice(at, end + 1))).toLowerCase();
        const names = around.at(-1);
        if (names?.has(name) === true) return true;
        names?.add(name);
      }
      at = end;
    }
  }
  return false;
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
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;
const CLOSE_ARRAY = 0x5d;
const CLOSE_OBJECT = 0x7d;

/** Counts brackets and commas outside of strings. */
function findExcess(text: string, { maxDepth, maxValues = Infinity }: JsonBounds): JsonFlaw | null {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) at = endOfString(text, at);
    else if (character === COMMA) values++;
    else if (character === CLOSE_ARRAY || character === CLOSE_OBJECT) depth--;
    else if (character === OPEN_ARRAY || character === OPEN_OBJECT) {
      depth++;
      values++;
      if (depth > maxDepth) return "too_deep";
    }
    if (values > maxValues) return "too_many_values";
  }
  return null;
}

/** The place of the closing quote, or the end of the text. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === BACKSLASH) at++;
    else if (character === QUOTE) return at;
  }
  return text.length;
}
