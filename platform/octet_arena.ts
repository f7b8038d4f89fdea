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
