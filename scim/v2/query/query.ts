// Answers queries of the RFC interface: filter, order and page (RFC 7644 §3.4.2, RFC 9865).

import { canonicalName } from "../../../platform/canonical_name.ts";
import { compareText } from "../../directory/keys.ts";
import { type FilterPath, filterPaths, pathText, type ScimFilter } from "../../filter/filter.ts";
import { matchesFilter } from "../../filter/filter_match.ts";
import type { KeyRange, Listed, Listing, ListOptions, ResourceIndexes, Target } from "../../ports.ts";
import type { ResourceKind, Stored } from "../../schema/resource.ts";
import type { TargetSchemas } from "../schema/target_schemas.ts";
import {
  definitionAt,
  filterAccess,
  type QuerySort,
  readAttributePath,
  readQuerySort,
  readResourceFilter,
} from "./filter_access.ts";
import { type CursorPlace, type QueryCursorDeps, QueryCursors } from "./query_cursor.ts";
import {
  ALL_KEYS,
  countOfPlan,
  hasOneKey,
  intersectRanges,
  planQuery,
  type QueryPlan,
} from "./query_plan.ts";
import { comparedViews } from "../schema/render_stored.ts";
import type { ResourceTypeDefinition } from "../../schema/attribute_table.ts";

export interface ResourceQuery {
  readonly kind: ResourceKind;
  /** RFC 7644 §3.4.2.2. */
  readonly filter: string | null;
  readonly sortBy: string | null;
  readonly sortOrder: "ascending" | "descending";
  /** From 1. Without effect if there is a cursor. */
  readonly startIndex: number;
  /** At most the page size of the interface. */
  readonly count: number;
  /** RFC 9865 §2. "": the first page. `null`: pages by index. */
  readonly cursor: string | null;
  /** The list has both kinds: an attribute that only the other type has is absent here (RFC 7644 §3.4.2.1). */
  readonly isRoot?: boolean;
}

export type QueryOutcome<T = Stored> =
  | {
    readonly ok: true;
    readonly total: number;
    readonly startIndex: number;
    readonly resources: readonly T[];
    /** `null`: there is no such page, or the query has no cursor. */
    readonly nextCursor: string | null;
    readonly previousCursor: string | null;
  }
  | ({ readonly ok: false } & QueryProblem);

export interface QueryProblem {
  readonly problem:
    | "invalidFilter"
    | "invalidPath"
    | "tooMany"
    | "invalidValue"
    | "invalidCursor"
    | "expiredCursor";
  readonly detail: string;
}

export interface QueryDeps extends QueryCursorDeps {
  /** The URL of the interface, without a slash at the end. */
  readonly baseUrl: string;
  /** How many resources one query may compare. */
  readonly maxCompared?: number;
  /** About the octets of a page. Larger pages have fewer resources. */
  readonly maxPageOctets?: number;
}

/** Resources that a query without an index compares. */
export const MAX_QUERY_COMPARED = 10_000;
const READ_TOGETHER = 50;

/** One query with what all of its steps need. */
interface QueryRun extends Required<Omit<QueryDeps, "maxPageOctets">> {
  readonly directory: Target["directory"];
  readonly schemas: TargetSchemas;
  readonly kind: ResourceKind;
  readonly filter: ScimFilter | null;
  readonly sort: QuerySort | null;
}

type OrderOutcome =
  | { readonly ok: true; readonly order: OrderedResources }
  | ({ readonly ok: false } & QueryProblem);

/** How a query reads the resources of its page. */
export interface PageReads<T> extends Pick<ResourceIndexes, "list"> {
  readMany(kind: ResourceKind, listed: readonly Listed[]): Promise<readonly T[]>;
  /** About the octets of a resource in a response. */
  octetsOf(resource: T): number;
}

/** As {@link queryPage}, with the stored resources. */
export function queryResources(
  { directory }: Pick<Target, "directory">,
  schemas: TargetSchemas,
  query: ResourceQuery,
  deps: QueryDeps,
): Promise<QueryOutcome> {
  const { list, readMany } = directory.indexes;
  return queryPage({ directory }, schemas, query, {
    ...deps,
    reads: { list, readMany, octetsOf: storedOctets },
  });
}

