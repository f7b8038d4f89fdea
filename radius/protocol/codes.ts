// RADIUS packet codes (RFC 2865 §3, RFC 5997 §4) and the fixed sizes of a packet.

/** One row a code: what it is and what this gateway does with a packet that carries it. */
export const PACKET_CODES = {
  "Access-Request": { code: 1, accepted: true, ref: "RFC 2865 §4.1" },
  "Access-Accept": { code: 2, accepted: false, ref: "RFC 2865 §4.2" },
  "Access-Reject": { code: 3, accepted: false, ref: "RFC 2865 §4.3" },
  "Accounting-Request": { code: 4, accepted: true, ref: "RFC 2866 §4.1" },
  "Accounting-Response": { code: 5, accepted: false, ref: "RFC 2866 §4.2" },
  "Access-Challenge": { code: 11, accepted: false, ref: "RFC 2865 §4.4" },
  "Status-Server": { code: 12, accepted: true, ref: "RFC 5997 §4.1" },
  "Disconnect-Request": { code: 40, accepted: false, ref: "RFC 5176 §3" },
  "CoA-Request": { code: 43, accepted: false, ref: "RFC 5176 §3" },
} as const satisfies Record<string, { code: number; accepted: boolean; ref: string }>;

export type PacketName = keyof typeof PACKET_CODES;

/** The replies that this gateway sends. */
export type ReplyName = "Access-Accept" | "Access-Reject" | "Access-Challenge";

/** RFC 2865 §3: Code, Identifier, Length (2), Authenticator (16). */
export const HEADER_OCTETS = 20;
/** RFC 2865 §3: the largest packet. */
export const MAX_PACKET_OCTETS = 4096;
/** RFC 2865 §5: a value has at most 253 octets. */
export const MAX_VALUE_OCTETS = 253;
/** RFC 2865 §5.2: the longest password that can be hidden. */
export const MAX_PASSWORD_OCTETS = 128;
/** RFC 2865 §3: where the Authenticator stands. */
export const AUTHENTICATOR_AT = 4;
/** Octets of both authenticators. */
export const AUTHENTICATOR_OCTETS = 16;

const NAMES = new Map<number, PacketName>(
  Object.entries(PACKET_CODES).map(([name, row]) => [row.code, name as PacketName]),
);

/** The name of a packet code, or `null` for one that has no row. */
export function packetName(code: number): PacketName | null {
  return NAMES.get(code) ?? null;
}

/** Of the 4096 octets of a packet, what an Access-Accept's configured attributes may take: Proxy-States need room too. */
export const MAX_ACCEPT_ATTRIBUTE_OCTETS = 3500;
