// EAP packets (RFC 3748 §4) and their transport in EAP-Message attributes (RFC 3579 §3.1). Reads and writes them; runs no method.

import { forEachAttribute, MAX_PACKET_OCTETS, MAX_VALUE_OCTETS, type PacketView } from "./packet.ts";
import { typeOf } from "./dictionary.ts";
import { readMsChap } from "./ms_chap.ts";

/** RFC 3748 §4. */
export const EAP_CODES = { request: 1, response: 2, success: 3, failure: 4 } as const;

/** A Request or a Response. */
export interface EapPacket {
  readonly code: number;
  readonly identifier: number;
  /** The Type (RFC 3748 §5); -1 in a Success or a Failure, which have none. */
  readonly type: number;
  /** Type-Data, as a view. */
  readonly data: Uint8Array;
}

interface EapMethodRow {
  readonly type: number;
  /**
   * Whether the proof is of the name in EAP-Response/Identity. `false`: the name is free text. Only the server knows whose password or certificate
   * was checked.
   */
  readonly isIdentityBound: boolean;
  readonly ref: string;
}

/** The methods by their usual names. A method without a row is not bound. */
export const EAP_METHODS = {
  "EAP-MD5": { type: 4, isIdentityBound: true, ref: "RFC 3748 §5.4" },
  "EAP-GTC": { type: 6, isIdentityBound: true, ref: "RFC 3748 §5.6" },
  "EAP-TLS": { type: 13, isIdentityBound: false, ref: "RFC 5216" },
  "LEAP": { type: 17, isIdentityBound: false, ref: "IANA EAP registry" },
  "EAP-SIM": { type: 18, isIdentityBound: false, ref: "RFC 4186" },
  "EAP-TTLS": { type: 21, isIdentityBound: false, ref: "RFC 5281" },
  "EAP-AKA": { type: 23, isIdentityBound: false, ref: "RFC 4187" },
  "PEAP": { type: 25, isIdentityBound: false, ref: "draft-josefsson-pppext-eap-tls-eap" },
  "EAP-MSCHAPv2": { type: 26, isIdentityBound: true, ref: "draft-kamath-pppext-eap-mschapv2" },
  "EAP-FAST": { type: 43, isIdentityBound: false, ref: "RFC 4851" },
  "EAP-AKA'": { type: 50, isIdentityBound: false, ref: "RFC 9048" },
  "EAP-PWD": { type: 52, isIdentityBound: false, ref: "RFC 5931" },
  "TEAP": { type: 55, isIdentityBound: false, ref: "RFC 7170" },
} as const satisfies Record<string, EapMethodRow>;

type EapMethodName = keyof typeof EAP_METHODS;

/** RFC 3748 §5.1 and §5.3. Types up to that of Nak are no methods; 2 is Notification. */
export const EAP_IDENTITY = 1;
export const EAP_NOTIFICATION = 2;
export const EAP_NAK = 3;
/** RFC 3748 §5.7: a vendor's type. With the vendor 0, the type follows. */
const EXPANDED = 254;

const NO_METHODS: ReadonlyMap<number, string> = new Map([
  [EAP_IDENTITY, "Identity"],
  [2, "Notification"],
  [EAP_NAK, "Nak"],
]);
const METHODS = new Map<number, { name: EapMethodName; row: EapMethodRow }>(
  Object.entries(EAP_METHODS).map(([name, row]) => [row.type, { name: name as EapMethodName, row }]),
);

/** The name of a method for logs and pages. */
export function eapMethodName(type: number): string {
  return METHODS.get(type)?.name ?? `EAP type ${type}`;
}

/** The name of a type, also of one that is no method. */
export function eapTypeName(type: number): string {
  return NO_METHODS.get(type) ?? eapMethodName(type);
}

/** Whether a method proves the name in EAP-Response/Identity. */
export function isIdentityBound(type: number): boolean {
  return METHODS.get(type)?.row.isIdentityBound === true;
}

/** Whether a type is a method, and not Identity, Notification or Nak. */
export function isEapMethod(type: number): boolean {
  return type > EAP_NAK;
}

