// Finds the authenticator app whose current code is a typed code.

import { matchTotp } from "../factors/totp.ts";
import type { Pairings } from "../factors/pairings.ts";
import type { Pairing, TotpPairingRow } from "../factors/pairing.ts";

/** RFC 6238 §5.2: one time step before and after the current one is accepted. */
const TOTP_TOLERANCE_STEPS = 1;
const TOTP_DIGITS = 6;

/** The pairing and the time step of a code; `null` if no app of the user generates it now. */
export function findTypedTotp(
  pairings: Pick<Pairings, "seedOf">,
  { own, code, nowMs }: { own: readonly Pairing[]; code: string; nowMs: number },
): { pairing: TotpPairingRow; step: number } | null {
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
