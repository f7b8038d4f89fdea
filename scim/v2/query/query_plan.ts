// Plans a filter: which keys of which index it needs. A plan that is not exact gives candidates, and each candidate is compared with the filter.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { compareText, LAST_CHARACTER } from "../../directory/keys.ts";
import {
  comparedText,
  cutWord,
  dateText,
  firstWord,
  INDEXED_VALUES,
  type IndexText,
  markedText,
  MEMBERSHIP_ATTRIBUTES,
  NO_VALUE,
  WORD_ATTRIBUTES,
  wordListing,
} from "../../directory/index_keys.ts";
import {
  type CompareOperator,
  type FilterPath,
  type FilterValue,
  pathText,
  type ScimFilter,
} from "../../filter/filter.ts";
import type { IndexedAttribute, KeyRange, ListedBy, Listing, TargetDirectory } from "../../ports.ts";
import type { ResourceKind } from "../../schema/resource.ts";

/** Where the resources of a filter are found. `isExact`: every one of them matches. */
export type QueryPlan =
  | { readonly kind: "listing"; readonly listing: Listing; readonly isExact: boolean }
  /** Canonical names. */
  | { readonly kind: "names"; readonly names: readonly string[]; readonly isExact: boolean }
  | { readonly kind: "union"; readonly plans: readonly QueryPlan[]; readonly isExact: false };

interface QueryPlanDeps {
  readonly directory: Pick<TargetDirectory, "read" | "readById" | "indexes">;
  readonly kind: ResourceKind;
}

type Comparison = Extract<ScimFilter, { kind: "compare" }>;

/** Longer beginnings of a value are not counted exactly if a resource has several values. */
const MAX_COUNTED_CHARACTERS = 22;
/** A name has at most 256 characters of two code units each. */
const MAX_NAME_UNITS = 512;

/** @returns `null`: no index has the answer, so all resources are compared. */
export async function planQuery(deps: QueryPlanDeps, filter: ScimFilter): Promise<QueryPlan | null> {
  switch (filter.kind) {
    case "compare":
      return await planComparison(deps, filter);
    case "present":
      return planPresent(deps.kind, filter.path);
    case "each":
      return await planEntry(deps, filter);
    case "not": {
      const plan = await planQuery(deps, filter.filter);
      return plan === null || !isSet(plan) ? null : withRanges(plan, complementRanges(plan.listing.ranges));
    }
    case "and":
      return await planAnd(deps, filter.filters);
    case "or":
      return await planOr(deps, filter.filters);
  }
}

/** Inside of the brackets, another entry cannot match the rest of the filter, so the plan only gives candidates. */
async function planEntry(
  deps: QueryPlanDeps,
  { path, filter }: Extract<ScimFilter, { kind: "each" }>,
): Promise<QueryPlan | null> {
  switch (filter.kind) {
    case "compare":
    case "present":
      return isNegative(filter)
        ? null
        : await planQuery(deps, { ...filter, path: { ...path, sub: filter.path.attribute } });
    case "and":
    case "or": {
      const plans = await Promise.all(
        filter.filters.map((one) => planEntry(deps, { kind: "each", path, filter: one })),
      );
      return filter.kind === "or" ? unionOf(plans) : asCandidates(await cheapest(deps, plans));
    }
    case "not":
    case "each":
      return null;
  }
}

/** A comparison that an entry without the value can match. */
function isNegative(filter: ScimFilter): boolean {
  return filter.kind === "compare" && (filter.operator === "ne" || filter.value === null);
}

async function planAnd(deps: QueryPlanDeps, filters: readonly ScimFilter[]): Promise<QueryPlan | null> {
  const plans = await Promise.all(filters.map((one) => planQuery(deps, one)));
  const merged: (QueryPlan | null)[] = [];
  for (const plan of plans) {
    const at = merged.findIndex((other) => combineSets(other, plan, intersectRanges) !== null);
    if (at < 0) merged.push(plan);
    else merged[at] = combineSets(merged[at] ?? null, plan, intersectRanges);
  }
  if (merged.length === 1) return merged[0] ?? null;
  return asCandidates(await cheapest(deps, merged));
}

async function planOr(deps: QueryPlanDeps, filters: readonly ScimFilter[]): Promise<QueryPlan | null> {
  const plans = await Promise.all(filters.map((one) => planQuery(deps, one)));
  let united = plans[0] ?? null;
  for (const plan of plans.slice(1)) {
    const both = combineSets(united, plan, uniteRanges);
    if (both === null) return unionOf(plans);
    united = both;
  }
  return united;
}

