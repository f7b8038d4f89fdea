// Applies one PATCH operation to a resource (RFC 7644 §3.5.2.1 to §3.5.2.3): checks its value, and gives it the exact spelling of the schema (RFC 7643 §2).
// Pure: JSON in, JSON out.

import {
  canonicalJson,
  entryKey,
  isJsonArray,
  isJsonObject,
  isPrimary,
  property,
} from "../../schema/attributes.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import type { ScimFilter } from "../../filter/filter.ts";
import { matchesEntryFilter } from "../../filter/filter_match.ts";
import { entryNode, type PatchPath, PatchRefusal, type PatchSection } from "./patch_path.ts";
import { type AttributeDefinition, findSub, subDefinitions } from "../../schema/attribute_table.ts";
import { simpleValueProblem } from "../../schema/read_value.ts";

/** One operation, parsed. */
export interface PatchOperation {
  readonly op: "add" | "replace" | "remove";
  readonly path: PatchPath;
  /** Absent for `remove`. */
  readonly value: JsonValue | undefined;
  /** `remove` removes only the entries with these values. */
  readonly only?: readonly string[] | undefined;
  /** The filter of the path describes an entry, and the operation creates it if no entry matches. */
  readonly creates?: boolean | undefined;
}

const MAX_LIST_LENGTH = 10_000;

/**
 * The resource after one operation. An extension that has no attribute left is removed.
 *
 * @throws PatchRefusal
 */
export function applyOperation(resource: JsonObject, operation: PatchOperation): JsonObject {
  const { section, attribute } = operation.path;
  if (attribute === null) return withoutSection(resource, section);
  const holder = holderOf(resource, section);
  const current = property(holder, attribute.name);
  const next = changeAttribute(current, operation, attribute);
  if (next === current) return resource;
  const changed = withPart(holder, attribute.name, next);
  return section.isCore ? changed ?? {} : withPart(resource, section.id, changed) ?? {};
}

/** The object that has the attributes of a schema. */
export function holderOf(resource: JsonObject, section: PatchSection): JsonObject {
  if (section.isCore) return resource;
  const holder = property(resource, section.id);
  return isJsonObject(holder) ? holder : {};
}

function withoutSection(resource: JsonObject, section: PatchSection): JsonObject {
  const holder = holderOf(resource, section);
  const fixed = section.attributes.find((one) =>
    Object.hasOwn(holder, one.name) && (one.required || one.mutability !== "readWrite")
  );
  if (fixed !== undefined) {
    throw new PatchRefusal(
      "mutability",
      `Keep the extension: its attribute "${fixed.name}" cannot be removed.`,
    );
  }
  return withPart(resource, section.id, undefined) ?? {};
}

function changeAttribute(
  current: JsonValue | undefined,
  operation: PatchOperation,
  node: AttributeDefinition,
): JsonValue | undefined {
  const { op, value, path: { filter, sub } } = operation;
  if (node.mutability === "readOnly" || sub?.mutability === "readOnly") {
    const isSame = op !== "remove" && filter === null && sub === null && value !== undefined &&
      canonicalJson(value) === canonicalJson(current);
    if (isSame) return current;
    throw new PatchRefusal("mutability", `Do not change "${(sub ?? node).name}": it is readOnly.`);
  }
  if (op === "remove" && (node.mutability === "writeOnly" || (sub ?? node).required)) {
    throw new PatchRefusal("mutability", `Replace "${(sub ?? node).name}": it cannot be removed.`);
  }
  const isSelection = node.multiValued && (filter !== null || sub !== null || operation.only !== undefined);
  const next = isSelection
    ? changeSelected(current, operation, node)
    : sub === null
    ? changeWhole(current, operation, node)
    : changeSub(isJsonObject(current) ? current : {}, operation, sub);
  checkImmutable(current, next, node);
  return next;
}

