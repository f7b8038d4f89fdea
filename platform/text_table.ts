// Values by a text, for entries that live as long as a packet. A Map would shrink and grow again with every group of packets, which takes longer
// than all other work with it.

import { HashIndex } from "./hash_index.ts";
import { TextHash } from "./octet_fields.ts";

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
