// Base32 (RFC 4648 §6) without padding, as authenticator apps and people read it.

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Octets as base32; the last character's spare bits are zero. */
export function encodeBase32(octets: Uint8Array): string {
  let text = "";
  let held = 0;
  let bits = 0;
  for (const octet of octets) {
    held = (held << 8) | octet;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(held >>> bits) & 31];
    }
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + ALPHABET[(held << (5 - bits)) & 31];
}
