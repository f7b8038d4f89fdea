// The pairings in memory, by user and by id, so that a login does not read the store.

import type { Mutation } from "../../platform/store.ts";
import type { Factor } from "../flow/context.ts";
import type { AddingPhone, Pairing } from "./pairing.ts";

/** The result of {@link PairingCache.removeUser}. */
export interface CachedPairings {
  readonly pairings: readonly Pairing[];
  readonly preference: Factor | undefined;
  /** Undoes the removal after a failed commit. */
  restore(): void;
}

/** The result of {@link PairingCache.removeSome}. */
interface RemovedPairings {
  readonly pairings: readonly Pairing[];
  readonly mutations: readonly Mutation[];
  /** Undoes the removal after a failed commit. */
  restore(): void;
}

export const MAX_PER_USER = 20;
/** Pairings whose commit is in progress. Beyond this number, the oldest counts as abandoned. */
const MAX_PREPARED = 1000;

const NONE: readonly Pairing[] = [];

/** Reads and changes only memory. The caller writes to the store. */
export class PairingCache {
  readonly #byUser = new Map<string, Pairing[]>();
  readonly #byId = new Map<string, Pairing>();
  readonly #preferences = new Map<string, Factor>();
  /** Prepared and not adopted yet. */
  readonly #prepared = new Set<Pairing>();
  /** Removed with their user while their commit was in progress. `adopted`: {@link adopt} was called after that. */
  readonly #removed = new WeakMap<Pairing, { adopted: boolean }>();

  /** A user's pairings, oldest first. */
  of(user: string): readonly Pairing[] {
    return this.#byUser.get(user) ?? NONE;
  }

  get(id: string): Pairing | undefined {
    return this.#byId.get(id);
  }

  all(): Iterable<Pairing> {
    return this.#byId.values();
  }

  get size(): number {
    return this.#byId.size;
  }

  get userCount(): number {
    return this.#byUser.size;
  }

  preference(user: string): Factor | null {
    return this.#preferences.get(user) ?? null;
  }

  setPreference(user: string, factor: Factor | null): void {
    if (factor === null) this.#preferences.delete(user);
    else this.#preferences.set(user, factor);
  }

  /** Adds a pairing, or replaces the one with the same id. Does nothing if {@link removeUser} removed the user during the commit. */
  adopt(pairing: Pairing): void {
    this.#prepared.delete(pairing);
    const gone = this.#removed.get(pairing);
    if (gone !== undefined) {
      gone.adopted = true;
      return;
    }
    this.drop(pairing.id);
    const list = this.#byUser.get(pairing.user) ?? [];
    list.push(pairing);
    list.sort((a, b) => a.createdMs - b.createdMs);
    this.#byUser.set(pairing.user, list);
    this.#byId.set(pairing.id, pairing);
  }

  adoptAll(pairings: readonly Pairing[]): void {
    for (const pairing of pairings) this.adopt(pairing);
  }

  drop(id: string): void {
    const known = this.#byId.get(id);
    if (known === undefined) return;
    this.#byId.delete(id);
    const rest = this.of(known.user).filter((pairing) => pairing.id !== id);
    if (rest.length === 0) this.#byUser.delete(known.user);
    else this.#byUser.set(known.user, rest);
  }

  /** Adds a pairing whose commit begins, so that {@link removeUser} finds it. */
  addPrepared(pairing: Pairing): void {
    const [oldest] = this.#prepared;
    if (this.#prepared.size >= MAX_PREPARED && oldest !== undefined) this.#prepared.delete(oldest);
    this.#prepared.add(pairing);
  }

  dropPrepared(pairing: Pairing): void {
    this.#prepared.delete(pairing);
  }

  /** Removes the pairings of a user with these ids. The factors that removed phones added wait for a confirmation. */
  removeSome(
    user: string,
    ids: readonly string[],
    keyOf: (pairing: Pairing) => Deno.KvKey,
  ): RemovedPairings {
    const pairings = this.of(user).filter(({ id }) => ids.includes(id));
    for (const { id } of pairings) this.drop(id);
    return {
      pairings,
      mutations: pairings.map((pairing) => ({ type: "delete", key: keyOf(pairing) })),
      restore: () => this.adoptAll(pairings),
    };
  }

  /** Removes all pairings of a user, including those whose commit is in progress. */
  removeUser(user: string): CachedPairings {
    const known = this.of(user);
    const coming = [...this.#prepared].filter((pairing) => pairing.user === user);
    const preference = this.#preferences.get(user);
    for (const { id } of known) this.drop(id);
    for (const pairing of coming) {
      this.#prepared.delete(pairing);
      this.#removed.set(pairing, { adopted: false });
    }
    this.#preferences.delete(user);
    return {
      pairings: [...known, ...coming],
      preference,
      restore: () => {
        for (const pairing of known) this.adopt(pairing);
        for (const pairing of coming) this.#restorePrepared(pairing);
        if (preference !== undefined) this.#preferences.set(user, preference);
      },
    };
  }

  #restorePrepared(pairing: Pairing): void {
    const wasAdopted = this.#removed.get(pairing)?.adopted === true;
    this.#removed.delete(pairing);
    if (wasAdopted) this.adopt(pairing);
    else this.#prepared.add(pairing);
  }

  /** The chain of phones that added a factor, newest first; ends in `null` if one of them is no longer paired. */
  *addersOf(user: string, addedBy: AddingPhone | undefined): Generator<string | null> {
    const own = this.of(user);
    let phone = addedBy;
    for (let depth = 0; phone !== undefined; depth += 1) {
      yield phone.id;
      const { id } = phone;
      const known = depth < MAX_PER_USER ? own.find((pairing) => pairing.id === id) : undefined;
      if (known === undefined) return yield null;
      phone = known.addedBy;
    }
  }

  /** Whether a factor with this `addedBy` can be used: its phone, and each phone that added that phone, is still paired. */
  isConfirmed(user: string, addedBy: AddingPhone | undefined): boolean {
    return addedBy === undefined || ![...this.addersOf(user, addedBy)].includes(null);
  }
}
