// What a filter is once it is read.

import type { FilterPath } from "./filter_path.ts";

export const COMPARE_OPERATORS = ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"] as const;
export type CompareOperator = typeof COMPARE_OPERATORS[number];

/** What a filter may compare with. */
export type FilterValue = null | boolean | number | string;

/** A filter as a tree. Inside of `each`, paths name sub-attributes: `attribute` is the sub-attribute, `sub` is `null`. */
export type Filter =
  | { readonly kind: "and" | "or"; readonly filters: readonly Filter[] }
  | { readonly kind: "not"; readonly filter: Filter }
  | { readonly kind: "present"; readonly path: FilterPath }
  | {
    readonly kind: "compare";
    readonly path: FilterPath;
    readonly operator: CompareOperator;
    readonly value: FilterValue;
  }
  /** `emails[type eq "work"]`: some entry for which `filter` holds. */
  | { readonly kind: "each"; readonly path: FilterPath; readonly filter: Filter };

/** The filter of an entry with its attribute written out: `emails[type …]` as `emails.type …`. */
export function inside(parent: FilterPath, filter: Filter): Filter {
  switch (filter.kind) {
    case "and":
    case "or":
      return { kind: filter.kind, filters: filter.filters.map((one) => inside(parent, one)) };
    case "not":
      return { kind: "not", filter: inside(parent, filter.filter) };
    case "each":
      return filter;
    case "present":
    case "compare":
      return { ...filter, path: { ...parent, sub: filter.path.attribute } };
  }
}

/** Every attribute that a filter names. */
export function pathsOf(filter: Filter): FilterPath[] {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.filters.flatMap(pathsOf);
    case "not":
      return pathsOf(filter.filter);
    case "each":
      return [filter.path, ...pathsOf(inside(filter.path, filter.filter))];
    case "present":
    case "compare":
      return [filter.path];
  }
}
