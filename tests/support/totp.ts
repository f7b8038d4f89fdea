// The passcode of a user's device (RFC 6238), for tests only.

import { createHmac } from "node:crypto";

/** RFC 6238 with SHA-1, 30 s and six digits; `seed` is the secret before it was written in base 32. */
export function totpCode(seed: string | Uint8Array, atMs: number): string {
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(Math.floor(atMs / 30_000)));
  const digest = createHmac("sha1", seed).update(new Uint8Array(counter.buffer)).digest();
  const offset = (digest.at(-1) ?? 0) & 0x0f;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

/** The octets of a secret in the form for apps (RFC 4648 §6, without padding). */
export function fromBase32(text: string): Uint8Array {
  let bits = "";
  for (const letter of text) {
    bits += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0");
  }
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (octet) => parseInt(octet, 2));
}
