// Which columns of a table fit into a width, and how wide each is. Columns with a low priority are hidden first, and a
// column of names never gets narrower than its minimum.

/** The width of a column, and how long it stays when there is too little room. */
export interface ColumnWidth {
  /** "120px" is fixed; "30%" is a share of what is left; without one, an equal share. */
  readonly width?: string;
  /** The fixed width below {@link NARROW_PX}, where it is another. */
  readonly narrow?: string;
  /** In px, for a column without a fixed width; 140 unless given. */
  readonly min?: number;
  /** Hidden before the other columns, and always below {@link NARROW_PX}. */
  readonly wideOnly?: boolean;
}

/** The columns that are shown, by index, and the width of each in px. */
export interface TableLayout {
  readonly shown: readonly number[];
  readonly widthsPx: readonly number[];
}

/** Below this the window of the table is that of a phone. */
export const NARROW_PX = 760;
const MIN_NAME_PX = 140;

interface Measured {
  readonly index: number;
  readonly minPx: number;
  /** The share of the room that is left; 0 for a fixed width. */
  readonly share: number;
}

/**
 * @param columns in order; the first one is never hidden.
 * @param room the width of the table in px, without a column of boxes; and whether the window is narrow.
 */
export function layOutColumns(
  columns: readonly ColumnWidth[],
  { widthPx, isNarrow }: { readonly widthPx: number; readonly isNarrow: boolean },
): TableLayout {
  let shown = columns.map((column, index) => measure(column, { index, isNarrow }))
    .filter(({ index }) => index === 0 || !(isNarrow && columns[index]?.wideOnly === true));
  const isWideOnly = ({ index }: Measured) => columns[index]?.wideOnly === true;
  while (shown.length > 1 && sumOf(shown.map(({ minPx }) => minPx)) > widthPx) {
    // The last one with a low priority, otherwise the last one that is not an action; actions stand last.
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

/** What a column without a width gets, beside those with a percentage. */
const DEFAULT_SHARE = 20;

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
