// The packet gate: the cheapest checks first, without allocations for a packet that is dropped (RFC 2865 §3, RFC 3579 §3.2).

import { AUTHENTICATOR_AT, MAX_PASSWORD_OCTETS, PACKET_CODES, PacketView } from "../protocol/packet.ts";
import type { DropReason } from "../protocol/drop_reasons.ts";
import { looksGarbled } from "../protocol/login_input.ts";
import type { Client, Clients } from "./clients.ts";

/** The gate and its result for the last datagram. */
export interface PacketGate {
  readonly view: PacketView;
  /** The client of the last packet, if it was found. */
  client: Client | null;
  /** The clients of its source address; `null`: none. */
  candidates: readonly Client[] | null;
  /** Whether its Message-Authenticator was present and verified. */
  signed: boolean;
  /** Why the datagram must be dropped; `null` if it is valid, with the result in `view`, `client` and `signed`. */
  check(octets: Uint8Array, hostname: string, port: number, service?: ListenerService): DropReason | null;
  /** The same for a packet of a TLS connection, whose client is known by its certificate. TLS proves the sender: `signed` is `true`. */
  checkStream(packet: Uint8Array, client: Client): DropReason | null;
}

/** The service of a listening socket. The authentication port also answers accounting (RFC 2866 §3). */
export type ListenerService = "authentication" | "accounting";

const ACCESS_REQUEST = PACKET_CODES["Access-Request"].code;
const ACCOUNTING_REQUEST = PACKET_CODES["Accounting-Request"].code;
const STATUS_SERVER = PACKET_CODES["Status-Server"].code;

/** Whether a client's requests from a source address must be signed. */
type Requires = (from: { readonly client: Client; readonly source: string }) => boolean;

/**
 * @param clients the clients by address.
 * @param options.nowMs the clock, for the end of a client's previous secret.
 * @param options.requires whether a source address must sign although the client's settings do not require it.
 */
export function createPacketGate(
  clients: Clients,
  { nowMs = Date.now, requires = () => false }: { nowMs?: () => number; requires?: Requires } = {},
): PacketGate {
  const view = new PacketView();
  const gate: PacketGate = {
    view,
    client: null,
    candidates: null,
    signed: false,
    check(octets, hostname, port, service = "authentication") {
      gate.client = null;
      gate.candidates = null;
      gate.signed = false;
      if (port === 0) return "source_port_zero";
      const candidates = gate.candidates = clients.findByAddress(hostname);
      if (candidates === null) return "unknown_client";
      const fault = view.read(octets, octets.length);
      if (fault !== null) return fault;
      const client = clients.choose(candidates, view);
      if (client === null) return "other_nas";
      gate.client = client;
      if (service === "accounting" && view.code === ACCESS_REQUEST) return "wrong_port";
      const { previous } = client;
      const mustSign = client.requiresSignature || (client.learns && requires({ client, source: hostname }));
      if (previous === null || previous.untilMs <= nowMs()) return checkSignature(gate, client, mustSign);
      return checkEither(gate, { client, before: previous.client, mustSign });
    },
    checkStream(packet, client) {
      gate.client = client;
      gate.candidates = null;
      const fault = view.read(packet, packet.length) ??
        (client.secret.isClear ? null : checkSignature(gate, client, false));
      // TLS protects a Proxy-State from changes on the way, so it needs no signature.
      gate.signed = fault === null || fault === "unsigned_proxy_state";
      return gate.signed ? null : fault;
    },
  };
  return gate;
}

/** Reasons that can mean a wrong secret. */
const WRONG_SECRET: ReadonlySet<DropReason> = new Set([
  "wrong_message_authenticator",
  "wrong_request_authenticator",
]);

/** During a change of the secret, both secrets are valid. The new one is tried first. */
function checkEither(
  gate: PacketGate,
  { client, before, mustSign }: { client: Client; before: Client; mustSign: boolean },
): DropReason | null {
  const { view } = gate;
  const reason = checkSignature(gate, client, mustSign);
  if (reason === null && (gate.signed || !isGarbled(view, client) || isGarbled(view, before))) return null;
  if (reason !== null && !WRONG_SECRET.has(reason)) return reason;
  const other = checkSignature(gate, before, mustSign);
  // If both secrets are wrong, the log names the client with the current one.
  if (other === null) gate.client = before;
  return other;
}

const plain = new Uint8Array(MAX_PASSWORD_OCTETS);

/** Whether the password is garbled, which shows that an unsigned packet was made with another secret. */
function isGarbled(view: PacketView, { secret }: Client): boolean {
  const hidden = view.value("userPassword");
  if (hidden === null) return false;
  const place = { authenticator: view.octets, at: AUTHENTICATOR_AT };
  const length = secret.revealPasswordInto(plain, hidden, place);
  const garbled = length >= 0 && looksGarbled(plain.subarray(0, length));
  plain.fill(0);
  return garbled;
}

/** RFC 3579 §3.2, RFC 5997 §3, and the client's settings. */
function checkSignature(gate: PacketGate, client: Client, mustSign: boolean): DropReason | null {
  const { view } = gate;
  if (view.code === ACCOUNTING_REQUEST) return checkAccounting(gate, client);
  const { messageAuthenticator, proxyState, eapMessage } = view.slots;
  // Status-Server and EAP always need a valid Message-Authenticator.
  const mustBeSigned = view.code === STATUS_SERVER || eapMessage.count > 0;
  if (messageAuthenticator.count > 0 && (mustBeSigned || client.settings.messageAuthenticator !== "off")) {
    const place = {
      lengthOctets: view.lengthOctets,
      valueAt: messageAuthenticator.at,
      valueOctets: messageAuthenticator.lengthOctets,
    };
    // Message-Authenticator is computed over a packet in which it is zero, so two of them cannot be valid.
    if (messageAuthenticator.count > 1 || !client.secret.isAuthentic(view.octets, place)) {
      return "wrong_message_authenticator";
    }
    gate.signed = true;
    return null;
  }
  if (view.code === STATUS_SERVER) return "unsigned_status_server";
  if (eapMessage.count > 0) return "unsigned_eap";
  if (mustSign) return "missing_message_authenticator";
  if (proxyState.count > 0 && client.settings.limitProxyState) return "unsigned_proxy_state";
  return null;
}

/**
 * RFC 2866 §3. An Accounting-Request is authenticated by its Request Authenticator, so the Message-Authenticator settings of Access-Requests
 * do not apply. A Message-Authenticator is checked if it is present. `signed` stays false, because it is only about logins.
 */
function checkAccounting({ view }: PacketGate, { secret, settings }: Client): DropReason | null {
  if (!secret.isAccountingRequest(view.octets, view.lengthOctets)) return "wrong_request_authenticator";
  const { messageAuthenticator } = view.slots;
  if (messageAuthenticator.count === 0 || settings.messageAuthenticator === "off") return null;
  const place = {
    lengthOctets: view.lengthOctets,
    valueAt: messageAuthenticator.at,
    valueOctets: messageAuthenticator.lengthOctets,
  };
  const isRight = messageAuthenticator.count === 1 && secret.isSignedAccountingRequest(view.octets, place);
  return isRight ? null : "wrong_message_authenticator";
}
