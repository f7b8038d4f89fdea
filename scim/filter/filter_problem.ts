// What makes no sense in a filter, though it can be read.

import type { Mapping, ResourceKind } from "../schema/resource.ts";
import { attributeOf, type FilterPath, knownPath, pathText } from "./filter_path.ts";
import { type Filter, inside } from "./filter_tree.ts";

/** The first attribute or comparison that makes no sense for that kind of resource, as a sentence; `null` when all do. */
export function filterProblem(kind: ResourceKind, filter: Filter, mapping?: Mapping): string | null {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.filters.map((one) => filterProblem(kind, one, mapping)).find((one) => one !== null) ??
        null;
    case "not":
      return filterProblem(kind, filter.filter, mapping);
    case "each":
      return filterProblem(kind, inside(filter.path, filter.filter), mapping);
    case "present":
      return pathProblem(kind, filter.path, mapping);
    case "compare":
      return pathProblem(kind, filter.path, mapping) ?? comparisonProblem(kind, filter);
  }
}

function pathProblem(kind: ResourceKind, path: FilterPath, mapping: Mapping | undefined): string | null {
  return knownPath(kind, path, mapping) ? null : `No ${kind} has the attribute "${pathText(path)}".`;
}

/** RFC 7644 §3.4.2.2: an order that a type does not have is an invalid filter. */
function comparisonProblem(
  kind: ResourceKind,
  { path, operator, value }: Extract<Filter, { kind: "compare" }>,
): string | null {
  const known = attributeOf(kind, path);
  if (operator === "eq" || operator === "ne") return null;
  if (known?.type === "boolean" || typeof value === "boolean" || value === null) {
    return `"${operator}" compares no truth values and no null.`;
  }
  const isOrder = operator.startsWith("g") || operator.startsWith("l");
  if (!isOrder && typeof value !== "string") return `"${operator}" needs a quoted value.`;
  const isDate = known?.type === "dateTime" && isOrder;
  return isDate && Number.isNaN(Date.parse(String(value)))
    ? `"${pathText(path)}" is compared with a date and time.`
    : null;
}
