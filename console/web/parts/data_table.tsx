// A list as a table. The columns that fit are shown, and names stay readable at every width; rows can be selected, also by keys.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Selection } from "../models/selection.ts";
import { type ColumnWidth, layOutColumns, NARROW_PX } from "../models/table_layout.ts";
import { useShortcuts } from "../shortcuts.ts";
import { t } from "../i18n/translate.ts";
import { Button } from "./button.tsx";
import { Symbol } from "./symbol.tsx";

export interface Column<T> extends ColumnWidth {
  /** Its heading; no other column of the table has the same. */
  readonly label: string;
  readonly number?: boolean;
  readonly cell: (row: T) => ComponentChildren;
}

export interface DataTableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  /** What a row is known by, and what its box is called. */
  readonly keyOf: (row: T) => string;
  /** Where a row leads; the first column becomes the link. */
  readonly hrefOf?: (row: T) => string;
  readonly selection?: Selection;
  /** Below 560 px a row is two lines instead of narrow columns; for tables without boxes. */
  readonly stack?: boolean;
  /** Below 760 px the style sheet writes a row as a block, which has room for all columns. */
  readonly blocks?: boolean;
  /** Newer rows are on their way: these are dimmed after a moment. */
  readonly busy?: boolean;
}

/** The column of boxes. */
const BOX_PX = 40;
/** Below this the style sheet writes a row of a stacked table as lines. */
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
              aria-label={t("frame.select_row", { name: id })}
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

function classOf<T>({ number, wideOnly }: Column<T>): string {
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
        aria-label={t("frame.select_page")}
        onClick={() => all ? selection.clear() : selection.choose(keys)}
      />
    </label>
  );
}

interface RowKeys {
  readonly body: { readonly current: HTMLTableSectionElement | null };
  readonly keys: readonly string[];
  readonly selection: Selection | undefined;
}

/** `j` and `k` move through the rows, `x` chooses the one with the focus; Enter is the link's own. */
function useRowKeys({ body, keys, selection }: RowKeys): void {
  const rowNow = () => document.activeElement?.closest<HTMLElement>("tr[data-key]") ?? null;
  const move = (step: 1 | -1) => {
    const rows = [...body.current?.rows ?? []];
    const at = rows.findIndex((row) => row === rowNow());
    const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
    // The link before the box that stands before it, so that Enter opens the row.
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
    { keys: "j", does: "frame.key_down", run: () => move(1) },
    { keys: "k", does: "frame.key_up", run: () => move(-1) },
  ] as const;
  const picks = [
    { keys: "x", does: "frame.key_choose", run: () => pick(false) },
    { keys: "X", does: "frame.key_range", run: () => pick(true) },
  ] as const;
  useShortcuts(selection === undefined ? rows : [...rows, ...picks]);
}

interface SelectionBarProps {
  readonly selection: Selection;
  /** All that match, when it is known. */
  readonly total: number | null;
  /** What is done to the chosen ones. */
  readonly children: ComponentChildren;
}

/** How many are chosen, all that match with one click, and what to do with them. */
export function SelectionBar({ selection, total, children }: SelectionBarProps) {
  const everything = selection.everything.value;
  const count = everything && total !== null ? total : selection.chosen.value.size;
  if (count === 0) return null;
  return (
    <div class="selection-bar" role="region" aria-label={t("frame.selected", { count })}>
      <Symbol name="list-checks" />
      <strong role="status">{t("frame.selected", { count })}</strong>
      {!everything && total !== null && total > count && (
        <Button small onClick={selection.chooseEverything}>{t("frame.select_all", { count: total })}</Button>
      )}
      <Button kind="plain" small onClick={selection.clear}>{t("frame.select_none")}</Button>
      <div class="end">{children}</div>
    </div>
  );
}
