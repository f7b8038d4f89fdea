// A list as a table, or as cards on a small screen. It shows the columns that fit, and keeps names readable at every width.

import { type ComponentChildren, Fragment } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Selection } from "../app/selection.ts";
import { nextSort, type Sortable, type SortOrder } from "../app/sorting.ts";
import { t } from "../i18n/translate.ts";
import { Icon } from "./icons.tsx";
import { Menu, type MenuItem } from "./menu.tsx";
import { useTableKeys } from "./table_keys.ts";
import { DayTitle, isNewDay } from "./time.tsx";
import {
  cardColumns,
  CARDS_BELOW_PX,
  type ColumnNeed,
  type ColumnWidth,
  layOutColumns,
} from "./table_layout.ts";

export interface TableColumn<T> extends ColumnWidth, Sortable<T> {
  /** The heading. Unique in the table. */
  readonly label: string;
  readonly number?: boolean;
  /** The menu of the row. */
  readonly isMenu?: boolean;
  /** Hidden until it is switched on. */
  readonly isOptional?: boolean;
  readonly cell: (row: T) => ComponentChildren;
}

export interface DataTableProps<T> {
  readonly label: string;
  readonly columns: readonly TableColumn<T>[];
  readonly rows: readonly T[];
  /** The key of a row, and the label of its checkbox. */
  readonly keyOf: (row: T) => string;
  /** The address of the page of a row. The first column becomes the link. */
  readonly hrefOf?: (row: T) => string;
  /** The menu of a row. */
  readonly actionsOf?: ((row: T) => readonly MenuItem[]) | undefined;
  /** How screen readers name the row. Default: its key. */
  readonly nameOf?: (row: T) => string;
  readonly selection?: Selection | undefined;
  /** The order of the rows, and how to change it. */
  readonly order?: SortOrder | null;
  readonly onOrder?: (order: SortOrder) => void;
  /** The rows are a log: the first row of each day has a title above it. */
  readonly days?: LogDays<T>;
  /** Newer rows are loading: these are dimmed after a moment. */
  readonly busy?: boolean;
}

/** How a log is divided into days. */
export interface LogDays<T> {
  readonly timeOf: (row: T) => number;
  /** The server's time, for "Today". */
  readonly nowMs: number;
}

/** The width of the column of checkboxes. */
const BOX_PX = 40;
/** The left and right padding of a cell in each window, as in the style sheet, and a pixel for rounding. */
const cellPaddingPx = () => innerWidth < DENSE_BELOW_PX ? 17 : 25;
const DENSE_BELOW_PX = 1200;
/** The mean width of a character of a heading, and the width of the arrow beside it. */
const CHARACTER_PX = 7.4;
const ARROW_PX = 16;
/** The usual content of a column is as wide as this share of its cells. */
const USUAL_SHARE = 0.8;

