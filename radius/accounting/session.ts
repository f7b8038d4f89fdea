// An accounting session (RFC 2866): the connected user, the NAS, the time, and the transferred octets. Also the report that updates it, and
// its stored form.

import { SESSION_LIMITS, type SessionChange, terminateCauseName } from "../protocol/accounting.ts";
import type { DisconnectProblem, DisconnectView } from "../dynamic_authorization/disconnect_records.ts";

/** The content of an Accounting-Request. Absent or malformed attributes are `null`, `0` or empty. */
export interface AccountingReport {
  readonly change: SessionChange;
  /** Acct-Session-Id in hexadecimal, because it can contain any octets. */
  readonly sessionHex: string;
  /** Acct-Session-Id as text. */
  readonly sessionId: string;
  /** User-Name, canonical; empty if the request has none. */
  readonly user: string;
  /** User-Name as sent. */
  readonly shownUser: string;
  /** NAS-Identifier, otherwise NAS-IP-Address or NAS-IPv6-Address; empty if the request has none. */
  readonly nas: string;
  /** Framed-IP-Address and Framed-IPv6-Address. */
  readonly framedAddress: string;
  readonly callingStation: string;
  readonly inputOctets: number;
  readonly outputOctets: number;
  readonly sessionSeconds: number | null;
  readonly delaySeconds: number;
  readonly terminateCause: number | null;
  /** The attributes that identify the session in a Disconnect-Request, encoded, in hexadecimal. */
  readonly identification: string;
}

/** The event that ended a session: its Stop, or Accounting-On or Accounting-Off of its NAS. */
export type AccountingSessionEnd = "stop" | "nas_restarted" | "nas_stopped";

export interface AccountingSession {
  readonly id: string;
  /** The client entry that reported it. */
  readonly client: string;
  /** Acct-Session-Id in hexadecimal. */
  readonly sessionHex: string;
  readonly sessionId: string;
  /** Canonical. */
  readonly user: string;
  readonly shownUser: string;
  readonly nas: string;
  readonly source: string;
  readonly framedAddress: string;
  readonly callingStation: string;
  readonly startedMs: number;
  readonly updatedMs: number;
  readonly endedMs: number | null;
  readonly end: AccountingSessionEnd | null;
  readonly terminateCause: number | null;
  readonly inputOctets: number;
  readonly outputOctets: number;
  /** The longest time between two Interim-Updates; 0 before the second update. */
  readonly intervalMs: number;
  /** Request Authenticator of its Start in hexadecimal; empty if there was no Start. */
  readonly startAuthenticator: string;
  /** The attributes that identify it in a Disconnect-Request, encoded, in hexadecimal. */
  readonly identification: string;
}

/** A session as the console shows it. */
export interface SessionView extends
  Omit<
    AccountingSession,
    "sessionHex" | "shownUser" | "terminateCause" | "intervalMs" | "startAuthenticator" | "identification"
  > {
  /** RFC 2866 §5.10, by name; empty if the NAS sent none. */
  readonly terminateCause: string;
  /** Whether the session is connected but had no update for longer than expected, for example because the NAS failed. */
  readonly isStale: boolean;
  /** The order to end it; absent: there is none. */
  readonly disconnect?: DisconnectView;
  /** Why the gateway cannot end it; absent: it can, or the session has ended. */
  readonly disconnectProblem?: DisconnectProblem;
}

/** What other parts add to the view of a session. */
export type SessionExtras = Pick<SessionView, "disconnect" | "disconnectProblem">;

/** The time from which a connected session counts as stale. */
export function staleAtMs({ updatedMs, intervalMs }: AccountingSession): number {
  const { staleMs, staleIntervals, freshMs } = SESSION_LIMITS;
  const waitMs = intervalMs === 0 ? staleMs : Math.min(staleMs, staleIntervals * intervalMs);
  return updatedMs + Math.max(freshMs, waitMs);
}

export function viewSession(session: AccountingSession, nowMs: number): SessionView {
  const {
    sessionHex: _hex,
    shownUser: user,
    terminateCause,
    intervalMs: _ms,
    startAuthenticator: _start,
    identification: _attributes,
    ...rest
  } = session;
  return {
    ...rest,
    user,
    terminateCause: terminateCause === null ? "" : terminateCauseName(terminateCause),
    isStale: rest.endedMs === null && nowMs > staleAtMs(session),
  };
}

/** The store's key of a session; ids grow with time. */
export function sessionKey(id: string): readonly [string, string] {
  return ["accounting", id];
}

const utf8 = new TextEncoder();
const text = new TextDecoder();

/** The stored form: a list without field names, because a busy NAS causes many records. */
export function encodeSession(session: AccountingSession): Uint8Array<ArrayBuffer> {
  const { client, sessionHex, sessionId, user, shownUser, nas, source, framedAddress, callingStation } =
    session;
  const { startedMs, updatedMs, endedMs, end, terminateCause, inputOctets, outputOctets, intervalMs } =
    session;
  return utf8.encode(JSON.stringify([
    [client, sessionHex, sessionId, user, shownUser, nas, source, framedAddress, callingStation],
    [startedMs, updatedMs, inputOctets, outputOctets, intervalMs],
    [endedMs, end, terminateCause],
    session.startAuthenticator,
    session.identification,
  ]));
}

/** Reads the stored form. `null` for any other value. */
export function decodeSession(id: string, value: unknown): AccountingSession | null {
  if (!(value instanceof Uint8Array)) return null;
  try {
    return readParts(id, JSON.parse(text.decode(value)));
  } catch (fault) {
    if (fault instanceof SyntaxError) return null;
    throw fault;
  }
}

const ENDS: ReadonlySet<unknown> = new Set(
  ["stop", "nas_restarted", "nas_stopped"] satisfies AccountingSessionEnd[],
);

function readParts(id: string, parts: unknown): AccountingSession | null {
  if (!Array.isArray(parts)) return null;
  const [texts, numbers, ending, startAuthenticator, identification] = parts;
  if (!isListOf<string>(texts, "string", 9) || !isListOf<number>(numbers, "number", 5)) return null;
  if (!Array.isArray(ending) || typeof startAuthenticator !== "string" || !isHex(identification)) return null;
  const [client, sessionHex, sessionId, user, shownUser, nas, source, framedAddress, callingStation] =
    texts as [string, string, string, string, string, string, string, string, string];
  const [startedMs, updatedMs, inputOctets, outputOctets, intervalMs] = numbers as [
    number,
    number,
    number,
    number,
    number,
  ];
  const [endedMs, end, terminateCause] = ending;
  return {
    ...{ id, client, sessionHex, sessionId, user, shownUser, nas, source, framedAddress, callingStation },
    ...{ startedMs, updatedMs, inputOctets, outputOctets, intervalMs, startAuthenticator, identification },
    endedMs: typeof endedMs === "number" ? endedMs : null,
    end: ENDS.has(end) ? end as AccountingSessionEnd : null,
    terminateCause: typeof terminateCause === "number" ? terminateCause : null,
  };
}

const isHex = (value: unknown): value is string =>
  typeof value === "string" && value.length % 2 === 0 && /^[0-9a-f]*$/.test(value);

function isListOf<T>(value: unknown, type: "string" | "number", length: number): value is T[] {
  return Array.isArray(value) && value.length === length && value.every((one) => typeof one === type);
}
