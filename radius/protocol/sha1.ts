// HMAC-SHA-1 (RFC 2104, RFC 3174) over typed arrays, for one-time passwords (RFC 4226 §5.2). On such short messages, the stream objects of
// node:crypto take ten times as long, as with MD5 (md5.ts). The tests compare the results with node:crypto.

/** Octets of a SHA-1 digest. */
export const SHA1_OCTETS = 20;
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
