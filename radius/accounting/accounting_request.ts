// Decodes an Accounting-Request (RFC 2866 §4.1) by the rows of the dictionary.

import { canonicalName } from "../../platform/canonical_name.ts";
import { type SessionChange, sessionChange } from "../protocol/accounting.ts";
import type { Request } from "../server/request.ts";
import { type AttributeName, ATTRIBUTES } from "../protocol/dictionary.ts";
import { readInteger } from "../protocol/attributes.ts";
import { forEachAttribute } from "../protocol/packet.ts";
import { decodeText } from "../protocol/utf8.ts";

/** What an Accounting-Request reports. Absent or malformed attributes are `null`, `0` or empty. */
export interface AccountingReport {
  readonly change: SessionChange;
  /** Acct-Session-Id in hexadecimal: compared as octets, because it may be any octets. */
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
}

/** Characters of a text that a session stores. */
const MAX_TEXT_CHARACTERS = 128;
const GIGAWORD = 2 ** 32;

/**
 * Reads a packet that the gate found sound. `null`: a required attribute is missing or malformed (RFC 2866 §5.13).
 *
 * @param request `userName` is User-Name as logins of this client are looked up.
 */
export function decodeAccountingRequest(
  { octets, userName: shownUser }: Pick<Request, "octets" | "userName">,
): AccountingReport | null {
  const values = firstValues(octets);
  const statusType = integerOf(values, "Acct-Status-Type");
  if (statusType === null) return null;
  const change = sessionChange(statusType);
  const sessionId = values.get(ATTRIBUTES["Acct-Session-Id"].type) ?? null;
  if (NEEDS_SESSION_ID.has(change) && (sessionId === null || sessionId.length === 0)) return null;
  return {
    change,
    sessionHex: sessionId === null ? "" : sessionId.toHex(),
    sessionId: textOf(values, "Acct-Session-Id"),
    user: canonicalName(shownUser),
    shownUser,
    nas: textOf(values, "NAS-Identifier") || addressOf(values, "NAS-IP-Address") ||
      addressOf(values, "NAS-IPv6-Address"),
    framedAddress: [addressOf(values, "Framed-IP-Address"), addressOf(values, "Framed-IPv6-Address")]
      .filter((address) => address !== "").join(", "),
    callingStation: textOf(values, "Calling-Station-Id"),
    inputOctets: octetsOf(values, "Acct-Input-Octets", "Acct-Input-Gigawords"),
    outputOctets: octetsOf(values, "Acct-Output-Octets", "Acct-Output-Gigawords"),
    sessionSeconds: integerOf(values, "Acct-Session-Time"),
    delaySeconds: integerOf(values, "Acct-Delay-Time") ?? 0,
    terminateCause: integerOf(values, "Acct-Terminate-Cause"),
  };
}

/** Accounting-On and Accounting-Off concern every session of a NAS, and some NASes send them without an Acct-Session-Id. */
const NEEDS_SESSION_ID: ReadonlySet<SessionChange> = new Set(["start", "stop", "update"]);

type Values = ReadonlyMap<number, Uint8Array>;

/** The first value of each attribute type. */
function firstValues(packet: Uint8Array): Values {
  const values = new Map<number, Uint8Array>();
  forEachAttribute(packet, packet.length, (type, at, valueOctets) => {
    if (!values.has(type)) values.set(type, packet.subarray(at, at + valueOctets));
  });
  return values;
}

function integerOf(values: Values, name: AttributeName): number | null {
  const value = values.get(ATTRIBUTES[name].type);
  return value?.length === 4 ? readInteger(value) : null;
}

function textOf(values: Values, name: AttributeName): string {
  const value = values.get(ATTRIBUTES[name].type);
  return value === undefined ? "" : decodeText(value).slice(0, MAX_TEXT_CHARACTERS);
}

/** RFC 2869 §5.1: a Gigawords attribute counts how often the octets passed 2^32. */
function octetsOf(values: Values, octets: AttributeName, gigawords: AttributeName): number {
  return (integerOf(values, octets) ?? 0) + GIGAWORD * (integerOf(values, gigawords) ?? 0);
}

function addressOf(values: Values, name: AttributeName): string {
  const value = values.get(ATTRIBUTES[name].type);
  if (value === undefined) return "";
  const { kind } = ATTRIBUTES[name];
  if (kind === "ipv4" && value.length === 4) return value.join(".");
  return kind === "ipv6" && value.length === 16 ? ipv6Text(value) : "";
}

function ipv6Text(value: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, i) => readInteger(pair(value, i)).toString(16));
  // The URL parser writes the short form of RFC 5952.
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}

function pair(value: Uint8Array, group: number): Uint8Array {
  return Uint8Array.of(0, 0, value[2 * group] as number, value[2 * group + 1] as number);
}
