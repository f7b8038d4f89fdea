// Pages of an order: by index (RFC 7644 §3.4.2.4) or by cursor (RFC 9865 §2).

import { compareText } from "../../directory/keys.ts";
import type { KeyRange, Listed, Listing, ListOptions, ResourceIndexes } from "../../index_port.ts";
import type { ResourceKind } from "../../schema/resource.ts";
import { ALL_KEYS, intersectRanges } from "./key_ranges.ts";
import type { CursorPlace } from "./query_cursor.ts";

/** Resources in an order, by their keys. */
export interface OrderedResources {
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

export interface QueryPage {
  readonly total: number;
  readonly startIndex: number;
  readonly listed: readonly Listed[];
  readonly next: CursorPlace | null;
  readonly previous: CursorPlace | null;
}

/** The order of an index. */
export function orderOfIndex(
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
export function orderOfList(listed: readonly Listed[]): OrderedResources {
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

export async function readQueryPage(
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
