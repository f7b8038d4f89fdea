// MD5 and HMAC-MD5 (RFC 1321, RFC 2104) over typed arrays. RADIUS requires them (RFC 2865 §3, RFC 3579 §3.2), and they take most of the time of a
// packet. On such short messages, the runtime's own hash objects are 20 to 40 times slower, because each call crosses into native code several
// times. The tests compare the results with node:crypto.

/** Octets of an MD5 digest. */
export const MD5_OCTETS = 16;
const BLOCK_OCTETS = 64;

const tail = new Uint8Array(2 * BLOCK_OCTETS);
const work = new Int32Array(4);

/** Sets `state` to the initial value of RFC 1321 §3.3. */
function reset(state: Int32Array): void {
  state[0] = 0x67452301;
  state[1] = 0xefcdab89 | 0;
  state[2] = 0x98badcfe | 0;
  state[3] = 0x10325476;
}

/**
 * The MD5 digest of `lengthOctets` octets of `data` from `at`, written to `out` at `outAt`.
 * `out` may be `data` itself, because it is written last.
 */
export function md5Into(
  data: Uint8Array,
  at: number,
  lengthOctets: number,
  out: Uint8Array,
  outAt: number,
): void {
  reset(work);
  finish(work, { data, at, lengthOctets, before: 0 }, out, outAt);
}

/** The MD5 digest of `data`. */
export function md5(data: Uint8Array): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(MD5_OCTETS);
  md5Into(data, 0, data.length, out, 0);
  return out;
}

interface Part {
  readonly data: Uint8Array;
  readonly at: number;
  readonly lengthOctets: number;
  /** Octets that went into the state before this part: a multiple of 64. */
  readonly before: number;
}

function finish(state: Int32Array, part: Part, out: Uint8Array, outAt: number): void {
  const { data, at, lengthOctets } = part;
  const end = at + lengthOctets;
  let from = at;
  for (; from + BLOCK_OCTETS <= end; from += BLOCK_OCTETS) compress(state, data, from);
  const rest = end - from;
  for (let i = 0; i < rest; i++) tail[i] = data[from + i] as number;
  tail[rest] = 0x80;
  const total = rest < 56 ? BLOCK_OCTETS : 2 * BLOCK_OCTETS;
  // For so few octets, a loop is faster than a call of fill().
  for (let i = rest + 1; i < total; i++) tail[i] = 0;
  const bits = (part.before + lengthOctets) * 8;
  tail[total - 8] = bits;
  tail[total - 7] = bits >>> 8;
  tail[total - 6] = bits >>> 16;
  tail[total - 5] = bits >>> 24;
  tail[total - 4] = Math.floor(bits / 0x100000000);
  compress(state, tail, 0);
  if (total > BLOCK_OCTETS) compress(state, tail, BLOCK_OCTETS);
  for (let word = 0; word < 4; word++) {
    const value = state[word] as number;
    const to = outAt + word * 4;
    out[to] = value;
    out[to + 1] = value >>> 8;
    out[to + 2] = value >>> 16;
    out[to + 3] = value >>> 24;
  }
}

/** HMAC-MD5 under one key, whose inner and outer state are computed once. */
export interface HmacMd5 {
  /** Writes the 16 octets of the code over `lengthOctets` octets of `data` from `at` to `out` at `outAt`. */
  signInto(data: Uint8Array, at: number, lengthOctets: number, out: Uint8Array, outAt: number): void;
}

/** @param key any length; longer than 64 octets it is hashed first (RFC 2104 §2). */
export function createHmacMd5(key: Uint8Array): HmacMd5 {
  const short = key.length > BLOCK_OCTETS ? md5(key) : key;
  const inner = paddedState(short, 0x36);
  const outer = paddedState(short, 0x5c);
  const digest = new Uint8Array(MD5_OCTETS);
  return {
    signInto(data, at, lengthOctets, out, outAt) {
      assignState(work, inner);
      finish(work, { data, at, lengthOctets, before: BLOCK_OCTETS }, digest, 0);
      assignState(work, outer);
      finish(work, { data: digest, at: 0, lengthOctets: MD5_OCTETS, before: BLOCK_OCTETS }, out, outAt);
    },
  };
}

function assignState(target: Int32Array, source: Int32Array): void {
  for (let i = 0; i < 4; i++) target[i] = source[i] as number;
}

function paddedState(key: Uint8Array, pad: number): Int32Array {
  const block = new Uint8Array(BLOCK_OCTETS).fill(pad);
  for (const [i, octet] of key.entries()) block[i] = octet ^ pad;
  const state = new Int32Array(4);
  reset(state);
  compress(state, block, 0);
  return state;
}

