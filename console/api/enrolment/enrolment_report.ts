// The enrolment report: one row per user, with filters and orders. All active users of the login directory are in memory
// while it is used: the first request reads them, and changes of the directory are applied.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Log } from "../../../platform/log.ts";
import { type Clock, withTimeout } from "../../../platform/runtime.ts";
import type { EnrolmentMark } from "../../../radius/factors/own_factors.ts";
import type { LastSignIn } from "../../../radius/factors/last_sign_ins.ts";
import type { Pairing } from "../../../radius/factors/pairing.ts";
import type { HardwareToken } from "../../../radius/tokens/token.ts";
import type { Target } from "../../../scim/ports.ts";
import { type People, targetOf } from "../deps.ts";
import {
  type CountedUser,
  countedUsers,
  ENROLLED_FACTORS,
  type EnrolledFactor,
  lastSince,
  lastUseOf,
} from "../reports/enrolment.ts";
import { directoryNumbers, displayNameOf } from "../users/user_views.ts";

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
type EnrolmentOrder = typeof ENROLMENT_ORDERS[number];

/** A user as the table in memory has it. */
interface EnrolmentUser {
  readonly canonical: string;
  readonly name: string;
  readonly displayName: string;
  readonly hasNumber: boolean;
  readonly groups: readonly string[];
  readonly last: LastSignIn | null;
}

