// How `deno task try` proves the password: PAP, CHAP (RFC 2865 §2.2), MS-CHAPv2 (RFC 2548 §2.3) or EAP-GTC (RFC 3748 §5.6).

import { createCipheriv, createHash } from "node:crypto";
import type { Random } from "../platform/runtime.ts";
import { readInteger } from "../radius/protocol/attributes.ts";
import type { ClearAttribute } from "../radius/protocol/clear_attributes.ts";
import { typeOf } from "../radius/protocol/dictionary.ts";
import {
  decodeEap,
  EAP_CODES,
  EAP_IDENTITY,
  EAP_METHODS,
  EAP_NAK,
  EAP_NOTIFICATION,
  eapMethodName,
  type EapPacket,
  encodeEap,
  splitEapMessage,
} from "../radius/protocol/eap.ts";
import type { RadtestReply } from "./radtest_packets.ts";

/** A login with one method. An object is for one login. */
export interface LoginMethod {
  /** The attributes of the first request. */
  begin(password: string): readonly ClearAttribute[];
  /** What answers a challenge. */
  next(challenge: RadtestReply): NextRequest;
  /** What the reply says in the terms of the method. */
  describe(reply: RadtestReply): MethodReport;
}

/** `ask`: the user types the answer. `send`: the method itself has the answer. */
type NextRequest =
  | { readonly kind: "ask"; readonly hidden: boolean; answer(typed: string): readonly ClearAttribute[] }
  | { readonly kind: "send"; readonly attributes: readonly ClearAttribute[] }
  | { readonly kind: "fault"; readonly problem: string };

interface MethodReport {
  readonly lines: readonly string[];
  /** Whether an Access-Accept is one that a client of this method refuses. */
  readonly isRefused?: boolean;
}

const METHODS = { pap, chap, mschapv2: msChap2, "eap-gtc": eapGtc } as const;

export type LoginMethodName = keyof typeof METHODS;
export const LOGIN_METHODS = Object.keys(METHODS) as readonly LoginMethodName[];

/** @param options.password the password that the command line gives, or `null` */
export function createLoginMethod(name: LoginMethodName, options: MethodOptions): LoginMethod {
  return METHODS[name](options);
}

interface MethodOptions {
  readonly user: string;
  readonly password: string | null;
  readonly random: Random;
}

const utf8 = new TextEncoder();
const NO_REPORT: MethodReport = { lines: [] };

/** RFC 2869 §5.10: the server says that the answer is a secret. */
function isNoEcho({ clear }: RadtestReply): boolean {
  const prompt = clear.find(({ type }) => type === typeOf("Prompt"));
  return prompt?.value.length === 4 && readInteger(prompt.value) === 0;
}

/** A method whose answer to a challenge has the form of the first request. */
function ofOneForm(prove: (typed: string) => readonly ClearAttribute[]): LoginMethod {
  return {
    begin: prove,
    next: (challenge) => ({ kind: "ask", hidden: isNoEcho(challenge), answer: prove }),
    describe: () => NO_REPORT,
  };
}

function pap(): LoginMethod {
  return ofOneForm((typed) => [{ type: typeOf("User-Password"), value: utf8.encode(typed) }]);
}

/** The challenge has an attribute of its own, because RADIUS/1.1 has no Request Authenticator (RFC 9765 §5.1.2). */
function chap({ random }: MethodOptions): LoginMethod {
  return ofOneForm((typed) => {
    const [identifier, challenge] = [random.bytes(1), random.bytes(16)];
    const digest = createHash("md5").update(identifier).update(typed).update(challenge).digest();
    return [
      { type: typeOf("CHAP-Password"), value: Uint8Array.of(...identifier, ...digest) },
      { type: typeOf("CHAP-Challenge"), value: challenge },
    ];
  });
}

const MICROSOFT = 311;
/** RFC 2548 §2. */
const VENDOR_TYPES = { error: 2, challenge: 11, sendKey: 16, receiveKey: 17, response: 25, success: 26 };

