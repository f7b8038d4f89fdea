// What narrows a list: filters as rows, each of which lives in the address under its name and only there.

import type { Models } from "./models.ts";
import { pageOf } from "./page_number.ts";
import { type Resource, useResource } from "./resource.ts";

/** One filter of a list. */
export interface Filter {
  /** Its name in the address, and in what the API is asked. */
  readonly name: string;
  /** What it is called where it is set. */
  readonly label: string;
  /** What its chip calls it; the label unless given, "" for none. */
  readonly chip?: string;
  /** How it is set above the list; without it something else sets it, such as a cell of a row. */
  readonly by?: "search" | "name" | "choice" | "moment";
  /** What can be chosen, and what is said of none of it. */
  readonly options?: readonly string[];
  readonly every?: string;
  /** `false`: it says which list this is. No list is empty because of it, and the rows of another list are not shown. */
  readonly narrows?: false;
  /** A value in words; the value itself unless given. */
  readonly text?: (value: string) => string;
}

/** What the API is asked for, without what is off. */
export type Query = Readonly<Record<string, string>>;
type Routed = Pick<Models, "router">;

/** The filters that are on; moments in milliseconds, those that are none left out. */
export function queryOf({ router }: Routed, filters: readonly Filter[]): Query {
  const given = filters.map(({ name, by }) => {
    const value = router.param(name);
    if (by !== "moment") return [name, value];
    const atMs = Date.parse(value);
    return [name, Number.isNaN(atMs) ? "" : String(atMs)];
  });
  return Object.fromEntries(given.filter(([, value]) => value !== ""));
}

/** Takes filters off, and goes back to the first page. */
export function takeOff({ router }: Routed, filters: readonly Pick<Filter, "name">[]): void {
  router.setParams(
    Object.fromEntries(["page", ...filters.map(({ name }) => name)].map((name) => [name, ""])),
  );
}

/** The filtered list. It is fetched again when a filter or the page number in the address changes. */
export function useFiltered<P>(
  models: Models,
  { filters, fetch }: { filters: readonly Filter[]; fetch: (query: Query) => Promise<P> },
): { readonly query: Query; readonly list: Resource<P> } {
  const query = queryOf(models, filters);
  const page = String(pageOf(models));
  const which = filters.filter(({ narrows }) => narrows === false).map(({ name }) => query[name] ?? "");
  const list = useResource(models, {
    fetch: () => fetch(page === "1" ? query : { ...query, page }),
    inputs: [page, JSON.stringify(query)],
    key: JSON.stringify(which),
  });
  return { query, list };
}