/** Finds the resources of one page. A filter on an indexed attribute reads only the page; another one compares a limited number of resources. */
export async function queryPage<T>(
  { directory }: Pick<Target, "directory">,
  schemas: TargetSchemas,
  query: ResourceQuery,
  { reads, ...deps }: QueryDeps & { readonly reads: PageReads<T> },
): Promise<QueryOutcome<T>> {
  const { kind, sortOrder, startIndex, count, cursor } = query;
  const type = schemas.types[kind];
  const others = query.isRoot === true ? Object.values(schemas.types).filter((one) => one !== type) : [];
  const read = query.filter === null
    ? null
    : readResourceFilter(type, query.filter, (filter) => withoutOtherTypes(filter, type, others));
  if (read?.ok === false) return { ok: false, problem: "invalidFilter", detail: read.detail };
  const { sortBy } = query;
  const isForeign = sortBy !== null && readAttributePath(type, sortBy) === undefined &&
    others.some((other) => readAttributePath(other, sortBy) !== undefined);
  const sort = sortBy === null || isForeign ? null : readQuerySort(type, sortBy);
  if (sort?.ok === false) return { ok: false, problem: "invalidPath", detail: sort.detail };
  const scope = {
    target: directory.target,
    query: JSON.stringify([kind, query.filter, query.sortBy, sortOrder]),
  };
  const cursors = new QueryCursors(deps, scope);
  const opened = cursor === null || cursor === "" ? null : cursors.open(cursor);
  if (opened?.ok === false) return opened;
  const run: QueryRun = {
    maxCompared: MAX_QUERY_COMPARED,
    ...deps,
    ...{ directory, schemas, kind, filter: read?.filter ?? null, sort: sort?.sort ?? null },
  };
  const outcome = await orderOf(run, { ...directory.indexes, list: reads.list });
  if (!outcome.ok) return outcome;
  const page = await readQueryPage(outcome.order, {
    isDescending: sort !== null && sortOrder === "descending",
    startIndex: cursor === null ? Math.max(1, startIndex) : 1,
    count,
    place: opened?.place ?? null,
  });
  const sealed = (place: CursorPlace | null) =>
    cursor === null || place === null ? null : cursors.seal(place);
  const { resources, next, previous } = await readFittingPage(reads, page, {
    kind,
    isBackwards: opened?.place.side === "before",
    maxOctets: deps.maxPageOctets,
  });
  return {
    ok: true,
    total: page.total,
    startIndex: page.startIndex,
    resources,
    nextCursor: sealed(next),
    previousCursor: sealed(previous),
  };
}

/** The order of the resources that match. */
async function orderOf(
  run: QueryRun,
  indexes: Pick<ResourceIndexes, "count" | "list">,
): Promise<OrderOutcome> {
  const { kind, filter, sort } = run;
  const plan = filter === null ? null : await planQuery(run, filter);
  const listing = filter === null ? wholeListing(sort) : plan === null ? null : listingOf(plan, sort);
  if (listing !== null) return { ok: true, order: orderOfIndex(indexes, kind, listing) };
  if (plan?.kind === "names" && plan.isExact && isByName(sort)) {
    const listed = plan.names.map((canonical) => ({ key: canonical, canonical }));
    return { ok: true, order: orderOfList(inOrder(listed)) };
  }
  return await compareAll(run, plan);
}

/** The index that has all resources in the order; `null`: none. */
function wholeListing(sort: QuerySort | null): Listing | null {
  const by = sort === null ? "name" : sort.by;
  return by === null ? null : { by, ranges: [ALL_KEYS], counted: "first" };
}

/** The index that has the resources of an exact plan in the order; `null`: none. */
function listingOf(plan: QueryPlan, sort: QuerySort | null): Listing | null {
  if (plan.kind !== "listing" || !plan.isExact) return null;
  // Of several values, the first one counts in an order, and any in a filter.
  const { by } = plan.listing;
  return sort === null || (sort.by === by && hasOneKey(by)) ? plan.listing : null;
}

function isByName(sort: QuerySort | null): boolean {
  return sort === null || sort.by === "name";
}

function inOrder(listed: readonly Listed[]): readonly Listed[] {
  return listed.toSorted((a, b) => compareText(a.key, b.key));
}

/** Compares each candidate with the filter. */
async function compareAll(run: QueryRun, plan: QueryPlan | null): Promise<OrderOutcome> {
  const { directory, kind, filter, sort, maxCompared } = run;
  const type = run.schemas.types[kind];
  const total = directory.count(kind);
  const count = plan === null ? total : Math.min(await countOfPlan(run, plan), total);
  if (count > maxCompared) {
    return {
      ok: false,
      problem: "tooMany",
      detail: `The query would compare ${count} resources, and the limit is ${maxCompared}. ` +
        "Add a comparison of an indexed attribute, such as userName, externalId or emails.value.",
    };
  }
  const paths = [...filter === null ? [] : filterPaths(filter), ...sort === null ? [] : [sort.path]];
  const viewOf = comparedViews({ ...run, type }, paths);
  const access = filterAccess(type);
  const listed: Listed[] = [];
  const found = plan !== null ? readPlan(run, plan) : directory.all(kind);
  for await (const stored of found) {
    const view = await viewOf(stored);
    if (filter !== null && !matchesFilter(filter, view, access)) continue;
    const canonical = canonicalName(stored.content.name);
    const isByName = sort === null || sort.by === "name";
    listed.push({ key: isByName ? canonical : `${sort.textOf(view)}\0${canonical}`, canonical });
  }
  return { ok: true, order: orderOfList(inOrder(listed)) };
}

