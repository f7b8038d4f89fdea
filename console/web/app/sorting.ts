// The order of a list. It is stored in the address: `sort=name` or `sort=-name`.

import type { Models } from "./app_context.ts";

/** The order of a list by one of its columns. */
export interface SortOrder {
  /** The id of the column. */
  readonly by: string;
  readonly isDescending: boolean;
}

/** A value that can be compared; `null` comes last. */
type SortValue = string | number | null;

/** A column that can be sorted. */
export interface Sortable<T> {
  readonly id?: string;
  /** `server`: the server sorts. Otherwise the browser has the whole list, and compares these values. */
  readonly sort?: "server" | ((row: T) => SortValue);
  /** The first click sorts by the largest value, such as the newest time. */
  readonly isLargestFirst?: boolean;
}

function parseSort(text: string): SortOrder | null {
  const isDescending = text.startsWith("-");
  const by = isDescending ? text.slice(1) : text;
  return by === "" ? null : { by, isDescending };
}

export function formatSort({ by, isDescending }: SortOrder): string {
  return `${isDescending ? "-" : ""}${by}`;
}

/** The order in the address, if a column has it; otherwise the default. */
export function currentSort<T>(
  { router }: Pick<Models, "router">,
  columns: readonly Sortable<T>[],
  initial: string | undefined,
): SortOrder | null {
  const asked = parseSort(router.param("sort"));
  const isKnown = columns.some(({ id, sort }) => id === asked?.by && sort !== undefined);
  return isKnown ? asked : parseSort(initial ?? "");
}

/** The order after a click on the heading of a column. */
export function nextSort<T>(current: SortOrder | null, { id = "", isLargestFirst }: Sortable<T>): SortOrder {
  if (current?.by === id) return { by: id, isDescending: !current.isDescending };
  return { by: id, isDescending: isLargestFirst === true };
}

/** Rows in the order of a column that the browser sorts. Rows with equal values keep their order. */
export function sortRows<T>(
  rows: readonly T[],
  columns: readonly Sortable<T>[],
  order: SortOrder | null,
): readonly T[] {
  const valueOf = columns.find(({ id }) => id !== undefined && id === order?.by)?.sort;
  if (order === null || typeof valueOf !== "function") return rows;
  const direction = order.isDescending ? -1 : 1;
  const values = rows.map((row) => ({ row, value: valueOf(row) }));
  values.sort((a, b) => {
    if (a.value === null || b.value === null) return Number(a.value === null) - Number(b.value === null);
    return direction * compareValues(a.value, b.value);
  });
  return values.map(({ row }) => row);
}

const names = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function compareValues(a: string | number, b: string | number): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return names.compare(String(a), String(b));
}
