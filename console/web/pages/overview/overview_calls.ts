// Calls of the Overview page, and the period that its counts cover.

import { HOUR_MS } from "../../../../platform/durations.ts";
import type { HistoryPage } from "../../../api/history/history.ts";
import type { FactorlessAnswer, OverviewCounts } from "../../../api/overview/overview_types.ts";
import type { HealthReport } from "../../../api/targets/target_types.ts";
import { take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";

/** The current hour and the 23 hours before it, so that the counts match the lists behind the tiles. */
const BARS = 24;
const MAX_REJECTED = 5;

/** Hourly counts of the last 24 hours. */
export type DayAnswer = Awaited<ReturnType<typeof fetchDay>>;

export function fetchDay(models: Models) {
  const query = {
    from: String(startOfDay(models)),
    to: String(Math.floor(models.clock.nowMs.peek())),
    client: "",
    target: "",
  };
  return take(models.api.charts.$get({ query }));
}

/** The start of the first of 24 bars. */
export function startOfDay({ clock }: Pick<Models, "clock">): number {
  return (Math.floor(clock.nowMs.peek() / HOUR_MS) - BARS + 1) * HOUR_MS;
}

export function sumOf(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

export function fetchCounts({ api }: Models): Promise<OverviewCounts> {
  return take(api.overview.$get());
}

export function fetchFactorless({ api }: Models): Promise<FactorlessAnswer> {
  return take(api.overview.factorless.$get());
}

export function fetchHealthReport({ api }: Models): Promise<HealthReport> {
  return take(api.health.$get());
}

export function fetchRejected(models: Models): Promise<HistoryPage> {
  const query = {
    outcome: "rejected",
    from: String(startOfDay(models)),
    limit: String(MAX_REJECTED),
  } as const;
  return take<HistoryPage>(models.api.history.$get({ query }));
}
