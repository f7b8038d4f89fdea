// Merges the attributes of a backend into a resource. A backend removes only attributes that it can store.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Content, JsonObject, JsonValue } from "./resource.ts";
import { property, textsOf } from "./attributes.ts";
import { ENTERPRISE_SCHEMA } from "./attribute_table.ts";
import { isJsonArray, isJsonObject } from "./json_limits.ts";

const WHOLE: MergeScope = { subs: null, firstOnly: false };

/**
 * Merges `read` into `previous`.
 *
 * @param covers the attributes that the backend can store, from `coveredAttributes`. `null`: all. Other attributes do not change.
 * @returns the merged content. The name and known members have the spelling of `previous`. `active` is that of `read`: the caller must set it
 * if the backend does not store it.
 */
export function mergeContent(
  previous: Content,
  read: Content,
  covers: ReadonlySet<string> | null,
): Content {
  const attributes = mergeAroundManager(previous.attributes, read.attributes, covers);
  if (previous.kind === "user") {
    const active = read.kind === "user" ? read.active : previous.active;
    return { kind: "user", name: previous.name, active, attributes: withPersonName(attributes) };
  }
  const members = read.kind === "group" ? respell(previous.members, read.members) : previous.members;
  return { kind: "group", name: previous.name, attributes, members };
}

function mergeAttributes(
  previous: JsonObject,
  read: JsonObject,
  covers: ReadonlySet<string> | null,
): JsonObject {
  const names = new Set([...Object.keys(previous), ...Object.keys(read)]);
  const merged: [string, JsonValue][] = [];
  for (const name of names) {
    const before = property(previous, name);
    const isCovered = covers === null || covers.has(name);
    const value = isCovered
      ? mergeValue(before, property(read, name), covers === null ? WHOLE : reachOf(name, covers))
      : before;
    if (value !== undefined) merged.push([name, value]);
  }
  return Object.fromEntries(merged);
}

function reachOf(name: string, covers: ReadonlySet<string>): MergeScope {
  const separator = name.startsWith("urn:") ? ":" : ".";
  const head = `${name}${separator}`;
  const subs = [...covers].filter((path) => path.startsWith(head)).map((path) => path.slice(head.length));
  // `covers` names only the whole attribute.
  if (subs.length === 0) return WHOLE;
  return { subs: new Set(subs), firstOnly: [...covers].some((path) => path.startsWith(`${name}[0].`)) };
}

function mergeValue(
  previous: JsonValue | undefined,
  read: JsonValue | undefined,
  reach: MergeScope,
): JsonValue | undefined {
  if (isEntries(previous) || isEntries(read)) {
    return mergeEntries(asEntries(previous), asEntries(read), reach);
  }
  if (isJsonObject(previous) && reach.subs !== null) {
    return mergeObject(previous, isJsonObject(read) ? read : {}, reach.subs);
  }
  if (isJsonObject(previous) || isJsonObject(read)) return read;
  // A backend that stores texts returns a number, or a list of one value, as a text.
  return sameTexts(textsOf(previous), textsOf(read)) ? previous : read;
}

function isEntries(value: JsonValue | undefined): value is readonly JsonValue[] {
  return isJsonArray(value) && value.some(isJsonObject);
}

function asEntries(value: JsonValue | undefined): JsonObject[] {
  const list = isJsonArray(value) ? value : [value];
  return list.filter(isJsonObject);
}

/**
 * `manager` may be a core attribute, as in the interface specification, or in the enterprise extension, as in RFC 7643. It is merged in both cases,
 * and stays where it was.
 */
function mergeAroundManager(
  previous: JsonObject,
  read: JsonObject,
  covers: ReadonlySet<string> | null,
): JsonObject {
  const before = property(previous, ENTERPRISE_SCHEMA);
  const wasInExtension = isJsonObject(before) && property(before, "manager") !== undefined &&
    property(previous, "manager") === undefined;
  const wasCore = property(previous, "manager") !== undefined;
  if (!wasInExtension && !wasCore) return mergeAttributes(previous, read, covers);
  if (wasCore) {
    const isMoved = property(read, "manager") === undefined;
    return mergeAttributes(previous, isMoved ? withCoreManager(read) : read, covers);
  }
  return withEnterpriseManager(mergeAttributes(withCoreManager(previous), withCoreManager(read), covers));
}

/** The interface specification has `manager` as a core attribute. If both places have one, the core attribute counts. */
export function withEnterpriseManager(attributes: JsonObject): JsonObject {
  const { manager, ...rest } = attributes;
  if (manager === undefined) return attributes;
  const extension = property(rest, ENTERPRISE_SCHEMA);
  return { ...rest, [ENTERPRISE_SCHEMA]: { ...isJsonObject(extension) ? extension : {}, manager } };
}

/** Moves `manager` from the extension to the core attributes, unless they already have one. */
export function withCoreManager(attributes: JsonObject): JsonObject {
  const { [ENTERPRISE_SCHEMA]: extension, ...rest } = attributes;
  if (!isJsonObject(extension) || property(rest, "manager") !== undefined) return attributes;
  const { manager, ...others } = extension;
  if (manager === undefined) return attributes;
  return { ...rest, manager, ...(Object.keys(others).length === 0 ? {} : { [ENTERPRISE_SCHEMA]: others }) };
}

/** Another spelling of a member is the same member. */
function respell(previous: readonly string[], read: readonly string[]): string[] {
  const spellings = new Map(previous.map((name) => [canonicalName(name), name]));
  return read.map((name) => spellings.get(canonicalName(name)) ?? name);
}

/** Sub-attributes that state the purpose of an entry. They remain if a backend does not store them. */
const KEPT_WITH_VALUE = ["type", "primary", "display"];
/** The same for an entry that is known only by its position. */
const KEPT_WITH_PLACE = ["type", "primary"];

