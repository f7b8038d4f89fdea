// The pairings: the second factors of each user, in the store, and in memory for logins.

import { KeyedMutex } from "../../platform/semaphore.ts";
import { RecordVersions } from "../../platform/cluster/change_log.ts";
import type { Check, Mutation, StoreEntry } from "../../platform/store.ts";
import { StoreUnavailable } from "../../platform/store_fault.ts";
import { NO_CHANGE, type UnversionedChange } from "../../platform/write_batch.ts";
import { checkFactor, type Factor } from "../flow/context.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { type AppUse, usedApp } from "../tokens/token_codes.ts";
import {
  type AddingPhone,
  deviceName,
  type DevicePairingRow,
  type FactorStoreDeps,
  type NewDevice,
  type NewPairing,
  type Pairing,
  pairingId,
  pairingOf,
  type StepUse,
  type TotpPairingRow,
  withAddedBy,
} from "./pairing.ts";
import { PairingTable } from "./pairing_table.ts";

/** Lost races of one removal. */
const MAX_TRIES = 20;

/** All names of users are canonical, unless stated otherwise. */
export class Pairings {
  readonly #deps: FactorStoreDeps;
  readonly #cache: PairingCache;
  readonly #versions: RecordVersions;
  readonly #users = new KeyedMutex();
  readonly #devices = new KeyedMutex();
  /** Pairings of each change in progress, for which memory and the store differ. */
  readonly #changing = new Set<readonly Pairing[]>();
  /** The mark of the user, and the end of the open invitations, of prepared pairings. */
  readonly #enrolments = new WeakMap<Pairing, readonly UnversionedChange[]>();

