// Routes of the charts: the series of a range, with its sums and those of the range before.

import { Hono } from "hono";
import * as v from "valibot";
import { HOUR_MS } from "../../../platform/durations.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";
import { type HttpEnv, queryValues, time } from "../hono_env.ts";
import { chartWindow } from "./chart_series.ts";
import type { ChartStore } from "./chart_store.ts";
import { isTimeZone } from "../../../platform/time_zone.ts";

export interface ChartRouteDeps {
  readonly charts: ChartStore;
  readonly clock: Clock;
}

const name = v.optional(v.pipe(v.string(), v.maxLength(256)), "");
/** The range and the filter of charts and reports. */
export const CHART_QUERY = {
  from: time,
  to: time,
  client: name,
  target: name,
  /** The IANA time zone of the hours of the week. */
  zone: v.optional(v.pipe(v.string(), v.maxLength(64), v.check(isTimeZone)), "UTC"),
};
const CHART_REQUEST = v.object(CHART_QUERY);
/** The counts go back no further. */
const MAX_RANGE_MS = 92 * 24 * HOUR_MS;

/**
 * The window of a request: whole minutes or hours that contain its range, which is the last hour by default.
 *
 * @throws Refusal `bad_query` if it ends before it begins.
 */
export function chartRange(
  { from, to }: { from?: number | undefined; to?: number | undefined },
  nowMs: number,
): { fromMs: number; toMs: number } {
  const toMs = Math.min(to ?? nowMs, nowMs);
  const fromMs = Math.max(from ?? toMs - HOUR_MS, toMs - MAX_RANGE_MS);
  if (fromMs >= toMs) throw new Refusal("bad_query");
  const window = chartWindow({ fromMs, toMs }, nowMs);
  return { fromMs: window.fromMs, toMs: window.toMs };
}

export function createChartRoutes({ charts, clock }: ChartRouteDeps) {
  return new Hono<HttpEnv>()
    .get("/", may("viewer", { countsAsUse: false }), queryValues(CHART_REQUEST), async (c) => {
      const { client, target, zone, ...asked } = c.req.valid("query");
      const range = chartRange(asked, clock.nowMs());
      return c.json({ ...range, ...await charts.read({ ...range, client, target, zone }) });
    });
}
