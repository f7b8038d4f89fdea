// All computations with a shared secret: Response Authenticator (RFC 2865 §3), User-Password (§5.2), Message-Authenticator
// (RFC 3579 §3.2), Accounting-Request and Accounting-Response (RFC 2866 §3), Disconnect-Request (RFC 5176 §2.3), salted values (RFC 2868 §3.5,
// RFC 2548 §2.4.2). No other file of the gateway signs, verifies or hides with a shared secret.

import {
  AUTHENTICATOR_AT,
  AUTHENTICATOR_OCTETS,
  BufferArena,
  forEachAttribute,
  HEADER_OCTETS,
  MAX_PASSWORD_OCTETS,
  type PacketWriter,
} from "./packet.ts";
import { typeOf } from "./dictionary.ts";
import { createHmacMd5, type HmacMd5, MD5_OCTETS, md5Into } from "./md5.ts";

const MESSAGE_AUTHENTICATOR = typeOf("Message-Authenticator");
const ZEROS = new Uint8Array(MD5_OCTETS);
const slab = new BufferArena();
/** The longest shared secret: one buffer has room for a packet and the secret after it. */
const MAX_SECRET_OCTETS = 256;

/** RFC 2868 §3.5: two octets, then at most 15 blocks of 16, which begin with the length of the value. */
const SALT_OCTETS = 2;
const MAX_SALTED_OCTETS = 239;

/** A shared secret that can be used but not read. */
export class SharedSecret {
  readonly #octets: Uint8Array;
  readonly #hmac: HmacMd5;
  readonly #scratch = new Uint8Array(4096 + MAX_SECRET_OCTETS);
  readonly #expected = new Uint8Array(MD5_OCTETS);

  /** @param secret as configured; 1 to 256 octets of UTF-8. */
  constructor(secret: string) {
    this.#octets = new TextEncoder().encode(secret);
    if (this.#octets.length === 0 || this.#octets.length > MAX_SECRET_OCTETS) {
      throw new RangeError("A shared secret has 1 to 256 octets");
    }
    this.#hmac = createHmacMd5(this.#octets);
  }

  /** Whether packets are protected by TLS alone, with hidden attributes in clear: RADIUS/1.1 (RFC 9765). */
  get isClear(): boolean {
    return false;
  }

  /**
   * Whether the Message-Authenticator at `valueAt` is valid (RFC 3579 §3.2).
   *
   * @param requestAuthenticator for a reply, the authenticator of its request; `null` for a request.
   */
  isAuthentic(
    packet: Uint8Array,
    place: { lengthOctets: number; valueAt: number; valueOctets: number },
    requestAuthenticator: Uint8Array | null = null,
  ): boolean {
    if (place.valueOctets !== MD5_OCTETS) return false;
    const scratch = this.#scratch;
    for (let i = 0; i < place.lengthOctets; i++) scratch[i] = packet[i] as number;
    if (requestAuthenticator !== null) scratch.set(requestAuthenticator, 4);
    scratch.fill(0, place.valueAt, place.valueAt + MD5_OCTETS);
    this.#hmac.signInto(scratch, 0, place.lengthOctets, this.#expected, 0);
    return this.#isExpected(packet, place.valueAt);
  }

  /**
   * Whether a reply's Response Authenticator is valid (RFC 2865 §3).
   *
   * @param reply exactly the packet, without padding.
   */
  isAnswerTo(reply: Uint8Array, requestAuthenticator: Uint8Array): boolean {
    this.#scratch.set(reply);
    this.#scratch.set(requestAuthenticator, 4);
    this.#responseAuthenticator(reply.length, this.#expected);
    return this.#isExpected(reply, AUTHENTICATOR_AT);
  }

  /**
   * Whether the Request Authenticator of an Accounting-Request is valid (RFC 2866 §3): MD5 over the packet with 16 zero octets in its
   * place, and the secret.
   */
  isAccountingRequest(packet: Uint8Array, lengthOctets: number): boolean {
    const scratch = this.#scratch;
    for (let i = 0; i < lengthOctets; i++) scratch[i] = packet[i] as number;
    scratch.set(ZEROS, AUTHENTICATOR_AT);
    this.#responseAuthenticator(lengthOctets, this.#expected);
    return this.#isExpected(packet, AUTHENTICATOR_AT);
  }

  /**
   * Whether the Message-Authenticator of an Accounting-Request is valid. The Request Authenticator is computed after it, so 16 zero octets
   * take its place, as in RFC 5176 §3.4.
   */
  isSignedAccountingRequest(
    packet: Uint8Array,
    place: { lengthOctets: number; valueAt: number; valueOctets: number },
  ): boolean {
    return this.isAuthentic(packet, place, ZEROS);
  }

  /** Compares in constant time. */
  #isExpected(octets: Uint8Array, at: number): boolean {
    let difference = 0;
    for (let i = 0; i < MD5_OCTETS; i++) {
      difference |= (this.#expected[i] as number) ^ (octets[at + i] as number);
    }
    return difference === 0;
  }

