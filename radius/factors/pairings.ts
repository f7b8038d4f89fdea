// The pairings: which factors a user has. They live in the store and, for logins, in memory.

import { createKeyedMutex } from "../../platform/keyed_mutex.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Random } from "../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";
import type { Factor } from "../flow/factors.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import {
  type AddingPhone,
  deviceName,
  type DevicePairingRow,
  nameField,
  type NewPairing,
  type Pairing,
  type TotpPairingRow,
  withAddedBy,
} from "./pairing.ts";
import { MAX_PER_USER, PairingCache } from "./pairing_cache.ts";

export interface Pairings {
  of(user: string): readonly Pairing[];
  /** Those that count for a login: without those that a revoked phone added and that are not confirmed. */
  usable(user: string): readonly Pairing[];
  /** Whether a factor with this `addedBy` counts: its phone, and each phone that added that phone, is still paired. */
  isConfirmed(user: string, addedBy: AddingPhone | undefined): boolean;
  /** Whether the phone `by` added the pairing `id`, directly or through a phone that it added. */
  wasAddedBy(user: string, { id, by }: { id: string; by: string }): boolean;
  /**
   * The pairing counts from now on; with `addedBy`, as if that phone, whose visit confirms it, had added it.
   * @returns `null`: no pairing has that id, or it changed at the same time.
   */
  confirm(id: string, also: readonly Mutation[], by?: Pick<NewPairing, "addedBy">): Promise<Pairing | null>;
  preferred(user: string): Factor | null;
  /** Whose pairing that is (canonical name), or `null`. */
  ownerOf(id: string): string | null;
  /**
   * Runs changes of one user (canonical name), and additions of one device, one after another. A change that first reads what
   * is there belongs here.
   */
  exclusive<T>(of: { readonly user: string; readonly device?: string }, change: () => Promise<T>): Promise<T>;
  /**
   * Prepares a pairing: apply the mutation in a commit, then call `adopt`. The same number or device again replaces.
   *
   * @throws RangeError when the user has too many, or the device belongs to another user.
   */
  prepare(
    user: { canonical: string; shown: string },
    pairing: NewPairing,
  ): { mutation: Mutation; pairing: Pairing };
  adopt(pairing: Pairing): void;
  /**
   * Stores a device pairing that a phone enabled by itself, by invitation.
   *
   * @param with.checks what must hold; otherwise nothing is stored and the promise resolves to `false`.
   * @param with.also changes that belong into the same commit, such as the audit record.
   */
  addDevice(
    device: {
      id: string;
      userName: string;
      totpLength: number;
      name?: string | undefined;
      addedBy?: AddingPhone | undefined;
    },
    options?: { checks?: readonly Check[]; also?: (pairing: Pairing) => readonly Mutation[] },
  ): Promise<boolean>;
  /**
   * Names a phone; `null` when there is none of that id, or it went meanwhile.
   *
   * @param renaming.also gives changes that belong into the same commit, an audit record for one.
   */
  rename(
    id: string,
    renaming: { name: string; also?: (before: DevicePairingRow) => readonly Mutation[] },
  ): Promise<DevicePairingRow | null>;
  /** The record of a TOTP pairing whose time step was used up. */
  prepareUsedStep(pairing: TotpPairingRow, step: number): { mutation: Mutation; pairing: Pairing };
  /** The seed of a TOTP pairing, or `null` when it cannot be opened with this master key. */
  seedOf(pairing: TotpPairingRow): Uint8Array | null;
  /** Sets or clears the factor that comes first. */
  preparePreference(user: string, factor: Factor | null): Mutation;
  adoptPreference(user: string, factor: Factor | null): void;
  /**
   * Takes a pairing out, of the store and of the mirror; `null` when there is none of that id.
   *
   * @param also changes that belong into the same commit, an audit record for one.
   * @param options.confirmsAdded confirms the pairings that this phone added. They then count as added by the phone that added this one.
   */
  revoke(
    id: string,
    also?: readonly Mutation[],
    options?: { confirmsAdded?: boolean },
  ): Promise<Pairing | null>;
  /**
   * Takes out of the mirror, at once, all that a user has, also what is on its way into the store: a login meanwhile finds nothing. The
   * mutations take it out of the store.
   */
  takeAll(user: string): Taken;
  all(): Iterable<Pairing>;
  load(): Promise<number>;
  readonly size: number;
}

