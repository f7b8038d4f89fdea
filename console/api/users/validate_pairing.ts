// A factor as an administrator enters it, checked and turned into a pairing.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { decodeBase32 } from "../../../platform/base32.ts";
import { hasControlCharacters } from "../../../platform/control_characters.ts";
import type { NewPairing } from "../../../radius/factors/pairing.ts";
import type { Pairings } from "../../../radius/factors/pairings.ts";
import { reducePhoneNumber } from "../../../platform/phone_number.ts";
import { Refusal } from "../errors.ts";

/** A phone number, a device of the second-factor service, or a TOTP secret in base32. */
export type GivenPairing =
  | { readonly kind: "sms" | "voice"; readonly number: string }
  | { readonly kind: "device"; readonly id: string; readonly totpLength: number }
  | { readonly kind: "totp"; readonly seed: string };

/** @throws Refusal `bad_number`, `bad_device_id`, `pairing_taken`, `bad_seed`, `known_seed`. */
export function readPairing(pairings: Pairings, user: string, given: GivenPairing): NewPairing {
  const canonical = canonicalName(user);
  if (given.kind === "device") {
    if (!isDeviceId(given.id)) throw new Refusal("bad_device_id");
    const owner = pairings.ownerOf(given.id);
    const isOther = owner !== null && owner !== canonical;
    const isNoDevice = pairings.of(canonical).some(({ id, kind }) => id === given.id && kind !== "device");
    if (isOther || isNoDevice) throw new Refusal("pairing_taken");
    return given;
  }
  if (given.kind === "totp") {
    const seed = decodeBase32(given.seed);
    if (seed === null) throw new Refusal("bad_seed");
    // A second copy would not know which time step was used last, so a code would be accepted twice.
    const isKnown = pairings.of(canonical).some((one) => {
      const known = one.kind === "totp" ? pairings.seedOf(one) : null;
      return known !== null && known.toHex() === seed.toHex();
    });
    if (isKnown) throw new Refusal("known_seed");
    return { kind: "totp", seed };
  }
  const number = reducePhoneNumber(given.number);
  if (number === null) throw new Refusal("bad_number");
  return { kind: given.kind, number };
}

const MAX_DEVICE_ID_CHARACTERS = 128;

/** Printable characters without a blank. "." and ".." cannot be segments of a path, so no request could name them. */
function isDeviceId(id: string): boolean {
  return id.length <= MAX_DEVICE_ID_CHARACTERS && !/\s/.test(id) && !hasControlCharacters(id) && id !== "." &&
    id !== "..";
}