/** Changes an attribute without a filter and without a sub-attribute. */
function changeWhole(
  current: JsonValue | undefined,
  { op, value }: Pick<PatchOperation, "op" | "value">,
  node: AttributeDefinition,
): JsonValue | undefined {
  if (op === "remove") return undefined;
  const given = requireValue(value, node);
  if (!node.multiValued) {
    const isMerge = node.type === "complex" && isJsonObject(current) && given !== null;
    return isMerge ? mergeComplex(current, given, node) : cleanAttribute(given, node);
  }
  const cleaned = cleanAttribute(given, node);
  const old = op === "add" && isJsonArray(current) ? current : [];
  if (!isJsonArray(cleaned)) return old.length === 0 ? undefined : old;
  return appendEntries(old, cleaned, node);
}

function changeSub(
  entry: JsonObject,
  operation: Pick<PatchOperation, "op" | "value">,
  sub: AttributeDefinition,
): JsonObject | undefined {
  const before = property(entry, sub.name);
  const after = changeWhole(before, operation, sub);
  checkImmutable(before, after, sub);
  return withPart(entry, sub.name, after);
}

/** Changes the entries that the path selects: by a filter, or all of them. */
function changeSelected(
  current: JsonValue | undefined,
  operation: PatchOperation,
  node: AttributeDefinition,
): JsonValue | undefined {
  const entries = isJsonArray(current) ? current : [];
  const selects = selectorOf(operation, node);
  const touched = new Set<JsonValue>();
  let isSelected = false;
  const next = entries.flatMap((entry) => {
    if (!selects(entry)) return [entry];
    isSelected = true;
    const changed = changeEntry(entry, operation, node);
    if (changed !== undefined) touched.add(changed);
    return changed === undefined ? [] : [changed];
  });
  const { op, path: { filter }, creates = false } = operation;
  if (op !== "remove" && !isSelected) {
    // A sub-attribute of a list without entries is made like any other part that is missing.
    const isEmpty = filter === null && entries.length === 0 && operation.only === undefined;
    const template = creates && filter !== null ? templateOf(filter, node) : isEmpty ? {} : null;
    if (template === null) {
      throw new PatchRefusal(
        "noTarget",
        `Select an entry that exists: "${node.name}" has none that matches.`,
      );
    }
    const created = changeEntry(template, { ...operation, op: "add" }, node);
    // Nothing to create: the value is null.
    if (created === undefined || canonicalJson(created) === canonicalJson(template)) return current;
    return appendEntries(entries, [created], node);
  }
  return next.length === 0 ? undefined : settlePrimary(next, touched, node);
}

function selectorOf({ path: { filter }, only }: PatchOperation, node: AttributeDefinition) {
  const values = only === undefined ? null : new Set<JsonValue | undefined>(only);
  return (entry: JsonValue): boolean => {
    const view = isJsonObject(entry) ? entry : { value: entry };
    if (values !== null && !values.has(property(view, "value"))) return false;
    return filter === null || matchesEntryFilter(filter, view, (name) => entryNode(node, name));
  };
}

function changeEntry(
  entry: JsonValue,
  operation: PatchOperation,
  node: AttributeDefinition,
): JsonValue | undefined {
  const { op, path: { sub }, value } = operation;
  if (sub !== null) return isJsonObject(entry) ? changeSub(entry, operation, sub) : entry;
  if (op === "remove") return undefined;
  const given = requireValue(value, node);
  // RFC 7644 §3.5.2.3 can mean the whole entry, or a set of its sub-attributes. To change only those that are sent loses nothing.
  const changed = isJsonObject(entry) && given !== null
    ? mergeComplex(entry, given, node)
    : cleanEntry(given, node);
  if (isJsonObject(entry) && isJsonObject(changed)) checkImmutableParts(entry, changed, node);
  return changed;
}

function requireValue(value: JsonValue | undefined, node: AttributeDefinition): JsonValue {
  if (value === undefined) throw new PatchRefusal("invalidValue", `Send a value for "${node.name}".`);
  return value;
}