/** The candidates of a plan, each once. */
async function* readPlan(run: QueryRun, plan: QueryPlan): AsyncGenerator<Stored> {
  const found = await listPlan(run, plan);
  const listed = [...new Map(found.map((one) => [one.canonical, one])).values()];
  for (let at = 0; at < listed.length; at += READ_TOGETHER) {
    yield* await run.directory.indexes.readMany(run.kind, listed.slice(at, at + READ_TOGETHER));
  }
}

async function listPlan(run: QueryRun, plan: QueryPlan): Promise<readonly Listed[]> {
  if (plan.kind === "names") return plan.names.map((canonical) => ({ key: canonical, canonical }));
  if (plan.kind === "union") {
    return (await Promise.all(plan.plans.map((one) => listPlan(run, one)))).flat();
  }
  const options = { offset: 0, limit: run.maxCompared };
  return await run.directory.indexes.list(run.kind, plan.listing, options);
}

// Reads the resources of a page until the page is large enough. A page may have fewer resources than the client asked for (RFC 7644 §3.4.2.4), and the
// members of its groups can be millions.

/** About the octets of a page as JSON. A single resource can have more. */
const MAX_PAGE_OCTETS = 8_000_000;
const MEMBER_OCTETS = 200;
/** Read together: few large groups, or many small resources. */
const CHUNK = { user: 100, group: 5 } as const;

interface FittingPage<T> {
  readonly resources: readonly T[];
  readonly next: CursorPlace | null;
  readonly previous: CursorPlace | null;
}

/** @param options.isBackwards the page ends before a place, so that its last resources are kept. */
async function readFittingPage<T>(
  reads: PageReads<T>,
  { listed, next, previous }: Pick<QueryPage, "listed" | "next" | "previous">,
  { kind, isBackwards, maxOctets = MAX_PAGE_OCTETS }: {
    kind: ResourceKind;
    isBackwards: boolean;
    maxOctets?: number | undefined;
  },
): Promise<FittingPage<T>> {
  const waiting = isBackwards ? listed.toReversed() : listed;
  const resources: T[] = [];
  let octets = 0;
  let at = 0;
  while (at < waiting.length && octets < maxOctets) {
    const chunk = waiting.slice(at, at + CHUNK[kind]);
    const read = await reads.readMany(kind, isBackwards ? chunk.toReversed() : chunk);
    if (isBackwards) resources.unshift(...read);
    else resources.push(...read);
    octets += read.reduce((sum, one) => sum + reads.octetsOf(one), 0);
    at += chunk.length;
  }
  const last: Listed | undefined = at < waiting.length ? waiting[at - 1] : undefined;
  if (last === undefined) return { resources, next, previous };
  return isBackwards
    ? { resources, next, previous: { key: last.key, side: "before" } }
    : { resources, next: { key: last.key, side: "after" }, previous };
}

export function storedOctets({ content, attributesText }: Stored): number {
  const members = content.kind === "group" ? content.members.length : 0;
  return (attributesText?.length ?? 0) + members * MEMBER_OCTETS;
}

// Filters over both kinds of resources (RFC 7644 §3.4.2.1): an attribute that only the other type has is an attribute without a value.

/** Matches no resource: each one has an id. */
const NOTHING: ScimFilter = {
  kind: "not",
  filter: { kind: "present", path: { schema: null, attribute: "id", sub: null } },
};

/** The filter for resources of `type`. Conditions on attributes of `others` only match nothing; RFC 7644 §3.4.2.2: `ne` matches what has no value. */
function withoutOtherTypes(
  filter: ScimFilter,
  type: ResourceTypeDefinition,
  others: readonly ResourceTypeDefinition[],
): ScimFilter {
  const isOther = (path: FilterPath) =>
    definitionAt(type, path) === undefined &&
    others.some((other) => readAttributePath(other, pathText(path)) !== undefined);
  const rewrite = (one: ScimFilter): ScimFilter => {
    switch (one.kind) {
      case "and":
      case "or":
        return { kind: one.kind, filters: one.filters.map(rewrite) };
      case "not":
        return { kind: "not", filter: rewrite(one.filter) };
      case "present":
      case "each":
        return isOther(one.path) ? NOTHING : one;
      case "compare":
        if (!isOther(one.path)) return one;
        return one.operator === "ne" ? { kind: "not", filter: NOTHING } : NOTHING;
    }
  };
  return rewrite(filter);
}

