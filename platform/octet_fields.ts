// Fields as octets: numbers and texts one after the other, without names. The writer reuses one buffer, so that a record needs no allocation.

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
/** The length of an absent text. */
const ABSENT = 0xffff;
const FIRST_OCTETS = 1024;
/** UTF-8 has at most three octets for each UTF-16 code unit. */
const MAX_OCTETS_PER_UNIT = 3;

/** Writes fields into a buffer that grows. {@link begin} starts again. */
export class FieldWriter {
  octets: Uint8Array<ArrayBuffer> = new Uint8Array(FIRST_OCTETS);
  lengthOctets = 0;
  #views = new PrefixViews(this.octets);

  begin(): void {
    this.lengthOctets = 0;
  }

  /** An integer from 0 to 255. */
  small(value: number): void {
    this.#reserve(1);
    this.octets[this.lengthOctets++] = value;
  }

  /** An integer from 0 to 65,535. */
  count(value: number): void {
    this.#reserve(2);
    this.octets[this.lengthOctets++] = value >>> 8;
    this.octets[this.lengthOctets++] = value;
  }

  /** A time in milliseconds: an integer from 0 to 2^48 - 1. @throws RangeError for another number */
  timeMs(value: number): void {
    if (!(value >= 0 && value < 2 ** 48)) throw new RangeError(`Cannot write ${value} as a time`);
    this.count(Math.floor(value / 2 ** 32));
    this.count(value >>> 16);
    this.count(value);
  }

  /** @throws RangeError if the text has more than 65,534 octets */
  text(text: string): void {
    const units = text.length;
    this.#reserve(2 + units * MAX_OCTETS_PER_UNIT);
    const at = this.lengthOctets + 2;
    const octets = this.octets;
    let length = 0;
    // Nearly every text is short ASCII, for which a call of the encoder would take longer.
    while (length < units) {
      const unit = text.charCodeAt(length);
      if (unit >= 0x80) break;
      octets[at + length++] = unit;
    }
    if (length < units) length = encoder.encodeInto(text, octets.subarray(at)).written;
    if (length >= ABSENT) throw new RangeError("Cannot write a text of over 65,534 octets");
    octets[at - 2] = length >>> 8;
    octets[at - 1] = length;
    this.lengthOctets = at + length;
  }

  textOrNull(text: string | null): void {
    if (text === null) this.count(ABSENT);
    else this.text(text);
  }

  /** A text of characters up to U+00FF, one octet for each. @throws RangeError if the text has another character */
  octetText(text: string): void {
    const length = text.length;
    this.count(length);
    this.#reserve(length);
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0xff) throw new RangeError("Cannot write a character above U+00FF as an octet");
      this.octets[this.lengthOctets++] = unit;
    }
  }

  /** @throws RangeError if there are more than 65,535 octets */
  octetString(octets: Uint8Array): void {
    if (octets.length > 0xffff) throw new RangeError("Cannot write over 65,535 octets as a field");
    this.count(octets.length);
    this.#reserve(octets.length);
    for (let i = 0; i < octets.length; i++) this.octets[this.lengthOctets++] = octets[i] as number;
  }

  /** Copies the written octets. For few octets, this is faster than a copy from a {@link view}. */
  copyTo(target: Uint8Array, at: number): void {
    for (let i = 0; i < this.lengthOctets; i++) target[at + i] = this.octets[i] as number;
  }

  /** The written octets, as a view that is valid until the next {@link begin}. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#views.of(this.lengthOctets);
  }

  #reserve(more: number): void {
    if (this.lengthOctets + more <= this.octets.length) return;
    const larger = new Uint8Array(2 * (this.lengthOctets + more));
    larger.set(this.octets);
    this.octets = larger;
    this.#views = new PrefixViews(larger);
  }
}

/** The octets end before the field. */
export class FieldsEndError extends Error {}

/** Reads what {@link FieldWriter} wrote. A read beyond the end throws {@link FieldsEndError}, because stored octets are untrusted input. */
export class FieldReader {
  readonly #octets: Uint8Array;
  readonly #end: number;
  #at: number;

  /** @param octets the fields from `at` to `end` */
  constructor(octets: Uint8Array, at = 0, end: number = octets.length) {
    this.#octets = octets;
    this.#at = at;
    this.#end = end;
  }

  /** Whether all fields are read. */
  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  small(): number {
    return this.#octets[this.#take(1)] as number;
  }