/** Adds entries. An entry with the same type and value is changed instead (RFC 7643 §2.4: each pair occurs once). */
function appendEntries(
  old: readonly JsonValue[],
  added: readonly JsonValue[],
  node: AttributeDefinition,
): JsonValue[] {
  const entries = [...old];
  const places = new Map(entries.map((entry, place) => [entryKey(entry), place]));
  const touched = new Map<string, JsonValue>();
  for (const entry of added) {
    const key = entryKey(entry);
    const place = places.get(key) ?? entries.length;
    const before = entries[place];
    const merged = isJsonObject(before) && isJsonObject(entry) ? { ...before, ...entry } : entry;
    if (isJsonObject(before) && isJsonObject(merged)) checkImmutableParts(before, merged, node);
    entries[place] = merged;
    places.set(key, place);
    touched.set(key, merged);
  }
  if (entries.length > MAX_LIST_LENGTH) {
    throw new PatchRefusal("invalidValue", `Keep at most ${MAX_LIST_LENGTH} entries of "${node.name}".`);
  }
  return settlePrimary(entries, new Set(touched.values()), node);
}

/** RFC 7644 §3.5.2: an operation that sets `primary` to true sets it to false for the other values. */
function settlePrimary(
  entries: JsonValue[],
  touched: ReadonlySet<JsonValue>,
  node: AttributeDefinition,
): JsonValue[] {
  if (findSub(node, "primary") === undefined) return entries;
  const primaries = [...touched].filter(isPrimary);
  if (primaries.length === 0) return entries;
  return entries.map((entry) =>
    isPrimary(entry) && isJsonObject(entry) && !touched.has(entry) ? { ...entry, primary: false } : entry
  );
}

function checkImmutable(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  node: AttributeDefinition,
): void {
  if (
    node.mutability === "immutable" && before !== undefined && canonicalJson(before) !== canonicalJson(after)
  ) {
    throw new PatchRefusal("mutability", `Do not change "${node.name}": it is immutable.`);
  }
  if (!node.multiValued && isJsonObject(before) && isJsonObject(after)) {
    checkImmutableParts(before, after, node);
  }
}

function checkImmutableParts(before: JsonObject, after: JsonObject, node: AttributeDefinition): void {
  for (const sub of subDefinitions(node)) {
    if (sub.mutability === "immutable") {
      checkImmutable(property(before, sub.name), property(after, sub.name), sub);
    }
  }
}

/** The entry that a filter of `eq` and `and` describes. `null`: the filter describes more than one entry. */
function templateOf(filter: ScimFilter, node: AttributeDefinition): JsonObject | null {
  if (node.type !== "complex") return null;
  const parts = filter.kind === "and" ? filter.filters : [filter];
  let entry: JsonObject = {};
  for (const part of parts) {
    if (part.kind !== "compare" || part.operator !== "eq" || part.value === null) return null;
    const known = entryNode(node, part.path.attribute);
    if (known === undefined || known.mutability === "readOnly" || Object.hasOwn(entry, known.name)) {
      return null;
    }
    const isTruth = known.type === "boolean" && typeof part.value === "string";
    const value = isTruth ? String(part.value).toLowerCase() === "true" : part.value;
    entry = { ...entry, [known.name]: cleanAttribute(value, known) ?? value };
  }
  return entry;
}

/**
 * The value of a whole attribute, in the spelling of the schema. `undefined`: unassigned, because null and an empty list mean that (RFC 7643 §2.5).
 *
 * @param at the name in messages.
 * @throws PatchRefusal `invalidValue`, or `mutability` for a sub-attribute that is readOnly.
 */
export function cleanAttribute(
  value: JsonValue,
  node: AttributeDefinition,
  at: string = node.name,
): JsonValue | undefined {
  if (value === null) return undefined;
  if (!node.multiValued) return cleanEntry(value, node, at);
  if (!isJsonArray(value)) throw new PatchRefusal("invalidValue", `Send "${at}" as a list.`);
  const entries = value.flatMap((one) => {
    const entry = cleanEntry(one, node, at);
    return entry === undefined ? [] : [entry];
  });
  return entries.length === 0 ? undefined : entries;
}

