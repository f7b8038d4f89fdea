// An index from hashes to rows of a table, in typed arrays: unlike a Map with 100,000 keys, it costs the garbage collector nothing.

import { TextHash } from "./octet_fields.ts";

const FIRST_ROWS = 1024;
const NONE = -1;
/** The previous row of a row that is not in the index. */
const ABSENT = -2;
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
  #links = new Int32Array(FIELDS * FIRST_ROWS).fill(ABSENT);

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
    const before = row < this.#heads.length ? this.#links[FIELDS * row + BEFORE] as number : ABSENT;
    if (before === ABSENT) return;
    const next = this.#links[FIELDS * row] as number;
    const bucket = (this.#links[FIELDS * row + HASH] as number) & (this.#heads.length - 1);
    if (before === NONE) this.#heads[bucket] = next;
    else this.#links[FIELDS * before] = next;
    if (next >= 0) this.#links[FIELDS * next + BEFORE] = before;
    this.#links[FIELDS * row + BEFORE] = ABSENT;
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
    this.#links = new Int32Array(FIELDS * size).fill(ABSENT);
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
