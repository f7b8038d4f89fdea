// The attributes that identify a session and its NAS in a Disconnect-Request (RFC 5176 §3), as the NAS sent them in its Accounting-Requests.

import { parseIpv4 } from "./attributes.ts";
import { type AttributeName, typeOf } from "./dictionary.ts";
import { HEADER_OCTETS } from "./packet.ts";

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
