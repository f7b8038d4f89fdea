// Parses bodies as JSON objects (RFC 8259) within limits.

import {
  type JsonBounds,
  type JsonFlaw,
  MAX_JSON_NAMES,
  parseBoundedJson,
} from "../../platform/safe_json.ts";
import type { JsonObject, JsonValue } from "./resource.ts";

type BodyOutcome =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly problem: string };

export const MAX_JSON_DEPTH = 32;
export const MAX_JSON_VALUES = 200_000;
/** A client can send back a group of 50,000 members as a response has it: 200 to 300 octets and five values each. */
export const MAX_GROUP_OCTETS = 16 * 1024 * 1024;
export const MAX_GROUP_JSON_VALUES = 300_000;

const PROBLEMS: Readonly<Record<Exclude<JsonFlaw, "too_many_values">, string>> = {
  not_utf8: "The body is not UTF-8.",
  not_json: "The body is not JSON.",
  too_deep: `The body is nested over ${MAX_JSON_DEPTH} levels deep.`,
  too_many_names: `An object of the body has over ${MAX_JSON_NAMES} names.`,
  repeated_name: "The body has an object with the same name twice",
};

const PLAIN_NAME = /^[\w$:.-]{1,100}$/;

/** The name of an attribute that is not in the table, for a message. Another text than a name would be a value of the body. */
export function shownName(name: string): string {
  return PLAIN_NAME.test(name) ? name : "…";
}

/**
 * Reads a request's body: UTF-8 (a byte order mark is ignored), at most 32 levels, an object at the top.
 *
 * @param options.maxValues default: 200,000
 * @param options.uniqueNames how the names of an object are compared. Two equal ones are refused: another reader of the body, such as a
 * proxy, may take the other value. `null`: the last one counts.
 * @returns the object, or the problem as a sentence without values of the body.
 */
export function parseJsonObject(
  octets: Uint8Array,
  { uniqueNames = "exact", maxValues = MAX_JSON_VALUES }: {
    uniqueNames?: NonNullable<JsonBounds["uniqueNames"]> | null;
    maxValues?: number;
  } = {},
): BodyOutcome {
  const bounds = { maxDepth: MAX_JSON_DEPTH, maxValues };
  const parsed = parseBoundedJson(octets, uniqueNames === null ? bounds : { ...bounds, uniqueNames });
  if (!parsed.ok) {
    const { flaw, name } = parsed;
    const problem = flaw === "too_many_values" ? `The body has over ${maxValues} values.` : PROBLEMS[flaw];
    const rule = uniqueNames === "anyCase" ? " Case does not count." : "";
    return {
      ok: false,
      problem: name === undefined ? problem : `${problem}: ${shownName(name)}.${rule}`,
    };
  }
  const value = parsed.value as JsonValue;
  return isJsonObject(value)
    ? { ok: true, value }
    : { ok: false, problem: "The body is JSON, but not an object." };
}

/** Whether a value is a JSON object. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is a JSON array. (`Array.isArray` does not narrow a readonly array.) */
export function isJsonArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** Deep equality. Ignores the order of object members, but not of array entries. Recursion ends: JSON here is at most 32 deep. */
export function isSameJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (isJsonArray(a) || isJsonArray(b)) {
    return isJsonArray(a) && isJsonArray(b) && a.length === b.length &&
      a.every((value, at) => isSameJson(value, b[at]));
  }
  const names = Object.keys(a);
  return names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name], b[name]));
}
