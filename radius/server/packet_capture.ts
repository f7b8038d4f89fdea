// The packets of the newest logins, and the newest dropped and refused packets, for observers: copied masked into one ring buffer,
// decoded only on request. Bounded in octets, in number, and in packets a second, so that a flood costs nothing here.

import { PACKET_LIMITS } from "../protocol/capture_limits.ts";
import type { Clock } from "../../platform/runtime.ts";
import { copyMasked } from "../protocol/redact_packet.ts";
import { packetRows } from "../protocol/dissect_packet.ts";
import type { DropTally, PacketRecord, StrayPacket } from "../ports.ts";
import type { Request } from "./request.ts";

/** What a duplicate is counted on; hangs at the slot of the duplicate cache. */
export interface Recorded {
  copies: number;
  verdict: string;
}

interface Dropped {
  readonly octets: Uint8Array;
  readonly reason: string;
  readonly source: string;
  readonly client: string | null;
}

export interface PacketLog {
  /** Notes a request of a conversation, once however often it is told. */
  received(conversationId: string, request: Request): void;
  /** Notes a reply, and its request if that was not noted before. `null`: the packet belongs to no conversation. */
  answered(conversationId: string | null, request: Request, answer: { reply: Uint8Array; row: string }): void;
  /** Notes a datagram that gets no answer. */
  dropped(datagram: Dropped): void;
  /** The packets of a conversation, oldest first; `null` when none are kept. */
  of(conversationId: string): PacketRecord[] | null;
  /** Dropped datagrams and requests that were refused outside a conversation, newest first. */
  strays(limit: number): StrayPacket[];
  /** How often each reason held for each source, lately. */
  tallies(): DropTally[];
}

/** A packet in the ring of octets; overwritten ones are gone. */
interface Kept extends Recorded {
  readonly inbound: boolean;
  readonly atMs: number;
  readonly start: number;
  readonly lengthOctets: number;
}

interface Stray extends Kept {
  readonly id: number;
  readonly source: string;
  readonly client: string | null;
  readonly answered: boolean;
  lastMs: number;
}

export interface PacketLogOptions {
  readonly ringOctets?: number;
  readonly mostConversations?: number;
  readonly mostEach?: number;
  readonly mostStrays?: number;
  readonly mostPerSecond?: number;
}

const MOST_PACKET_OCTETS = 4096;
const MOST_TALLIES = 2000;
/** After a pause this long the same fault counts anew: "since" means this streak. */
const STREAK_MS = 30 * 60_000;
/** Among so many of the newest strays the same datagram again is counted, not listed. */
const FOLDED_AMONG = 16;

