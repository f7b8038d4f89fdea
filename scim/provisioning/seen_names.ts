// The names that a listing gave, eight octets each: a set of a million must not take hundreds of megabytes.

export interface SeenNames {
  add(canonical: string): void;
  /** No more is added after the first question. A name that was never added is taken for seen once in some billions. */
  has(canonical: string): boolean;
}

const FIRST_SIZE = 1024;

/** @param seed another one for every listing, so that two names never stand for each other twice. */
export function createSeenNames(seed: number): SeenNames {
  let hashes = new Float64Array(FIRST_SIZE);
  let size = 0;
  let isSorted = false;
  return {
    add(canonical) {
      if (size === hashes.length) {
        const larger = new Float64Array(size * 2);
        larger.set(hashes);
        hashes = larger;
      }
      hashes[size++] = hashOf(canonical, seed);
      isSorted = false;
    },
    has(canonical) {
      if (!isSorted) hashes.subarray(0, size).sort();
      isSorted = true;
      return contains(hashes.subarray(0, size), hashOf(canonical, seed));
    },
  };
}

function contains(sorted: Float64Array, wanted: number): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === wanted;
}

/** 53 bits: two multiplicative hashes of 32, the second cut to 21. */
function hashOf(text: string, seed: number): number {
  let first = seed | 0;
  let second = ~seed | 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    first = Math.imul(first ^ unit, 0x9e3779b1);
    second = Math.imul(second ^ unit, 0x5f356495);
  }
  first = Math.imul(first ^ (first >>> 16), 0x85ebca6b);
  second = Math.imul(second ^ (second >>> 15), 0xc2b2ae35);
  return ((first ^ (first >>> 13)) >>> 0) * 2 ** 21 + ((second ^ (second >>> 16)) >>> 11);
}