/**
 * Reads an EAP packet. Octets behind its Length are padding (RFC 3748 §4.1). A Nak of an expanded type is read as a Nak.
 *
 * @returns `null` if Code or Length is invalid
 */
export function decodeEap(octets: Uint8Array): EapPacket | null {
  if (octets.length < EAP_HEADER_OCTETS) return null;
  const [code = 0, identifier = 0, high = 0, low = 0] = octets;
  const length = (high << 8) | low;
  if (length < EAP_HEADER_OCTETS || length > octets.length) return null;
  if (code === EAP_CODES.success || code === EAP_CODES.failure) {
    return { code, identifier, type: -1, data: octets.subarray(EAP_HEADER_OCTETS, length) };
  }
  if (code !== EAP_CODES.request && code !== EAP_CODES.response) return null;
  if (length === EAP_HEADER_OCTETS) return null;
  const type = octets[EAP_HEADER_OCTETS] as number;
  const data = octets.subarray(EAP_HEADER_OCTETS + 1, length);
  return { code, identifier, type: type === EXPANDED ? expandedType(data) : type, data };
}

const EAP_HEADER_OCTETS = 4;

/** The type inside an expanded type, if it is one of the IETF. */
function expandedType(data: Uint8Array): number {
  const [a = 1, b = 1, c = 1, d = 1, e = 1, f = 1, type = EXPANDED] = data;
  const isIetf = (a | b | c | d | e | f) === 0;
  return isIetf && type === EAP_NAK ? EAP_NAK : EXPANDED;
}

/**
 * Writes an EAP packet. `type` -1 writes none.
 *
 * @throws RangeError if it cannot be in a RADIUS packet
 */
export function encodeEap({ code, identifier, type, data }: EapPacket): Uint8Array<ArrayBuffer> {
  const head = type < 0 ? EAP_HEADER_OCTETS : EAP_HEADER_OCTETS + 1;
  const length = head + data.length;
  if (length > MAX_PACKET_OCTETS) throw new RangeError(`Cannot write an EAP packet of ${length} octets`);
  const octets = new Uint8Array(length);
  octets.set([code, identifier, length >>> 8, length & 0xff]);
  if (type >= 0) octets[EAP_HEADER_OCTETS] = type;
  octets.set(data, head);
  return octets;
}

const NO_DATA = new Uint8Array(0);

/** RFC 3748 §4.2: the Identifier is that of the Response that it answers. */
export function eapSuccess(identifier: number): Uint8Array<ArrayBuffer> {
  return encodeEap({ code: EAP_CODES.success, identifier, type: -1, data: NO_DATA });
}

/** RFC 3748 §4.2: the Identifier is that of the Response that it answers. */
export function eapFailure(identifier: number): Uint8Array<ArrayBuffer> {
  return encodeEap({ code: EAP_CODES.failure, identifier, type: -1, data: NO_DATA });
}

/** The name in an EAP-Response/Identity (RFC 3748 §5.1), up to a NUL, as a view; `null` for any other packet. */
export function eapIdentity({ code, type, data }: EapPacket): Uint8Array | null {
  if (code !== EAP_CODES.response || type !== EAP_IDENTITY) return null;
  const end = data.indexOf(0);
  return end < 0 ? data : data.subarray(0, end);
}

const EAP_MESSAGE = typeOf("EAP-Message");

/**
 * The EAP packet of a RADIUS packet: its EAP-Message values in order (RFC 3579 §3.1). Empty for EAP-Start (§2.1).
 *
 * @returns `null` without EAP-Message, or if another attribute is between two of them
 */
export function joinEapMessages(octets: Uint8Array, lengthOctets = octets.length): Uint8Array | null {
  const parts: Uint8Array[] = [];
  let end = 0;
  let isBroken = false;
  forEachAttribute(octets, lengthOctets, (type, at, valueOctets) => {
    if (type !== EAP_MESSAGE) return;
    if (end > 0 && at - 2 !== end) isBroken = true;
    parts.push(octets.subarray(at, at + valueOctets));
    end = at + valueOctets;
  });
  if (parts.length === 0 || isBroken) return null;
  return joinOctets(parts);
}

