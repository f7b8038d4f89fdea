// Which records of the audit log are alerts: one row for each action. Records are foreign input, because another version may have written them.

import { auditActionOf } from "../audit_actions.ts";
import type { AlertKind, AlertValues } from "./alert_kinds.ts";

/** An event that is an alert. */
export interface AlertEvent {
  readonly kind: AlertKind;
  /** `user:ada` */
  readonly about: string;
  readonly values: AlertValues;
}

type AuditRecord = Readonly<Record<string, unknown>>;

interface EventRow {
  readonly kind: AlertKind;
  readonly isWanted?: (record: AuditRecord) => boolean;
  readonly values: (record: AuditRecord) => AlertValues;
}

/** Names of users have at most 256 characters. */
const MAX_TEXT_CHARACTERS = 256;
const USER_PREFIX = "user:";
/** The action that is counted. */
const REJECTED = "login.rejected";

const EVENTS: ReadonlyMap<string, EventRow> = new Map<string, EventRow>([
  ["user.locked", {
    kind: "user_locked",
    values: (record) => ({
      ...texts({ client: record.client, address: record.caller }),
      ...record.hard === true ? { isHard: true } : {},
    }),
  }],
  ["user.not_me", {
    kind: "fraud_reported",
    // Not `source`: that is the address of the user who reports.
    values: ({ client, caller }) => texts({ client, address: caller }),
  }],
  ["vpn_session.disconnect_failed", {
    kind: "disconnect_manually",
    // An operator who disconnects a session sees the result.
    isWanted: ({ by }) => by !== "disconnect_operator",
    values: ({ client, nas, session, because, address }) => texts({ client, nas, session, because, address }),
  }],
]);

/** The alert of a record; `null`: it is none. */
export function alertEventOf(record: AuditRecord): AlertEvent | null {
  const row = typeof record.action === "string" ? EVENTS.get(auditActionOf(record.action)) : undefined;
  if (row === undefined || row.isWanted?.(record) === false) return null;
  const object = typeof record.object === "string" ? record.object : "";
  const user = object.startsWith(USER_PREFIX) ? shortened(object.slice(USER_PREFIX.length)) : "";
  const about = user === "" ? shortened(object) : `${USER_PREFIX}${user}`;
  return { kind: row.kind, about, values: { ...user === "" ? {} : { user }, ...row.values(record) } };
}

/** When a sign-in was rejected, if the record says so (milliseconds since the epoch). */
export function rejectionMs({ action, atMs }: AuditRecord): number | null {
  return action === REJECTED && typeof atMs === "number" && Number.isFinite(atMs) ? atMs : null;
}

type TextName = "client" | "address" | "nas" | "session" | "because";

function texts(given: Partial<Record<TextName, unknown>>): AlertValues {
  const found = Object.entries(given).flatMap(([name, text]) =>
    typeof text === "string" && text !== "" ? [[name, shortened(text)]] : []
  );
  return Object.fromEntries(found);
}

/** Cut without half of a surrogate pair. */
function shortened(text: string): string {
  return text.length <= MAX_TEXT_CHARACTERS
    ? text
    : text.slice(0, MAX_TEXT_CHARACTERS).toWellFormed().replace(/\ufffd$/, "");
}