  count(): number {
    const at = this.#take(2);
    return ((this.#octets[at] as number) << 8) | (this.#octets[at + 1] as number);
  }

  timeMs(): number {
    return this.count() * 2 ** 32 + this.count() * 2 ** 16 + this.count();
  }

  /** @throws FieldsEndError also for an absent text */
  text(): string {
    const text = this.textOrNull();
    if (text === null) throw new FieldsEndError("Cannot read a text: it is absent");
    return text;
  }

  /** Goes to the field after a text. */
  skipText(): void {
    const length = this.count();
    if (length !== ABSENT) this.#take(length);
  }

  textOrNull(): string | null {
    const length = this.count();
    if (length === ABSENT) return null;
    const at = this.#take(length);
    return decodeUtf8(this.#octets, at, length);
  }

  octetText(): string {
    const length = this.count();
    const at = this.#take(length);
    let text = "";
    for (let i = 0; i < length; i++) text += String.fromCharCode(this.#octets[at + i] as number);
    return text;
  }

  octetString(): Uint8Array<ArrayBuffer> {
    const at = this.#take(this.count());
    return this.#octets.slice(at, this.#at) as Uint8Array<ArrayBuffer>;
  }

  #take(octets: number): number {
    const at = this.#at;
    if (at + octets > this.#end) throw new FieldsEndError("Cannot read a field: the octets end before it");
    this.#at = at + octets;
    return at;
  }
}

/** Short texts that were decoded lately, by a hash of their octets: the names of steps, rows and clients come again in nearly every record. */
const RECENT_TEXTS = 1024;
const recentTexts: string[] = new Array(RECENT_TEXTS).fill("");
const MAX_RECENT_OCTETS = 64;

/** The text of UTF-8 octets; invalid ones become U+FFFD. */
export function decodeUtf8(octets: Uint8Array, at: number, lengthOctets: number): string {
  if (lengthOctets === 0) return "";
  if (lengthOctets > MAX_RECENT_OCTETS) return decoder.decode(octets.subarray(at, at + lengthOctets));
  let hash = lengthOctets;
  for (let i = at; i < at + lengthOctets; i++) hash = (Math.imul(hash, 31) + (octets[i] as number)) | 0;
  const slot = (hash ^ (hash >>> 13)) & (RECENT_TEXTS - 1);
  const recent = recentTexts[slot] as string;
  if (isTextAt(octets, { at, lengthOctets }, recent)) return recent;
  return recentTexts[slot] = decoder.decode(octets.subarray(at, at + lengthOctets));
}

/** Whether octets are the UTF-8 of a text. Compares ASCII in place. */
export function isTextAt(
  octets: Uint8Array,
  place: { at: number; lengthOctets: number },
  text: string,
): boolean {
  const { at, lengthOctets } = place;
  // A text has at least as many octets as UTF-16 code units.
  if (lengthOctets < text.length) return false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) return decoder.decode(octets.subarray(at, at + lengthOctets)) === text;
    if (octets[at + i] !== unit) return false;
  }
  return lengthOctets === text.length;
}

/** A hash of 32 bits. Equal texts have equal hashes; the caller compares the texts. @param seed differs between processes */
export function hashText(text: string, seed: number): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x5bd1e995) + (hash >>> 15);
  }
  return hash ^ (hash >>> 13);
}

/** Hashes of texts by {@link hashText}. Remembers the last one, because most texts are looked up several times in a row. */
export class TextHash {
  readonly #seed: number;
  #text = "";
  #hash: number;

  /** @param seed random if clients choose the texts, so that they cannot choose many with one hash */
  constructor(seed: number) {
    this.#seed = seed;
    this.#hash = hashText("", seed);
  }

  of(text: string): number {
    if (text !== this.#text) {
      this.#text = text;
      this.#hash = hashText(text, this.#seed);
    }
    return this.#hash;
  }
}

// Views of the first octets of one buffer. A view takes more time and memory than the octets that it usually has, so each is created once.

/** At most one view for each length of the buffer. */
export class PrefixViews {
  readonly #buffer: Uint8Array<ArrayBuffer>;
  readonly #views: (Uint8Array<ArrayBuffer> | undefined)[] = [];

  constructor(buffer: Uint8Array<ArrayBuffer>) {
    this.#buffer = buffer;
  }