/** The sixteen words of the current block. */
const words = new Int32Array(16);

/** Adds one block of 64 octets to the state (RFC 1321 §3.4). */
function compress(state: Int32Array, data: Uint8Array, at: number): void {
  for (let word = 0, from = at; word < 16; word++, from += 4) {
    words[word] = (data[from] as number) | ((data[from + 1] as number) << 8) |
      ((data[from + 2] as number) << 16) | ((data[from + 3] as number) << 24);
  }
  const a = state[0] as number, b = state[1] as number, c = state[2] as number, d = state[3] as number;
  firstRound(state);
  secondRound(state);
  thirdRound(state);
  fourthRound(state);
  state[0] = (state[0] as number) + a;
  state[1] = (state[1] as number) + b;
  state[2] = (state[2] as number) + c;
  state[3] = (state[3] as number) + d;
}

// The four rounds, 16 steps each, are unrolled: a loop over tables takes three times as long.

// deno-fmt-ignore
function firstRound(state: Int32Array): void {
  let a = state[0] as number, b = state[1] as number, c = state[2] as number, d = state[3] as number;
  a = (a + (((c ^ d) & b) ^ d) + (words[0] as number) - 0x28955b88) | 0;
  a = (((a << 7) | (a >>> 25)) + b) | 0;
  d = (d + (((b ^ c) & a) ^ c) + (words[1] as number) - 0x173848aa) | 0;
  d = (((d << 12) | (d >>> 20)) + a) | 0;
  c = (c + (((a ^ b) & d) ^ b) + (words[2] as number) + 0x242070db) | 0;
  c = (((c << 17) | (c >>> 15)) + d) | 0;
  b = (b + (((d ^ a) & c) ^ a) + (words[3] as number) - 0x3e423112) | 0;
  b = (((b << 22) | (b >>> 10)) + c) | 0;
  a = (a + (((c ^ d) & b) ^ d) + (words[4] as number) - 0xa83f051) | 0;
  a = (((a << 7) | (a >>> 25)) + b) | 0;
  d = (d + (((b ^ c) & a) ^ c) + (words[5] as number) + 0x4787c62a) | 0;
  d = (((d << 12) | (d >>> 20)) + a) | 0;
  c = (c + (((a ^ b) & d) ^ b) + (words[6] as number) - 0x57cfb9ed) | 0;
  c = (((c << 17) | (c >>> 15)) + d) | 0;
  b = (b + (((d ^ a) & c) ^ a) + (words[7] as number) - 0x2b96aff) | 0;
  b = (((b << 22) | (b >>> 10)) + c) | 0;
  a = (a + (((c ^ d) & b) ^ d) + (words[8] as number) + 0x698098d8) | 0;
  a = (((a << 7) | (a >>> 25)) + b) | 0;
  d = (d + (((b ^ c) & a) ^ c) + (words[9] as number) - 0x74bb0851) | 0;
  d = (((d << 12) | (d >>> 20)) + a) | 0;
  c = (c + (((a ^ b) & d) ^ b) + (words[10] as number) - 0xa44f) | 0;
  c = (((c << 17) | (c >>> 15)) + d) | 0;
  b = (b + (((d ^ a) & c) ^ a) + (words[11] as number) - 0x76a32842) | 0;
  b = (((b << 22) | (b >>> 10)) + c) | 0;
  a = (a + (((c ^ d) & b) ^ d) + (words[12] as number) + 0x6b901122) | 0;
  a = (((a << 7) | (a >>> 25)) + b) | 0;
  d = (d + (((b ^ c) & a) ^ c) + (words[13] as number) - 0x2678e6d) | 0;
  d = (((d << 12) | (d >>> 20)) + a) | 0;
  c = (c + (((a ^ b) & d) ^ b) + (words[14] as number) - 0x5986bc72) | 0;
  c = (((c << 17) | (c >>> 15)) + d) | 0;
  b = (b + (((d ^ a) & c) ^ a) + (words[15] as number) + 0x49b40821) | 0;
  b = (((b << 22) | (b >>> 10)) + c) | 0;
  state[0] = a;
  state[1] = b;
  state[2] = c;
  state[3] = d;
}

