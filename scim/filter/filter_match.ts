// Evaluates a filter for a resource (RFC 7644 §3.4.2.2).

import { canonicalName } from "../../platform/canonical_name.ts";
import type { JsonObject, JsonValue, Mapping, Stored } from "../schema/resource.ts";
import { isJsonArray, isJsonObject, property, propertyNamed } from "../schema/attributes.ts";
import { type AttributeDefinition, ENTERPRISE_SCHEMA, findDefinition } from "../schema/attribute_table.ts";
import {
  type CompareOperator,
  type FilterPath,
  type FilterValue,
  findAttributeAt,
  type ScimFilter,
} from "./filter.ts";
import { resourceIds } from "../schema/mapping.ts";
import { etagOf, isoTime, schemasOf } from "../schema/render_resource.ts";

/** The resource as the interface returns it, but without `meta.location`. Filters are matched against this value. */
export function filterView(stored: Stored, mapping: Mapping): JsonObject {
  const { content } = stored;
  const reference = (name: string) => ({ value: name, display: name });
  return {
    ...content.attributes,
    schemas: schemasOf(stored),
    ...resourceIds(content, mapping),
    ...(content.kind === "user"
      ? { userName: content.name, active: content.active, groups: stored.groups.map(reference) }
      : { displayName: content.name, members: content.members.map(reference) }),
    meta: {
      resourceType: content.kind === "user" ? "User" : "Group",
      created: isoTime(stored.createdMs),
      lastModified: isoTime(stored.modifiedMs),
      version: etagOf(stored.version),
    },
  };
}

/** How the values and types of a filter's paths are found, and the order of texts. */
export interface FilterAccess {
  readonly find: (path: FilterPath) => ComparedAttribute | undefined;
  /** The entries of a multi-valued attribute, or its one value. */
  readonly entries: (path: FilterPath, view: JsonObject) => JsonValue[];
  /** Default: by code units. */
  readonly order?: (a: string, b: string) => number;
}

const TABLE_ACCESS: FilterAccess = { find: findAttributeAt, entries: entriesAt };

/**
 * Whether one entry of a multi-valued attribute matches a filter of `parseEntryFilter`.
 *
 * @param find the type of a sub-attribute.
 */
export function matchesEntryFilter(
  filter: ScimFilter,
  entry: JsonObject,
  find: (subAttribute: string) => ComparedAttribute | undefined,
): boolean {
  return matchesFilter(filter, entry, { ...TABLE_ACCESS, find: ({ attribute }) => find(attribute) });
}

/** What a comparison depends on. */
type ComparedAttribute = Pick<AttributeDefinition, "type" | "caseExact" | "plain" | "subAttributes">;

/**
 * Whether a resource matches a filter. A multi-valued attribute matches if one of its values matches. A missing attribute equals null and differs
 * from every other value. Texts are compared without case, unless the attribute is `caseExact`.
 *
 * @param view the result of {@link filterView}, or what `access` reads.
 */
export function matchesFilter(
  filter: ScimFilter,
  view: JsonObject,
  access: FilterAccess = TABLE_ACCESS,
): boolean {
  switch (filter.kind) {
    case "and":
      return filter.filters.every((one) => matchesFilter(one, view, access));
    case "or":
      return filter.filters.some((one) => matchesFilter(one, view, access));
    case "not":
      return !matchesFilter(filter.filter, view, access);
    case "present":
      return valuesAt(filter.path, view, access).some(isFilled);
    case "each": {
      const inside = {
        ...access,
        find: ({ attribute }: FilterPath) => access.find({ ...filter.path, sub: attribute }),
      };
      return access.entries(filter.path, view).some((entry) =>
        isJsonObject(entry) && matchesFilter(filter.filter, entry, inside)
      );
    }
    case "compare": {
      const known = access.find(filter.path);
      return compare(comparedAt(filter.path, view, { access, known }), filter, {
        known,
        order: access.order,
      });
    }
  }
}

/** RFC 7643 §2.4: "If not specified, the value of "primary" SHALL be assumed to be "false"." */
function comparedAt(
  path: FilterPath,
  view: JsonObject,
  { access, known }: { access: FilterAccess; known: ComparedAttribute | undefined },
): JsonValue[] {
  const isOfEntry = path.sub === null
    ? path.schema === null && path.attribute === "primary"
    : path.sub === "primary";
  if (known?.type !== "boolean" || !isOfEntry) {
    return valuesAt(path, view, access);
  }
  const entries = path.sub === null ? [view] : access.entries(path, view).filter(isJsonObject);
  return entries.map((entry) => propertyNamed(entry, "primary") ?? false);
}

