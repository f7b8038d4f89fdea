// Reads and writes RADIUS packets (RFC 2865 §3 and §5). Reading notes where things stand and copies nothing: a packet that will
// be dropped must cost next to nothing.

import { AUTHENTICATOR_OCTETS, HEADER_OCTETS, MAX_PACKET_OCTETS, PACKET_CODES } from "./codes.ts";
import type { DropReason } from "./drop_reasons.ts";

/** Where an attribute's value stands; `count` says how often the type occurs. `at` is 0 when it is absent. */
export interface Slot {
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
  state: 24,
  callingStationId: 31,
  nasIdentifier: 32,
  proxyState: 33,
  eapMessage: 79,
  messageAuthenticator: 80,
  nasPortId: 87,
} as const;

const ACCESS_REQUEST = PACKET_CODES["Access-Request"].code;
const ACCOUNTING_REQUEST = PACKET_CODES["Accounting-Request"].code;
const STATUS_SERVER = PACKET_CODES["Status-Server"].code;

type SlotName = keyof typeof SLOT_TYPES;
const SLOT_ENTRIES = Object.entries(SLOT_TYPES) as [SlotName, number][];

/** A request inside its datagram. One object is used again for every datagram; what is kept must be copied. */
export class PacketView {
  octets: Uint8Array = new Uint8Array(0);
  /** The packet's own Length; what arrived beyond it is padding. */
  lengthOctets = 0;
  readonly slots: Readonly<Record<SlotName, Slot>>;
  readonly #byType: (Slot | undefined)[] = new Array(256).fill(undefined);
  readonly #all: Slot[] = [];

  constructor() {
    const slots: Partial<Record<SlotName, Slot>> = {};
    for (const [name, type] of SLOT_ENTRIES) {
      const slot: Slot = { at: 0, lengthOctets: 0, count: 0 };
      slots[name] = slot;
      this.#byType[type] = slot;
      this.#all.push(slot);
    }
    this.slots = slots as Record<SlotName, Slot>;
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
   * @returns why the packet must be dropped, or `null` when its structure is sound (RFC 2865 §3, §5).
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
    for (const slot of this.#all) {
      slot.at = 0;
      slot.count = 0;
    }
    let at = HEADER_OCTETS;
    while (at < length) {
      if (at + 2 > length) return "malformed_attribute";
      const type = octets[at] as number;
      const size = octets[at + 1] as number;
      if (type === 0 || size < 2 || at + size > length) return "malformed_attribute";
      const slot = this.#byType[type];
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

  /** The value of a slot as a view into the datagram, or `null` when it is absent. */
  value(name: SlotName): Uint8Array | null {
    const slot = this.slots[name];
    return slot.count === 0 ? null : this.octets.subarray(slot.at, slot.at + slot.lengthOctets);
  }
}

/**
 * Calls `visit` for every attribute of a sound packet, in order.
 *
 * @param visit receives the type, and where its value stands.
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

/** Writes attributes one after the other into a packet of at most 4096 octets. */
export class PacketWriter {
  readonly octets: Uint8Array<ArrayBuffer> = new Uint8Array(MAX_PACKET_OCTETS + 256);
  lengthOctets = HEADER_OCTETS;

  /** Begins a packet; the authenticator and the Length are written by {@link finish} and its caller. */
  begin(code: number, identifier: number): void {
    this.octets[0] = code;
    this.octets[1] = identifier;
    this.lengthOctets = HEADER_OCTETS;
  }

  /**
   * Appends one attribute.
   *
   * @throws RangeError when the value has over 253 octets or the packet would pass 4096: an encoder refuses, it never cuts.
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

  /** Octets that still fit. */
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

  /** Writes Length. */
  finish(): void {
    this.octets[2] = this.lengthOctets >>> 8;
    this.octets[3] = this.lengthOctets;
  }
}

/** The Request Authenticator of a packet, as a view. */
export function authenticatorOf(octets: Uint8Array): Uint8Array {
  return octets.subarray(4, 4 + AUTHENTICATOR_OCTETS);
}
