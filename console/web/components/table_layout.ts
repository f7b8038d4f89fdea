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
export interface TableLayout {
  readonly shown: readonly number[];
  readonly widthsPx: readonly number[];
}

/** Below this width of the window, each row is a card. */
export const CARDS_BELOW_PX = 760;
const MIN_NAME_PX = 140;
/** Usual and very long contents get no more, so that they do not take the room of all other columns. */
const MAX_USUAL_PX = 280;
const MAX_LONGEST_PX = 480;
const LOWEST_PRIORITY = 3;
const UNKNOWN: ColumnNeed = [0, 0];
/** The share of a column without a width, beside columns with a percentage. */
const DEFAULT_SHARE = 20;

/** The widths that the longest and the usual contents of a column need in px; 0 while they are unknown. */
export type ColumnNeed = readonly [longestPx: number, usualPx: number];

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