export function createPacketLog(
  { clock }: { clock: Pick<Clock, "nowMs"> },
  {
    ringOctets = PACKET_LIMITS.ringOctets,
    mostConversations = PACKET_LIMITS.mostConversations,
    mostEach = PACKET_LIMITS.mostEach,
    mostStrays = PACKET_LIMITS.mostStrays,
    mostPerSecond = PACKET_LIMITS.mostPerSecond,
  }: PacketLogOptions = {},
): PacketLog {
  const ring = new Uint8Array(ringOctets);
  const conversations = new Map<string, Kept[]>();
  const tallies = new Map<string, DropTally & { count: number; lastMs: number }>();
  let strays: Stray[] = [];
  let nextStray = 1;
  let head = 0;
  let second = 0;
  let inSecond = 0;

  /** Whether one more packet may cost something in this second. */
  const mayKeep = (nowMs: number): boolean => {
    const now = Math.floor(nowMs / 1000);
    if (now !== second) {
      second = now;
      inSecond = 0;
    }
    inSecond++;
    return inSecond <= mostPerSecond;
  };
  const keep = (octets: Uint8Array): { start: number; lengthOctets: number } => {
    const at = head % ringOctets;
    // A packet stands in one piece, so that it can be read as a view.
    if (at + MOST_PACKET_OCTETS > ringOctets) head += ringOctets - at;
    const start = head;
    const lengthOctets = copyMasked(octets, ring, start % ringOctets);
    head += lengthOctets;
    return { start, lengthOctets };
  };
  const octetsOf = ({ start, lengthOctets }: Kept): Uint8Array | null =>
    head - start > ringOctets ? null : ring.subarray(start % ringOctets, start % ringOctets + lengthOctets);
  const listOf = (conversationId: string): Kept[] => {
    let list = conversations.get(conversationId);
    if (list === undefined) {
      if (conversations.size >= mostConversations) {
        for (const oldest of conversations.keys()) {
          conversations.delete(oldest);
          break;
        }
      }
      list = [];
      conversations.set(conversationId, list);
    }
    return list;
  };
  const push = (list: Kept[], kept: Kept): void => {
    if (list.length >= mostEach) list.shift();
    list.push(kept);
  };
  const noteRequest = (list: Kept[], request: Request): void => {
    const { recorded } = request.slot;
    if (recorded !== null && list.some((kept) => kept === recorded)) return;
    const kept = {
      inbound: true,
      atMs: request.receivedMs,
      ...keep(request.octets),
      copies: 1,
      verdict: signatureOf(request),
    };
    // The slot knows of the record, never the record of the slot: that would keep the packet itself, secrets and all.
    request.slot.recorded = kept;
    push(list, kept);
  };
  const noteStray = (stray: Omit<Stray, "id" | "lastMs" | "copies" | "inbound">): void => {
    if (strays.length >= mostStrays * 2) strays = strays.slice(-mostStrays);
    strays.push({
      ...stray,
      id: nextStray++,
      inbound: true,
      copies: 1,
      lastMs: stray.atMs,
    });
  };
  const foldStray = ({ octets, source, reason }: Dropped, nowMs: number): boolean => {
    for (let at = strays.length - 1; at >= Math.max(0, strays.length - FOLDED_AMONG); at--) {
      const stray = strays[at] as Stray;
      if (stray.source !== source || stray.verdict !== reason) continue;
      if (!isSameHeader(octetsOf(stray), octets)) continue;
      stray.copies++;
      stray.lastMs = nowMs;
      return true;
    }
    return false;
  };
  const tally = ({ reason, source, client }: Dropped, nowMs: number): void => {
    const key = `${source} ${reason}`;
    const known = tallies.get(key);
    if (known !== undefined && nowMs - known.lastMs < STREAK_MS) {
      known.count++;
      known.lastMs = nowMs;
      return;
    }
    tallies.delete(key);
    if (tallies.size >= MOST_TALLIES) {
      for (const oldest of tallies.keys()) {
        tallies.delete(oldest);
        break;
      }
    }
    tallies.set(key, { reason, source, client, count: 1, firstMs: nowMs, lastMs: nowMs });
  };

  return {
    received(conversationId, request) {
      if (mayKeep(request.receivedMs)) noteRequest(listOf(conversationId), request);
    },
    answered(conversationId, request, { reply, row }) {
      const nowMs = clock.nowMs();
      if (!mayKeep(nowMs)) return;
      if (conversationId === null) {
        noteStray({
          ...keep(request.octets),
          atMs: request.receivedMs,
          verdict: row,
          source: request.source,
          client: request.client.name,
          answered: true,
        });
        return;
      }
      const list = listOf(conversationId);
      noteRequest(list, request);
      push(list, { inbound: false, atMs: nowMs, ...keep(reply), copies: 1, verdict: row });
    },
    dropped(datagram) {
      const nowMs = clock.nowMs();
      if (!mayKeep(nowMs)) return;
      tally(datagram, nowMs);
      if (foldStray(datagram, nowMs)) return;
      const { octets, reason, source, client } = datagram;
      noteStray({ ...keep(octets), atMs: nowMs, verdict: reason, source, client, answered: false });
    },
    of(conversationId) {
      const list = conversations.get(conversationId);
      if (list === undefined) return null;
      const packets = list.flatMap((kept) => {
        const octets = octetsOf(kept);
        return octets === null ? [] : [recordOf(kept, octets)];
      });
      return packets.length === 0 ? null : packets;
    },
    strays(limit) {
      const shown: StrayPacket[] = [];
      for (let at = strays.length - 1; at >= 0 && shown.length < Math.min(limit, mostStrays); at--) {
        const stray = strays[at] as Stray;
        const octets = octetsOf(stray);
        if (octets === null) continue;
        const { id, source, client, answered, lastMs, verdict } = stray;
        shown.push({ ...recordOf(stray, octets), id, reason: verdict, source, client, answered, lastMs });
      }
      return shown;
    },
    tallies: () => [...tallies.values()].map((one) => ({ ...one })).reverse(),
  };
}

/** What the gate found; a packet whose signature is wrong does not come this far. */
function signatureOf({ octets, client }: Request): string {
  if (client.policy.messageAuthenticator === "off") return "unchecked";
  for (let at = 20; at + 2 <= octets.length;) {
    if (octets[at] === 80) return "signed";
    const size = octets[at + 1] as number;
    if (size < 2) break;
    at += size;
  }
  return "unsigned";
}

function recordOf(kept: Kept, octets: Uint8Array): PacketRecord {
  const { inbound, atMs, copies, verdict } = kept;
  return { inbound, atMs, copies, verdict, hex: octets.toHex(), rows: packetRows(octets) };
}

/** The same code, identifier and random authenticator: the same packet sent again. */
function isSameHeader(kept: Uint8Array | null, octets: Uint8Array): boolean {
  if (kept === null || kept.length === 0) return false;
  const header = Math.min(20, kept.length);
  for (let i = 0; i < header; i++) {
    if (kept[i] !== octets[i]) return false;
  }
  return true;
}