  #responseAuthenticator(lengthOctets: number, out: Uint8Array): void {
    this.#scratch.set(this.#octets, lengthOctets);
    md5Into(this.#scratch, 0, lengthOctets + this.#octets.length, out, 0);
  }

  /** Begins a packet with a Message-Authenticator to fill in later: it is the first attribute of every signed packet. */
  beginSigned(writer: PacketWriter, code: number, identifier: number): void {
    writer.begin(code, identifier);
    writer.attribute(MESSAGE_AUTHENTICATOR, ZEROS);
  }

  /**
   * Signs a reply begun with {@link beginSigned}: Length, Message-Authenticator over the Request Authenticator
   * (RFC 3579 §3.2), then the Response Authenticator (RFC 2865 §3).
   *
   * @param request the answered packet
   * @returns a copy of the finished octets
   */
  signReply(writer: PacketWriter, request: Uint8Array): Uint8Array<ArrayBuffer> {
    writer.finish();
    const { octets, lengthOctets } = writer;
    for (let i = 4; i < HEADER_OCTETS; i++) octets[i] = request[i] as number;
    this.#hmac.signInto(octets, 0, lengthOctets, octets, HEADER_OCTETS + 2);
    return this.#finishWithSecret(octets, lengthOctets);
  }

  /**
   * Completes an Accounting-Response: Length and Response Authenticator (RFC 2866 §3), without a Message-Authenticator
   * (RFC 2869 §5.19 does not allow one there).
   *
   * @param request the answered packet
   * @returns a copy of the finished octets
   */
  finishAccountingResponse(writer: PacketWriter, request: Uint8Array): Uint8Array<ArrayBuffer> {
    writer.finish();
    const { octets, lengthOctets } = writer;
    for (let i = AUTHENTICATOR_AT; i < HEADER_OCTETS; i++) octets[i] = request[i] as number;
    return this.#finishWithSecret(octets, lengthOctets);
  }