function msChap2({ user, random }: MethodOptions): LoginMethod {
  let sent: MsChap2 | null = null;
  const method = ofOneForm((password) => {
    const [identifier, authenticatorChallenge, peerChallenge] = [
      random.bytes(1),
      random.bytes(16),
      random.bytes(16),
    ];
    sent = computeMsChap2({ user, password, authenticatorChallenge, peerChallenge });
    const reserved = new Uint8Array(8);
    return [
      ofMicrosoft(VENDOR_TYPES.challenge, authenticatorChallenge),
      ofMicrosoft(
        VENDOR_TYPES.response,
        Uint8Array.of(...identifier, 0, ...peerChallenge, ...reserved, ...sent.ntResponse),
      ),
    ];
  });
  return { ...method, describe: (reply) => sent === null ? NO_REPORT : reportOf(reply, sent) };
}

function reportOf({ name, clear }: RadtestReply, sent: MsChap2): MethodReport {
  if (name === "Access-Reject") {
    const error = findOfMicrosoft(clear, VENDOR_TYPES.error);
    return error === null ? NO_REPORT : { lines: [`MS-CHAP-Error: ${errorText(error)}`] };
  }
  if (name !== "Access-Accept") return NO_REPORT;
  const success = findOfMicrosoft(clear, VENDOR_TYPES.success);
  if (success === null) {
    return { lines: ["No MS-CHAP2-Success: a client refuses this Accept"], isRefused: true };
  }
  // One octet of identifier, then the text, which may be longer.
  const proof = new TextDecoder().decode(success.subarray(1, 1 + sent.authenticatorResponse.length));
  if (proof !== sent.authenticatorResponse) {
    return {
      lines: ["MS-CHAP2-Success is wrong: the server does not know the password, so a client refuses it"],
      isRefused: true,
    };
  }
  const keys = keyText(clear, sent);
  return { lines: ["MS-CHAP2-Success is right", keys.line], isRefused: !keys.isUsable };
}

function keyText(clear: readonly ClearAttribute[], sent: MsChap2): { line: string; isUsable: boolean } {
  const sendKey = findOfMicrosoft(clear, VENDOR_TYPES.sendKey);
  const receiveKey = findOfMicrosoft(clear, VENDOR_TYPES.receiveKey);
  if (sendKey === null && receiveKey === null) {
    return { line: "No MPPE keys: a VPN that needs them does not connect", isUsable: true };
  }
  const isRight = sendKey?.toHex() === sent.sendKey.toHex() &&
    receiveKey?.toHex() === sent.receiveKey.toHex();
  return isRight
    ? { line: "The MPPE keys are right", isUsable: true }
    : { line: "The MPPE keys are wrong: a VPN that needs them does not connect", isUsable: false };
}

/** RFC 2759 §6. */
const ERRORS: ReadonlyMap<string, string> = new Map([
  ["646", "restricted logon hours"],
  ["647", "account disabled"],
  ["648", "password expired"],
  ["649", "no dial-in permission"],
  ["691", "authentication failure"],
  ["709", "error changing the password"],
]);

function errorText(error: Uint8Array): string {
  const text = new TextDecoder().decode(error.subarray(1));
  const meaning = ERRORS.get(/\bE=(\d+)/.exec(text)?.[1] ?? "");
  return meaning === undefined ? text : `${text} (${meaning})`;
}

/** A Vendor-Specific attribute of Microsoft with one value. */
function ofMicrosoft(type: number, value: Uint8Array): ClearAttribute {
  const head = Uint8Array.of(0, 0, MICROSOFT >>> 8, MICROSOFT & 0xff, type, value.length + 2);
  return { type: typeOf("Vendor-Specific"), value: Uint8Array.of(...head, ...value) };
}

/** The value of the first attribute of Microsoft with this type. */
function findOfMicrosoft(attributes: readonly ClearAttribute[], wanted: number): Uint8Array | null {
  for (const { type, value } of attributes) {
    if (type !== typeOf("Vendor-Specific") || value.length < 6 || readInteger(value) !== MICROSOFT) continue;
    for (let at = 4; at + 2 <= value.length;) {
      const size = value[at + 1] as number;
      if (size < 2 || at + size > value.length) break;
      if (value[at] === wanted) return value.subarray(at + 2, at + size);
      at += size;
    }
  }
  return null;
}

