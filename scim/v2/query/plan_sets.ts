// Plans of filters, and how plans of parts of a filter combine.

import { INDEXED_VALUES } from "../../directory/value_keys.ts";
import type { Listing } from "../../index_port.ts";
import type { KeyRanges } from "./key_ranges.ts";

/** Where the resources of a filter are found. `isExact`: every one of them matches. */
export type QueryPlan =
  | { readonly kind: "listing"; readonly listing: Listing; readonly isExact: boolean }
  /** Canonical names. */
  | { readonly kind: "names"; readonly names: readonly string[]; readonly isExact: boolean }
  /** The beginning of a search word of the resource. */
  | { readonly kind: "word"; readonly start: string; readonly isExact: false }
  | { readonly kind: "union"; readonly plans: readonly QueryPlan[]; readonly isExact: false };

/** No resource matches. */
export const NOTHING: QueryPlan = { kind: "names", names: [], isExact: true };

export function unionOf(plans: readonly (QueryPlan | null)[]): QueryPlan | null {
  const known = plans.filter((plan) => plan !== null);
  return known.length < plans.length ? null : { kind: "union", plans: known, isExact: false };
}

export function asCandidates(plan: QueryPlan | null): QueryPlan | null {
  return plan?.kind === "listing" || plan?.kind === "names" ? { ...plan, isExact: false } : plan;
}

type SetPlan = Extract<QueryPlan, { kind: "listing" }>;

/** Whether the ranges are exactly the resources that match, each with one key. */
export function isSet(plan: QueryPlan | null): plan is SetPlan {
  return plan?.kind === "listing" && plan.isExact &&
    (plan.listing.by === "name" || INDEXED_VALUES[plan.listing.by].multi !== true);
}

/** `null`: the two are not sets of the same index. */
export function combineSets(
  one: QueryPlan | null,
  other: QueryPlan | null,
  combine: (one: KeyRanges, other: KeyRanges) => KeyRanges,
): QueryPlan | null {
  if (!isSet(one) || !isSet(other) || one.listing.by !== other.listing.by) return null;
  return withRanges(one, combine(one.listing.ranges, other.listing.ranges));
}

export function withRanges(plan: SetPlan, ranges: KeyRanges): QueryPlan {
  return { ...plan, listing: { ...plan.listing, ranges } };
}
