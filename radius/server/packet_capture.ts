// Packet capture for the console: the packets of the newest logins, and the newest dropped and refused packets. They are redacted, stored in one
// ring buffer, and decoded on request. Limited in octets, in number, and in packets per second.

import { CAPTURE_LIMITS, copyRedacted, dissectPacket, type ReplySource } from "../protocol/dissect_packet.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { DropTally, PacketRecord, StrayPacket } from "../ports.ts";
import type { NasRule } from "./clients.ts";
import type { Request } from "./request.ts";

/** A captured request. The duplicate cache counts its copies. */
interface RecordedPacket {
  copies: number;
  verdict: string;
}

interface DroppedPacket {
  readonly octets: Uint8Array;
  readonly reason: string;
  readonly source: string;
  readonly client: string | null;
  /** With the reason `other_nas`. */
  readonly rule?: NasRule;
}

/** A packet in the ring buffer, until it is overwritten. */
interface CapturedPacket extends RecordedPacket {
  readonly inbound: boolean;
  readonly atMs: number;
  readonly start: number;
  readonly lengthOctets: number;
  /** Of the attributes of an Access-Accept, in order. */
  readonly sources?: readonly ReplySource[] | undefined;
}

interface CapturedStray extends CapturedPacket {
  readonly id: number;
  readonly source: string;
  readonly client: string | null;
  readonly answered: boolean;
  readonly rule?: NasRule;
  lastMs: number;
}

type PacketCaptureOptions = { readonly [name in keyof typeof CAPTURE_LIMITS]?: number };

const MAX_PACKET_OCTETS = 4096;
const MAX_TALLIES = 2000;
/** After a pause of this length, a count begins again at 1. */
const STREAK_MS = 30 * 60_000;
/** A copy of a datagram is counted, not stored, if the datagram is among so many of the newest strays. */
const FOLDED_AMONG = 16;

export class PacketCapture {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #limits: Record<keyof typeof CAPTURE_LIMITS, number>;
  readonly #ring: Uint8Array;
  readonly #conversations = new Map<string, CapturedPacket[]>();
  readonly #tallies = new Map<string, DropTally & { count: number; lastMs: number }>();
  #strays: CapturedStray[] = [];
  #nextStray = 1;
  /** Octets written to the ring since the start. */
  #head = 0;
  #second = 0;
  #inSecond = 0;

  constructor({ clock }: { clock: Pick<Clock, "nowMs"> }, options: PacketCaptureOptions = {}) {
    this.#clock = clock;
    this.#limits = { ...CAPTURE_LIMITS, ...options };
    this.#ring = new Uint8Array(this.#limits.ringOctets);
  }

  /** Captures a request of a conversation, once. */
  received(conversationId: string, request: Request): void {
    if (this.#hasRoom(request.receivedMs)) this.#addRequest(this.#listOf(conversationId), request);
  }

  /** Captures a reply, and its request if that was not captured before. `null`: the packet belongs to no conversation. */
  answered(
    conversationId: string | null,
    request: Request,
    { reply, row, sources }: {
      reply: Uint8Array;
      row: string;
      sources?: readonly ReplySource[] | undefined;
    },
  ): void {
    const nowMs = this.#clock.nowMs();
    if (!this.#hasRoom(nowMs)) return;
    if (conversationId === null) {
      const { octets, source, client, receivedMs: atMs } = request;
      return this.#addStray({
        ...this.#copy(octets),
        atMs,
        verdict: row,
        source,
        client: client.name,
        answered: true,
      });
    }
    const list = this.#listOf(conversationId);
    this.#addRequest(list, request);
    this.#push(list, { inbound: false, atMs: nowMs, ...this.#copy(reply), copies: 1, verdict: row, sources });
  }

  /** The packets that were captured under another id belong to a conversation from now on. */
  follow(earlierId: string, conversationId: string): void {
    const earlier = this.#conversations.get(earlierId);
    if (earlier === undefined) return;
    this.#conversations.delete(earlierId);
    for (const packet of earlier) this.#push(this.#listOf(conversationId), packet);
  }

  /** Captures a datagram that gets no answer. */
  dropped(datagram: DroppedPacket): void {
    const nowMs = this.#clock.nowMs();
    if (!this.#hasRoom(nowMs)) return;
    this.#tally(datagram, nowMs);
    if (this.#foldStray(datagram, nowMs)) return;
    const { octets, reason, source, client, rule } = datagram;
    this.#addStray({
      ...this.#copy(octets),
      ...{ atMs: nowMs, verdict: reason, source, client, answered: false },
      ...(rule === undefined ? {} : { rule }),
    });
  }

