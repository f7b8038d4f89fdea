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
