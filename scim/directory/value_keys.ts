// The value index: one entry for each value of an indexed attribute of a resource. A key is attribute, value and canonical name, in the order of the
// values (RFC 7644 §3.4.2.3).

import { canonicalName } from "../../platform/canonical_name.ts";
import type { IndexedAttribute, Listing } from "../index_port.ts";
import { property } from "../schema/attributes.ts";
import { isJsonArray, isJsonObject } from "../schema/json_limits.ts";
import { isoTime } from "../schema/render_resource.ts";
import type { JsonObject, JsonValue, ResourceKind } from "../schema/resource.ts";
import { DEPTHS } from "./index_bucket.ts";
import { LAST_CHARACTER } from "./keys.ts";
import type { ResourceRecord } from "./records.ts";

/** An attribute in the value index. */
interface IndexedAttributeRow {
  /** The first part of its keys. */
  readonly code: string;
  readonly type: "text" | "exactText" | "boolean" | "dateTime";
  /** A resource can have several values. */
  readonly multi?: true;
  /** The resources that have the attribute. */
  readonly kinds: readonly ("user" | "group")[];
  readonly ref: string;
}

const BOTH = ["user", "group"] as const;

/** The attributes, besides names and ids, that a filter or an order finds without reading resources. */
export const INDEXED_VALUES: Readonly<Record<IndexedAttribute, IndexedAttributeRow>> = {
  active: { code: "a", type: "boolean", kinds: ["user"], ref: "RFC 7643 §4.1.1" },
  "meta.created": { code: "c", type: "dateTime", kinds: BOTH, ref: "RFC 7643 §3.1" },
  displayName: { code: "d", type: "text", kinds: ["user"], ref: "RFC 7643 §4.1.1" },
  "emails.value": { code: "e", type: "text", multi: true, kinds: ["user"], ref: "RFC 7643 §4.1.2" },
  "meta.lastModified": { code: "m", type: "dateTime", kinds: BOTH, ref: "RFC 7643 §3.1" },
  externalId: { code: "x", type: "exactText", kinds: BOTH, ref: "RFC 7643 §3.1" },
};

/** The value of a resource that does not have the attribute: after all values (RFC 7644 §3.4.2.3). */
export const NO_VALUE = "\u{10fffe}";
/** A resource with more values than the index has: its values must be compared. It does not count in an order. */
export const MORE_VALUES = `${NO_VALUE}${NO_VALUE}`;
/** The end of a value that is only the beginning of the resource's one. */
const CUT = "\u{10fffd}";
const MAX_VALUE_CHARACTERS = 200;

/** A value as the index has it. */
export interface IndexText {
  readonly text: string;
  /** Only the beginning of the value, so that the resource must be compared, too. */
  readonly isCut: boolean;
}

/** The resources that have a search word with this beginning, each once. @param start at most 24 characters (`cutWord`). */
export function wordListing(start: string): Listing {
  return { by: "word", ranges: [{ from: start, to: `${start}${LAST_CHARACTER}` }], counted: start.length };
}

/** A text in the order of its code points. */
export function indexText(value: string): IndexText {
  const isShort = value.length <= MAX_VALUE_CHARACTERS;
  if (isShort && (PLAIN.test(value) || !NEEDS_CARE.test(value))) return { text: value, isCut: false };
  const end = endOfKept(value);
  const text = value.slice(0, end).replace(RESERVED, (one) => ESCAPES.get(one) ?? one);
  return { text, isCut: end < value.length };
}

/** The value with the mark of a value that is cut. */
export function markedText({ text, isCut }: IndexText): string {
  return isCut ? `${text}${CUT}` : text;
}

/** A text of the attribute's type, as filters compare it. */
export function comparedText(type: "text" | "exactText", value: string): IndexText {
  return indexText(type === "text" ? canonicalName(value) : value);
}

/** An instant in the order of time. Filters compare its beginning, without case. */
export function dateText(ms: number): string {
  return isoTime(ms).toLowerCase();
}

/** Nearly every value, and the fastest test. */
const PLAIN = /^[ -~]*$/;
const NEEDS_CARE = /[\p{Cc}\p{Cs}\u{10fffc}-\u{10ffff}]/u;
const RESERVED = /[\p{Cc}\u{10fffc}-\u{10ffff}]/gu;
/** Characters that separate or mark keys. The order of texts stays. */
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\0", "\u0001\u0001"],
  ["\u0001", "\u0001\u0002"],
  ["\u{10fffc}", "\u{10fffc}\u0002"],
  ["\u{10fffd}", "\u{10fffc}\u0003"],
  ["\u{10fffe}", "\u{10fffc}\u0004"],
  ["\u{10ffff}", "\u{10fffc}\u0005"],
]);

