// The proof of a relayed request: CHAP (RFC 2865 §5.3), MS-CHAP (RFC 2548 §2) or EAP (RFC 3579). Only the first-factor server can check it.

import {
  decodeEap,
  EAP_CODES,
  EAP_METHODS,
  EAP_MSCHAPV2_OPCODES,
  eapMethodName,
  eapMsChapOpCode,
  type EapPacket,
  isEapMethod,
  joinEapMessages,
} from "../protocol/eap.ts";
import { typeOf } from "../protocol/dictionary.ts";
import type { HmacMd5 } from "../protocol/md5.ts";
import { MD5_OCTETS } from "../protocol/md5.ts";
import { MICROSOFT_VENDOR, readMsChap } from "../protocol/ms_chap.ts";
import {
  AUTHENTICATOR_AT,
  AUTHENTICATOR_OCTETS,
  forEachAttribute,
  MAX_PACKET_OCTETS,
} from "../protocol/packet.ts";
import { readInteger } from "../protocol/attributes.ts";
import { toBase64Url } from "../../platform/runtime.ts";
import type { RequestRefusal } from "../server/request.ts";

const USER_NAME = typeOf("User-Name");
const USER_PASSWORD = typeOf("User-Password");
const CHAP_PASSWORD = typeOf("CHAP-Password");
const CHAP_CHALLENGE = typeOf("CHAP-Challenge");
const STATE = typeOf("State");
const EAP_MESSAGE = typeOf("EAP-Message");
const VENDOR_SPECIFIC = typeOf("Vendor-Specific");
/** RFC 2865 §5.3: the CHAP Identifier and the response. */
const CHAP_OCTETS = 17;

/** `eap`: the Response of the peer; `null` for EAP-Start (RFC 3579 §2.1). */
export type RelayedProof =
  | { readonly kind: "chap" | "ms_chap"; readonly name: string }
  | { readonly kind: "eap"; readonly name: string; readonly eap: EapPacket | null };

/** The proof of a valid packet, or why it is refused. `null`: the request has a password, or nothing. */
export function readRelayedProof(octets: Uint8Array): RelayedProof | RequestRefusal | null {
  const counts = countProofs(octets);
  const msChap = readMsChap(octets);
  const kinds = Math.min(1, counts.eap) + counts.chap + counts.password + (msChap === null ? 0 : 1);
  if (counts.eap === 0 && counts.password > 0 && counts.chap === 0) return null;
  if (kinds > 1) return "two_passwords";
  // The server could read another name than the gateway.
  if (counts.names !== 1) return "no_user_name";
  if (counts.eap > 0) return readEap(octets);
  if (counts.chap > 0) return counts.isChapMalformed ? "malformed_chap" : { kind: "chap", name: "CHAP" };
  if (msChap === null) return null;
  if (msChap.isChange) return "ms_chap_change";
  if (msChap.responses > 1) return "two_passwords";
  return msChap.isMalformed ? "malformed_chap" : { kind: "ms_chap", name: `MS-CHAPv${msChap.version}` };
}

function countProofs(octets: Uint8Array) {
  const counts = { names: 0, eap: 0, chap: 0, password: 0, isChapMalformed: false };
  forEachAttribute(octets, octets.length, (type, _at, valueOctets) => {
    if (type === USER_NAME) counts.names++;
    if (type === EAP_MESSAGE) counts.eap++;
    if (valueOctets === 0) return;
    if (type === USER_PASSWORD) counts.password++;
    if (type !== CHAP_PASSWORD) return;
    counts.chap++;
    if (valueOctets !== CHAP_OCTETS) counts.isChapMalformed = true;
  });
  return counts;
}

function readEap(octets: Uint8Array): RelayedProof | RequestRefusal {
  const joined = joinEapMessages(octets);
  if (joined === null) return "malformed_eap";
  if (joined.length === 0) return { kind: "eap", name: "EAP", eap: null };
  const eap = decodeEap(joined);
  if (eap === null || eap.code !== EAP_CODES.response) return "malformed_eap";
  const isChange = eap.type === EAP_METHODS["EAP-MSCHAPv2"].type &&
    eapMsChapOpCode(eap) === EAP_MSCHAPV2_OPCODES.change;
  if (isChange) return "ms_chap_change";
  return { kind: "eap", name: isEapMethod(eap.type) ? eapMethodName(eap.type) : "EAP", eap };
}

const scratch = new Uint8Array(MAX_PACKET_OCTETS + 512);
const digest = new Uint8Array(MD5_OCTETS);
const utf8 = new TextEncoder();

/**
 * Identifies the login of a relayed request: a keyed hash of the client, the NAS, the place, User-Name, State and the proof. A packet that is re-issued
 * with another Identifier and Request Authenticator has the same. A proof alone does not suffice: some NAS send a constant challenge, and then anyone
 * can repeat the response elsewhere. Without a place, only a retransmission is the same, which has the same Request Authenticator (RFC 5080 §2.2.1).
 *
 * @returns `null` for the first packet of an EAP conversation, which contains nothing random
 */
export function relayKeyOf(hmac: HmacMd5, octets: Uint8Array, client: string): string | null {
  let used = utf8.encodeInto(`${client.length} ${client}`, scratch).written;
  let hasEap = false;
  let hasState = false;
  let hasChapChallenge = false;
  let isChap = false;
  let hasPlace = false;
  forEachAttribute(octets, octets.length, (type, at, valueOctets) => {
    if (type === CHAP_CHALLENGE) hasChapChallenge = true;
    if (type === CHAP_PASSWORD) isChap = true;
    if (type === EAP_MESSAGE) hasEap = true;
    if (type === STATE && valueOctets > 0) hasState = true;
    if (PLACE.has(type)) hasPlace ||= octets.subarray(at, at + valueOctets).some((octet) => octet !== 0);
    const isMicrosoft = type === VENDOR_SPECIFIC && valueOctets >= 4 &&
      readInteger(octets, at) === MICROSOFT_VENDOR;
    if (!IDENTIFYING.has(type) && !isMicrosoft) return;
    scratch.set(octets.subarray(at - 2, at + valueOctets), used);
    used += valueOctets + 2;
  });
  // RFC 2865 §5.3: without CHAP-Challenge, the Request Authenticator is the challenge. A State of EAP belongs to one conversation.
  if ((isChap && !hasChapChallenge) || (!hasEap && !hasPlace)) {
    scratch.set(octets.subarray(AUTHENTICATOR_AT, AUTHENTICATOR_AT + AUTHENTICATOR_OCTETS), used);
    used += AUTHENTICATOR_OCTETS;
  }
  // Attributes of Microsoft beside EAP describe the client (RFC 2548 §2.6), and are the same in each conversation.
  if (hasEap && !hasState) return null;
  hmac.signInto(scratch, 0, used, digest, 0);
  return toBase64Url(digest);
}

/** As in tuple.ts, and RFC 2866 §5.5: a NAS gives each session another one. */
const PLACE: ReadonlySet<number> = new Set(
  (["Calling-Station-Id", "NAS-Port", "NAS-Port-Id", "Acct-Session-Id"] as const).map(typeOf),
);
const IDENTIFYING: ReadonlySet<number> = new Set([
  ...PLACE,
  ...(["NAS-IP-Address", "NAS-Identifier", "NAS-IPv6-Address"] as const).map(typeOf),
  USER_NAME,
  CHAP_PASSWORD,
  CHAP_CHALLENGE,
  STATE,
  EAP_MESSAGE,
]);
