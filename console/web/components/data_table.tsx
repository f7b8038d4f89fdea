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
interface LogDays<T> {
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

// The columns of a table at every width: which of them are shown, and how wide each is. Names stay readable.

/** The width of a column, and its priority when the table is narrow. */
export interface ColumnWidth {
  /** "120px" is fixed, "30%" is a share of the remaining width. Default: an equal share. */
  readonly width?: string;
  /** The minimum width in px of a column without a fixed width. Default: 140. */
  readonly min?: number;
  /** 1 is hidden last, 3 first. Cards show columns of priority 1 and 2. Default: 1. */
  readonly priority?: 1 | 2 | 3;
  /** Never cut: at least as wide as its longest content. */
  readonly isWhole?: boolean;
  /** Never hidden: the menu or the buttons of the row. */
  readonly isPinned?: boolean;
}

/** The columns that are shown, by index, and the width of each in px. */
interface TableLayout {
  readonly shown: readonly number[];
  readonly widthsPx: readonly number[];
}

/** Below this width of the window, each row is a card. */
const CARDS_BELOW_PX = 760;
const MIN_NAME_PX = 140;
/** Usual and very long contents get no more, so that they do not take the room of all other columns. */
const MAX_USUAL_PX = 280;
const MAX_LONGEST_PX = 480;
const LOWEST_PRIORITY = 3;
const UNKNOWN: ColumnNeed = [0, 0];
/** The share of a column without a width, beside columns with a percentage. */
const DEFAULT_SHARE = 20;

/** The widths that the longest and the usual contents of a column need in px; 0 while they are unknown. */
type ColumnNeed = readonly [longestPx: number, usualPx: number];

interface MeasuredColumn {
  readonly index: number;
  readonly minPx: number;
  readonly need: ColumnNeed;
  /** The share of the remaining width; 0 for a fixed width. */
  readonly share: number;
  readonly priority: number;
}

/**
 * @param columns in order. The first one is never hidden.
 * @param options.widthPx the width of the table, without the checkboxes
 * @param options.needs what the contents of each column need, if it is known
 */
export function layOutColumns(
  columns: readonly ColumnWidth[],
  { widthPx, needs = [] }: { readonly widthPx: number; readonly needs?: readonly ColumnNeed[] },
): TableLayout {
  let shown = columns.map((column, index) =>
    shrinkToContent(measure(column, { index, need: needs[index] ?? UNKNOWN }))
  );
  for (;;) {
    const leaving = leastImportant(columns, shown);
    if (leaving === undefined) break;
    // A column is hidden already if a more important one, or another of the lowest priority, would cut its usual contents.
    const neededPx = sumOf(
      shown.map((one) =>
        one.priority < leaving.priority || leaving.priority === LOWEST_PRIORITY ? usualWidth(one) : one.minPx
      ),
    );
    if (neededPx <= widthPx) break;
    shown = shown.filter((one) => one !== leaving);
  }
  let widthsPx = shown.map(({ minPx }) => minPx);
  const leftPx = () => Math.max(0, widthPx - sumOf(widthsPx));
  // First what usual contents need, by priority; then what long ones need; then the rest in shares.
  for (const wish of [usualWidth, longestWidth]) {
    for (let level = 1; level <= LOWEST_PRIORITY; level++) {
      const wantsPx = shown.map((column, at) =>
        column.priority === level ? Math.max(0, wish(column) - (widthsPx[at] ?? 0)) : 0
      );
      const part = Math.min(1, leftPx() / Math.max(1, sumOf(wantsPx)));
      widthsPx = widthsPx.map((width, at) => width + part * (wantsPx[at] ?? 0));
    }
  }
  const shares = sumOf(shown.map(({ share }) => share));
  const restPx = leftPx();
  return {
    shown: shown.map(({ index }) => index),
    widthsPx: shown.map(({ share }, at) =>
      (widthsPx[at] ?? 0) + (shares === 0 ? 0 : restPx * share / shares)
    ),
  };
}

/** The last column of the lowest priority; a column of text before a column of actions. */
function leastImportant(
  columns: readonly ColumnWidth[],
  shown: readonly MeasuredColumn[],
): MeasuredColumn | undefined {
  const open = shown.filter(({ index }) => index > 0 && columns[index]?.isPinned !== true);
  if (open.length === 0) return undefined;
  const lowest = Math.max(...open.map(({ priority }) => priority));
  return open.findLast(({ priority }) => priority === lowest);
}

/** Columns after the first one leave the room that their contents do not need to the others. */
function shrinkToContent(column: MeasuredColumn): MeasuredColumn {
  const { index, minPx, need: [longestPx], share } = column;
  if (share === 0 || index === 0 || longestPx === 0) return column;
  return { ...column, minPx: Math.min(minPx, Math.max(longestPx, MIN_SHRUNK_PX)) };
}

const usualWidth = (column: MeasuredColumn) => wishOf(column, column.need[1], MAX_USUAL_PX);
const longestWidth = (column: MeasuredColumn) => wishOf(column, column.need[0], MAX_LONGEST_PX);

function wishOf({ minPx, share }: MeasuredColumn, needPx: number, maxPx: number): number {
  return share === 0 ? minPx : Math.max(minPx, Math.min(needPx, maxPx));
}

const MIN_SHRUNK_PX = 90;

function measure(
  { width, min = MIN_NAME_PX, priority = 1, isWhole = false }: ColumnWidth,
  { index, need }: { readonly index: number; readonly need: ColumnNeed },
): MeasuredColumn {
  const amount = Number.parseFloat(width ?? "");
  if (width?.endsWith("px") === true) return { index, minPx: amount, need, share: 0, priority };
  const share = width?.endsWith("%") === true ? amount : DEFAULT_SHARE;
  const wholePx = isWhole ? Math.min(need[0], MAX_LONGEST_PX) : 0;
  return { index, minPx: Math.max(min, wholePx), need, share, priority };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The indexes of the columns on a card. */
export function cardColumns(columns: readonly ColumnWidth[]): number[] {
  return columns.flatMap(({ priority = 1 }, index) => priority < 3 ? [index] : []);
}
