// Identifiers of the embedded services: UUIDs that sort by time. New rows then land at one end of the store, which is
// several times faster.

import type { Random } from "../../runtime.ts";

/** A UUID of version 7, RFC 9562 §5.7: 48 bits of milliseconds, 74 random bits. */
export function timeOrderedUuid(nowMs: number, random: Random): string {
  const octets = random.bytes(16);
  const view = new DataView(octets.buffer, octets.byteOffset, 16);
  view.setUint16(0, Math.floor(nowMs / 2 ** 32));
  view.setUint32(2, nowMs % 2 ** 32);
  view.setUint8(6, (view.getUint8(6) & 0x0f) | 0x70);
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80);
  const hex = octets.toHex();
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
