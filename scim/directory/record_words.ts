// The words that a record is found by in a search.

import { indexWords, wordsOfGroup, wordsOfUser } from "../filter/search_terms.ts";
import type { ResourceKind } from "../schema/resource.ts";
import type { KeptRecord } from "./records.ts";

/** The words that a resource is found by. */
export function recordWords(kind: ResourceKind, { name, text, groups }: KeptRecord): string[] {
  return kind === "group" ? wordsOfGroup(name) : wordsOfUser({ name, attributes: JSON.parse(text), groups });
}

/** The same words with the depth of each in the index; `null` has none. */
export function indexedWords(kind: ResourceKind, record: KeptRecord | null): Map<string, number> {
  return indexWords(record === null ? [] : recordWords(kind, record));
}

/** Whether two records are found by the same words, without working them out. */
export function hasSameWords(before: KeptRecord | null, after: KeptRecord | null): boolean {
  return before !== null && after !== null && before.name === after.name && before.text === after.text &&
    before.groups.length === after.groups.length &&
    before.groups.every((name, at) => name === after.groups[at]);
}
