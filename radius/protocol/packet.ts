// RADIUS packets (RFC 2865 §3 and §5): codes, sizes, reading and writing. Reading stores only positions, because a packet that is dropped must
// cost very little.

import type { DropReason } from "./drop_reasons.ts";

/** One row per code. `accepted`: whether this gateway accepts such a packet. */
export const PACKET_CODES = {
  "Access-Request": { code: 1, accepted: true, ref: "RFC 2865 §4.1" },
  "Access-Accept": { code: 2, accepted: false, ref: "RFC 2865 §4.2" },
  "Access-Reject": { code: 3, accepted: false, ref: "RFC 2865 §4.3" },
  "Accounting-Request": { code: 4, accepted: true, ref: "RFC 2866 §4.1" },
  "Accounting-Response": { code: 5, accepted: false, ref: "RFC 2866 §4.2" },
  "Access-Challenge": { code: 11, accepted: false, ref: "RFC 2865 §4.4" },
  "Status-Server": { code: 12, accepted: true, ref: "RFC 5997 §4.1" },
  "Disconnect-Request": { code: 40, accepted: false, ref: "RFC 5176 §2.1" },
  "Disconnect-ACK": { code: 41, accepted: false, ref: "RFC 5176 §2.1" },
  "Disconnect-NAK": { code: 42, accepted: false, ref: "RFC 5176 §2.1" },
  "CoA-Request": { code: 43, accepted: false, ref: "RFC 5176 §3" },
  "CoA-NAK": { code: 45, accepted: false, ref: "RFC 5176 §3" },
  "Protocol-Error": { code: 52, accepted: false, ref: "RFC 7930 §4" },
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
/** RFC 2865 §3: the position of the Authenticator. */
export const AUTHENTICATOR_AT = 4;
export const AUTHENTICATOR_OCTETS = 16;

const NAMES = new Map<number, PacketName>(
  Object.entries(PACKET_CODES).map(([name, row]) => [row.code, name as PacketName]),
);

/** The name of a packet code, or `null` for one that has no row. */
export function packetName(code: number): PacketName | null {
  return NAMES.get(code) ?? null;
}

/** The maximum size of the configured attributes of an Access-Accept: the rest of the 4096 octets is room for Proxy-State. */
export const MAX_ACCEPT_ATTRIBUTE_OCTETS = 3500;

/** The position of an attribute's value, and how often the type occurs with octets. `at` is 0 if it is absent. */
interface AttributeSlot {
  at: number;
  lengthOctets: number;
  count: number;
}

const SLOT_TYPES = {
  userName: 1,
  userPassword: 2,
  chapPassword: 3,
  nasIpAddress: 4,
  nasPort: 5,
  serviceType: 6,
  state: 24,
  callingStationId: 31,
  nasIdentifier: 32,
  proxyState: 33,
  eapMessage: 79,
  messageAuthenticator: 80,
  nasPortId: 87,
} as const;

/**
 * An attribute without octets counts as absent (RFC 2865 §5), except these: an EAP-Message without octets begins EAP (RFC 3579 §2.1), a wrong
 * Message-Authenticator is never ignored, and an empty Proxy-State was still added by a proxy.
 */
const COUNTED_IF_EMPTY: readonly (keyof typeof SLOT_TYPES)[] = [
  "eapMessage",
  "messageAuthenticator",
  "proxyState",
];

const ACCESS_REQUEST = PACKET_CODES["Access-Request"].code;
const ACCOUNTING_REQUEST = PACKET_CODES["Accounting-Request"].code;
const STATUS_SERVER = PACKET_CODES["Status-Server"].code;

type SlotName = keyof typeof SLOT_TYPES;
const SLOT_ENTRIES = Object.entries(SLOT_TYPES) as [SlotName, number][];

/** A request inside its datagram. One object is reused for all datagrams, so copy values that are needed after the call. */
export class PacketView {
  octets: Uint8Array = new Uint8Array(0);
  /** The Length field of the packet; octets after it are padding. */
  lengthOctets = 0;
  readonly slots: Readonly<Record<SlotName, AttributeSlot>>;
  readonly #byType: (AttributeSlot | undefined)[] = new Array(256).fill(undefined);
  readonly #byEmptyType: (AttributeSlot | undefined)[] = new Array(256).fill(undefined);
  readonly #all: AttributeSlot[] = [];

  constructor() {
    const slots: Partial<Record<SlotName, AttributeSlot>> = {};
    for (const [name, type] of SLOT_ENTRIES) {
      const slot: AttributeSlot = { at: 0, lengthOctets: 0, count: 0 };
      slots[name] = slot;
      this.#byType[type] = slot;
      if (COUNTED_IF_EMPTY.includes(name)) this.#byEmptyType[type] = slot;
      this.#all.push(slot);
    }
    this.slots = slots as Record<SlotName, AttributeSlot>;
  }

  get code(): number {
    return this.octets[0] as number;
  }

  get identifier(): number {
    return this.octets[1] as number;
  }

  /**
   * Reads the header and walks the attributes of the first `arrived` octets.
   *
   * @returns why the packet must be dropped, or `null` if its structure is valid (RFC 2865 §3, §5).
   */
  read(octets: Uint8Array, arrived: number): DropReason | null {
    this.octets = octets;
    if (arrived < HEADER_OCTETS) return "too_short";
    const length = ((octets[2] as number) << 8) | (octets[3] as number);
    if (length < HEADER_OCTETS) return "too_short";
    if (length > MAX_PACKET_OCTETS) return "too_long";
    if (length > arrived) return "truncated";
    const code = octets[0] as number;
    if (code !== ACCESS_REQUEST && code !== ACCOUNTING_REQUEST && code !== STATUS_SERVER) {
      return "code_not_served";
    }
    this.lengthOctets = length;
    return this.#walk(length);
  }

  #walk(length: number): DropReason | null {
    const octets = this.octets;
    const all = this.#all;
    for (let i = 0; i < all.length; i++) {
      const slot = all[i] as AttributeSlot;
      slot.at = 0;
      slot.count = 0;
    }
    let at = HEADER_OCTETS;
    while (at < length) {
      if (at + 2 > length) return "malformed_attribute";
      const type = octets[at] as number;
      const size = octets[at + 1] as number;
      if (type === 0 || size < 2 || at + size > length) return "malformed_attribute";
      const slot = size > 2 ? this.#byType[type] : this.#byEmptyType[type];
      if (slot !== undefined) {
        if (slot.count++ === 0) {
          slot.at = at + 2;
          slot.lengthOctets = size - 2;
        }
      }
      at += size;
    }
    return null;
  }

  /** The value of a slot as a view into the datagram, or `null` if it is absent. */
  value(name: SlotName): Uint8Array | null {
    const slot = this.slots[name];
    return slot.count === 0 ? null : this.octets.subarray(slot.at, slot.at + slot.lengthOctets);
  }
}