async function cheapest(
  deps: QueryPlanDeps,
  plans: readonly (QueryPlan | null)[],
): Promise<QueryPlan | null> {
  const known = await Promise.all(
    plans.filter((plan) => plan !== null).map(async (plan) => ({
      plan,
      count: await countOfPlan(deps, plan),
    })),
  );
  return known.sort((a, b) => a.count - b.count)[0]?.plan ?? null;
}

/** How many keys a plan reads. */
export async function countOfPlan({ directory, kind }: QueryPlanDeps, plan: QueryPlan): Promise<number> {
  if (plan.kind === "names") return plan.names.length;
  if (plan.kind === "listing") return await directory.indexes.count(kind, plan.listing);
  const counts = await Promise.all(plan.plans.map((one) => countOfPlan({ directory, kind }, one)));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function planComparison(deps: QueryPlanDeps, comparison: Comparison): Promise<QueryPlan | null> {
  const { path, operator, value } = comparison;
  const name = indexedName(deps.kind, path);
  if (value === null) {
    const present = planPresent(deps.kind, path);
    if (present === null || !isSet(present)) return null;
    return operator === "ne" ? present : withRanges(present, complementRanges(present.listing.ranges));
  }
  if (name === "id") return operator === "eq" ? await planId(deps, value) : null;
  if (name === "links") return operator === "eq" ? await planLinks(deps, path, value) : null;
  if (name === null) return planWord(deps.kind, comparison);
  if (name === "name") return planName(operator, value);
  return await withManyValued(deps, planValue(name, operator, value));
}

/** Adds the resources with so many values that the index does not have all of them. */
async function withManyValued(
  { directory, kind }: QueryPlanDeps,
  plan: QueryPlan | null,
): Promise<QueryPlan | null> {
  if (plan?.kind !== "listing") return plan;
  const { by } = plan.listing;
  if (by === "name" || by === "word" || hasOneKey(by)) return plan;
  const listing = await directory.indexes.manyValued(kind, by);
  if (listing === null) return plan;
  return { kind: "union", plans: [plan, { kind: "listing", listing, isExact: false }], isExact: false };
}

function planWord(kind: ResourceKind, { path, operator, value }: Comparison): QueryPlan | null {
  const type = WORD_ATTRIBUTES[kind].get(pathText(path));
  if (type === undefined || typeof value !== "string" || (operator !== "eq" && operator !== "sw")) {
    return null;
  }
  const word = firstWord(value, type);
  return word === null ? null : { kind: "listing", listing: wordListing(cutWord(word)), isExact: false };
}

function planPresent(kind: ResourceKind, path: FilterPath): QueryPlan | null {
  const name = indexedName(kind, path);
  if (name === "name" || name === "id" || pathText(path) === "meta" || pathText(path) === "schemas") {
    return { kind: "listing", listing: { by: "name", ranges: [ALL_KEYS], counted: "every" }, isExact: true };
  }
  // An entry without a value can have other parts.
  if (name === null || name === "links" || pathText(path) === "emails") return null;
  const counted = INDEXED_VALUES[name].multi === true ? "first" : "every";
  return { kind: "listing", listing: { by: name, ranges: PRESENT_VALUES, counted }, isExact: true };
}

/** What an index has of a path: names, ids, the members of groups, or values. `null`: nothing. */
function indexedName(
  kind: ResourceKind,
  path: FilterPath,
): "name" | "id" | "links" | IndexedAttribute | null {
  const text = pathText(path);
  if (text === (kind === "user" ? "userName" : "displayName")) return "name";
  if (text === "id") return "id";
  if (MEMBERSHIP_ATTRIBUTES[kind].has(text)) return "links";
  const attribute = text === "emails" ? "emails.value" : text;
  return isIndexed(attribute) && INDEXED_VALUES[attribute].kinds.includes(kind) ? attribute : null;
}

function isIndexed(name: string): name is IndexedAttribute {
  return Object.hasOwn(INDEXED_VALUES, name);
}

async function planId({ directory, kind }: QueryPlanDeps, value: FilterValue): Promise<QueryPlan> {
  const found = typeof value === "string" ? await directory.readById(kind, value) : null;
  return found === null
    ? NOTHING
    : { kind: "names", names: [canonicalName(found.content.name)], isExact: true };
}

/** The members of a group, or the groups of a user. */
async function planLinks(
  { directory, kind }: QueryPlanDeps,
  path: FilterPath,
  value: FilterValue,
): Promise<QueryPlan> {
  if (typeof value !== "string") return NOTHING;
  const other = kind === "user" ? "group" : "user";
  const found = path.sub === "display"
    ? await directory.read(other, canonicalName(value))
    : await directory.readById(other, value);
  if (found === null) return NOTHING;
  if (found.content.kind === "user") {
    const names = await directory.indexes.groupsOf(canonicalName(found.content.name));
    return { kind: "names", names, isExact: false };
  }
  const ids = found.memberIds ?? [];
  const users = found.content.members.filter((_, at) => (ids[at] ?? null) !== null);
  return { kind: "names", names: users.map(canonicalName), isExact: true };
}

function planName(operator: CompareOperator, value: FilterValue): QueryPlan | null {
  if (typeof value !== "string") return operator === "eq" ? NOTHING : null;
  // No name is as long or has such characters, and keys cannot be or have them.
  const isKey = value.length <= MAX_NAME_UNITS && value.isWellFormed() && !/[\0\u{10ffff}]/u.test(value);
  if (!isKey) return operator === "eq" || operator === "sw" ? NOTHING : null;
  const ranges = nameRanges(operator, canonicalName(value));
  return ranges === null
    ? null
    : { kind: "listing", listing: { by: "name", ranges, counted: "every" }, isExact: true };
}

function planValue(by: IndexedAttribute, operator: CompareOperator, value: FilterValue): QueryPlan | null {
  const { type, multi = false } = INDEXED_VALUES[by];
  const wanted = wantedText(type, operator, value);
  if (wanted === null) return operator === "eq" ? NOTHING : null;
  if (multi && operator === "ne") return null;
  const ranges = wanted.isCut ? cutRanges(operator, wanted) : valueRanges(operator, wanted.text);
  if (ranges === null) return null;
  const { length } = wanted.text;
  const isOnce = !multi || operator === "eq" || (operator === "sw" && length <= MAX_COUNTED_CHARACTERS);
  const counted = multi && operator === "sw" && isOnce ? length : "every";
  return { kind: "listing", listing: { by, ranges, counted }, isExact: isOnce && !wanted.isCut };
}

// The value of a comparison as the value index has it, and the keys of values that are cut.

/** Values that begin alike: the index does not tell them apart. */
function cutRanges(operator: CompareOperator, { text }: IndexText): KeyRanges | null {
  const same = { from: text, to: `${text}\u{10ffff}` };
  switch (operator) {
    case "eq":
    case "sw":
      return valueRanges("eq", markedText({ text, isCut: true }));
    case "gt":
    case "ge":
      return [{ from: same.from, to: NO_VALUE }];
    case "lt":
    case "le":
      return [{ from: "", to: same.to }];
    default:
      return null;
  }
}

/** The value as the index has it. `null`: no value of the attribute can be equal. */
function wantedText(
  type: "text" | "exactText" | "boolean" | "dateTime",
  operator: CompareOperator,
  value: FilterValue,
): IndexText | null {
  if (type === "boolean") {
    const text = String(value).toLowerCase();
    return (text === "true" || text === "false") && typeof value !== "number" ? { text, isCut: false } : null;
  }
  if (typeof value !== "string") return null;
  if (type !== "dateTime" || operator === "sw") {
    return comparedText(type === "exactText" ? type : "text", value);
  }
  const ms = Date.parse(value);
  // The texts of other years have another order.
  return Number.isNaN(ms) || ms < MIN_DATE_MS || ms >= MAX_DATE_MS
    ? null
    : { text: dateText(ms), isCut: false };
}

const MIN_DATE_MS = Date.parse("0000-01-01T00:00:00Z");
const MAX_DATE_MS = Date.parse("+010000-01-01T00:00:00Z");

// How plans of parts of a filter combine.

/** No resource matches. */
const NOTHING: QueryPlan = { kind: "names", names: [], isExact: true };

function unionOf(plans: readonly (QueryPlan | null)[]): QueryPlan | null {
  const known = plans.filter((plan) => plan !== null);
  return known.length < plans.length ? null : { kind: "union", plans: known, isExact: false };
}

function asCandidates(plan: QueryPlan | null): QueryPlan | null {
  return plan?.kind === "listing" || plan?.kind === "names" ? { ...plan, isExact: false } : plan;
}

type SetPlan = Extract<QueryPlan, { kind: "listing" }>;

/** Whether the ranges are exactly the resources that match, each with one key. */
function isSet(plan: QueryPlan | null): plan is SetPlan {
  return plan?.kind === "listing" && plan.isExact && hasOneKey(plan.listing.by);
}

/** Whether each resource has at most one key in the order. */
export function hasOneKey(by: ListedBy): boolean {
  return by === "name" || (by !== "word" && INDEXED_VALUES[by].multi !== true);
}

/** `null`: the two are not sets of the same index. */
function combineSets(
  one: QueryPlan | null,
  other: QueryPlan | null,
  combine: (one: KeyRanges, other: KeyRanges) => KeyRanges,
): QueryPlan | null {
  if (!isSet(one) || !isSet(other) || one.listing.by !== other.listing.by) return null;
  return withRanges(one, combine(one.listing.ranges, other.listing.ranges));
}

function withRanges(plan: SetPlan, ranges: KeyRanges): QueryPlan {
  return { ...plan, listing: { ...plan.listing, ranges } };
}

// Sets of keys of an index, as ranges in order without common keys, and what filters say about them.

export type KeyRanges = readonly KeyRange[];

export const ALL_KEYS: KeyRange = { from: "", to: LAST_CHARACTER };

/** The keys that both sets have. */
export function intersectRanges(one: KeyRanges, other: KeyRanges): KeyRanges {
  return one.flatMap((a) =>
    other.flatMap((b) => {
      const from = compareText(a.from, b.from) >= 0 ? a.from : b.from;
      const to = compareText(a.to, b.to) <= 0 ? a.to : b.to;
      return compareText(from, to) < 0 ? [{ from, to }] : [];
    })
  );
}

/** The keys that at least one set has. */
export function uniteRanges(one: KeyRanges, other: KeyRanges): KeyRanges {
  const united: KeyRange[] = [];
  for (const next of [...one, ...other].sort((a, b) => compareText(a.from, b.from))) {
    const last = united.at(-1);
    if (last === undefined || compareText(next.from, last.to) > 0) united.push(next);
    else if (compareText(next.to, last.to) > 0) united[united.length - 1] = { from: last.from, to: next.to };
  }
  return united;
}

/** The keys that the set does not have. */
export function complementRanges(ranges: KeyRanges): KeyRanges {
  const others: KeyRange[] = [];
  let from = ALL_KEYS.from;
  for (const range of ranges) {
    if (compareText(from, range.from) < 0) others.push({ from, to: range.from });
    from = range.to;
  }
  return compareText(from, ALL_KEYS.to) < 0 ? [...others, { from, to: ALL_KEYS.to }] : others;
}

/** The keys of an index of values that a comparison finds. `null`: ranges of keys do not answer the operator. */
export function valueRanges(operator: CompareOperator, value: string): KeyRanges | null {
  // The keys of a value are those that begin with it and U+0000.
  const after = `${value}\u0001`;
  switch (operator) {
    case "eq":
      return [{ from: `${value}\0`, to: after }];
    case "ne":
      return complementRanges([{ from: `${value}\0`, to: after }]);
    case "sw":
      return startingWith(value);
    case "gt":
      return nonEmpty({ from: after, to: NO_VALUE });
    case "ge":
      return nonEmpty({ from: value, to: NO_VALUE });
    case "lt":
      return nonEmpty({ from: "", to: value });
    case "le":
      return nonEmpty({ from: "", to: after });
    case "co":
    case "ew":
      return null;
  }
}

/** The same for an index of names, whose keys are the names. */
export function nameRanges(operator: CompareOperator, name: string): KeyRanges | null {
  const after = `${name}\0`;
  switch (operator) {
    case "eq":
      return [{ from: name, to: after }];
    case "ne":
      return complementRanges([{ from: name, to: after }]);
    case "sw":
      return nonEmpty({ from: name, to: `${name}${LAST_CHARACTER}` });
    case "gt":
      return nonEmpty({ from: after, to: LAST_CHARACTER });
    case "ge":
      return nonEmpty({ from: name, to: LAST_CHARACTER });
    case "lt":
      return nonEmpty({ from: "", to: name });
    case "le":
      return nonEmpty({ from: "", to: after });
    case "co":
    case "ew":
      return null;
  }
}

/** Values that are not empty (RFC 7644 §3.4.2.2 `pr`). */
const PRESENT_VALUES: KeyRanges = [{ from: "\u0001", to: NO_VALUE }];

function startingWith(value: string): KeyRanges {
  return nonEmpty({ from: value, to: value === "" ? NO_VALUE : `${value}${LAST_CHARACTER}` });
}

function nonEmpty(range: KeyRange): KeyRanges {
  return compareText(range.from, range.to) < 0 ? [range] : [];
}
