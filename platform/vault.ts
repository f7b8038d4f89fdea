// Protects stored secrets. Secrets that are read again are sealed (AES-256-GCM, with the record's key as associated data). Secrets
// that are only compared are digested (HMAC-SHA-256). The master key is not in the store.

import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import type { Random } from "./runtime.ts";

export interface Vault {
  /** Encrypts `plain` for the record at `recordKey`. Only `open` with the same key can read it. */
  seal(recordKey: Deno.KvKey, plain: Uint8Array): Uint8Array<ArrayBuffer>;
  /** Decrypts the result of `seal`; `null` if it was altered or belongs to another record. */
  open(recordKey: Deno.KvKey, sealed: Uint8Array): Uint8Array<ArrayBuffer> | null;
  /** A keyed hash (32 octets, hexadecimal) of `value`, separated by `purpose`. Compare with {@link equalDigests}. */
  digest(purpose: string, value: Uint8Array | string): string;
  /** A key for `purpose`, derived from the master key (HKDF-SHA-256). */
  deriveKey(purpose: string, lengthOctets: number): Uint8Array<ArrayBuffer>;
}

const NONCE_OCTETS = 12;
const TAG_OCTETS = 16;
/** Longer values than this get a buffer of their own. */
const DIGESTED_OCTETS = 1024;
/** UTF-8 has at most three octets for each UTF-16 code unit. */
const MAX_OCTETS_PER_UNIT = 3;
const encoder = new TextEncoder();

/** Whether two digests are the same, in constant time. */
export function equalDigests(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}

/** @param masterKey 32 octets. */
export function createVault(masterKey: Uint8Array, random: Random): Vault {
  if (masterKey.length !== 32) throw new RangeError("The master key must have 32 octets");
  const derive = (purpose: string, lengthOctets: number): Uint8Array<ArrayBuffer> =>
    new Uint8Array(hkdfSync("sha256", masterKey, new Uint8Array(0), `countersign ${purpose}`, lengthOctets));
  const sealingKey = derive("seal", 32);
  const digests = new HmacSha256(derive("digest", 32));
  const digested = new Uint8Array(DIGESTED_OCTETS);
  const associated = (recordKey: Deno.KvKey) =>
    encoder.encode(
      JSON.stringify(recordKey.map((part) => part instanceof Uint8Array ? part.toHex() : String(part))),
    );

  return {
    seal(recordKey, plain) {
      const nonce = random.bytes(NONCE_OCTETS);
      const cipher = createCipheriv("aes-256-gcm", sealingKey, nonce);
      cipher.setAAD(associated(recordKey));
      const body = new Uint8Array(cipher.update(plain));
      cipher.final();
      const sealed = new Uint8Array(NONCE_OCTETS + TAG_OCTETS + body.length);
      sealed.set(nonce, 0);
      sealed.set(cipher.getAuthTag(), NONCE_OCTETS);
      sealed.set(body, NONCE_OCTETS + TAG_OCTETS);
      return sealed;
    },
    open(recordKey, sealed) {
      if (sealed.length < NONCE_OCTETS + TAG_OCTETS) return null;
      const decipher = createDecipheriv("aes-256-gcm", sealingKey, sealed.subarray(0, NONCE_OCTETS));
      decipher.setAAD(associated(recordKey));
      decipher.setAuthTag(sealed.subarray(NONCE_OCTETS, NONCE_OCTETS + TAG_OCTETS));
      try {
        const plain = new Uint8Array(decipher.update(sealed.subarray(NONCE_OCTETS + TAG_OCTETS)));
        decipher.final();
        return plain;
      } catch (_tagMismatch) {
        return null;
      }
    },
    digest(purpose, value) {
      const most = MAX_OCTETS_PER_UNIT * (purpose.length + value.length) + 1;
      const octets = most > DIGESTED_OCTETS ? new Uint8Array(most) : digested;
      let length = encoder.encodeInto(purpose, octets).written;
      octets[length++] = 0;
      if (typeof value === "string") length += encoder.encodeInto(value, octets.subarray(length)).written;
      else {
        octets.set(value, length);
        length += value.length;
      }
      const digest = digests.sign(octets, length).toHex();
      octets.fill(0, 0, length);
      return digest;
    },
    deriveKey: derive,
  };
}

// HMAC-SHA-256 (RFC 2104, RFC 6234) over typed arrays, for digests of short values. A digest by node:crypto makes a stream object, which takes ten
// times as long as the digest, as with MD5 and SHA-1 (ADR 4). The tests compare the results with node:crypto.

const SHA256_OCTETS = 32;
const BLOCK_OCTETS = 64;
const LENGTH_AT = BLOCK_OCTETS - 8;
const STATE_WORDS = 8;
const ROUNDS = 64;

/** RFC 6234 §6.1. */
const INITIAL = wordsOf("6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19");
/** RFC 6234 §5.1. */
const CONSTANTS = wordsOf(
  "428a2f9871374491b5c0fbcfe9b5dba53956c25b59f111f1923f82a4ab1c5ed5" +
    "d807aa9812835b01243185be550c7dc372be5d7480deb1fe9bdc06a7c19bf174" +
    "e49b69c1efbe47860fc19dc6240ca1cc2de92c6f4a7484aa5cb0a9dc76f988da" +
    "983e5152a831c66db00327c8bf597fc7c6e00bf3d5a7914706ca635114292967" +
    "27b70a852e1b21384d2c6dfc53380d13650a7354766a0abb81c2c92e92722c85" +
    "a2bfe8a1a81a664bc24b8b70c76c51a3d192e819d6990624f40e3585106aa070" +
    "19a4c1161e376c082748774c34b0bcb5391c0cb34ed8aa4a5b9cca4f682e6ff3" +
    "748f82ee78a5636f84c878148cc7020890befffaa4506cebbef9a3f7c67178f2",
);

