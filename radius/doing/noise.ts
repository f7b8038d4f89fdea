// Tells passwords that are noise: of requests without a signature, whose sender perhaps does not know the shared secret.

import type { Random } from "../../runtime.ts";
import { AUTHENTICATOR_AT, AUTHENTICATOR_OCTETS } from "../facts/codes.ts";
import { createHmacMd5, MD5_OCTETS } from "../pure/md5.ts";
import { looksGarbled } from "../pure/password.ts";

export interface NoiseCheck {
  /**
   * Whether the sender of an unsigned request did not prove that it knows the secret: its password is noise, or another password under the same
   * Request Authenticator was. RFC 2865 §5.2 hides a password with a stream that depends on the Request Authenticator alone, so whoever may try many
   * passwords under one of them finds the stream octet by octet, from whether each was readable.
   *
   * @param password as it was revealed, not empty.
   */
  isNoise(packet: Uint8Array, password: Uint8Array): boolean;
}

/** One mark for each slot; with a million of them it takes about as many packets of noise to remove a certain one. */
const SLOTS = 2 ** 20;

export function createNoiseCheck({ random }: { random: Random }): NoiseCheck {
  // The key is secret: nobody chooses a Request Authenticator that removes the mark of another one.
  const hmac = createHmacMd5(random.bytes(32));
  const digest = new Uint8Array(MD5_OCTETS);
  const view = new DataView(digest.buffer);
  let marks: Uint32Array | null = null;

  return {
    isNoise(packet, password) {
      const isGarbled = looksGarbled(password);
      if (marks === null && !isGarbled) return false;
      hmac.signInto(packet, AUTHENTICATOR_AT, AUTHENTICATOR_OCTETS, digest, 0);
      const slot = view.getUint32(0) % SLOTS;
      // Zero is an empty slot.
      const mark = (view.getUint32(4) | 1) >>> 0;
      if (!isGarbled) return marks?.[slot] === mark;
      marks ??= new Uint32Array(SLOTS);
      marks[slot] = mark;
      return true;
    },
  };
}
