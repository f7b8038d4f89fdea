// The duplicate cache (RFC 5080 §2.2.2). A repeated packet is ignored while the first one is in progress. After that, the same reply is sent
// again. Limited in number and in time. The entries are in typed arrays, because each lives for 30 s, and objects would burden the garbage collector.

import { HashIndex, OctetArena } from "../../platform/octet_fields.ts";
import { AUTHENTICATOR_AT, AUTHENTICATOR_OCTETS } from "../protocol/packet.ts";

/** Counts the copies of a captured packet. */
interface RecordedCopies {
  copies: number;
  verdict: string;
}

/** A request that is in progress or was answered. It has no effect after the cache has replaced or removed its entry. */
export class DuplicateSlot {
  readonly #cache: DuplicateCache;
  /** The number of the entry in the order of arrival. */
  readonly serial: number;

  constructor(cache: DuplicateCache, serial: number) {
    this.#cache = cache;
    this.serial = serial;
  }

  /** `null` while the request is in progress, or if it will not be answered. */
  get reply(): Uint8Array | null {
    return this.#cache.replyOf(this);
  }

  set reply(octets: Uint8Array) {
    this.#cache.setReply(this, octets);
  }

  /** Counts its copies for the packet capture. */
  get recorded(): RecordedCopies | null {
    return this.#cache.recordedOf(this);
  }

  set recorded(packet: RecordedCopies) {
    this.#cache.setRecorded(this, packet);
  }

  /** From now on, the same packet is handled again. */
  forget(): void {
    this.#cache.forget(this);
  }
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
interface DuplicateBounds {
  readonly slots: number;
  readonly octets: number;
}

export class DuplicateCache {
  readonly #bounds: DuplicateBounds;
  readonly #sources = new SourceNumbers();
  readonly #index = new HashIndex();
  readonly #replies = new OctetArena();
  /** Entries are in a ring: the one with serial `n` is at `n % slots`. 0: the entry was replaced or removed. */
  readonly #serials: Float64Array;
  readonly #authenticators: Uint8Array;
  readonly #sourceNumbers: Int32Array;
  /** Port and Identifier. */
  readonly #keys: Int32Array;
  readonly #arrivedMs: Float64Array;
  readonly #packetOctets: Uint16Array;
  readonly #replyBlocks: Int32Array;
  /** 0: no reply. */
  readonly #replyOctets: Uint16Array;
  /** The slot of a request that was not answered yet. */
  readonly #inProgress: (DuplicateSlot | null)[];
  readonly #recorded: (RecordedCopies | null)[];
  #head = 1;
  #tail = 1;
  #size = 0;
  #storedOctets = 0;

  constructor(bounds: DuplicateBounds = DEFAULT_BOUNDS) {
    const { slots } = bounds;
    this.#bounds = bounds;
    this.#serials = new Float64Array(slots);
    this.#authenticators = new Uint8Array(slots * AUTHENTICATOR_OCTETS);
    this.#sourceNumbers = new Int32Array(slots);
    this.#keys = new Int32Array(slots);
    this.#arrivedMs = new Float64Array(slots);
    this.#packetOctets = new Uint16Array(slots);
    this.#replyBlocks = new Int32Array(slots);
    this.#replyOctets = new Uint16Array(slots);
    this.#inProgress = new Array(slots).fill(null);
    this.#recorded = new Array(slots).fill(null);
  }

  get size(): number {
    return this.#size;
  }