/** {@link cleanAttribute} for one entry of a multi-valued attribute. */
function cleanEntry(
  value: JsonValue,
  node: AttributeDefinition,
  at: string = node.name,
): JsonValue | undefined {
  if (value === null) return undefined;
  if (node.type === "complex") return cleanComplex(value, node);
  const problem = simpleValueProblem(node, value);
  if (problem !== null) throw new PatchRefusal("invalidValue", `"${at}" ${problem}.`);
  return value;
}

function cleanComplex(value: JsonValue, node: AttributeDefinition): JsonObject | undefined {
  const parts = cleanParts(value, node).filter(([, part]) => part !== undefined);
  return parts.length === 0 ? undefined : Object.fromEntries(parts) as JsonObject;
}

/** The sub-attributes of a complex value. `undefined`: the sub-attribute becomes unassigned. */
function cleanParts(value: JsonValue, node: AttributeDefinition): [string, JsonValue | undefined][] {
  if (!isJsonObject(value)) throw new PatchRefusal("invalidValue", `Send "${node.name}" as an object.`);
  const seen = new Set<AttributeDefinition>();
  return Object.entries(value).map(([name, part]) => {
    const sub = findSub(node, name);
    if (sub !== undefined && seen.size === seen.add(sub).size) throw sentTwice(`${node.name}.${sub.name}`);
    if (sub === undefined) {
      throw new PatchRefusal("invalidValue", `Use the sub-attributes of "${node.name}" that /Schemas lists.`);
    }
    if (sub.mutability === "readOnly") {
      throw new PatchRefusal(
        "mutability",
        `Remove "${node.name}.${sub.name}" from the value: it is readOnly.`,
      );
    }
    return [sub.name, cleanAttribute(part, sub, `${node.name}.${sub.name}`)];
  });
}

/** The refusal for one name in two spellings: another reader of the body may take the other value. */
export function sentTwice(name: string): PatchRefusal {
  return new PatchRefusal("invalidSyntax", `Send "${name}" once. Case does not count.`);
}

/** A complex value with the given sub-attributes changed. The others stay (RFC 7644 §3.5.2.3). `undefined`: none is left. */
function mergeComplex(
  current: JsonObject,
  value: JsonValue,
  node: AttributeDefinition,
): JsonObject | undefined {
  return cleanParts(value, node).reduce<JsonObject | undefined>(
    (merged, [name, part]) => withPart(merged ?? {}, name, part),
    current,
  );
}

/** An object with one part set, or without it. `undefined`: no part is left. */
export function withPart(
  object: JsonObject,
  name: string,
  part: JsonValue | undefined,
): JsonObject | undefined {
  const { [name]: _, ...others } = object;
  if (part !== undefined) return { ...object, [name]: part };
  return Object.keys(others).length === 0 ? undefined : others;
}

/**
 * Checks an attribute after all operations: required parts, and at most one primary entry (RFC 7643 §2.2 and §2.4).
 *
 * @throws PatchRefusal `mutability` for a missing required attribute (RFC 7644 §3.5.2.2), or `invalidValue`.
 */
export function checkAttribute(value: JsonValue | undefined, node: AttributeDefinition): void {
  if (value === undefined || value === "") {
    if (!node.required) return;
    throw new PatchRefusal("mutability", `Keep a value of "${node.name}": it is required.`);
  }
  if (node.type !== "complex") return;
  const entries = isJsonArray(value) ? value : [value];
  const required = subDefinitions(node).filter(({ required }) => required);
  for (const entry of entries) {
    const missing = required.find(({ name }) => !isJsonObject(entry) || !Object.hasOwn(entry, name));
    if (missing !== undefined) {
      throw new PatchRefusal("invalidValue", `Send "${node.name}.${missing.name}" too: it is required.`);
    }
  }
  if (entries.filter(isPrimary).length > 1) {
    throw new PatchRefusal("invalidValue", `Mark at most one entry of "${node.name}" as primary.`);
  }
}
