// Disconnect-Requests and their answers as octets (RFC 5176): the attributes that identify a session, the signed request, and the check of an
// answer. Pure: the socket and the retransmissions are in disconnect_client.ts.

import { encodeInteger, readInteger } from "../protocol/attributes.ts";
import { findMessageAuthenticator, type SharedSecret } from "../protocol/authenticity.ts";
import { typeOf } from "../protocol/dictionary.ts";
import {
  authenticatorOf,
  forEachAttribute,
  HEADER_OCTETS,
  PACKET_CODES,
  PacketWriter,
} from "../protocol/packet.ts";
import { type Identification, selectIdentification } from "../protocol/session_identification.ts";

const writer = new PacketWriter();

/**
 * A signed Disconnect-Request without Proxy-State.
 *
 * @param attributes the identification attributes of the session, encoded
 * @param use `least`: those that every NAS knows, without a time; `always`: more, `asked`: all
 */
export function writeDisconnectRequest(
  { identifier, attributes, use, atMs, secret }: {
    identifier: number;
    attributes: Uint8Array;
    use: Identification;
    atMs: number;
    secret: SharedSecret;
  },
): Uint8Array<ArrayBuffer> {
  secret.beginSigned(writer, PACKET_CODES["Disconnect-Request"].code, identifier);
  writer.raw(selectIdentification(attributes, use));
  // RFC 5176 §6.3: the NAS refuses an old copy of the request by this time.
  if (use !== "least") writer.attribute(typeOf("Event-Timestamp"), encodeInteger(Math.floor(atMs / 1000)));
  return secret.signDisconnectRequest(writer);
}

/** The result of one request. `errorCause`: RFC 5176 §3.5; `null`: the NAS sent none. */
export type DisconnectAnswer =
  | { readonly kind: "acked" }
  | { readonly kind: "refused"; readonly errorCause: number | null };

/**
 * Reads the answer to a Disconnect-Request (RFC 5176 §2.3). The caller compares the source address.
 *
 * @param octets a datagram of any content
 * @returns `null`: it is no valid answer to this request, and must be ignored
 */
export function readDisconnectAnswer(
  octets: Uint8Array,
  { request, secret }: { request: Uint8Array; secret: SharedSecret },
): DisconnectAnswer | null {
  if (octets.length < HEADER_OCTETS || octets[1] !== request[1]) return null;
  const length = ((octets[2] as number) << 8) | (octets[3] as number);
  if (length < HEADER_OCTETS || length > octets.length) return null;
  const code = octets[0];
  if (code !== PACKET_CODES["Disconnect-ACK"].code && code !== PACKET_CODES["Disconnect-NAK"].code) {
    return null;
  }
  const answer = octets.slice(0, length);
  const authenticator = authenticatorOf(request);
  if (!isWellFormed(answer) || !secret.isAnswerTo(answer, authenticator)) return null;
  const signature = findMessageAuthenticator(answer);
  if (
    signature !== null && !secret.isAuthentic(answer, { ...signature, lengthOctets: length }, authenticator)
  ) {
    return null;
  }
  if (code === PACKET_CODES["Disconnect-ACK"].code) return { kind: "acked" };
  return { kind: "refused", errorCause: errorCauseOf(answer) };
}

/** Whether the attributes fill the packet exactly. */
function isWellFormed(packet: Uint8Array): boolean {
  let end = HEADER_OCTETS;
  forEachAttribute(packet, packet.length, (_type, at, valueOctets) => end = at + valueOctets);
  return end === packet.length;
}

function errorCauseOf(packet: Uint8Array): number | null {
  let found: number | null = null;
  forEachAttribute(packet, packet.length, (type, at, valueOctets) => {
    if (type === typeOf("Error-Cause") && valueOctets === 4) {
      found ??= readInteger(packet.subarray(at, at + 4));
    }
  });
  return found;
}
