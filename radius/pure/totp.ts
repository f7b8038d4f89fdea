// Time-based one-time passwords (RFC 6238 over RFC 4226, HMAC-SHA-1, 30 s).

import { createHmac, timingSafeEqual } from "node:crypto";

/** RFC 6238 §4.1: the time step X. */
export const TOTP_STEP_MS = 30_000;

/** The code of a time step (RFC 4226 §5.3); leading zeros stay. */
export function totpAt(seed: Uint8Array, stepNumber: number, digits: number): string {
  const counter = new Uint8Array(8);
  new DataView(counter.buffer).setBigUint64(0, BigInt(stepNumber));
  const mac = new Uint8Array(createHmac("sha1", seed).update(counter).digest());
  const at = (mac[19] as number) & 0x0f;
  const truncated = new DataView(mac.buffer).getUint32(at) & 0x7fffffff;
  return String(truncated % 10 ** digits).padStart(digits, "0");
}

/**
 * The time step that a typed code belongs to, or `null`. Every candidate is compared in constant time.
 *
 * @param lastStep the step accepted last: it and older ones are refused (RFC 6238 §5.2: accepted once).
 * @param toleranceSteps how many steps before and after now are tried.
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
  const now = Math.floor(nowMs / TOTP_STEP_MS);
  const typed = new TextEncoder().encode(code);
  if (typed.length !== digits) return null;
  let matched: number | null = null;
  for (let step = now - toleranceSteps; step <= now + toleranceSteps; step++) {
    if (step < 0) continue;
    const same = timingSafeEqual(new TextEncoder().encode(totpAt(seed, step, digits)), typed);
    if (same && step > lastStep && matched === null) matched = step;
  }
  return matched;
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/**
 * Reads a base32 secret (RFC 4648 §6) as authenticator apps write it: any case, spaces and padding ignored.
 *
 * @returns `null` when a character does not belong there or fewer than 10 octets (80 bits) come out.
 */
export function decodeBase32(text: string): Uint8Array<ArrayBuffer> | null {
  const clean = text.toUpperCase().replace(/[\s=-]/g, "");
  if (clean.length > 256) return null;
  const octets: number[] = [];
  let bits = 0;
  let held = 0;
  for (const character of clean) {
    const value = BASE32.indexOf(character);
    if (value < 0) return null;
    held = (held << 5) | value;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      octets.push((held >>> bits) & 0xff);
    }
  }
  return octets.length < 10 ? null : Uint8Array.from(octets);
}