  /** The first `lengthOctets` of the buffer. Callers share the view. */
  of(lengthOctets: number): Uint8Array<ArrayBuffer> {
    const known = this.#views[lengthOctets];
    if (known !== undefined) return known;
    const view = this.#buffer.subarray(0, lengthOctets);
    this.#views[lengthOctets] = view;
    return view;
  }
}

// Blocks of octets in large arrays. 100,000 small arrays would cost the garbage collector as much as all other work of the gateway.

/** Blocks have a size of a multiple of this. */
const UNIT_OCTETS = 64;
const SLAB_OCTETS = 1024 * 1024;
const UNITS_PER_SLAB = SLAB_OCTETS / UNIT_OCTETS;
/** Larger blocks have an array of their own. */
const MAX_SLAB_BLOCK_OCTETS = 4096;
const NONE = -1;

/** A block of octets, inside a larger array. The value is valid until the next call of {@link OctetArena.open}. */
interface OpenBlock {
  octets: Uint8Array;
  at: number;
}

/** Stores blocks and gives each a handle, an integer. A freed block is used again for one of the same size. */
export class OctetArena {
  readonly #slabs: Uint8Array<ArrayBuffer>[] = [];
  #usedUnits = UNITS_PER_SLAB;
  /** Freed blocks by their size in units. */
  readonly #free: number[][] = Array.from({ length: MAX_SLAB_BLOCK_OCTETS / UNIT_OCTETS + 1 }, () => []);
  readonly #large = new Map<number, Uint8Array>();
  #nextLarge = NONE;
  readonly #open: OpenBlock = { octets: new Uint8Array(0), at: 0 };

