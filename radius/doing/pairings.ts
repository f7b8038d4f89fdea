// The pairings: which factors a user has. A mirror of the store, so that a login reads memory.

import type { Clock } from "../../runtime.ts";
import { type Random, toHex } from "../../runtime.ts";
import type { Check, Mutation, Store } from "../../store.ts";
import type { Vault } from "../../vault.ts";
import type { Factor } from "../facts/factors.ts";
import { canonicalName } from "../../canonical_name.ts";

/** The phone that opened the visit to /me in which a factor was added. */
export interface AddingPhone {
  /** The phone's pairing. */
  readonly id: string;
  /** The phone's name at that time. */
  readonly name?: string;
}

/** One pairing as it is kept. `user` is canonical; `shownUser` as it was given. */
export type Pairing =
  & {
    readonly id: string;
    readonly user: string;
    readonly shownUser: string;
    readonly createdMs: number;
    /** Without that phone, the pairing does not count for a login until it is confirmed. */
    readonly addedBy?: AddingPhone;
  }
  & (
    /** `name`: what its person calls the phone; absent where nobody named it, and in records from before phones had names. */
    | { readonly kind: "device"; readonly totpLength: number; readonly name?: string }
    | { readonly kind: "sms" | "voice"; readonly number: string }
    /** `seed` is sealed for the record's key; `lastStep` is the time step accepted last. */
    | { readonly kind: "totp"; readonly seed: Uint8Array; readonly lastStep: number }
  );

export type DevicePairingRow = Extract<Pairing, { kind: "device" }>;
export type TotpPairingRow = Extract<Pairing, { kind: "totp" }>;

/** What is asked to be stored; ids of phone numbers and TOTP secrets are made here, a device's is the service's. */
export type NewPairing =
  & { addedBy?: AddingPhone | undefined }
  & (
    /** Without a `name` the one that the same device has stays. */
    | { kind: "device"; id: string; totpLength: number; name?: string | undefined }
    | { kind: "sms" | "voice"; number: string }
    /** `lastStep`: the step of the code that proved the seed, so that it counts once (RFC 6238 §5.2); absent: none was asked for. */
    | { kind: "totp"; seed: Uint8Array; lastStep?: number }
  );

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

/** Pairings whose commit is under way; beyond that the oldest is taken for given up. */
const MOST_PREPARED = 1000;
/** Most pairings of one user: a phone, numbers and seeds beyond that are a fault of whoever stores them. */
const MOST_PER_USER = 20;

