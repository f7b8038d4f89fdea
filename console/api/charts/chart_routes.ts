// The charts' data: outcomes and times over a range, and figures for each client.

import { Hono } from "hono";
import * as v from "valibot";
import type { Clock } from "../../../platform/runtime.ts";
import type { ChartStore } from "./chart_store.ts";
import type { HttpEnv } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { queryValues } from "../query_values.ts";
import { Refusal } from "../errors.ts";

export interface ChartRouteDeps {
  readonly charts: ChartStore;
  readonly clock: Clock;
}

const time = v.optional(v.pipe(v.string(), v.regex(/^\d{1,15}$/), v.transform(Number)));
const name = v.optional(v.pipe(v.string(), v.maxLength(256)), "");
const ASKED = v.object({
  from: time,
  to: time,
  client: name,
  target: name,
});
const HOUR_MS = 3_600_000;
/** The counts go back no further. */
const MOST_RANGE_MS = 92 * 24 * HOUR_MS;

export function createChartRoutes({ charts, clock }: ChartRouteDeps) {
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), queryValues(ASKED), async (c) => {
      const { from, to, client, target } = c.req.valid("query");
      const nowMs = clock.nowMs();
      const toMs = Math.min(to ?? nowMs, nowMs);
      const fromMs = Math.max(from ?? toMs - HOUR_MS, toMs - MOST_RANGE_MS);
      if (fromMs >= toMs) throw new Refusal("bad_query");
      return c.json({ fromMs, toMs, ...await charts.read({ fromMs, toMs, client, target }) });
    });
}
