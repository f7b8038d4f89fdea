// Tuples with the user of their last login, in typed arrays: tens of thousands of objects would burden the garbage collector.

import { HashIndex } from "../../platform/hash_index.ts";
import { OctetArena } from "../../platform/octet_arena.ts";
import { FieldReader, FieldWriter, isTextAt, TextHash } from "../../platform/octet_fields.ts";

/** A tuple, the user of its last login, and its state. */
export interface KnownTuple {
  readonly key: string;
  readonly user: string;
  /** Whether its last login has no final answer yet. */
  readonly open: boolean;
  /** Until when the tuple counts as shared. */
  readonly sharedUntilMs: number;
}

const FIRST_ROWS = 1024;
const LENGTH_OCTETS = 2;
const writer = new FieldWriter();

/** Each row has a key and a user in one block of octets. */
export class TupleTable {
  readonly #hash: TextHash;
  readonly #index = new HashIndex();
  readonly #arena = new OctetArena();
  #blocks = new Int32Array(FIRST_ROWS);
  #octets = new Int32Array(FIRST_ROWS);
  #open = new Uint8Array(FIRST_ROWS);
  #sharedUntilMs = new Float64Array(FIRST_ROWS);
  readonly #free: number[] = [];
  #rows = 0;
  #size = 0;

  /** @param seed random, so that clients cannot predict hashes */
  constructor(seed: number) {
    this.#hash = new TextHash(seed);
  }

  get size(): number {
    return this.#size;
  }

  /** The row of a tuple, or -1. */
  find(key: string): number {
    let row = this.#index.first(this.#hash.of(key));
    while (row >= 0 && !this.#hasText(row, 0, key)) row = this.#index.next(row);
    return row;
  }

  /** Adds a tuple that is not in the table. Returns its row. */
  add({ key, user, open, sharedUntilMs }: KnownTuple): number {
    const row = this.#free.pop() ?? this.#rows++;
    if (row >= this.#blocks.length) this.#grow();
    this.#write(row, key, user);
    this.#open[row] = open ? 1 : 0;
    this.#sharedUntilMs[row] = sharedUntilMs;
    this.#index.add(row, this.#hash.of(key));
    this.#size++;
    return row;
  }

  remove(row: number): void {
    this.#index.remove(row);
    this.#arena.free(this.#blocks[row] as number, this.#octets[row] as number);
    this.#octets[row] = 0;
    this.#free.push(row);
    this.#size--;
  }

  read(row: number): KnownTuple {
    const { octets, at } = this.#arena.open(this.#blocks[row] as number);
    const from = new FieldReader(octets, at, at + (this.#octets[row] as number));
    return {
      key: from.text(),
      user: from.text(),
      open: this.isOpen(row),
      sharedUntilMs: this.sharedUntilMs(row),
    };
  }

  isUser(row: number, user: string): boolean {
    return this.#hasText(row, 1, user);
  }

  isOpen(row: number): boolean {
    return this.#open[row] === 1;
  }

  setOpen(row: number, open: boolean): void {
    this.#open[row] = open ? 1 : 0;
  }

  sharedUntilMs(row: number): number {
    return this.#sharedUntilMs[row] as number;
  }

  setSharedUntil(row: number, untilMs: number): void {
    this.#sharedUntilMs[row] = untilMs;
  }

  setUser(row: number, { key, user }: { key: string; user: string }): void {
    if (this.isUser(row, user)) return;
    this.#arena.free(this.#blocks[row] as number, this.#octets[row] as number);
    this.#write(row, key, user);
  }

  /** The rows of tuples that count as shared after `nowMs`. */
  *shared(nowMs: number): Generator<number> {
    for (let row = 0; row < this.#rows; row++) {
      if (this.#octets[row] !== 0 && (this.#sharedUntilMs[row] as number) > nowMs) yield row;
    }
  }

  #write(row: number, key: string, user: string): void {
    writer.begin();
    writer.text(key);
    writer.text(user);
    const handle = this.#arena.allocate(writer.lengthOctets);
    const { octets, at } = this.#arena.open(handle);
    writer.copyTo(octets, at);
    this.#blocks[row] = handle;
    this.#octets[row] = writer.lengthOctets;
  }

  /** Whether the key (0) or the user (1) of a row equals a text. */
  #hasText(row: number, field: 0 | 1, text: string): boolean {
    const { octets, at } = this.#arena.open(this.#blocks[row] as number);
    const from = field === 0 ? at : at + LENGTH_OCTETS + lengthAt(octets, at);
    return isTextAt(octets, { at: from + LENGTH_OCTETS, lengthOctets: lengthAt(octets, from) }, text);
  }

  #grow(): void {
    const larger = 2 * this.#blocks.length;
    const [blocks, lengths, open, until] = [this.#blocks, this.#octets, this.#open, this.#sharedUntilMs];
    this.#blocks = new Int32Array(larger);
    this.#octets = new Int32Array(larger);
    this.#open = new Uint8Array(larger);
    this.#sharedUntilMs = new Float64Array(larger);
    this.#blocks.set(blocks);
    this.#octets.set(lengths);
    this.#open.set(open);
    this.#sharedUntilMs.set(until);
  }
}

function lengthAt(octets: Uint8Array, at: number): number {
  return ((octets[at] as number) << 8) | (octets[at + 1] as number);
}
