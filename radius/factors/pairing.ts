// A pairing: a second factor of a user, as stored. Also the factors that wait for a confirmation, and the fields of audit records.

import { maskPhoneNumber } from "../../platform/phone_number.ts";
import type { JournalLine } from "../../platform/journal.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";
import type { UnversionedChange } from "../../platform/write_batch.ts";
import type { Factor } from "../flow/context.ts";
import { type StoredApp, unusualParameters } from "../tokens/token_codes.ts";

export interface FactorStoreDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly target: string;
  /** Absent: each use of a code changes the record of its pairing. */
  readonly usedSteps?: StepJournal;
  /** Marks the users who get a factor. Absent: none are marked. */
  readonly marks?: { prepare(user: string): UnversionedChange };
  /** Ends the links of a user who enrols. Absent: there are none. @param user canonical */
  readonly endInvitations?: (user: string) => UnversionedChange;
}

/** Used time steps that the records of pairings get later. */
interface StepJournal {
  prepare(used: TotpPairingRow, target: string): StepUse;
  /** A pairing as it was read from the store, with the newest step that is known. */
  applied(pairing: Pairing): Pairing;
}

/** The use of a time step, to commit. `done` is called when the commit is durable. */
export interface StepUse {
  readonly mutations: readonly Mutation[];
  readonly journal: readonly JournalLine[];
  done(): void;
}

/** The phone that opened the /me session in which a factor was added. */
export interface AddingPhone {
  readonly id: string;
  /** The phone's name at that time. */
  readonly name?: string;
}

/** `user` is the canonical name, `shownUser` the name as given. */
export type Pairing =
  & {
    readonly id: string;
    readonly user: string;
    readonly shownUser: string;
    readonly createdMs: number;
    /** If that phone is no longer paired, the pairing cannot be used for a login until it is confirmed. */
    readonly addedBy?: AddingPhone;
  }
  & (
    /**
     * `name`: the user's name for the phone; absent without a name, and in records of versions that had no names. `approvedMs`: when the phone
     * last approved a login, for the order of several phones; not updated while the order stays the same.
     */
    | {
      readonly kind: "device";
      readonly totpLength: number;
      readonly name?: string;
      readonly approvedMs?: number;
    }
    | { readonly kind: "sms" | "voice"; readonly number: string }
    /** `seed` is sealed for the record's key. */
    | { readonly kind: "totp"; readonly seed: Uint8Array } & StoredApp
  );

export type DevicePairingRow = Extract<Pairing, { kind: "device" }>;
export type TotpPairingRow = Extract<Pairing, { kind: "totp" }>;

/** A new pairing. The service assigns the id of a device. The ids of numbers and TOTP seeds are random. */
export type NewPairing =
  & { addedBy?: AddingPhone | undefined }
  & (
    /** Without a `name`, a known device keeps its name. */
    | { kind: "device"; id: string; totpLength: number; name?: string | undefined }
    | { kind: "sms" | "voice"; number: string }
    /** `lastStep`: the time step of the code that confirmed the seed, so that the code is accepted once (RFC 6238 §5.2). */
    | { kind: "totp"; seed: Uint8Array } & Partial<StoredApp>
  );

/** The id of a new pairing: that of the device, that of the pairing with the same number, or a random one. */
export function pairingId(wanted: NewPairing, own: readonly Pairing[], random: Random): string {
  if (wanted.kind === "device") return wanted.id;
  const same = own.find((known) =>
    known.kind !== "totp" && known.kind === wanted.kind && known.number === wanted.number
  );
  return same?.id ?? `${wanted.kind}-${random.bytes(8).toHex()}`;
}

/** A device pairing that the second-factor service enabled. */
export interface NewDevice {
  readonly id: string;
  readonly userName: string;
  readonly totpLength: number;
  readonly name?: string | undefined;
  readonly addedBy?: AddingPhone | undefined;
}

/** @param options.seal hides a seed @param options.knownName the name of the same phone, if it is paired already */
export function pairingOf(
  wanted: NewPairing,
  head: Pick<Pairing, "id" | "user" | "shownUser" | "createdMs" | "addedBy">,
  { seal, knownName }: { seal: (seed: Uint8Array) => Uint8Array; knownName: string | undefined },
): Pairing {
  switch (wanted.kind) {
    case "device": {
      const { kind, totpLength, name = knownName } = wanted;
      return { ...head, kind, totpLength, ...nameField(name) };
    }
    case "totp": {
      const { kind, lastStep = -1 } = wanted;
      return { ...head, kind, seed: seal(wanted.seed), lastStep, ...unusualParameters(wanted) };
    }
    default:
      return { ...head, kind: wanted.kind, number: wanted.number };
  }
}