// Pages of an order: by index (RFC 7644 §3.4.2.4) or by cursor (RFC 9865 §2).

/** Resources in an order, by their keys. */
interface OrderedResources {
  count(range: KeyRange): Promise<number>;
  list(range: KeyRange, options: ListOptions): Promise<readonly Listed[]>;
}

interface PageRequest {
  /** From the last key to the first. */
  readonly isDescending: boolean;
  /** From 1. A cursor wins. */
  readonly startIndex: number;
  readonly count: number;
  /** `null`: no cursor, or the first page. */
  readonly place: CursorPlace | null;
}

interface QueryPage {
  readonly total: number;
  readonly startIndex: number;
  readonly listed: readonly Listed[];
  readonly next: CursorPlace | null;
  readonly previous: CursorPlace | null;
}

/** The order of an index. */
function orderOfIndex(
  indexes: Pick<ResourceIndexes, "count" | "list">,
  kind: ResourceKind,
  listing: Listing,
): OrderedResources {
  const within = (range: KeyRange): Listing => ({
    ...listing,
    ranges: intersectRanges(listing.ranges, [range]),
  });
  return {
    count: (range) => indexes.count(kind, within(range)),
    list: (range, options) => indexes.list(kind, within(range), options),
  };
}

/** An order in memory. @param listed in order of key. */
function orderOfList(listed: readonly Listed[]): OrderedResources {
  const within = ({ from, to }: KeyRange): readonly Listed[] =>
    listed.slice(firstAt(listed, from), firstAt(listed, to));
  return {
    count: (range) => Promise.resolve(within(range).length),
    list(range, { offset, limit, isReverse = false }) {
      const all = isReverse ? within(range).toReversed() : within(range);
      return Promise.resolve(all.slice(offset, offset + limit));
    },
  };
}

/** The position of the first key that is not before `key`. */
function firstAt(listed: readonly Listed[], key: string): number {
  let [low, high] = [0, listed.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareText(listed[middle]?.key ?? "", key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

async function readQueryPage(
  order: OrderedResources,
  { isDescending, startIndex, count, place }: PageRequest,
): Promise<QueryPage> {
  const listed = place === null
    ? await order.list(ALL_KEYS, { offset: startIndex - 1, limit: count, isReverse: isDescending })
    : await listFrom(order, { place, count, isDescending });
  // A page that is not full is the last one, so its end is the total.
  const isLast = place === null && listed.length < count && (listed.length > 0 || startIndex === 1);
  const total = isLast ? startIndex - 1 + listed.length : await order.count(ALL_KEYS);
  const before = place === null ? startIndex - 1 : await countBefore(order, { place, listed, isDescending });
  const [first, last] = [listed[0], listed.at(-1)];
  return {
    total,
    startIndex: before + 1,
    listed,
    next: last === undefined || before + listed.length >= total ? null : { key: last.key, side: "after" },
    previous: first === undefined || before <= 0 ? null : { key: first.key, side: "before" },
  };
}

async function listFrom(
  order: OrderedResources,
  { place: { key, side }, count, isDescending }: Pick<PageRequest, "count" | "isDescending"> & {
    place: CursorPlace;
  },
): Promise<readonly Listed[]> {
  const isUpwards = (side === "after") !== isDescending;
  const range = isUpwards ? keysAfter(key) : keysBefore(key);
  const listed = await order.list(range, { offset: 0, limit: count, isReverse: !isUpwards });
  return side === "after" ? listed : listed.toReversed();
}

/** How many resources are before the page. */
function countBefore(
  order: OrderedResources,
  { place, listed, isDescending }: {
    place: CursorPlace;
    listed: readonly Listed[];
    isDescending: boolean;
  },
): Promise<number> {
  const key = listed[0]?.key;
  if (key !== undefined) return order.count(isDescending ? keysAfter(key) : keysBefore(key));
  if (place.side === "before") return Promise.resolve(0);
  return order.count(isDescending ? fromKey(place.key) : { ...ALL_KEYS, to: `${place.key}\0` });
}

function keysAfter(key: string): KeyRange {
  // No key is between a key and itself with U+0000.
  return { from: `${key}\0`, to: ALL_KEYS.to };
}

function keysBefore(key: string): KeyRange {
  return { from: ALL_KEYS.from, to: key };
}

function fromKey(key: string): KeyRange {
  return { from: key, to: ALL_KEYS.to };
}
