// From a record to its keys in each index, and from the text of a query to the same keys. The words are parts of names, e-mail addresses, phone numbers
// and groups. The values have one key for each value of an indexed attribute: attribute, value and canonical name, in the order of the values
// (RFC 7644 §3.4.2.3).

import { canonicalName } from "../../platform/canonical_name.ts";
import type { IndexedAttribute, Listing } from "../ports.ts";
import { isJsonArray, isJsonObject, property } from "../schema/attributes.ts";
import { isoTime } from "../schema/render_resource.ts";
import type { JsonObject, JsonValue, ResourceKind } from "../schema/resource.ts";
import { DEPTHS } from "./index_bucket.ts";
import { LAST_CHARACTER } from "./keys.ts";
import type { ResourceRecord } from "./records.ts";

/** From a record to its keys in one index. */
interface KeyExtractor {
  /** The keys of a record without its name, and the depth of each. "": the name alone. */
  keysOf(kind: ResourceKind, record: ResourceRecord): ReadonlyMap<string, number>;
  /** Whether two records surely have the same keys, without computing them. */
  isSame(before: ResourceRecord, after: ResourceRecord): boolean;
}

const NAME_ALONE: ReadonlyMap<string, number> = new Map([["", 0]]);

export const KEY_EXTRACTORS = {
  names: { keysOf: () => NAME_ALONE, isSame: () => true },
  words: {
    keysOf: (kind, record) => indexWords(recordWords(kind, record)),
    isSame: (before, after) =>
      before.name === after.name && before.text === after.text &&
      before.groups.length === after.groups.length &&
      before.groups.every((name, at) => name === after.groups[at]),
  },
  values: {
    keysOf: indexedValues,
    isSame: (before, after) =>
      before.text === after.text && before.active === after.active &&
      before.externalId === after.externalId &&
      before.createdMs === after.createdMs && before.modifiedMs === after.modifiedMs,
  },
} as const satisfies Record<string, KeyExtractor>;

/** The search words of a resource. */
export function recordWords(kind: ResourceKind, { name, text, groups }: ResourceRecord): string[] {
  return kind === "group" ? groupWords(name) : userWords({ name, attributes: JSON.parse(text), groups });
}

// Words, matched by prefix.

/** The length of a word in the index. For a longer word of a query, the resource is checked. */
export const MAX_WORD_CHARACTERS = 24;
const MAX_OWN_WORDS = 100;
const MAX_GROUP_WORDS = 60;
const MAX_QUERY_WORDS = 10;
/** The part of a text that can be found. It limits the work for hostile texts. */
const MAX_TEXT_CHARACTERS = 512;

const NAME_PARTS = ["familyName", "givenName", "formatted", "middleName"] as const;
const SPACES = /[\s\p{Cc}\u{10ffff}]+/u;
/** A word also begins after one of these. */
const SEPARATORS = new Set([..."._@-+\\/,;:()'\""]);
const EDGES = new Set([...",;()\"'"]);

/** The sources of a user's words. */
interface WordSource {
  readonly name: string;
  readonly attributes: JsonObject;
  /** Names of the user's groups. */
  readonly groups: readonly string[];
}

/** The words of a user, in order. No word is the beginning of another, because a search by prefix finds the longer one. */
export function userWords({ name, attributes, groups }: WordSource): string[] {
  const own = new Set<string>();
  addText(own, name);
  const names = isJsonObject(attributes.name) ? attributes.name : {};
  for (const part of NAME_PARTS) addText(own, names[part]);
  addText(own, attributes.displayName);
  addText(own, attributes.nickName);
  for (const value of textsOf(attributes.emails)) addText(own, value);
  for (const value of textsOf(attributes.phoneNumbers)) addPhone(own, value);
  const ofGroups = new Set<string>();
  for (const group of groups) {
    if (ofGroups.size >= MAX_GROUP_WORDS * 2) break;
    addText(ofGroups, group);
  }
  return longest([
    ...longest([...own]).slice(0, MAX_OWN_WORDS),
    ...longest([...ofGroups]).slice(0, MAX_GROUP_WORDS),
  ]);
}

/** Words of a group: those of its name. */
export function groupWords(name: string): string[] {
  const words = new Set<string>();
  addText(words, name);
  return longest([...words]).slice(0, MAX_OWN_WORDS);
}

/**
 * The words of a query, each once. No word is the beginning of another. A text that can only be a phone number ("+49 171 1234567") is one word.
 * Empty if the query has no words.
 */
export function queryWords(q: string): string[] {
  const text = canonicalName(q.toWellFormed()).trim();
  if (/^\+\d[\d\s()./-]*$/.test(text)) return [text.replace(/\D/g, "")];
  const words = text.split(SPACES).map(withoutEdges).filter((word) => word !== "");
  return longest([...new Set(words)]).slice(0, MAX_QUERY_WORDS);
}

/** The first word of a text. It is in the index of every resource whose text begins like this one. `null`: no word. */
export function firstWord(text: string, manner: "text" | "phone"): string | null {
  if (manner === "phone") {
    const digits = text.replace(/\D/g, "");
    if (digits !== "") return digits;
  }
  if (text.length > MAX_TEXT_CHARACTERS) return null;
  return canonicalName(text.toWellFormed()).split(SPACES).find((piece) => piece !== "") ?? null;
}

