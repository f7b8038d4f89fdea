// Keys of Deno KV as octets that sort like the keys: a subset of the tuple layer of FoundationDB, as in denokv_proto/codec.rs.
// https://github.com/apple/foundationdb/blob/main/design/tuple.md

/** The first octet of each part. */
const TAGS = { bytes: 0x01, string: 0x02, zero: 0x14, double: 0x21, false: 0x26, true: 0x27 } as const;
/** A zero octet inside a part is followed by this octet, so that a single zero octet ends the part. */
const ESCAPE = 0xff;
const MAX_INTEGER_OCTETS = 8;
/** The store refuses keys of over 2,048 octets. */
const MAX_KEY_OCTETS = 2048;

const toUtf8 = new TextEncoder();
const fromUtf8 = new TextDecoder("utf-8", { fatal: true });
/** Keys are encoded here and then copied, because they are short and many. With room for what follows the last part. */
const scratch = new Uint8Array(MAX_KEY_OCTETS + 16);
const scratchView = new DataView(scratch.buffer);

/** @throws TypeError if the key is too long, or a part is a symbol or a bigint of more than 64 bits */
export function encodeKey(key: Deno.KvKey): Uint8Array<ArrayBuffer> {
  let at = 0;
  for (const part of key) {
    if (typeof part === "string") at = writeString(part, at);
    else if (typeof part === "number") at = writeDouble(part, at);
    else if (typeof part === "boolean") scratch[at++] = part ? TAGS.true : TAGS.false;
    else if (typeof part === "bigint") at = writeInteger(part, at);
    else if (typeof part === "symbol") throw new TypeError("Cannot encode a key: a part is a symbol");
    else at = writeEscaped(part, { tag: TAGS.bytes, at });
    if (at > MAX_KEY_OCTETS) throw tooLong();
  }
  return scratch.slice(0, at);
}

/** @throws TypeError if the octets are not those of a key */
export function decodeKey(octets: Uint8Array): Deno.KvKey {
  const parts: Deno.KvKeyPart[] = [];
  for (let at = 0; at < octets.length;) {
    const tag = octets[at++] as number;
    if (tag === TAGS.string || tag === TAGS.bytes) {
      const found = readEscaped(octets, at);
      parts.push(tag === TAGS.string ? fromUtf8.decode(found.value) : found.value);
      at = found.next;
    } else if (tag === TAGS.double) {
      parts.push(readDouble(octets, at));
      at += 8;
    } else if (tag === TAGS.true || tag === TAGS.false) {
      parts.push(tag === TAGS.true);
    } else {
      const length = Math.abs(tag - TAGS.zero);
      if (length > MAX_INTEGER_OCTETS) {
        throw new TypeError(`Cannot decode a key: its part has the tag ${tag}`);
      }
      if (at + length > octets.length) throw new TypeError("Cannot decode a key: a number has no end");
      parts.push(readInteger(octets.subarray(at, at + length), tag < TAGS.zero));
      at += length;
    }
  }
  return parts;
}

function tooLong(): TypeError {
  return new TypeError(`Cannot encode a key: it has over ${MAX_KEY_OCTETS} octets`);
}

function writeString(text: string, at: number): number {
  // A string with a zero is rare, and needs escapes.
  if (text.includes("\0")) return writeEscaped(toUtf8.encode(text), { tag: TAGS.string, at });
  scratch[at] = TAGS.string;
  const { read, written } = toUtf8.encodeInto(text, scratch.subarray(at + 1, MAX_KEY_OCTETS));
  if (read < text.length) throw tooLong();
  scratch[at + 1 + written] = 0;
  return at + written + 2;
}

function writeEscaped(value: Uint8Array, { tag, at }: { tag: number; at: number }): number {
  let end = at;
  scratch[end++] = tag;
  for (const octet of value) {
    if (end > MAX_KEY_OCTETS) throw tooLong();
    scratch[end++] = octet;
    if (octet === 0) scratch[end++] = ESCAPE;
  }
  scratch[end++] = 0;
  return end;
}

function readEscaped(octets: Uint8Array, from: number): { value: Uint8Array<ArrayBuffer>; next: number } {
  const value: number[] = [];
  for (let at = from;; at++) {
    const octet = octets[at];
    if (octet === undefined) throw new TypeError("Cannot decode a key: a part has no end");
    if (octet === 0) {
      if (octets[at + 1] !== ESCAPE) return { value: Uint8Array.from(value), next: at + 1 };
      at++;
    }
    value.push(octet);
  }
}

/** Big endian. Positive numbers have the sign bit set, and negative ones are inverted, so that the octets sort like the numbers. */
function writeDouble(value: number, at: number): number {
  scratch[at] = TAGS.double;
  scratchView.setFloat64(at + 1, value);
  flip(scratch.subarray(at + 1, at + 9), { isNegative: ((scratch[at + 1] as number) & 0x80) !== 0 });
  return at + 9;
}

function readDouble(octets: Uint8Array, at: number): number {
  const flipped = octets.slice(at, at + 8);
  if (flipped.length < 8) throw new TypeError("Cannot decode a key: a number has no end");
  flip(flipped, { isNegative: ((flipped[0] as number) & 0x80) === 0 });
  return new DataView(flipped.buffer).getFloat64(0);
}

function flip(octets: Uint8Array, { isNegative }: { isNegative: boolean }): void {
  if (isNegative) octets.forEach((octet, at) => octets[at] = octet ^ 0xff);
  else octets[0] = (octets[0] as number) ^ 0x80;
}

/** The tag has the number of octets. Negative numbers are inverted. */
function writeInteger(value: bigint, at: number): number {
  const magnitude: number[] = [];
  for (let rest = value < 0n ? -value : value; rest > 0n; rest >>= 8n) {
    magnitude.unshift(Number(rest & 0xffn));
  }
  if (magnitude.length > MAX_INTEGER_OCTETS) {
    throw new TypeError("Cannot encode a key: a bigint has over 64 bits");
  }
  scratch[at] = TAGS.zero + (value < 0n ? -magnitude.length : magnitude.length);
  scratch.set(magnitude.map((octet) => value < 0n ? octet ^ 0xff : octet), at + 1);
  return at + 1 + magnitude.length;
}

function readInteger(octets: Uint8Array, isNegative: boolean): bigint {
  let value = 0n;
  for (const octet of octets) value = value << 8n | BigInt(isNegative ? octet ^ 0xff : octet);
  return isNegative ? -value : value;
}