/** The Identifier of the EAP packet of a RADIUS packet, also of a malformed one; 0 for EAP-Start. `null` without EAP-Message. */
export function eapIdentifierOf(octets: Uint8Array): number | null {
  let identifier: number | null = null;
  forEachAttribute(octets, octets.length, (type, at, valueOctets) => {
    if (type === EAP_MESSAGE) identifier ??= valueOctets < 2 ? 0 : octets[at + 1] as number;
  });
  return identifier;
}

/** The octets of all parts. One part is returned as it is. */
export function joinOctets(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0] as Uint8Array;
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The values of the EAP-Message attributes that carry an EAP packet, as views: at most 253 octets each (RFC 3579 §3.1). */
export function splitEapMessage(eap: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < eap.length; at += MAX_VALUE_OCTETS) {
    parts.push(eap.subarray(at, at + MAX_VALUE_OCTETS));
  }
  return parts;
}

/** draft-kamath-pppext-eap-mschapv2 §2: the OpCodes. */
export const EAP_MSCHAPV2_OPCODES = { challenge: 1, response: 2, success: 3, failure: 4, change: 7 } as const;

/** OpCode, MS-CHAPv2-ID, MS-Length (2), Value-Size. */
const MSCHAPV2_HEAD_OCTETS = 5;
const MSCHAPV2_VALUE_OCTETS = 49;

/** The OpCode of an EAP-MSCHAPv2 packet; 0 without one. */
export function eapMsChapOpCode({ data }: Pick<EapPacket, "data">): number {
  return data[0] ?? 0;
}

/** The Name of an EAP-MSCHAPv2 Response (draft-kamath §2.2), as a view; `null` for any other packet, or if it is malformed. */
export function eapMsChapName(packet: EapPacket): Uint8Array | null {
  const { data } = packet;
  if (eapMsChapOpCode(packet) !== EAP_MSCHAPV2_OPCODES.response || data.length < MSCHAPV2_HEAD_OCTETS) {
    return null;
  }
  const nameAt = MSCHAPV2_HEAD_OCTETS + MSCHAPV2_VALUE_OCTETS;
  // With another Value-Size, the server could read another name.
  return data[4] !== MSCHAPV2_VALUE_OCTETS || nameAt > data.length ? null : data.subarray(nameAt);
}

/** The error of an EAP-MSCHAPv2 Failure Request, as in `E=691 R=0` (RFC 2759 §6); `null` for any other packet. */
export function eapMsChapError(packet: EapPacket): number | null {
  const { code, type, data } = packet;
  if (code !== EAP_CODES.request || type !== EAP_METHODS["EAP-MSCHAPv2"].type) return null;
  if (eapMsChapOpCode(packet) !== EAP_MSCHAPV2_OPCODES.failure) return null;
  const text = String.fromCharCode(...data.subarray(4, 4 + MAX_ERROR_OCTETS));
  const [, error] = /^E=(\d{1,10})/.exec(text) ?? [];
  return error === undefined ? null : Number(error);
}

const MAX_ERROR_OCTETS = 12;

/**
 * The method of an Access-Request: `PAP`, `CHAP`, `MS-CHAPv1`, `MS-CHAPv2`, `EAP` before a method is agreed on, or the name of an EAP method. A request
 * without a proof is `PAP`, because some clients send no attribute for an empty password.
 */
export function authMethodOf({ octets, lengthOctets, slots }: PacketView): string {
  if (slots.eapMessage.count > 0) {
    const eap = decodeEap(joinEapMessages(octets, lengthOctets) ?? new Uint8Array(0));
    return eap !== null && isEapMethod(eap.type) ? eapMethodName(eap.type) : "EAP";
  }
  const msChap = readMsChap(octets, lengthOctets);
  if (msChap !== null) return `MS-CHAPv${msChap.version}`;
  return slots.chapPassword.count > 0 ? "CHAP" : "PAP";
}
