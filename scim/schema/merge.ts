// Merges the attributes of a backend into a resource, and compares them. A backend removes only attributes that it can store. Pure.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Content, JsonObject, JsonValue } from "./resource.ts";
import {
  type AttributePath,
  isJsonArray,
  isJsonObject,
  isSameJson,
  property,
  readPath,
  SCIM_ATTRIBUTES,
  textsOf,
} from "./attributes.ts";
import { ENTERPRISE_SCHEMA, findDefinition, subDefinitions } from "./attribute_table.ts";
import type { Backend, ContentChanges } from "../backend_port.ts";

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
  const waiting = Map.groupBy(read, (entry) => keyOf(entry, subs));
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
  /** How many entries of each key are matched. */
  const counts = new Map<string, number>();
  const kept: JsonObject[] = [];
  for (const [at, entry] of previous.entries()) {
    const key = keyOf(entry, subs);
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    const same = waiting.get(key) ?? [];
    const next = same[count] ?? (subs === null ? undefined : same[0]);
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

// Read-only attributes of a backend (`read_only` in its settings): read from it, and never written.

/** Attributes of users, as `coveredAttributes` spells them: `title`; `name` and `name.givenName`; a URN and `urn:…:department`. */
export type ReadOnlyAttributes = ReadonlySet<string>;

export const NO_READ_ONLY: ReadOnlyAttributes = new Set();

/** The settings of a backend that decide which attributes are read-only. */
type BackendAttributes = Pick<Backend, "covers" | "readOnly">;

/** @param paths SCIM attributes of a user, in the spelling of the interface specification or of the RFC. */
export function toReadOnlyAttributes(paths: readonly string[]): ReadOnlyAttributes {
  return new Set(paths.map((path) => readPath("user", path)).flatMap((path) => [topOf(path), leafOf(path)]));
}

export function isReadOnly(path: AttributePath, readOnly: ReadOnlyAttributes): boolean {
  return readOnly.has(leafOf(path));
}

/** `wanted` with the read-only attributes of `held`. Those that `held` lacks are removed. Names, `active` and groups cannot be read-only. */
export function withReadOnly(wanted: Content, held: Content | null, readOnly: ReadOnlyAttributes): Content {
  if (readOnly.size === 0 || wanted.kind !== "user") return wanted;
  const attributes = held === null ? {} : held.attributes;
  return mergeContent(wanted, { ...wanted, attributes }, readOnly);
}

/** Attributes that are read-only at every backend that stores them, and at least at one. */
export function commonReadOnly(backends: readonly BackendAttributes[]): ReadOnlyAttributes {
  const every = new Set(backends.flatMap(({ readOnly = NO_READ_ONLY }) => [...readOnly]));
  const leaves = [...every].filter((name) => ![...every].some((other) => isBelow(other, name)));
  const own = leaves.filter((leaf) =>
    backends.every(({ covers, readOnly = NO_READ_ONLY }) => readOnly.has(leaf) || !canHold(covers, leaf))
  );
  return new Set(own.flatMap((leaf) => [...[...every].filter((name) => isBelow(leaf, name)), leaf]));
}

/** Display names: an attribute of an extension without the URN, a list as a whole, an object by its parts. */
export function readOnlyNames(readOnly: ReadOnlyAttributes): string[] {
  const leaves = [...readOnly].filter((name) => ![...readOnly].some((other) => isBelow(other, name)));
  return leaves.flatMap((leaf) => {
    if (leaf.startsWith("urn:")) return [leaf.slice(leaf.lastIndexOf(":") + 1)];
    const known = findDefinition(SCIM_ATTRIBUTES.user, leaf);
    return known?.type === "complex" && !known.multiValued
      ? subDefinitions(known).map(({ name }) => `${leaf}.${name}`)
      : [leaf.replace(/\.value$/, "")];
  });
}

function canHold(covers: Backend["covers"], leaf: string): boolean {
  if (covers === null || covers.has(leaf)) return true;
  // A backend that names a whole attribute stores all of its parts.
  const above = [...covers].find((name) => isBelow(leaf, name));
  return above !== undefined && ![...covers].some((name) => isBelow(name, above));
}

/** `name.givenName` is below `name`, an extension's attribute below its URN. */
function isBelow(name: string, above: string): boolean {
  return name.startsWith(above.startsWith("urn:") ? `${above}:` : `${above}.`);
}

function topOf({ schema, attribute }: AttributePath): string {
  return schema ?? attribute;
}

function leafOf({ schema, attribute, sub }: AttributePath): string {
  if (schema !== null) return `${schema}:${attribute}`;
  return sub === null ? attribute : `${attribute}.${sub}`;
}

// What a write changes in a resource, compared with what was agreed before: the attributes, and the members that leave.

export const NO_CHANGES: ContentChanges = { attributes: [], left: [] };
/** An entry of the outbox is one value of the store, with at most 64 KiB. */
const MAX_QUEUED_CHARACTERS = 20_000;

/** The change from `before` to `after`. @param before `null`: the backend does not have the resource. */
export function contentChanges(before: Content | null, after: Content): ContentChanges {
  const attributes = changedPaths(before?.attributes ?? {}, after.attributes);
  if (after.kind === "group") {
    const left = before?.kind === "group" ? leftMembers(before.members, after.members) : [];
    return { attributes, left };
  }
  const isSwitched = before?.kind !== "user" || before.active !== after.active;
  return { attributes: isSwitched ? ["active", ...attributes] : attributes, left: [] };
}

function leftMembers(before: readonly string[], after: readonly string[]): string[] {
  if (before === after) return [];
  const stay = new Set(after.map(canonicalName));
  return before.filter((name) => !stay.has(canonicalName(name)));
}

function changedPaths(before: JsonObject, after: JsonObject): string[] {
  return differing(before, after).flatMap((name) => {
    const [held, wanted] = [property(before, name), property(after, name)];
    if (!isParted(held) || !isParted(wanted)) return [name];
    const separator = name.startsWith("urn:") ? ":" : ".";
    return differing(held ?? {}, wanted ?? {}).map((part) => `${name}${separator}${part}`);
  });
}

/** An absent object has no parts. */
function isParted(value: JsonValue | undefined): value is JsonObject | undefined {
  return value === undefined || isJsonObject(value);
}

/** An empty text is no value. */
function differing(before: JsonObject, after: JsonObject): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => {
    const [held, wanted] = [property(before, name), property(after, name)];
    return !isSameJson(held === "" ? undefined : held, wanted === "" ? undefined : wanted);
  });
}

/** The changes of two writes, of which only the last content is delivered. `undefined`: everything. */
export function mergeChanges(
  first: ContentChanges | undefined,
  second: ContentChanges | undefined,
): ContentChanges | undefined {
  return first === undefined || second === undefined ? undefined : joinChanges(first, second);
}

export function joinChanges(first: ContentChanges, second: ContentChanges): ContentChanges {
  return {
    attributes: [...new Set([...first.attributes, ...second.attributes])],
    left: [...new Set([...first.left, ...second.left])],
  };
}

/** The changes as the outbox stores them. `undefined`, which means everything, if they are too many. */
export function queuedChanges(changes: ContentChanges | undefined): ContentChanges | undefined {
  const { attributes, left } = changes ?? NO_CHANGES;
  const characters = [...attributes, ...left].reduce((sum, text) => sum + text.length + 4, 0);
  return characters > MAX_QUEUED_CHARACTERS ? undefined : changes;
}