/** The same pairing with another `addedBy`, or with none. */
export function withAddedBy<T extends Pairing>(pairing: T, addedBy: AddingPhone | undefined): T {
  const { addedBy: _addedBy, ...rest } = pairing;
  return { ...rest, ...(addedBy === undefined ? {} : { addedBy }) } as T;
}

/** The `name` field of a device pairing: absent if the phone has none. */
function nameField(name: string | undefined): { name?: string } {
  return name === undefined ? {} : { name };
}

export function deviceName(pairing: Pairing | undefined): string | undefined {
  return pairing?.kind === "device" ? pairing.name : undefined;
}

/** The fields of an audit record for a pairing. Most digits of the number are masked. */
interface PairingDetails {
  readonly pairing: string;
  readonly factor: string;
  readonly phone?: string;
  readonly number?: string;
}

export function pairingDetails(
  pairing: { readonly id: string; readonly kind: string; readonly name?: string; readonly number?: string },
): PairingDetails {
  const { id, kind, name, number } = pairing;
  return {
    pairing: id,
    factor: kind,
    ...(kind === "device" && name !== undefined ? { phone: name } : {}),
    ...(number === undefined ? {} : { number: maskPhoneNumber(number) }),
  };
}

/** Identifies the recovery codes of a user, in place of the id of a pairing. */
export const RECOVERY_CODES = "recovery-codes";

/** A factor that a revoked phone added on /me. It cannot be used for a login until it is confirmed. */
export interface UnconfirmedFactor {
  /** The pairing's id, or {@link RECOVERY_CODES}. */
  readonly id: string;
  readonly kind: Factor | "recovery_codes";
  readonly createdMs: number;
  readonly name?: string;
  /** The revoked phone: its name when it added the factor, or its id. */
  readonly addedBy: string;
}

interface Added {
  readonly id: string;
  readonly kind: Factor;
  readonly createdMs: number;
  readonly name?: string;
  readonly addedBy?: AddingPhone;
}
interface UnconfirmedDeps {
  readonly pairings: {
    of(user: string): readonly Added[];
    isConfirmed(user: string, addedBy: AddingPhone | undefined): boolean;
  };
  readonly recoveryCodes: {
    status(user: string): { readonly createdMs: number | null; readonly addedBy?: AddingPhone };
  };
}

/** The factors of a user (canonical name) that wait for a confirmation. */
export function unconfirmedFactors(
  { pairings, recoveryCodes }: UnconfirmedDeps,
  canonical: string,
): UnconfirmedFactor[] {
  const found = pairings.of(canonical).flatMap((pairing): UnconfirmedFactor[] => {
    const { id, kind, createdMs, addedBy } = pairing;
    if (addedBy === undefined || pairings.isConfirmed(canonical, addedBy)) return [];
    const name = pairing.name === undefined ? {} : { name: pairing.name };
    return [{ id, kind, createdMs, ...name, addedBy: addedBy.name ?? addedBy.id }];
  });
  const { addedBy, createdMs } = recoveryCodes.status(canonical);
  if (addedBy !== undefined && !pairings.isConfirmed(canonical, addedBy)) {
    const codes = { id: RECOVERY_CODES, kind: "recovery_codes", createdMs: createdMs ?? 0 } as const;
    found.push({ ...codes, addedBy: addedBy.name ?? addedBy.id });
  }
  return found;
}

/** The factors that a phone added, for an audit record: "totp totp-1f…". */
export function addedByPhone(
  { pairings, recoveryCodes }: UnconfirmedDeps,
  { canonical, phone }: { canonical: string; phone: string },
): string[] {
  const added = pairings.of(canonical).filter(({ addedBy }) => addedBy?.id === phone);
  const codes = recoveryCodes.status(canonical).addedBy?.id === phone ? [RECOVERY_CODES] : [];
  return [...added.map(({ kind, id }) => `${kind} ${id}`), ...codes];
}
