// Finds garbled passwords in unsigned requests: their sender may not know the shared secret (RFC 2865 §5.2).

import type { Random } from "../../platform/runtime.ts";
import { AUTHENTICATOR_AT, AUTHENTICATOR_OCTETS } from "../protocol/codes.ts";
import { createHmacMd5, MD5_OCTETS } from "../protocol/md5.ts";
import { looksGarbled } from "../protocol/password.ts";

export interface GarbledPasswordCheck {
  /**
   * Whether an unsigned request does not prove that its sender knows the secret: its password is garbled, or another password under the same
   * Request Authenticator was garbled. RFC 2865 §5.2 hides a password with a key stream that depends only on the secret and the Request
   * Authenticator. An attacker who tries many passwords under one Request Authenticator learns the key stream octet by octet, from which of
   * them were readable.
   *
   * @param password as it was revealed, not empty.
   */
  isRefused(packet: Uint8Array, password: Uint8Array): boolean;
}

/** One mark for each slot. An attacker needs about a million packets with garbled passwords to overwrite a certain mark. */
const SLOTS = 2 ** 20;

export function createGarbledPasswordCheck({ random }: { random: Random }): GarbledPasswordCheck {
  // The key is secret, so an attacker cannot choose a Request Authenticator that overwrites the mark of another one.
  const hmac = createHmacMd5(random.bytes(32));
  const digest = new Uint8Array(MD5_OCTETS);
  const view = new DataView(digest.buffer);
  let marks: Uint32Array | null = null;

  return {
    isRefused(packet, password) {
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
