// The records of a backup, entries of the store and changes that happened while they were read, and their encoding.

import { Deserializer, Serializer } from "node:v8";

// Cursors over octets: a buffer that grows, and a reader that cannot run past the end.

/** The backup cannot be used; `message` says why, without the name of the file. */
export class BackupFault extends Error {}

const FIRST_OCTETS = 1 << 16;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class OctetWriter {
  #buffer = new Uint8Array(FIRST_OCTETS);
  #view = new DataView(this.#buffer.buffer);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Removes everything after the first `length` octets. */
  truncate(length: number): void {
    this.#length = Math.min(this.#length, length);
  }

  octet(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#length++] = value;
  }

  /** A whole number from 0 to 2^53 - 1: seven bits per octet, lowest first. */
  count(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.#length++] = rest;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#length, value);
    this.#length += 8;
  }

  octets(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
  }

  /** The length and the text in UTF-8. */
  text(value: string): void {
    // Short texts fit without a second pass, because their length has one octet.
    if (value.length * 3 < 0x80) {
      this.#reserve(1 + value.length * 3);
      const { written } = encoder.encodeInto(value, this.#buffer.subarray(this.#length + 1));
      this.#buffer[this.#length] = written;
      this.#length += 1 + written;
    } else {
      const octets = encoder.encode(value);
      this.count(octets.length);
      this.octets(octets);
    }
  }

  /** Everything that was written, as a copy; the writer is empty then. */
  take(): Uint8Array<ArrayBuffer> {
    const octets = this.#buffer.slice(0, this.#length);
    this.#length = 0;
    return octets;
  }

  #reserve(octets: number): void {
    if (this.#length + octets <= this.#buffer.length) return;
    const larger = new Uint8Array(Math.max(this.#buffer.length * 2, this.#length + octets));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
    this.#view = new DataView(larger.buffer);
  }
}

export class OctetReader {
  readonly #octets: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(octets: Uint8Array) {
    this.#octets = octets;
    this.#view = new DataView(octets.buffer, octets.byteOffset, octets.length);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#octets.length;
  }

  octet(): number {
    return this.octets(1)[0] ?? 0;
  }

  count(): number {
    let value = 0;
    let factor = 1;
    for (let length = 0; length < 8; length++) {
      const octet = this.octet();
      value += (octet & 0x7f) * factor;
      if (octet < 0x80) return value;
      factor *= 0x80;
    }
    throw new BackupFault("a number is too long");
  }

  /** A count of items that follow, of at least one octet each. */
  items(): number {
    const count = this.count();
    if (count > this.#octets.length - this.#at) throw new BackupFault("a value is longer than its block");
    return count;
  }

  double(): number {
    const at = this.#at;
    this.octets(8);
    return this.#view.getFloat64(at);
  }

  octets(length: number): Uint8Array {
    if (length > this.#octets.length - this.#at) throw new BackupFault("a value is longer than its block");
    this.#at += length;
    return this.#octets.subarray(this.#at - length, this.#at);
  }

  text(): string {
    const octets = this.octets(this.count());
    try {
      return decoder.decode(octets);
    } catch (fault) {
      throw new BackupFault("a text is not UTF-8", { cause: fault });
    }
  }
}

// The encoding of keys and values in a backup. Common values have a compact form that no runtime defines; every other value that Deno KV
// accepts (errors, regular expressions, cycles) is in V8's format for structured clones.

const TAGS = {
  undefined: 0,
  null: 1,
  false: 2,
  true: 3,
  /** A whole number of 32 bits, zigzag. */
  integer: 4,
  number: 5,
  text: 6,
  /** Text with lone surrogates, which UTF-8 cannot contain. */
  utf16: 7,
  bigint: 8,
  octets: 9,
  list: 10,
  object: 11,
  map: 12,
  set: 13,
  date: 14,
  u64: 15,
  clone: 16,
} as const;

const MAX_DEPTH = 64;
/** Deno KV accepts values of 64 KiB. An object that contains another one many times can be larger in this form. */
const MAX_VALUE_OCTETS = 1 << 20;

/** The value has no compact form. */
class NoCompactForm extends Error {}

/** Writes a value of any type that Deno KV stores. */
export function writeValue(writer: OctetWriter, value: unknown): void {
  const start = writer.length;
  try {
    writeCompact(writer, value, { start, depth: 0 });
  } catch (fault) {
    if (!(fault instanceof NoCompactForm)) throw fault;
    writer.truncate(start);
    // Not serialize() of node:v8: what it writes of a typed array is read as a view of the whole block, and Deno KV would store that block.
    const serializer = new Serializer();
    serializer.writeHeader();
    serializer.writeValue(value);
    const octets = serializer.releaseBuffer();
    writer.octet(TAGS.clone);
    writer.count(octets.length);
    writer.octets(octets);
  }
}

/** Writes the parts of a key: octets, texts, numbers, bigints and booleans. */
export function writeKey(writer: OctetWriter, key: Deno.KvKey): void {
  writer.count(key.length);
  for (const part of key) writeValue(writer, part);
}

/** @throws BackupFault if the octets are not a key */
export function readKey(reader: OctetReader): Deno.KvKey {
  const parts: Deno.KvKeyPart[] = [];
  for (let left = reader.count(); left > 0; left--) {
    const part = readValue(reader);
    if (!isKeyPart(part)) throw new BackupFault("a key has a part that no key can have");
    parts.push(part);
  }
  return parts;
}

function isKeyPart(part: unknown): part is Deno.KvKeyPart {
  return part instanceof Uint8Array || ["string", "number", "bigint", "boolean"].includes(typeof part);
}

interface Place {
  readonly start: number;
  readonly depth: number;
}

function writeCompact(writer: OctetWriter, value: unknown, place: Place): void {
  switch (typeof value) {
    case "undefined":
      return writer.octet(TAGS.undefined);
    case "boolean":
      return writer.octet(value ? TAGS.true : TAGS.false);
    case "number":
      return writeNumber(writer, value);
    case "string":
      return writeText(writer, value);
    case "bigint":
      writer.octet(TAGS.bigint);
      return writer.text(value.toString(36));
    case "object":
      if (value === null) return writer.octet(TAGS.null);
      if (place.depth >= MAX_DEPTH || writer.length - place.start > MAX_VALUE_OCTETS) {
        throw new NoCompactForm();
      }
      return writeObject(writer, value, { start: place.start, depth: place.depth + 1 });
    default:
      throw new NoCompactForm();
  }
}

function writeNumber(writer: OctetWriter, value: number): void {
  if ((value | 0) === value && !Object.is(value, -0)) {
    writer.octet(TAGS.integer);
    writer.count(((value << 1) ^ (value >> 31)) >>> 0);
  } else {
    writer.octet(TAGS.number);
    writer.double(value);
  }
}

function writeText(writer: OctetWriter, text: string): void {
  if (text.isWellFormed()) {
    writer.octet(TAGS.text);
    writer.text(text);
    return;
  }
  writer.octet(TAGS.utf16);
  writer.count(text.length);
  for (let at = 0; at < text.length; at++) writer.count(text.charCodeAt(at));
}

function writeObject(writer: OctetWriter, value: object, place: Place): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  const write = (one: unknown) => writeCompact(writer, one, place);
  if (prototype === Object.prototype) {
    const entries = Object.entries(value);
    writer.octet(TAGS.object);
    writer.count(entries.length);
    for (const [name, one] of entries) {
      writeText(writer, name);
      write(one);
    }
  } else if (value instanceof Uint8Array && prototype === Uint8Array.prototype) {
    writer.octet(TAGS.octets);
    writer.count(value.length);
    writer.octets(value);
  } else if (Array.isArray(value) && Object.keys(value).length === value.length) {
    writer.octet(TAGS.list);
    writer.count(value.length);
    value.forEach(write);
  } else if (value instanceof Map) {
    writer.octet(TAGS.map);
    writer.count(value.size);
    for (const pair of value) pair.forEach(write);
  } else if (value instanceof Set) {
    writer.octet(TAGS.set);
    writer.count(value.size);
    value.forEach(write);
  } else if (value instanceof Date) {
    writer.octet(TAGS.date);
    writer.double(value.getTime());
  } else if (value instanceof Deno.KvU64) {
    writer.octet(TAGS.u64);
    writer.text(value.value.toString(36));
  } else throw new NoCompactForm();
}

/** @throws BackupFault if the octets are not a value */
export function readValue(reader: OctetReader, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new BackupFault("a value is nested too deeply");
  const next = () => readValue(reader, depth + 1);
  const tag = reader.octet();
  switch (tag) {
    case TAGS.undefined:
      return undefined;
    case TAGS.null:
      return null;
    case TAGS.false:
      return false;
    case TAGS.true:
      return true;
    case TAGS.integer: {
      const zigzag = reader.count();
      return (zigzag >>> 1) ^ -(zigzag & 1);
    }
    case TAGS.number:
      return reader.double();
    case TAGS.text:
      return reader.text();
    case TAGS.utf16:
      return Array.from({ length: reader.items() }, () => String.fromCharCode(reader.count())).join("");
    case TAGS.bigint:
      return readBigint(reader);
    case TAGS.octets:
      return reader.octets(reader.count()).slice();
    case TAGS.list:
      return Array.from({ length: reader.items() }, next);
    case TAGS.object:
      return readObject(reader, next);
    case TAGS.map:
      return new Map(Array.from({ length: reader.items() }, () => [next(), next()] as const));
    case TAGS.set:
      return new Set(Array.from({ length: reader.items() }, next));
    case TAGS.date:
      return new Date(reader.double());
    case TAGS.u64:
      return new Deno.KvU64(readBigint(reader));
    case TAGS.clone:
      return readClone(reader);
    default:
      throw new BackupFault(`a value has the unknown type ${tag}`);
  }
}

const DATA_PROPERTY = { writable: true, enumerable: true, configurable: true } as const;

function readObject(reader: OctetReader, next: () => unknown): object {
  const object: Record<string, unknown> = {};
  for (let left = reader.items(); left > 0; left--) {
    const name = String(next());
    const value = next();
    // An assignment would set the prototype.
    if (name === "__proto__") Object.defineProperty(object, name, { ...DATA_PROPERTY, value });
    else object[name] = value;
  }
  return object;
}

function readBigint(reader: OctetReader): bigint {
  const [, sign, digits = ""] = /^(-?)([0-9a-z]+)$/.exec(reader.text()) ?? [];
  if (digits === "") throw new BackupFault("a number has no digits");
  let value = 0n;
  for (const digit of digits) value = value * 36n + BigInt(Number.parseInt(digit, 36));
  return sign === "-" ? -value : value;
}

function readClone(reader: OctetReader): unknown {
  const octets = reader.octets(reader.count());
  try {
    const deserializer = new Deserializer(octets);
    deserializer.readHeader();
    return deserializer.readValue();
  } catch (fault) {
    throw new BackupFault("a value in V8's format cannot be read by this version of the runtime", {
      cause: fault,
    });
  }
}

/** The records of a backup, applied in their order, result in the store. */
export type BackupRecord =
  | {
    readonly kind: "set";
    readonly key: Deno.KvKey;
    readonly value: unknown;
    /** When the entry expires (milliseconds since the epoch), or `null`. */
    readonly expiresAtMs: number | null;
  }
  | { readonly kind: "delete"; readonly key: Deno.KvKey };

const KINDS = { set: 1, setUntil: 2, delete: 3 } as const;

export function writeRecord(writer: OctetWriter, record: BackupRecord): void {
  if (record.kind === "delete") {
    writer.octet(KINDS.delete);
    writeKey(writer, record.key);
    return;
  }
  const { key, value, expiresAtMs } = record;
  writer.octet(expiresAtMs === null ? KINDS.set : KINDS.setUntil);
  if (expiresAtMs !== null) writer.count(Math.max(0, Math.floor(expiresAtMs)));
  writeKey(writer, key);
  writeValue(writer, value);
}

/** All records of a block, with their size. @throws BackupFault if it contains anything else */
export function* readRecords(octets: Uint8Array): Generator<BackupRecord> {
  const reader = new OctetReader(octets);
  while (!reader.isAtEnd) yield readRecord(reader);
}

function readRecord(reader: OctetReader): BackupRecord {
  const kind = reader.octet();
  switch (kind) {
    case KINDS.delete:
      return { kind: "delete", key: readKey(reader) };
    case KINDS.set:
      return { kind: "set", expiresAtMs: null, key: readKey(reader), value: readValue(reader) };
    case KINDS.setUntil: {
      const expiresAtMs = reader.count();
      return { kind: "set", expiresAtMs, key: readKey(reader), value: readValue(reader) };
    }
    default:
      throw new BackupFault(`a record has the unknown kind ${kind}`);
  }
}

/** The first part of a key, as text: the table that the entry belongs to. */
export function tableOf([first = ""]: Deno.KvKey): string {
  return typeof first === "string" ? first : String(first);
}

// Keys that no backup contains: markers of backups and restores, and the records of running nodes.

/** The key of the marker of an incomplete restore. Its value is the time of the restore. */
export const RESTORE_MARKER: Deno.KvKey = ["restore"];
/** The key of a value whose versionstamp orders the changes during a backup. It expires. */
export const BACKUP_MARKER: Deno.KvKey = ["backup"];
/** The records of running nodes, rewritten every second. */
export const NODE_PREFIX: Deno.KvKey = ["node"];

/** First parts of keys. Change logs and leases belong to runs of nodes, which a restore does not continue. */
const TRANSIENT: ReadonlySet<unknown> = new Set([
  ...RESTORE_MARKER,
  ...BACKUP_MARKER,
  ...NODE_PREFIX,
  "change",
  "change_head",
  "lease",
  "lease_wanted",
]);

export function isTransient([table]: Deno.KvKey): boolean {
  return TRANSIENT.has(table);
}