  /** The packets of a conversation, oldest first; `null` if there are none. */
  of(conversationId: string): PacketRecord[] | null {
    const packets = this.#conversations.get(conversationId)?.flatMap((packet) => {
      const octets = this.#octetsOf(packet);
      return octets === null ? [] : [recordOf(packet, octets)];
    });
    return packets === undefined || packets.length === 0 ? null : packets;
  }

  /** Dropped datagrams and requests that were refused without a conversation, newest first. */
  strays(limit: number): StrayPacket[] {
    const shown: StrayPacket[] = [];
    const max = Math.min(limit, this.#limits.maxStrays);
    for (let at = this.#strays.length - 1; at >= 0 && shown.length < max; at--) {
      const stray = this.#strays[at] as CapturedStray;
      const octets = this.#octetsOf(stray);
      if (octets === null) continue;
      const { id, source, client, answered, lastMs, verdict, rule } = stray;
      shown.push({
        ...recordOf(stray, octets),
        ...{ id, reason: verdict, source, client, answered, lastMs },
        ...(rule === undefined ? {} : { rule }),
      });
    }
    return shown;
  }

  /** How often each reason applied to each source, in the current streak. */
  tallies(): DropTally[] {
    return [...this.#tallies.values()].map((one) => ({ ...one })).reverse();
  }

  /** Whether one more packet may be captured in this second. */
  #hasRoom(nowMs: number): boolean {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#inSecond = 0;
    }
    this.#inSecond++;
    return this.#inSecond <= this.#limits.maxPerSecond;
  }

  #copy(octets: Uint8Array): { start: number; lengthOctets: number } {
    const { ringOctets } = this.#limits;
    const at = this.#head % ringOctets;
    // A packet is stored in one piece, so that it can be read as a view.
    if (at + MAX_PACKET_OCTETS > ringOctets) this.#head += ringOctets - at;
    const start = this.#head;
    const lengthOctets = copyRedacted(octets, this.#ring, start % ringOctets);
    this.#head += lengthOctets;
    return { start, lengthOctets };
  }

  #octetsOf({ start, lengthOctets }: CapturedPacket): Uint8Array | null {
    const { ringOctets } = this.#limits;
    if (this.#head - start > ringOctets) return null;
    return this.#ring.subarray(start % ringOctets, start % ringOctets + lengthOctets);
  }

  #listOf(conversationId: string): CapturedPacket[] {
    let list = this.#conversations.get(conversationId);
    if (list === undefined) {
      if (this.#conversations.size >= this.#limits.maxConversations) deleteOldest(this.#conversations);
      list = [];
      this.#conversations.set(conversationId, list);
    }
    return list;
  }

  #push(list: CapturedPacket[], packet: CapturedPacket): void {
    if (list.length >= this.#limits.maxEach) list.shift();
    list.push(packet);
  }

  #addRequest(list: CapturedPacket[], request: Request): void {
    const { recorded } = request.slot;
    if (recorded !== null && list.some((packet) => packet === recorded)) return;
    const packet = {
      inbound: true,
      atMs: request.receivedMs,
      ...this.#copy(request.octets),
      copies: 1,
      verdict: signatureOf(request),
    };
    // The slot refers to the record. The record must not refer to the slot, because the packet with its secrets would stay in memory.
    request.slot.recorded = packet;
    this.#push(list, packet);
  }

  #addStray(stray: Omit<CapturedStray, "id" | "lastMs" | "copies" | "inbound">): void {
    const { maxStrays } = this.#limits;
    if (this.#strays.length >= maxStrays * 2) this.#strays = this.#strays.slice(-maxStrays);
    this.#strays.push({ ...stray, id: this.#nextStray++, inbound: true, copies: 1, lastMs: stray.atMs });
  }

  #foldStray({ octets, source, reason }: DroppedPacket, nowMs: number): boolean {
    const last = this.#strays.length - 1;
    for (let at = last; at > Math.max(-1, last - FOLDED_AMONG); at--) {
      const stray = this.#strays[at] as CapturedStray;
      if (stray.source !== source || stray.verdict !== reason) continue;
      if (!isSameHeader(this.#octetsOf(stray), octets)) continue;
      stray.copies++;
      stray.lastMs = nowMs;
      return true;
    }
    return false;
  }

  #tally({ reason, source, client }: DroppedPacket, nowMs: number): void {
    const key = `${source} ${reason}`;
    const known = this.#tallies.get(key);
    if (known !== undefined && nowMs - known.lastMs < STREAK_MS) {
      known.count++;
      known.lastMs = nowMs;
      return;
    }
    this.#tallies.delete(key);
    if (this.#tallies.size >= MAX_TALLIES) deleteOldest(this.#tallies);
    this.#tallies.set(key, { reason, source, client, count: 1, firstMs: nowMs, lastMs: nowMs });
  }
}

function deleteOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

/** Whether the request was signed. A packet with a wrong signature was dropped before. */
function signatureOf({ octets, client }: Request): string {
  // RFC 9765 §5.2: RADIUS/1.1 has no Message-Authenticator.
  if (client.secret.isClear) return "tls";
  if (client.settings.messageAuthenticator === "off") return "unchecked";
  for (let at = 20; at + 2 <= octets.length;) {
    if (octets[at] === 80) return "signed";
    const size = octets[at + 1] as number;
    if (size < 2) break;
    at += size;
  }
  return "unsigned";
}

function recordOf(packet: CapturedPacket, octets: Uint8Array): PacketRecord {
  const { inbound, atMs, copies, verdict, sources } = packet;
  return { inbound, atMs, copies, verdict, hex: octets.toHex(), rows: dissectPacket(octets, sources) };
}

/** Whether code, identifier and random authenticator are equal, so that it is the same packet sent again. */
function isSameHeader(kept: Uint8Array | null, octets: Uint8Array): boolean {
  if (kept === null || kept.length === 0) return false;
  const header = Math.min(20, kept.length);
  for (let i = 0; i < header; i++) {
    if (kept[i] !== octets[i]) return false;
  }
  return true;
}
