// The tuple of request attributes by which a packet finds its conversation.

import { PrefixViews } from "../../platform/prefix_views.ts";
import type { PacketView } from "../protocol/packet.ts";

/**
 * The client, User-Name, and each of Calling-Station-Id, NAS-Port-Id and NAS-Port that is neither empty nor 0. Never the source port or
 * Service-Type: real clients change both.
 */
export interface Tuple {
  /** Unambiguous: the base64 octets contain the length of each value, and the length precedes the client's name. */
  readonly key: string;
  /** Whether it has one of the three attributes, so that it distinguishes logins of the same user. */
  readonly distinct: boolean;
  /** The key without the user: the same for all users of one port or address. */
  readonly place: string;
}

const PARTS = ["callingStationId", "nasPortId", "nasPort"] as const;
/** Their names in RADIUS, for the log. */
const PART_NAMES = ["Calling-Station-Id", "NAS-Port-Id", "NAS-Port"];
const scratch = new Uint8Array(PARTS.length * 256);
const scratchViews = new PrefixViews(scratch);

/** @param user the canonical name. */
export function tupleOf(view: PacketView, client: string, user: string): Tuple {
  const { octets } = view;
  let used = 0;
  let distinct = false;
  for (const part of PARTS) {
    const { at, lengthOctets, count } = view.slots[part];
    let zeros = 0;
    if (count > 0) { while (zeros < lengthOctets && octets[at + zeros] === 0) zeros++; }
    const empty = count === 0 || zeros === lengthOctets;
    scratch[used++] = empty ? 0 : lengthOctets;
    if (empty) continue;
    distinct = true;
    for (let i = 0; i < lengthOctets; i++) scratch[used++] = octets[at + i] as number;
  }
  const key = scratchViews.of(used).toBase64() + clientPart(client) + user;
  // Cut from the key, so that the runtime joins the parts only once.
  return { key, distinct, place: placeOfTuple(key, user) };
}

/** The end of the place of each client. There are few clients. */
const MAX_CLIENT_PARTS = 10_000;
const clientParts = new Map<string, string>();

function clientPart(client: string): string {
  let part = clientParts.get(client);
  if (part === undefined) {
    part = ` ${client.length} ${client}`;
    if (clientParts.size >= MAX_CLIENT_PARTS) clientParts.clear();
    clientParts.set(client, part);
  }
  return part;
}

/** The {@link Tuple.place} of a tuple's key. */
export function placeOfTuple(key: string, user: string): string {
  return key.slice(0, key.length - user.length);
}

/** How the tuple of an answer differs from that of a login of the same user and client. */
export interface TupleComparison {
  /** The attributes that the answer lacks, that the login lacks, and that have different values. */
  readonly missing: readonly string[];
  readonly added: readonly string[];
  readonly different: readonly string[];
  /** Whether the answer can belong to the login: nothing is different, and an added attribute comes with one that is equal. */
  readonly fits: boolean;
}

/** Compares the attributes of a login with those of an answer. `null`: they are not of the same client and user. */
export function compareTuples(login: string, answer: string): TupleComparison | null {
  const [loginEnd, answerEnd] = [login.indexOf(" "), answer.indexOf(" ")];
  if (login.slice(loginEnd) !== answer.slice(answerEnd)) return null;
  const [before, now] = [partsOf(login.slice(0, loginEnd)), partsOf(answer.slice(0, answerEnd))];
  const having = (has: (at: number) => boolean) => PART_NAMES.filter((_, at) => has(at));
  const missing = having((at) => before[at] !== "" && now[at] === "");
  const added = having((at) => before[at] === "" && now[at] !== "");
  const different = having((at) => before[at] !== now[at] && before[at] !== "" && now[at] !== "");
  const hasEqual = before.some((value, at) => value !== "" && value === now[at]);
  return { missing, added, different, fits: different.length === 0 && (added.length === 0 || hasEqual) };
}

function partsOf(base64: string): string[] {
  const octets = Uint8Array.fromBase64(base64);
  const parts: string[] = [];
  for (let at = 0; at < octets.length;) {
    const end = at + 1 + (octets[at] as number);
    parts.push(octets.subarray(at + 1, end).toHex());
    at = end;
  }
  return parts;
}
