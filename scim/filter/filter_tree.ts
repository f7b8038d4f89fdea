// The syntax tree of a filter (RFC 7644 §3.4.2.2).

import type { Mapping, ResourceKind } from "../schema/resource.ts";
import {
  type AttributeSet,
  findAttribute,
  type KnownAttribute,
  readPath,
  SCIM_ATTRIBUTES,
  withoutCoreSchema,
} from "../schema/attributes.ts";

export const COMPARE_OPERATORS = ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"] as const;
export type CompareOperator = typeof COMPARE_OPERATORS[number];

/** The values that a filter can compare with. */
export type FilterValue = null | boolean | number | string;

/** A filter as a tree. Inside of `each`, paths name sub-attributes: `attribute` is the sub-attribute, `sub` is `null`. */
export type ScimFilter =
  | { readonly kind: "and" | "or"; readonly filters: readonly ScimFilter[] }
  | { readonly kind: "not"; readonly filter: ScimFilter }
  | { readonly kind: "present"; readonly path: FilterPath }
  | {
    readonly kind: "compare";
    readonly path: FilterPath;
    readonly operator: CompareOperator;
    readonly value: FilterValue;
  }
  /** `emails[type eq "work"]`: some entry for which `filter` holds. */
  | { readonly kind: "each"; readonly path: FilterPath; readonly filter: ScimFilter };

/** The filter of an entry with its attribute written out: `emails[type …]` as `emails.type …`. */
export function qualifyPaths(parent: FilterPath, filter: ScimFilter): ScimFilter {
  switch (filter.kind) {
    case "and":
    case "or":
      return { kind: filter.kind, filters: filter.filters.map((one) => qualifyPaths(parent, one)) };
    case "not":
      return { kind: "not", filter: qualifyPaths(parent, filter.filter) };
    case "each":
      return filter;
    case "present":
    case "compare":
      return { ...filter, path: { ...parent, sub: filter.path.attribute } };
  }
}

/** Every attribute that a filter names. */
export function filterPaths(filter: ScimFilter): FilterPath[] {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.filters.flatMap(filterPaths);
    case "not":
      return filterPaths(filter.filter);
    case "each":
      return [filter.path, ...filterPaths(qualifyPaths(filter.path, filter.filter))];
    case "present":
    case "compare":
      return [filter.path];
  }
}

/** The problem of the first attribute or comparison that is not valid for that kind of resource, as a sentence. `null`: no problem. */
export function filterProblem(kind: ResourceKind, filter: ScimFilter, mapping?: Mapping): string | null {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.filters.map((one) => filterProblem(kind, one, mapping)).find((one) => one !== null) ??
        null;
    case "not":
      return filterProblem(kind, filter.filter, mapping);
    case "each":
      return filterProblem(kind, qualifyPaths(filter.path, filter.filter), mapping);
    case "present":
      return pathProblem(kind, filter.path, mapping);
    case "compare":
      return pathProblem(kind, filter.path, mapping) ?? comparisonProblem(kind, filter);
  }
}

function pathProblem(kind: ResourceKind, path: FilterPath, mapping: Mapping | undefined): string | null {
  return isKnownPath(kind, path, mapping) ? null : `No ${kind} has the attribute "${pathText(path)}".`;
}

/** RFC 7644 §3.4.2.2: a filter is not valid if it compares an order that the type does not have. */
function comparisonProblem(
  kind: ResourceKind,
  { path, operator, value }: Extract<ScimFilter, { kind: "compare" }>,
): string | null {
  const known = findAttributeOf(kind, path);
  if (operator === "eq" || operator === "ne") return null;
  if (known?.type === "boolean" || typeof value === "boolean" || value === null) {
    return `"${operator}" cannot compare true, false or null.`;
  }
  const isOrder = operator.startsWith("g") || operator.startsWith("l");
  if (!isOrder && typeof value !== "string") return `"${operator}" needs a quoted value.`;
  const isDate = known?.type === "dateTime" && isOrder;
  return isDate && Number.isNaN(Date.parse(String(value)))
    ? `Compare "${pathText(path)}" with a date and time.`
    : null;
}

