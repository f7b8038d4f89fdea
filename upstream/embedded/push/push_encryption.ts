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
