// What web push needs of cryptography: a message for one browser (RFC 8291) as a single record of `aes128gcm` (RFC 8188), and the key pair and header that
// identify the gateway to push services (VAPID, RFC 8292).

import { type Clock, toBase64Url } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import { loadJose } from "../../../platform/jose.ts";

// Encrypts a message for one browser (RFC 8291) as a single record of `aes128gcm` (RFC 8188), with Web Crypto.

/** The keys of a subscription, as the browser made them. */
export interface BrowserPushKeys {
  /** An uncompressed point of P-256: 65 octets. */
  readonly p256dh: Uint8Array<ArrayBuffer>;
  /** 16 octets. */
  readonly auth: Uint8Array<ArrayBuffer>;
}

const CURVE = { name: "ECDH", namedCurve: "P-256" } as const;
/** RFC 8188 §2.1: at least the whole record. */
const RECORD_OCTETS = 4096;
const TAG_OCTETS = 16;
/** RFC 8188 §2: marks the end of the data in the last record. */
const LAST_RECORD = 2;
/** Messages have a multiple of this length, so that their length says little about the names in them. */
const PADDED_TO_OCTETS = 512;
/** RFC 8291 §4: a message of 4,096 octets at most, with its header of 86 octets. */
export const MAX_PLAIN_OCTETS = RECORD_OCTETS - 86 - TAG_OCTETS - 1;

const encoder = new TextEncoder();
const CEK_INFO = encoder.encode("Content-Encoding: aes128gcm\0");
const NONCE_INFO = encoder.encode("Content-Encoding: nonce\0");

/** Whether a key is a point of the curve. The import accepts any octets (Deno 2.9.6); the first use does not. */
export async function isPushKey(p256dh: Uint8Array<ArrayBuffer>): Promise<boolean> {
  try {
    const { privateKey } = await createEcdhKeys();
    await crypto.subtle.deriveBits({ ...CURVE, public: await importPushKey(p256dh) }, privateKey, 256);
    return true;
  } catch (_notOnTheCurve) {
    return false;
  }
}

function importPushKey(p256dh: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", p256dh, CURVE, true, []);
}

/**
 * The body of a push message.
 *
 * @param plain at most {@link MAX_PLAIN_OCTETS}.
 * @param options.salt 16 random octets.
 * @param options.createSenderKeys a new key pair for each message. Only the example of RFC 8291 has its own.
 * @param options.padTo the plaintext is padded to a multiple of this.
 * @throws RangeError if `plain` is too long, and an error if the browser's key is not a point of the curve.
 */
export async function encryptPush(
  plain: Uint8Array,
  { p256dh, auth }: BrowserPushKeys,
  { salt, createSenderKeys = createEcdhKeys, padTo = PADDED_TO_OCTETS }: {
    salt: Uint8Array<ArrayBuffer>;
    createSenderKeys?: () => Promise<CryptoKeyPair>;
    padTo?: number;
  },
): Promise<Uint8Array<ArrayBuffer>> {
  if (plain.length > MAX_PLAIN_OCTETS) {
    throw new RangeError(`Cannot encrypt a push message: ${plain.length} octets`);
  }
  const sender = await createSenderKeys();
  const [receiver, senderPublic] = await Promise.all([
    importPushKey(p256dh),
    crypto.subtle.exportKey("raw", sender.publicKey).then((key) => new Uint8Array(key)),
  ]);
  const secret = await crypto.subtle.deriveBits({ ...CURVE, public: receiver }, sender.privateKey, 256);
  // RFC 8291 §3.3 and §3.4.
  const keyInfo = joined([encoder.encode("WebPush: info\0"), p256dh, senderPublic]);
  const inputKey = await derive(secret, { salt: auth, info: keyInfo, octets: 32 });
  const [contentKey, nonce] = await Promise.all([
    derive(inputKey, { salt, info: CEK_INFO, octets: 16 }),
    derive(inputKey, { salt, info: NONCE_INFO, octets: 12 }),
  ]);
  const key = await crypto.subtle.importKey("raw", contentKey, "AES-GCM", false, ["encrypt"]);
  const record = await crypto.subtle.encrypt({ name: "AES-GCM", iv: nonce }, key, padded(plain, padTo));
  return joined([header(salt, senderPublic), new Uint8Array(record)]);
}

async function createEcdhKeys(): Promise<CryptoKeyPair> {
  return await crypto.subtle.generateKey(CURVE, true, ["deriveBits"]);
}

/** HKDF-SHA-256 (RFC 5869). */
async function derive(
  inputKey: ArrayBuffer,
  { salt, info, octets }: {
    salt: Uint8Array<ArrayBuffer>;
    info: Uint8Array<ArrayBuffer>;
    octets: number;
  },
): Promise<ArrayBuffer> {
  const key = await crypto.subtle.importKey("raw", inputKey, "HKDF", false, ["deriveBits"]);
  return await crypto.subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt, info }, key, octets * 8);
}

/** RFC 8188 §2: the data, the delimiter, and zeros. */
function padded(plain: Uint8Array, padTo: number): Uint8Array<ArrayBuffer> {
  const length = Math.min(MAX_PLAIN_OCTETS, Math.ceil(plain.length / padTo) * padTo);
  const record = new Uint8Array(length + 1);
  record.set(plain);
  record[plain.length] = LAST_RECORD;
  return record;
}

/** RFC 8188 §2.1: salt, record size, and the key id, which is the sender's public key (RFC 8291 §4). */
function header(salt: Uint8Array, senderPublic: Uint8Array): Uint8Array<ArrayBuffer> {
  const size = new Uint8Array(5);
  new DataView(size.buffer).setUint32(0, RECORD_OCTETS);
  size[4] = senderPublic.length;
  return joined([salt, size, senderPublic]);
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

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