const GTC = EAP_METHODS["EAP-GTC"].type;
/** A prompt for a password or a code, whose answer is not shown. */
const SECRET_PROMPT = /pass(word|code|phrase)|\bPIN\b/i;

function eapGtc({ user, password }: MethodOptions): LoginMethod {
  let unused = password;
  const respond = (identifier: number, type: number, data: Uint8Array): readonly ClearAttribute[] =>
    eapMessages(encodeEap({ code: EAP_CODES.response, identifier, type, data }));
  return {
    begin: () => respond(0, EAP_IDENTITY, utf8.encode(user)),
    next(challenge) {
      const request = eapOf(challenge);
      if (request === null || request.code !== EAP_CODES.request) {
        return { kind: "fault", problem: "The challenge contains no EAP-Request, so it cannot be answered." };
      }
      const { identifier, type, data } = request;
      const send = (as: number, octets: Uint8Array): NextRequest => ({
        kind: "send",
        attributes: respond(identifier, as, octets),
      });
      if (type === EAP_IDENTITY) return send(type, utf8.encode(user));
      if (type === EAP_NOTIFICATION) return send(type, new Uint8Array(0));
      // The server offers another method. The Nak names the one that this client has.
      if (type !== GTC) return send(EAP_NAK, Uint8Array.of(GTC));
      if (unused !== null) {
        const first = unused;
        unused = null;
        return send(GTC, utf8.encode(first));
      }
      return {
        kind: "ask",
        hidden: SECRET_PROMPT.test(new TextDecoder().decode(data)),
        answer: (typed) => respond(identifier, GTC, utf8.encode(typed)),
      };
    },
    describe: (reply) => reportOfEap(reply),
  };
}

function eapMessages(eap: Uint8Array): ClearAttribute[] {
  return splitEapMessage(eap).map((value) => ({ type: typeOf("EAP-Message"), value }));
}

function eapOf({ eap }: RadtestReply): EapPacket | null {
  return eap === null ? null : decodeEap(eap);
}

/** The code that the EAP packet of a reply must have (RFC 3579 §2.6.3). */
const EXPECTED_CODES: Readonly<Partial<Record<RadtestReply["name"], number>>> = {
  "Access-Accept": EAP_CODES.success,
  "Access-Reject": EAP_CODES.failure,
  "Access-Challenge": EAP_CODES.request,
};

function reportOfEap(reply: RadtestReply): MethodReport {
  const packet = eapOf(reply);
  const isRefused = packet?.code !== EXPECTED_CODES[reply.name];
  if (packet === null) return { lines: ["No valid EAP packet: a client refuses this reply"], isRefused };
  const lines = isRefused ? ["The EAP packet does not match the reply: a client refuses it"] : [];
  const data = new TextDecoder().decode(packet.data);
  return { lines: [...lines, `EAP-${eapName(packet)}`, ...(data === "" ? [] : [data])], isRefused };
}

function eapName({ code, type }: EapPacket): string {
  if (code === EAP_CODES.success) return "Success";
  if (code === EAP_CODES.failure) return "Failure";
  const kind = code === EAP_CODES.request ? "Request" : "Response";
  if (type === EAP_IDENTITY) return `${kind}/Identity`;
  return `${kind}/${type === EAP_NOTIFICATION ? "Notification" : eapMethodName(type)}`;
}

// MS-CHAPv2 as the peer computes it: the response, the proof that it expects of the server (RFC 2759 §8), and the MPPE keys (RFC 3079 §3).

/** What both sides know of one exchange. */
interface MsChap2Input {
  readonly user: string;
  readonly password: string;
  /** 16 octets each. */
  readonly authenticatorChallenge: Uint8Array;
  readonly peerChallenge: Uint8Array;
}

interface MsChap2 {
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
