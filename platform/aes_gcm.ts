// AES-256-GCM (NIST SP 800-38D) for short values. node:crypto does AES itself. Only the counter mode and GHASH are here, because a cipher object for
// each value takes several times as long as the value. One cipher object in ECB mode gives the blocks of AES of all values.

import { createCipheriv } from "node:crypto";

const BLOCK_OCTETS = 16;
const BLOCK_WORDS = 4;
/** The length of nonces that all use (SP 800-38D §5.2.1.1). */
export const NONCE_OCTETS = 12;
export const TAG_OCTETS = 16;
/** The first coefficients of the polynomial of GHASH (SP 800-38D §6.3). */
const REDUCTION = 0xe1 << 24;

/** What is authenticated with a value but not encrypted. */
interface Associated {
  readonly nonce: Uint8Array;
  readonly data: Uint8Array;
}

/** AES-256-GCM under one key. */
export class AesGcm {
  readonly #aes: ReturnType<typeof createCipheriv>;
  /** The hash key times x^i, for i from 0 to 127, so that a multiplication has no access that depends on a secret. */
  readonly #powers: Int32Array;
  readonly #hash = new Int32Array(BLOCK_WORDS);

  /** @param key 32 octets */
  constructor(key: Uint8Array) {
    this.#aes = createCipheriv("aes-256-ecb", key, null);
    this.#aes.setAutoPadding(false);
    this.#powers = powersOf(this.#aes.update(new Uint8Array(BLOCK_OCTETS)));
  }

  /** Encrypts `plain` into `body`, which has its length, and writes the 16 octets of `tag`. A nonce may be used once. */
  seal(
    associated: Associated,
    plain: Uint8Array,
    { body, tag }: { body: Uint8Array; tag: Uint8Array },
  ): void {
    const stream = this.#keyStream(associated.nonce, plain.length);
    mask(plain, stream, body);
    this.#authenticate(associated.data, body);
    for (let i = 0; i < TAG_OCTETS; i++) tag[i] = this.#hashOctet(i) ^ (stream[i] as number);
  }

  /** Decrypts `body`; `null` if the tag does not belong to it. Compares the tag in constant time. */
  open(associated: Associated, body: Uint8Array, tag: Uint8Array): Uint8Array<ArrayBuffer> | null {
    const stream = this.#keyStream(associated.nonce, body.length);
    this.#authenticate(associated.data, body);
    let difference = tag.length ^ TAG_OCTETS;
    for (let i = 0; i < TAG_OCTETS; i++) {
      difference |= this.#hashOctet(i) ^ (stream[i] as number) ^ (tag[i] as number);
    }
    if (difference !== 0) return null;
    const plain = new Uint8Array(body.length);
    mask(body, stream, plain);
    return plain;
  }

  /** The block that hides the tag, then the key stream of a value: AES of the counters 1, 2, … (SP 800-38D §7.1). */
  #keyStream(nonce: Uint8Array, lengthOctets: number): Uint8Array {
    if (nonce.length !== NONCE_OCTETS) throw new RangeError(`A nonce has ${NONCE_OCTETS} octets`);
    const count = 1 + Math.ceil(lengthOctets / BLOCK_OCTETS);
    const counters = new Uint8Array(count * BLOCK_OCTETS);
    for (let block = 0, at = 0; block < count; block++, at += BLOCK_OCTETS) {
      for (let i = 0; i < NONCE_OCTETS; i++) counters[at + i] = nonce[i] as number;
      const counter = block + 1;
      counters[at + 12] = counter >>> 24;
      counters[at + 13] = counter >>> 16;
      counters[at + 14] = counter >>> 8;
      counters[at + 15] = counter;
    }
    return this.#aes.update(counters);
  }

  /** GHASH of the associated data, the encrypted octets, and both lengths (SP 800-38D §7.1), into `#hash`. */
  #authenticate(data: Uint8Array, body: Uint8Array): void {
    this.#hash.fill(0);
    this.#addOctets(data);
    this.#addOctets(body);
    const hash = this.#hash;
    // The lengths are in bits, 64 each.
    hash[0] = (hash[0] as number) ^ Math.floor(data.length / 2 ** 29);
    hash[1] = (hash[1] as number) ^ (data.length << 3);
    hash[2] = (hash[2] as number) ^ Math.floor(body.length / 2 ** 29);
    hash[3] = (hash[3] as number) ^ (body.length << 3);
    this.#multiply();
  }

  /** Adds octets, with zeros up to a whole block. */
  #addOctets(octets: Uint8Array): void {
    const hash = this.#hash;
    for (let at = 0; at < octets.length; at += BLOCK_OCTETS) {
      const count = Math.min(BLOCK_OCTETS, octets.length - at);
      for (let i = 0; i < count; i++) {
        hash[i >> 2] = (hash[i >> 2] as number) ^ ((octets[at + i] as number) << (24 - 8 * (i & 3)));
      }
      this.#multiply();
    }
  }

  /** Multiplies `#hash` by the hash key. Takes the same time for all values: each bit selects with a mask, not with a branch. */
  #multiply(): void {
    const powers = this.#powers;
    const hash = this.#hash;
    let a = 0, b = 0, c = 0, d = 0;
    for (let word = 0, at = 0; word < BLOCK_WORDS; word++) {
      let bits = hash[word] as number;
      for (let bit = 0; bit < 32; bit++, at += BLOCK_WORDS) {
        const selected = bits >> 31;
        a ^= selected & (powers[at] as number);
        b ^= selected & (powers[at + 1] as number);
        c ^= selected & (powers[at + 2] as number);
        d ^= selected & (powers[at + 3] as number);
        bits <<= 1;
      }
    }
    hash[0] = a;
    hash[1] = b;
    hash[2] = c;
    hash[3] = d;
  }

  #hashOctet(i: number): number {
    return ((this.#hash[i >> 2] as number) >>> (24 - 8 * (i & 3))) & 0xff;
  }
}

function mask(from: Uint8Array, stream: Uint8Array, to: Uint8Array): void {
  for (let i = 0; i < from.length; i++) {
    to[i] = (from[i] as number) ^ (stream[BLOCK_OCTETS + i] as number);
  }
}

/** A block times x^i for i from 0 to 127: four words each, the highest first. */
function powersOf(block: Uint8Array): Int32Array {
  const powers = new Int32Array(8 * BLOCK_OCTETS * BLOCK_WORDS);
  const view = new DataView(block.buffer, block.byteOffset);
  for (let word = 0; word < BLOCK_WORDS; word++) powers[word] = view.getInt32(4 * word);
  for (let at = BLOCK_WORDS; at < powers.length; at += BLOCK_WORDS) {
    let carry = 0;
    for (let word = 0; word < BLOCK_WORDS; word++) {
      const value = powers[at - BLOCK_WORDS + word] as number;
      powers[at + word] = (value >>> 1) | (carry << 31);
      carry = value & 1;
    }
    if (carry === 1) powers[at] = (powers[at] as number) ^ REDUCTION;
  }
  return powers;
}
