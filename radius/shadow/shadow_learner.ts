// Learns from the logins of clients in shadow mode. Observations are collected in memory and added to the stored rows every half minute, so that a
// login costs no write. A crash loses the observations of that time, and no login depends on them.

import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import { MAX_SHARED_CHECKS } from "../../platform/commit_queue.ts";
import type { Store } from "../../platform/store.ts";
import { commitChanges, joinId, Table, type TableChange, type TableKind } from "../../platform/table.ts";
import { DAY_MS } from "../../platform/durations.ts";
import { TIME_BUCKETS } from "../conversation/login_record.ts";

interface ShadowLearnerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** {@link MAX_SHADOW_USERS} by default. */
  readonly maxUsers?: number;
}

const FLUSH_MS = 30_000;
/** Users that wait for the next write. */
const MAX_WAITING = 20_000;
/** Each row has a check. */
const ROWS_PER_COMMIT = MAX_SHARED_CHECKS;
/** Tries of one commit. Each one reads what another node wrote first. */
const MAX_TRIES = 8;

export class ShadowLearner {
  readonly #deps: ShadowLearnerDeps;
  readonly #days: Table<ShadowDay>;
  readonly #users: Table<ShadowUser>;
  #waitingDays = new Map<string, ShadowDay>();
  #waitingUsers = new Map<string, ShadowUser>();
  #flushing: Promise<void> = Promise.resolve();
  #stopTimer = () => {};

  constructor(deps: ShadowLearnerDeps) {
    const { store, clock: { nowMs } } = deps;
    this.#deps = deps;
    this.#days = new Table({ store, nowMs }, SHADOW_DAYS);
    this.#users = new Table({ store, nowMs }, SHADOW_USERS);
  }

