// Bodies as JSON objects (RFC 8259). Depth and size are checked on the octets first: a parser takes five million nested arrays without complaint,
// and what walks them afterwards does not.

import type { JsonObject, JsonValue } from "./resource.ts";

export type BodyOutcome =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly problem: string };

export const MAX_DEPTH = 32;
export const MAX_VALUES = 200_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;
const CLOSE_ARRAY = 0x5d;
const CLOSE_OBJECT = 0x7d;

/**
 * Reads a request's body: UTF-8 (a byte order mark is passed over), at most 32 levels and 200,000 values, an object at the top.
 *
 * @returns the object, or what is wrong as a sentence that quotes nothing of the body. A name given twice counts as its last.
 */
export function parseBody(octets: Uint8Array): BodyOutcome {
  const excess = findExcess(octets);
  if (excess !== null) return { ok: false, problem: excess };
  let value: JsonValue;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(octets));
  } catch (fault) {
    if (fault instanceof SyntaxError) return { ok: false, problem: "The body is not JSON." };
    if (fault instanceof TypeError) return { ok: false, problem: "The body is not UTF-8." };
    throw fault;
  }
  return isObject(value) ? { ok: true, value } : { ok: false, problem: "The body is JSON, but no object." };
}

/** Whether a value is a JSON object. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is a JSON array. (`Array.isArray` alone does not tell a readonly one from an object.) */
export function isArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** Counts brackets and commas outside of texts. UTF-8 has no ASCII octet inside another character, so octets will do. */
function findExcess(octets: Uint8Array): string | null {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < octets.length; at++) {
    const octet = octets[at] ?? 0;
    if (octet === QUOTE) at = endOfText(octets, at);
    else if (octet === COMMA) values++;
    else if (octet === CLOSE_ARRAY || octet === CLOSE_OBJECT) depth--;
    else if (octet === OPEN_ARRAY || octet === OPEN_OBJECT) {
      depth++;
      values++;
      if (depth > MAX_DEPTH) return `The body is nested over ${MAX_DEPTH} levels deep.`;
    }
    if (values > MAX_VALUES) return `The body has over ${MAX_VALUES} values.`;
  }
  return null;
}

/** The place of the closing quote, or the end. */
function endOfText(octets: Uint8Array, from: number): number {
  for (let at = from + 1; at < octets.length; at++) {
    if (octets[at] === BACKSLASH) at++;
    else if (octets[at] === QUOTE) return at;
  }
  return octets.length;
}
