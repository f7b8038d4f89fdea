// All active users of the login directory in memory, for the enrolment report. The first request reads them, changes of the directory are applied, and
// after a time without requests the memory is freed. Factors and invitations are in memory anyway, so a page costs no read.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Log } from "../../../platform/log.ts";
import { type Clock, withTimeout } from "../../../platform/runtime.ts";
import type { Target } from "../../../scim/ports.ts";
import { type People, targetOf } from "../deps.ts";
import { type CountedUser, countedUsers, lastSince } from "../reports/enrolment.ts";
import { directoryNumbers, displayNameOf } from "../users/user_views.ts";
import {
  createEnrolmentFilter,
  type EnrolmentFilters,
  type EnrolmentOrder,
  type EnrolmentRow,
  enrolmentRow,
  type EnrolmentSources,
  type EnrolmentStatus,
  type EnrolmentUser,
  sortEnrolmentRows,
} from "./enrolment_report.ts";

export interface EnrolmentTableDeps {
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

export interface EnrolmentQuery extends EnrolmentFilters {
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
