// One pairing: a second factor of a user, as the store holds it.

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
    /** `name`: the user's name for the phone; absent if it has none, and in records from before phones had names. */
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

/** The same pairing, added by another phone or, with `undefined`, by none. */
export function withAddedBy<T extends Pairing>(pairing: T, addedBy: AddingPhone | undefined): T {
  const { addedBy: _addedBy, ...rest } = pairing;
  return { ...rest, ...(addedBy === undefined ? {} : { addedBy }) } as T;
}

/** The `name` field of a device pairing: absent where the phone has none. */
export function nameField(name: string | undefined): { name?: string } {
  return name === undefined ? {} : { name };
}

/** The name that a phone has already. */
export function deviceName(pairing: Pairing | undefined): string | undefined {
  return pairing?.kind === "device" ? pairing.name : undefined;
}
