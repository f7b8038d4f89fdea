// The decision: which row of the flow table comes next. Pure and total.

import { CONDITIONS } from "../facts/conditions.ts";
import type { Facts } from "../facts/facts.ts";
import { FLOW, type FlowRow } from "../facts/flow.ts";
import { isStep, type Place } from "../facts/steps.ts";

const ROWS = new Map<Place, readonly FlowRow[]>();
for (const place of new Set(FLOW.map((row) => row.from))) {
  if (place !== "*") {
    ROWS.set(
      place,
      FLOW.filter((row) => row.from === place || (row.from === "*" && isStep(place))),
    );
  }
}

/**
 * The first row from `place` whose conditions all hold.
 *
 * @throws Error when no row holds: the table ends every place in `always`, which a test checks.
 */
export function step(place: Place, facts: Facts): FlowRow {
  for (const row of rowsFrom(place)) {
    if (row.when.every((condition) => CONDITIONS[condition].holds(facts))) return row;
  }
  throw new Error(`Cannot choose a row at "${place}": none holds`);
}

/** The rows that are tried at a place, in order. */
export function rowsFrom(place: Place): readonly FlowRow[] {
  return ROWS.get(place) ?? [];
}