/**
 * Calls `visit` for every attribute of a valid packet, in order.
 *
 * @param visit receives the type, and the position and length of the value.
 */
export function forEachAttribute(
  octets: Uint8Array,
  lengthOctets: number,
  visit: (type: number, at: number, valueOctets: number) => void,
): void {
  for (let at = HEADER_OCTETS; at + 2 <= lengthOctets;) {
    const size = octets[at + 1] as number;
    if (size < 2 || at + size > lengthOctets) return;
    visit(octets[at] as number, at + 2, size - 2);
    at += size;
  }
}

/** Writes attributes in order into a packet of at most 4096 octets. */
export class PacketWriter {
  readonly octets: Uint8Array<ArrayBuffer> = new Uint8Array(MAX_PACKET_OCTETS + 256);
  lengthOctets = HEADER_OCTETS;

  /** Begins a packet. {@link finish} writes Length; the caller writes the authenticator. */
  begin(code: number, identifier: number): void {
    this.octets[0] = code;
    this.octets[1] = identifier;
    this.lengthOctets = HEADER_OCTETS;
  }

  /**
   * Appends one attribute.
   *
   * @throws RangeError if the value has more than 253 octets or the packet would exceed 4096
   */
  attribute(type: number, value: Uint8Array): void {
    if (value.length > 253) {
      throw new RangeError(`Cannot write attribute ${type}: ${value.length} octets are too many`);
    }
    const at = this.lengthOctets;
    if (at + 2 + value.length > MAX_PACKET_OCTETS) {
      throw new RangeError(`Cannot write attribute ${type}: the packet is full`);
    }
    this.octets[at] = type;
    this.octets[at + 1] = value.length + 2;
    this.octets.set(value, at + 2);
    this.lengthOctets = at + 2 + value.length;
  }

  get roomOctets(): number {
    return MAX_PACKET_OCTETS - this.lengthOctets;
  }

  /** Appends encoded attributes as they are. */
  raw(attributes: Uint8Array): void {
    if (this.lengthOctets + attributes.length > MAX_PACKET_OCTETS) {
      throw new RangeError("Cannot write attributes: the packet is full");
    }
    this.octets.set(attributes, this.lengthOctets);
    this.lengthOctets += attributes.length;
  }

  finish(): void {
    this.octets[2] = this.lengthOctets >>> 8;
    this.octets[3] = this.lengthOctets;
  }
}

/** The Request Authenticator of a packet, as a view. */
export function authenticatorOf(octets: Uint8Array): Uint8Array {
  return octets.subarray(4, 4 + AUTHENTICATOR_OCTETS);
}

/** The 16 octets of an authenticator or a digest as a text, one character for each octet. Texts are compared and stored like any other field. */
export function sixteenOctetText(octets: Uint8Array, at: number): string {
  // One call with sixteen numbers takes a fifth of the time of an encoding.
  const octet = (offset: number): number => octets[at + offset] as number;
  // deno-fmt-ignore
  return String.fromCharCode(
    octet(0), octet(1), octet(2), octet(3), octet(4), octet(5), octet(6), octet(7),
    octet(8), octet(9), octet(10), octet(11), octet(12), octet(13), octet(14), octet(15),
  );
}

const SLAB_OCTETS = 256 * 1024;

/** Buffers for stored packets: views into large arrays, because each separate array would need an allocation outside the heap. */
export class BufferArena {
  #slab = new Uint8Array(0);
  #used = 0;

  /** A copy of the first `lengthOctets` of `octets`, at most 4096. An array is freed when none of its views is in use. */
  copy(octets: Uint8Array, lengthOctets: number): Uint8Array<ArrayBuffer> {
    if (this.#used + lengthOctets > this.#slab.length) {
      this.#slab = new Uint8Array(SLAB_OCTETS);
      this.#used = 0;
    }
    const view = this.#slab.subarray(this.#used, this.#used + lengthOctets);
    this.#used += lengthOctets;
    for (let i = 0; i < lengthOctets; i++) view[i] = octets[i] as number;
    return view;
  }
}
