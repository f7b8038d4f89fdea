// What replaces the shared secret of a client on a TLS connection: "radsec" in RADIUS/1.0 (RFC 6614 §2.3), and nothing in RADIUS/1.1
// (RFC 9765), where packets have a Token, attributes are not hidden, and no MD5 is computed. Splits the octets of a connection into packets.

import { SharedSecret } from "./authenticity.ts";
import {
  AUTHENTICATOR_AT,
  BufferArena,
  HEADER_OCTETS,
  MAX_PACKET_OCTETS,
  MAX_PASSWORD_OCTETS,
  PACKET_CODES,
  PacketWriter,
} from "./packet.ts";
import { typeOf } from "./dictionary.ts";
import { encodeInteger } from "./attributes.ts";

/** RFC 9765 §4.2: Token. Reserved-2 follows it, up to the end of the header. */
const TOKEN_AT = AUTHENTICATOR_AT;
const RESERVED_AT = TOKEN_AT + 4;

/** The protocols of a TLS connection, by ALPN. The first one that a client offers as well is used (RFC 9765 §3.3). */
export const RADIUS_PROTOCOLS = ["radius/1.1", "radius/1.0"] as const;
export type RadiusProtocol = typeof RADIUS_PROTOCOLS[number];

/** The Token of a RADIUS/1.1 packet, from 0 to 2^32 - 1. */
export function tokenOf(packet: Uint8Array): number {
  return (((packet[TOKEN_AT] as number) << 24) | ((packet[TOKEN_AT + 1] as number) << 16) |
    ((packet[TOKEN_AT + 2] as number) << 8) | (packet[TOKEN_AT + 3] as number)) >>> 0;
}

export const RESERVED_OCTETS = HEADER_OCTETS - RESERVED_AT;

/**
 * Replaces the fields of a received packet that must be ignored (RFC 9765 §4.1): Reserved-1, in place of the Identifier, by zero, and Reserved-2.
 *
 * @param unique random octets. With the Token, they take the place of the Request Authenticator, by which a packet is recognized that its client sends
 * again. Packets of different connections are different, also with the same Token (§4.2.2).
 */
export function replaceReserved(packet: Uint8Array, unique: Uint8Array): void {
  packet[1] = 0;
  packet.set(unique, RESERVED_AT);
}

const RADSEC_TEXT = "radsec";
const slab = new BufferArena();

/**
 * RADIUS/1.1 behind the interface of a shared secret: TLS protects the packet, so nothing is signed, verified or hidden. An answer repeats
 * the Token of its request. In a request of this gateway, the `identifier` is the Token.
 */
class TlsProtection extends SharedSecret {
  constructor() {
    super(RADSEC_TEXT);
  }

  override get isClear(): boolean {
    return true;
  }

  /** RFC 9765 §5.2: a Message-Authenticator is ignored. */
  override isAuthentic(): boolean {
    return true;
  }

  override isAccountingRequest(): boolean {
    return true;
  }

  override isAnswerTo(reply: Uint8Array, requestAuthenticator: Uint8Array): boolean {
    for (let i = 0; i < RESERVED_AT - TOKEN_AT; i++) {
      if (reply[TOKEN_AT + i] !== requestAuthenticator[i]) return false;
    }
    return true;
  }

  override beginSigned(writer: PacketWriter, code: number, identifier: number): void {
    writer.begin(code, 0);
    new DataView(writer.octets.buffer).setUint32(TOKEN_AT, identifier);
  }

  override signReply(writer: PacketWriter, request: Uint8Array): Uint8Array<ArrayBuffer> {
    return this.finishAccountingResponse(writer, request);
  }

  override finishAccountingResponse(writer: PacketWriter, request: Uint8Array): Uint8Array<ArrayBuffer> {
    writer.octets.set(request.subarray(TOKEN_AT, RESERVED_AT), TOKEN_AT);
    return this.#finish(writer);
  }

  override signRequest(writer: PacketWriter): Uint8Array<ArrayBuffer> {
    return this.#finish(writer);
  }

  override signDisconnectRequest(writer: PacketWriter): Uint8Array<ArrayBuffer> {
    return this.#finish(writer);
  }

