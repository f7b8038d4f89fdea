// One-time passwords: HOTP (RFC 4226), TOTP (RFC 6238) with 30 s, and the base32 form of their secrets (RFC 4648 §6). Logins with an app use
// token_codes.ts; matchTotp() is for the passcodes of the phone and the first code of an app.

import { createHmac } from "node:crypto";
import { decodeBase32 as decode, encodeBase32 as encode } from "@std/encoding/base32";

/** RFC 6238 §4.1: the time step X. */
export const TOTP_STEP_MS = 30_000;

/** RFC 6238 §1.2: TOTP may use HMAC-SHA-256 and HMAC-SHA-512; HOTP uses HMAC-SHA-1 (RFC 4226 §5.2). */
export type CodeAlgorithm = "SHA1" | "SHA256" | "SHA512";

/** How the codes of a seed are made. */
interface CodeForm {
  readonly digits: number;
  readonly algorithm?: CodeAlgorithm;
}

/** Octets of a SHA-1 digest. */
export const SHA1_OCTETS = 20;
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

// HMAC-SHA-1 (RFC 2104, RFC 3174) over typed arrays, for one-time passwords (RFC 4226 §5.2). On such short messages, the stream objects of
// node:crypto take ten times as long, as with MD5 (md5.ts). The tests compare the results with node:crypto.

const BLOCK_OCTETS = 64;
const LENGTH_AT = BLOCK_OCTETS - 8;

/** The padded key, then the blocks of the message that are not whole. */
const block = new Uint8Array(BLOCK_OCTETS);
const digest = new Uint8Array(SHA1_OCTETS);
const state = new Int32Array(SHA1_OCTETS / 4);
const words = new Int32Array(80);

/** Writes the 20 octets of the code over `message` to `out`. @param key any length; longer than 64 octets it is hashed first (RFC 2104 §2) */
export function hmacSha1Into(key: Uint8Array, message: Uint8Array, out: Uint8Array): void {
  const short = key.length > BLOCK_OCTETS ? sha1(key) : key;
  beginPadded(short, 0x36);
  finish(message, BLOCK_OCTETS, digest);
  beginPadded(short, 0x5c);
  finish(digest, BLOCK_OCTETS, out);
}

function sha1(data: Uint8Array): Uint8Array {
  const out = new Uint8Array(SHA1_OCTETS);
  reset();
  finish(data, 0, out);
  return out;
}

/** RFC 3174 §6.1. */
function reset(): void {
  state[0] = 0x67452301;
  state[1] = 0xefcdab89 | 0;
  state[2] = 0x98badcfe | 0;
  state[3] = 0x10325476;
  state[4] = 0xc3d2e1f0 | 0;
}

/** Begins with the block of a key, each octet combined with `pad` (RFC 2104 §2). */
function beginPadded(key: Uint8Array, pad: number): void {
  for (let i = 0; i < BLOCK_OCTETS; i++) block[i] = i < key.length ? (key[i] as number) ^ pad : pad;
  reset();
  compress(block, 0);
}

/** Hashes `data` with its padding (RFC 3174 §4). @param before octets that went into the state already: a multiple of 64 */
function finish(data: Uint8Array, before: number, out: Uint8Array): void {
  let at = 0;
  for (; at + BLOCK_OCTETS <= data.length; at += BLOCK_OCTETS) compress(data, at);
  const rest = data.length - at;
  for (let i = 0; i < rest; i++) block[i] = data[at + i] as number;
  block[rest] = 0x80;
  for (let i = rest + 1; i < BLOCK_OCTETS; i++) block[i] = 0;
  if (rest >= LENGTH_AT) {
    compress(block, 0);
    for (let i = 0; i < LENGTH_AT; i++) block[i] = 0;
  }
  const octets = before + data.length;
  writeWord(block, LENGTH_AT, Math.floor(octets / 2 ** 29));
  writeWord(block, LENGTH_AT + 4, octets << 3);
  compress(block, 0);
  for (let word = 0; word < state.length; word++) writeWord(out, word * 4, state[word] as number);
}

function writeWord(out: Uint8Array, at: number, word: number): void {
  out[at] = word >>> 24;
  out[at + 1] = word >>> 16;
  out[at + 2] = word >>> 8;
  out[at + 3] = word;
}

/** Adds one block of 64 octets to the state (RFC 3174 §6.1). */
function compress(data: Uint8Array, at: number): void {
  schedule(data, at);
  let a = state[0] as number, b = state[1] as number, c = state[2] as number, d = state[3] as number;
  let e = state[4] as number;
  for (let i = 0; i < 80; i++) {
    let mixed: number;
    if (i < 20) mixed = ((b & c) | (~b & d)) + 0x5a827999;
    else if (i < 40) mixed = (b ^ c ^ d) + 0x6ed9eba1;
    else if (i < 60) mixed = ((b & c) | (b & d) | (c & d)) - 0x70e44324;
    else mixed = (b ^ c ^ d) - 0x359d3e2a;
    const next = (((a << 5) | (a >>> 27)) + mixed + e + (words[i] as number)) | 0;
    e = d;
    d = c;
    c = (b << 30) | (b >>> 2);
    b = a;
    a = next;
  }
  state[0] = (state[0] as number) + a;
  state[1] = (state[1] as number) + b;
  state[2] = (state[2] as number) + c;
  state[3] = (state[3] as number) + d;
  state[4] = (state[4] as number) + e;
}

/** Expands a block to the 80 words of its steps. */
function schedule(data: Uint8Array, at: number): void {
  for (let word = 0, from = at; word < 16; word++, from += 4) {
    words[word] = ((data[from] as number) << 24) | ((data[from + 1] as number) << 16) |
      ((data[from + 2] as number) << 8) | (data[from + 3] as number);
  }
  for (let word = 16; word < 80; word++) {
    const mixed = (words[word - 3] as number) ^ (words[word - 8] as number) ^ (words[word - 14] as number) ^
      (words[word - 16] as number);
    words[word] = (mixed << 1) | (mixed >>> 31);
  }
}