/** The values at a path, of all entries. */
function valuesAt(path: FilterPath, view: JsonObject, access: FilterAccess): JsonValue[] {
  const entries = access.entries(path, view);
  const { sub } = path;
  if (sub === null) return entries;
  return entries.flatMap((entry) => {
    const value = isJsonObject(entry) ? propertyNamed(entry, sub) : undefined;
    return value === undefined ? [] : [value];
  });
}

function entriesAt({ schema, attribute }: FilterPath, view: JsonObject): JsonValue[] {
  const extension = property(view, schema ?? ENTERPRISE_SCHEMA);
  const inside = isJsonObject(extension) ? propertyNamed(extension, attribute) : undefined;
  // `manager` may be a core attribute or in the enterprise extension. A filter finds it in both places.
  const value = schema === null ? propertyNamed(view, attribute) ?? inside : inside;
  if (value === undefined) return [];
  return isJsonArray(value) ? [...value] : [value];
}

/** RFC 7644 §3.4.2.2, `pr`: the value is neither empty nor null. A complex attribute needs one such part. */
function isFilled(value: JsonValue): boolean {
  if (isJsonArray(value)) return value.some(isFilled);
  if (isJsonObject(value)) return Object.values(value).some(isFilled);
  return value !== null && value !== "";
}

function compare(
  found: readonly JsonValue[],
  { operator, value }: { operator: CompareOperator; value: FilterValue },
  { known, order }: { known: ComparedAttribute | undefined; order: FilterAccess["order"] },
): boolean {
  if (value === null) {
    const isThere = found.some(isFilled);
    return operator === "eq" ? !isThere : operator === "ne" && isThere;
  }
  const plain = known?.plain ?? "value";
  const named = known?.type === "complex" ? findDefinition(known.subAttributes ?? [], plain) : known;
  // `co`, `sw` and `ew` compare the text of a date, such as its year.
  const about = named?.type === "dateTime" && TEXTUAL.has(operator) ? undefined : named;
  const scalars = found.flatMap((one) => isJsonObject(one) ? [property(one, plain) ?? null] : [one]);
  const wanted = prepare(value, about);
  if (operator === "ne" && scalars.length === 0) return true;
  const test = TESTS[operator];
  return scalars.some((one) => {
    const actual = prepare(one, about);
    return actual === null ? operator === "ne" : test(actual, wanted, order);
  });
}

const TEXTUAL: ReadonlySet<CompareOperator> = new Set(["co", "sw", "ew"]);

type Comparable = string | number | boolean;

/** A value for comparison: texts without case, dates as instants, booleans as booleans. `null`: the value cannot be compared. */
function prepare(value: FilterValue, about: ComparedAttribute | undefined): Comparable;
function prepare(value: JsonValue, about: ComparedAttribute | undefined): Comparable | null;
function prepare(value: JsonValue, about: ComparedAttribute | undefined): Comparable | null {
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (typeof value !== "string") return null;
  if (about?.type === "boolean") return asBoolean(value);
  if (about?.type === "dateTime") {
    const instantMs = Date.parse(value);
    return Number.isNaN(instantMs) ? value : instantMs;
  }
  return about?.caseExact === true ? value : canonicalName(value);
}

/** Entra sends `primary eq "True"`. */
function asBoolean(text: string): boolean | string {
  const small = text.toLowerCase();
  return small === "true" || small === "false" ? small === "true" : text;
}

type Test = (actual: Comparable, wanted: Comparable, order?: (a: string, b: string) => number) => boolean;

const onTexts = (test: (actual: string, wanted: string) => boolean): Test => (actual, wanted) =>
  typeof actual === "string" && typeof wanted === "string" && test(actual, wanted);

/** Texts have an order, and numbers and dates have one. A text and a number have none. */
const onOrder = (test: (order: number) => boolean): Test => (actual, wanted, order) => {
  if (typeof actual !== typeof wanted || typeof actual === "boolean") return false;
  if (order !== undefined && typeof actual === "string") return test(order(actual, String(wanted)));
  return test(actual < wanted ? -1 : actual > wanted ? 1 : actual === wanted ? 0 : NaN);
};

const TESTS: Readonly<Record<CompareOperator, Test>> = {
  eq: (actual, wanted) => actual === wanted,
  ne: (actual, wanted) => actual !== wanted,
  co: onTexts((actual, wanted) => actual.includes(wanted)),
  sw: onTexts((actual, wanted) => actual.startsWith(wanted)),
  ew: onTexts((actual, wanted) => actual.endsWith(wanted)),
  gt: onOrder((order) => order > 0),
  ge: onOrder((order) => order >= 0),
  lt: onOrder((order) => order < 0),
  le: onOrder((order) => order <= 0),
};
