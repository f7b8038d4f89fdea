// The value index: one entry for each value of an indexed attribute of a resource.

import type { Store } from "../../platform/store.ts";
import type { IndexedAttribute } from "../index_port.ts";
import type { JsonObject, JsonValue, ResourceKind } from "../schema/resource.ts";
import { property } from "../schema/attributes.ts";
import { isJsonArray, isJsonObject } from "../schema/json_limits.ts";
import type { CountedIndex } from "./counted_index.ts";
import { DEPTHS } from "./index_bucket.ts";
import { openCountedIndex } from "./index_follower.ts";
import { type DirectoryKeys, LAST_CHARACTER } from "./keys.ts";
import type { ResourceRecord } from "./records.ts";
import {
  comparedText,
  dateText,
  INDEXED_VALUES,
  type IndexedAttributeRow,
  markedText,
  MORE_VALUES,
  NO_VALUE,
} from "./value_keys.ts";

/** To count a bucket that is only partly in a range, at most this many keys are read. */
const MAX_VALUES_PER_BUCKET = 256;
/** More values of one attribute of a resource are not indexed, so that a write fits into a commit. */
const MAX_VALUES_OF_ONE = 100;

interface ValueIndexPlace {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  /** Present if other nodes use the store, too. */
  readonly nowMs?: (() => number) | undefined;
}

export function openValueIndex(
  { store, keys, nowMs }: ValueIndexPlace,
  kind: ResourceKind,
): Promise<CountedIndex> {
  return openCountedIndex({
    store,
    nowMs,
    prefix: keys.buckets(`${kind} values`),
    log: keys.indexLog(`${kind} values`),
    stores: "depths",
    maxEntries: MAX_VALUES_PER_BUCKET,
    async *entries(from, to) {
      const selector = {
        start: keys.valuePlace(kind, from),
        end: keys.valuePlace(kind, to ?? LAST_CHARACTER),
      };
      for await (const { key, value } of store.range<number>(selector)) {
        yield { key: key.slice(3).join("\0"), depth: Math.min(value ?? 0, DEPTHS - 1) };
      }
    },
    entryMutation(place, depth) {
      const key = keys.valuePlace(kind, place);
      return depth === null ? { type: "delete", key } : { type: "set", key, value: depth };
    },
  });
}

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
