// The selection of bars in a chart, by pointer or by keyboard. Pure.

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

/** Joins neighbouring values until at most `most` remain. The last group can be shorter. */
export function joinSteps(values: readonly number[], most: number): number[] {
  const size = Math.max(1, Math.ceil(values.length / Math.max(1, most)));
  return Array.from(
    { length: Math.ceil(values.length / size) },
    (_, group) => values.slice(group * size, (group + 1) * size).reduce((sum, value) => sum + value, 0),
  );
}

/** The marks of an axis of counts, from 0 to at least `largest`: whole numbers in steps of 1, 2 or 5. */
export function countTicks(largest: number): number[] {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, largest / 4)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one * 4 >= largest) ?? power * 10;
  const count = Math.max(1, Math.ceil(largest / step));
  return Array.from({ length: count + 1 }, (_, at) => at * step);
}
