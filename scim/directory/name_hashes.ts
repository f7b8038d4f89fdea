// A set of name hashes: finds that no user has a name, without a read of the store. Four octets a name; one unknown name in thousands is
// taken for a known one, and then the store is asked.

/** 32 bits of a text. It is kept in the store, so it must stay as it is. FNV-1a with the last step of MurmurHash3. */
export function nameHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export interface HashBag {
  readonly size: number;
  has(hash: number): boolean;
  add(hash: number): void;
  /** Takes one of it out; nothing happens when there is none. */
  remove(hash: number): void;
}

const SMALLEST_SLOTS = 64;

/** A bag (what was added twice must be removed twice) of 32-bit hashes by open addressing; at most 60 % full. */
export function createHashBag(): HashBag {
  let slots = new Uint32Array(SMALLEST_SLOTS);
  let size = 0;
  // Zero marks a free slot.
  const kept = (hash: number): number => hash === 0 ? 1 : hash;

  const find = (hash: number): number => {
    const mask = slots.length - 1;
    let at = hash & mask;
    while (slots[at] !== 0 && slots[at] !== hash) at = (at + 1) & mask;
    return at;
  };
  const insert = (hash: number): void => {
    const mask = slots.length - 1;
    let at = hash & mask;
    while (slots[at] !== 0) at = (at + 1) & mask;
    slots[at] = hash;
  };
  const grow = (): void => {
    const old = slots;
    slots = new Uint32Array(old.length * 2);
    for (const hash of old) if (hash !== 0) insert(hash);
  };
  /** Moves up what had been pushed past the freed slot, so that searches need no marks of what was deleted. */
  const close = (freed: number): void => {
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
  };

  return {
    get size() {
      return size;
    },
    has: (hash) => slots[find(kept(hash))] !== 0,
    add(hash) {
      if ((size + 1) * 10 > slots.length * 6) grow();
      insert(kept(hash));
      size += 1;
    },
    remove(hash) {
      const at = find(kept(hash));
      if (slots[at] === 0) return;
      close(at);
      size -= 1;
    },
  };
}
