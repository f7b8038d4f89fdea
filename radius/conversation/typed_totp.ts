// Finds the authenticator app or the hardware token whose current code is a typed code, and why it is the code of none.

import { acceptAppCode, appParameters, type AppUse, openApp } from "../factors/app_codes.ts";
import type { Pairings } from "../factors/pairings.ts";
import type { Pairing, TotpPairingRow } from "../factors/pairing.ts";
import type { HardwareTokens, TypedTokenCode } from "../tokens/hardware_tokens.ts";
import { type CodeFault, explainRefusedCode } from "../tokens/token_codes.ts";

/** A right code, with its time step (HOTP: its counter). */
export type TypedTotp =
  | AppUse & { readonly pairing: TotpPairingRow }
  | { readonly step: number; readonly tokenCode: TypedTokenCode };

interface TypedTotpDeps {
  readonly pairings: Pick<Pairings, "seedOf">;
  readonly hardwareTokens: Pick<HardwareTokens, "findCode" | "usable" | "open">;
}

interface TypedCode {
  /** Canonical. */
  readonly user: string;
  /** The user's pairings that can be used. */
  readonly own: readonly Pairing[];
  readonly code: string;
  readonly nowMs: number;
}

/** The factor and the step of a code; `null` if no app and no token of the user shows it now. */
export function findTypedTotp(
  { pairings, hardwareTokens }: TypedTotpDeps,
  { user, own, code, nowMs }: TypedCode,
): TypedTotp | null {
  for (const [pairing, seed] of appsOf(pairings, { own, code })) {
    const use = acceptAppCode(pairing, { seed, code, nowMs });
    if (use !== null) return { pairing, ...use };
  }
  const tokenCode = hardwareTokens.findCode(user, code);
  return tokenCode === null ? null : { step: tokenCode.use.next - 1, tokenCode };
}

/** Why a code that no app and no token shows now is refused, if it is a code of another time; `null`: it is the code of no factor. */
export function findCodeFault(
  { pairings, hardwareTokens }: TypedTotpDeps,
  { user, own, code, nowMs }: TypedCode,
): CodeFault | null {
  for (const [pairing, seed] of appsOf(pairings, { own, code })) {
    const fault = explainRefusedCode(openApp(pairing, seed), { code, nowMs });
    if (fault !== null) return fault;
  }
  for (const token of hardwareTokens.usable(user)) {
    const open = token.record.digits === code.length ? hardwareTokens.open(token) : null;
    const fault = open === null ? null : explainRefusedCode(open, { code, nowMs });
    if (fault !== null) return fault;
  }
  return null;
}

/** The apps whose codes have as many digits, with their seeds. */
function* appsOf(
  pairings: Pick<Pairings, "seedOf">,
  { own, code }: Pick<TypedCode, "own" | "code">,
): Iterable<[TotpPairingRow, Uint8Array]> {
  if (!/^[0-9]{6,8}$/.test(code)) return;
  for (const pairing of own) {
    if (pairing.kind !== "totp" || appParameters(pairing).digits !== code.length) continue;
    const seed = pairings.seedOf(pairing);
    if (seed !== null) yield [pairing, seed];
  }
}
