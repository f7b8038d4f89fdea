// Accounting facts (RFC 2866, RFC 2867, RFC 3580): status types, terminate causes, and the limits of the session table.

import { DAY_MS } from "../../platform/durations.ts";

/** RFC 2866 §5.1. `session`: the effect of a request of this type on the session table. */
export const ACCT_STATUS_TYPES = {
  "Start": { value: 1, session: "start", ref: "RFC 2866 §5.1" },
  "Stop": { value: 2, session: "stop", ref: "RFC 2866 §5.1" },
  "Interim-Update": { value: 3, session: "update", ref: "RFC 2866 §5.1" },
  "Accounting-On": { value: 7, session: "nas_restarted", ref: "RFC 2866 §5.1" },
  "Accounting-Off": { value: 8, session: "nas_stopped", ref: "RFC 2866 §5.1" },
  "Tunnel-Start": { value: 9, session: "none", ref: "RFC 2867 §3.1" },
  "Tunnel-Stop": { value: 10, session: "none", ref: "RFC 2867 §3.2" },
  "Tunnel-Reject": { value: 11, session: "none", ref: "RFC 2867 §3.3" },
  "Tunnel-Link-Start": { value: 12, session: "none", ref: "RFC 2867 §3.4" },
  "Tunnel-Link-Stop": { value: 13, session: "none", ref: "RFC 2867 §3.5" },
  "Tunnel-Link-Reject": { value: 14, session: "none", ref: "RFC 2867 §3.6" },
  "Failed": { value: 15, session: "none", ref: "RFC 2866 §5.1" },
} as const satisfies Record<string, { value: number; session: SessionChange; ref: string }>;

/** `none`: the request is answered, and the session table does not change. */
export type SessionChange = "start" | "stop" | "update" | "nas_restarted" | "nas_stopped" | "none";

const CHANGES = new Map<number, SessionChange>(
  Object.values(ACCT_STATUS_TYPES).map(({ value, session }) => [value, session]),
);

/** The effect of an Acct-Status-Type on the session table. Unknown types have none. */
export function sessionChange(statusType: number): SessionChange {
  return CHANGES.get(statusType) ?? "none";
}

/** RFC 2866 §5.10; the last four are RFC 3580 §2. */
export const TERMINATE_CAUSES = {
  "User-Request": 1,
  "Lost-Carrier": 2,
  "Lost-Service": 3,
  "Idle-Timeout": 4,
  "Session-Timeout": 5,
  "Admin-Reset": 6,
  "Admin-Reboot": 7,
  "Port-Error": 8,
  "NAS-Error": 9,
  "NAS-Request": 10,
  "NAS-Reboot": 11,
  "Port-Unneeded": 12,
  "Port-Preempted": 13,
  "Port-Suspended": 14,
  "Service-Unavailable": 15,
  "Callback": 16,
  "User-Error": 17,
  "Host-Request": 18,
  "Supplicant-Restart": 19,
  "Reauthentication-Failure": 20,
  "Port-Reinitialized": 21,
  "Port-Administratively-Disabled": 22,
} as const satisfies Record<string, number>;

const CAUSE_NAMES = new Map<number, string>(
  Object.entries(TERMINATE_CAUSES).map(([name, value]) => [value, name]),
);

/** The name of a terminate cause, or its number as text. */
export function terminateCauseName(cause: number): string {
  return CAUSE_NAMES.get(cause) ?? String(cause);
}

export const SESSION_LIMITS = {
  /** A session is removed this long after its last update. */
  retentionMs: 30 * DAY_MS,
  /** Sessions of all clients, connected and ended. Above it, the oldest ended sessions are removed first. */
  total: 50_000,
  /** Sessions of one client, connected and ended. */
  perClient: 20_000,
  /** A session that never sent an Interim-Update is stale after this long without an update. */
  staleMs: DAY_MS,
  /** A session that sends Interim-Updates is stale after this many of its longest intervals. */
  staleIntervals: 3,
  /** No session is stale before this long without an update. */
  freshMs: 10 * 60_000,
} as const;