  /** Writes the MD5 digest of the packet and the secret as the authenticator. The secret is in the buffer only while it is hashed. */
  #finishWithSecret(octets: Uint8Array, lengthOctets: number): Uint8Array<ArrayBuffer> {
    octets.set(this.#octets, lengthOctets);
    md5Into(octets, 0, lengthOctets + this.#octets.length, octets, AUTHENTICATOR_AT);
    octets.fill(0, lengthOctets, lengthOctets + this.#octets.length);
    return slab.copy(octets, lengthOctets);
  }

  /** Signs a request begun with {@link beginSigned}; `authenticator` is random (RFC 2865 §3). Returns a copy. */
  signRequest(writer: PacketWriter, authenticator: Uint8Array): Uint8Array<ArrayBuffer> {
    writer.finish();
    const { octets, lengthOctets } = writer;
    octets.set(authenticator, 4);
    this.#hmac.signInto(octets, 0, lengthOctets, octets, HEADER_OCTETS + 2);
    return octets.slice(0, lengthOctets);
  }

  /**
   * Signs a Disconnect-Request begun with {@link beginSigned}: Length, Message-Authenticator over 16 zero octets in place of the Request
   * Authenticator (RFC 5176 §3.4), then the Request Authenticator as in an Accounting-Request (RFC 5176 §2.3, RFC 2866 §3). Returns a copy.
   */
  signDisconnectRequest(writer: PacketWriter): Uint8Array<ArrayBuffer> {
    writer.finish();
    const { octets, lengthOctets } = writer;
    octets.set(ZEROS, AUTHENTICATOR_AT);
    this.#hmac.signInto(octets, 0, lengthOctets, octets, HEADER_OCTETS + 2);
    return this.#finishWithSecret(octets, lengthOctets);
  }

  /**
   * Reveals User-Password (RFC 2865 §5.2). NUL octets at the end are padding and are removed.
   *
   * @returns `null` if the length is not a multiple of 16 up to 128. A value without octets is an empty password: RFC 2865 §5 does not
   * allow it, but radcli (ocserv) and Authen::Radius send it for an empty answer.
   */
  revealPassword(hidden: Uint8Array, requestAuthenticator: Uint8Array): Uint8Array<ArrayBuffer> | null {
    const plain = new Uint8Array(MAX_PASSWORD_OCTETS);
    const lengthOctets = this.revealPasswordInto(plain, hidden, {
      authenticator: requestAuthenticator,
      at: 0,
    });
    return lengthOctets < 0 ? null : plain.slice(0, lengthOctets);
  }

  /**
   * As {@link revealPassword}, into a reusable buffer of 128 octets: an array for each packet costs more than the decryption.
   *
   * @param place the array and position of the Request Authenticator's 16 octets
   * @returns the length, or -1.
   */
  revealPasswordInto(
    plain: Uint8Array,
    hidden: Uint8Array,
    { authenticator, at }: { authenticator: Uint8Array; at: number },
  ): number {
    const length = hidden.length;
    if (length % 16 !== 0 || length > MAX_PASSWORD_OCTETS) return -1;
    for (let block = 0; block < length; block += AUTHENTICATOR_OCTETS) {
      if (block === 0) this.#mask(authenticator, at);
      else this.#mask(hidden, block - AUTHENTICATOR_OCTETS);
      for (let i = block; i < block + AUTHENTICATOR_OCTETS; i++) {
        plain[i] = (hidden[i] as number) ^ (this.#expected[i - block] as number);
      }
    }
    let end = length;
    while (end > 0 && plain[end - 1] === 0) end--;
    return end;
  }

  /**
   * Hides a password of at most 128 octets (RFC 2865 §5.2).
   *
   * @throws RangeError if it is longer
   */
  hidePassword(plain: Uint8Array, requestAuthenticator: Uint8Array): Uint8Array<ArrayBuffer> {
    if (plain.length > MAX_PASSWORD_OCTETS) throw new RangeError("A password has at most 128 octets");
    const hidden = new Uint8Array(Math.max(16, Math.ceil(plain.length / 16) * 16));
    hidden.set(plain);
    return this.#hide(hidden, requestAuthenticator.subarray(0, AUTHENTICATOR_OCTETS));
  }

  /**
   * Hides a value with a salt (RFC 2868 §3.5, RFC 2548 §2.4.2): the salt, then the length and the value, padded and hidden.
   *
   * @param salt two octets; the highest bit is set, and no other value of the packet has the same salt
   * @throws RangeError if the value has more than 239 octets, because the result would not fit into an attribute
   */
  hideSalted(
    plain: Uint8Array,
    { authenticator, salt }: { authenticator: Uint8Array; salt: Uint8Array },
  ): Uint8Array<ArrayBuffer> {
    if (plain.length > MAX_SALTED_OCTETS) throw new RangeError("A salted value has at most 239 octets");
    const padded = new Uint8Array(Math.ceil((1 + plain.length) / 16) * 16);
    padded[0] = plain.length;
    padded.set(plain, 1);
    return Uint8Array.of(...salt, ...this.#hide(padded, Uint8Array.of(...authenticator, ...salt)));
  }

  /**
   * Reveals what {@link hideSalted} hides.
   *
   * @param hidden the salt and the hidden octets
   * @returns `null` if the hidden octets are no blocks of 16, or if the revealed length is more than they have: another secret hid them
   */
  revealSalted(hidden: Uint8Array, authenticator: Uint8Array): Uint8Array<ArrayBuffer> | null {
    const length = hidden.length - SALT_OCTETS;
    if (length < 16 || length % 16 !== 0) return null;
    const salt = hidden.subarray(0, SALT_OCTETS);
    const plain = hidden.slice(SALT_OCTETS);
    for (let block = 0; block < length; block += AUTHENTICATOR_OCTETS) {
      if (block === 0) {
        this.#mask(Uint8Array.of(...authenticator, ...salt), 0, AUTHENTICATOR_OCTETS + SALT_OCTETS);
      } else this.#mask(hidden, SALT_OCTETS + block - AUTHENTICATOR_OCTETS);
      for (let i = 0; i < AUTHENTICATOR_OCTETS; i++) {
        plain[block + i] = (plain[block + i] as number) ^ (this.#expected[i] as number);
      }
    }
    const valueOctets = plain[0] as number;
    return valueOctets < length ? plain.slice(1, 1 + valueOctets) : null;
  }

  /** Hides padded octets in place. @param first the octets before c(1): the Request Authenticator, for a salted value with its salt */
  #hide(padded: Uint8Array<ArrayBuffer>, first: Uint8Array): Uint8Array<ArrayBuffer> {
    for (let block = 0; block < padded.length; block += AUTHENTICATOR_OCTETS) {
      if (block === 0) this.#mask(first, 0, first.length);
      else this.#mask(padded, block - AUTHENTICATOR_OCTETS);
      for (let i = block; i < block + AUTHENTICATOR_OCTETS; i++) {
        padded[i] = (padded[i] as number) ^ (this.#expected[i - block] as number);
      }
    }
    return padded;
  }

  /** Computes b(i) = MD5(secret + c(i-1)) into `#expected`; c(i-1) is 16 octets of `before` at `at`, c(0) the Request Authenticator. */
  #mask(before: Uint8Array, at: number, lengthOctets = AUTHENTICATOR_OCTETS): void {
    const scratch = this.#scratch;
    const secretOctets = this.#octets.length;
    for (let i = 0; i < secretOctets; i++) scratch[i] = this.#octets[i] as number;
    for (let i = 0; i < lengthOctets; i++) scratch[secretOctets + i] = before[at + i] as number;
    md5Into(scratch, 0, secretOctets + lengthOctets, this.#expected, 0);
  }
}

/** The position of a packet's first Message-Authenticator, or `null`. */
export function findMessageAuthenticator(
  packet: Uint8Array,
): { valueAt: number; valueOctets: number } | null {
  let found: { valueAt: number; valueOctets: number } | null = null;
  forEachAttribute(packet, packet.length, (type, at, valueOctets) => {
    if (type === MESSAGE_AUTHENTICATOR) found ??= { valueAt: at, valueOctets };
  });
  return found;
}