const NONE: readonly Pairing[] = [];

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
  const byUser = new Map<string, Pairing[]>();
  const byId = new Map<string, Pairing>();
  const preferences = new Map<string, Factor>();
  const keyOf = (
    pairing: { user: string; kind: string; id: string },
  ): Deno.KvKey => ["pairing", target, pairing.user, pairing.kind, pairing.id];
  const preferenceKey = (user: string): Deno.KvKey => ["preference", target, user];

  /** Prepared and not adopted yet. */
  const prepared = new Set<Pairing>();
  /** Taken out before they were adopted; `adopted`: that was asked for meanwhile. */
  const taken = new WeakMap<Pairing, { adopted: boolean }>();

  const adopt = (pairing: Pairing): void => {
    prepared.delete(pairing);
    const gone = taken.get(pairing);
    if (gone !== undefined) {
      gone.adopted = true;
      return;
    }
    drop(pairing.id);
    const list = byUser.get(pairing.user) ?? [];
    list.push(pairing);
    list.sort((a, b) => a.createdMs - b.createdMs);
    byUser.set(pairing.user, list);
    byId.set(pairing.id, pairing);
  };
  const drop = (id: string): void => {
    const known = byId.get(id);
    if (known === undefined) return;
    byId.delete(id);
    const rest = (byUser.get(known.user) ?? []).filter((pairing) => pairing.id !== id);
    if (rest.length === 0) byUser.delete(known.user);
    else byUser.set(known.user, rest);
  };
  const idFor = (user: string, pairing: NewPairing): string => {
    if (pairing.kind === "device") return pairing.id;
    if (pairing.kind === "totp") return `totp-${toHex(random.bytes(8))}`;
    const same = (byUser.get(user) ?? NONE).find((known) =>
      known.kind === pairing.kind && known.number === pairing.number
    );
    return same?.id ?? `${pairing.kind}-${toHex(random.bytes(8))}`;
  };

  const prepare: Pairings["prepare"] = ({ canonical, shown }, wanted) => {
    if ((byUser.get(canonical) ?? NONE).length >= MOST_PER_USER) {
      throw new RangeError(
        `Cannot add a pairing: "${shown}" has ${MOST_PER_USER} already; revoke one first`,
      );
    }
    const owner = wanted.kind === "device" ? byId.get(wanted.id) : undefined;
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
        ...nameOf(wanted.name ?? nameBefore(owner)),
      }
      : wanted.kind === "totp"
      ? { ...head, kind: "totp", seed: vault.seal(key, wanted.seed), lastStep: wanted.lastStep ?? -1 }
      : { ...head, kind: wanted.kind, number: wanted.number };
    notePrepared(pairing);
    return { mutation: { type: "set", key, value: pairing }, pairing };
  };

  const notePrepared = (pairing: Pairing): void => {
    const [oldest] = prepared;
    if (prepared.size >= MOST_PREPARED && oldest !== undefined) prepared.delete(oldest);
    prepared.add(pairing);
  };

  const takeAll = (user: string): Taken => {
    const known = byUser.get(user) ?? NONE;
    const coming = [...prepared].filter((pairing) => pairing.user === user);
    const preference = preferences.get(user);
    for (const { id } of known) drop(id);
    for (const pairing of coming) {
      prepared.delete(pairing);
      taken.set(pairing, { adopted: false });
    }
    preferences.delete(user);
    const pairings = [...known, ...coming];
    const mutations: Mutation[] = pairings.map((pairing) => ({ type: "delete", key: keyOf(pairing) }));
    if (preference !== undefined) mutations.push({ type: "delete", key: preferenceKey(user) });
    return {
      pairings,
      mutations,
      putBack() {
        for (const pairing of known) adopt(pairing);
        for (const pairing of coming) {
          const wasAdopted = taken.get(pairing)?.adopted === true;
          taken.delete(pairing);
          if (wasAdopted) adopt(pairing);
          else prepared.add(pairing);
        }
        if (preference !== undefined) preferences.set(user, preference);
      },
    };
  };

  /** The phones that led to a factor, newest first; `null` ends the list if one of them is not paired any more. */
  function* addersOf(user: string, addedBy: AddingPhone | undefined): Generator<string | null> {
    const own = byUser.get(user) ?? NONE;
    let phone = addedBy;
    for (let depth = 0; phone !== undefined; depth += 1) {
      yield phone.id;
      const { id } = phone;
      const known = depth < MOST_PER_USER ? own.find((pairing) => pairing.id === id) : undefined;
      if (known === undefined) return yield null;
      phone = known.addedBy;
    }
  }
  const isConfirmed = (user: string, addedBy: AddingPhone | undefined): boolean =>
    addedBy === undefined || ![...addersOf(user, addedBy)].includes(null);

  return {
    of: (user) => byUser.get(user) ?? NONE,
    usable: (user) => (byUser.get(user) ?? NONE).filter(({ addedBy }) => isConfirmed(user, addedBy)),
    isConfirmed,
    wasAddedBy(user, { id, by }) {
      const known = (byUser.get(user) ?? NONE).find((pairing) => pairing.id === id);
      return [...addersOf(user, known?.addedBy)].includes(by);
    },
    async confirm(id, also, { addedBy } = {}) {
      const before = byId.get(id);
      if (before === undefined) return null;
      const key = keyOf(before);
      const { versionstamp } = await store.get(key);
      if (versionstamp === null || byId.get(id) !== before) return null;
      const confirmed = withAddedBy(before, addedBy);
      const { ok } = await store.commit({
        checks: [{ key, versionstamp }],
        mutations: [{ type: "set", key, value: confirmed }, ...also],
      });
      if (!ok) return null;
      if (byId.get(id) === before) adopt(confirmed);
      return confirmed;
    },
    ownerOf: (id) => byId.get(id)?.user ?? null,
    preferred: (user) => preferences.get(user) ?? null,
    prepare,
    adopt,
    async addDevice({ userName, ...device }, { checks = [], also = () => [] } = {}) {
      const { mutation, pairing } = prepare(
        { canonical: canonicalName(userName), shown: userName },
        { kind: "device", ...device },
      );
      const { ok } = await store.commit({ checks, mutations: [mutation, ...also(pairing)] });
      if (ok) adopt(pairing);
      else prepared.delete(pairing);
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
    adoptPreference(user, factor) {
      if (factor === null) preferences.delete(user);
      else preferences.set(user, factor);
    },
    async revoke(id, also = [], { confirmsAdded = false } = {}) {
      const known = byId.get(id);
      if (known === undefined) return null;
      const added = confirmsAdded
        ? (byUser.get(known.user) ?? NONE).filter((one) => one.addedBy?.id === id)
        : [];
      const confirmed = added.map((one) => withAddedBy(one, known.addedBy));
      // Out of the mirror first: a login that used it up meanwhile would write its record again.
      drop(id);
      for (const pairing of confirmed) adopt(pairing);
      const changes = confirmed.map((value): Mutation => ({ type: "set", key: keyOf(value), value }));
      try {
        await store.commit({ mutations: [{ type: "delete", key: keyOf(known) }, ...changes, ...also] });
      } catch (fault) {
        adopt(known);
        for (const pairing of added) adopt(pairing);
        throw fault;
      }
      return known;
    },
    async rename(id, { name, also = () => [] }) {
      const before = byId.get(id);
      if (before?.kind !== "device") return null;
      const key = keyOf(before);
      const { versionstamp } = await store.get(key);
      // Revoked meanwhile: its record is not written again.
      if (versionstamp === null || byId.get(id) !== before) return null;
      const named: DevicePairingRow = { ...before, name };
      const outcome = await store.commit({
        checks: [{ key, versionstamp }],
        mutations: [{ type: "set", key, value: named }, ...also(before)],
      });
      if (!outcome.ok) return null;
      if (byId.get(id) === before) adopt(named);
      return named;
    },
    takeAll,
    all: () => byId.values(),
    async load() {
      for await (const { value } of store.list<Pairing>(["pairing", target])) {
        if (value !== null) adopt(value);
      }
      for await (const { key, value } of store.list<Factor>(["preference", target])) {
        const user = key[2];
        if (typeof user === "string" && value !== null) preferences.set(user, value);
      }
      return byId.size;
    },
    get size() {
      return byId.size;
    },
  };
}

function withAddedBy<T extends Pairing>(pairing: T, addedBy: AddingPhone | undefined): T {
  const { addedBy: _addedBy, ...rest } = pairing;
  return { ...rest, ...(addedBy === undefined ? {} : { addedBy }) } as T;
}

function nameOf(name: string | undefined): { name?: string } {
  return name === undefined ? {} : { name };
}

function nameBefore(pairing: Pairing | undefined): string | undefined {
  return pairing?.kind === "device" ? pairing.name : undefined;
}
