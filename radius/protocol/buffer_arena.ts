// Places for packets that are kept: views into large arrays. An array of its own for each costs an allocation outside the heap, and its freeing.

const SLAB_OCTETS = 256 * 1024;

export interface Slab {
  /** A new view of `lengthOctets` octets that no other view contains; at most 4096. */
  take(lengthOctets: number): Uint8Array<ArrayBuffer>;
  /** A copy of the first `lengthOctets` of `octets`. */
  copy(octets: Uint8Array, lengthOctets: number): Uint8Array<ArrayBuffer>;
}

/** Gives views of one array after the other; an array goes when none of its views is held any more. */
export function createSlab(): Slab {
  let slab = new Uint8Array(0);
  let used = 0;
  const take = (lengthOctets: number): Uint8Array<ArrayBuffer> => {
    if (used + lengthOctets > slab.length) {
      slab = new Uint8Array(SLAB_OCTETS);
      used = 0;
    }
    used += lengthOctets;
    return slab.subarray(used - lengthOctets, used);
  };
  return {
    take,
    copy(octets, lengthOctets) {
      const place = take(lengthOctets);
      for (let i = 0; i < lengthOctets; i++) place[i] = octets[i] as number;
      return place;
    },
  };
}
