// The gate: the cheapest evidence first, and nothing allocated for a packet that will be dropped (RFC 2865 §3, RFC 3579 §3.2).

import { PACKET_CODES } from "../protocol/codes.ts";
import { AUTHENTICATOR_AT, MAX_PASSWORD_OCTETS } from "../protocol/codes.ts";
import type { DropReason } from "../protocol/drop_reasons.ts";
import { PacketView } from "../protocol/packet.ts";
import { looksGarbled } from "../protocol/password.ts";
import type { Client, Clients } from "./clients.ts";

/** What the gate found; one object, used again for every datagram. */
export interface Gate {
  readonly view: PacketView;
  /** The client of the packet that was looked at last, as far as it was known. */
  client: Client | null;
  /** Whether its Message-Authenticator was present and verified. */
  signed: boolean;
  /** Why the datagram must be dropped, or `null` to go on with `view`, `client` and `signed`. */
  check(octets: Uint8Array, hostname: string, port: number, service?: ListenerService): DropReason | null;
}

/** What a listening socket is for: the authentication port answers accounting, too (RFC 2866 §3). */
export type ListenerService = "authentication" | "accounting";

const ACCESS_REQUEST = PACKET_CODES["Access-Request"].code;
const ACCOUNTING_REQUEST = PACKET_CODES["Accounting-Request"].code;
const STATUS_SERVER = PACKET_CODES["Status-Server"].code;

/** Whether a client's requests from a source address must be signed. */
type Requires = (from: { readonly client: Client; readonly source: string }) => boolean;

/**
 * @param clients where senders are looked up.
 * @param options.nowMs until when a client's previous secret is accepted is asked of it.
 * @param options.requires which source addresses must sign, beside the clients whose settings require it.
 */
export function createGate(
  clients: Clients,
  { nowMs = Date.now, requires = () => false }: { nowMs?: () => number; requires?: Requires } = {},
): Gate {
  const view = new PacketView();
  const gate: Gate = {
    view,
    client: null,
    signed: false,
    check(octets, hostname, port, service = "authentication") {
      gate.client = null;
      gate.signed = false;
      if (port === 0) return "source_port_zero";
      const candidates = clients.behind(hostname);
      if (candidates === null) return "unknown_client";
      const fault = view.read(octets, octets.length);
      if (fault !== null) return fault;
      const client = clients.choose(candidates, view);
      if (client === null) return "unknown_client";
      gate.client = client;
      if (service === "accounting" && view.code === ACCESS_REQUEST) return "wrong_port";
      const { previous } = client;
      const mustSign = client.requiresSignature || (client.learns && requires({ client, source: hostname }));
      if (previous === null || previous.untilMs <= nowMs()) return checkSignature(gate, client, mustSign);
      return checkEither(gate, { client, before: previous.client, mustSign });
    },
  };
  return gate;
}

/** Reasons that another secret can change. */
const WRONG_SECRET: ReadonlySet<DropReason> = new Set([
  "wrong_message_authenticator",
  "wrong_request_authenticator",
]);

/** While a secret is being changed: the packet belongs to whichever of both made it, the newer one first. */
function checkEither(
  gate: Gate,
  { client, before, mustSign }: { client: Client; before: Client; mustSign: boolean },
): DropReason | null {
  const { view } = gate;
  const reason = checkSignature(gate, client, mustSign);
  if (reason === null && (gate.signed || !isGarbled(view, client) || isGarbled(view, before))) return null;
  if (reason !== null && !WRONG_SECRET.has(reason)) return reason;
  const other = checkSignature(gate, before, mustSign);
  // Wrong with both secrets: what is logged of it is about the current secret.
  if (other === null) gate.client = before;
  return other;
}

const plain = new Uint8Array(MAX_PASSWORD_OCTETS);

/** Unsigned packets show which secret made them by their password alone: with another one it is garbled. */
function isGarbled(view: PacketView, { secret }: Client): boolean {
  const hidden = view.value("userPassword");
  if (hidden === null) return false;
  const place = { authenticator: view.octets, at: AUTHENTICATOR_AT };
  const length = secret.revealPasswordInto(plain, hidden, place);
  const garbled = length >= 0 && looksGarbled(plain.subarray(0, length));
  plain.fill(0);
  return garbled;
}

/** RFC 3579 §3.2, RFC 5997 §3, and what a client's policy asks beyond them. */
function checkSignature(gate: Gate, client: Client, mustSign: boolean): DropReason | null {
  const { view } = gate;
  if (view.code === ACCOUNTING_REQUEST) return checkAccounting(gate, client);
  const { messageAuthenticator, proxyState, eapMessage } = view.slots;
  // Status-Server and EAP need a valid Message-Authenticator, whatever the client's setting.
  const mustBeSigned = view.code === STATUS_SERVER || eapMessage.count > 0;
  if (messageAuthenticator.count > 0 && (mustBeSigned || client.policy.messageAuthenticator !== "off")) {
    const place = {
      lengthOctets: view.lengthOctets,
      valueAt: messageAuthenticator.at,
      valueOctets: messageAuthenticator.lengthOctets,
    };
    // Two of them cannot both be zero while they are computed, so neither can be right.
    if (messageAuthenticator.count > 1 || !client.secret.isAuthentic(view.octets, place)) {
      return "wrong_message_authenticator";
    }
    gate.signed = true;
    return null;
  }
  if (view.code === STATUS_SERVER) return "unsigned_status_server";
  if (eapMessage.count > 0) return "unsigned_eap";
  if (mustSign) return "missing_message_authenticator";
  if (proxyState.count > 0 && client.policy.limitProxyState) return "unsigned_proxy_state";
  return null;
}

/**
 * RFC 2866 §3. An Accounting-Request is authenticated by its Request Authenticator, so the Message-Authenticator settings of Access-Requests
 * do not apply: one is checked if it is present, and `signed` stays false, because it says nothing about logins.
 */
function checkAccounting({ view }: Gate, { secret, policy }: Client): DropReason | null {
  if (!secret.isAccountingRequest(view.octets, view.lengthOctets)) return "wrong_request_authenticator";
  const { messageAuthenticator } = view.slots;
  if (messageAuthenticator.count === 0 || policy.messageAuthenticator === "off") return null;
  const place = {
    lengthOctets: view.lengthOctets,
    valueAt: messageAuthenticator.at,
    valueOctets: messageAuthenticator.lengthOctets,
  };
  const isRight = messageAuthenticator.count === 1 && secret.isSignedAccountingRequest(view.octets, place);
  return isRight ? null : "wrong_message_authenticator";
}
