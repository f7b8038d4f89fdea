// How a conversation is found by what the request itself carries: client, User-Name and every one of Calling-Station-Id, NAS-Port-Id and
// NAS-Port that is present and neither empty nor 0. Never the source port or Service-Type: real clients change both.

import type { PacketView } from "../protocol/packet.ts";

export interface Tuple {
  /** No two tuples read alike: the octets are base64 with their lengths in front, and the client's name has its length in front. */
  readonly key: string;
  /** Whether one of the three attributes tells this login from another of the same user. */
  readonly distinct: boolean;
  /** The key without the user: what all users of one port, or behind one address, have in common. */
  readonly place: string;
}

const PARTS = ["callingStationId", "nasPortId", "nasPort"] as const;
const scratch = new Uint8Array(PARTS.length * 256);

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
  const attributes = scratch.subarray(0, used).toBase64();
  const place = `${attributes} ${client.length} ${client}`;
  return { key: place + user, distinct, place };
}

/** The {@link Tuple.place} of a tuple's key. */
export function placeOfTuple(key: string, user: string): string {
  return key.slice(0, key.length - user.length);
}