/** What changes without a change of the directory. */
interface EnrolmentSources {
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

interface EnrolmentFilters {
  readonly q: string;
  readonly status: EnrolmentStatus | "";
  /** `unused`: has a factor that was never used. */
  readonly factor: EnrolledFactor | "none" | "unused" | "";
  readonly campaign: string;
  readonly group: string;
}

function enrolmentRow(user: EnrolmentUser, sources: EnrolmentSources): EnrolmentRow {
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
function createEnrolmentFilter({ q, status, factor, campaign, group }: EnrolmentFilters) {
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
function sortEnrolmentRows(rows: EnrolmentRow[], order: EnrolmentOrder): EnrolmentRow[] {
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

interface EnrolmentTableDeps {
  readonly people: People;
  readonly clock: Clock;
  readonly log: Log;
}

/** A page of the report. `progress`: the users are still being read. */
export type EnrolmentPage =
  | { readonly progress: { readonly read: number; readonly total: number } }
  | {
    readonly progress: null;
    /** When the users were counted. Their last sign-ins can be 5 minutes older. */
    readonly nowMs: number;
    readonly total: number;
    readonly counts: Readonly<Record<EnrolmentStatus, number>>;
    readonly rows: readonly EnrolmentRow[];
  };

interface EnrolmentQuery extends EnrolmentFilters {
  readonly sort: EnrolmentOrder;
  readonly page: number;
  readonly size: number;
}

/** A request waits this long for the users, which is enough for some thousand. */
const WAIT_MS = 1500;
/** After this time, the last sign-ins are read again. */
const MAX_AGE_MS = 5 * 60_000;
/** After this time without a request, the users are dropped. */
const UNUSED_MS = 15 * 60_000;
/** Above, the users are read again as a whole. */
const MAX_CHANGED = 2000;

interface UserTable {
  readonly users: Map<string, EnrolmentUser>;
  /** In order of name; `null` after a user was added. */
  sorted: readonly EnrolmentUser[] | null;
  readonly readMs: number;
}

export class EnrolmentTable {
  readonly #deps: EnrolmentTableDeps;
  #table: UserTable | null = null;
  #reading: Promise<void> | null = null;
  #progress = { read: 0, total: 0 };
  #observed: Target["directory"] | null = null;
  #stopObserving = () => {};
  #stopTimer = () => {};
  readonly #changed = new Set<string>();

  constructor(deps: EnrolmentTableDeps) {
    this.#deps = deps;
  }

  /** One page. Resolves with the progress while the users are read for the first time. */
  async page({ sort, page, size, ...filters }: EnrolmentQuery): Promise<EnrolmentPage> {
    const table = await this.#open(WAIT_MS);
    if (table === null) return { progress: this.#progress };
    const { rows, counts } = this.#select(table, filters);
    const sorted = sortEnrolmentRows(rows, sort);
    const shown = sorted.slice((page - 1) * size, page * size);
    return { progress: null, nowMs: this.#deps.clock.nowMs(), total: rows.length, counts, rows: shown };
  }

  /** All matching rows in order. `null` if the users cannot be read in time. */
  async rows(
    query: EnrolmentFilters & { sort: EnrolmentOrder },
    waitMs: number,
  ): Promise<EnrolmentRow[] | null> {
    const table = await this.#open(waitMs);
    return table === null ? null : sortEnrolmentRows(this.#select(table, query).rows, query.sort);
  }

  close(): void {
    this.#stopTimer();
    this.#drop();
  }

  #select(table: UserTable, filters: EnrolmentFilters) {
    const { people: { pairings, hardwareTokens, enrolment }, clock } = this.#deps;
    const sources: EnrolmentSources = {
      pairingsOf: (user) => pairings.of(user),
      tokensOf: (user) => hardwareTokens.of(user),
      markOf: (user) => enrolment.of(user),
      nowMs: clock.nowMs(),
    };
    const isWanted = createEnrolmentFilter(filters);
    const counts = { enrolled: 0, number: 0, invited: 0, overdue: 0, not_invited: 0 };
    const rows: EnrolmentRow[] = [];
    for (const user of sortedUsers(table)) {
      const row = enrolmentRow(user, sources);
      counts[row.status] += 1;
      if (isWanted(user, row)) rows.push(row);
    }
    return { rows, counts };
  }

  async #open(waitMs: number): Promise<UserTable | null> {
    const { people, clock } = this.#deps;
    this.#observe(targetOf(people, undefined));
    this.#stopTimer();
    this.#stopTimer = clock.after(UNUSED_MS, () => this.#drop());
    const isOld = this.#table === null || clock.nowMs() - this.#table.readMs > MAX_AGE_MS ||
      this.#changed.size > MAX_CHANGED;
    if (isOld) {
      this.#reading ??= this.#readLogged().finally(() => this.#reading = null);
      if (this.#table === null) await withTimeout(this.#reading, { clock, timeoutMs: waitMs });
    }
    if (this.#table !== null) await this.#applyChanges(this.#table);
    return this.#table;
  }

  #drop(): void {
    this.#stopObserving();
    this.#observed = null;
    this.#table = null;
    this.#changed.clear();
  }

  /** Another directory can become the one of the sign-ins. */
  #observe({ directory }: Target): void {
    if (this.#observed === directory) return;
    this.#drop();
    this.#observed = directory;
    this.#stopObserving = directory.observe(({ kind, name }) => {
      if (kind === "user" && this.#changed.size <= MAX_CHANGED) this.#changed.add(canonicalName(name));
    });
  }

  async #readLogged(): Promise<void> {
    try {
      await this.#read();
    } catch (fault) {
      this.#deps.log.warn("the users could not be read for the enrolment report", { fault: String(fault) });
    }
  }

  async #read(): Promise<void> {
    const { people, clock } = this.#deps;
    const observed = this.#observed;
    const readMs = clock.nowMs();
    const users = new Map<string, EnrolmentUser>();
    this.#progress = { read: 0, total: 0 };
    this.#changed.clear();
    for await (const batch of countedUsers(people, { clock })) {
      for (const user of batch.users) addUser(users, people, user);
      this.#progress = { read: this.#progress.read + batch.users.length, total: batch.total };
      if (this.#observed !== observed) return;
    }
    this.#table = { users, sorted: [...users.values()], readMs };
  }

  /** Reads changed users again, a bounded number. */
  async #applyChanges(table: UserTable): Promise<void> {
    if (this.#changed.size === 0 || this.#changed.size > MAX_CHANGED) return;
    const { people } = this.#deps;
    const names = [...this.#changed];
    this.#changed.clear();
    const { directory } = targetOf(people, undefined);
    const last = await people.lastSignIns.of(names);
    for (const canonical of names) {
      const stored = await directory.read("user", canonical);
      table.users.delete(canonical);
      if (stored === null) continue;
      const user = {
        ...{ stored, canonical, pairings: people.pairings.of(canonical) },
        tokens: people.hardwareTokens.of(canonical),
      };
      addUser(table.users, people, { ...user, last: lastSince(last.get(canonical), stored.createdMs) });
    }
    table.sorted = null;
  }
}

function addUser(users: Map<string, EnrolmentUser>, people: People, user: CountedUser): void {
  const { stored: { content, groups }, canonical, pairings, last } = user;
  if (content.kind !== "user" || !content.active) return;
  users.set(canonical, {
    ...{ canonical, name: content.name, displayName: displayNameOf(content), groups, last },
    hasNumber: directoryNumbers(people, { content, pairings }).length > 0,
  });
}

function sortedUsers(table: UserTable): readonly EnrolmentUser[] {
  table.sorted ??= [...table.users.values()].sort((a, b) =>
    a.canonical < b.canonical ? -1 : a.canonical > b.canonical ? 1 : 0
  );
  return table.sorted;
}
