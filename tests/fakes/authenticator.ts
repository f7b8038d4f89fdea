// A software authenticator (WebAuthn Level 3, ES256, attestation "none"). A test can forge each field of its answers.

import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";

/** The fields of an answer that are forged. All others are correct. */
export interface AuthenticatorLies {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  /** Whether the user was verified, for example by a fingerprint or a PIN. */
  readonly verified?: boolean;
  readonly present?: boolean;
  readonly counter?: number;
  /** Signs other data than it sends. */
  readonly badSignature?: boolean;
  readonly format?: string;
}

/** @param origin the page that uses it. */
export async function createAuthenticator(origin: string) {
  const keys = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
    "sign",
    "verify",
  ]);
  return new FakeAuthenticator(origin, keys);
}

export class FakeAuthenticator {
  readonly #credentialId = crypto.getRandomValues(new Uint8Array(16));
  readonly id = base64url(this.#credentialId);
  readonly #origin: string;
  readonly #keys: CryptoKeyPair;
  #counter = 0;

  constructor(origin: string, keys: CryptoKeyPair) {
    this.#origin = origin;
    this.#keys = keys;
  }

  async register(
    { challenge }: { challenge: string },
    lies: AuthenticatorLies = {},
  ): Promise<RegistrationResponseJSON> {
    const jwk = await crypto.subtle.exportKey("jwk", this.#keys.publicKey);
    // COSE (RFC 9053 §7.1.1): key type EC2, ES256, P-256, x, y.
    const key = joined(
      Uint8Array.of(0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21),
      cborBytes(fromBase64url(jwk.x ?? "")),
      Uint8Array.of(0x22),
      cborBytes(fromBase64url(jwk.y ?? "")),
    );
    const id = this.#credentialId;
    const attested = joined(new Uint8Array(16), Uint8Array.of(0, id.length), id, key);
    const attestation = joined(
      ...[Uint8Array.of(0xa3), cborText("fmt"), cborText(lies.format ?? "none")],
      ...[cborText("attStmt"), Uint8Array.of(0xa0)],
      ...[cborText("authData"), cborBytes(await this.#authData(lies, attested))],
    );
    return this.#answer({
      clientDataJSON: base64url(this.#clientData("webauthn.create", { challenge, lies })),
      attestationObject: base64url(attestation),
      transports: ["internal"] as ["internal"],
    });
  }

  async show(
    { challenge }: { challenge: string },
    lies: AuthenticatorLies = {},
  ): Promise<AuthenticationResponseJSON> {
    const client = this.#clientData("webauthn.get", { challenge, lies });
    const data = await this.#authData(lies);
    const signed = joined(data, await sha256(lies.badSignature ? joined(client, client) : client));
    const raw = new Uint8Array(
      await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, this.#keys.privateKey, signed),
    );
    return this.#answer({
      clientDataJSON: base64url(client),
      authenticatorData: base64url(data),
      signature: base64url(derSignature(raw)),
    });
  }

  #answer<T>(response: T) {
    return { id: this.id, rawId: this.id, type: "public-key" as const, clientExtensionResults: {}, response };
  }

  #clientData(type: string, { challenge, lies }: { challenge: string; lies: AuthenticatorLies }) {
    return new TextEncoder().encode(JSON.stringify({
      type: lies.type ?? type,
      challenge: lies.challenge ?? challenge,
      origin: lies.origin ?? this.#origin,
      crossOrigin: false,
    }));
  }

  async #authData(lies: AuthenticatorLies, attested: Uint8Array = new Uint8Array()) {
    const rpId = lies.rpId ?? new URL(this.#origin).hostname;
    const flags = (lies.present === false ? 0 : 1) | (lies.verified === false ? 0 : 4) |
      (attested.length > 0 ? 0x40 : 0);
    this.#counter += 1;
    const count = new Uint8Array(4);
    new DataView(count.buffer).setUint32(0, lies.counter ?? this.#counter);
    return joined(await sha256(new TextEncoder().encode(rpId)), Uint8Array.of(flags), count, attested);
  }
}

async function sha256(octets: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", octets));
}

function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** A CBOR byte string of up to 65,535 octets (RFC 8949 §3.1). */
function cborBytes(octets: Uint8Array): Uint8Array {
  return octets.length < 256
    ? joined(Uint8Array.of(0x58, octets.length), octets)
    : joined(Uint8Array.of(0x59, octets.length >> 8, octets.length & 255), octets);
}

/** A CBOR text of up to 23 octets. */
function cborText(text: string): Uint8Array {
  const octets = new TextEncoder().encode(text);
  return joined(Uint8Array.of(0x60 + octets.length), octets);
}

/** Two integers side by side as DER, as authenticators send them. */
function derSignature(raw: Uint8Array): Uint8Array {
  const integer = (octets: Uint8Array) => {
    const from = octets.findIndex((octet) => octet !== 0);
    const short = from < 0 ? Uint8Array.of(0) : octets.slice(from);
    const positive = (short[0] ?? 0) >= 0x80 ? joined(Uint8Array.of(0), short) : short;
    return joined(Uint8Array.of(0x02, positive.length), positive);
  };
  const both = joined(integer(raw.slice(0, 32)), integer(raw.slice(32)));
  return joined(Uint8Array.of(0x30, both.length), both);
}

function base64url(octets: Uint8Array): string {
  return octets.toBase64({ alphabet: "base64url", omitPadding: true });
}

function fromBase64url(text: string): Uint8Array {
  return Uint8Array.fromBase64(text, { alphabet: "base64url" });
}
