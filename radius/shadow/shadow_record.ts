// What shadow mode learns of a client, as it is stored: one row for each client and day, and one for each client and user whose login the present
// server accepted. Rows are sums, so that several nodes can add to the same row. Contains no secret.

import { DAY_MS } from "../../platform/durations.ts";
import type { TableKind } from "../../platform/table.ts";
import { TIME_BUCKETS } from "../conversation/login_record.ts";

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
export const MAX_SHADOW_USERS = 50_000;
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
export function emptyShadowDay(client: string, nowMs: number): ShadowDay {
  return {
    ...{ client, day: Math.floor(nowMs / DAY_MS), lastMs: nowMs },
    ...{ accepted: 0, rejected: 0, challenged: 0, unanswered: 0, kinds: {} },
    ...{ times: new Array<number>(TIME_BUCKETS).fill(0), maxMs: 0, gaps: {}, tries: 0 },
    ...{ gaveUp: 0, patienceMs: 0, quietMs: 0, unrecorded: 0 },
  };
}

/** The sum of two rows of one client. */
export function addShadowDays(a: ShadowDay, b: ShadowDay): ShadowDay {
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
export function addShadowUsers(a: ShadowUser, b: ShadowUser): ShadowUser {
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
