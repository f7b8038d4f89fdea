// Sets of name hashes: a filter that answers "no such user" without a read of the store, and the names of a file or of a list.

/** 32 bits of a text: FNV-1a with the last step of MurmurHash3. The store contains these hashes, so the function must not change. */
export function nameHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const MIN_SLOTS = 64;

/** A multiset of 32-bit hashes with open addressing, at most 60 % full. A hash that was added twice must be removed twice. */
export class HashMultiset {
  /** Zero marks a free slot. */
  #slots = new Uint32Array(MIN_SLOTS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(hash: number): boolean {
    return this.#slots[this.#find(toSlotValue(hash))] !== 0;
  }

  add(hash: number): void {
    if ((this.#size + 1) * 10 > this.#slots.length * 6) this.#grow();
    this.#insert(toSlotValue(hash));
    this.#size += 1;
  }

  /** Removes one occurrence, if there is one. */
  remove(hash: number): void {
    const at = this.#find(toSlotValue(hash));
    if (this.#slots[at] === 0) return;
    this.#close(at);
    this.#size -= 1;
  }

  #find(hash: number): number {
    const mask = this.#slots.length - 1;
    let at = hash & mask;
    while (this.#slots[at] !== 0 && this.#slots[at] !== hash) at = (at + 1) & mask;
    return at;
  }

  #insert(hash: number): void {
    const mask = this.#slots.length - 1;
    let at = hash & mask;
    while (this.#slots[at] !== 0) at = (at + 1) & mask;
    this.#slots[at] = hash;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    for (const hash of old) if (hash !== 0) this.#insert(hash);
  }

  /** Moves later hashes into the freed slot, so that no marks of deleted slots are needed. */
  #close(freed: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let hole = freed;
    for (let at = (hole + 1) & mask; slots[at] !== 0; at = (at + 1) & mask) {
      const hash = slots[at] ?? 0;
      const distance = (at - (hash & mask)) & mask;
      if (distance < ((at - hole) & mask)) continue;
      slots[hole] = hash;
      hole = at;
    }
    slots[hole] = 0;
  }
}

function toSlotValue(hash: number): number {
  return hash === 0 ? 1 : hash;
}

const MIN_NAME_SLOTS = 4096;
const MAX_LOAD = 0.6;

/** A set of canonical names as 53-bit hashes. Two names of a million collide once in some ten thousand runs. */
export class NameHashSet {
  readonly #seed: number;
  #slots = new Float64Array(MIN_NAME_SLOTS);
  #size = 0;

  /** @param seed a different one for each run, so that no file can contain names that collide. */
  constructor(seed: number) {
    this.#seed = seed;
  }

  has(canonical: string): boolean {
    return this.#slots[place(this.#slots, seededHash(canonical, this.#seed))] !== 0;
  }

  /** Returns whether the name was new. */
  add(canonical: string): boolean {
    const hash = seededHash(canonical, this.#seed);
    const at = place(this.#slots, hash);
    if (this.#slots[at] === hash) return false;
    this.#slots[at] = hash;
    this.#size++;
    if (this.#size > this.#slots.length * MAX_LOAD) this.#grow();
    return true;
  }

  #grow(): void {
    const larger = new Float64Array(this.#slots.length * 2);
    for (const hash of this.#slots) if (hash !== 0) larger[place(larger, hash)] = hash;
    this.#slots = larger;
  }
}

function place(slots: Float64Array, hash: number): number {
  let at = hash % slots.length;
  while (slots[at] !== 0 && slots[at] !== hash) at = (at + 1) % slots.length;
  return at;
}

/** 53 bits of two multiplicative hashes; never 0, which marks a free slot. */
function seededHash(text: string, seed: number): number {
  let low = seed | 0;
  let high = ~seed | 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    low = Math.imul(low ^ unit, 0x01000193) ^ (low >>> 15);
    high = Math.imul(high ^ unit, 0x5bd1e995) ^ (high >>> 13);
  }
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b);
  high = Math.imul(high ^ (high >>> 16), 0xc2b2ae35);
  return ((low ^ (low >>> 13)) >>> 0) * 2 ** 21 + ((high ^ (high >>> 15)) >>> 11) + 1;
}
