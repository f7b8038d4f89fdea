// Attributes in the filters and orders of the RFC interface: the names that a target's schemas define, the values of a resource (RFC 7644 §3.4.2.2, §3.10), and the
// index that has an order, or the value that each resource has in it (§3.4.2.3).

import { compareText } from "../../directory/keys.ts";
import {
  type FilterNames,
  type FilterPath,
  filterPaths,
  parseFilterWith,
  pathText,
  qualifyPaths,
  type ScimFilter,
} from "../../filter/filter.ts";
import type { FilterAccess } from "../../filter/filter_match.ts";
import { isJsonArray, isJsonObject, property } from "../../schema/attributes.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import {
  type AttributeDefinition,
  findDefinition,
  findSub,
  type ResourceTypeDefinition,
} from "../../schema/attribute_table.ts";
import { resolveAttribute, topLevelDefinitions } from "../schema/target_schemas.ts";
import {
  comparedText,
  dateText,
  INDEXED_VALUES,
  indexText,
  markedText,
  NO_VALUE,
} from "../../directory/index_keys.ts";
import type { ListedBy } from "../../ports.ts";

type ReadFilterOutcome =
  | { readonly ok: true; readonly filter: ScimFilter }
  | { readonly ok: false; readonly detail: string };

const MAX_SHOWN_NAME = 100;

/** Parses a filter and checks each name and comparison after `rewrite`. The paths have the spelling of the schemas. */
export function readResourceFilter(
  type: ResourceTypeDefinition,
  text: string,
  rewrite: (filter: ScimFilter) => ScimFilter = (filter) => filter,
): ReadFilterOutcome {
  const names: FilterNames = {
    top: (word) => readAttributePath(type, word) ?? unknownPath(word),
    sub: (word, parent) => {
      const definition = definitionAt(type, parent);
      const sub = definition === undefined ? undefined : findSub(definition, word);
      return { schema: null, attribute: sub?.name ?? unknownPath(word).attribute, sub: null };
    },
  };
  const parsed = parseFilterWith(text, names);
  if (!parsed.ok) return { ok: false, detail: `The filter is not valid: ${parsed.problem}.` };
  const filter = rewrite(parsed.filter);
  const detail = pathProblem(type, filter) ?? comparisonProblem(type, filter);
  return detail === null ? { ok: true, filter } : { ok: false, detail };
}

/**
 * Reads `userName`, `name.familyName`, or a name after the URN of its schema (RFC 7644 §3.10). Entra ID names attributes of extensions without the URN
 * (`manager eq "…"`), so a name that no core schema has is searched in the extensions.
 *
 * @returns the path in the spelling of the schemas; `undefined`: no schema of the type has the attribute.
 */
export function readAttributePath(type: ResourceTypeDefinition, text: string): FilterPath | undefined {
  const whole = wholePath(type, text);
  if (whole !== undefined) return whole;
  // A URN has dots, too, so only the last one can begin a sub-attribute.
  const dot = text.lastIndexOf(".");
  const head = dot < 0 ? undefined : wholePath(type, text.slice(0, dot));
  const definition = head === undefined ? undefined : definitionAt(type, head);
  if (head === undefined || definition === undefined) return undefined;
  const sub = findSub(definition, text.slice(dot + 1));
  return sub === undefined ? undefined : { ...head, sub: sub.name };
}

function wholePath(type: ResourceTypeDefinition, name: string): FilterPath | undefined {
  const found = resolveAttribute(type, name);
  if (found !== undefined) {
    const { extension, attribute } = found;
    if (attribute === null) return { schema: null, attribute: extension.id, sub: null };
    return { schema: extension?.id ?? null, attribute: attribute.name, sub: null };
  }
  for (const { schema } of type.extensions) {
    const attribute = findDefinition(schema.attributes, name);
    if (attribute !== undefined) return { schema: schema.id, attribute: attribute.name, sub: null };
  }
  return undefined;
}

function unknownPath(word: string): FilterPath {
  return { schema: null, attribute: word.slice(0, MAX_SHOWN_NAME).toWellFormed(), sub: null };
}

/** The definition at a path. `undefined` for an extension as a whole. */
export function definitionAt(
  type: ResourceTypeDefinition,
  { schema, attribute, sub }: FilterPath,
): AttributeDefinition | undefined {
  const definitions = schema === null
    ? topLevelDefinitions(type)
    : type.extensions.find((one) => one.schema.id === schema)?.schema.attributes ?? [];
  const definition = findDefinition(definitions, attribute);
  return sub === null || definition === undefined ? definition : findSub(definition, sub);
}

function pathProblem(type: ResourceTypeDefinition, filter: ScimFilter): string | null {
  for (const path of filterPaths(filter)) {
    const isExtension = path.sub === null &&
      type.extensions.some(({ schema }) => schema.id === path.attribute);
    const definition = definitionAt(type, path);
    if (definition === undefined && !isExtension) {
      return `No ${type.name} has the attribute "${pathText(path)}". Name an attribute of /Schemas.`;
    }
    // A comparison would reveal it.
    if (definition?.returned === "never") return `A filter cannot compare "${pathText(path)}".`;
  }
  return null;
}