/** An attribute in a filter. Known names have the stored spelling, other names the spelling of the filter. */
export interface FilterPath {
  /** The URN of an extension; `null` for attributes of the resource itself. */
  readonly schema: string | null;
  readonly attribute: string;
  readonly sub: string | null;
}

/** RFC 7643 §2.1, and `$ref`. */
const ATTRIBUTE_NAME = /^[A-Za-z$][A-Za-z0-9_$-]*$/;
const NOTHING: AttributeSet = new Map();
const KINDS = ["user", "group"] as const;

/** `emails.value`, with the URN of its schema in front, if there is one. */
export function pathText({ schema, attribute, sub }: FilterPath): string {
  return `${schema === null ? "" : `${schema}:`}${attribute}${sub === null ? "" : `.${sub}`}`;
}

/** Reads a path. `null`: the text is not a path. */
export function readFilterPath(text: string): FilterPath | null {
  const plain = withoutCoreSchema("group", withoutCoreSchema("user", text));
  const isExtension = plain.slice(0, 4).toLowerCase() === "urn:";
  const colon = isExtension ? plain.lastIndexOf(":") : -1;
  const schema = isExtension ? plain.slice(0, colon) : null;
  const [attribute = "", sub = null, ...more] = plain.slice(colon + 1).split(".");
  if (more.length > 0 || !ATTRIBUTE_NAME.test(attribute)) return null;
  if (sub !== null && !ATTRIBUTE_NAME.test(sub)) return null;
  if (schema !== null && schema.length <= "urn:".length) return null;
  const extension = schema === null ? undefined : findInAny(schema);
  const known = schema === null ? findInAny(attribute) : findAttribute(extension?.sub ?? NOTHING, attribute);
  return {
    schema: extension?.name ?? schema,
    attribute: known?.name ?? attribute,
    sub: sub === null ? null : findAttribute(known?.sub ?? NOTHING, sub)?.name ?? sub,
  };
}

/** A path inside of `emails[…]`: one of its sub-attributes. */
export function readSubPath(text: string, parent: FilterPath): FilterPath | null {
  if (!ATTRIBUTE_NAME.test(text)) return null;
  const known = findAttribute(findAttributeAt(parent)?.sub ?? NOTHING, text);
  return { schema: null, attribute: known?.name ?? text, sub: null };
}

/** The known attribute at a path, of either kind of resource. A name has the same meaning in both. */
export function findAttributeAt(path: FilterPath): KnownAttribute | undefined {
  return findAttributeOf("user", path) ?? findAttributeOf("group", path);
}

/** The known attribute at a path of one kind of resource. */
function findAttributeOf(
  kind: ResourceKind,
  { schema, attribute, sub }: FilterPath,
): KnownAttribute | undefined {
  const set = schema === null
    ? SCIM_ATTRIBUTES[kind]
    : findAttribute(SCIM_ATTRIBUTES[kind], schema)?.sub ?? NOTHING;
  const known = findAttribute(set, attribute);
  return sub === null ? known : findAttribute(known?.sub ?? NOTHING, sub);
}

/**
 * Whether a resource of that kind can have the attribute.
 *
 * @param mapping adds the attributes that the settings name. Other attributes are stored, but a filter that names one is refused. An empty result
 * would make provisioning programs create every user again.
 */
export function isKnownPath(kind: ResourceKind, path: FilterPath, mapping?: Mapping): boolean {
  const known = findAttributeOf(kind, path);
  if (known !== undefined) return known.mutability !== "writeOnly";
  return mapping !== undefined && mapping[kind].some(({ scim }) => {
    const row = readPath(kind, scim);
    return row.attribute.toLowerCase() === path.attribute.toLowerCase() && row.schema === path.schema &&
      (path.sub === null || row.sub?.toLowerCase() === path.sub.toLowerCase());
  });
}

/** {@link isKnownPath} for any kind, without a mapping. It distinguishes a filter from words. */
export function isKnownSomewhere(path: FilterPath): boolean {
  return KINDS.some((kind) => isKnownPath(kind, path));
}

function findInAny(name: string): KnownAttribute | undefined {
  return findAttribute(SCIM_ATTRIBUTES.user, name) ?? findAttribute(SCIM_ATTRIBUTES.group, name);
}