// deno-fmt-ignore
function secondRound(state: Int32Array): void {
  let a = state[0] as number, b = state[1] as number, c = state[2] as number, d = state[3] as number;
  a = (a + (((b ^ c) & d) ^ c) + (words[1] as number) - 0x9e1da9e) | 0;
  a = (((a << 5) | (a >>> 27)) + b) | 0;
  d = (d + (((a ^ b) & c) ^ b) + (words[6] as number) - 0x3fbf4cc0) | 0;
  d = (((d << 9) | (d >>> 23)) + a) | 0;
  c = (c + (((d ^ a) & b) ^ a) + (words[11] as number) + 0x265e5a51) | 0;
  c = (((c << 14) | (c >>> 18)) + d) | 0;
  b = (b + (((c ^ d) & a) ^ d) + (words[0] as number) - 0x16493856) | 0;
  b = (((b << 20) | (b >>> 12)) + c) | 0;
  a = (a + (((b ^ c) & d) ^ c) + (words[5] as number) - 0x29d0efa3) | 0;
  a = (((a << 5) | (a >>> 27)) + b) | 0;
  d = (d + (((a ^ b) & c) ^ b) + (words[10] as number) + 0x2441453) | 0;
  d = (((d << 9) | (d >>> 23)) + a) | 0;
  c = (c + (((d ^ a) & b) ^ a) + (words[15] as number) - 0x275e197f) | 0;
  c = (((c << 14) | (c >>> 18)) + d) | 0;
  b = (b + (((c ^ d) & a) ^ d) + (words[4] as number) - 0x182c0438) | 0;
  b = (((b << 20) | (b >>> 12)) + c) | 0;
  a = (a + (((b ^ c) & d) ^ c) + (words[9] as number) + 0x21e1cde6) | 0;
  a = (((a << 5) | (a >>> 27)) + b) | 0;
  d = (d + (((a ^ b) & c) ^ b) + (words[14] as number) - 0x3cc8f82a) | 0;
  d = (((d << 9) | (d >>> 23)) + a) | 0;
  c = (c + (((d ^ a) & b) ^ a) + (words[3] as number) - 0xb2af279) | 0;
  c = (((c << 14) | (c >>> 18)) + d) | 0;
  b = (b + (((c ^ d) & a) ^ d) + (words[8] as number) + 0x455a14ed) | 0;
  b = (((b << 20) | (b >>> 12)) + c) | 0;
  a = (a + (((b ^ c) & d) ^ c) + (words[13] as number) - 0x561c16fb) | 0;
  a = (((a << 5) | (a >>> 27)) + b) | 0;
  d = (d + (((a ^ b) & c) ^ b) + (words[2] as number) - 0x3105c08) | 0;
  d = (((d << 9) | (d >>> 23)) + a) | 0;
  c = (c + (((d ^ a) & b) ^ a) + (words[7] as number) + 0x676f02d9) | 0;
  c = (((c << 14) | (c >>> 18)) + d) | 0;
  b = (b + (((c ^ d) & a) ^ d) + (words[12] as number) - 0x72d5b376) | 0;
  b = (((b << 20) | (b >>> 12)) + c) | 0;
  state[0] = a;
  state[1] = b;
  state[2] = c;
  state[3] = d;
}

// deno-fmt-ignore
function thirdRound(state: Int32Array): void {
  let a = state[0] as number, b = state[1] as number, c = state[2] as number, d = state[3] as number;
  a = (a + (b ^ c ^ d) + (words[5] as number) - 0x5c6be) | 0;
  a = (((a << 4) | (a >>> 28)) + b) | 0;
  d = (d + (a ^ b ^ c) + (words[8] as number) - 0x788e097f) | 0;
  d = (((d << 11) | (d >>> 21)) + a) | 0;
  c = (c + (d ^ a ^ b) + (words[11] as number) + 0x6d9d6122) | 0;
  c = (((c << 16) | (c >>> 16)) + d) | 0;
  b = (b + (c ^ d ^ a) + (words[14] as number) - 0x21ac7f4) | 0;
  b = (((b << 23) | (b >>> 9)) + c) | 0;
  a = (a + (b ^ c ^ d) + (words[1] as number) - 0x5b4115bc) | 0;
  a = (((a << 4) | (a >>> 28)) + b) | 0;
  d = (d + (a ^ b ^ c) + (words[4] as number) + 0x4bdecfa9) | 0;
  d = (((d << 11) | (d >>> 21)) + a) | 0;
  c = (c + (d ^ a ^ b) + (words[7] as number) - 0x944b4a0) | 0;
  c = (((c << 16) | (c >>> 16)) + d) | 0;
  b = (b + (c ^ d ^ a) + (words[10] as number) - 0x41404390) | 0;
  b = (((b << 23) | (b >>> 9)) + c) | 0;
  a = (a + (b ^ c ^ d) + (words[13] as number) + 0x289b7ec6) | 0;
  a = (((a << 4) | (a >>> 28)) + b) | 0;
  d = (d + (a ^ b ^ c) + (words[0] as number) - 0x155ed806) | 0;
  d = (((d << 11) | (d >>> 21)) + a) | 0;
  c = (c + (d ^ a ^ b) + (words[3] as number) - 0x2b10cf7b) | 0;
  c = (((c << 16) | (c >>> 16)) + d) | 0;
  b = (b + (c ^ d ^ a) + (words[6] as number) + 0x4881d05) | 0;
  b = (((b << 23) | (b >>> 9)) + c) | 0;
  a = (a + (b ^ c ^ d) + (words[9] as number) - 0x262b2fc7) | 0;
  a = (((a << 4) | (a >>> 28)) + b) | 0;
  d = (d + (a ^ b ^ c) + (words[12] as number) - 0x1924661b) | 0;
  d = (((d << 11) | (d >>> 21)) + a) | 0;
  c = (c + (d ^ a ^ b) + (words[15] as number) + 0x1fa27cf8) | 0;
  c = (((c << 16) | (c >>> 16)) + d) | 0;
  b = (b + (c ^ d ^ a) + (words[2] as number) - 0x3b53a99b) | 0;
  b = (((b << 23) | (b >>> 9)) + c) | 0;
  state[0] = a;
  state[1] = b;
  state[2] = c;
  state[3] = d;
}