  constructor(deps: FactorStoreDeps) {
    this.#deps = deps;
    this.#cache = new PairingCache(new DataView(deps.random.bytes(4).buffer).getInt32(0));
    this.#versions = new RecordVersions(deps.store);
    deps.store.follow(["pairing", deps.target], (entry) => this.#apply(entry));
    deps.store.follow(["preference", deps.target], (entry) => this.#applyPreference(entry));
  }

  get size(): number {
    return this.#cache.size;
  }
  /** Users with at least one pairing. */
  get userCount(): number {
    return this.#cache.userCount;
  }
  of(user: string): readonly Pairing[] {
    return this.#cache.of(user);
  }
  all(): Iterable<Pairing> {
    return this.#cache.all();
  }
  /** The users of all pairings, once for each pairing. */
  names(): Iterable<Pick<Pairing, "user" | "shownUser">> {
    return this.#cache.names();
  }

  /** The pairings that can be used for a login: all except unconfirmed ones that a revoked phone added. */
  usable(user: string): readonly Pairing[] {
    const all = this.of(user);
    return all.every(({ addedBy }) => addedBy === undefined)
      ? all
      : all.filter(({ addedBy }) => this.isConfirmed(user, addedBy));
  }

  /** Whether a factor with this `addedBy` can be used: its phone, and each phone that added that phone, is still paired. */
  isConfirmed(user: string, addedBy: AddingPhone | undefined): boolean {
    return this.#cache.isConfirmed(user, addedBy);
  }

  /** Whether the phone `by` added the pairing `id`, directly or through a phone that it added. */
  wasAddedBy(user: string, { id, by }: { id: string; by: string }): boolean {
    const known = this.of(user).find((pairing) => pairing.id === id);
    return [...this.#cache.addersOf(user, known?.addedBy)].includes(by);
  }

  /**
   * The factor itself, or the first of the phones that added one another and then it. A thief of that phone may have made all factors of one
   * origin.
   */
  originOf(user: string, { id, addedBy }: Pick<Pairing, "id" | "addedBy">): string {
    return [...this.#cache.addersOf(user, addedBy)].findLast((phone) => phone !== null) ?? id;
  }

  /** The user of a pairing, or `null`. */
  ownerOf(id: string): string | null {
    return this.#cache.get(id)?.user ?? null;
  }
  preferred(user: string): Factor | null {
    return this.#cache.preference(user);
  }

  /** Runs changes of one user, and additions of one device, one after another. For changes that first read the current state. */
  exclusive<T>(
    { user, device }: { readonly user: string; readonly device?: string },
    change: () => Promise<T>,
  ): Promise<T> {
    return this.#users.run(user, () => device === undefined ? change() : this.#devices.run(device, change));
  }

  /**
   * Prepares a pairing. Make the mutations in a commit, then call `adopt`. `marking` marks the user and ends open invitations. The same number or device replaces its pairing.
   *
   * @throws RangeError if the user has too many pairings, or the device belongs to another user
   */
  prepare(
    { canonical, shown }: { canonical: string; shown: string },
    wanted: NewPairing,
  ): { mutation: Mutation; marking: readonly Mutation[]; pairing: Pairing } {
    const { vault, clock, marks, endInvitations } = this.#deps;
    if (this.of(canonical).length >= MAX_PER_USER) {
      throw new RangeError(`Cannot add a pairing: "${shown}" has ${MAX_PER_USER} already; revoke one first`);
    }
    const owner = wanted.kind === "device" ? this.#cache.get(wanted.id) : undefined;
    if (owner !== undefined && owner.user !== canonical) {
      // With two records for one phone, its user after a restart would depend on the order of the keys.
      throw new RangeError(
        `Cannot add a pairing: the device "${owner.id}" belongs to "${owner.shownUser}"; revoke it there first`,
      );
    }
    const head = {
      id: pairingId(wanted, this.of(canonical), this.#deps.random),
      ...{ user: canonical, shownUser: shown, createdMs: clock.nowMs() },
      ...(wanted.addedBy === undefined ? {} : { addedBy: wanted.addedBy }),
    };
    const key = this.keyOf({ ...head, kind: wanted.kind });
    const seal = (seed: Uint8Array) => vault.seal(key, seed);
    const pairing = pairingOf(wanted, head, { seal, knownName: deviceName(owner) });
    this.#cache.addPrepared(pairing);
    const parts = [marks?.prepare(canonical) ?? NO_CHANGE, endInvitations?.(canonical) ?? NO_CHANGE];
    this.#enrolments.set(pairing, parts);
    return {
      mutation: { type: "set", key, value: pairing, basis: this.#versions.overwriteOf(key) },
      marking: parts.flatMap(({ mutations }) => mutations),
      pairing,
    };
  }

  /** Takes a pairing into memory. Returns its {@link versionOf}. */
  adopt(pairing: Pairing): number {
    for (const { done } of this.#enrolments.get(pairing) ?? []) done();
    this.#enrolments.delete(pairing);
    return this.#cache.adopt(pairing);
  }

  /** Changes with each change of a pairing in memory; 0 if there is none with this id. */
  versionOf(id: string): number {
    return this.#cache.versionOf(id);
  }

  /**
   * Stores a device pairing that a phone enabled by invitation.
   *
   * @param options.checks conditions; if one fails, nothing is stored and the promise resolves to `false`
   * @param options.also further changes of the same commit, such as the audit record
   */
  async addDevice(
    { userName, ...device }: NewDevice,
    { checks = [], also = () => [] }: {
      checks?: readonly Check[];
      also?: (pairing: Pairing) => readonly Mutation[];
    } = {},
  ): Promise<boolean> {
    const user = { canonical: canonicalName(userName), shown: userName };
    const { mutation, marking, pairing } = this.prepare(user, { kind: "device", ...device });
    const { ok } = await this.#deps.store.commit({
      checks,
      mutations: [mutation, ...marking, ...also(pairing)],
    });
    if (ok) this.adopt(pairing);
    else this.#cache.dropPrepared(pairing);
    return ok;
  }

  /**
   * Confirms a pairing, so that it can be used from now on. With `addedBy`, it counts as added by that phone, which confirms it.
   * @returns `null` if no pairing has that id, or it changed at the same time
   */
  async confirm(
    id: string,
    also: readonly Mutation[],
    { addedBy }: Pick<NewPairing, "addedBy"> = {},
  ): Promise<Pairing | null> {
    const before = this.#cache.get(id);
    if (before === undefined) return null;
    return await this.#changes([before], () => this.#replace(before, withAddedBy(before, addedBy), also));
  }

  /**
   * Names a phone. `null` if no phone has that id, or it changed at the same time.
   *
   * @param renaming.also further changes of the same commit, such as the audit record
   */
  async rename(
    id: string,
    { name, also = () => [] }: { name: string; also?: (before: DevicePairingRow) => readonly Mutation[] },
  ): Promise<DevicePairingRow | null> {
    const before = this.#cache.get(id);
    if (before?.kind !== "device") return null;
    return await this.#replace(before, { ...before, name }, also(before));
  }

  /**
   * Removes a pairing from the store and from memory. `null` if there is none with that id.
   *
   * @param also further changes of the same commit, such as the audit record
   * @param options.confirmsAdded confirms the pairings that this phone added. They then count as added by the phone that added this one.
   */
  async revoke(
    id: string,
    also: readonly Mutation[] = [],
    { confirmsAdded = false }: { confirmsAdded?: boolean } = {},
  ): Promise<Pairing | null> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const known = this.#cache.get(id);
      if (known === undefined) return null;
      const added = confirmsAdded ? this.of(known.user).filter((one) => one.addedBy?.id === id) : [];
      if (await this.#changes(added, () => this.#removeOne(known, added, also))) return known;
      // Another node used a time step of an added factor. It must not become valid again.
      await this.#deps.store.reread(added.map((one) => this.keyOf(one)));
    }
    throw new StoreUnavailable("Cannot remove a pairing: other nodes keep changing the factors of its user");
  }

  /** Removes pairings of a user from memory at once. The caller commits the mutations, and calls `restore` if that fails. */
  prepareRevoke(user: string, ids: readonly string[]): ReturnType<PairingCache["removeSome"]> {
    return this.#cache.removeSome(user, ids, (pairing) => this.keyOf(pairing));
  }

  /** Removes a pairing and confirms those that it added. `false`: one of these changed meanwhile, and nothing was stored. */
  async #removeOne(known: Pairing, added: readonly Pairing[], also: readonly Mutation[]): Promise<boolean> {
    const confirmed = added.map((one) => withAddedBy(one, known.addedBy));
    // Removed from memory first. Otherwise a login that uses it meanwhile would write its record again.
    this.#cache.drop(known.id);
    this.#cache.adoptAll(confirmed);
    const changes = confirmed.map((value): Mutation => {
      const key = this.keyOf(value);
      return { type: "set", key, value, basis: this.#versions.basisOf(key) };
    });
    const mutations: Mutation[] = [{ type: "delete", key: this.keyOf(known) }, ...changes, ...also];
    const { ok } = await this.#deps.store.commit({ mutations }).catch((fault: unknown) => {
      this.#undoRemoval(known, added);
      throw fault;
    });
    if (!ok) this.#undoRemoval(known, added);
    return ok;
  }

  /** A step of an added app that a login used meanwhile stays used. */
  #undoRemoval(known: Pairing, added: readonly Pairing[]): void {
    const now = added.flatMap((one) => {
      const changed = this.#cache.get(one.id);
      return changed === undefined ? [] : [withAddedBy(changed, one.addedBy)];
    });
    this.#cache.adoptAll([known, ...now]);
  }

  /**
   * Prepares the use of a time step, with the drift that it shows. With several nodes, its commit fails if another node changed the record.
   * Without others, it is a line of the journal, and the record gets the step later.
   */
  prepareUsedStep(pairing: TotpPairingRow, use: AppUse): StepUse & { readonly pairing: TotpPairingRow } {
    const { store, usedSteps, target } = this.#deps;
    const used = usedApp(pairing, use);
    if (usedSteps !== undefined && !store.isShared) {
      return { pairing: used, ...usedSteps.prepare(used, target) };
    }
    const { mutation } = this.prepareChange(used);
    return { pairing: used, mutations: [mutation], journal: [], done: () => undefined };
  }
  /** The write of the record of an app as memory has it; `null`: several nodes change it, a change is in progress, or it is gone. */
  stepRecord(id: string): Mutation | null {
    const app = this.#deps.store.isShared ? undefined : this.#cache.get(id);
    const isChanging = [...this.#changing].some((changed) => changed.some((one) => one.id === id));
    return app?.kind === "totp" && !isChanging ? { type: "set", key: this.keyOf(app), value: app } : null;
  }

  /** Prepares a changed record. Its commit fails if another node changed the record. */
  prepareChange(pairing: Pairing): { mutation: Mutation; pairing: Pairing } {
    const key = this.keyOf(pairing);
    return { mutation: { type: "set", key, value: pairing, basis: this.#versions.basisOf(key) }, pairing };
  }

  /** The seed of a TOTP pairing, or `null` if it cannot be opened with this master key. */
  seedOf(pairing: TotpPairingRow): Uint8Array | null {
    return this.#deps.vault.open(this.keyOf(pairing), pairing.seed);
  }

  /** Prepares the change of the factor that is tried first; `null` clears it. */
  preparePreference(user: string, factor: Factor | null): Mutation {
    const key = this.#preferenceKey(user);
    return factor === null ? { type: "delete", key } : { type: "set", key, value: factor };
  }
  adoptPreference(user: string, factor: Factor | null): void {
    this.#cache.setPreference(user, factor);
  }

  /** Removes all pairings of a user from memory at once, also those whose commit is in progress, so that no login finds them. */
  removeUser(user: string): Omit<CachedPairings, "preference"> & { readonly mutations: readonly Mutation[] } {
    const { pairings, preference, restore } = this.#cache.removeUser(user);
    const mutations: Mutation[] = pairings.map((pairing) => ({ type: "delete", key: this.keyOf(pairing) }));
    if (preference !== undefined) mutations.push({ type: "delete", key: this.#preferenceKey(user) });
    return { pairings, mutations, restore };
  }

  async load(): Promise<number> {
    const { store, target } = this.#deps;
    await store.load(["pairing", target], (entry) => this.#apply(entry));
    await store.load(["preference", target], (entry) => this.#applyPreference(entry));
    return this.size;
  }

  /** Takes over a stored pairing: at the start, after a change of another node, or after a commit that raced. */
  #apply({ key, value, versionstamp }: StoreEntry<unknown>): void {
    this.#versions.apply(key, versionstamp);
    // One of an unknown kind is kept, too: its user must not pair another one at a login.
    if (value !== null) {
      this.#cache.adopt(this.#deps.usedSteps?.applied(value as Pairing) ?? value as Pairing);
    } else if (this.#cache.get(String(key[4]))?.user === key[2]) this.#cache.drop(String(key[4]));
    checkFactor(key[3]);
  }

  #applyPreference({ key: [, , user], value }: StoreEntry<unknown>): void {
    if (value !== null) checkFactor(value);
    if (typeof user === "string") this.#cache.setPreference(user, value as Factor | null);
  }

  keyOf({ user, kind, id }: { user: string; kind: string; id: string }): Deno.KvKey {
    return ["pairing", this.#deps.target, user, kind, id];
  }
  #preferenceKey = (user: string): Deno.KvKey => ["preference", this.#deps.target, user];

  /** Replaces the record that was read, unless it was revoked or changed meanwhile: another node may have used a time step. */
  async #replace<T extends Pairing>(before: T, after: T, also: readonly Mutation[]): Promise<T | null> {
    const { mutation } = this.prepareChange(after);
    const version = this.versionOf(before.id);
    const { ok } = await this.#deps.store.commit({ mutations: [mutation, ...also] });
    if (!ok) {
      await this.#deps.store.reread([this.keyOf(before)]);
      return null;
    }
    const now = this.#cache.get(before.id);
    if (now !== undefined && this.versionOf(before.id) === version) return this.#adopted(after);
    // Without other nodes, a login that used the app meanwhile changed only its step in memory. A rename moves the record that memory has.
    if (now?.kind !== "totp" || after.kind !== "totp" || this.#deps.store.isShared) return null;
    if (now.user !== after.user) return null;
    const { lastStep: step, drift = 0 } = now;
    const used = after as T & TotpPairingRow;
    return this.#adopted(step > used.lastStep ? usedApp(used, { step, drift }) : used);
  }

  /** Runs a change of pairings to its end in memory. */
  #changes<T>(changed: readonly Pairing[], change: () => Promise<T>): Promise<T> {
    this.#changing.add(changed);
    return change().finally(() => this.#changing.delete(changed));
  }

  #adopted<T extends Pairing>(pairing: T): T {
    this.#cache.adopt(pairing);
    return pairing;
  }
}

/** The result of {@link PairingCache.removeUser}. */
interface CachedPairings {
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

const MAX_PER_USER = 20;
/** Pairings whose commit is in progress. Beyond this number, the oldest counts as abandoned. */
const MAX_PREPARED = 1000;

/** Reads and changes only memory. The caller writes to the store. */
class PairingCache extends PairingTable {
  readonly #preferences = new Map<string, Factor>();
  /** Prepared and not adopted yet. */
  readonly #prepared = new Set<Pairing>();
  /** Removed with their user while their commit was in progress. `adopted`: {@link adopt} was called after that. */
  readonly #removed = new WeakMap<Pairing, { adopted: boolean }>();

  preference(user: string): Factor | null {
    return this.#preferences.get(user) ?? null;
  }

  setPreference(user: string, factor: Factor | null): void {
    if (factor === null) this.#preferences.delete(user);
    else this.#preferences.set(user, factor);
  }

  /**
   * Adds a pairing, or replaces the one with the same id. Does nothing if {@link removeUser} removed the user during the commit. Returns the version
   * of the pairing, or 0.
   */
  adopt(pairing: Pairing): number {
    this.#prepared.delete(pairing);
    const gone = this.#removed.get(pairing);
    if (gone === undefined) return this.put(pairing);
    gone.adopted = true;
    return 0;
  }

  adoptAll(pairings: readonly Pairing[]): void {
    for (const pairing of pairings) this.adopt(pairing);
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
