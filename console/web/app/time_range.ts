// The time range of a log in the address: a named range that ends now, such as `range=hour`, or two times, `from` and `to`.

import { HOUR_MS, MINUTE_MS } from "../../../platform/durations.ts";

/** The named ranges, in the order of the choice. */
export const LOG_RANGES = ["minutes", "hour", "today", "yesterday", "day", "week", "month"] as const;

/** Times in ms. `toMs` is `null` for a range that ends now, so that newer rows belong to it. */
interface TimeSpan {
  readonly fromMs: number;
  readonly toMs: number | null;
}

/** The times of a named range, with days in the time zone of the browser; `null` for an unknown name. */
export function spanOfRange(name: string, nowMs: number): TimeSpan | null {
  const since = (agoMs: number): TimeSpan => ({ fromMs: Math.floor(nowMs - agoMs), toMs: null });
  switch (LOG_RANGES.find((one) => one === name)) {
    case "minutes":
      return since(15 * MINUTE_MS);
    case "hour":
      return since(HOUR_MS);
    case "today":
      return { fromMs: localMidnight(nowMs), toMs: null };
    case "yesterday":
      return { fromMs: localMidnight(nowMs, -1), toMs: localMidnight(nowMs) - 1 };
    case "day":
      return since(24 * HOUR_MS);
    case "week":
      return since(7 * 24 * HOUR_MS);
    case "month":
      return since(30 * 24 * HOUR_MS);
    default:
      return null;
  }
}

/** The local midnight before a time, and some days later or earlier. A day with a change of the clock has 23 or 25 hours. */
export function localMidnight(atMs: number, days = 0): number {
  const day = new Date(atMs);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + days).getTime();
}
