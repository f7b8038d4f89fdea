// The duplicate cache (RFC 5080 §2.2.2): the same packet again is ignored while it is being worked on, and gets the same octets again once it
// was answered. Bounded in number and in time.

import { AUTHENTICATOR_OCTETS } from "../protocol/codes.ts";

/** One request that is being worked on or was answered. */
export class Slot {
  /** `null` while it is being worked on, or when it will never be answered. */
  reply: Uint8Array | null = null;
  /** Where its copies are counted for observers. */
  recorded: { copies: number; verdict: string } | null = null;
  constructor(
    readonly source: Map<number, Slot>,
    readonly key: number,
    /** The packet; its octets 4 to 19 are the Request Authenticator. */
    readonly packet: Uint8Array,
    readonly arrivedMs: number,
  ) {}
}

export interface Duplicates {
  /** The slot of the same packet, or `null` when this one is new. */
  find(packet: PacketPlace): Slot | null;
  /** Notes a new packet; an older one under the same source, port and identifier is replaced. */
  note(packet: PacketPlace, nowMs: number): Slot;
  /** Forgets a slot, so that the same packet is worked on again. */
  forget(slot: Slot): void;
  readonly size: number;
}

/** Where a packet came from and what it is called there. */
export interface PacketPlace {
  readonly socket: number;
  readonly hostname: string;
  readonly port: number;
  readonly octets: Uint8Array;
}

/** How long an answer is kept. */
export const KEPT_MS = 30_000;
/** How many are kept at the most; above it the oldest goes first. */
const MOST_SLOTS = 65_536;
/** And how much their packets may take: an ordinary one has 200 octets, the largest twenty times as many. */
const MOST_OCTETS = 24 * 1024 * 1024;
const DEFAULT_BOUNDS: DuplicateBounds = { slots: MOST_SLOTS, octets: MOST_OCTETS };

/** How many answers a cache holds, and how many octets their packets may take. */
export interface DuplicateBounds {
  readonly slots: number;
  readonly octets: number;
}

export function createDuplicates(bounds: DuplicateBounds = DEFAULT_BOUNDS): Duplicates {
  const sources = new Map<string, Map<number, Slot>>();
  const ring: (Slot | undefined)[] = new Array(bounds.slots).fill(undefined);
  let head = 0;
  let tail = 0;
  let size = 0;
  let keptOctets = 0;
  let sweepAt = 1024;

  const remove = (slot: Slot): void => {
    if (slot.source.get(slot.key) === slot) {
      slot.source.delete(slot.key);
      size--;
    }
  };
  const dropOldest = (): void => {
    const oldest = ring[tail];
    ring[tail] = undefined;
    tail = (tail + 1) % bounds.slots;
    if (oldest === undefined) return;
    keptOctets -= oldest.packet.length;
    remove(oldest);
  };
  const dropExpired = (nowMs: number): void => {
    for (let i = 0; i < 4 && tail !== head; i++) {
      const oldest = ring[tail];
      if (oldest !== undefined && nowMs - oldest.arrivedMs < KEPT_MS) return;
      dropOldest();
    }
  };
  const sourceOf = (packet: PacketPlace): Map<number, Slot> => {
    const name = packet.socket === 0 ? packet.hostname : `${packet.socket} ${packet.hostname}`;
    let source = sources.get(name);
    if (source === undefined) {
      if (sources.size >= sweepAt) {
        for (const [key, slots] of sources) if (slots.size === 0) sources.delete(key);
        sweepAt = Math.max(1024, 2 * sources.size);
      }
      source = new Map();
      sources.set(name, source);
    }
    return source;
  };

  return {
    find(packet) {
      const slot = sourceOf(packet).get(keyOf(packet));
      if (slot === undefined) return null;
      for (let i = 0; i < AUTHENTICATOR_OCTETS; i++) {
        if (slot.packet[4 + i] !== packet.octets[4 + i]) return null;
      }
      return slot;
    },
    note(packet, nowMs) {
      dropExpired(nowMs);
      const source = sourceOf(packet);
      const key = keyOf(packet);
      const slot = new Slot(source, key, packet.octets, nowMs);
      if (!source.has(key)) size++;
      source.set(key, slot);
      ring[head] = slot;
      head = (head + 1) % bounds.slots;
      keptOctets += slot.packet.length;
      if (head === tail) dropOldest();
      while (keptOctets > bounds.octets) dropOldest();
      return slot;
    },
    forget: remove,
    get size() {
      return size;
    },
  };
}

function keyOf(packet: PacketPlace): number {
  return packet.port * 256 + (packet.octets[1] as number);
}
