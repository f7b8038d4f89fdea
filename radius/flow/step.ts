// The decision: which row of the flow table comes next. Pure and total.

import { CONDITIONS } from "./conditions.ts";
import type { Facts } from "./context.ts";
import { EFFECTS, FLOW, type FlowRow } from "./flow.ts";
import { isStep, type Place } from "../protocol/steps.ts";

/** A row, ready to be tried: a closure for each would cost more than the trying. */
interface Ready {
  readonly row: FlowRow;
  readonly holds: readonly ((facts: Facts) => boolean)[];
}

const ROWS = new Map<Place, readonly Ready[]>();
for (const place of new Set(FLOW.map((row) => row.from))) {
  if (place === "*") continue;
  const rows = FLOW.filter((row) => row.from === place || (row.from === "*" && isStep(place)));
  ROWS.set(
    place,
    rows.map((row) => ({ row, holds: row.when.map((condition) => CONDITIONS[condition].holds) })),
  );
}
const NO_ROWS: readonly Ready[] = [];

const OUTSIDE = new Set(FLOW.filter(({ then }) => then.some((effect) => EFFECTS[effect].outside)));

/**
 * The first row from `place` whose conditions all hold.
 *
 * @throws Error when no row holds: the table ends every place in `always`, which a test checks.
 */
export function step(place: Place, facts: Facts): FlowRow {
  for (const { row, holds } of ROWS.get(place) ?? NO_ROWS) {
    let all = true;
    for (let i = 0; all && i < holds.length; i++) all = (holds[i] as (facts: Facts) => boolean)(facts);
    if (all) return row;
  }
  throw new Error(`Cannot choose a row at "${place}": none holds`);
}

/** Whether one of a row's effects calls another service, so that the user waits. */
export function reachesOutside(row: FlowRow): boolean {
  return OUTSIDE.has(row);
}

/** The rows that are tried at a place, in order. */
export function rowsFrom(place: Place): readonly FlowRow[] {
  return (ROWS.get(place) ?? NO_ROWS).map(({ row }) => row);
}