/** Keys are well formed, and never cut inside of a character. */
function endOfKept(value: string): number {
  const limit = Math.min(value.length, MAX_VALUE_CHARACTERS);
  for (let at = 0; at < limit;) {
    const point = value.codePointAt(at) ?? 0;
    if (point >= 0xd800 && point <= 0xdfff) return at;
    const next = at + (point > 0xffff ? 2 : 1);
    if (next > limit) return at;
    at = next;
  }
  return limit;
}

/** More values of one attribute of a resource are not indexed, so that a write fits into a commit. */
const MAX_VALUES_OF_ONE = 100;

type IndexedRecord = Pick<ResourceRecord, "text" | "active" | "externalId" | "createdMs" | "modifiedMs">;

/** Whether two records surely have the same indexed values. */
export function hasSameValues(before: IndexedRecord | null, after: IndexedRecord | null): boolean {
  return before !== null && after !== null && before.text === after.text && before.active === after.active &&
    before.externalId === after.externalId && before.createdMs === after.createdMs &&
    before.modifiedMs === after.modifiedMs;
}

/**
 * The keys of a record in the value index, without its name, and the depth of each. Of several values, the one that counts in an order has depth 0.
 * The depth of another is one more than the number of characters that it shares with an earlier one. So for a beginning of n characters, exactly one
 * value of the record has a depth of at most n.
 */
export function indexedValues(kind: ResourceKind, record: IndexedRecord | null): Map<string, number> {
  const entries = new Map<string, number>();
  if (record === null) return entries;
  const attributes: JsonObject = kind === "user" ? JSON.parse(record.text) : {};
  for (const [name, row] of ROWS[kind]) {
    const values = valuesOf(name, record, attributes);
    if (values.length === 0) entries.set(`${row.code}\0${NO_VALUE}`, 0);
    for (const [at, value] of values.slice(0, MAX_VALUES_OF_ONE).entries()) {
      entries.set(`${row.code}\0${value}`, depthOf(values, at));
    }
    if (values.length > MAX_VALUES_OF_ONE) entries.set(`${row.code}\0${MORE_VALUES}`, DEPTHS - 1);
  }
  return entries;
}

type IndexedRow = readonly [IndexedAttribute, IndexedAttributeRow];

const ROWS: Readonly<Record<ResourceKind, readonly IndexedRow[]>> = {
  user: rowsOf("user"),
  group: rowsOf("group"),
};

function rowsOf(kind: ResourceKind): IndexedRow[] {
  const rows = Object.entries(INDEXED_VALUES) as IndexedRow[];
  return rows.filter(([, { kinds }]) => kinds.includes(kind));
}

/** Each value once. The first one counts in an order. */
function valuesOf(name: IndexedAttribute, record: IndexedRecord, attributes: JsonObject): readonly string[] {
  switch (name) {
    case "active":
      return [String(record.active)];
    case "meta.created":
      return [dateText(record.createdMs)];
    case "meta.lastModified":
      return [dateText(record.modifiedMs)];
    case "externalId":
      return record.externalId === undefined
        ? []
        : [markedText(comparedText("exactText", record.externalId))];
    case "displayName": {
      const displayName = property(attributes, "displayName");
      return typeof displayName === "string" ? [markedText(comparedText("text", displayName))] : [];
    }
    case "emails.value":
      return emailsOf(property(attributes, "emails"));
  }
}

function emailsOf(emails: JsonValue | undefined): readonly string[] {
  if (emails === undefined) return [];
  const entries = (isJsonArray(emails) ? emails : [emails]).flatMap((one) => {
    const value = isJsonObject(one) ? property(one, "value") : one;
    return typeof value === "string"
      ? [{ value, isPrimary: isJsonObject(one) && property(one, "primary") === true }]
      : [];
  });
  const rank = ({ value, isPrimary }: { value: string; isPrimary: boolean }): number =>
    value === "" ? 2 : isPrimary ? 0 : 1;
  const sorted = entries.length < 2 ? entries : entries.toSorted((a, b) => rank(a) - rank(b));
  return [...new Set(sorted.map(({ value }) => markedText(comparedText("text", value))))];
}

function depthOf(values: readonly string[], at: number): number {
  const value = values[at] ?? "";
  let depth = 0;
  for (const earlier of values.slice(0, at)) depth = Math.max(depth, sharedLength(earlier, value) + 1);
  return Math.min(depth, DEPTHS - 1);
}

function sharedLength(a: string, b: string): number {
  let length = 0;
  while (length < DEPTHS && length < a.length && a.charCodeAt(length) === b.charCodeAt(length)) length++;
  return length;
}
