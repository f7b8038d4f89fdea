// The browser's side of an encrypted push message (RFC 8188 §2, RFC 8291 §3), with the functions of Node's crypto. It shares no
// code with the product.

import { createDecipheriv, createECDH, type ECDH, hkdfSync, randomBytes } from "node:crypto";

/** The keys of one subscription; the private key stays here. */
export class BrowserKeys {
  readonly #ecdh: ECDH;
  readonly #auth: Uint8Array;

  constructor({ privateKey, auth }: { privateKey?: Uint8Array; auth?: Uint8Array } = {}) {
    this.#ecdh = createECDH("prime256v1");
    if (privateKey === undefined) this.#ecdh.generateKeys();
    else this.#ecdh.setPrivateKey(privateKey);
    this.#auth = auth ?? randomBytes(16);
  }

  /** As `PushSubscription.toJSON()` has them. */
  get json(): { readonly p256dh: string; readonly auth: string } {
    return { p256dh: this.#ecdh.getPublicKey("base64url"), auth: toText(this.#auth) };
  }

  /** The plaintext of a message with one record. @throws if it is not one, or if the keys are wrong. */
  decrypt(body: Uint8Array): Uint8Array {
    const salt = body.subarray(0, 16);
    const recordSize = new DataView(body.buffer, body.byteOffset).getUint32(16);
    const idLength = body[20] ?? 0;
    const senderKey = body.subarray(21, 21 + idLength);
    const record = body.subarray(21 + idLength);
    if (idLength !== 65) throw new Error("The key id is not an uncompressed point");
    if (record.length > recordSize) throw new Error("The message has more than one record");
    const secret = this.#ecdh.computeSecret(senderKey);
    const info = joined([octets("WebPush: info\0"), this.#ecdh.getPublicKey(), senderKey]);
    const inputKey = new Uint8Array(hkdfSync("sha256", secret, this.#auth, info, 32));
    const derive = (name: string, length: number) =>
      new Uint8Array(hkdfSync("sha256", inputKey, salt, octets(`Content-Encoding: ${name}\0`), length));
    const decipher = createDecipheriv("aes-128-gcm", derive("aes128gcm", 16), derive("nonce", 12));
    decipher.setAuthTag(record.subarray(-16));
    const padded = joined([decipher.update(record.subarray(0, -16)), decipher.final()]);
    const end = padded.findLastIndex((octet) => octet !== 0);
    if (padded[end] !== 2) throw new Error("The last record has no delimiter");
    return padded.subarray(0, end);
  }
}

function octets(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function toText(value: Uint8Array): string {
  return value.toBase64({ alphabet: "base64url", omitPadding: true });
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}
