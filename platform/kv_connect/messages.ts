// The messages of the KV Connect data path as Protocol Buffers (denokv_proto/schema/datapath.proto), and values in them.

import { Deserializer, Serializer } from "node:v8";

/** A range of keys: `start` is inclusive, `end` exclusive. */
export interface ReadRange {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
  readonly limit: number;
  readonly reverse: boolean;
}

export interface WireCheck {
  readonly key: Uint8Array;
  /** 20 hexadecimal digits; `null`: the key is absent. */
  readonly versionstamp: string | null;
}

export interface WireMutation {
  readonly key: Uint8Array;
  /** `null` deletes the key. */
  readonly value: WireValue | null;
  /** Milliseconds since the epoch; 0: never. */
  readonly expireAtMs: number;
}

interface WireValue {
  readonly octets: Uint8Array;
  readonly encoding: number;
}

export interface WireEntry {
  readonly key: Uint8Array;
  readonly value: unknown;
  readonly versionstamp: string;
}

/** `ValueEncoding` of the schema. */
const ENCODINGS = { v8: 1, le64: 2, bytes: 3 } as const;
/** `MutationType`. */
const MUTATIONS = { set: 1, delete: 2 } as const;
/** `SnapshotReadStatus` and `AtomicWriteStatus`. */
const READ_SUCCESS = 1;
const WRITE_STATUS = { success: 1, checkFailure: 2 } as const;

/** Wire types of Protocol Buffers. */
const VARINT = 0;
const LENGTH_DELIMITED = 2;

/** Octets of the length of a nested message. It is written before its value is known, as a varint with leading zero bits. */
const LENGTH_OCTETS = 4;

/** Appends fields to a buffer that grows. */
class MessageWriter {
  #octets = new Uint8Array(4096);
  #length = 0;

  integer(field: number, value: number): void {
    if (value === 0) return;
    this.#varint(field << 3 | VARINT);
    this.#varint(value);
  }

  bytes(field: number, value: Uint8Array): void {
    this.#varint(field << 3 | LENGTH_DELIMITED);
    this.#varint(value.length);
    this.#reserve(value.length);
    this.#octets.set(value, this.#length);
    this.#length += value.length;
  }

  /** Appends a nested message that `write` writes. */
  message(field: number, write: () => void): void {
    this.#varint(field << 3 | LENGTH_DELIMITED);
    this.#reserve(LENGTH_OCTETS);
    const start = this.#length += LENGTH_OCTETS;
    write();
    let rest = this.#length - start;
    for (let at = start - LENGTH_OCTETS; at < start; at++, rest >>= 7) {
      this.#octets[at] = rest & 0x7f | (at < start - 1 ? 0x80 : 0);
    }
  }

  finish(): Uint8Array<ArrayBuffer> {
    return this.#octets.subarray(0, this.#length);
  }

