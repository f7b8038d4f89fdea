// Passkeys of administrators (WebAuthn Level 3), verified with SimpleWebAuthn, which is loaded on first use. A passkey is both
// factors at once, because the authenticator verifies its holder.

import * as v from "valibot";
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import { equalDigests, type Vault } from "../../../platform/vault.ts";
import { Refusal } from "../errors.ts";
import type { AdminFactors, FactorRecord, PasskeyRecord } from "./factors.ts";

/** The origin of the page, which the browser signs. */
type Origin = string;

/** The options for the browser, without extensions, because JSON cannot contain their octets. */
type RegistrationOptions = Omit<PublicKeyCredentialCreationOptionsJSON, "extensions">;
type PasskeyOptions = Omit<PublicKeyCredentialRequestOptionsJSON, "extensions">;

/** A verified passkey. The caller commits it with the account. */
interface NewPasskey {
  readonly passkey: PasskeyRecord;
  readonly checks: readonly Check[];
  readonly mutations: (account: PasskeyOwner) => Mutation[];
}

interface PasskeyOwner {
  readonly name: string;
  readonly accountId: string;
}

interface PasskeysDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly factors: AdminFactors;
}

const RP_NAME = "Countersign";
const SIGN_IN = "sign in";
const TIMEOUT_MS = 120_000;

export class Passkeys {
  readonly #deps: PasskeysDeps;
  readonly #challenges: PasskeyChallenges;

  constructor(deps: PasskeysDeps) {
    this.#deps = deps;
    this.#challenges = new PasskeyChallenges(deps);
  }

