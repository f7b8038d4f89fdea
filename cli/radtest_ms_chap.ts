// MS-CHAPv2 as the peer computes it: the response, the proof that it expects of the server (RFC 2759 §8), and the MPPE keys (RFC 3079 §3).

import { createCipheriv, createHash } from "node:crypto";

/** What both sides know of one exchange. */
interface MsChap2Input {
  readonly user: string;
  readonly password: string;
  /** 16 octets each. */
  readonly authenticatorChallenge: Uint8Array;
  readonly peerChallenge: Uint8Array;
}

export interface MsChap2 {
  /** 24 octets that prove the password to the server. */
  readonly ntResponse: Uint8Array;
  /** The text with which the server proves that it knows the password: `S=` and 40 hexadecimal digits. */
  readonly authenticatorResponse: string;
  /** The keys that the server gives to the NAS, 16 octets each, as the NAS names them. */
  readonly sendKey: Uint8Array;
  readonly receiveKey: Uint8Array;
}

const SERVER_SIGNING = "Magic server to client signing constant";
const SECOND_ITERATION = "Pad to make it do more than one iteration";
const MASTER_KEY = "This is the MPPE Master Key";
const CLIENT_SENDS = "On the client side, this is the send key; on the server side, it is the receive key.";
const SERVER_SENDS = "On the client side, this is the receive key; on the server side, it is the send key.";

/** Computes an exchange. The hash contains the name without its domain (RFC 2759 §8.2). */
export function computeMsChap2(input: MsChap2Input): MsChap2 {
  const { user, password, authenticatorChallenge, peerChallenge } = input;
  const passwordHash = hash("md4", utf16(password));
  const hashOfHash = hash("md4", passwordHash);
  const name = user.slice(user.lastIndexOf("\\") + 1);
  const challenge = hash("sha1", peerChallenge, authenticatorChallenge, name).subarray(0, 8);
  const ntResponse = encryptChallenge(challenge, passwordHash);
  const proof = hash(
    "sha1",
    hash("sha1", hashOfHash, ntResponse, SERVER_SIGNING),
    challenge,
    SECOND_ITERATION,
  );
  const masterKey = hash("sha1", hashOfHash, ntResponse, MASTER_KEY).subarray(0, KEY_OCTETS);
  return {
    ntResponse,
    authenticatorResponse: `S=${proof.toHex().toUpperCase()}`,
    sendKey: startKey(masterKey, SERVER_SENDS),
    receiveKey: startKey(masterKey, CLIENT_SENDS),
  };
}

const KEY_OCTETS = 16;
const PAD_OCTETS = 40;

/** RFC 3079 §3.4, GetAsymmetricStartKey() for 128 bits. */
function startKey(masterKey: Uint8Array, magic: string): Uint8Array {
  const [before, after] = [new Uint8Array(PAD_OCTETS), new Uint8Array(PAD_OCTETS).fill(0xf2)];
  return hash("sha1", masterKey, before, magic, after).subarray(0, KEY_OCTETS);
}

/** RFC 2759 §8.5: the challenge of 8 octets under three DES keys, which are the password hash and five zeros. */
function encryptChallenge(challenge: Uint8Array, passwordHash: Uint8Array): Uint8Array {
  const keys = new Uint8Array(21);
  keys.set(passwordHash);
  const response = new Uint8Array(24);
  for (let part = 0; part < 3; part++) {
    response.set(encryptDes(challenge, keys.subarray(7 * part, 7 * part + 7)), 8 * part);
  }
  return response;
}

/** One block of DES. The runtime has only triple DES, which is DES if its three keys are equal. @param key 56 bits */
function encryptDes(block: Uint8Array, key: Uint8Array): Uint8Array {
  const bits = key.reduce((all, octet) => (all << 8n) | BigInt(octet), 0n);
  // Each octet of a DES key has seven bits and a parity bit, which the cipher ignores.
  const spread = Uint8Array.from({ length: 8 }, (_, i) => Number((bits >> BigInt(49 - 7 * i)) & 0x7fn) << 1);
  const cipher = createCipheriv("des-ede3-cbc", new Uint8Array([...spread, ...spread, ...spread]), NO_VECTOR);
  return new Uint8Array(cipher.update(block));
}

const NO_VECTOR = new Uint8Array(8);

function hash(algorithm: "md4" | "sha1", ...parts: readonly (Uint8Array | string)[]): Uint8Array {
  const all = createHash(algorithm);
  for (const part of parts) all.update(part);
  return new Uint8Array(all.digest());
}

/** Little-endian, as Windows stores text. */
function utf16(text: string): Uint8Array {
  const octets = new Uint8Array(2 * text.length);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    octets.set([unit & 0xff, unit >>> 8], 2 * i);
  }
  return octets;
}
