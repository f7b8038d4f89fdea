// A list as a table. It shows the columns that fit, and keeps names readable at every width. Rows can be selected.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Selection } from "../app/selection.ts";
import { useShortcuts } from "../app/shortcuts.ts";
import { t } from "../i18n/translate.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icons.tsx";

export interface TableColumn<T> extends ColumnWidth {
  /** The heading. Unique in the table. */
  readonly label: string;
  readonly number?: boolean;
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
  readonly selection?: Selection;
  /** Below 560 px, a row has two lines instead of narrow columns. For tables without checkboxes. */
  readonly stack?: boolean;
  /** Below 760 px, the style sheet shows a row as a block, which has room for all columns. */
  readonly blocks?: boolean;
  /** Newer rows are loading: these are dimmed after a moment. */
  readonly busy?: boolean;
}

/** The width of the column of checkboxes. */
const BOX_PX = 40;
/** Below this width, the style sheet shows a row of a stacked table as lines. */
const STACKED_PX = 560;

export function DataTable<T>(props: DataTableProps<T>) {
  const { label, rows, keyOf, selection, stack = false, busy = false } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(frame) - (selection === undefined ? 0 : BOX_PX);
  const { columns, widths } = columnsThatFit(props, widthPx);
  const keys = rows.map(keyOf);
  useRowKeys({ body, keys, selection });
  return (
    <div class="table-frame" ref={frame} aria-busy={busy} data-busy={busy ? "" : undefined}>
      <table class={`table ${stack ? "table-stack" : ""}`} aria-label={label}>
        <colgroup>
          {selection !== undefined && <col style={{ width: `${BOX_PX}px` }} />}
          {columns.map(({ label }, at) => <col key={label} style={{ width: widths[at] }} />)}
        </colgroup>
        <thead>
          <tr>
            {selection !== undefined && (
              <th scope="col" class="box">
                <PageBox keys={keys} selection={selection} />
              </th>
            )}
            {columns.map((column) => (
              <th key={column.label} scope="col" class={classOf(column)}>{column.label}</th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, at) => (
            <Row key={keys[at]} row={row} id={keys[at] ?? ""} keys={keys} table={{ ...props, columns }} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function columnsThatFit<T>({ columns, stack, blocks }: DataTableProps<T>, widthPx: number) {
  const isNarrow = innerWidth < NARROW_PX;
  if (blocks === true && isNarrow) return { columns, widths: [] };
  if (stack === true && innerWidth < STACKED_PX) {
    return { columns: columns.filter(({ wideOnly }) => wideOnly !== true), widths: [] };
  }
  const { shown, widthsPx } = layOutColumns(columns, { widthPx, isNarrow });
  return {
    columns: shown.flatMap((index) => columns[index] ?? []),
    widths: widthsPx.map((px) => `${px.toFixed(1)}px`),
  };
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

interface RowProps<T> {
  readonly row: T;
  readonly id: string;
  readonly keys: readonly string[];
  readonly table: DataTableProps<T>;
}

function Row<T>({ row, id, keys, table }: RowProps<T>) {
  const { selection, columns, hrefOf } = table;
  const isChosen = selection?.has(id) === true;
  return (
    <tr data-key={id} data-chosen={isChosen ? "" : undefined}>
      {selection !== undefined && (
        <td class="box">
          <label class="box-label">
            <input
              type="checkbox"
              checked={isChosen}
              aria-label={t("common.select_row", { name: id })}
              onClick={(event) => event.shiftKey ? selection.extend(id, keys) : selection.toggle(id)}
            />
          </label>
        </td>
      )}
      {columns.map((column, at) => {
        const inside = column.cell(row);
        return (
          <td key={column.label} class={classOf(column)}>
            {at === 0 && hrefOf !== undefined ? <a class="row-link" href={hrefOf(row)}>{inside}</a> : inside}
          </td>
        );
      })}
    </tr>
  );
}

function classOf<T>({ number, wideOnly }: TableColumn<T>): string {
  return `${number === true ? "number" : ""} ${wideOnly === true ? "wide-only" : ""}`.trim();
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
    </label>
  );
}

interface RowKeys {
  readonly body: { readonly current: HTMLTableSectionElement | null };
  readonly keys: readonly string[];
  readonly selection: Selection | undefined;
}

/** `j` and `k` move through the rows, `x` selects the focused one. Enter opens its link. */
function useRowKeys({ body, keys, selection }: RowKeys): void {
  const rowNow = () => document.activeElement?.closest<HTMLElement>("tr[data-key]") ?? null;
  const move = (step: 1 | -1) => {
    const rows = [...body.current?.rows ?? []];
    const at = rows.findIndex((row) => row === rowNow());
    const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
    // The link is preferred to the checkbox, so that Enter opens the row.
    const target = next?.querySelector<HTMLElement>("a.row-link") ?? next?.querySelector("input, button");
    if (target instanceof HTMLElement) target.focus();
  };
  const pick = (extend: boolean) => {
    const key = rowNow()?.dataset.key;
    if (key === undefined || selection === undefined) return;
    if (extend) selection.extend(key, keys);
    else selection.toggle(key);
  };
  const rows = [
    { keys: "j", label: "common.key_down", run: () => move(1) },
    { keys: "k", label: "common.key_up", run: () => move(-1) },
  ] as const;
  const picks = [
    { keys: "x", label: "common.key_choose", run: () => pick(false) },
    { keys: "X", label: "common.key_range", run: () => pick(true) },
  ] as const;
  useShortcuts(selection === undefined ? rows : [...rows, ...picks]);
}

interface SelectionBarProps {
  readonly selection: Selection;
  /** The number of rows that match; `null` if unknown. */
  readonly total: number | null;
  /** The actions on the selected rows. */
  readonly children: ComponentChildren;
}

/** The number of selected rows, a button that selects all, and the actions on them. */
export function SelectionBar({ selection, total, children }: SelectionBarProps) {
  const everything = selection.isEverything.value;
  const count = everything && total !== null ? total : selection.selected.value.size;
  if (count === 0) return null;
  return (
    <div class="selection-bar" role="region" aria-label={t("common.selected", { count })}>
      <Icon name="list-checks" />
      <strong role="status">{t("common.selected", { count })}</strong>
      {!everything && total !== null && total > count && (
        <Button small onClick={selection.selectEverything}>{t("common.select_all", { count: total })}</Button>
      )}
      <Button kind="plain" small onClick={selection.clear}>{t("common.select_none")}</Button>
      <div class="end">{children}</div>
    </div>
  );
}

/** The width of a column, and its priority when the table is narrow. */
export interface ColumnWidth {
  /** "120px" is fixed, "30%" is a share of the remaining width. Default: an equal share. */
  readonly width?: string;
  /** The fixed width below {@link NARROW_PX}, if it differs. */
  readonly narrow?: string;
  /** The minimum width in px of a column without a fixed width. Default: 140. */
  readonly min?: number;
  /** Hidden before the other columns, and always below {@link NARROW_PX}. */
  readonly wideOnly?: boolean;
}

/** The columns that are shown, by index, and the width of each in px. */
interface TableLayout {
  readonly shown: readonly number[];
  readonly widthsPx: readonly number[];
}

/** Below this width, the layout is that of a phone. */
const NARROW_PX = 760;
const MIN_NAME_PX = 140;

interface Measured {
  readonly index: number;
  readonly minPx: number;
  /** The share of the remaining width; 0 for a fixed width. */
  readonly share: number;
}

/**
 * @param columns in order. The first one is never hidden.
 * @param room the width of the table in px, without the checkboxes, and whether the window is narrow.
 */
export function layOutColumns(
  columns: readonly ColumnWidth[],
  { widthPx, isNarrow }: { readonly widthPx: number; readonly isNarrow: boolean },
): TableLayout {
  let shown = columns.map((column, index) => measure(column, { index, isNarrow }))
    .filter(({ index }) => index === 0 || !(isNarrow && columns[index]?.wideOnly === true));
  const isWideOnly = ({ index }: Measured) => columns[index]?.wideOnly === true;
  while (shown.length > 1 && sumOf(shown.map(({ minPx }) => minPx)) > widthPx) {
    // The last one of low priority, otherwise the last one before the actions.
    const leaving = shown.findLast((one) => one.index > 0 && isWideOnly(one)) ??
      shown.findLast((one) => one.index > 0 && one.share > 0) ?? shown.at(shown.length > 2 ? -2 : -1);
    shown = shown.filter((one) => one !== leaving);
  }
  const leftPx = Math.max(0, widthPx - sumOf(shown.map(({ minPx }) => minPx)));
  const shares = sumOf(shown.map(({ share }) => share));
  return {
    shown: shown.map(({ index }) => index),
    widthsPx: shown.map(({ minPx, share }) => minPx + (shares === 0 ? 0 : leftPx * share / shares)),
  };
}

function measure(
  { width, narrow, min = MIN_NAME_PX }: ColumnWidth,
  { index, isNarrow }: { readonly index: number; readonly isNarrow: boolean },
): Measured {
  const asked = isNarrow ? narrow ?? width : width;
  const amount = Number.parseFloat(asked ?? "");
  if (asked?.endsWith("px") === true) return { index, minPx: amount, share: 0 };
  return { index, minPx: min, share: asked?.endsWith("%") === true ? amount : DEFAULT_SHARE };
}

/** The share of a column without a width, beside columns with a percentage. */
const DEFAULT_SHARE = 20;

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
