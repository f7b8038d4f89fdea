// Users in memory as they were read last, with the texts of their responses: a page or a read of the same users reads, decodes and renders
// nothing. Only for a store that no other process writes: each write of this process removes what it changes.

import { keepRenderings } from "../schema/renderings.ts";
import type { Stored } from "../schema/resource.ts";

interface CachedUser {
  readonly stored: Stored;
  octets: number;
}

/** What a read found. It keeps each user that no write has changed since the read began. */
export interface UserReading {
  keep(canonical: string, stored: Stored): void;
  /** The names that a range has, if no user was created or deleted since the read began. */
  keepNames(range: string, canonicals: readonly string[]): void;
}

/** A user without texts: the objects, and the texts of names, ids and times. */
const USER_OCTETS = 1200;
/** Larger users are read each time. */
const MAX_USER_CHARACTERS = 24_000;
const MAX_RANGE_NAMES = 1200;
const MAX_NAMES = 200_000;

/** Two generations: a lookup moves a user to the young one. When that has half of the octets, the old one is dropped. */
export class UserCache {
  readonly #maxOctets: number;
  #young = new Map<string, CachedUser>();
  #old = new Map<string, CachedUser>();
  #youngOctets = 0;
  /** The canonical names by id. A name whose user is not in memory is wrong. */
  #names = new Map<string, string>();
  /** The canonical names of ranges of users. A creation or a deletion can change any of them. */
  readonly #ranges = new Map<string, readonly string[]>();
  #rangeNames = 0;
  #nameChanges = 0;
  /** The users that were written since each read in progress began. */
  readonly #readings = new Set<Set<string>>();

  /** @param maxOctets about what all users take; 0: no user stays in memory. */
  constructor(maxOctets: number) {
    this.#maxOctets = maxOctets;
  }

  find(canonical: string): Stored | undefined {
    const known = this.#young.get(canonical);
    if (known !== undefined) return known.stored;
    const older = this.#old.get(canonical);
    if (older !== undefined) {
      this.#old.delete(canonical);
      this.#add(canonical, older);
    }
    return older?.stored;
  }

  findById(id: string): Stored | undefined {
    const canonical = this.#names.get(id);
    const stored = canonical === undefined ? undefined : this.find(canonical);
    return stored?.id === id ? stored : undefined;
  }

  findNames(range: string): readonly string[] | undefined {
    return this.#ranges.get(range);
  }

  /** Runs a read of the store. */
  async read<T>(work: (reading: UserReading) => Promise<T>): Promise<T> {
    if (this.#maxOctets === 0) return await work(KEEPS_NOTHING);
    const written = new Set<string>();
    const nameChanges = this.#nameChanges;
    this.#readings.add(written);
    try {
      return await work({
        keep: (canonical, stored) => {
          if (!written.has(canonical)) this.#keep(canonical, stored);
        },
        keepNames: (range, canonicals) => {
          if (nameChanges === this.#nameChanges) this.#keepNames(range, canonicals);
        },
      });
    } finally {
      this.#readings.delete(written);
    }
  }

  /** Call it when the write of a user is durable, before the writer is told. @param options.isNameChange the user was created or deleted */
  forget(canonical: string, { isNameChange }: { readonly isNameChange: boolean }): void {
    for (const written of this.#readings) written.add(canonical);
    const young = this.#young.get(canonical);
    if (young !== undefined) this.#youngOctets -= young.octets;
    const stored = (young ?? this.#old.get(canonical))?.stored;
    this.#young.delete(canonical);
    this.#old.delete(canonical);
    if (stored !== undefined) this.#names.delete(stored.id);
    if (!isNameChange) return;
    this.#nameChanges += 1;
    this.#ranges.clear();
    this.#rangeNames = 0;
  }

  #keep(canonical: string, stored: Stored): void {
    const text = stored.attributesText ?? "";
    if (text.length > MAX_USER_CHARACTERS || this.find(canonical) !== undefined) return;
    const user: CachedUser = { stored, octets: USER_OCTETS + text.length };
    keepRenderings(stored, (octets) => {
      user.octets += octets;
      if (this.#young.get(canonical) === user) this.#youngOctets += octets;
    });
    this.#add(canonical, user);
    this.#names.set(stored.id, canonical);
  }

  #add(canonical: string, user: CachedUser): void {
    if (this.#youngOctets >= this.#maxOctets / 2) {
      for (const [name, { stored: { id } }] of this.#old) {
        if (this.#names.get(id) === name) this.#names.delete(id);
      }
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngOctets = 0;
    }
    this.#young.set(canonical, user);
    this.#youngOctets += user.octets;
  }

  #keepNames(range: string, canonicals: readonly string[]): void {
    if (canonicals.length > MAX_RANGE_NAMES || this.#ranges.has(range)) return;
    if (this.#rangeNames + canonicals.length > MAX_NAMES) {
      this.#ranges.clear();
      this.#rangeNames = 0;
    }
    this.#ranges.set(range, canonicals);
    this.#rangeNames += canonicals.length;
  }
}

const KEEPS_NOTHING: UserReading = { keep: () => undefined, keepNames: () => undefined };
