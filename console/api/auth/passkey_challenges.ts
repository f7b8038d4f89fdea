// Challenges for passkeys that prove themselves: a time, chance and a keyed hash over both and over what they are for. Nothing
// is kept when one is handed out, so asking for many costs us nothing; a used one is written down, so that it counts once.

import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Check, Mutation } from "../../../platform/store.ts";
import { equalDigests, type Vault } from "../../../platform/vault.ts";

export interface PasskeyChallenges {
  /** A challenge for `purpose`, as octets in base64url. */
  issue(purpose: string): string;
  /** Whether `challenge` is ours, for this purpose, and not older than five minutes. */
  isGood(challenge: string, purpose: string): boolean;
  /** What makes a challenge count once: to be part of the commit that relies on it. */
  spend(challenge: string): { check: Check; mutation: Mutation };
}

/** How long an administrator can take to use the authenticator. */
export const CHALLENGE_MS = 5 * 60 * 1000;
const NONCE_OCTETS = 16;

export function createPasskeyChallenges(
  { vault, clock, random }: { vault: Vault; clock: Clock; random: Random },
): PasskeyChallenges {
  const proof = (body: string, purpose: string) => vault.digest("passkey challenge", `${purpose}\0${body}`);
  return {
    issue(purpose) {
      const body = `${clock.nowMs()}.${toBase64Url(random.bytes(NONCE_OCTETS))}`;
      return toBase64Url(new TextEncoder().encode(`${body}.${proof(body, purpose)}`));
    },
    isGood(challenge, purpose) {
      const [time = "", nonce = "", given = "", more] = textOf(challenge).split(".");
      const ageMs = clock.nowMs() - Number(time);
      return more === undefined && /^\d{1,16}$/.test(time) && ageMs >= 0 && ageMs <= CHALLENGE_MS &&
        equalDigests(given, proof(`${time}.${nonce}`, purpose));
    },
    spend(challenge) {
      const key: Deno.KvKey = ["console_challenge_used", vault.digest("used challenge", challenge)];
      return {
        check: { key, versionstamp: null },
        mutation: { type: "set", key, value: true, expireInMs: CHALLENGE_MS * 2 },
      };
    },
  };
}

function textOf(challenge: string): string {
  if (challenge.length > 512) return "";
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(challenge, { alphabet: "base64url" }));
  } catch (_notBase64) {
    return "";
  }
}
