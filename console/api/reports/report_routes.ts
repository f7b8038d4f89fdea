// Routes of the reports: breakdowns of a range, enrolment, and exports.

import { Hono } from "hono";
import * as v from "valibot";
import type { GeoIp } from "../../../platform/geoip/geoip.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { Semaphore } from "../../../platform/semaphore.ts";
import type { Store } from "../../../platform/store.ts";
import { may } from "../auth/permissions.ts";
import { CHART_QUERY, chartRange } from "../charts/chart_routes.ts";
import type { ChartStore } from "../charts/chart_store.ts";
import type { People } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { fileHeaders, streamLines } from "../file_export.ts";
import { type HttpEnv, queryValues } from "../hono_env.ts";
import { type Breakdown, type BreakdownQuery, readBreakdown } from "./breakdown.ts";
import type { EnrolmentReport } from "./enrolment.ts";
import type { EnrolmentCounter } from "./enrolment_counter.ts";
import { REPORT_FORMATS, REPORT_NAMES, reportLines } from "./report_export.ts";

export interface ReportRouteDeps {
  readonly charts: ChartStore;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Absent where the console runs without a directory. */
  readonly people?: People;
  /** Absent: no GeoIP database. */
  readonly geoIp?: Pick<GeoIp, "isConfigured" | "locate" | "files"> | undefined;
}

/** The breakdowns of a range, and what is known about the GeoIP databases. */
export interface BreakdownAnswer extends Breakdown {
  /** When it was counted. */
  readonly atMs: number;
  readonly geoIp: { readonly isConfigured: boolean; readonly files: ReturnType<GeoIp["files"]> };
}

const QUERY = v.object(CHART_QUERY);
const EXPORT_QUERY = v.object({
  ...CHART_QUERY,
  report: v.picklist(REPORT_NAMES),
  format: v.optional(v.picklist(["csv", "json"]), "csv"),
  days: v.optional(v.picklist(["30", "60", "90"]), "90"),
});

/** Counts that read the history at the same time, and those that may wait for them. */
const COUNTS = { concurrent: 2, waiting: 8 };
const MAX_WAIT_MS = 15_000;

/** @param counter `null` where the console runs without a directory */
export function createReportRoutes(deps: ReportRouteDeps, counter: EnrolmentCounter | null) {
  const { clock, geoIp } = deps;
  const counts = new Semaphore({ clock, limits: COUNTS });
  const breakdown = async (query: BreakdownQuery): Promise<Breakdown> => {
    const done = await counts.run(() => readBreakdown(deps, query), clock.nowMs() + MAX_WAIT_MS);
    if (!done.ran) throw new Refusal("overloaded", { "retry-after": "5" });
    return done.value;
  };
  const openCounter = (): EnrolmentCounter => {
    if (counter === null) throw new Refusal("no_directory");
    return counter;
  };
  const enrolment = async (): Promise<EnrolmentReport> => {
    const { report } = await openCounter().read({ waitMs: MAX_WAIT_MS });
    if (report === null) throw new Refusal("overloaded", { "retry-after": "5" });
    return report;
  };
  return new Hono<HttpEnv>()
    .get("/breakdown", may("viewer"), queryValues(QUERY), async (c) => {
      const { client, target, zone: _zone, ...asked } = c.req.valid("query");
      const atMs = clock.nowMs();
      const counted = await breakdown({ ...chartRange(asked, atMs), client, target });
      const geo = { isConfigured: geoIp?.isConfigured === true, files: geoIp?.files() ?? [] };
      return c.json({ ...counted, atMs, geoIp: geo } satisfies BreakdownAnswer);
    })
    .get(
      "/enrolment",
      may("viewer", { countsAsUse: false }),
      async (c) => c.json(await openCounter().read()),
    )
    .get("/export", may("viewer"), queryValues(EXPORT_QUERY), async (c) => {
      const { report, format, days, client, target, zone, ...asked } = c.req.valid("query");
      const range = chartRange(asked, clock.nowMs());
      const { lines, isPartial } = await reportLines({ ...deps, breakdown, enrolment }, {
        ...{ report, format, zone, client, target },
        ...range,
        days: Number(days) as 30 | 60 | 90,
      });
      const { type } = REPORT_FORMATS[format];
      return c.body(
        streamLines(lines),
        200,
        fileHeaders(type, `${report}${isPartial ? "-partial" : ""}.${format}`),
      );
    });
}
