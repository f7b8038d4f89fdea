// The rules for values that every write of every interface applies: characters of texts, base64, dates, and the entries of lists
// (RFC 7643 §2.3, §2.4).

import { isJsonArray, isJsonObject } from "./json_limits.ts";
import { property } from "./attributes.ts";
import type { JsonObject, JsonValue } from "./resource.ts";

/** RFC 7643 §2.3.6: base64 or base64url (RFC 4648 §4, §5), also with line breaks and blanks, as in files. */
const BASE64_TEXT = /^[A-Za-z0-9+/_ \t\r\n-]*(?:={1,2}[ \t\r\n]*)?$/;
/** A tab and line breaks are text, such as in addresses. Directories and other servers refuse the other control characters, or end a text at U+0000. */
const CONTROL = /[^\P{Cc}\t\n\r]/u;
/** RFC 7643 §2.3.5: `xsd:dateTime`. */
const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?(?:Z|[+-](\d{2}):(\d{2}))?$/;
const MAX_OFFSET_HOURS = 14;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Entries of a multi-valued attribute, except members. */
export const MAX_LIST_ENTRIES = 10_000;

/** RFC 7643 §2.5: null and an empty list mean that the attribute has no value. An object without values has none either. */
export function isUnassigned(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null) return true;
  if (isJsonArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/** Whether a text has the form of a UUID (RFC 9562 §4). */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

export function isBase64(text: string): boolean {
  return BASE64_TEXT.test(text);
}

export function hasForbiddenControls(text: string): boolean {
  return CONTROL.test(text);
}

/** Whether a text is a date and time that exists: not February 30. */
export function isDateTime(text: string): boolean {
  const [, year = "", month = "", day = "", , offsetHours = "0", offsetMinutes = "0"] =
    DATE_TIME.exec(text) ??
      [];
  if (year === "" || Number.isNaN(Date.parse(text))) return false;
  const daysOfMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  const isInOffset = Number(offsetHours) * 60 + Number(offsetMinutes) <= MAX_OFFSET_HOURS * 60;
  return Number(day) <= daysOfMonth && isInOffset && Number(offsetMinutes) < 60;
}

/** Whether an entry is the primary one of its attribute. */
export function isPrimary(entry: JsonValue): boolean {
  return isJsonObject(entry) && property(entry, "primary") === true;
}

/**
 * The entries with each value and type once (RFC 7643 §2.4). A repeated entry adds its sub-attributes to the first one.
 *
 * @param join how the first entry and a repeated one become one.
 */
export function joinRepeated(
  entries: readonly JsonValue[],
  join: (first: JsonObject, repeated: JsonObject) => JsonObject = joinEntries,
): readonly JsonValue[] {
  if (entries.length < 2) return entries;
  const joined = new Map<string, JsonValue>();
  for (const entry of entries) {
    const key = entryKey(entry);
    const first = joined.get(key);
    joined.set(key, isJsonObject(first) && isJsonObject(entry) ? join(first, entry) : entry);
  }
  return joined.size === entries.length ? entries : [...joined.values()];
}

function joinEntries(first: JsonObject, repeated: JsonObject): JsonObject {
  return { ...first, ...repeated, ...isPrimary(first) ? { primary: true } : {} };
}

/** A text that two entries have if they are the same value: with the same value and type, or, without a value, equal. */
export function entryKey(entry: JsonValue): string {
  const value = isJsonObject(entry) ? property(entry, "value") : undefined;
  if (!isJsonObject(entry) || value === undefined) return canonicalJson(entry);
  return canonicalJson([value, property(entry, "type") ?? null]);
}

/** A JSON text that is equal for equal values: the order of the names does not matter. */
export function canonicalJson(value: JsonValue | undefined): string {
  return JSON.stringify(value, (_, one: JsonValue) => {
    if (!isJsonObject(one)) return one;
    return Object.fromEntries(Object.entries(one).sort(([a], [b]) => a < b ? -1 : 1));
  }) ?? "";
}
