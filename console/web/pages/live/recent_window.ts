// The window of the counts on the Live page. Reports count the same window in the same way.

import type { ChartAnswer } from "../../../api/charts/chart_store.ts";

/** The counts of the last minutes, with the window that they cover. They are those of the reports. */
export type RecentCounts = ChartAnswer & { readonly fromMs: number; readonly toMs: number };

const MINUTE_MS = 60_000;
const RECENT_MINUTES = 15;

/** The current minute, and those before it. */
export function recentQuery(nowMs: number) {
  const fromMs = (Math.floor(nowMs / MINUTE_MS) - RECENT_MINUTES + 1) * MINUTE_MS;
  return { from: String(fromMs), to: String(Math.floor(nowMs)), client: "", target: "" };
}