  #finish(writer: PacketWriter): Uint8Array<ArrayBuffer> {
    writer.finish();
    const { octets, lengthOctets } = writer;
    octets[1] = 0;
    octets.fill(0, RESERVED_AT, HEADER_OCTETS);
    return slab.copy(octets, lengthOctets);
  }

  /** RFC 9765 §5.1.1: at most 128 octets, as they are. */
  override revealPasswordInto(plain: Uint8Array, value: Uint8Array): number {
    if (value.length > MAX_PASSWORD_OCTETS) return -1;
    plain.set(value);
    return value.length;
  }

  override hidePassword(plain: Uint8Array): Uint8Array<ArrayBuffer> {
    if (plain.length > MAX_PASSWORD_OCTETS) throw new RangeError("A password has at most 128 octets");
    return plain.slice();
  }
}

/** RADIUS/1.0 over TLS: a published secret, because TLS protects the packets (RFC 6614 §2.3). */
export const RADSEC_SECRET = new SharedSecret(RADSEC_TEXT);
/** RADIUS/1.1. */
export const TLS_PROTECTION: SharedSecret = new TlsProtection();

/** What protects the packets of a connection. */
export const protectionOf = (protocol: RadiusProtocol): SharedSecret =>
  protocol === "radius/1.1" ? TLS_PROTECTION : RADSEC_SECRET;

const writer = new PacketWriter();

/** The answer to a request of dynamic authorization, which only a NAS serves. */
const NAKS: ReadonlyMap<number, number> = new Map([
  [PACKET_CODES["Disconnect-Request"].code, PACKET_CODES["Disconnect-NAK"].code],
  [PACKET_CODES["CoA-Request"].code, PACKET_CODES["CoA-NAK"].code],
]);

const UNSUPPORTED_EXTENSION = 406;
const RESOURCES_UNAVAILABLE = 506;

/**
 * The answer to a packet with a code that the gateway does not serve: a NAK with Error-Cause 406 (RFC 6614 §2.5), in RADIUS/1.1 otherwise
 * a Protocol-Error. `null`: none.
 */
export function writeUnsupported(request: Uint8Array, secret: SharedSecret): Uint8Array | null {
  const nak = NAKS.get(request[0] as number);
  const code = nak ?? (secret.isClear ? PACKET_CODES["Protocol-Error"].code : null);
  return code === null ? null : writeErrorCause(request, { secret, code, cause: UNSUPPORTED_EXTENSION });
}

/**
 * The answer to a request of a RADIUS/1.1 connection that the gateway cannot process now (RFC 9765 §6.1): its client sends the request to
 * another server.
 */
export function writeUnavailable(request: Uint8Array): Uint8Array {
  const code = PACKET_CODES["Protocol-Error"].code;
  return writeErrorCause(request, { secret: TLS_PROTECTION, code, cause: RESOURCES_UNAVAILABLE });
}

function writeErrorCause(
  request: Uint8Array,
  { secret, code, cause }: { secret: SharedSecret; code: number; cause: number },
): Uint8Array {
  writer.begin(code, request[1] as number);
  writer.attribute(typeOf("Error-Cause"), encodeInteger(cause));
  return secret.finishAccountingResponse(writer, request);
}

/** Why the octets of a connection cannot be split into packets (RFC 6613 §2.6.4). */
export type FramingFault = "too_short" | "too_long";

/** Splits the octets of a connection into packets. Stores at most one packet. */
export class PacketStreamReader {
  #rest = new Uint8Array(0);

  /** Octets of a packet that has not arrived completely. */
  get waitingOctets(): number {
    return this.#rest.length;
  }

  /**
   * Adds octets, and calls `take` for each complete packet, which is valid during the call and may be changed by it. Stops early if `take`
   * returns `false`.
   *
   * @returns why the next packet can never be complete, or `null`.
   */
  read(chunk: Uint8Array, take: (packet: Uint8Array) => boolean): FramingFault | null {
    const octets = this.#rest.length === 0 ? chunk : joined(this.#rest, chunk);
    this.#rest = new Uint8Array(0);
    let at = 0;
    while (octets.length - at >= AUTHENTICATOR_AT) {
      const length = ((octets[at + 2] as number) << 8) | (octets[at + 3] as number);
      if (length < HEADER_OCTETS) return "too_short";
      if (length > MAX_PACKET_OCTETS) return "too_long";
      if (octets.length - at < length) break;
      if (!take(octets.subarray(at, at + length))) return null;
      at += length;
    }
    this.#rest = octets.slice(at);
    return null;
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
