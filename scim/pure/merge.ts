// What a backend says of a resource, laid over what is known of it: a backend that holds less takes nothing away that it could not hold.

import { canonicalName } from "../../canonical_name.ts";
import type { Content, JsonObject, JsonValue } from "../ports.ts";
import { property, textsOf } from "./attribute_path.ts";
import { ENTERPRISE_SCHEMA } from "./attribute_table.ts";
import { isArray, isObject } from "./json_limits.ts";
import { withName } from "./person_name.ts";

/** Sub-attributes that say what an entry is for; they outlive a backend that forgets them. */
const KEPT_WITH_VALUE = ["type", "primary", "display"];
/** The same for an entry that is known by its place only. */
const KEPT_WITH_PLACE = ["type", "primary"];

/** Which sub-attributes of a value a backend holds; `null` for all. */
type Subs = ReadonlySet<string> | null;

/** What a backend holds of a value; `firstOnly`: of several entries, the first. */
interface Reach {
  readonly subs: Subs;
  readonly firstOnly: boolean;
}

const WHOLE: Reach = { subs: null, firstOnly: false };

/**
 * Lays `read` over `previous`.
 *
 * @param covers what the backend can hold, as `coveredAttributes` gives it; `null` for everything. Other attributes stay as they are.
 * @returns the name and the members that were there in their spelling. `active` is what was read: whoever reads a backend that does not know it
 * says so in `read`.
 */
export function mergeContent(
  previous: Content,
  read: Content,
  covers: ReadonlySet<string> | null,
): Content {
  const attributes = mergeAttributes(
    previous.attributes,
    alignManager(previous.attributes, read.attributes),
    covers,
  );
  if (previous.kind === "user") {
    const active = read.kind === "user" ? read.active : previous.active;
    return { kind: "user", name: previous.name, active, attributes: withName(attributes) };
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
    const isCovered = covers === null || covers.has(name) || managerIsCovered(name, before, covers);
    const value = isCovered
      ? mergeValue(before, property(read, name), covers === null ? WHOLE : reachOf(name, covers))
      : before;
    if (value !== undefined) merged.push([name, value]);
  }
  return Object.fromEntries(merged);
}

/** The manager that stands in the extension is the one that `manager` covers. */
function managerIsCovered(
  name: string,
  before: JsonValue | undefined,
  covers: ReadonlySet<string>,
): boolean {
  return name === ENTERPRISE_SCHEMA && covers.has("manager") && isObject(before) &&
    property(before, "manager") !== undefined;
}

function reachOf(name: string, covers: ReadonlySet<string>): Reach {
  const separator = name.startsWith("urn:") ? ":" : ".";
  const head = `${name}${separator}`;
  const subs = [...covers].filter((path) => path.startsWith(head)).map((path) => path.slice(head.length));
  if (name === ENTERPRISE_SCHEMA && covers.has("manager")) subs.push("manager");
  // Only the attribute as a whole is named.
  if (subs.length === 0) return WHOLE;
  return { subs: new Set(subs), firstOnly: [...covers].some((path) => path.startsWith(`${name}[0].`)) };
}

function mergeValue(
  previous: JsonValue | undefined,
  read: JsonValue | undefined,
  reach: Reach,
): JsonValue | undefined {
  if (isEntries(previous) || isEntries(read)) {
    return mergeEntries(asEntries(previous), asEntries(read), reach);
  }
  if (isObject(previous) && reach.subs !== null) {
    return mergeObject(previous, isObject(read) ? read : {}, reach.subs);
  }
  if (read === undefined || previous === undefined || isObject(read)) return read;
  // A number, or a list of one, comes back from a backend of texts as a text.
  return sameTexts(textsOf(previous), textsOf(read)) ? previous : read;
}

function mergeObject(
  previous: JsonObject,
  read: JsonObject,
  subs: ReadonlySet<string>,
): JsonObject | undefined {
  const merged = new Map<string, JsonValue>(Object.entries(previous));
  for (const sub of subs) {
    const before = merged.get(sub);
    const now = property(read, sub);
    if (now === undefined) merged.delete(sub);
    // The manager inside of the extension: what is not a text there stays.
    else merged.set(sub, isObject(before) && isObject(now) ? { ...before, ...now } : now);
  }
  return merged.size === 0 ? undefined : Object.fromEntries(merged);
}

function isEntries(value: JsonValue | undefined): value is readonly JsonValue[] {
  return isArray(value) && value.some(isObject);
}

function asEntries(value: JsonValue | undefined): JsonObject[] {
  const list = isArray(value) ? value : [value];
  return list.filter(isObject);
}

function mergeEntries(
  previous: readonly JsonObject[],
  read: readonly JsonObject[],
  { subs, firstOnly }: Reach,
): JsonObject[] | undefined {
  if (subs !== null && holdsSame(previous, read, { subs, firstOnly })) {
    return previous.length === 0 ? undefined : [...previous];
  }
  if (subs !== null && firstOnly) return mergeFirst(previous, read[0] ?? {}, subs);
  return read.length === 0 ? undefined : mergeAll(previous, read, subs);
}

/**
 * A directory keeps the parts of entries as sets: it loses which belongs to which, their order, and what two have in common. Where the sets are the
 * same, so are the entries.
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

/** Lays the one entry that a backend holds over the first; the others it knows nothing of. */
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

/** Lays entries over entries: those of before that are still there, in their order, then the new ones. */
function mergeAll(previous: readonly JsonObject[], read: readonly JsonObject[], subs: Subs): JsonObject[] {
  const waiting = new Map<string, JsonObject[]>();
  for (const entry of read) {
    const key = keyOf(entry, subs);
    waiting.set(key, [...waiting.get(key) ?? [], entry]);
  }
  const { kept, matched, replaced } = keepEntries(previous, waiting, subs);
  const added = read.flatMap((entry, at) => {
    if (matched.has(entry)) return [];
    // An entry without a value of its own that took another's place: an address that was corrected.
    const before = property(entry, "value") === undefined && replaced.has(at) ? previous[at] : undefined;
    return [before === undefined ? entry : { ...pick(before, KEPT_WITH_PLACE), ...entry }];
  });
  return [...kept, ...added];
}

/** The entries of before that are still there, in their order. */
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

/** What tells two entries apart: the value, or where there is none, all that the backend holds of them. */
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

/** Puts the manager that was read where it stood before: beside the core attributes, or in the enterprise extension. */
function alignManager(previous: JsonObject, read: JsonObject): JsonObject {
  const { manager, [ENTERPRISE_SCHEMA]: extension, ...rest } = read;
  const inside = isObject(extension) ? extension : {};
  const before = property(previous, ENTERPRISE_SCHEMA);
  const wasInside = isObject(before) && property(before, "manager") !== undefined;
  const wasBeside = property(previous, "manager") !== undefined;
  if (manager !== undefined && wasInside && !wasBeside) {
    return { ...rest, [ENTERPRISE_SCHEMA]: { ...inside, manager } };
  }
  const { manager: insideManager, ...others } = inside;
  if (insideManager !== undefined && manager === undefined && wasBeside && !wasInside) {
    return {
      ...rest,
      manager: insideManager,
      ...(Object.keys(others).length === 0 ? {} : { [ENTERPRISE_SCHEMA]: others }),
    };
  }
  return read;
}

/** Another spelling of a member is the same member. */
function respell(previous: readonly string[], read: readonly string[]): string[] {
  const spellings = new Map(previous.map((name) => [canonicalName(name), name]));
  return read.map((name) => spellings.get(canonicalName(name)) ?? name);
}
