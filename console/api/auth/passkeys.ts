// Passkeys of administrators (WebAuthn Level 3): registered and asked for with SimpleWebAuthn, which is loaded when the first
// one is. A passkey is both factors at once, because the authenticator verifies its holder.

import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { FactorRecord, Factors, PasskeyRecord } from "./factors.ts";
import { createPasskeyChallenges } from "./passkey_challenges.ts";
import { Refusal } from "../errors.ts";

/** Where the browser is: the origin that it will sign. */
export type Origin = string;

/** What the browser receives, without the extensions: they hold octets, which JSON cannot contain. */
export type RegistrationWanted = Omit<PublicKeyCredentialCreationOptionsJSON, "extensions">;
export type PasskeyWanted = Omit<PublicKeyCredentialRequestOptionsJSON, "extensions">;

/** A passkey that was registered: to be written by the caller, together with what it belongs to. */
export interface NewPasskey {
  readonly passkey: PasskeyRecord;
  readonly checks: readonly Check[];
  readonly mutations: (account: PasskeyOwner) => Mutation[];
}

/** Whose a passkey is. */
export interface PasskeyOwner {
  readonly name: string;
  readonly accountId: string;
}

export interface Passkeys {
  /** What the browser needs to make one. @throws Refusal `passkeys_need_name`. */
  registrationOptions(
    wanted: { origin: Origin; userName: string; purpose: string; known: readonly PasskeyRecord[] },
  ): Promise<RegistrationWanted>;
  /** Judges what the authenticator made. @throws Refusal `passkey_refused`, `passkey_known`. */
  register(
    given: { origin: Origin; purpose: string; label: string; response: RegistrationResponseJSON },
  ): Promise<NewPasskey>;
  /** What the browser needs to show one of anybody's. @throws Refusal `passkeys_need_name`. */
  signInOptions(origin: Origin): Promise<PasskeyWanted>;
  /** Whose passkey answered. The answer counts once. @throws Refusal `passkey_refused`. */
  use(given: { origin: Origin; response: AuthenticationResponseJSON }): Promise<PasskeyOwner>;
  /** The change that forgets whose a passkey is. */
  forget(passkeyId: string): Mutation;
}

export interface PasskeysDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly factors: Factors;
}

const RP_NAME = "Countersign";
const SIGN_IN = "sign in";
const TIMEOUT_MS = 120_000;

