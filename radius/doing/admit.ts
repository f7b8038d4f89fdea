// The gate: the cheapest evidence first, and nothing allocated for a packet that will be dropped (RFC 2865 §3, RFC 3579 §3.2).

import { PACKET_CODES } from "../facts/codes.ts";
import type { DropReason } from "../facts/drop_reasons.ts";
import { PacketView } from "../pure/packet.ts";
import type { Client, Clients } from "./clients.ts";

/** What the gate found; one object, used again for every datagram. */
export interface Gate {
  readonly view: PacketView;
  /** The client of the packet that was looked at last, as far as it was known. */
  client: Client | null;
  /** Whether its Message-Authenticator was present and verified. */
  signed: boolean;
  /** Why the datagram must be dropped, or `null` to go on with `view`, `client` and `signed`. */
  check(octets: Uint8Array, hostname: string, port: number): DropReason | null;
}

const STATUS_SERVER = PACKET_CODES["Status-Server"].code;

/** @param clients where senders are looked up. */
export function createGate(clients: Clients): Gate {
  const view = new PacketView();
  const gate: Gate = {
    view,
    client: null,
    signed: false,
    check(octets, hostname, port) {
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
      return checkSignature(gate, client);
    },
  };
  return gate;
}

/** RFC 3579 §3.2, RFC 5997 §3, and what a client's policy asks beyond them. */
function checkSignature(gate: Gate, client: Client): DropReason | null {
  const { view } = gate;
  const { messageAuthenticator, proxyState, eapMessage } = view.slots;
  // Two kinds of packet stand or fall by their signature, whatever the client's setting: nobody may skip that check for them.
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
  if (client.requiresSignature) return "missing_message_authenticator";
  if (proxyState.count > 0 && client.policy.limitProxyState) return "unsigned_proxy_state";
  return null;
}