  /** The options for creating a passkey. @throws Refusal `passkeys_need_name`. */
  async registrationOptions({ origin, userName, purpose, known }: {
    origin: Origin;
    userName: string;
    purpose: string;
    known: readonly PasskeyRecord[];
  }): Promise<RegistrationOptions> {
    const rpID = relyingParty(origin);
    const { generateRegistrationOptions } = await library();
    return await generateRegistrationOptions({
      rpName: RP_NAME,
      rpID,
      userName,
      userDisplayName: userName,
      userID: this.#deps.random.bytes(16),
      challenge: octetsOf(this.#challenges.issue(purpose)),
      timeout: TIMEOUT_MS,
      attestationType: "none",
      excludeCredentials: known.map(({ id, transports }) => ({ id, transports: [...transports] })),
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
    });
  }

  /** Verifies a new passkey. @throws Refusal `passkey_refused`, `passkey_known`. */
  async register({ origin, purpose, label, response }: {
    origin: Origin;
    purpose: string;
    label: string;
    response: RegistrationResponseJSON;
  }): Promise<NewPasskey> {
    const rpID = relyingParty(origin);
    const { verifyRegistrationResponse } = await library();
    await refuseAttestation(response);
    const expected = this.#expected(purpose);
    const { verified, registrationInfo } = await orRefuse(() =>
      verifyRegistrationResponse({
        response,
        expectedChallenge: expected.isExpected,
        expectedOrigin: origin,
        expectedRPID: rpID,
        requireUserVerification: true,
      })
    );
    if (!verified) throw new Refusal("passkey_refused");
    const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
    const key = this.#ownerKey(id);
    if ((await this.#deps.store.get(key)).versionstamp !== null) throw new Refusal("passkey_known");
    const spent = this.#challenges.spend(expected.challenge());
    return {
      passkey: {
        id,
        publicKey: Uint8Array.from(publicKey),
        counter,
        transports: transports.slice(0, 8),
        label,
        createdMs: this.#deps.clock.nowMs(),
        usedMs: null,
      },
      checks: [spent.check, { key, versionstamp: null }],
      mutations: (owner) => [spent.mutation, { type: "set", key, value: owner }],
    };
  }

  /** The options for signing in with any passkey. @throws Refusal `passkeys_need_name`. */
  async signInOptions(origin: Origin): Promise<PasskeyOptions> {
    const rpID = relyingParty(origin);
    const { generateAuthenticationOptions } = await library();
    return await generateAuthenticationOptions({
      rpID,
      challenge: octetsOf(this.#challenges.issue(SIGN_IN)),
      timeout: TIMEOUT_MS,
      userVerification: "required",
    });
  }

  /** The owner of the passkey that signed the response, which is valid once. @throws Refusal `passkey_refused`. */
  async use(
    { origin, response }: { origin: Origin; response: AuthenticationResponseJSON },
  ): Promise<PasskeyOwner> {
    const { store, clock, factors } = this.#deps;
    const rpID = relyingParty(origin);
    const owner = (await store.get<PasskeyOwner>(this.#ownerKey(response.id))).value;
    if (owner === null) throw new Refusal("passkey_refused");
    const { record, check } = await factors.read(owner.accountId);
    const passkey = record.passkeys.find(({ id }) => id === response.id);
    if (passkey === undefined) throw new Refusal("passkey_refused");
    const { verifyAuthenticationResponse } = await library();
    const { id, publicKey, counter } = passkey;
    const expected = this.#expected(SIGN_IN);
    const { verified, authenticationInfo } = await orRefuse(() =>
      verifyAuthenticationResponse({
        response,
        expectedChallenge: expected.isExpected,
        expectedOrigin: origin,
        expectedRPID: rpID,
        credential: { id, publicKey, counter },
        requireUserVerification: true,
      })
    );
    if (!verified) throw new Refusal("passkey_refused");
    const spent = this.#challenges.spend(expected.challenge());
    const used = { ...passkey, counter: authenticationInfo.newCounter, usedMs: clock.nowMs() };
    const done = await store.commit({
      checks: [check, spent.check],
      mutations: [spent.mutation, factors.write(owner.accountId, withPasskey(record, used))],
    });
    // Another request used this response, or changed the factors meanwhile.
    if (!done.ok) throw new Refusal("passkey_refused");
    return owner;
  }

  deleteMutation(passkeyId: string): Mutation {
    return { type: "delete", key: this.#ownerKey(passkeyId) };
  }

  #ownerKey(id: string): Deno.KvKey {
    return ["console_passkey", this.#deps.vault.digest("passkey id", id)];
  }

  /** Checks the challenge of a response, and remembers it. */
  #expected(purpose: string) {
    let seen = "";
    return {
      challenge: () => seen,
      isExpected: (challenge: string): boolean => {
        seen = challenge;
        return this.#challenges.isValid(challenge, purpose);
      },
    };
  }
}

function withPasskey(record: FactorRecord, passkey: PasskeyRecord): FactorRecord {
  return { ...record, passkeys: record.passkeys.map((one) => one.id === passkey.id ? passkey : one) };
}

/** The host name. WebAuthn requires a domain, so an IP address cannot have passkeys. */
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

/** Attestation is not requested; its verification would fetch URLs in its certificates. */
async function refuseAttestation(response: RegistrationResponseJSON): Promise<void> {
  const { decodeAttestationObject } = await import("@simplewebauthn/server/helpers");
  const format = await orRefuse(() => {
    const octets = octetsOf(response.response.attestationObject);
    return Promise.resolve(decodeAttestationObject(octets).get("fmt"));
  });
  if (format !== "none") throw new Refusal("passkey_refused");
}

/** The library throws for every fault of a response. The kind of fault would only help an attacker. */
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

/** The lifetime of a challenge. */
export const CHALLENGE_MS = 5 * 60 * 1000;
const NONCE_OCTETS = 16;

/**
 * Challenges that verify themselves: a time, random octets, and a keyed hash of both and of the purpose. An issued challenge is
 * not stored, so requests for many cost nothing. A used one is stored, so that it is valid once.
 */
export class PasskeyChallenges {
  readonly #deps: Pick<PasskeysDeps, "vault" | "clock" | "random">;

  constructor(deps: Pick<PasskeysDeps, "vault" | "clock" | "random">) {
    this.#deps = deps;
  }

  /** A challenge for `purpose`, as octets in base64url. */
  issue(purpose: string): string {
    const { clock, random } = this.#deps;
    const body = `${clock.nowMs()}.${toBase64Url(random.bytes(NONCE_OCTETS))}`;
    return toBase64Url(new TextEncoder().encode(`${body}.${this.#digest(body, purpose)}`));
  }

  /** Whether this server issued `challenge` for this purpose, within the last five minutes. */
  isValid(challenge: string, purpose: string): boolean {
    const [time = "", nonce = "", given = "", more] = textOf(challenge).split(".");
    const ageMs = this.#deps.clock.nowMs() - Number(time);
    return more === undefined && /^\d{1,16}$/.test(time) && ageMs >= 0 && ageMs <= CHALLENGE_MS &&
      equalDigests(given, this.#digest(`${time}.${nonce}`, purpose));
  }

  /** The check and the mutation that make a challenge valid once. Add them to the commit that relies on it. */
  spend(challenge: string): { check: Check; mutation: Mutation } {
    const key = ["console_challenge_used", this.#deps.vault.digest("used challenge", challenge)];
    return {
      check: { key, versionstamp: null },
      mutation: { type: "set", key, value: true, expireInMs: CHALLENGE_MS * 2 },
    };
  }

  #digest(body: string, purpose: string): string {
    return this.#deps.vault.digest("passkey challenge", `${purpose}\0${body}`);
  }
}

function textOf(challenge: string): string {
  if (challenge.length > 512) return "";
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(challenge, { alphabet: "base64url" }));
  } catch (_notBase64) {
    return "";
  }
}

// Schemas of passkey responses (WebAuthn Level 3 §5.1.8). They bound each text, so that no large input reaches the library that
// verifies them.

const octets = (maxCharacters: number) =>
  v.pipe(v.string(), v.maxLength(maxCharacters), v.regex(/^[A-Za-z0-9_-]*$/));
const ID = octets(1400);
const BODY = octets(16_384);
const COMMON = {
  id: ID,
  rawId: ID,
  type: v.literal("public-key"),
  authenticatorAttachment: v.optional(v.picklist(["cross-platform", "platform"])),
  // Extension results are not used.
  clientExtensionResults: v.pipe(v.unknown(), v.transform(() => ({}))),
};

/** The result of `navigator.credentials.create()`. */
export const REGISTRATION: v.GenericSchema<unknown, RegistrationResponseJSON> = v.object({
  ...COMMON,
  response: v.object({
    clientDataJSON: BODY,
    attestationObject: BODY,
    transports: v.optional(
      v.pipe(
        v.array(v.picklist(["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"])),
        v.maxLength(8),
      ),
    ),
  }),
});

/** The result of `navigator.credentials.get()`. */
export const AUTHENTICATION: v.GenericSchema<unknown, AuthenticationResponseJSON> = v.object({
  ...COMMON,
  response: v.object({
    clientDataJSON: BODY,
    authenticatorData: BODY,
    signature: BODY,
    userHandle: v.optional(octets(256)),
  }),
});
