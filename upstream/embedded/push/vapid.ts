// The key pair of the gateway for web push, and the header that identifies the gateway to push services (VAPID, RFC 8292).

import { type Clock, toBase64Url } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import { loadJose } from "../../../platform/jose.ts";

export interface VapidKeys {
  /** The uncompressed point (65 octets) in base64url: `applicationServerKey` of a browser, and `k` of the header. */
  readonly publicKey: string;
  readonly privateKey: CryptoKey;
  /** The time of the first start that had push. */
  readonly createdMs: number;
}

interface StoredKeys {
  readonly publicKey: string;
  /** The private key as a JWK, sealed. */
  readonly sealedPrivateKey: Uint8Array;
  readonly createdMs: number;
}

const KEY: Deno.KvKey = ["embedded", "push_keys", "vapid"];
/** ES256. */
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;

/** Reads the key pair, or creates it. Of several nodes that start at the same time, one creates it. */
export async function openVapidKeys(
  { store, vault, clock }: { store: Store; vault: Vault; clock: Clock },
): Promise<VapidKeys> {
  const known = await store.get<StoredKeys>(KEY);
  if (known.value !== null) return await openStored(known.value, vault);
  const created = await createKeys(vault, clock.nowMs());
  const outcome = await store.commit({
    checks: [{ key: KEY, versionstamp: known.versionstamp }],
    mutations: [{ type: "set", key: KEY, value: created }],
  });
  const winner = outcome.ok ? created : (await store.get<StoredKeys>(KEY)).value;
  if (winner === null) throw new Error("Cannot create the push keys: another node removed them");
  return await openStored(winner, vault);
}

async function createKeys(vault: Vault, createdMs: number): Promise<StoredKeys> {
  const { privateKey } = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const jwk = await crypto.subtle.exportKey("jwk", privateKey);
  const sealedPrivateKey = vault.seal(KEY, new TextEncoder().encode(JSON.stringify(jwk)));
  return { publicKey: publicPoint(jwk), sealedPrivateKey, createdMs };
}

async function openStored(
  { publicKey, sealedPrivateKey, createdMs }: StoredKeys,
  vault: Vault,
): Promise<VapidKeys> {
  const plain = vault.open(KEY, sealedPrivateKey);
  if (plain === null) throw new Error("Cannot open the push keys: the stored record was altered");
  const jwk: JsonWebKey = JSON.parse(new TextDecoder().decode(plain));
  const privateKey = await crypto.subtle.importKey("jwk", jwk, ALGORITHM, false, ["sign"]);
  return { publicKey, privateKey, createdMs };
}

/** SEC 1 §2.3.3: 4, then both coordinates. */
function publicPoint({ x = "", y = "" }: { x?: string; y?: string }): string {
  const octets = (text: string) => Uint8Array.fromBase64(text, { alphabet: "base64url" });
  return toBase64Url(Uint8Array.from([4, ...octets(x), ...octets(y)]));
}

/** RFC 8292 §2: at most 24 hours. Clocks differ. */
const LIFETIME_S = 12 * 3600;
const RENEWED_BEFORE_MS = 6 * 3600_000;
const MAX_ORIGINS = 64;

interface SignedHeader {
  readonly contact: string;
  readonly text: Promise<string>;
  readonly expiresMs: number;
}

export class VapidHeaders {
  readonly #keys: VapidKeys;
  readonly #clock: Clock;
  readonly #byOrigin = new Map<string, SignedHeader>();

  constructor({ keys, clock }: { keys: VapidKeys; clock: Clock }) {
    this.#keys = keys;
    this.#clock = clock;
  }

  /** @param contact `sub` of the token: a mailto: or https: address (RFC 8292 §2.1). */
  async header(origin: string, contact: string): Promise<string> {
    const nowMs = this.#clock.nowMs();
    const known = this.#byOrigin.get(origin);
    const leftMs = (known?.expiresMs ?? 0) - nowMs;
    // The clock may have been set back: such a token would be valid for more than 24 hours.
    const isFresh = leftMs > RENEWED_BEFORE_MS && leftMs <= LIFETIME_S * 1000;
    if (known !== undefined && known.contact === contact && isFresh) return await known.text;
    const expiresMs = nowMs + LIFETIME_S * 1000;
    const text = this.#sign({ origin, contact, expiresS: Math.floor(expiresMs / 1000) });
    this.#byOrigin.delete(origin);
    const [oldest] = this.#byOrigin.keys();
    if (this.#byOrigin.size >= MAX_ORIGINS && oldest !== undefined) this.#byOrigin.delete(oldest);
    this.#byOrigin.set(origin, { contact, text, expiresMs });
    return await text;
  }

  async #sign(
    { origin, contact, expiresS }: { origin: string; contact: string; expiresS: number },
  ): Promise<string> {
    const { publicKey, privateKey } = this.#keys;
    const { SignJWT } = await loadJose();
    const token = await new SignJWT({})
      .setProtectedHeader({ typ: "JWT", alg: "ES256" })
      .setAudience(origin)
      .setExpirationTime(expiresS)
      .setSubject(contact)
      .sign(privateKey);
    return `vapid t=${token}, k=${publicKey}`;
  }
}