  /** The slot of the same packet, or `null` for a new packet. */
  find(packet: PacketPlace, nowMs: number): DuplicateSlot | null {
    const source = this.#sources.find(packet);
    const at = source < 0 ? -1 : this.#find(source, keyOf(packet));
    if (at < 0 || !this.#hasAuthenticator(at, packet.octets)) return null;
    // Without other packets, nothing removes it. A client that restarts can send the same Authenticator with another password.
    const ageMs = Math.abs(nowMs - (this.#arrivedMs[at] as number));
    if (this.#replyOctets[at] !== 0 && ageMs >= REPLY_RETENTION_MS) return null;
    return this.#inProgress[at] ?? new DuplicateSlot(this, this.#serials[at] as number);
  }

  /** Adds a new packet. It replaces an older one with the same source, port and identifier. */
  add(packet: PacketPlace, nowMs: number): DuplicateSlot {
    this.#dropExpired(nowMs);
    const source = this.#sources.add(packet);
    const key = keyOf(packet);
    const older = this.#find(source, key);
    if (older >= 0) this.#remove(older);
    const serial = this.#head++;
    const at = serial % this.#bounds.slots;
    const slot = new DuplicateSlot(this, serial);
    this.#serials[at] = serial;
    const from = at * AUTHENTICATOR_OCTETS;
    for (let i = 0; i < AUTHENTICATOR_OCTETS; i++) {
      this.#authenticators[from + i] = packet.octets[AUTHENTICATOR_AT + i] as number;
    }
    this.#sourceNumbers[at] = source;
    this.#keys[at] = key;
    this.#arrivedMs[at] = nowMs;
    this.#packetOctets[at] = packet.octets.length;
    this.#replyOctets[at] = 0;
    this.#inProgress[at] = slot;
    this.#index.add(at, hashOf(source, key));
    this.#size++;
    this.#storedOctets += packet.octets.length;
    if (this.#head - this.#tail >= this.#bounds.slots) this.#dropOldest();
    while (this.#storedOctets > this.#bounds.octets) this.#dropOldest();
    return slot;
  }

  forget(slot: DuplicateSlot): void {
    const at = this.#placeOf(slot);
    if (at >= 0) this.#remove(at);
  }

  replyOf(slot: DuplicateSlot): Uint8Array | null {
    const at = this.#placeOf(slot);
    const length = at < 0 ? 0 : this.#replyOctets[at] as number;
    if (length === 0) return null;
    const block = this.#replies.open(this.#replyBlocks[at] as number);
    return block.octets.slice(block.at, block.at + length);
  }

  /** Stores a copy of the reply. */
  setReply(slot: DuplicateSlot, reply: Uint8Array): void {
    const at = this.#placeOf(slot);
    if (at < 0) return;
    this.#freeReply(at);
    const handle = this.#replies.allocate(reply.length);
    const block = this.#replies.open(handle);
    block.octets.set(reply, block.at);
    this.#replyBlocks[at] = handle;
    this.#replyOctets[at] = reply.length;
    this.#inProgress[at] = null;
  }

  recordedOf(slot: DuplicateSlot): RecordedCopies | null {
    const at = this.#placeOf(slot);
    return at < 0 ? null : this.#recorded[at] ?? null;
  }

  setRecorded(slot: DuplicateSlot, packet: RecordedCopies): void {
    const at = this.#placeOf(slot);
    if (at >= 0) this.#recorded[at] = packet;
  }

  #placeOf({ serial }: DuplicateSlot): number {
    const at = serial % this.#bounds.slots;
    return this.#serials[at] === serial ? at : -1;
  }

  #find(source: number, key: number): number {
    let at = this.#index.first(hashOf(source, key));
    while (at >= 0 && (this.#keys[at] !== key || this.#sourceNumbers[at] !== source)) {
      at = this.#index.next(at);
    }
    return at;
  }

  #hasAuthenticator(at: number, octets: Uint8Array): boolean {
    const from = at * AUTHENTICATOR_OCTETS;
    for (let i = 0; i < AUTHENTICATOR_OCTETS; i++) {
      if (this.#authenticators[from + i] !== octets[AUTHENTICATOR_AT + i]) return false;
    }
    return true;
  }

  #remove(at: number): void {
    this.#index.remove(at);
    this.#sources.release(this.#sourceNumbers[at] as number);
    this.#freeReply(at);
    this.#serials[at] = 0;
    this.#inProgress[at] = null;
    this.#recorded[at] = null;
    this.#size--;
  }

  #freeReply(at: number): void {
    const length = this.#replyOctets[at] as number;
    if (length > 0) this.#replies.free(this.#replyBlocks[at] as number, length);
    this.#replyOctets[at] = 0;
  }

  #dropOldest(): void {
    const at = this.#tail % this.#bounds.slots;
    const isThere = this.#serials[at] === this.#tail++;
    this.#storedOctets -= this.#packetOctets[at] as number;
    if (isThere) this.#remove(at);
  }

  #dropExpired(nowMs: number): void {
    for (let i = 0; i < 4 && this.#tail !== this.#head; i++) {
      const at = this.#tail % this.#bounds.slots;
      const isThere = this.#serials[at] === this.#tail;
      if (isThere && nowMs - (this.#arrivedMs[at] as number) < REPLY_RETENTION_MS) return;
      this.#dropOldest();
    }
  }
}

/** A small number for each source with entries: a socket and an address. */
class SourceNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #names: string[] = [];
  readonly #entries: number[] = [];
  readonly #free: number[] = [];

  /** The number of a source, or -1. */
  find(packet: PacketPlace): number {
    return this.#numbers.get(nameOf(packet)) ?? -1;
  }

  /** The number of a source, for one more entry. */
  add(packet: PacketPlace): number {
    const name = nameOf(packet);
    let number = this.#numbers.get(name);
    if (number === undefined) {
      number = this.#free.pop() ?? this.#names.length;
      this.#numbers.set(name, number);
      this.#names[number] = name;
      this.#entries[number] = 0;
    }
    this.#entries[number] = (this.#entries[number] as number) + 1;
    return number;
  }

  /** One entry less; a source without entries is forgotten. */
  release(number: number): void {
    const left = (this.#entries[number] as number) - 1;
    this.#entries[number] = left;
    if (left > 0) return;
    this.#numbers.delete(this.#names[number] as string);
    this.#free.push(number);
  }
}

function nameOf({ socket, hostname }: PacketPlace): string {
  return socket === 0 ? hostname : `${socket} ${hostname}`;
}

function keyOf(packet: PacketPlace): number {
  return packet.port * 256 + (packet.octets[1] as number);
}

function hashOf(source: number, key: number): number {
  return Math.imul(key ^ Math.imul(source, 0x27d4eb2d), 0x9e3779b1) >>> 8;
}
