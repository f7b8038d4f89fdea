// Routes of the reports: breakdowns of a range, enrolment, and exports.

import * as v from "valibot";
import { Hono } from "hono";
import type { GeoIp } from "../../../platform/geoip/geoip.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { Semaphore } from "../../../platform/semaphore.ts";
import type { Store } from "../../../platform/store.ts";
import { DAY_MS } from "../../../platform/durations.ts";
import { may } from "../auth/permissions.ts";
import { CHART_QUERY, chartRange } from "../charts/chart_routes.ts";
import type { ChartStore } from "../charts/chart_store.ts";
import { type People, requireUsers } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { exportFormats, fileHeaders, streamLines } from "../file_export.ts";
import { type HttpEnv, queryValues } from "../hono_env.ts";
import { displayNameOf } from "../users/user_views.ts";
import { type Breakdown, type BreakdownQuery, type BreakdownRow, readBreakdown } from "./breakdown.ts";
import {
  type CountedUser,
  countedUsers,
  ENROLLED_FACTORS,
  type EnrolmentReport,
  hasNoFactor,
  type InactiveDays,
  isInactive,
  isUnused,
  isUnusedToken,
  lastUseOf,
} from "./enrolment.ts";
import type { EnrolmentCounter } from "./enrolment_counter.ts";

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

/** Reports that can be exported: the series, tables of a range, and lists of users. */
const REPORT_NAMES = [
  "outcomes",
  "hours",
  "clients",
  "targets",
  "factors",
  "reasons",
  "users",
  "addresses",
  "countries",
  "networks",
  "enrolled_factors",
  "inactive_users",
  "users_without_factor",
  "unused_factors",
] as const;

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

// Exports of reports as CSV or JSON: rows with named columns, streamed. The name of a file says whether it is incomplete.

type ReportName = typeof REPORT_NAMES[number];

type Cell = string | number | null;
/** A row of a file, by column. */
type ExportRow = Readonly<Record<string, Cell>>;

interface ReportFile {
  readonly columns: readonly string[];
  readonly rows: AsyncIterable<ExportRow> | Iterable<ExportRow>;
  /** The count of the rows ended before the range did. */
  readonly isPartial?: boolean;
}

interface ReportRequest extends BreakdownQuery {
  readonly report: ReportName;
  readonly format: "csv" | "json";
  readonly zone: string;
  readonly days: InactiveDays;
}

interface ReportExportDeps {
  readonly charts: ChartStore;
  readonly clock: Clock;
  readonly people?: People;
  readonly breakdown: (query: BreakdownQuery) => Promise<Breakdown>;
  readonly enrolment: () => Promise<EnrolmentReport>;
}

const REPORT_FORMATS = {
  csv: { type: "text/csv; charset=utf-8" },
  json: { type: "application/json" },
};

/** Rows of one file. */
const MAX_EXPORTED = 100_000;
const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/** The lines of a file. @throws Refusal `no_directory`. */
async function reportLines(
  deps: ReportExportDeps,
  request: ReportRequest,
): Promise<{ lines: AsyncGenerator<string>; isPartial: boolean }> {
  const { columns, rows, isPartial = false } = await reportFile(deps, request);
  const cellsOf = (row: ExportRow) => columns.map((column) => String(row[column] ?? ""));
  const { head, line, tail } = exportFormats<ExportRow>(columns, { cellsOf })[request.format];
  const lines = (async function* () {
    let count = 0;
    yield head;
    for await (const row of rows) {
      if (count >= MAX_EXPORTED) break;
      yield line(row, count++);
    }
    yield tail(count);
  })();
  return { lines, isPartial };
}

async function reportFile(deps: ReportExportDeps, request: ReportRequest): Promise<ReportFile> {
  const { charts, breakdown } = deps;
  switch (request.report) {
    case "outcomes":
      return outcomesFile(await charts.read(request));
    case "hours":
      return hoursFile(await charts.read(request));
    case "clients":
      return figuresFile("client", (await charts.read(request)).clients);
    case "targets":
      return figuresFile("target", (await charts.read(request)).targets);
    case "enrolled_factors":
      return enrolledFile(await deps.enrolment());
    case "inactive_users":
    case "users_without_factor":
    case "unused_factors":
      return userFile(deps, request.report, request.days);
    default:
      return tableFile(request.report, await breakdown(request));
  }
}

type ChartSeriesAnswer = Awaited<ReturnType<ChartStore["read"]>>;

function outcomesFile({ atMs, outcomes, p50Ms, p95Ms }: ChartSeriesAnswer): ReportFile {
  const names = ["accepted", "rejected", "expired", "cancelled", "superseded"] as const;
  return {
    columns: ["from", ...names, "median_ms", "p95_ms"],
    rows: atMs.map((fromMs, at) => ({
      from: isoTime(fromMs),
      ...Object.fromEntries(names.map((name) => [name, outcomes[name][at] ?? 0])),
      median_ms: p50Ms[at] ?? null,
      p95_ms: p95Ms[at] ?? null,
    })),
  };
}

