// What the parts of the embedded second-factor service share: shelves, clock, randomness, vault, and who is told what.

import type { Clock, Random } from "../../runtime.ts";
import type { Store } from "../../store.ts";
import type { FindUserRecord } from "../../user_record.ts";
import type { Vault } from "../../vault.ts";
import { createListeners, type Listeners } from "./listeners.ts";
import { CAPS, type PairingRow, TOTP_DIGITS, TOTP_STEP_MS } from "./rows.ts";
import { createShelves, type Shelves } from "./shelves.ts";

/** RFC 6238, as the gateway computes it; comes in from outside because this folder knows nothing of the gateway. */
export interface Totp {
  /** The passcode of a time step. */
  at(seed: Uint8Array, stepNumber: number, digits: number): string;
  /** The time step that a typed passcode belongs to, above `lastStep`, or `null`. */
  match(
    attempt: {
      seed: Uint8Array;
      code: string;
      nowMs: number;
      digits: number;
      lastStep: number;
      toleranceSteps: number;
    },
  ): number | null;
}

export interface EmbeddedSecondFactorSettings {
  readonly requesterName: string;
  /** Whether an approval needs the two digits of the login prompt, where there is a prompt. */
  readonly numberMatching: boolean;
  /** How long a request can be decided. */
  readonly requestTtlMs: number;
  /** Phrases that one source may ask for in a minute; default 5. */
  readonly phrasesPerMinute?: number;
}

export interface House {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly totp: Totp;
  readonly settings: EmbeddedSecondFactorSettings;
  /** Which record of the directory a user name belongs to. */
  readonly findUserRecord: FindUserRecord;
  readonly shelves: Shelves;
  /** Topics are phones (digests): their view may have changed. */
  readonly phoneListeners: Listeners;
}

export function createHouse(deps: Omit<House, "shelves" | "phoneListeners">): House {
  return {
    ...deps,
    shelves: createShelves(deps.store, () => deps.clock.nowMs()),
    phoneListeners: createListeners({ perTopic: CAPS.watchersPerPhone }),
  };
}

const SEED_OCTETS = 20;

function seedKey(pairingId: string): Deno.KvKey {
  return ["embedded", "pairing", pairingId];
}

/** A new seed of 160 bits (RFC 4226 §4), sealed for the pairing. */
export function createSealedSeed(house: House, pairingId: string): Uint8Array {
  return house.vault.seal(seedKey(pairingId), house.random.bytes(SEED_OCTETS));
}

/** The seed of an enabled pairing; `null` when there is none, or it was altered. */
export function openSeed(house: House, pairing: PairingRow): Uint8Array | null {
  if (pairing.state !== "enabled" || pairing.sealedSeed === null) return null;
  return house.vault.open(seedKey(pairing.id), pairing.sealedSeed);
}

/** The step whose passcode `code` is, one step of delay allowed on either side, or `null`. */
export function matchPasscode(house: House, pairing: PairingRow, code: string): number | null {
  const seed = openSeed(house, pairing);
  if (seed === null) return null;
  return house.totp.match({
    seed,
    code,
    nowMs: house.clock.nowMs(),
    digits: TOTP_DIGITS,
    lastStep: pairing.lastStep,
    toleranceSteps: 1,
  });
}

/** The passcode of now, and when the next one comes; `null` without a seed. */
export function currentPasscode(
  house: House,
  pairing: PairingRow,
): { code: string; validUntilMs: number } | null {
  const seed = openSeed(house, pairing);
  if (seed === null) return null;
  const step = Math.floor(house.clock.nowMs() / TOTP_STEP_MS);
  return { code: house.totp.at(seed, step, TOTP_DIGITS), validUntilMs: (step + 1) * TOTP_STEP_MS };
}
