// Filters as texts (RFC 7644 §3.4.2.2).

import type { JsonValue, Mapping, ResourceKind } from "../ports.ts";

export type CompareOperator = "eq" | "ne" | "co" | "sw" | "ew" | "gt" | "ge" | "lt" | "le";

/** What a filter may compare with. */
export type FilterValue = null | boolean | number | string;

/** An attribute as a filter names it. Names of the table are spelled as they are stored; others as given. */
export interface FilterPath {
  /** The URN of an extension; `null` for attributes of the resource itself. */
  readonly schema: string | null;
  readonly attribute: string;
  readonly sub: string | null;
}

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

export type FilterOutcome =
  | { readonly ok: true; readonly filter: Filter }
  | { readonly ok: false; readonly problem: string };

/** Reads a filter. Words alone are none. */
export function parseFilter(_text: string): FilterOutcome {
  return { ok: false, problem: "no filter" };
}

/** Whether a resource of that kind can have the attribute; `mapping` adds the ones that the settings name. */
export function knownPath(_kind: ResourceKind, _path: FilterPath, _mapping?: Mapping): boolean {
  return true;
}

/** The first attribute or comparison that makes no sense for that kind of resource, as a sentence; `null` when all do. */
export function filterProblem(_kind: ResourceKind, _filter: Filter, _mapping?: Mapping): string | null {
  return null;
}

/** `emails.value`, with the schema's URN in front where there is one: for looking up what is indexed. */
export function pathText({ schema, attribute, sub }: FilterPath): string {
  return `${schema === null ? "" : `${schema}:`}${attribute}${sub === null ? "" : `.${sub}`}`;
}

export type { JsonValue };
