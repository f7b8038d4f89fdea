// A client of KV Connect with the interface of Deno.Kv, for store.kv. In contrast to that of the runtime (Deno 2.9.6), it never sends a
// write twice, ends its calls when it is closed, writes nothing to stderr, and sets TCP_NODELAY (endpoint.ts).

import { StoreUnavailable } from "../store_fault.ts";
import type { WatchingKv } from "../watching_kv.ts";
import { type EndpointDeps, KvEndpoint } from "./endpoint.ts";
import {
  decodeAtomicWriteOutput,
  decodeSnapshotReadOutput,
  encodeAtomicWrite,
  encodeSnapshotRead,
  encodeValue,
  encodeWatch,
  type ReadRange,
  type WireCheck,
  type WireEntry,
  type WireMutation,
} from "./messages.ts";

/** Deno KV reads at most so many entries in one call; a list without `batchSize` reads 100. */
const MAX_BATCH = 1000;
const DEFAULT_BATCH = 100;

/** Opens a client and checks the address and the token. The caller closes it. @throws Error if the endpoint cannot be used */
export async function openKvConnect(url: string, deps: EndpointDeps): Promise<Deno.Kv> {
  const client = new KvConnectClient(new KvEndpoint(url, deps), deps);
  try {
    await client.check();
    return client;
  } catch (fault) {
    client.close();
    throw fault;
  }
}

class KvConnectClient implements Deno.Kv, WatchingKv {
  readonly #endpoint: KvEndpoint;
  readonly #deps: Pick<EndpointDeps, "clock">;

  constructor(endpoint: KvEndpoint, deps: Pick<EndpointDeps, "clock">) {
    this.#endpoint = endpoint;
    this.#deps = deps;
  }

  /** Makes the metadata exchange. */
  check(): Promise<void> {
    return this.#endpoint.check();
  }

  /** Always strongly consistent. */
  async get<T = unknown>(key: Deno.KvKey): Promise<Deno.KvEntryMaybe<T>> {
    const [entries = []] = await this.#read([rangeOfKey(key)]);
    return entryOf<T>(key, entries[0]);
  }

  async getMany<T extends readonly unknown[]>(
    keys: readonly [...{ [K in keyof T]: Deno.KvKey }],
  ): Promise<{ [K in keyof T]: Deno.KvEntryMaybe<T[K]> }> {
    const found = await this.#read(keys.map(rangeOfKey));
    const entries = keys.map((key, at) => entryOf(key, found[at]?.[0]));
    return entries as { [K in keyof T]: Deno.KvEntryMaybe<T[K]> };
  }

