// Base32 (RFC 4648 §6) of TOTP secrets and recovery codes, as authenticator apps and people write it: without padding, in any case.

import { decodeBase32 as decode, encodeBase32 as encode } from "@std/encoding/base32";

const MAX_CHARACTERS = 256;
/** 80 bits, the shortest secret that apps use. */
const MIN_SECRET_OCTETS = 10;

/** Octets as base32 without padding. */
export function encodeBase32(octets: Uint8Array): string {
  const text: string = encode(octets);
  return text.replace(/=+$/, "");
}

/**
 * Reads a secret. Case, blanks, dashes and padding are ignored, and so are bits after the last whole octet.
 *
 * @returns `null` when a character is not of the alphabet, or the secret has fewer than 10 octets.
 */
export function decodeBase32(text: string): Uint8Array<ArrayBuffer> | null {
  const clean = text.toUpperCase().replace(/[\s=-]/g, "");
  const length = Math.floor(clean.length * 5 / 8);
  if (clean.length > MAX_CHARACTERS || length < MIN_SECRET_OCTETS || !/^[A-Z2-7]+$/.test(clean)) return null;
  const whole = clean.slice(0, Math.ceil(length * 8 / 5));
  return decode(whole.padEnd(Math.ceil(length / 5) * 8, "="));
}