export function DataTable<T>(props: DataTableProps<T>) {
  const { label, rows, keyOf, selection, order = null, onOrder, busy = false } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(frame) - (selection === undefined ? 0 : BOX_PX);
  const all = withActions(props);
  const isCards = innerWidth < CARDS_BELOW_PX;
  const needs = useNeeds(body, { columns: all, rows, isCards, widthPx });
  const { shown, widthsPx } = isCards
    ? { shown: cardColumns(all), widthsPx: [] }
    : layOutColumns(all, { widthPx, needs });
  const columns = shown.flatMap((index) => all[index] ?? []);
  const keys = rows.map(keyOf);
  const onKeyDown = useTableKeys({ body, keys, selection });
  return (
    <div class="table-frame" ref={frame} aria-busy={busy} data-busy={busy ? "" : undefined}>
      {/* The roles stay where the style sheet changes the display of a table. */}
      <table class={`table ${isCards ? "table-cards" : ""}`} role="table" aria-label={label}>
        <colgroup>
          {selection !== undefined && <col style={{ width: `${BOX_PX}px` }} />}
          {columns.map(({ label }, at) => (
            <col
              key={label}
              style={{ width: widthsPx[at] === undefined ? undefined : `${widthsPx[at].toFixed(1)}px` }}
            />
          ))}
        </colgroup>
        <thead role="rowgroup">
          <tr role="row">
            {selection !== undefined && (
              <th scope="col" role="columnheader" class="box">
                <PageBox keys={keys} selection={selection} />
              </th>
            )}
            {columns.map((column) => (
              <Heading
                key={column.label}
                column={column}
                order={order}
                // Cards show no headings; a select above the list has the orders.
                onOrder={isCards ? undefined : onOrder}
              />
            ))}
          </tr>
        </thead>
        <tbody ref={body} role="rowgroup" onKeyDown={onKeyDown}>
          {rows.map((row, at) => (
            <Fragment key={keys[at]}>
              <Day
                days={props.days}
                row={row}
                before={rows[at - 1]}
                columns={columns.length + Number(selection !== undefined)}
              />
              <Row row={row} id={keys[at] ?? ""} keys={keys} table={props} columns={columns} />
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The columns, with the menu of the row as the last one. */
function withActions<T>({ columns, actionsOf, nameOf, keyOf }: DataTableProps<T>): readonly TableColumn<T>[] {
  if (actionsOf === undefined) return columns;
  const menu: TableColumn<T> = {
    label: t("common.actions"),
    width: "52px",
    isPinned: true,
    isMenu: true,
    cell: (row) => {
      const name = nameOf?.(row) ?? keyOf(row);
      return <Menu isPlain label={t("common.actions_of", { name })} items={() => actionsOf(row)} />;
    },
  };
  return [...columns, menu];
}

/** The inner width of an element in px, measured before the first paint and whenever it changes. */
function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [widthPx, setWidthPx] = useState(innerWidth);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return;
    const measure = () => setWidthPx(current.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return widthPx;
}

interface NeedsOf<T> {
  readonly columns: readonly TableColumn<T>[];
  readonly rows: readonly T[];
  readonly isCards: boolean;
  readonly widthPx: number;
}

/** The widths that the contents of each column need. They only grow, so that columns do not jump between pages. */
function useNeeds<T>(
  body: { readonly current: HTMLTableSectionElement | null },
  { columns, rows, isCards, widthPx }: NeedsOf<T>,
): readonly ColumnNeed[] {
  const [needs, setNeeds] = useState<Readonly<Record<string, ColumnNeed>>>({});
  useLayoutEffect(() => {
    if (isCards) return;
    const measured: Record<string, number[]> = {};
    for (const tr of body.current?.rows ?? []) {
      for (const cell of tr.cells) {
        const { column } = cell.dataset;
        if (column !== undefined) (measured[column] ??= []).push(contentWidth(cell));
      }
    }
    const next = { ...needs };
    for (const [label, widthsPx] of Object.entries(measured)) {
      const sorted = widthsPx.sort((a, b) => a - b);
      const usualPx = sorted[Math.floor((sorted.length - 1) * USUAL_SHARE)] ?? 0;
      next[label] = atLeast(next[label], sorted.at(-1) ?? 0, usualPx);
    }
    if (JSON.stringify(next) !== JSON.stringify(needs)) setNeeds(next);
  }, [rows, isCards, widthPx]);
  return columns.map(({ label }) => atLeast(needs[label], headingWidth(label)));
}

function atLeast(
  [longestPx, usualPx]: ColumnNeed = [0, 0],
  otherPx: number,
  otherUsualPx = otherPx,
): ColumnNeed {
  return [Math.max(longestPx, otherPx), Math.max(usualPx, otherUsualPx)];
}

/** About the width of a heading, with the arrow of the order. */
function headingWidth(label: string): number {
  return Math.ceil(cellPaddingPx() + CHARACTER_PX * label.length + ARROW_PX);
}

/** The width of the content, including the part that does not fit. */
function contentWidth(cell: HTMLElement): number {
  let hiddenPx = 0;
  for (const cut of cell.querySelectorAll(".cut")) {
    hiddenPx = Math.max(hiddenPx, cut.scrollWidth - cut.clientWidth);
  }
  let [leftPx, rightPx] = [Infinity, -Infinity];
  // The boxes of the children. A range over all of them would also measure texts that only screen readers see.
  for (const child of cell.childNodes) {
    const { left, right, width } = boxOf(child);
    if (width > 0) [leftPx, rightPx] = [Math.min(leftPx, left), Math.max(rightPx, right)];
  }
  return Math.ceil(Math.max(0, rightPx - leftPx)) + hiddenPx + cellPaddingPx();
}

function boxOf(node: Node): DOMRect {
  if (node instanceof Element) return node.getBoundingClientRect();
  const range = document.createRange();
  range.selectNodeContents(node);
  return range.getBoundingClientRect();
}

interface HeadingProps<T> {
  readonly column: TableColumn<T>;
  readonly order: SortOrder | null;
  readonly onOrder: ((order: SortOrder) => void) | undefined;
}

function Heading<T>({ column, order, onOrder }: HeadingProps<T>) {
  const { label, id, sort, isMenu } = column;
  const isSorted = id !== undefined && order?.by === id;
  const direction = order?.isDescending === true ? "descending" : "ascending";
  return (
    <th
      scope="col"
      role="columnheader"
      class={classOf(column)}
      aria-sort={isSorted ? direction : sort === undefined ? undefined : "none"}
    >
      {isMenu === true && <span class="unseen">{label}</span>}
      {isMenu !== true && (sort === undefined || onOrder === undefined
        ? label
        : (
          <button type="button" class="sort" onClick={() => onOrder(nextSort(order, column))}>
            <span>{label}</span>
            {isSorted && <Icon name={direction === "ascending" ? "arrow-up" : "arrow-down"} size={12} />}
          </button>
        ))}
    </th>
  );
}

interface RowProps<T> {
  readonly row: T;
  readonly id: string;
  readonly keys: readonly string[];
  readonly table: DataTableProps<T>;
  readonly columns: readonly TableColumn<T>[];
}

function Row<T>({ row, id, keys, table: { selection, hrefOf, nameOf }, columns }: RowProps<T>) {
  const isChosen = selection?.has(id) === true;
  return (
    <tr role="row" data-key={id} data-chosen={isChosen ? "" : undefined}>
      {selection !== undefined && (
        <td role="cell" class="box">
          <label class="box-label">
            <input
              type="checkbox"
              checked={isChosen}
              aria-label={t("common.select_row", { name: nameOf?.(row) ?? id })}
              onClick={(event) => event.shiftKey ? selection.extend(id, keys) : selection.toggle(id)}
            />
          </label>
        </td>
      )}
      {columns.map((column, at) => {
        const inside = column.cell(row);
        return (
          <td
            key={column.label}
            role="cell"
            class={classOf(column)}
            data-column={column.width?.endsWith("px") === true ? undefined : column.label}
            data-label={column.label}
          >
            {at === 0 && hrefOf !== undefined ? <a class="row-link" href={hrefOf(row)}>{inside}</a> : inside}
          </td>
        );
      })}
    </tr>
  );
}

interface DayProps<T> {
  readonly days: LogDays<T> | undefined;
  readonly row: T;
  /** The row above. */
  readonly before: T | undefined;
  readonly columns: number;
}

/** The title of a day, above its first row. */
function Day<T>({ days, row, before, columns }: DayProps<T>) {
  if (days === undefined) return null;
  const atMs = days.timeOf(row);
  if (!isNewDay(atMs, before === undefined ? undefined : days.timeOf(before))) return null;
  return (
    <tr role="row" class="day-row">
      <td role="cell" colSpan={columns}>
        <DayTitle atMs={atMs} nowMs={days.nowMs} />
      </td>
    </tr>
  );
}

function classOf<T>({ number, isMenu, isPinned }: TableColumn<T>): string {
  const actions = isMenu === true ? "actions" : isPinned === true ? "buttons" : "";
  return `${number === true ? "number" : ""} ${actions}`.trim();
}

function PageBox({ keys, selection }: { keys: readonly string[]; selection: Selection }) {
  const chosen = keys.filter((key) => selection.has(key)).length;
  const all = keys.length > 0 && chosen === keys.length;
  return (
    <label class="box-label">
      <input
        type="checkbox"
        checked={all}
        indeterminate={chosen > 0 && !all}
        aria-label={t("common.select_page")}
        onClick={() => all ? selection.clear() : selection.select(keys)}
      />
      <span class="box-text" aria-hidden="true">{t("common.select_page")}</span>
    </label>
  );
}
