// A request that passed the gate, copied out of the receive buffer, with what the gateway needs to answer it.

import { typeOf } from "../protocol/dictionary.ts";
import { readInteger } from "../protocol/attributes.ts";
import { forEachAttribute, PacketView } from "../protocol/packet.ts";
import { isRefusedUserName } from "../protocol/user_name.ts";
import { decodeText } from "../protocol/utf8.ts";
import type { Client } from "./clients.ts";
import type { Slot } from "./duplicate_cache.ts";

/** Where an answer goes. `hostname` and `port` as the socket reported them. */
export interface Sender {
  readonly socket: number;
  readonly hostname: string;
  readonly port: number;
}

export interface Request {
  /** The packet without padding, a copy. */
  readonly octets: Uint8Array;
  readonly client: Client;
  readonly sender: Sender;
  /** The source address as it is shown: IPv4 inside IPv6 as plain IPv4. */
  readonly source: string;
  readonly receivedMs: number;
  /** High-resolution time of reception, for the elapsed milliseconds of the log. */
  readonly startedAt: number;
  readonly slot: Slot;
  /** Whether its Message-Authenticator was verified. */
  readonly signed: boolean;
  /** Whether the sender proved that it knows the secret: by its signature, or by a password that can be revealed. Garbled passwords are refused. */
  readonly proven: boolean;
  /** User-Name as text, without the domain and the realm that the client strips; invalid UTF-8 becomes U+FFFD. */
  readonly userName: string;
}

/** Why a sound packet is refused before any conversation is looked at; each is answered with an Access-Reject. */
export const REFUSALS = {
  no_user_name: { sentence: "no User-Name", prompt: "denied", ref: "RFC 2865 §4.1" },
  refused_user_name: {
    sentence:
      "User-Name is empty without its domain and realm, begins or ends with a blank, or contains a format " +
      "character or NUL",
    prompt: "denied",
    ref: "RFC 8265 §3.3",
  },
  two_states: { sentence: "two State attributes", prompt: "denied", ref: "RFC 2865 §5.44" },
  two_passwords: { sentence: "more than one password", prompt: "denied", ref: "RFC 2865 §5.44" },
  bad_password_length: {
    sentence: "User-Password is not 16 to 128 octets in steps of 16",
    prompt: "denied",
    ref: "RFC 2865 §5.2",
  },
  garbled_password: {
    sentence: "the revealed password is no text: is the shared secret of this client right?",
    prompt: "denied",
    ref: "RFC 2865 §5.2; without Message-Authenticator it proves nothing",
  },
  chap: {
    sentence: "CHAP or MS-CHAP: a second factor needs PAP; set the client to PAP",
    prompt: "not_supported",
    ref: "RFC 2865 §5.3",
  },
  eap: { sentence: "EAP ends here: set the client to PAP", prompt: "not_supported", ref: "RFC 3579 §2.2" },
  unknown_state: {
    sentence: "a State that this gateway never issues",
    prompt: "unknown_state",
    ref: "RFC 2865 §5.24",
  },
} as const satisfies Record<string, { sentence: string; prompt: string; ref: string }>;

export type Refusal = keyof typeof REFUSALS;

/**
 * Looks for what makes a sound packet unanswerable; `null` when nothing does.
 *
 * @param name the request's user name after stripping.
 */
export function findRefusal(view: PacketView, name: string): Refusal | null {
  const { userName, userPassword, chapPassword, state, eapMessage } = view.slots;
  if (eapMessage.count > 0) return "eap";
  if (userName.count === 0 || userName.lengthOctets === 0) return "no_user_name";
  if (isRefusedUserName(name)) return "refused_user_name";
  if (state.count > 1) return "two_states";
  if (userPassword.count + chapPassword.count > 1) return "two_passwords";
  if (chapPassword.count === 1) return "chap";
  if (userPassword.count === 0 && hasMsChap(view)) return "chap";
  // Neither password nor State: some clients (radclient is one) send an empty password as none at all.
  return null;
}

/** RFC 2548 §2: MS-CHAP-Response and MS-CHAP2-Response stand inside Vendor-Specific. */
const MICROSOFT = 311;
const MS_CHAP_RESPONSES = new Set([1, 25]);
const VENDOR_SPECIFIC = typeOf("Vendor-Specific");

function hasMsChap({ octets, lengthOctets }: PacketView): boolean {
  let found = false;
  forEachAttribute(octets, lengthOctets, (type, at, valueOctets) => {
    if (type !== VENDOR_SPECIFIC || valueOctets < 6) return;
    const vendor = readInteger(octets.subarray(at, at + 4));
    if (vendor === MICROSOFT && MS_CHAP_RESPONSES.has(octets[at + 4] as number)) found = true;
  });
  return found;
}

/** A kept packet as it was read on arrival. */
export function viewOf({ octets }: Request): PacketView {
  const view = new PacketView();
  view.read(octets, octets.length);
  return view;
}

/** Calling-Station-Id as text; empty without one. */
export function callingStation(view: PacketView): string {
  const calling = view.value("callingStationId");
  return calling === null ? "" : decodeText(calling);
}
