// Enrolment over HTTP: campaigns, the report of all users with its export, and deadlines.

import { Hono } from "hono";
import * as v from "valibot";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";
import { exportFormats, fileHeaders, streamLines } from "../file_export.ts";
import {
  callerOf,
  type HttpEnv,
  jsonBody,
  optionalChoice,
  queryValues,
  textUpTo,
  wholeNumber,
} from "../hono_env.ts";
import { ENROLLED_FACTORS } from "../reports/enrolment.ts";
import { createCampaignRoutes } from "./campaign_routes.ts";
import { changeDeadlines } from "./deadlines.ts";
import { ENROLMENT_ORDERS, ENROLMENT_STATUSES, type EnrolmentRow } from "./enrolment_report.ts";
import type { EnrolmentService } from "./enrolment_service.ts";

export interface EnrolmentRouteDeps {
  /** Absent: this console runs without a directory. */
  readonly enrolment?: EnrolmentService | undefined;
}

const FILTERS = {
  q: v.optional(textUpTo(256), ""),
  status: optionalChoice(ENROLMENT_STATUSES),
  factor: optionalChoice([...ENROLLED_FACTORS, "none", "unused"]),
  campaign: v.optional(textUpTo(64), ""),
  group: v.optional(textUpTo(1024), ""),
  sort: v.optional(v.picklist(ENROLMENT_ORDERS), "name"),
};
const REPORT = v.object({
  ...FILTERS,
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 500, otherwise: 50 }),
});
const EXPORT = v.object({ ...FILTERS, format: v.optional(v.picklist(["csv", "json"]), "csv") });
const MAX_MS = 8.64e15;
const DEADLINE = v.strictObject({
  choice: v.union([
    v.strictObject({
      names: v.pipe(
        v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(1024))),
        v.minLength(1),
        v.maxLength(10_000),
      ),
    }),
    v.strictObject({ campaign: textUpTo(64) }),
  ]),
  deadlineMs: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MAX_MS))),
});
/** An export waits this long for the users. */
const EXPORT_WAIT_MS = 60_000;

export function createEnrolmentRoutes({ enrolment }: EnrolmentRouteDeps) {
  const required = (): EnrolmentService => {
    if (enrolment === undefined) throw new Refusal("no_directory");
    return enrolment;
  };
  return new Hono<HttpEnv>()
    .route("/campaigns", createCampaignRoutes(required))
    .get("/options", may("viewer"), (c) => c.json(required().options()))
    .get("/report", may("viewer", { countsAsUse: false }), queryValues(REPORT), async (c) => {
      return c.json(await required().table.page(c.req.valid("query")));
    })
    .get("/report/export", may("viewer"), queryValues(EXPORT), async (c) => {
      const { format, ...query } = c.req.valid("query");
      const rows = await required().table.rows(query, EXPORT_WAIT_MS);
      if (rows === null) throw new Refusal("overloaded", { "retry-after": "10" });
      const { type, lines } = enrolmentFile(rows, format);
      return c.body(streamLines(lines), 200, fileHeaders(type, `enrolment-report.${format}`));
    })
    .post("/deadline", may("user_manager", { recentFactor: true }), jsonBody(DEADLINE), async (c) => {
      const { choice, deadlineMs } = c.req.valid("json");
      return c.json(await changeDeadlines(required(), { choice, deadlineMs, caller: callerOf(c) }));
    });
}

const COLUMNS = [
  ...["user", "display_name", "status", "factors", "invited", "reminders", "last_reminder"],
  ...["deadline", "last_used", "never_used"],
] as const;

/** The report as a file. */
function enrolmentFile(
  rows: readonly EnrolmentRow[],
  format: "csv" | "json",
): { type: string; lines: AsyncGenerator<string> } {
  const { type, head, line, tail } = exportFormats<Record<string, unknown>>(COLUMNS, {
    cellsOf: (row) => COLUMNS.map((column) => String(row[column] ?? "")),
  })[format];
  const lines = async function* (): AsyncGenerator<string> {
    yield head;
    for (const [at, row] of rows.entries()) yield line(cellsOfRow(row), at);
    yield tail(rows.length);
  };
  return { type, lines: lines() };
}

function cellsOfRow(row: EnrolmentRow): Record<string, unknown> {
  return {
    user: row.name,
    display_name: row.displayName,
    status: row.status,
    factors: row.factors.join(" "),
    invited: isoTime(row.invitedMs),
    reminders: row.reminders,
    last_reminder: isoTime(row.remindedMs),
    deadline: isoTime(row.deadlineMs),
    last_used: isoTime(row.usedMs),
    never_used: row.neverUsed,
  };
}

function isoTime(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
