// Finds the authenticator app or the hardware token whose current code is a typed code.

import { matchTotp } from "../factors/totp.ts";
import type { Pairings } from "../factors/pairings.ts";
import type { Pairing, TotpPairingRow } from "../factors/pairing.ts";
import type { HardwareTokens, TypedTokenCode } from "../tokens/hardware_tokens.ts";

/** RFC 6238 §5.2: one time step before and after the current one is accepted. */
const TOTP_TOLERANCE_STEPS = 1;
/** The digits of the codes of authenticator apps. */
export const TOTP_DIGITS = 6;

/** A right code, with its time step (HOTP: its counter). */
export type TypedTotp =
  | { readonly step: number; readonly pairing: TotpPairingRow }
  | { readonly step: number; readonly tokenCode: TypedTokenCode };

export interface TypedTotpDeps {
  readonly pairings: Pick<Pairings, "seedOf">;
  readonly hardwareTokens: Pick<HardwareTokens, "findCode">;
}

/** The factor and the step of a code; `null` if no app and no token of the user shows it now. */
export function findTypedTotp(
  { pairings, hardwareTokens }: TypedTotpDeps,
  { user, own, code, nowMs }: { user: string; own: readonly Pairing[]; code: string; nowMs: number },
): TypedTotp | null {
  const pairing = findTypedApp(pairings, { own, code, nowMs });
  if (pairing !== null) return pairing;
  const tokenCode = hardwareTokens.findCode(user, code);
  return tokenCode === null ? null : { step: tokenCode.use.next - 1, tokenCode };
}

function findTypedApp(
  pairings: Pick<Pairings, "seedOf">,
  { own, code, nowMs }: { own: readonly Pairing[]; code: string; nowMs: number },
): TypedTotp | null {
  if (!/^[0-9]{6}$/.test(code)) return null;
  for (const pairing of own) {
    if (pairing.kind !== "totp") continue;
    const seed = pairings.seedOf(pairing);
    if (seed === null) continue;
    const step = matchTotp({
      ...{ seed, code, nowMs },
      digits: TOTP_DIGITS,
      lastStep: pairing.lastStep,
      toleranceSteps: TOTP_TOLERANCE_STEPS,
    });
    if (step !== null) return { pairing, step };
  }
  return null;
}