  /** Each batch is one snapshot. A cursor cannot be used. */
  list<T = unknown>(selector: Deno.KvListSelector, options: Deno.KvListOptions = {}): Deno.KvListIterator<T> {
    if (options.cursor !== undefined) {
      throw new TypeError("Cannot continue a list: this client has no cursors");
    }
    return new EntryList<T>(rangeOfSelector(selector), options, (range) => this.#read([range]));
  }

  set(key: Deno.KvKey, value: unknown, options?: { expireIn?: number }): Promise<Deno.KvCommitResult> {
    return this.atomic().set(key, value, options).commit() as Promise<Deno.KvCommitResult>;
  }

  async delete(key: Deno.KvKey): Promise<void> {
    await this.atomic().delete(key).commit();
  }

  atomic(): Deno.AtomicOperation {
    return new AtomicWrite(this.#deps, (message) => this.#endpoint.call("atomic_write", message));
  }

  waitForChange(...[keys, options]: Parameters<WatchingKv["waitForChange"]>): Promise<void> {
    return this.#endpoint.waitForChange(encodeWatch(keys.map(encodeKey)), options);
  }

  commitVersionstamp(): symbol {
    return unsupported("a key with a versionstamp");
  }

  watch(): ReadableStream<never> {
    return unsupported("a watch");
  }

  enqueue(): Promise<Deno.KvCommitResult> {
    return unsupported("the queue");
  }

  listenQueue(): Promise<void> {
    return unsupported("the queue");
  }

  /** Ends the calls in progress with {@link StoreUnavailable}. A write among them may have been applied. */
  close(): void {
    this.#endpoint.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #read(ranges: readonly ReadRange[]): Promise<WireEntry[][]> {
    return decodeSnapshotReadOutput(await this.#endpoint.call("snapshot_read", encodeSnapshotRead(ranges)));
  }
}

/** Collects the checks and mutations of one commit. */
class AtomicWrite implements Deno.AtomicOperation {
  readonly #checks: WireCheck[] = [];
  readonly #mutations: WireMutation[] = [];
  readonly #deps: Pick<EndpointDeps, "clock">;
  readonly #send: (message: Uint8Array) => Promise<Uint8Array>;

  constructor(deps: Pick<EndpointDeps, "clock">, send: (message: Uint8Array) => Promise<Uint8Array>) {
    this.#deps = deps;
    this.#send = send;
  }

  /** A version may be a getter; it is read here. */
  check(...checks: Deno.AtomicCheck[]): this {
    for (const { key, versionstamp } of checks) this.#checks.push({ key: encodeKey(key), versionstamp });
    return this;
  }

  set(key: Deno.KvKey, value: unknown, { expireIn }: { expireIn?: number } = {}): this {
    const expireAtMs = expireIn === undefined ? 0 : this.#deps.clock.nowMs() + Math.round(expireIn);
    this.#mutations.push({ key: encodeKey(key), value: encodeValue(value), expireAtMs });
    return this;
  }

  delete(key: Deno.KvKey): this {
    this.#mutations.push({ key: encodeKey(key), value: null, expireAtMs: 0 });
    return this;
  }

  mutate(): this {
    return unsupported("mutate()");
  }

  sum(): this {
    return unsupported("sum()");
  }

  min(): this {
    return unsupported("min()");
  }

  max(): this {
    return unsupported("max()");
  }

  enqueue(): this {
    return unsupported("the queue");
  }

  async commit(): Promise<Deno.KvCommitResult | Deno.KvCommitError> {
    const answer = await this.#send(encodeAtomicWrite(this.#checks, this.#mutations));
    const versionstamp = decodeOrUnknown(answer);
    return versionstamp === null ? { ok: false } : { ok: true, versionstamp };
  }
}

/** The outcome of a write whose answer cannot be read is unknown. */
function decodeOrUnknown(answer: Uint8Array): string | null {
  try {
    return decodeAtomicWriteOutput(answer);
  } catch (fault) {
    throw new StoreUnavailable(String(fault), { wasSent: true });
  }
}

/** The entries of a range, read in batches. */
class EntryList<T> implements Deno.KvListIterator<T> {
  readonly #options: Deno.KvListOptions;
  readonly #read: (range: ReadRange) => Promise<WireEntry[][]>;
  #range: { start: Uint8Array; end: Uint8Array };
  #batch: WireEntry[] = [];
  #at = 0;
  #left: number;
  #isAtEnd = false;

  constructor(
    range: { start: Uint8Array; end: Uint8Array },
    options: Deno.KvListOptions,
    read: (range: ReadRange) => Promise<WireEntry[][]>,
  ) {
    this.#range = range;
    this.#options = options;
    this.#read = read;
    this.#left = options.limit ?? Infinity;
  }

  get cursor(): string {
    return unsupported("a cursor");
  }

  async next(): Promise<IteratorResult<Deno.KvEntry<T>, undefined>> {
    if (this.#at === this.#batch.length && !this.#isAtEnd) await this.#fetch();
    const entry = this.#batch[this.#at];
    if (entry === undefined) return { done: true, value: undefined };
    this.#at++;
    const { key, value, versionstamp } = entry;
    return { done: false, value: { key: decodeKey(key), value: value as T, versionstamp } };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #fetch(): Promise<void> {
    const reverse = this.#options.reverse === true;
    const batchSize = this.#options.batchSize ?? Math.min(DEFAULT_BATCH, this.#left);
    const limit = Math.min(batchSize, MAX_BATCH, this.#left);
    const [entries = []] = limit > 0 ? await this.#read({ ...this.#range, limit, reverse }) : [];
    this.#batch = entries;
    this.#at = 0;
    this.#left -= entries.length;
    const last = entries.at(-1);
    this.#isAtEnd = entries.length < limit || this.#left <= 0;
    if (last === undefined) return;
    const { start, end } = this.#range;
    this.#range = reverse ? { start, end: last.key } : { start: followedBy(last.key, 0), end };
  }
}

function rangeOfKey(key: Deno.KvKey): ReadRange {
  const start = encodeKey(key);
  return { start, end: followedBy(start, 0), limit: 1, reverse: false };
}

function rangeOfSelector(selector: Deno.KvListSelector): { start: Uint8Array; end: Uint8Array } {
  const prefix = "prefix" in selector ? encodeKey(selector.prefix) : new Uint8Array();
  return {
    start: "start" in selector ? encodeKey(selector.start) : followedBy(prefix, 0),
    end: "end" in selector ? encodeKey(selector.end) : followedBy(prefix, 0xff),
  };
}

function followedBy(octets: Uint8Array, octet: number): Uint8Array {
  const longer = new Uint8Array(octets.length + 1);
  longer.set(octets);
  longer[octets.length] = octet;
  return longer;
}

function entryOf<T>(key: Deno.KvKey, found: WireEntry | undefined): Deno.KvEntryMaybe<T> {
  return found === undefined
    ? { key, value: null, versionstamp: null }
    : { key, value: found.value as T, versionstamp: found.versionstamp };
}

function unsupported(what: string): never {
  throw new TypeError(`Cannot use ${what}: this client of KV Connect does not support it`);
}

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