export function createPasskeys({ store, vault, clock, random, factors }: PasskeysDeps): Passkeys {
  const challenges = createPasskeyChallenges({ vault, clock, random });
  const ownerKey = (id: string): Deno.KvKey => ["console_passkey", vault.digest("passkey id", id)];

  return {
    async registrationOptions({ origin, userName, purpose, known }) {
      const rpID = relyingParty(origin);
      const { generateRegistrationOptions } = await library();
      return await generateRegistrationOptions({
        rpName: RP_NAME,
        rpID,
        userName,
        userDisplayName: userName,
        userID: random.bytes(16),
        challenge: octetsOf(challenges.issue(purpose)),
        timeout: TIMEOUT_MS,
        attestationType: "none",
        excludeCredentials: known.map(({ id, transports }) => ({ id, transports: [...transports] })),
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
      });
    },
    async register({ origin, purpose, label, response }) {
      const rpID = relyingParty(origin);
      const { verifyRegistrationResponse } = await library();
      await refuseAttestation(response);
      const seen = { challenge: "" };
      const verified = await orRefuse(() =>
        verifyRegistrationResponse({
          response,
          expectedChallenge: (challenge) => {
            seen.challenge = challenge;
            return challenges.isGood(challenge, purpose);
          },
          expectedOrigin: origin,
          expectedRPID: rpID,
          requireUserVerification: true,
        })
      );
      if (!verified.verified) throw new Refusal("passkey_refused");
      const { credential } = verified.registrationInfo;
      const key = ownerKey(credential.id);
      if ((await store.get(key)).versionstamp !== null) throw new Refusal("passkey_known");
      const spent = challenges.spend(seen.challenge);
      return {
        passkey: {
          id: credential.id,
          publicKey: Uint8Array.from(credential.publicKey),
          counter: credential.counter,
          transports: (credential.transports ?? []).slice(0, 8),
          label,
          createdMs: clock.nowMs(),
          usedMs: null,
        },
        checks: [spent.check, { key, versionstamp: null }],
        mutations: (owner) => [spent.mutation, { type: "set", key, value: owner }],
      };
    },
    async signInOptions(origin) {
      const rpID = relyingParty(origin);
      const { generateAuthenticationOptions } = await library();
      return await generateAuthenticationOptions({
        rpID,
        challenge: octetsOf(challenges.issue(SIGN_IN)),
        timeout: TIMEOUT_MS,
        userVerification: "required",
      });
    },
    async use({ origin, response }) {
      const rpID = relyingParty(origin);
      const owner = (await store.get<PasskeyOwner>(ownerKey(response.id))).value;
      if (owner === null) throw new Refusal("passkey_refused");
      const { record, check } = await factors.read(owner.accountId);
      const passkey = record.passkeys.find(({ id }) => id === response.id);
      if (passkey === undefined) throw new Refusal("passkey_refused");
      const { verifyAuthenticationResponse } = await library();
      const seen = { challenge: "" };
      const { id, publicKey, counter } = passkey;
      const verified = await orRefuse(() =>
        verifyAuthenticationResponse({
          response,
          expectedChallenge: (challenge) => {
            seen.challenge = challenge;
            return challenges.isGood(challenge, SIGN_IN);
          },
          expectedOrigin: origin,
          expectedRPID: rpID,
          credential: { id, publicKey, counter },
          requireUserVerification: true,
        })
      );
      if (!verified.verified) throw new Refusal("passkey_refused");
      const spent = challenges.spend(seen.challenge);
      const used = { ...passkey, counter: verified.authenticationInfo.newCounter, usedMs: clock.nowMs() };
      const done = await store.commit({
        checks: [check, spent.check],
        mutations: [spent.mutation, factors.write(owner.accountId, withPasskey(record, used))],
      });
      // Another request used this answer, or changed the factors meanwhile.
      if (!done.ok) throw new Refusal("passkey_refused");
      return owner;
    },
    forget: (passkeyId) => ({ type: "delete", key: ownerKey(passkeyId) }),
  };
}

/** The record with `passkey` in the place of the one of its id. */
function withPasskey(record: FactorRecord, passkey: PasskeyRecord): FactorRecord {
  return { ...record, passkeys: record.passkeys.map((one) => one.id === passkey.id ? passkey : one) };
}

/** The host's name; WebAuthn wants a domain, so a number address cannot have passkeys. */
function relyingParty(origin: Origin): string {
  const { hostname } = new URL(origin);
  if (hostname.startsWith("[") || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(hostname)) {
    throw new Refusal("passkeys_need_name");
  }
  return hostname;
}

function library() {
  return import("@simplewebauthn/server");
}

/** What an authenticator says of its maker is not asked for; checking it would fetch what its certificates name. */
async function refuseAttestation(response: RegistrationResponseJSON): Promise<void> {
  const { decodeAttestationObject } = await import("@simplewebauthn/server/helpers");
  const format = await orRefuse(() => {
    const octets = octetsOf(response.response.attestationObject);
    return Promise.resolve(decodeAttestationObject(octets).get("fmt"));
  });
  if (format !== "none") throw new Refusal("passkey_refused");
}

/** The library throws for every fault of the answer; which one it is would only help an attacker. */
async function orRefuse<T>(judge: () => Promise<T>): Promise<T> {
  try {
    return await judge();
  } catch (_notAnAnswer) {
    throw new Refusal("passkey_refused");
  }
}

function octetsOf(base64url: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromBase64(base64url, { alphabet: "base64url" });
}