/** The sub-attributes of a value that a backend stores. `null`: all. */
type Subs = ReadonlySet<string> | null;

/** The part of a value that a backend stores. `firstOnly`: only the first entry. */
interface MergeScope {
  readonly subs: Subs;
  readonly firstOnly: boolean;
}

/** Merges the parts that a backend stores into an object. `undefined` if the result is empty. */
function mergeObject(
  previous: JsonObject,
  read: JsonObject,
  subs: ReadonlySet<string>,
): JsonObject | undefined {
  const merged = new Map<string, JsonValue>(Object.entries(previous));
  for (const sub of subs) {
    const now = property(read, sub);
    // A value that is equal at the backend does not change. Backends do not store empty texts.
    if (sameTexts(textsOf(merged.get(sub)), textsOf(now))) continue;
    if (now === undefined) merged.delete(sub);
    else merged.set(sub, now);
  }
  return merged.size === 0 ? undefined : Object.fromEntries(merged);
}

/** Merges the entries of a multi-valued attribute. `undefined`: no entry remains. */
function mergeEntries(
  previous: readonly JsonObject[],
  read: readonly JsonObject[],
  { subs, firstOnly }: MergeScope,
): JsonObject[] | undefined {
  if (subs !== null && holdsSame(previous, read, { subs, firstOnly })) {
    return previous.length === 0 ? undefined : [...previous];
  }
  if (subs !== null && firstOnly) return mergeFirst(previous, read[0] ?? {}, subs);
  return read.length === 0 ? undefined : mergeAll(previous, read, subs);
}

/**
 * Whether the stored parts of all entries are equal. A directory stores each part as a set of values, without the order, without duplicates, and
 * without the entry of a value. So equal sets count as equal entries.
 */
function holdsSame(
  previous: readonly JsonObject[],
  read: readonly JsonObject[],
  { subs, firstOnly }: { subs: ReadonlySet<string>; firstOnly: boolean },
): boolean {
  const setOf = (entries: readonly JsonObject[], sub: string) => {
    const texts = entries.flatMap((entry) => textsOf(property(entry, sub)));
    return new Set(firstOnly ? texts.slice(0, 1) : texts);
  };
  return [...subs].every((sub) => setOf(previous, sub).symmetricDifference(setOf(read, sub)).size === 0);
}

/** Merges the one entry that a backend stores into the first entry. The backend does not know the others. */
function mergeFirst(
  [first = {}, ...others]: readonly JsonObject[],
  read: JsonObject,
  subs: ReadonlySet<string>,
): JsonObject[] | undefined {
  const merged = mergeObject(first, read, subs) ?? {};
  const isLeft = Object.keys(merged).some((name) => !KEPT_WITH_VALUE.includes(name));
  const entries = isLeft ? [merged, ...others] : others;
  return entries.length === 0 ? undefined : entries;
}

/** Merges entries: first the previous entries that still exist, in their order, then the new ones. */
function mergeAll(previous: readonly JsonObject[], read: readonly JsonObject[], subs: Subs): JsonObject[] {
  const waiting = new Map<string, JsonObject[]>();
  for (const entry of read) {
    const key = keyOf(entry, subs);
    waiting.set(key, [...waiting.get(key) ?? [], entry]);
  }
  const { kept, matched, replaced } = keepEntries(previous, waiting, subs);
  const added = read.flatMap((entry, at) => {
    if (matched.has(entry)) return [];
    // An entry without a value replaced another one at its position, such as a corrected address.
    const before = property(entry, "value") === undefined && replaced.has(at) ? previous[at] : undefined;
    return [before === undefined ? entry : { ...pick(before, KEPT_WITH_PLACE), ...entry }];
  });
  return [...kept, ...added];
}

/** The previous entries that still exist, in their order. */
function keepEntries(
  previous: readonly JsonObject[],
  waiting: ReadonlyMap<string, JsonObject[]>,
  subs: Subs,
): { kept: JsonObject[]; matched: Set<JsonObject>; replaced: Set<number> } {
  const matched = new Set<JsonObject>();
  const replaced = new Set<number>();
  const kept: JsonObject[] = [];
  for (const [at, entry] of previous.entries()) {
    const same = waiting.get(keyOf(entry, subs)) ?? [];
    const next = same.find((one) => !matched.has(one)) ?? (subs === null ? undefined : same[0]);
    if (next === undefined) replaced.add(at);
    else {
      matched.add(next);
      kept.push({ ...(subs === null ? pick(entry, KEPT_WITH_VALUE) : entry), ...next });
    }
  }
  return { kept, matched, replaced };
}

/** The key of an entry: the value, or without one, all parts that the backend stores. */
function keyOf(entry: JsonObject, subs: Subs): string {
  const value = property(entry, "value");
  if (value !== undefined) return JSON.stringify(value);
  const names = [...subs ?? Object.keys(entry)].filter((name) => !KEPT_WITH_VALUE.includes(name)).sort();
  return JSON.stringify(names.map((name) => [name, property(entry, name) ?? null]));
}

function pick(entry: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.flatMap((name): [string, JsonValue][] => {
      const value = property(entry, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, at) => text === b[at]);
}

/** The attributes of a user with `name` first. It always has `familyName` and `givenName`. */
export function withPersonName(attributes: JsonObject): JsonObject {
  const { name, ...rest } = attributes;
  const given: JsonObject = isJsonObject(name) ? name : {};
  const textOr = (value: JsonValue | undefined) => typeof value === "string" ? value : "";
  const familyName = textOr(given["familyName"]);
  const givenName = textOr(given["givenName"]);
  return { name: { ...given, familyName, givenName }, ...rest };
}