  /** Times in milliseconds have more than 32 bits, so no bit operations. */
  #varint(value: number): void {
    this.#reserve(10);
    let rest = value;
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) this.#octets[this.#length++] = rest % 128 | 0x80;
    this.#octets[this.#length++] = rest;
  }

  #reserve(octets: number): void {
    if (this.#length + octets <= this.#octets.length) return;
    const larger = new Uint8Array(Math.max(this.#octets.length * 2, this.#length + octets));
    larger.set(this.#octets);
    this.#octets = larger;
  }
}

export function encodeSnapshotRead(ranges: readonly ReadRange[]): Uint8Array<ArrayBuffer> {
  const message = new MessageWriter();
  for (const { start, end, limit, reverse } of ranges) {
    message.message(1, () => {
      message.bytes(1, start);
      message.bytes(2, end);
      message.integer(3, limit);
      message.integer(4, reverse ? 1 : 0);
    });
  }
  return message.finish();
}

export function encodeAtomicWrite(
  checks: readonly WireCheck[],
  mutations: readonly WireMutation[],
): Uint8Array<ArrayBuffer> {
  const message = new MessageWriter();
  for (const { key, versionstamp } of checks) {
    message.message(1, () => {
      message.bytes(1, key);
      if (versionstamp !== null) message.bytes(2, Uint8Array.fromHex(versionstamp));
    });
  }
  for (const { key, value, expireAtMs } of mutations) {
    message.message(2, () => {
      message.bytes(1, key);
      if (value !== null) {
        message.message(2, () => {
          message.bytes(1, value.octets);
          message.integer(2, value.encoding);
        });
      }
      message.integer(3, value === null ? MUTATIONS.delete : MUTATIONS.set);
      message.integer(4, expireAtMs);
    });
  }
  return message.finish();
}

export function encodeWatch(keys: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const message = new MessageWriter();
  for (const key of keys) message.message(1, () => message.bytes(1, key));
  return message.finish();
}

/** Reads fields. @throws TypeError if the octets are no message */
function* fieldsOf(octets: Uint8Array): Iterable<{ field: number; number: number; bytes: Uint8Array }> {
  let at = 0;
  const varint = (): number => {
    for (let value = 0, factor = 1;; factor *= 128) {
      const octet = octets[at++];
      if (octet === undefined) throw new TypeError("Cannot decode an answer of the store: it is cut off");
      value += (octet & 0x7f) * factor;
      if (octet < 0x80) return value;
    }
  };
  while (at < octets.length) {
    const tag = varint();
    const field = tag >> 3;
    if ((tag & 7) === VARINT) {
      yield { field, number: varint(), bytes: octets.subarray(0, 0) };
    } else if ((tag & 7) === LENGTH_DELIMITED) {
      const length = varint();
      if (at + length > octets.length) {
        throw new TypeError("Cannot decode an answer of the store: it is cut off");
      }
      yield { field, number: 0, bytes: octets.subarray(at, at + length) };
      at += length;
    } else throw new TypeError(`Cannot decode an answer of the store: a field has the wire type ${tag & 7}`);
  }
}

/** The entries of each range. @throws TypeError if the answer is no message, or if the server could not read */
export function decodeSnapshotReadOutput(octets: Uint8Array): WireEntry[][] {
  const ranges: WireEntry[][] = [];
  let status = READ_SUCCESS;
  let isDisabled = false;
  let isConsistent = false;
  for (const { field, number, bytes } of fieldsOf(octets)) {
    if (field === 1) ranges.push([...fieldsOf(bytes)].map((entry) => decodeEntry(entry.bytes)));
    else if (field === 2) isDisabled = number !== 0;
    else if (field === 4) isConsistent = number !== 0;
    else if (field === 8) status = number;
  }
  if (isDisabled || !isConsistent || status !== READ_SUCCESS) {
    throw new TypeError("Cannot read from this endpoint of the store");
  }
  return ranges;
}

function decodeEntry(octets: Uint8Array): WireEntry {
  let key: Uint8Array = octets.subarray(0, 0);
  let value = key;
  let encoding = 0;
  let versionstamp = "";
  for (const { field, number, bytes } of fieldsOf(octets)) {
    if (field === 1) key = bytes;
    else if (field === 2) value = bytes;
    else if (field === 3) encoding = number;
    else if (field === 4) versionstamp = bytes.toHex();
  }
  return { key, value: decodeValue({ octets: value, encoding }), versionstamp };
}

/** The versionstamp of the commit; `null` if a check failed. @throws TypeError if the answer is no message, or another failure */
export function decodeAtomicWriteOutput(octets: Uint8Array): string | null {
  let status = 0;
  let versionstamp = "";
  for (const { field, number, bytes } of fieldsOf(octets)) {
    if (field === 1) status = number;
    else if (field === 2) versionstamp = bytes.toHex();
  }
  if (status === WRITE_STATUS.success) return versionstamp;
  if (status === WRITE_STATUS.checkFailure) return null;
  throw new TypeError(`Cannot write to this endpoint of the store: status ${status}`);
}

/** A value as Deno KV stores it. @throws a DataCloneError if it cannot be stored, such as a function */
export function encodeValue(value: unknown): WireValue {
  if (value instanceof Uint8Array) return { octets: value, encoding: ENCODINGS.bytes };
  // Not serialize() of node:v8: its form of a Uint8Array inside a value is one that Deno KV does not read.
  const serializer = new Serializer();
  serializer.writeHeader();
  serializer.writeValue(value);
  return { octets: serializer.releaseBuffer(), encoding: ENCODINGS.v8 };
}

function decodeValue({ octets, encoding }: WireValue): unknown {
  // A copy, because the octets are a view of the whole answer.
  if (encoding === ENCODINGS.bytes) return octets.slice();
  if (encoding === ENCODINGS.le64) {
    return new Deno.KvU64(new DataView(octets.buffer, octets.byteOffset, 8).getBigUint64(0, true));
  }
  if (encoding !== ENCODINGS.v8) throw new TypeError(`Cannot decode a value: its encoding is ${encoding}`);
  const deserializer = new Deserializer(octets);
  deserializer.readHeader();
  return deserializer.readValue();
}
