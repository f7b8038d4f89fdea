// Exports of reports as CSV or JSON: rows with named columns, streamed. The name of a file says whether it is incomplete.

import { DAY_MS } from "../../../platform/durations.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { ChartStore } from "../charts/chart_store.ts";
import { type People, requireUsers } from "../deps.ts";
import { exportFormats } from "../file_export.ts";
import { displayNameOf } from "../users/user_views.ts";
import type { Breakdown, BreakdownQuery, BreakdownRow } from "./breakdown.ts";
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

/** Reports that can be exported: the series, tables of a range, and lists of users. */
export const REPORT_NAMES = [
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
export type ReportName = typeof REPORT_NAMES[number];

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

export interface ReportExportDeps {
  readonly charts: ChartStore;
  readonly clock: Clock;
  readonly people?: People;
  readonly breakdown: (query: BreakdownQuery) => Promise<Breakdown>;
  readonly enrolment: () => Promise<EnrolmentReport>;
}

export const REPORT_FORMATS = {
  csv: { type: "text/csv; charset=utf-8" },
  json: { type: "application/json" },
};

/** Rows of one file. */
const MAX_EXPORTED = 100_000;
const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/** The lines of a file. @throws Refusal `no_directory`. */
export async function reportLines(
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
