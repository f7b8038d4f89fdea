// The names of a file's rows, eight octets each: whether one stands there twice, without keeping a million texts.

export interface NameSet {
  /** @returns whether it was new. Another name is taken for known once in some ten thousand files of a million. */
  add(canonical: string): boolean;
}

const FIRST_SIZE = 4096;
const MAX_LOAD = 0.6;

/** @param seed another one for each run, so that no file can be made to collide. */
export function createNameSet(seed: number): NameSet {
  let slots = new Float64Array(FIRST_SIZE);
  let size = 0;

  const place = (table: Float64Array, hash: number): number => {
    let at = hash % table.length;
    while (table[at] !== 0 && table[at] !== hash) at = (at + 1) % table.length;
    return at;
  };
  const grow = (): void => {
    const larger = new Float64Array(slots.length * 2);
    for (const hash of slots) if (hash !== 0) larger[place(larger, hash)] = hash;
    slots = larger;
  };

  return {
    add(canonical) {
      const hash = hashOf(canonical, seed);
      const at = place(slots, hash);
      if (slots[at] === hash) return false;
      slots[at] = hash;
      size++;
      if (size > slots.length * MAX_LOAD) grow();
      return true;
    },
  };
}

/** 53 bits of two multiplicative hashes; never 0, which marks an empty slot. */
function hashOf(text: string, seed: number): number {
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