  /** Reads the stored rows. Call it once, before anything else. */
  async load(): Promise<void> {
    await Promise.all([this.#days.load(), this.#users.load()]);
    this.#schedule();
  }

  /** The sums of one client since a moment; `null`: nothing was observed. Other nodes may know half a minute more. */
  total(client: string, sinceMs: number): ShadowDay | null {
    const since = emptyShadowDay(client, sinceMs).day;
    const rows = [...this.#days.all().map(({ value }) => value), ...this.#waitingDays.values()];
    return rows.filter((row) => row.client === client && row.day >= since)
      .reduce<ShadowDay | null>((sum, row) => sum === null ? row : addShadowDays(sum, row), null);
  }

  clients(): ReadonlySet<string> {
    const stored = this.#days.all().map(({ value: { client } }) => client);
    return new Set([...stored, ...this.#waitingDays.values().map(({ client }) => client)]);
  }

  /** The users of a client whose last login is not older than `sinceMs`, in no order. */
  users(client: string, sinceMs: number): ShadowUser[] {
    const found = new Map(this.#users.list(client).map(({ id, value }) => [id, value]));
    for (const [id, waiting] of this.#waitingUsers) {
      if (waiting.client !== client) continue;
      const stored = found.get(id);
      found.set(id, stored === undefined ? waiting : addShadowUsers(stored, waiting));
    }
    return [...found.values()].filter(({ lastMs }) => lastMs >= sinceMs);
  }

  /** Adds to the sums of a client. It runs on the hot path and only changes memory. */
  addDay(client: string, change: Partial<Omit<ShadowDay, "client" | "day">>): void {
    const added = { ...emptyShadowDay(client, this.#deps.clock.nowMs()), ...change };
    const id = joinId(client, String(added.day));
    const known = this.#waitingDays.get(id);
    this.#waitingDays.set(id, known === undefined ? added : addShadowDays(known, added));
  }

  /** Adds an accepted login of a user, or counts it as one that cannot be recorded. */
  addUser(added: ShadowUser): void {
    const id = joinId(added.client, added.user);
    const known = this.#waitingUsers.get(id);
    if (known === undefined && !this.#hasRoom(id)) return this.addDay(added.client, { unrecorded: 1 });
    this.#waitingUsers.set(id, known === undefined ? added : addShadowUsers(known, added));
  }

  #hasRoom(id: string): boolean {
    const { maxUsers = MAX_SHADOW_USERS } = this.#deps;
    if (this.#waitingUsers.size >= MAX_WAITING) return false;
    return this.#users.get(id) !== undefined || this.#users.size + this.#waitingUsers.size < maxUsers;
  }

  /** Writes what waits. Rejects if the store fails; the next call writes it too. */
  flush(): Promise<void> {
    return this.#flushing = this.#flushing.catch(() => undefined).then(() => this.#flush());
  }

  /** Writes what waits. A failure is ignored. */
  stop(): void {
    this.#stopTimer();
    this.flush().catch(() => undefined);
  }

  async #flush(): Promise<void> {
    const days = [...this.#waitingDays];
    const users = [...this.#waitingUsers];
    this.#waitingDays = new Map();
    this.#waitingUsers = new Map();
    const rows = [
      ...days.map(([id, row]): WaitingRow => ({
        change: () => changeOf(this.#days, { id, row, add: addShadowDays }),
        restore: () => restore(this.#waitingDays, { id, row, add: addShadowDays }),
      })),
      ...users.map(([id, row]): WaitingRow => ({
        change: () => changeOf(this.#users, { id, row, add: addShadowUsers }),
        restore: () => restore(this.#waitingUsers, { id, row, add: addShadowUsers }),
      })),
    ];
    const failures: unknown[] = [];
    for (let at = 0; at < rows.length; at += ROWS_PER_COMMIT) {
      const batch = rows.slice(at, at + ROWS_PER_COMMIT);
      try {
        await this.#write(batch);
      } catch (fault) {
        failures.push(fault);
        for (const row of batch) row.restore();
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** @throws if the store fails, or if other nodes write the same rows all the time */
  async #write(batch: readonly WaitingRow[]): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (await commitChanges(this.#deps.store, batch.map(({ change }) => change()))) return;
    }
    throw new Error("Cannot add to the observations of shadow mode: other nodes change the same rows");
  }

  #schedule(): void {
    this.#stopTimer = this.#deps.clock.after(FLUSH_MS, () => {
      this.flush().catch((fault: unknown) => {
        this.#deps.log.error("the observations of shadow mode could not be written", {
          fault: String(fault),
        });
      });
      this.#schedule();
    });
  }
}

/** A row that is added to the stored one. */
interface WaitingRow {
  readonly change: () => TableChange;
  /** Lets the row wait for the next write. */
  readonly restore: () => void;
}

interface AddedRow<Row> {
  readonly id: string;
  readonly row: Row;
  readonly add: (a: Row, b: Row) => Row;
}

function changeOf<Row>(table: Table<Row>, { id, row, add }: AddedRow<Row>): TableChange {
  const stored = table.get(id);
  if (stored !== undefined) return table.replace(stored, add(stored.value, row));
  // A row that cannot be read would refuse an addition for as long as it is stored.
  return table.unreadable.includes(id) ? table.put(id, row) : table.add(id, row);
}

function restore<Row>(waiting: Map<string, Row>, { id, row, add }: AddedRow<Row>): void {
  const known = waiting.get(id);
  waiting.set(id, known === undefined ? row : add(known, row));
}

// What shadow mode learns of a client, as it is stored: one row for each client and day, and one for each client and user whose login the present
// server accepted. Rows are sums, so that several nodes can add to the same row. Contains no secret.

/** Accepted logins by kind: {@link shadowKind}. */
type ShadowKinds = Readonly<Record<string, number>>;

/** The sums of a client and a day (UTC). */
export interface ShadowDay {
  readonly client: string;
  /** Days since the epoch. */
  readonly day: number;
  readonly lastMs: number;
  /** Answers of the present server by code, and requests without an answer. */
  readonly accepted: number;
  readonly rejected: number;
  readonly challenged: number;
  readonly unanswered: number;
  readonly kinds: ShadowKinds;
  /** Accepts and Rejects by the time to answer: the buckets of conversation/login_record.ts. */
  readonly times: readonly number[];
  readonly maxMs: number;
  /** Tries of one request by the whole seconds since the previous one. */
  readonly gaps: Readonly<Record<string, number>>;
  /** The most packets of one request. */
  readonly tries: number;
  /** Requests whose client stopped trying before the answer came, and the longest time that such a client waited. */
  readonly gaveUp: number;
  readonly patienceMs: number;
  /** The longest time to an answer for which a client waited without another try. */
  readonly quietMs: number;
  /** Accepted logins whose user could not be recorded, because there are too many. */
  readonly unrecorded: number;
}

/** A user of a client, whose login the present server accepted. */
export interface ShadowUser {
  readonly client: string;
  /** Canonical. */
  readonly user: string;
  /** As typed at the last login. */
  readonly shown: string;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly kinds: ShadowKinds;
}

/** How long rows are stored after their day, or after the last login. */
const SHADOW_RETENTION_MS = 90 * DAY_MS;
/** Rows of users, of all clients together. */
const MAX_SHADOW_USERS = 50_000;
/** Kinds of a row, and seconds between tries. */
const MAX_KINDS = 64;
const MAX_GAP_S = 60;

export const SHADOW_DAYS: TableKind<ShadowDay> = {
  prefix: ["shadow_day"],
  read: (value) => checkRow(value as ShadowDay, ["client", "day", "kinds", "times", "gaps"]),
  whenUnreadable: "forget",
  expiresMs: ({ day }) => (day + 1) * DAY_MS + SHADOW_RETENTION_MS,
};
export const SHADOW_USERS: TableKind<ShadowUser> = {
  prefix: ["shadow_user"],
  read: (value) => checkRow(value as ShadowUser, ["client", "user", "kinds"]),
  whenUnreadable: "forget",
  expiresMs: ({ lastMs }) => lastMs + SHADOW_RETENTION_MS,
  index: ({ client }) => [client],
};

/** @throws TypeError if a field is missing */
function checkRow<Row extends object>(row: Row, fields: readonly (keyof Row & string)[]): Row {
  if (typeof row === "object" && row !== null && fields.every((name) => row[name] !== undefined)) return row;
  throw new TypeError("it has not the fields of an observation of shadow mode");
}

/** The method of a request that is not the login of a user. */
export const NO_LOGIN = "no login";

/** What is known about an accepted login. */
export interface ShadowTraits {
  /** `PAP`, `CHAP`, `MS-CHAPv1`, `MS-CHAPv2`, the name of an EAP method, or {@link NO_LOGIN}. */
  readonly method: string;
  /** Whether the user answered a challenge of the present server. Always so with EAP. */
  readonly isPrompted: boolean;
  /** Whether the Access-Request had a valid Message-Authenticator. */
  readonly isSigned: boolean;
  /** Whether the Access-Accept had a User-Name. */
  readonly isNamed: boolean;
}

/** The traits as one text, the key of {@link ShadowKinds}. */
export function shadowKind({ method, isPrompted, isSigned, isNamed }: ShadowTraits): string {
  return `${method}${isPrompted ? "+prompted" : ""}${isSigned ? "" : "+unsigned"}${isNamed ? "+named" : ""}`;
}

/** Reads what {@link shadowKind} wrote. */
export function traitsOf(kind: string): ShadowTraits {
  const [method = "", ...marks] = kind.split("+");
  return {
    method,
    isPrompted: marks.includes("prompted"),
    isSigned: !marks.includes("unsigned"),
    isNamed: marks.includes("named"),
  };
}

/** A day without observations. */
function emptyShadowDay(client: string, nowMs: number): ShadowDay {
  return {
    ...{ client, day: Math.floor(nowMs / DAY_MS), lastMs: nowMs },
    ...{ accepted: 0, rejected: 0, challenged: 0, unanswered: 0, kinds: {} },
    ...{ times: new Array<number>(TIME_BUCKETS).fill(0), maxMs: 0, gaps: {}, tries: 0 },
    ...{ gaveUp: 0, patienceMs: 0, quietMs: 0, unrecorded: 0 },
  };
}

/** The sum of two rows of one client. */
function addShadowDays(a: ShadowDay, b: ShadowDay): ShadowDay {
  const sum = (name: "accepted" | "rejected" | "challenged" | "unanswered" | "gaveUp" | "unrecorded") =>
    a[name] + b[name];
  const most = (name: "lastMs" | "maxMs" | "tries" | "patienceMs" | "quietMs") => Math.max(a[name], b[name]);
  return {
    ...{ client: a.client, day: Math.max(a.day, b.day), lastMs: most("lastMs") },
    ...{ accepted: sum("accepted"), rejected: sum("rejected"), challenged: sum("challenged") },
    ...{ unanswered: sum("unanswered"), kinds: addCounts(a.kinds, b.kinds) },
    times: a.times.map((count, at) => count + (b.times[at] ?? 0)),
    ...{ maxMs: most("maxMs"), gaps: addCounts(a.gaps, b.gaps), tries: most("tries") },
    ...{ gaveUp: sum("gaveUp"), patienceMs: most("patienceMs"), quietMs: most("quietMs") },
    unrecorded: sum("unrecorded"),
  };
}

/** The sum of two rows of one client and user. */
function addShadowUsers(a: ShadowUser, b: ShadowUser): ShadowUser {
  const [older, newer] = a.lastMs <= b.lastMs ? [a, b] : [b, a];
  return {
    ...newer,
    firstMs: Math.min(older.firstMs, newer.firstMs),
    kinds: addCounts(a.kinds, b.kinds),
  };
}

/** A bound for names from outside: further names are not counted. */
export function addCounts(a: ShadowKinds, b: ShadowKinds): ShadowKinds {
  const both: Record<string, number> = { ...a };
  for (const [name, count] of Object.entries(b)) {
    if (both[name] === undefined && Object.keys(both).length >= MAX_KINDS) continue;
    both[name] = (both[name] ?? 0) + count;
  }
  return both;
}

/** The key of {@link ShadowDay.gaps} for a time between two tries; `null`: too long to be one. */
export function gapKey(ms: number): string | null {
  const seconds = Math.round(ms / 1000);
  return seconds > MAX_GAP_S ? null : String(seconds);
}
