// What a backend says of a resource, laid over what is known of it: a backend that holds less takes nothing away that it could not hold.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Content, JsonObject, JsonValue } from "./resource.ts";
import { property, textsOf } from "./attribute_path.ts";
import { ENTERPRISE_SCHEMA } from "./attribute_table.ts";
import { isArray, isObject } from "./json_limits.ts";
import { mergeEntries, mergeObject, type Reach, sameTexts } from "./merge_entries.ts";
import { withName } from "./person_name.ts";

const WHOLE: Reach = { subs: null, firstOnly: false };

/**
 * Lays `read` over `previous`.
 *
 * @param covers what the backend can hold, as `coveredAttributes` gives it; `null` for everything. Other attributes stay as they are.
 * @returns the name and the members that were there in their spelling. `active` is what was read: a caller that reads a backend that does not know it
 * says so in `read`.
 */
export function mergeContent(
  previous: Content,
  read: Content,
  covers: ReadonlySet<string> | null,
): Content {
  const attributes = mergeAroundManager(previous.attributes, read.attributes, covers);
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
    const isCovered = covers === null || covers.has(name);
    const value = isCovered
      ? mergeValue(before, property(read, name), covers === null ? WHOLE : reachOf(name, covers))
      : before;
    if (value !== undefined) merged.push([name, value]);
  }
  return Object.fromEntries(merged);
}

function reachOf(name: string, covers: ReadonlySet<string>): Reach {
  const separator = name.startsWith("urn:") ? ":" : ".";
  const head = `${name}${separator}`;
  const subs = [...covers].filter((path) => path.startsWith(head)).map((path) => path.slice(head.length));
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
  if (isObject(previous) || isObject(read)) return read;
  // A number, or a list of one, comes back from a backend of texts as a text.
  return sameTexts(textsOf(previous), textsOf(read)) ? previous : read;
}

function isEntries(value: JsonValue | undefined): value is readonly JsonValue[] {
  return isArray(value) && value.some(isObject);
}

function asEntries(value: JsonValue | undefined): JsonObject[] {
  const list = isArray(value) ? value : [value];
  return list.filter(isObject);
}

/**
 * The manager stands beside the core attributes, as the document has it, or in the enterprise extension: it is merged wherever it stands, and stays
 * where it stood before.
 */
function mergeAroundManager(
  previous: JsonObject,
  read: JsonObject,
  covers: ReadonlySet<string> | null,
): JsonObject {
  const before = property(previous, ENTERPRISE_SCHEMA);
  const stoodInside = isObject(before) && property(before, "manager") !== undefined &&
    property(previous, "manager") === undefined;
  const stoodBeside = property(previous, "manager") !== undefined;
  if (!stoodInside && !stoodBeside) return mergeAttributes(previous, read, covers);
  if (stoodBeside) {
    const isMoved = property(read, "manager") === undefined;
    return mergeAttributes(previous, isMoved ? besideExtension(read) : read, covers);
  }
  const { manager, ...merged } = mergeAttributes(besideExtension(previous), besideExtension(read), covers);
  if (manager === undefined) return merged;
  const extension = property(merged, ENTERPRISE_SCHEMA);
  return { ...merged, [ENTERPRISE_SCHEMA]: { ...(isObject(extension) ? extension : {}), manager } };
}

/** The same attributes with the manager taken out of the extension, unless there is one beside it. */
function besideExtension(attributes: JsonObject): JsonObject {
  const { [ENTERPRISE_SCHEMA]: extension, ...rest } = attributes;
  if (!isObject(extension) || property(rest, "manager") !== undefined) return attributes;
  const { manager, ...others } = extension;
  if (manager === undefined) return attributes;
  return { ...rest, manager, ...(Object.keys(others).length === 0 ? {} : { [ENTERPRISE_SCHEMA]: others }) };
}

/** Another spelling of a member is the same member. */
function respell(previous: readonly string[], read: readonly string[]): string[] {
  const spellings = new Map(previous.map((name) => [canonicalName(name), name]));
  return read.map((name) => spellings.get(canonicalName(name)) ?? name);
}