function hoursFile({ hours }: ChartSeriesAnswer): ReportFile {
  return {
    columns: ["weekday", "hour", "total", "rejected"],
    rows: hours.total.map((total, at) => ({
      weekday: WEEKDAYS[Math.floor(at / 24)] ?? "",
      hour: at % 24,
      total,
      rejected: hours.rejected[at] ?? 0,
    })),
  };
}

type NamedFigures = ChartSeriesAnswer["clients"][number] | ChartSeriesAnswer["targets"][number];

function figuresFile(by: "client" | "target", figures: readonly NamedFigures[]): ReportFile {
  return {
    columns: [by, "total", "accepted", "rejected", "median_ms", "p95_ms"],
    rows: figures.map(({ total, accepted, rejected, p50Ms, p95Ms, ...name }) => ({
      [by]: Object.values(name)[0] ?? "",
      ...{ total, accepted, rejected, median_ms: p50Ms, p95_ms: p95Ms },
    })),
  };
}

const TABLE_COLUMNS = {
  factors: "factor",
  reasons: "reason",
  users: "user",
  addresses: "address",
  countries: "country",
  networks: "asn",
} as const;

function tableFile(report: keyof typeof TABLE_COLUMNS, counted: Breakdown): ReportFile {
  const rows: readonly BreakdownRow[] = counted[report];
  const named = TABLE_COLUMNS[report];
  const label = report === "networks" ? ["network"] : [];
  return {
    isPartial: counted.sinceMs !== null,
    columns: [named, ...label, "total", "accepted", "rejected", "last"],
    rows: rows.map(({ name, label = "", total, accepted, rejected, lastMs }) => ({
      [named]: name,
      ...(report === "networks" ? { network: label } : {}),
      ...{ total, accepted, rejected, last: isoTime(lastMs) },
    })),
  };
}

function enrolledFile({ factors, counted, total, startedMs }: EnrolmentReport): ReportFile {
  return {
    isPartial: counted < total,
    columns: ["factor", "users", "not_used_for_90_days", "never_used", "counted"],
    rows: ENROLLED_FACTORS.map((factor) => ({
      ...{ factor, users: factors[factor].users },
      not_used_for_90_days: factors[factor].unused,
      never_used: factors[factor].neverUsed,
      counted: isoTime(startedMs),
    })),
  };
}

function userFile(
  { people: given, clock }: ReportExportDeps,
  report: "inactive_users" | "users_without_factor" | "unused_factors",
  days: InactiveDays,
): ReportFile {
  const people = requireUsers(given);
  const nowMs = clock.nowMs();
  if (report === "unused_factors") {
    return {
      columns: ["user", "factor", "enrolled", "last_used"],
      rows: eachUser({ people, clock }, (user) => unusedFactors(user, nowMs)),
    };
  }
  const isListed = report === "inactive_users"
    ? (user: CountedUser) => isInactive(user, nowMs - days * DAY_MS)
    : (user: CountedUser) => hasNoFactor(people, user);
  return {
    columns: ["user", "display_name", "created", "last_sign_in"],
    rows: eachUser({ people, clock }, (user) => isListed(user) ? [userCells(user)] : []),
  };
}

async function* eachUser(
  { people, clock }: { people: People; clock: Clock },
  rowsOf: (user: CountedUser) => ExportRow[],
): AsyncGenerator<ExportRow> {
  for await (const { users } of countedUsers(people, { clock })) {
    for (const user of users) yield* rowsOf(user);
  }
}

function userCells({ stored: { content, createdMs }, last }: CountedUser): ExportRow {
  return {
    user: content.name,
    display_name: displayNameOf(content),
    created: isoTime(createdMs),
    last_sign_in: isoTime(last?.atMs ?? null),
  };
}

function unusedFactors(user: CountedUser, nowMs: number): ExportRow[] {
  const { stored: { content }, pairings, tokens, last } = user;
  if (content.kind !== "user" || !content.active) return [];
  const unused = pairings.filter((pairing) => isUnused(pairing, last, nowMs)).map((pairing) => ({
    user: content.name,
    factor: pairing.kind,
    enrolled: isoTime(pairing.createdMs),
    last_used: isoTime(lastUseOf(pairing, last)),
  }));
  const unusedTokens = tokens.filter((token) => isUnusedToken(token, nowMs)).map(({ record, use }) => ({
    user: content.name,
    factor: "totp",
    enrolled: isoTime(record.assignedMs),
    last_used: isoTime(use.usedMs),
  }));
  return [...unused, ...unusedTokens];
}

function isoTime(atMs: number | null): string {
  return atMs === null ? "" : new Date(atMs).toISOString();
}