// deno-fmt-ignore
function fourthRound(state: Int32Array): void {
  let a = state[0] as number, b = state[1] as number, c = state[2] as number, d = state[3] as number;
  a = (a + (c ^ (b | ~d)) + (words[0] as number) - 0xbd6ddbc) | 0;
  a = (((a << 6) | (a >>> 26)) + b) | 0;
  d = (d + (b ^ (a | ~c)) + (words[7] as number) + 0x432aff97) | 0;
  d = (((d << 10) | (d >>> 22)) + a) | 0;
  c = (c + (a ^ (d | ~b)) + (words[14] as number) - 0x546bdc59) | 0;
  c = (((c << 15) | (c >>> 17)) + d) | 0;
  b = (b + (d ^ (c | ~a)) + (words[5] as number) - 0x36c5fc7) | 0;
  b = (((b << 21) | (b >>> 11)) + c) | 0;
  a = (a + (c ^ (b | ~d)) + (words[12] as number) + 0x655b59c3) | 0;
  a = (((a << 6) | (a >>> 26)) + b) | 0;
  d = (d + (b ^ (a | ~c)) + (words[3] as number) - 0x70f3336e) | 0;
  d = (((d << 10) | (d >>> 22)) + a) | 0;
  c = (c + (a ^ (d | ~b)) + (words[10] as number) - 0x100b83) | 0;
  c = (((c << 15) | (c >>> 17)) + d) | 0;
  b = (b + (d ^ (c | ~a)) + (words[1] as number) - 0x7a7ba22f) | 0;
  b = (((b << 21) | (b >>> 11)) + c) | 0;
  a = (a + (c ^ (b | ~d)) + (words[8] as number) + 0x6fa87e4f) | 0;
  a = (((a << 6) | (a >>> 26)) + b) | 0;
  d = (d + (b ^ (a | ~c)) + (words[15] as number) - 0x1d31920) | 0;
  d = (((d << 10) | (d >>> 22)) + a) | 0;
  c = (c + (a ^ (d | ~b)) + (words[6] as number) - 0x5cfebcec) | 0;
  c = (((c << 15) | (c >>> 17)) + d) | 0;
  b = (b + (d ^ (c | ~a)) + (words[13] as number) + 0x4e0811a1) | 0;
  b = (((b << 21) | (b >>> 11)) + c) | 0;
  a = (a + (c ^ (b | ~d)) + (words[4] as number) - 0x8ac817e) | 0;
  a = (((a << 6) | (a >>> 26)) + b) | 0;
  d = (d + (b ^ (a | ~c)) + (words[11] as number) - 0x42c50dcb) | 0;
  d = (((d << 10) | (d >>> 22)) + a) | 0;
  c = (c + (a ^ (d | ~b)) + (words[2] as number) + 0x2ad7d2bb) | 0;
  c = (((c << 15) | (c >>> 17)) + d) | 0;
  b = (b + (d ^ (c | ~a)) + (words[9] as number) - 0x14792c6f) | 0;
  b = (((b << 21) | (b >>> 11)) + c) | 0;
  state[0] = a;
  state[1] = b;
  state[2] = c;
  state[3] = d;
}