  /** Reserves a block of at least `lengthOctets`. Returns its handle. */
  allocate(lengthOctets: number): number {
    if (lengthOctets > MAX_SLAB_BLOCK_OCTETS) {
      const handle = this.#nextLarge--;
      this.#large.set(handle, new Uint8Array(lengthOctets));
      return handle;
    }
    const units = unitsOf(lengthOctets);
    const freed = (this.#free[units] as number[]).pop();
    if (freed !== undefined) return freed;
    if (this.#usedUnits + units > UNITS_PER_SLAB) {
      this.#slabs.push(new Uint8Array(SLAB_OCTETS));
      this.#usedUnits = 0;
    }
    const handle = (this.#slabs.length - 1) * UNITS_PER_SLAB + this.#usedUnits;
    this.#usedUnits += units;
    return handle;
  }

  /** Frees a block. @param lengthOctets as it was allocated */
  free(handle: number, lengthOctets: number): void {
    if (handle < 0) this.#large.delete(handle);
    else (this.#free[unitsOf(lengthOctets)] as number[]).push(handle);
  }

  /** Whether a block of the first length has room for the second. */
  fits(lengthOctets: number, wantedOctets: number): boolean {
    if (lengthOctets > MAX_SLAB_BLOCK_OCTETS || wantedOctets > MAX_SLAB_BLOCK_OCTETS) return false;
    return unitsOf(lengthOctets) === unitsOf(wantedOctets);
  }

  /** The array that contains a block, and the position of the block. */
  open(handle: number): Readonly<OpenBlock> {
    const open = this.#open;
    if (handle < 0) {
      open.octets = this.#large.get(handle) as Uint8Array;
      open.at = 0;
    } else {
      open.octets = this.#slabs[Math.floor(handle / UNITS_PER_SLAB)] as Uint8Array;
      open.at = (handle % UNITS_PER_SLAB) * UNIT_OCTETS;
    }
    return open;
  }
}

function unitsOf(lengthOctets: number): number {
  return Math.max(1, Math.ceil(lengthOctets / UNIT_OCTETS));
}

// An index from hashes to rows of a table, in typed arrays: unlike a Map with 100,000 keys, it costs the garbage collector nothing.

const FIRST_ROWS = 1024;
/** The previous row of a row that is not in the index. */
const NOT_ADDED = -2;
/** The fields of a row in the links: the next row comes first. */
const FIELDS = 3;
const HASH = 1;
const BEFORE = 2;

/**
 * Rows by the hash of their key. It stores no keys: the caller compares the keys of the rows that it finds.
 *
 * @example
 * for (let row = index.first(hash); row >= 0; row = index.next(row)) if (keyOf(row) === key) return row;
 */
export class HashIndex {
  /** The first row of each bucket. The number of buckets is a power of two. */
  #heads = new Int32Array(FIRST_ROWS).fill(NONE);
  /**
   * By row: the next row of its bucket, its hash, and the previous row, so that a removal does not walk through a long bucket. All three are in the
   * same line of the processor's cache.
   */
  #links = new Int32Array(FIELDS * FIRST_ROWS).fill(NOT_ADDED);

  /** The newest row with this hash, or -1. */
  first(hash: number): number {
    return this.#sameHash(this.#heads[hash & (this.#heads.length - 1)] as number, hash | 0);
  }

  /** The next row with the hash of `row`, or -1. */
  next(row: number): number {
    return this.#sameHash(this.#links[FIELDS * row] as number, this.#links[FIELDS * row + HASH] as number);
  }

  add(row: number, hash: number): void {
    if (row >= this.#heads.length) this.#grow(row);
    const bucket = hash & (this.#heads.length - 1);
    const next = this.#heads[bucket] as number;
    this.#links[FIELDS * row] = next;
    this.#links[FIELDS * row + HASH] = hash;
    this.#links[FIELDS * row + BEFORE] = NONE;
    if (next >= 0) this.#links[FIELDS * next + BEFORE] = row;
    this.#heads[bucket] = row;
  }

  /** Removes a row. A row that is not in the index changes nothing. */
  remove(row: number): void {
    const before = row < this.#heads.length ? this.#links[FIELDS * row + BEFORE] as number : NOT_ADDED;
    if (before === NOT_ADDED) return;
    const next = this.#links[FIELDS * row] as number;
    const bucket = (this.#links[FIELDS * row + HASH] as number) & (this.#heads.length - 1);
    if (before === NONE) this.#heads[bucket] = next;
    else this.#links[FIELDS * before] = next;
    if (next >= 0) this.#links[FIELDS * next + BEFORE] = before;
    this.#links[FIELDS * row + BEFORE] = NOT_ADDED;
  }

  #sameHash(from: number, hash: number): number {
    let row = from;
    while (row >= 0 && this.#links[FIELDS * row + HASH] !== hash) row = this.#links[FIELDS * row] as number;
    return row;
  }

  /** Doubles the table. Rows keep their order within a bucket, so that the newest one is found first. */
  #grow(row: number): void {
    const links = this.#links;
    // By bucket, newest first, so that adding them from the end keeps the order.
    const rows = new Int32Array(this.#heads.length);
    let count = 0;
    for (const head of this.#heads) {
      for (let at = head; at >= 0; at = links[FIELDS * at] as number) rows[count++] = at;
    }
    let size = this.#heads.length;
    while (size <= row) size *= 2;
    this.#heads = new Int32Array(size).fill(NONE);
    this.#links = new Int32Array(FIELDS * size).fill(NOT_ADDED);
    for (let i = count - 1; i >= 0; i--) {
      const one = rows[i] as number;
      this.add(one, links[FIELDS * one + HASH] as number);
    }
  }
}

// Values by a text, for entries that live as long as a packet. A Map would shrink and grow again with every group of packets, which takes longer
// than all other work with it.

export class TextTable<T> {
  readonly #hash: TextHash;
  readonly #index = new HashIndex();
  /** By row. `null` in free ones. */
  readonly #entries: ({ readonly key: string; readonly value: T } | null)[] = [];
  readonly #free: number[] = [];

  /** @param seed random if clients choose the texts, so that they cannot choose many with one hash */
  constructor(seed: number) {
    this.#hash = new TextHash(seed);
  }

  get size(): number {
    return this.#entries.length - this.#free.length;
  }

  get(key: string): T | undefined {
    const row = this.#find(key, this.#hash.of(key));
    return row < 0 ? undefined : this.#entries[row]?.value;
  }

  /** Adds a value, or replaces the one with the same key. Returns its row, for {@link remove}. */
  set(key: string, value: T): number {
    const hash = this.#hash.of(key);
    const known = this.#find(key, hash);
    const row = known >= 0 ? known : this.#free.pop() ?? this.#entries.length;
    this.#entries[row] = { key, value };
    if (known < 0) this.#index.add(row, hash);
    return row;
  }

  /** Removes the entry of a row, if it still has this value. */
  remove(row: number, value: T): void {
    if (this.#entries[row]?.value !== value) return;
    this.#index.remove(row);
    this.#entries[row] = null;
    this.#free.push(row);
  }

  /** The row of a key, or -1. */
  #find(key: string, hash: number): number {
    let row = this.#index.first(hash);
    while (row >= 0 && this.#entries[row]?.key !== key) row = this.#index.next(row);
    return row;
  }
}
