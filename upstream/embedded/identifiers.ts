// Identifiers of the embedded services: UUIDs that sort by time (new rows then land at one end of the store, which is
// several times faster), and UUIDs that are the same for the same thing.

import { type Random, toHex } from "../../runtime.ts";

/** A UUID of version 7, RFC 9562 §5.7: 48 bits of milliseconds, 74 random bits. */
export function timeOrderedUuid(nowMs: number, random: Random): string {
  const octets = random.bytes(16);
  new DataView(octets.buffer, octets.byteOffset, 16).setUint16(0, Math.floor(nowMs / 2 ** 32));
  new DataView(octets.buffer, octets.byteOffset, 16).setUint32(2, nowMs % 2 ** 32);
  return uuidOf(octets, 7);
}

/** A UUID of version 8, RFC 9562 §5.8, out of a digest of at least 32 hexadecimal digits. */
export function uuidOfDigest(digest: string): string {
  return uuidOf(Uint8Array.fromHex(digest.slice(0, 32)), 8);
}

function uuidOf(octets: Uint8Array, version: number): string {
  const marked = octets.slice(0, 16);
  marked[6] = ((marked[6] ?? 0) & 0x0f) | (version << 4);
  marked[8] = ((marked[8] ?? 0) & 0x3f) | 0x80;
  const hex = toHex(marked);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
