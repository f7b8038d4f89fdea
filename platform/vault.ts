// Protects stored secrets. Secrets that are read again are sealed (AES-256-GCM, with the record's key as associated data). Secrets
// that are only compared are digested (HMAC-SHA-256). The master key is not in the store.

import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import { HmacSha256 } from "./hmac_sha256.ts";
import type { Random } from "./runtime.ts";

export interface Vault {
  /** Encrypts `plain` for the record at `recordKey`. Only `open` with the same key can read it. */
  seal(recordKey: Deno.KvKey, plain: Uint8Array): Uint8Array<ArrayBuffer>;
  /** Decrypts the result of `seal`; `null` if it was altered or belongs to another record. */
  open(recordKey: Deno.KvKey, sealed: Uint8Array): Uint8Array<ArrayBuffer> | null;
  /** A keyed hash (32 octets, hexadecimal) of `value`, separated by `purpose`. Compare with {@link equalDigests}. */
  digest(purpose: string, value: Uint8Array | string): string;
  /** A key for `purpose`, derived from the master key (HKDF-SHA-256). */
  deriveKey(purpose: string, lengthOctets: number): Uint8Array<ArrayBuffer>;
}

const NONCE_OCTETS = 12;
const TAG_OCTETS = 16;
/** Longer values than this get a buffer of their own. */
const DIGESTED_OCTETS = 1024;
/** UTF-8 has at most three octets for each UTF-16 code unit. */
const MAX_OCTETS_PER_UNIT = 3;
const encoder = new TextEncoder();

/** Whether two digests are the same, in constant time. */
export function equalDigests(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}

/** @param masterKey 32 octets. */
export function createVault(masterKey: Uint8Array, random: Random): Vault {
  if (masterKey.length !== 32) throw new RangeError("The master key must have 32 octets");
  const derive = (purpose: string, lengthOctets: number): Uint8Array<ArrayBuffer> =>
    new Uint8Array(hkdfSync("sha256", masterKey, new Uint8Array(0), `countersign ${purpose}`, lengthOctets));
  const sealingKey = derive("seal", 32);
  const digests = new HmacSha256(derive("digest", 32));
  const digested = new Uint8Array(DIGESTED_OCTETS);
  const associated = (recordKey: Deno.KvKey) =>
    encoder.encode(
      JSON.stringify(recordKey.map((part) => part instanceof Uint8Array ? part.toHex() : String(part))),
    );

  return {
    seal(recordKey, plain) {
      const nonce = random.bytes(NONCE_OCTETS);
      const cipher = createCipheriv("aes-256-gcm", sealingKey, nonce);
      cipher.setAAD(associated(recordKey));
      const body = new Uint8Array(cipher.update(plain));
      cipher.final();
      const sealed = new Uint8Array(NONCE_OCTETS + TAG_OCTETS + body.length);
      sealed.set(nonce, 0);
      sealed.set(cipher.getAuthTag(), NONCE_OCTETS);
      sealed.set(body, NONCE_OCTETS + TAG_OCTETS);
      return sealed;
    },
    open(recordKey, sealed) {
      if (sealed.length < NONCE_OCTETS + TAG_OCTETS) return null;
      const decipher = createDecipheriv("aes-256-gcm", sealingKey, sealed.subarray(0, NONCE_OCTETS));
      decipher.setAAD(associated(recordKey));
      decipher.setAuthTag(sealed.subarray(NONCE_OCTETS, NONCE_OCTETS + TAG_OCTETS));
      try {
        const plain = new Uint8Array(decipher.update(sealed.subarray(NONCE_OCTETS + TAG_OCTETS)));
        decipher.final();
        return plain;
      } catch (_tagMismatch) {
        return null;
      }
    },
    digest(purpose, value) {
      const most = MAX_OCTETS_PER_UNIT * (purpose.length + value.length) + 1;
      const octets = most > DIGESTED_OCTETS ? new Uint8Array(most) : digested;
      let length = encoder.encodeInto(purpose, octets).written;
      octets[length++] = 0;
      if (typeof value === "string") length += encoder.encodeInto(value, octets.subarray(length)).written;
      else {
        octets.set(value, length);
        length += value.length;
      }
      const digest = digests.sign(octets, length).toHex();
      octets.fill(0, 0, length);
      return digest;
    },
    deriveKey: derive,
  };
}
