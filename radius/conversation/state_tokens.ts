// The token behind the step's name in State: derived from the conversation's id and the step, so that it is not in the store, is the same after a
// restart, and is valid for one step only.

import { toBase64Url } from "../../platform/runtime.ts";
import type { Vault } from "../../platform/vault.ts";
import { createHmacMd5, MD5_OCTETS } from "../protocol/md5.ts";

/**
 * Gives the token of a conversation at a step, by its ordered id: 128 bits that cannot be computed without the master key, base64url. A token
 * that was shown at one step does not open another.
 */
export type TokenOf = (orderedId: string, step: string) => string;

/** Tokens under a key of their own. */
export function createStateTokens(vault: Vault): TokenOf {
  const key = createHmacMd5(vault.deriveKey("state token", 32));
  const encoder = new TextEncoder();
  const token = new Uint8Array(MD5_OCTETS);
  return (orderedId, step) => {
    const text = encoder.encode(`${orderedId} ${step}`);
    key.signInto(text, 0, text.length, token, 0);
    return toBase64Url(token);
  };
}