function comparisonProblem(type: ResourceTypeDefinition, filter: ScimFilter): string | null {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.filters.map((one) => comparisonProblem(type, one)).find((one) => one !== null) ?? null;
    case "not":
      return comparisonProblem(type, filter.filter);
    case "each":
      if (definitionAt(type, filter.path)?.type !== "complex") {
        return `"${pathText(filter.path)}" has no sub-attributes. Write the filter without brackets.`;
      }
      return comparisonProblem(type, qualifyPaths(filter.path, filter.filter));
    case "present":
      return null;
    case "compare":
      return problemOfComparison(type, filter);
  }
}

/** RFC 7644 §3.4.2.2: a filter is not valid if it compares an order that the type does not have. */
function problemOfComparison(
  type: ResourceTypeDefinition,
  { path, operator, value }: Extract<ScimFilter, { kind: "compare" }>,
): string | null {
  const name = pathText(path);
  const isEquality = operator === "eq" || operator === "ne";
  if (value === null) return isEquality ? null : `"${operator}" cannot compare null.`;
  const known = comparedAt(type, path);
  if (known === undefined) return `Name a sub-attribute of "${name}" to compare it.`;
  if (isEquality) return null;
  if (known.type === "boolean" || known.type === "binary" || typeof value === "boolean") {
    return `"${operator}" cannot compare "${name}". Use eq or ne.`;
  }
  const isOrder = operator.startsWith("g") || operator.startsWith("l");
  if (!isOrder) return typeof value === "string" ? null : `"${operator}" needs a quoted value.`;
  return known.type === "dateTime" && Number.isNaN(Date.parse(String(value)))
    ? `Compare "${name}" with a date and time such as 2026-01-31T12:00:00Z.`
    : null;
}

/** The definition that a comparison uses: of a complex attribute, its `value`. */
function comparedAt(type: ResourceTypeDefinition, path: FilterPath): AttributeDefinition | undefined {
  const definition = definitionAt(type, path);
  return definition?.type === "complex" ? findSub(definition, "value") : definition;
}

/** How filters find values in the JSON of `renderContent`. */
export function filterAccess(type: ResourceTypeDefinition): FilterAccess {
  return { find: (path) => comparedAt(type, path), entries: entriesAt, order: compareText };
}

function entriesAt({ schema, attribute }: FilterPath, view: JsonObject): JsonValue[] {
  const holder = schema === null ? view : property(view, schema);
  const value = isJsonObject(holder) ? property(holder, attribute) : undefined;
  if (value === undefined) return [];
  return isJsonArray(value) ? [...value] : [value];
}

export interface QuerySort {
  readonly path: FilterPath;
  /** The index in this order. `null`: none. */
  readonly by: ListedBy | null;
  /** The value of a resource, as a text in the order. */
  readonly textOf: (view: JsonObject) => string;
}

type ReadSortOutcome =
  | { readonly ok: true; readonly sort: QuerySort }
  | { readonly ok: false; readonly detail: string };

/** Reads the parameter `sortBy`. */
export function readQuerySort(type: ResourceTypeDefinition, sortBy: string): ReadSortOutcome {
  const path = readAttributePath(type, sortBy);
  const definition = path === undefined ? undefined : comparedAt(type, path);
  if (path === undefined || definition === undefined || definition.returned === "never") {
    const name = unknownPath(sortBy).attribute;
    return { ok: false, detail: `Resources cannot be sorted by "${name}". Name an attribute of /Schemas.` };
  }
  const nameAttribute = type.kind === "user" ? "userName" : "displayName";
  const isName = pathText(path) === nameAttribute;
  const attribute = pathText(path) === "emails" ? "emails.value" : pathText(path);
  const row = Object.entries(INDEXED_VALUES).find(([name, { kinds }]) =>
    name === attribute && kinds.includes(type.kind)
  );
  const by = isName ? "name" : row === undefined ? null : row[0] as ListedBy;
  const textOf = (view: JsonObject) => sortText(definition, sortValue(type, path, view));
  return { ok: true, sort: { path, by, textOf } };
}

/** RFC 7644 §3.4.2.3: of a multi-valued attribute, the primary value, or else the first one. Empty values come last. */
function sortValue(type: ResourceTypeDefinition, path: FilterPath, view: JsonObject): JsonValue | undefined {
  const values = filterAccess(type).entries(path, view).flatMap((entry) => {
    const value = isJsonObject(entry) ? property(entry, path.sub ?? "value") : entry;
    if (value === undefined) return [];
    return [{ value, isPrimary: isJsonObject(entry) && property(entry, "primary") === true }];
  });
  const filled = values.filter(({ value }) => value !== "");
  return (filled.find(({ isPrimary }) => isPrimary) ?? filled[0] ?? values[0])?.value;
}

function sortText({ type, caseExact }: AttributeDefinition, value: JsonValue | undefined): string {
  switch (typeof value) {
    case "boolean":
      return String(value);
    case "number":
      return numberText(value);
    case "string": {
      const ms = type === "dateTime" ? Date.parse(value) : NaN;
      return Number.isNaN(ms)
        ? markedText(comparedText(caseExact ? "exactText" : "text", value))
        : indexText(dateText(ms)).text;
    }
    default:
      return NO_VALUE;
  }
}

/** A text in the order of the number: the bits of a float in a form that sorts. */
function numberText(value: number): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const sign = 1n << 63n;
  return (bits < sign ? bits | sign : ~bits & ((1n << 64n) - 1n)).toString(16).padStart(16, "0");
}
