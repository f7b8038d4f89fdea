// The rows of the enrolment report: the state of one user, filters and orders. Pure functions.

import type { LastSignIn } from "../../../radius/factors/last_sign_ins.ts";
import type { EnrolmentMark } from "../../../radius/factors/enrolment_marks.ts";
import type { Pairing } from "../../../radius/factors/pairing.ts";
import type { HardwareToken } from "../../../radius/tokens/token.ts";
import { ENROLLED_FACTORS, type EnrolledFactor, lastUseOf } from "../reports/enrolment.ts";

/**
 * `enrolled`: has a factor. `number`: only a phone number of the directory. `overdue`: no factor, and the deadline has passed. `invited`: no
 * factor, and an invitation was sent. `not_invited`: neither. Each has its label in both catalogues: `enrolment.status_<status>`.
 */
export const ENROLMENT_STATUSES = ["enrolled", "number", "invited", "overdue", "not_invited"] as const;
export type EnrolmentStatus = typeof ENROLMENT_STATUSES[number];

export const ENROLMENT_ORDERS = [
  ...["name", "-name", "displayName", "-displayName", "status", "-status", "invited", "-invited"] as const,
  ...["reminded", "-reminded", "deadline", "-deadline", "used", "-used"] as const,
] as const;
export type EnrolmentOrder = typeof ENROLMENT_ORDERS[number];

/** A user as the table in memory has it. */
export interface EnrolmentUser {
  readonly canonical: string;
  readonly name: string;
  readonly displayName: string;
  readonly hasNumber: boolean;
  readonly groups: readonly string[];
  readonly last: LastSignIn | null;
}

/** What changes without a change of the directory. */
export interface EnrolmentSources {
  readonly pairingsOf: (canonical: string) => readonly Pairing[];
  /** They count as authenticator apps. */
  readonly tokensOf: (canonical: string) => readonly Pick<HardwareToken, "use">[];
  readonly markOf: (canonical: string) => EnrolmentMark | null;
  readonly nowMs: number;
}

/** A row as the API shows it. Times are milliseconds since the epoch. */
export interface EnrolmentRow {
  readonly name: string;
  readonly displayName: string;
  readonly status: EnrolmentStatus;
  readonly factors: readonly EnrolledFactor[];
  readonly invitedMs: number | null;
  readonly reminders: number;
  readonly remindedMs: number | null;
  readonly deadlineMs: number | null;
  /** The last use of one of the user's factors; `null` if none is recorded. */
  readonly usedMs: number | null;
  /** The user has a factor, and no use of it is recorded. */
  readonly neverUsed: boolean;
  /** The id of the campaign that invited the user. */
  readonly campaign: string | null;
}

export interface EnrolmentFilters {
  readonly q: string;
  readonly status: EnrolmentStatus | "";
  /** `unused`: has a factor that was never used. */
  readonly factor: EnrolledFactor | "none" | "unused" | "";
  readonly campaign: string;
  readonly group: string;
}

export function enrolmentRow(user: EnrolmentUser, sources: EnrolmentSources): EnrolmentRow {
  const pairings = sources.pairingsOf(user.canonical);
  const mark = sources.markOf(user.canonical);
  const tokens = sources.tokensOf(user.canonical);
  const kinds = ENROLLED_FACTORS.filter((kind) =>
    pairings.some((pairing) => pairing.kind === kind) || (kind === "totp" && tokens.length > 0)
  );
  const hasFactor = kinds.length > 0;
  const uses = [
    ...pairings.flatMap((pairing) => lastUseOf(pairing, user.last) ?? []),
    ...tokens.flatMap(({ use }) => use.usedMs ?? []),
  ];
  return {
    name: user.name,
    displayName: user.displayName,
    status: statusOf(user, { hasFactor, mark, nowMs: sources.nowMs }),
    factors: kinds,
    invitedMs: mark?.invitedMs ?? null,
    reminders: mark?.reminders ?? 0,
    remindedMs: mark?.remindedMs ?? null,
    deadlineMs: mark?.deadlineMs ?? null,
    usedMs: uses.length === 0 ? null : Math.max(...uses),
    neverUsed: hasFactor && uses.length === 0,
    campaign: mark?.campaign ?? null,
  };
}

function statusOf(
  { hasNumber }: EnrolmentUser,
  { hasFactor, mark, nowMs }: { hasFactor: boolean; mark: EnrolmentMark | null; nowMs: number },
): EnrolmentStatus {
  if (hasFactor) return "enrolled";
  if (hasNumber) return "number";
  if (mark === null) return "not_invited";
  return mark.deadlineMs !== null && mark.deadlineMs <= nowMs ? "overdue" : "invited";
}

/** Whether a row matches. Users who cannot sign in are not in the report. */
export function createEnrolmentFilter({ q, status, factor, campaign, group }: EnrolmentFilters) {
  const wanted = q.trim().toLowerCase();
  const isFactor = (row: EnrolmentRow): boolean => {
    if (factor === "") return true;
    if (factor === "none") return row.factors.length === 0;
    return factor === "unused" ? row.neverUsed : row.factors.includes(factor);
  };
  return (user: EnrolmentUser, row: EnrolmentRow): boolean =>
    (status === "" || row.status === status) && isFactor(row) &&
    (campaign === "" || row.campaign === campaign) &&
    (group === "" || user.groups.includes(group)) &&
    (wanted === "" || user.canonical.includes(wanted) || user.displayName.toLowerCase().includes(wanted));
}

const STATUS_ORDER = new Map<string, number>(
  ["overdue", "not_invited", "invited", "number", "enrolled"].map((status, at) => [status, at]),
);

type SortValue = string | number | null;

function sortValueOf(row: EnrolmentRow, by: string): SortValue {
  switch (by) {
    case "displayName":
      return row.displayName.toLowerCase() || null;
    case "status":
      return STATUS_ORDER.get(row.status) ?? null;
    case "invited":
      return row.invitedMs;
    case "reminded":
      return row.remindedMs;
    case "deadline":
      return row.deadlineMs;
    case "used":
      return row.usedMs;
    default:
      return null;
  }
}

/** Sorts rows that are in order of name. `null` comes last in both directions. */
export function sortEnrolmentRows(rows: EnrolmentRow[], order: EnrolmentOrder): EnrolmentRow[] {
  if (order === "name") return rows;
  if (order === "-name") return rows.reverse();
  const by = order.replace(/^-/, "");
  const direction = order.startsWith("-") ? -1 : 1;
  return rows.map((row) => ({ row, value: sortValueOf(row, by) }))
    .sort((a, b) => compareSortValues(a.value, b.value, direction))
    .map(({ row }) => row);
}

function compareSortValues(a: SortValue, b: SortValue, direction: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return a === b ? 0 : direction * (a < b ? -1 : 1);
}
