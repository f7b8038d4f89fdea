// Search terms of a resource: parts of names, e-mail addresses, phone numbers and groups, matched by prefix.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { JsonObject, JsonValue } from "../schema/resource.ts";

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
  const names = isObject(attributes.name) ? attributes.name : {};
  for (const part of NAME_PARTS) addText(own, names[part]);
  addText(own, attributes.displayName);
  addText(own, attributes.nickName);
  for (const value of valuesOf(attributes.emails)) addText(own, value);
  for (const value of valuesOf(attributes.phoneNumbers)) addPhone(own, value);
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
    entries.set(cut, commonLength(previous, cut));
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

function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a.charCodeAt(length) === b.charCodeAt(length)) length++;
  return length;
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

function valuesOf(entries: JsonValue | undefined): string[] {
  if (!Array.isArray(entries)) return [];
  return entries.slice(0, 100).flatMap((entry) =>
    isObject(entry) && typeof entry.value === "string" ? [entry.value] : []
  );
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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
