// How a conversation is found by what the request itself carries: client, User-Name and every one of Calling-Station-Id, NAS-Port-Id and
// NAS-Port that is present and neither empty nor 0. Never the source port or Service-Type: real clients change both.

import type { PacketView } from "./packet.ts";

export interface Tuple {
  /** Octets with their lengths in front, so that no two tuples read alike; one character an octet. */
  readonly key: string;
  /** Whether one of the three attributes tells this login from another of the same user. */
  readonly distinct: boolean;
}

const PARTS = ["callingStationId", "nasPortId", "nasPort"] as const;

/** @param user the canonical name. */
export function tupleOf(view: PacketView, client: string, user: string): Tuple {
  let key = `${client.length}:${client}${user.length}:${user}`;
  let distinct = false;
  for (const part of PARTS) {
    const slot = view.slots[part];
    const end = slot.at + slot.lengthOctets;
    let empty = true;
    if (slot.count > 0) { for (let i = slot.at; i < end; i++) if (view.octets[i] !== 0) empty = false; }
    if (empty) {
      key += "-";
      continue;
    }
    distinct = true;
    key += `${slot.lengthOctets}:`;
    for (let i = slot.at; i < end; i++) key += String.fromCharCode(view.octets[i] as number);
  }
  return { key, distinct };
}

/** A name as it is compared: NFC, without case. The canonical form of a canonical name is that name. */
export function canonicalName(name: string): string {
  // Composed again, because a small letter may have a composed form that its capital lacks ("Ϊ́").
  return name.normalize("NFC").toLowerCase().normalize("NFC");
}