function wordsOf(hex: string): Int32Array {
  const view = new DataView(Uint8Array.fromHex(hex).buffer);
  return Int32Array.from({ length: view.byteLength / 4 }, (_, word) => view.getInt32(4 * word));
}

/** The blocks of a message that are not whole. */
const tail = new Uint8Array(2 * BLOCK_OCTETS);
const state = new Int32Array(STATE_WORDS);
const words = new Int32Array(ROUNDS);

/** HMAC-SHA-256 under one key, whose inner and outer state are computed once. */
export class HmacSha256 {
  readonly #inner: Int32Array;
  readonly #outer: Int32Array;
  readonly #digest = new Uint8Array(SHA256_OCTETS);

  /** @param key at most 64 octets */
  constructor(key: Uint8Array) {
    if (key.length > BLOCK_OCTETS) throw new RangeError("The key has over 64 octets");
    this.#inner = paddedState(key, 0x36);
    this.#outer = paddedState(key, 0x5c);
  }

  /** The 32 octets of the code over the first `lengthOctets` of `data`. The result is valid until the next call. */
  sign(data: Uint8Array, lengthOctets: number): Uint8Array {
    state.set(this.#inner);
    finish(data, lengthOctets, this.#digest);
    state.set(this.#outer);
    finish(this.#digest, SHA256_OCTETS, this.#digest);
    return this.#digest;
  }
}

/** The state after the block of a key, each octet combined with `pad` (RFC 2104 §2). */
function paddedState(key: Uint8Array, pad: number): Int32Array {
  const block = new Uint8Array(BLOCK_OCTETS).fill(pad);
  for (const [i, octet] of key.entries()) block[i] = octet ^ pad;
  state.set(INITIAL);
  compress(block, 0);
  return state.slice();
}

/** Hashes `data` with its padding (RFC 6234 §4.1) after one block. `out` may be `data`, because it is written last. */
function finish(data: Uint8Array, lengthOctets: number, out: Uint8Array): void {
  let at = 0;
  for (; at + BLOCK_OCTETS <= lengthOctets; at += BLOCK_OCTETS) compress(data, at);
  const rest = lengthOctets - at;
  const total = rest < LENGTH_AT ? BLOCK_OCTETS : 2 * BLOCK_OCTETS;
  for (let i = 0; i < rest; i++) tail[i] = data[at + i] as number;
  tail[rest] = 0x80;
  tail.fill(0, rest + 1, total);
  const octets = BLOCK_OCTETS + lengthOctets;
  writeWord(tail, total - 8, Math.floor(octets / 2 ** 29));
  writeWord(tail, total - 4, octets << 3);
  compress(tail, 0);
  if (total > BLOCK_OCTETS) compress(tail, BLOCK_OCTETS);
  tail.fill(0, 0, rest);
  for (let word = 0; word < STATE_WORDS; word++) writeWord(out, word * 4, state[word] as number);
}

function writeWord(out: Uint8Array, at: number, word: number): void {
  out[at] = word >>> 24;
  out[at + 1] = word >>> 16;
  out[at + 2] = word >>> 8;
  out[at + 3] = word;
}

/** Adds one block of 64 octets to the state (RFC 6234 §6.2). */
function compress(data: Uint8Array, at: number): void {
  schedule(data, at);
  let a = state[0] as number, b = state[1] as number, c = state[2] as number, d = state[3] as number;
  let e = state[4] as number, f = state[5] as number, g = state[6] as number, h = state[7] as number;
  for (let i = 0; i < ROUNDS; i++) {
    const sumE = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const choice = (e & f) ^ (~e & g);
    const first = (h + sumE + choice + (CONSTANTS[i] as number) + (words[i] as number)) | 0;
    const sumA = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + sumA + majority) | 0;
  }
  state[0] = (state[0] as number) + a;
  state[1] = (state[1] as number) + b;
  state[2] = (state[2] as number) + c;
  state[3] = (state[3] as number) + d;
  state[4] = (state[4] as number) + e;
  state[5] = (state[5] as number) + f;
  state[6] = (state[6] as number) + g;
  state[7] = (state[7] as number) + h;
}

/** Expands a block to the 64 words of its rounds. */
function schedule(data: Uint8Array, at: number): void {
  for (let word = 0, from = at; word < 16; word++, from += 4) {
    words[word] = ((data[from] as number) << 24) | ((data[from + 1] as number) << 16) |
      ((data[from + 2] as number) << 8) | (data[from + 3] as number);
  }
  for (let word = 16; word < ROUNDS; word++) {
    const near = words[word - 15] as number;
    const far = words[word - 2] as number;
    const mixedNear = ((near >>> 7) | (near << 25)) ^ ((near >>> 18) | (near << 14)) ^ (near >>> 3);
    const mixedFar = ((far >>> 17) | (far << 15)) ^ ((far >>> 19) | (far << 13)) ^ (far >>> 10);
    words[word] = (words[word - 16] as number) + mixedNear + (words[word - 7] as number) + mixedFar;
  }
}
