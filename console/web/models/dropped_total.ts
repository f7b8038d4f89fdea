// How many packets got no answer, out of the gateway's counters.

const DROPPED = "dropped_";

/** How many packets were dropped since the gateway's start, for whatever reason. */
export function droppedTotal(counters: Readonly<Record<string, number>>): number {
  return Object.entries(counters).reduce(
    (sum, [name, count]) => name.startsWith(DROPPED) ? sum + count : sum,
    0,
  );
}
