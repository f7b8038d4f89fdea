// An accounting session (RFC 2866): the connected user, the NAS, the time, and the transferred octets. Also the report that updates it, and
// its stored form, and the attributes that identify it at its NAS.

import { SESSION_LIMITS, type SessionChange, terminateCauseName } from "../protocol/accounting.ts";
import type { DisconnectProblem, DisconnectView } from "../dynamic_authorization/disconnect_records.ts";
import { parseIpv4 } from "../protocol/attributes.ts";
import { type AttributeName, typeOf } from "../protocol/dictionary.ts";
import { HEADER_OCTETS } from "../protocol/packet.ts";

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

// The attributes that identify a session and its NAS in a Disconnect-Request (RFC 5176 §3), as the NAS sent them in its Accounting-Requests.

/**
 * The attributes of an Accounting-Request that identify its NAS and its session, as the NAS sent them (RFC 5176 §3). All attributes of a
 * Disconnect-Request must match, so each more can only make a request fail. `always`: in every request. `asked`: only in a second request,
 * after an Error-Cause that asks for more. Among these is Framed-IP-Address: §3 lists it, the table of §3.6 has it not, and FortiGate
 * requires it for some sessions.
 */
const IDENTIFICATION = {
  "User-Name": "always",
  "NAS-IP-Address": "always",
  "Framed-IP-Address": "asked",
  "Calling-Station-Id": "asked",
  "NAS-Identifier": "always",
  "Acct-Session-Id": "always",
  "Acct-Multi-Session-Id": "asked",
  "NAS-IPv6-Address": "always",
} as const satisfies Partial<Record<AttributeName, "always" | "asked">>;

/** Which attributes identify the session. `least`: only User-Name and Acct-Session-Id. */
export type Identification = "least" | "always" | "asked";

const BY_TYPE = new Map<number, "always" | "asked">(
  Object.entries(IDENTIFICATION).map(([name, when]) => [typeOf(name as AttributeName), when]),
);

/** Octets of the attributes that a session stores. */
const MAX_STORED_OCTETS = 512;
/** Without them, a request would match other sessions: of the same user, or with the same Acct-Session-Id at an earlier time. */
const INDISPENSABLE = [typeOf("Acct-Session-Id"), typeOf("User-Name")];
const NO_OCTETS = new Uint8Array();

/** The identification attributes of an Accounting-Request, encoded; the first of each type. */
export function readIdentification(packet: Uint8Array): Uint8Array<ArrayBuffer> {
  return firstOfEach([packet.subarray(HEADER_OCTETS)]);
}

/** Those of a later report, and those of earlier reports that it lacks; in hexadecimal. */
export function mergeIdentification(earlier: string, later: string): string {
  if (earlier === later) return earlier;
  return firstOfEach([Uint8Array.fromHex(later), Uint8Array.fromHex(earlier)]).toHex();
}

/** Attributes beyond the limit are left out, never those of {@link INDISPENSABLE}. */
function firstOfEach(lists: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const found = new Map<number, Uint8Array>();
  for (const list of lists) {
    forEachIn(list, (type, attribute) => {
      if (BY_TYPE.has(type) && !found.has(type) && attribute.length > 2) found.set(type, attribute);
    });
  }
  let octets = 0;
  const kept = new Set<number>();
  for (const type of new Set([...INDISPENSABLE, ...found.keys()])) {
    const { length } = found.get(type) ?? NO_OCTETS;
    if (length === 0 || octets + length > MAX_STORED_OCTETS) continue;
    octets += length;
    kept.add(type);
  }
  return joined([...found].flatMap(([type, attribute]) => kept.has(type) ? [attribute] : []));
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** The attributes of a request. @param use `least`: those that every NAS knows, `always`: more, `asked`: all */
export function selectIdentification(attributes: Uint8Array, use: Identification): Uint8Array<ArrayBuffer> {
  const chosen: Uint8Array[] = [];
  forEachIn(attributes, (type, attribute) => {
    const when = BY_TYPE.get(type);
    const isChosen = use === "least" ? INDISPENSABLE.includes(type) : use === "asked" || when === "always";
    if (when !== undefined && isChosen) chosen.push(attribute);
  });
  return joined(chosen);
}

function forEachIn(list: Uint8Array, visit: (type: number, attribute: Uint8Array) => void): void {
  for (let at = 0; at + 2 <= list.length;) {
    const size = list[at + 1] as number;
    if (size < 2 || at + size > list.length) return;
    visit(list[at] as number, list.subarray(at, at + size));
    at += size;
  }
}

/** NAS-IP-Address as text, or "". */
export function nasAddressOf(identification: Uint8Array): string {
  let address = "";
  forEachIn(identification, (type, attribute) => {
    if (type === typeOf("NAS-IP-Address") && attribute.length === 6) address = attribute.slice(2).join(".");
  });
  return parseIpv4(address) === null ? "" : address;
}
