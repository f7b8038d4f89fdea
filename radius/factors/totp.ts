// One-time passwords: HOTP (RFC 4226), TOTP (RFC 6238) with 30 s, and the base32 form of their secrets (RFC 4648 §6). Logins with an app use
// app_codes.ts; matchTotp() is for the passcodes of the phone and the first code of an app.

import { createHmac, timingSafeEqual } from "node:crypto";
import { decodeBase32 as decode, encodeBase32 as encode } from "@std/encoding/base32";

/** RFC 6238 §4.1: the time step X. */
export const TOTP_STEP_MS = 30_000;

const encoder = new TextEncoder();

/** RFC 6238 §1.2: TOTP may use HMAC-SHA-256 and HMAC-SHA-512; HOTP uses HMAC-SHA-1 (RFC 4226 §5.2). */
export type CodeAlgorithm = "SHA1" | "SHA256" | "SHA512";

/** The code of a counter (RFC 4226 §5.3); leading zeros stay. */
export function hotpAt(
  seed: Uint8Array,
  movingFactor: number,
  { digits, algorithm = "SHA1" }: { digits: number; algorithm?: CodeAlgorithm },
): string {
  const counter = new Uint8Array(8);
  new DataView(counter.buffer).setBigUint64(0, BigInt(movingFactor));
  const mac = new Uint8Array(createHmac(algorithm, seed).update(counter).digest());
  const at = (mac[mac.length - 1] as number) & 0x0f;
  const truncated = new DataView(mac.buffer).getUint32(at) & 0x7fffffff;
  return String(truncated % 10 ** digits).padStart(digits, "0");
}

/** The code of a time step. */
export function totpAt(seed: Uint8Array, stepNumber: number, digits: number): string {
  return hotpAt(seed, stepNumber, { digits });
}

/**
 * The time step that a typed code belongs to, or `null`. Tries the current step first, because nearly every code belongs to it. A code is
 * compared in constant time; how many steps were tried tells only which step a right code belongs to.
 *
 * @param lastStep the last accepted step. This step and older ones are refused, so that a code is accepted once (RFC 6238 §5.2).
 * @param toleranceSteps the number of steps before and after the current one that are tried.
 */
export function matchTotp(
  attempt: {
    seed: Uint8Array;
    code: string;
    nowMs: number;
    digits: number;
    lastStep: number;
    toleranceSteps: number;
  },
): number | null {
  const { seed, code, nowMs, digits, lastStep, toleranceSteps } = attempt;
  if (code.length !== digits) return null;
  const typed = encoder.encode(code);
  if (typed.length !== digits) return null;
  const now = Math.floor(nowMs / TOTP_STEP_MS);
  const isCodeOf = (step: number): boolean =>
    step >= 0 && step > lastStep && timingSafeEqual(encoder.encode(totpAt(seed, step, digits)), typed);
  if (isCodeOf(now)) return now;
  for (let distance = 1; distance <= toleranceSteps; distance++) {
    if (isCodeOf(now - distance)) return now - distance;
    if (isCodeOf(now + distance)) return now + distance;
  }
  return null;
}

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
 * @returns `null` if a character is not in the alphabet, or the secret has fewer than 10 octets.
 */
export function decodeBase32(text: string): Uint8Array<ArrayBuffer> | null {
  const clean = text.toUpperCase().replace(/[\s=-]/g, "");
  const length = Math.floor(clean.length * 5 / 8);
  if (clean.length > MAX_CHARACTERS || length < MIN_SECRET_OCTETS || !/^[A-Z2-7]+$/.test(clean)) return null;
  const whole = clean.slice(0, Math.ceil(length * 8 / 5));
  return decode(whole.padEnd(Math.ceil(length / 5) * 8, "="));
}