/** Whether one of `words` begins with `start`. */
export function hasPrefix(words: readonly string[], start: string): boolean {
  return words.some((word) => word.startsWith(start));
}

/**
 * The index entries: each word, cut to {@link MAX_WORD_CHARACTERS}, with the number of characters that it shares with the previous word. For a prefix
 * of n characters, a resource is found exactly once: by the entry whose number is below n.
 *
 * @param words the result of {@link userWords}.
 */
export function indexWords(words: readonly string[]): Map<string, number> {
  const entries = new Map<string, number>();
  let previous = "";
  for (const word of words) {
    const cut = cutWord(word);
    if (cut === previous) continue;
    entries.set(cut, sharedLength(previous, cut));
    previous = cut;
  }
  return entries;
}

/** A word as stored in the index. It is never cut inside a character. */
export function cutWord(word: string): string {
  if (word.length <= MAX_WORD_CHARACTERS) return word;
  const last = word.charCodeAt(MAX_WORD_CHARACTERS - 1);
  const splits = last >= 0xd800 && last <= 0xdbff;
  return word.slice(0, splits ? MAX_WORD_CHARACTERS - 1 : MAX_WORD_CHARACTERS);
}

/** The resources that have a search word with this beginning, each once. @param start at most 24 characters (`cutWord`). */
export function wordListing(start: string): Listing {
  return { by: "word", ranges: [{ from: start, to: `${start}${LAST_CHARACTER}` }], counted: start.length };
}

/** In order of code units, without words that are the beginning of another word. These are next to each other in this order. */
function longest(words: readonly string[]): string[] {
  const sorted = [...new Set(words)].sort();
  return sorted.filter((word, at) => !(sorted[at + 1]?.startsWith(word) ?? false));
}

/** Adds each piece between spaces, and each part of it that follows a separator. */
function addText(words: Set<string>, value: JsonValue | undefined): void {
  if (typeof value !== "string" || value === "") return;
  const text = canonicalName(value.slice(0, MAX_TEXT_CHARACTERS).toWellFormed());
  for (const piece of text.split(SPACES)) {
    if (words.size > MAX_OWN_WORDS * 4) return;
    if (piece !== "") words.add(piece);
    for (let at = 1; at < piece.length; at++) {
      if (SEPARATORS.has(piece.charAt(at - 1)) && !SEPARATORS.has(piece.charAt(at))) {
        words.add(piece.slice(at));
      }
    }
  }
}

/** A phone number is found by its digits. The plus is ignored, because many users omit it. */
function addPhone(words: Set<string>, value: string): void {
  const digits = value.slice(0, MAX_TEXT_CHARACTERS).replace(/\D/g, "");
  if (digits === "") addText(words, value);
  else words.add(digits);
}

function textsOf(entries: JsonValue | undefined): string[] {
  if (!Array.isArray(entries)) return [];
  return entries.slice(0, 100).flatMap((entry) =>
    isJsonObject(entry) && typeof entry.value === "string" ? [entry.value] : []
  );
}

/** Removes quotes and commas around a word, and the plus of a phone number. */
function withoutEdges(word: string): string {
  let from = 0;
  let to = word.length;
  while (from < to && EDGES.has(word.charAt(from))) from++;
  while (to > from && EDGES.has(word.charAt(to - 1))) to--;
  const bare = word.slice(from, to);
  return /^\+\d+$/.test(bare) ? bare.slice(1) : bare;
}

/** Attributes whose values are in the word index, and their type. */
export const WORD_ATTRIBUTES: Readonly<Record<ResourceKind, ReadonlyMap<string, "text" | "phone">>> = {
  user: new Map([
    ["userName", "text"],
    ["name.familyName", "text"],
    ["name.givenName", "text"],
    ["name.formatted", "text"],
    ["name.middleName", "text"],
    ["displayName", "text"],
    ["nickName", "text"],
    ["emails.value", "text"],
    ["emails", "text"],
    ["phoneNumbers.value", "phone"],
    ["phoneNumbers", "phone"],
  ]),
  group: new Map([["displayName", "text"]]),
};

/** Attributes that the memberships contain. */
export const MEMBERSHIP_ATTRIBUTES: Readonly<Record<ResourceKind, ReadonlySet<string>>> = {
  user: new Set(["groups", "groups.value", "groups.display"]),
  group: new Set(["members", "members.value", "members.display"]),
};

// Values.

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

/**
 * The keys of a record in the value index, without its name, and the depth of each. Of several values, the one that counts in an order has depth 0.
 * The depth of another is one more than the number of characters that it shares with an earlier one. So for a beginning of n characters, exactly one
 * value of the record has a depth of at most n.
 */
function indexedValues(kind: ResourceKind, record: ResourceRecord): Map<string, number> {
  const entries = new Map<string, number>();
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
function valuesOf(name: IndexedAttribute, record: ResourceRecord, attributes: JsonObject): readonly string[] {
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
