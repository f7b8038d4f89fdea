// The selection of bars in a chart, by pointer or by keyboard, and the values of the selected bars. Pure.

/** The bar at the cursor, and the other end of the selection. */
export interface BarSelection {
  readonly cursor: number;
  readonly anchor: number;
}

/** The first and the last selected bar. */
export function selectedBars({ cursor, anchor }: BarSelection): { first: number; last: number } {
  return { first: Math.min(cursor, anchor), last: Math.max(cursor, anchor) };
}

/** Where a key moves the cursor; `null` for other keys. */
const MOVES: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowLeft: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  PageUp: (at) => at - 10,
  PageDown: (at) => at + 10,
  Home: () => 0,
  End: (_at, count) => count - 1,
};

/**
 * The selection after a key; `null` if the key does not move it. With Shift, the selection grows. Without a selection, the first key
 * selects the last bar.
 */
export function moveSelection(
  selection: BarSelection | null,
  { key, shiftKey }: { readonly key: string; readonly shiftKey: boolean },
  count: number,
): BarSelection | null {
  const move = Object.hasOwn(MOVES, key) ? MOVES[key] : undefined;
  if (move === undefined || count === 0) return null;
  if (selection === null) {
    const start = key === "Home" ? 0 : count - 1;
    return { cursor: start, anchor: start };
  }
  const cursor = Math.min(count - 1, Math.max(0, move(selection.cursor, count)));
  return { cursor, anchor: shiftKey ? selection.anchor : cursor };
}

/** How many neighbouring steps one bar contains, so that there are at most `most` bars. */
export function joinedSize(count: number, most: number): number {
  return Math.max(1, Math.ceil(count / Math.max(1, most)));
}

/** Adds up each `size` neighbouring values. The last group can be shorter. */
export function joinSteps(values: readonly number[], size: number): number[] {
  return Array.from(
    { length: Math.ceil(values.length / size) },
    (_, group) => values.slice(group * size, (group + 1) * size).reduce((sum, value) => sum + value, 0),
  );
}

/** The smallest and the largest value of the selected bars; `null` if they have none. */
export function valueRange(
  values: readonly (number | null)[],
  selection: BarSelection,
  size: number,
): { low: number; high: number } | null {
  const { first, last } = selectedBars(selection);
  const given = values.slice(first * size, (last + 1) * size).filter((value) => value !== null);
  return given.length === 0 ? null : { low: Math.min(...given), high: Math.max(...given) };
}

/** The runs of values without a gap: the index of the first one, and the values. */
export function valueRuns(values: readonly (number | null)[]): { start: number; run: number[] }[] {
  const runs: { start: number; run: number[] }[] = [];
  values.forEach((value, at) => {
    if (value === null) return;
    const last = runs.at(-1);
    if (last !== undefined && last.start + last.run.length === at) last.run.push(value);
    else runs.push({ start: at, run: [value] });
  });
  return runs;
}

/** The marks of an axis, from 0 to at least `largest`: whole numbers in steps of 1, 2 or 5. */
export function countTicks(largest: number): number[] {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, largest / 4)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one * 4 >= largest) ?? power * 10;
  const count = Math.max(1, Math.ceil(largest / step));
  return Array.from({ length: count + 1 }, (_, at) => at * step);
}
