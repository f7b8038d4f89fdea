// Factors that a phone added on /me and that wait for a confirmation, because the phone was revoked. They do not count for a login.

import type { Factor } from "../flow/factors.ts";

/** The recovery codes of a user, in the place of a pairing's id. */
export const RECOVERY_CODES = "recovery-codes";

export interface UnconfirmedFactor {
  /** The pairing's id, or {@link RECOVERY_CODES}. */
  readonly id: string;
  readonly kind: Factor | "recovery_codes";
  readonly createdMs: number;
  /** What the factor is called, if it is a phone with a name. */
  readonly name?: string;
  /** The revoked phone: its name when it added the factor, or its id. */
  readonly addedBy: string;
}

type Adder = { readonly id: string; readonly name?: string };
interface Added {
  readonly id: string;
  readonly kind: Factor;
  readonly createdMs: number;
  readonly name?: string;
  readonly addedBy?: Adder;
}
/** The part of the pairings and of the recovery codes that is read here. */
interface Deps {
  readonly pairings: {
    of(user: string): readonly Added[];
    isConfirmed(user: string, addedBy: Adder | undefined): boolean;
  };
  readonly recoveryCodes: {
    standing(user: string): { readonly createdMs: number | null; readonly addedBy?: Adder };
  };
}

/** The factors of a user (canonical name) that wait for a confirmation. */
export function unconfirmedFactors(
  { pairings, recoveryCodes }: Deps,
  canonical: string,
): UnconfirmedFactor[] {
  const found = pairings.of(canonical).flatMap((pairing): UnconfirmedFactor[] => {
    const { id, kind, createdMs, addedBy } = pairing;
    if (addedBy === undefined || pairings.isConfirmed(canonical, addedBy)) return [];
    const name = pairing.name === undefined ? {} : { name: pairing.name };
    return [{ id, kind, createdMs, ...name, addedBy: addedBy.name ?? addedBy.id }];
  });
  const { addedBy, createdMs } = recoveryCodes.standing(canonical);
  if (addedBy !== undefined && !pairings.isConfirmed(canonical, addedBy)) {
    const codes = { id: RECOVERY_CODES, kind: "recovery_codes", createdMs: createdMs ?? 0 } as const;
    found.push({ ...codes, addedBy: addedBy.name ?? addedBy.id });
  }
  return found;
}

/** What a phone added, for an audit record: "totp totp-1f…". */
export function addedByPhone(
  { pairings, recoveryCodes }: Deps,
  { canonical, phone }: { canonical: string; phone: string },
): string[] {
  const added = pairings.of(canonical).filter(({ addedBy }) => addedBy?.id === phone);
  const codes = recoveryCodes.standing(canonical).addedBy?.id === phone ? [RECOVERY_CODES] : [];
  return [...added.map(({ kind, id }) => `${kind} ${id}`), ...codes];
}
