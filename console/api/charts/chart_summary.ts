// Sums of chart counts: the totals of a range, and the logins of each hour of the week in a time zone. Pure.

import { addTallies, CHART_OUTCOMES, type ChartOutcome, type Figures, percentileMs } from "./chart_series.ts";
import type { TimedTallies } from "./chart_series.ts";

/** The counts of a range, by outcome. */
export interface RangeTotals extends Pick<Figures, "total" | "p50Ms" | "p95Ms"> {
  readonly outcomes: Readonly<Record<ChartOutcome, number>>;
}

/** Logins by the hour of the week, in 168 numbers from Monday 0:00 on. */
export interface HoursOfWeek {
  readonly total: readonly number[];
  readonly rejected: readonly number[];
}

/** What is counted; "" means everything. */
export interface ChartFilter {
  readonly client: string;
  readonly target: string;
}

const HOURS = 168;
const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

export function totalsOf(records: readonly TimedTallies[], filter: ChartFilter): RangeTotals {
  const outcomes = { accepted: 0, rejected: 0, expired: 0, cancelled: 0, superseded: 0 };
  const tallies = [...matching(records, filter)].map(({ tally }) => ({ ...tally, client: "" }));
  const [{ times, maxMs } = { times: [], maxMs: undefined }] = addTallies(
    tallies.map(({ target: _target, ...tally }) => tally),
  );
  for (const { outcomes: counts } of tallies) {
    for (const outcome of CHART_OUTCOMES) outcomes[outcome] += counts[outcome] ?? 0;
  }
  return {
    outcomes,
    total: Object.values(outcomes).reduce((sum, count) => sum + count, 0),
    p50Ms: percentileMs(times, 0.5, maxMs),
    p95Ms: percentileMs(times, 0.95, maxMs),
  };
}

/** @param filter.zone an IANA time zone. @throws RangeError if it is unknown. */
export function hoursOfWeek(
  records: readonly TimedTallies[],
  { zone, ...filter }: ChartFilter & { zone: string },
): HoursOfWeek {
  const total = new Array<number>(HOURS).fill(0);
  const rejected = new Array<number>(HOURS).fill(0);
  const hourOf = createHourOfWeek(zone);
  for (const { atMs, tally: { outcomes: counts } } of matching(records, filter)) {
    const hour = hourOf(atMs);
    for (const count of Object.values(counts)) total[hour] = (total[hour] ?? 0) + count;
    rejected[hour] = (rejected[hour] ?? 0) + (counts.rejected ?? 0);
  }
  return { total, rejected };
}

function* matching(records: readonly TimedTallies[], { client, target }: ChartFilter) {
  for (const { atMs, tallies } of records) {
    for (const tally of tallies) {
      if (client !== "" && tally.client !== client || target !== "" && tally.target !== target) continue;
      yield { atMs, tally };
    }
  }
}

/** The hour of the week of a time. Records share times, so the newest answers are stored. */
function createHourOfWeek(zone: string): (atMs: number) => number {
  const format = new Intl.DateTimeFormat("en", {
    timeZone: zone,
    weekday: "short",
    hour: "2-digit",
    hourCycle: "h23",
  });
  const known = new Map<number, number>();
  return (atMs) => {
    const found = known.get(atMs);
    if (found !== undefined) return found;
    const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
    const hour = Math.max(0, DAYS.indexOf(parts.get("weekday") ?? "")) * 24 + Number(parts.get("hour"));
    known.set(atMs, hour);
    return hour;
  };
}
