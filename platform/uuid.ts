// UUIDs (RFC 9562) of injected random octets. `crypto.randomUUID()` and the standard library draw their own.

import type { Random } from "./runtime.ts";

/** Version 4: 122 random bits. */
export function randomUuid(random: Random): string {
  return textOf(random.bytes(16), 4);
}

/** Version 7: 48 bits of milliseconds, 74 random bits. New rows land at one end of the store, which is several times faster. */
export function timeOrderedUuid(nowMs: number, random: Random): string {
  const octets = random.bytes(16);
  const view = new DataView(octets.buffer, octets.byteOffset, 16);
  view.setUint16(0, Math.floor(nowMs / 2 ** 32));
  view.setUint32(2, nowMs % 2 ** 32);
  return textOf(octets, 7);
}

function textOf(octets: Uint8Array, version: number): string {
  const view = new DataView(octets.buffer, octets.byteOffset, 16);
  view.setUint8(6, (view.getUint8(6) & 0x0f) | (version << 4));
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80);
  return octets.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
