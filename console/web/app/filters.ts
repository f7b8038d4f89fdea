// The filters and the page number of a list. They are stored in the address only.

import type { Models } from "./app_context.ts";
import { useMemo } from "preact/hooks";
import { type Resource, useResource } from "./resource.ts";
import { spanOfRange } from "./time_range.ts";

/** One filter of a list. */
export interface ListFilter {
  /** The query parameter in the address and in the API call. */
  readonly name: string;
  /** The label of the control. */
  readonly label: string;
  /** The label of the chip. Default: the label of the control. "" for no chip. */
  readonly chip?: string;
  /** The control above the list. Without one, something else sets the filter, such as a cell of a row. */
  readonly control?: "search" | "name" | "choice" | "moment" | "range";
  /** The control is shown on demand, so that the bar stays on one line. */
  readonly isExtra?: true;
  /** Has its control in the one of the range. */
  readonly isPartOfRange?: true;
  /** The options, and the label of the option without a filter. */
  readonly options?: readonly string[];
  /** The group of an option, so that a long list has headings. */
  readonly groupOf?: (option: string) => string;
  readonly allLabel?: string;
  /** `false`: the filter selects which list is shown. It is no reason for an empty list, and clears the rows of another list. */
  readonly isNarrowing?: false;
  /** The text of a value. Default: the value. */
  readonly text?: (value: string) => string;
}

/** The query of the API call, with the active filters only. */
export type FilterQuery = Readonly<Record<string, string>>;
type Routed = Pick<Models, "router">;

/**
 * The active filters. Times are in milliseconds; invalid ones are left out. A named range becomes two times, unless the address
 * has times of its own.
 */
export function toFilterQuery(
  { router }: Routed,
  filters: readonly ListFilter[],
  nowMs = Date.now(),
): FilterQuery {
  const { range, ...query } = readFilters(router, filters);
  const span = range === undefined || "from" in query || "to" in query ? null : spanOfRange(range, nowMs);
  if (span === null) return query;
  return { ...query, from: String(span.fromMs), ...span.toMs === null ? {} : { to: String(span.toMs) } };
}

function readFilters(router: Routed["router"], filters: readonly ListFilter[]): FilterQuery {
  const given = filters.map(({ name, control }) => {
    const value = router.param(name);
    if (control !== "moment") return [name, value];
    const atMs = Date.parse(value);
    return [name, Number.isNaN(atMs) ? "" : String(atMs)];
  });
  return Object.fromEntries(given.filter(([, value]) => value !== ""));
}

/** Clears filters, and returns to the first page. */
export function clearFilters({ router }: Routed, filters: readonly Pick<ListFilter, "name">[]): void {
  router.setParams(
    Object.fromEntries(["page", ...filters.map(({ name }) => name)].map((name) => [name, ""])),
  );
}

/** The filtered list. It loads again when a filter or the page number in the address changes. */
export function useFilteredList<P>(
  models: Models,
  { filters, fetch, isSorted = false }: {
    filters: readonly ListFilter[];
    fetch: (query: FilterQuery) => Promise<P>;
    /** The server sorts: its call gets the order, too. */
    isSorted?: boolean;
  },
): { readonly query: FilterQuery; readonly list: Resource<P> } {
  // The times of a named range are computed once, so that older pages belong to the same range.
  const query = useMemo(
    () => toFilterQuery(models, filters, models.clock.nowMs.peek()),
    [JSON.stringify(readFilters(models.router, filters))],
  );
  const page = String(pageNumber(models));
  const which = filters.filter(({ isNarrowing }) => isNarrowing === false).map(({ name }) =>
    query[name] ?? ""
  );
  const sort = isSorted ? models.router.param("sort") : "";
  const asked = { ...query, ...sort === "" ? {} : { sort }, ...page === "1" ? {} : { page } };
  const list = useResource(models, {
    fetch: () => fetch(asked),
    inputs: [JSON.stringify(asked)],
    key: JSON.stringify(which),
  });
  return { query, list };
}

/** The page number in the address. Default: 1. */
export function pageNumber({ router }: Pick<Models, "router">): number {
  const page = Number(router.param("page"));
  return Number.isInteger(page) && page > 0 ? page : 1;
}
