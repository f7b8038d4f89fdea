// The duplicate cache (RFC 5080 §2.2.2). A repeated packet is ignored while the first one is in progress. After that, the same reply is sent
// again. Limited in number and in time.

import { AUTHENTICATOR_OCTETS } from "../protocol/packet.ts";

/** A request that is in progress or was answered. */
export class DuplicateSlot {
  /** `null` while the request is in progress, or if it will not be answered. */
  reply: Uint8Array | null = null;
  /** Counts its copies for the packet capture. */
  recorded: { copies: number; verdict: string } | null = null;
  constructor(
    readonly source: Map<number, DuplicateSlot>,
    readonly key: number,
    /** The packet; its octets 4 to 19 are the Request Authenticator. */
    readonly packet: Uint8Array,
    readonly arrivedMs: number,
  ) {}
}

/** The source and the octets of a packet. */
export interface PacketPlace {
  readonly socket: number;
  readonly hostname: string;
  readonly port: number;
  readonly octets: Uint8Array;
}

/** How long an answer is stored. */
export const REPLY_RETENTION_MS = 30_000;
/** The maximum number of stored answers. Beyond it, the oldest is removed. */
const MAX_SLOTS = 65_536;
/** The total size of their packets. An ordinary packet has 200 octets, the largest 4096. */
const MAX_OCTETS = 24 * 1024 * 1024;
const DEFAULT_BOUNDS: DuplicateBounds = { slots: MAX_SLOTS, octets: MAX_OCTETS };

/** The maximum number of answers in a cache, and the maximum size of their packets. */
export interface DuplicateBounds {
  readonly slots: number;
  readonly octets: number;
}

export class DuplicateCache {
  readonly #bounds: DuplicateBounds;
  readonly #sources = new Map<string, Map<number, DuplicateSlot>>();
  readonly #ring: (DuplicateSlot | undefined)[];
  #head = 0;
  #tail = 0;
  #size = 0;
  #storedOctets = 0;
  #sweepAt = 1024;

  constructor(bounds: DuplicateBounds = DEFAULT_BOUNDS) {
    this.#bounds = bounds;
    this.#ring = new Array(bounds.slots).fill(undefined);
  }

  get size(): number {
    return this.#size;
  }

  /** The slot of the same packet, or `null` for a new packet. */
  find(packet: PacketPlace): DuplicateSlot | null {
    const slot = this.#sourceOf(packet).get(keyOf(packet));
    if (slot === undefined) return null;
    for (let i = 0; i < AUTHENTICATOR_OCTETS; i++) {
      if (slot.packet[4 + i] !== packet.octets[4 + i]) return null;
    }
    return slot;
  }

  /** Adds a new packet. It replaces an older one with the same source, port and identifier. */
  add(packet: PacketPlace, nowMs: number): DuplicateSlot {
    this.#dropExpired(nowMs);
    const source = this.#sourceOf(packet);
    const key = keyOf(packet);
    const slot = new DuplicateSlot(source, key, packet.octets, nowMs);
    if (!source.has(key)) this.#size++;
    source.set(key, slot);
    this.#ring[this.#head] = slot;
    this.#head = (this.#head + 1) % this.#bounds.slots;
    this.#storedOctets += slot.packet.length;
    if (this.#head === this.#tail) this.#dropOldest();
    while (this.#storedOctets > this.#bounds.octets) this.#dropOldest();
    return slot;
  }

  /** Forgets a slot, so that the same packet is handled again. */
  forget(slot: DuplicateSlot): void {
    if (slot.source.get(slot.key) !== slot) return;
    slot.source.delete(slot.key);
    this.#size--;
  }

  #dropOldest(): void {
    const oldest = this.#ring[this.#tail];
    this.#ring[this.#tail] = undefined;
    this.#tail = (this.#tail + 1) % this.#bounds.slots;
    if (oldest === undefined) return;
    this.#storedOctets -= oldest.packet.length;
    this.forget(oldest);
  }

  #dropExpired(nowMs: number): void {
    for (let i = 0; i < 4 && this.#tail !== this.#head; i++) {
      const oldest = this.#ring[this.#tail];
      if (oldest !== undefined && nowMs - oldest.arrivedMs < REPLY_RETENTION_MS) return;
      this.#dropOldest();
    }
  }

  #sourceOf(packet: PacketPlace): Map<number, DuplicateSlot> {
    const name = packet.socket === 0 ? packet.hostname : `${packet.socket} ${packet.hostname}`;
    let source = this.#sources.get(name);
    if (source === undefined) {
      if (this.#sources.size >= this.#sweepAt) {
        for (const [key, slots] of this.#sources) if (slots.size === 0) this.#sources.delete(key);
        this.#sweepAt = Math.max(1024, 2 * this.#sources.size);
      }
      source = new Map();
      this.#sources.set(name, source);
    }
    return source;
  }
}

function keyOf(packet: PacketPlace): number {
  return packet.port * 256 + (packet.octets[1] as number);
}
