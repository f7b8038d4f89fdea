// The packets of a try: requests as a VPN sends them, replies read and verified (RFC 2865 §3, RFC 3579 §3.2, RFC 5997).

import { HEADER_OCTETS, PACKET_CODES, type PacketName, packetName } from "../../radius/protocol/codes.ts";
import { attributeByType, typeOf } from "../../radius/protocol/dictionary.ts";
import { describeAttributes, encodeInteger } from "../../radius/protocol/attributes.ts";
import { findMessageAuthenticator, SharedSecret } from "../../radius/protocol/authenticity.ts";
import { forEachAttribute, PacketWriter } from "../../radius/protocol/packet.ts";
import type { Random } from "../../platform/runtime.ts";

/** One request; its answer is found by `identifier` and judged with `authenticator`. */
export interface TryRequest {
  readonly octets: Uint8Array<ArrayBuffer>;
  readonly identifier: number;
  readonly authenticator: Uint8Array;
}

/** What a request carries. `state` is that of the challenge which is answered. */
export interface LoginParts {
  readonly user: string;
  readonly password: string;
  readonly state: Uint8Array | null;
  readonly nasPort: number | null;
  readonly callingStationId: string | null;
}

/** A reply that verified, or why it did not. */
export type ReadReply =
  | { readonly ok: true; readonly reply: TryReply }
  | { readonly ok: false; readonly reason: ReplyFault };

export interface TryReply {
  readonly name: PacketName;
  /** The Reply-Messages, joined as clients do; foreign text, to be made printable before it is shown. */
  readonly message: string;
  readonly state: Uint8Array | null;
  /** Everything else, as `Name=value`. */
  readonly attributes: readonly string[];
  readonly signed: boolean;
}

export type ReplyFault =
  | "broken"
  | "wrong_response_authenticator"
  | "wrong_message_authenticator"
  | "no_reply_code";

const text = new TextEncoder();

/** Makes requests under one secret. @throws RangeError for a secret or a value that RADIUS cannot carry. */
export function createRequests(secretText: string, random: Random) {
  const secret = new SharedSecret(secretText);
  const writer = new PacketWriter();
  let identifier = random.bytes(1)[0] ?? 0;

  const build = (code: number, fill: (authenticator: Uint8Array) => void): TryRequest => {
    identifier = (identifier + 1) % 256;
    const authenticator = random.bytes(16);
    secret.beginSigned(writer, code, identifier);
    fill(authenticator);
    return { octets: secret.signRequest(writer, authenticator), identifier, authenticator };
  };
  return {
    /** RFC 5997 §3: nothing but a Message-Authenticator. */
    status: (): TryRequest => build(PACKET_CODES["Status-Server"].code, () => {}),
    login: (parts: LoginParts): TryRequest =>
      build(PACKET_CODES["Access-Request"].code, (authenticator) => {
        writer.attribute(typeOf("User-Name"), text.encode(parts.user));
        writer.attribute(
          typeOf("User-Password"),
          secret.hidePassword(text.encode(parts.password), authenticator),
        );
        writer.attribute(typeOf("NAS-Identifier"), text.encode("countersign-try"));
        if (parts.nasPort !== null) writer.attribute(typeOf("NAS-Port"), encodeInteger(parts.nasPort));
        if (parts.callingStationId !== null) {
          writer.attribute(typeOf("Calling-Station-Id"), text.encode(parts.callingStationId));
        }
        if (parts.state !== null) writer.attribute(typeOf("State"), parts.state);
      }),
    read: (octets: Uint8Array, request: TryRequest): ReadReply => readReply(octets, { secret, request }),
  };
}

/** What {@link createRequests} makes. */
export type Requests = ReturnType<typeof createRequests>;

function readReply(
  datagram: Uint8Array,
  { secret, request }: { secret: SharedSecret; request: TryRequest },
): ReadReply {
  const length = ((datagram[2] ?? 0) << 8) | (datagram[3] ?? 0);
  if (length < HEADER_OCTETS || length > datagram.length || length > 4096) {
    return { ok: false, reason: "broken" };
  }
  const octets = datagram.subarray(0, length);
  if (!isSound(octets)) return { ok: false, reason: "broken" };
  if (!secret.isAnswerTo(octets, request.authenticator)) {
    return { ok: false, reason: "wrong_response_authenticator" };
  }
  const signature = findMessageAuthenticator(octets);
  if (signature !== null) {
    const place = { lengthOctets: length, ...signature };
    if (!secret.isAuthentic(octets, place, request.authenticator)) {
      return { ok: false, reason: "wrong_message_authenticator" };
    }
  }
  const name = packetName(octets[0] ?? 0);
  if (name === null) return { ok: false, reason: "no_reply_code" };
  return { ok: true, reply: { name, ...contentOf(octets), signed: signature !== null } };
}

/** Whether the attributes fill the packet exactly. */
function isSound(octets: Uint8Array): boolean {
  let end = HEADER_OCTETS;
  forEachAttribute(octets, octets.length, (_type, at, valueOctets) => {
    end = at + valueOctets;
  });
  return end === octets.length;
}

function contentOf(octets: Uint8Array): Pick<TryReply, "message" | "state" | "attributes"> {
  const decoder = new TextDecoder();
  const attributes: string[] = [];
  let message = "";
  let state: Uint8Array | null = null;
  forEachAttribute(octets, octets.length, (type, at, valueOctets) => {
    const value = octets.slice(at, at + valueOctets);
    if (type === typeOf("Reply-Message")) message += decoder.decode(value);
    else if (type === typeOf("State")) state ??= value;
    else if (type !== typeOf("Message-Authenticator")) attributes.push(describeOne(type, value));
  });
  return { message, state, attributes };
}

/** One attribute as the log writes it; those without a row by their number, in hexadecimal. */
function describeOne(type: number, value: Uint8Array): string {
  if (attributeByType(type) === null) return `attribute ${type}=0x${value.toHex()}`;
  const alone = new Uint8Array(HEADER_OCTETS + 2 + value.length);
  alone.set([type, value.length + 2], HEADER_OCTETS);
  alone.set(value, HEADER_OCTETS + 2);
  return describeAttributes(alone, alone.length).shown;
}
