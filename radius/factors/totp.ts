// One-time passwords: HOTP (RFC 4226), TOTP (RFC 6238) with 30 s, and the base32 form of their secrets (RFC 4648 §6). Logins with an app use
// app_codes.ts; matchTotp() is for the passcodes of the phone and the first code of an app.

import { createHmac } from "node:crypto";
import { decodeBase32 as decode, encodeBase32 as encode } from "@std/encoding/base32";
import { hmacSha1Into, SHA1_OCTETS } from "../protocol/sha1.ts";

/** RFC 6238 §4.1: the time step X. */
export const TOTP_STEP_MS = 30_000;

/** RFC 6238 §1.2: TOTP may use HMAC-SHA-256 and HMAC-SHA-512; HOTP uses HMAC-SHA-1 (RFC 4226 §5.2). */
export type CodeAlgorithm = "SHA1" | "SHA256" | "SHA512";

/** How the codes of a seed are made. */
interface CodeForm {
  readonly digits: number;
  readonly algorithm?: CodeAlgorithm;
}

const counter = new Uint8Array(8);
const sha1Mac = new Uint8Array(SHA1_OCTETS);

/** The HMAC of a counter. The result is valid until the next call. */
function macAt(seed: Uint8Array, movingFactor: number, algorithm: CodeAlgorithm): Uint8Array {
  for (let i = counter.length - 1, rest = movingFactor; i >= 0; i--) {
    counter[i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  if (algorithm !== "SHA1") return createHmac(algorithm, seed).update(counter).digest();
  hmacSha1Into(seed, counter, sha1Mac);
  return sha1Mac;
}

/** The code of a counter (RFC 4226 §5.3) as a number, without its leading zeros. */
function codeAt(
  seed: Uint8Array,
  movingFactor: number,
  { digits, algorithm = "SHA1" }: CodeForm,
): number {
  const mac = macAt(seed, movingFactor, algorithm);
  const at = (mac[mac.length - 1] as number) & 0x0f;
  const truncated = ((mac[at] as number) & 0x7f) << 24 | (mac[at + 1] as number) << 16 |
    (mac[at + 2] as number) << 8 | (mac[at + 3] as number);
  return truncated % 10 ** digits;
}

/** The code of a counter (RFC 4226 §5.3); leading zeros stay. */
export function hotpAt(seed: Uint8Array, movingFactor: number, form: CodeForm): string {
  return String(codeAt(seed, movingFactor, form)).padStart(form.digits, "0");
}

/** A typed code as a number, for {@link isCodeAt}; -1 if it is not a code of so many digits. */
export function readTypedCode(code: string, digits: number): number {
  return code.length === digits && /^[0-9]+$/.test(code) ? Number(code) : -1;
}

/** Whether a typed code is that of a counter. Codes are small integers, whose comparison takes the same time for all values. */
export function isCodeAt(
  { seed, typed }: { readonly seed: Uint8Array; readonly typed: number },
  movingFactor: number,
  form: CodeForm,
): boolean {
  return codeAt(seed, movingFactor, form) === typed;
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
  const typed = readTypedCode(code, digits);
  if (typed < 0) return null;
  const now = Math.floor(nowMs / TOTP_STEP_MS);
  const isCodeOf = (step: number): boolean =>
    step >= 0 && step > lastStep && isCodeAt({ seed, typed }, step, { digits });
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