/** What {@link Pairings.takeAll} took. */
export interface Taken {
  readonly pairings: readonly Pairing[];
  readonly mutations: readonly Mutation[];
  /** The mutations were not made: the mirror gets everything back. */
  putBack(): void;
}

/** @param target the directory whose users the pairings belong to. */
export function createPairings(
  { store, vault, clock, random, target }: {
    store: Store;
    vault: Vault;
    clock: Clock;
    random: Random;
    target: string;
  },
): Pairings {
  const cache = new PairingCache();
  const users = createKeyedMutex();
  const devices = createKeyedMutex();
  const keyOf = (
    pairing: { user: string; kind: string; id: string },
  ): Deno.KvKey => ["pairing", target, pairing.user, pairing.kind, pairing.id];
  const preferenceKey = (user: string): Deno.KvKey => ["preference", target, user];

  const idFor = (user: string, pairing: NewPairing): string => {
    if (pairing.kind === "device") return pairing.id;
    if (pairing.kind === "totp") return `totp-${random.bytes(8).toHex()}`;
    const same = cache.of(user).find((known) =>
      known.kind === pairing.kind && known.number === pairing.number
    );
    return same?.id ?? `${pairing.kind}-${random.bytes(8).toHex()}`;
  };

  const prepare: Pairings["prepare"] = ({ canonical, shown }, wanted) => {
    if (cache.of(canonical).length >= MAX_PER_USER) {
      throw new RangeError(
        `Cannot add a pairing: "${shown}" has ${MAX_PER_USER} already; revoke one first`,
      );
    }
    const owner = wanted.kind === "device" ? cache.get(wanted.id) : undefined;
    if (owner !== undefined && owner.user !== canonical) {
      // Two records of one phone would leave it to the order of keys whose phone it is after a restart.
      throw new RangeError(
        `Cannot add a pairing: the device "${owner.id}" belongs to "${owner.shownUser}"; revoke it there first`,
      );
    }
    const head = {
      id: idFor(canonical, wanted),
      user: canonical,
      shownUser: shown,
      createdMs: clock.nowMs(),
      ...(wanted.addedBy === undefined ? {} : { addedBy: wanted.addedBy }),
    };
    const key = keyOf({ ...head, kind: wanted.kind });
    const pairing: Pairing = wanted.kind === "device"
      ? {
        ...head,
        kind: "device",
        totpLength: wanted.totpLength,
        ...nameField(wanted.name ?? deviceName(owner)),
      }
      : wanted.kind === "totp"
      ? { ...head, kind: "totp", seed: vault.seal(key, wanted.seed), lastStep: wanted.lastStep ?? -1 }
      : { ...head, kind: wanted.kind, number: wanted.number };
    cache.addPrepared(pairing);
    return { mutation: { type: "set", key, value: pairing }, pairing };
  };

  return {
    of: (user) => cache.of(user),
    usable: (user) => cache.of(user).filter(({ addedBy }) => cache.isConfirmed(user, addedBy)),
    isConfirmed: (user, addedBy) => cache.isConfirmed(user, addedBy),
    wasAddedBy(user, { id, by }) {
      const known = cache.of(user).find((pairing) => pairing.id === id);
      return [...cache.addersOf(user, known?.addedBy)].includes(by);
    },
    async confirm(id, also, { addedBy } = {}) {
      const before = cache.get(id);
      if (before === undefined) return null;
      const key = keyOf(before);
      const { versionstamp } = await store.get(key);
      if (versionstamp === null || cache.get(id) !== before) return null;
      const confirmed = withAddedBy(before, addedBy);
      const { ok } = await store.commit({
        checks: [{ key, versionstamp }],
        mutations: [{ type: "set", key, value: confirmed }, ...also],
      });
      if (!ok) return null;
      if (cache.get(id) === before) cache.adopt(confirmed);
      return confirmed;
    },
    ownerOf: (id) => cache.get(id)?.user ?? null,
    preferred: (user) => cache.preference(user),
    exclusive: ({ user, device }, change) =>
      users.run(user, () => device === undefined ? change() : devices.run(device, change)),
    prepare,
    adopt: (pairing) => cache.adopt(pairing),
    async addDevice({ userName, ...device }, { checks = [], also = () => [] } = {}) {
      const { mutation, pairing } = prepare(
        { canonical: canonicalName(userName), shown: userName },
        { kind: "device", ...device },
      );
      const { ok } = await store.commit({ checks, mutations: [mutation, ...also(pairing)] });
      if (ok) cache.adopt(pairing);
      else cache.dropPrepared(pairing);
      return ok;
    },
    prepareUsedStep(pairing, step) {
      const used = { ...pairing, lastStep: step };
      return { mutation: { type: "set", key: keyOf(pairing), value: used }, pairing: used };
    },
    seedOf: (pairing) => vault.open(keyOf(pairing), pairing.seed),
    preparePreference: (user, factor) =>
      factor === null
        ? { type: "delete", key: preferenceKey(user) }
        : { type: "set", key: preferenceKey(user), value: factor },
    adoptPreference: (user, factor) => cache.setPreference(user, factor),
    async revoke(id, also = [], { confirmsAdded = false } = {}) {
      const known = cache.get(id);
      if (known === undefined) return null;
      const added = confirmsAdded ? cache.of(known.user).filter((one) => one.addedBy?.id === id) : [];
      const confirmed = added.map((one) => withAddedBy(one, known.addedBy));
      // Out of the mirror first: a login that used it up meanwhile would write its record again.
      cache.drop(id);
      for (const pairing of confirmed) cache.adopt(pairing);
      const changes = confirmed.map((value): Mutation => ({ type: "set", key: keyOf(value), value }));
      try {
        await store.commit({ mutations: [{ type: "delete", key: keyOf(known) }, ...changes, ...also] });
      } catch (fault) {
        cache.adopt(known);
        for (const pairing of added) cache.adopt(pairing);
        throw fault;
      }
      return known;
    },
    async rename(id, { name, also = () => [] }) {
      const before = cache.get(id);
      if (before?.kind !== "device") return null;
      const key = keyOf(before);
      const { versionstamp } = await store.get(key);
      // Revoked meanwhile: its record is not written again.
      if (versionstamp === null || cache.get(id) !== before) return null;
      const named: DevicePairingRow = { ...before, name };
      const outcome = await store.commit({
        checks: [{ key, versionstamp }],
        mutations: [{ type: "set", key, value: named }, ...also(before)],
      });
      if (!outcome.ok) return null;
      if (cache.get(id) === before) cache.adopt(named);
      return named;
    },
    takeAll(user) {
      const { pairings, preference, putBack } = cache.takeUser(user);
      const mutations: Mutation[] = pairings.map((pairing) => ({ type: "delete", key: keyOf(pairing) }));
      if (preference !== undefined) mutations.push({ type: "delete", key: preferenceKey(user) });
      return { pairings, mutations, putBack };
    },
    all: () => cache.all(),
    async load() {
      for await (const { value } of store.list<Pairing>(["pairing", target])) {
        if (value !== null) cache.adopt(value);
      }
      for await (const { key, value } of store.list<Factor>(["preference", target])) {
        const user = key[2];
        if (typeof user === "string" && value !== null) cache.setPreference(user, value);
      }
      return cache.size;
    },
    get size() {
      return cache.size;
    },
  };
}
