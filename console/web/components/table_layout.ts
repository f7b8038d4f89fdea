// The columns of a table at every width: which of them are shown, and how wide each is. Names stay readable.

/** The width of a column, and its priority when the table is narrow. */
export interface ColumnWidth {
  /** "120px" is fixed, "30%" is a share of the remaining width. Default: an equal share. */
  readonly width?: string;
  /** The minimum width in px of a column without a fixed width. Default: 140. */
  readonly min?: number;
  /** 1 is hidden last, 3 first. Cards show columns of priority 1 and 2. Default: 1. */
  readonly priority?: 1 | 2 | 3;
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
/** A very long content gets no more, so that one row does not take the room of all other columns. */
const MAX_NEED_PX = 480;
/** The share of a column without a width, beside columns with a percentage. */
const DEFAULT_SHARE = 20;

interface MeasuredColumn {
  readonly index: number;
  readonly minPx: number;
  /** The width of the longest content; 0 if it is unknown. */
  readonly needPx: number;
  /** The width beyond the minimum that the longest content needs. */
  readonly wantPx: number;
  /** The share of the remaining width; 0 for a fixed width. */
  readonly share: number;
  readonly priority: number;
}

/**
 * @param columns in order. The first one is never hidden.
 * @param options.widthPx the width of the table, without the checkboxes
 * @param options.needsPx the width of the longest content of each column, if it is known
 */
export function layOutColumns(
  columns: readonly ColumnWidth[],
  { widthPx, needsPx = [] }: { readonly widthPx: number; readonly needsPx?: readonly number[] },
): TableLayout {
  let shown = columns.map((column, index) => measure(column, { index, needPx: needsPx[index] ?? 0 }));
  while (shown.length > 1 && sumOf(shown.map(({ minPx }) => minPx)) > widthPx) {
    const leaving = leastImportant(columns, shown);
    if (leaving === undefined) break;
    shown = shown.filter((one) => one !== leaving);
  }
  shown = shown.map(shrinkToContent);
  let leftPx = Math.max(0, widthPx - sumOf(shown.map(({ minPx }) => minPx)));
  const filled = new Map<number, number>();
  // First what the contents need, by priority. Then the rest in shares.
  for (const level of [1, 2, 3]) {
    const wantedPx = sumOf(shown.filter(({ priority }) => priority === level).map(({ wantPx }) => wantPx));
    const part = wantedPx === 0 ? 0 : Math.min(1, leftPx / wantedPx);
    filled.set(level, part);
    leftPx -= part * wantedPx;
  }
  const shares = sumOf(shown.map(({ share }) => share));
  return {
    shown: shown.map(({ index }) => index),
    widthsPx: shown.map(({ minPx, wantPx, share, priority }) =>
      minPx + (filled.get(priority) ?? 0) * wantPx + (shares === 0 ? 0 : leftPx * share / shares)
    ),
  };
}

/** The last column of the lowest priority; a column of text before a column of actions. */
function leastImportant(
  columns: readonly ColumnWidth[],
  shown: readonly MeasuredColumn[],
): MeasuredColumn | undefined {
  const open = shown.filter(({ index }) => index > 0 && columns[index]?.isPinned !== true);
  const lowest = Math.max(...open.map(({ priority }) => priority));
  return open.findLast(({ priority }) => priority === lowest);
}

/** Columns of lower priority leave the room that their contents do not need to the names. */
function shrinkToContent(column: MeasuredColumn): MeasuredColumn {
  const { minPx, needPx, share, priority } = column;
  if (share === 0 || priority === 1 || needPx === 0) return column;
  return { ...column, minPx: Math.min(minPx, Math.max(needPx, MIN_SHRUNK_PX)) };
}

const MIN_SHRUNK_PX = 90;

function measure(
  { width, min = MIN_NAME_PX, priority = 1 }: ColumnWidth,
  { index, needPx }: { readonly index: number; readonly needPx: number },
): MeasuredColumn {
  const amount = Number.parseFloat(width ?? "");
  if (width?.endsWith("px") === true) return { index, minPx: amount, needPx, wantPx: 0, share: 0, priority };
  const share = width?.endsWith("%") === true ? amount : DEFAULT_SHARE;
  return {
    index,
    minPx: min,
    needPx,
    wantPx: Math.max(0, Math.min(needPx, MAX_NEED_PX) - min),
    share,
    priority,
  };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The indexes of the columns on a card. */
export function cardColumns(columns: readonly ColumnWidth[]): number[] {
  return columns.flatMap(({ priority = 1 }, index) => priority < 3 ? [index] : []);
}
