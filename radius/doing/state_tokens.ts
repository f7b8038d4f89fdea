// The token behind the step's name in State: derived from the conversation's id, so that it stands nowhere in the store and is the
// same after a restart.

import { toBase64Url } from "../../runtime.ts";
import type { Vault } from "../../vault.ts";
import { createHmacMd5, MD5_OCTETS } from "../pure/md5.ts";

/** Gives the token of a conversation, by its ordered id: 128 bits that nobody can tell without the master key, base64url. */
export type TokenOf = (orderedId: string) => string;

/** Tokens under a key of their own. */
export function createStateTokens(vault: Vault): TokenOf {
  const key = createHmacMd5(vault.deriveKey("state token", 32));
  const encoder = new TextEncoder();
  const token = new Uint8Array(MD5_OCTETS);
  return (orderedId) => {
    const id = encoder.encode(orderedId);
    key.signInto(id, 0, id.length, token, 0);
    return toBase64Url(token);
  };
}
