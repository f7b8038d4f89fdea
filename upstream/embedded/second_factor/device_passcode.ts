// The passcode that a paired device generates (TOTP, RFC 6238): its seed, the current passcode, and the check of a typed one.

import type { SecondFactorContext } from "./context.ts";
import { type PairingRecord, PASSCODE_DIGITS } from "./records.ts";

const SEED_OCTETS = 20;
const STEP_MS = 30_000;

/** A passcode as the phone shows it. */
export interface DevicePasscode {
  readonly code: string;
  /** When the next passcode replaces it. */
  readonly validUntilMs: number;
}

function seedKey(pairingId: string): Deno.KvKey {
  return ["embedded", "pairing", pairingId];
}

/** A new seed of 160 bits (RFC 4226 §4), sealed for the pairing. */
export function createSealedSeed(context: SecondFactorContext, pairingId: string): Uint8Array {
  return createSeed(context, pairingId).sealed;
}

/** A new seed, also in plain text for the phone. */
export function createSeed(
  { vault, random }: SecondFactorContext,
  pairingId: string,
): { readonly seed: Uint8Array<ArrayBuffer>; readonly sealed: Uint8Array } {
  const seed = random.bytes(SEED_OCTETS);
  return { seed, sealed: vault.seal(seedKey(pairingId), seed) };
}

/** What a phone needs to compute its passcodes without the server (RFC 6238). */
export interface PasscodeSeed {
  readonly seed: Uint8Array<ArrayBuffer>;
  readonly digits: number;
  readonly stepMs: number;
  /** When it was issued. */
  readonly seedMs: number;
}

/** The parameters of all device passcodes. */
export const PASSCODE_PARAMETERS = { digits: PASSCODE_DIGITS, stepMs: STEP_MS } as const;

/** The seed of an enabled pairing; `null` if there is none, or if it was altered. */
function openSeed({ vault }: SecondFactorContext, pairing: PairingRecord): Uint8Array | null {
  if (pairing.state !== "enabled" || pairing.sealedSeed === null) return null;
  return vault.open(seedKey(pairing.id), pairing.sealedSeed);
}

/** The time step of `code`, at most one step early or late; `null` if the code is wrong or used. */
export function matchPasscode(
  context: SecondFactorContext,
  pairing: PairingRecord,
  code: string,
): number | null {
  const seed = openSeed(context, pairing);
  if (seed === null) return null;
  return context.totp.match({
    seed,
    code,
    nowMs: context.clock.nowMs(),
    digits: PASSCODE_DIGITS,
    lastStep: pairing.lastStep,
    toleranceSteps: 1,
  });
}

/** The current passcode; `null` without a seed. */
export function currentPasscode(context: SecondFactorContext, pairing: PairingRecord): DevicePasscode | null {
  const seed = openSeed(context, pairing);
  if (seed === null) return null;
  const step = Math.floor(context.clock.nowMs() / STEP_MS);
  return { code: context.totp.at(seed, step, PASSCODE_DIGITS), validUntilMs: (step + 1) * STEP_MS };
}
