// Builds RADIUS requests, and reads and checks replies (RFC 2865, RFC 2869 §5.14, RFC 3579). Uses node:crypto and no
// code of the gateway, so that a mistake there is not repeated here.

import { Buffer } from "node:buffer";
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { CODES, TYPES } from "./radius_numbers.ts";

export { CODES, TYPES };

/** One attribute; `value` has at most 253 octets. */
export interface Attribute {
  readonly type: number;
  readonly value: Uint8Array;
}

/** A built packet, with the data to check its reply. */
export interface BuiltRequest {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly identifier: number;
  readonly authenticator: Uint8Array;
  readonly proxyStates: readonly Uint8Array[];
}

/** The content of a request. Absent fields are not sent, or are random (identifier and authenticator). */
export interface RequestParts {
  readonly code?: number;
  readonly identifier?: number;
  readonly authenticator?: Uint8Array;
  readonly userName?: string | Uint8Array;
  readonly password?: string | Uint8Array;
  readonly state?: Uint8Array;
  readonly nasPort?: number;
  readonly callingStationId?: string;
  readonly more?: readonly Attribute[];
  /** The default is `first`. */
  readonly messageAuthenticator?: "first" | "last" | "wrong" | "none";
}

/** A parsed reply, with all its faults. */
export interface Reply {
  readonly code: number;
  readonly identifier: number;
  readonly attributes: readonly Attribute[];
  /** The Reply-Messages, joined without anything between, as clients show them. */
  readonly message: string;
  readonly state: Uint8Array | null;
  /** Empty when the reply follows the RFCs. */
  readonly problems: readonly string[];
  readonly bytes: Uint8Array;
}

/** Builds a request with `secret`. Throws when an attribute is too long. */
export function buildRequest(secret: string, parts: RequestParts): BuiltRequest {
  const authenticator = parts.authenticator ?? new Uint8Array(randomBytes(16));
  const identifier = parts.identifier ?? randomBytes(1)[0] ?? 0;
  const attributes = requestAttributes(secret, { parts, authenticator });
  const bytes = frame(parts.code ?? CODES.accessRequest, identifier, authenticator, attributes);
  sign(bytes, secret, attributes);
  if (parts.messageAuthenticator === "wrong") {
    const at = offsetOf(attributes, TYPES.messageAuthenticator);
    bytes[at] = (bytes[at] ?? 0) ^ 0xff;
  }
  const proxyStates = attributes.filter(({ type }) => type === TYPES.proxyState).map(({ value }) => value);
  return { bytes, identifier, authenticator, proxyStates };
}

/**
 * Builds an Accounting-Request (RFC 2866 §3): its Request Authenticator is MD5 over the packet with zero octets in its
 * place, and the secret. A Message-Authenticator is computed before it, over the same zero octets.
 */
export function buildAccountingRequest(
  secret: string,
  parts: RequestParts & { readonly requestAuthenticator?: "right" | "wrong" },
): BuiltRequest {
  const authenticator = new Uint8Array(16);
  const messageAuthenticator = parts.messageAuthenticator ?? "none";
  const code = CODES.accountingRequest;
  const built = buildRequest(secret, { ...parts, code, authenticator, messageAuthenticator });
  authenticator.set(createHash("md5").update(built.bytes).update(secret).digest());
  if (parts.requestAuthenticator === "wrong") authenticator[15] = (authenticator[15] ?? 0) ^ 0xff;
  built.bytes.set(authenticator, 4);
  return { ...built, authenticator };
}

/** RFC 2865 §5.2: the password in blocks of 16, each hidden with the one before. */
export function hidePassword(
  password: Uint8Array,
  key: { secret: string; authenticator: Uint8Array },
): Uint8Array<ArrayBuffer> {
  const hidden = new Uint8Array(Math.max(16, Math.ceil(password.length / 16) * 16));
  hidden.set(password);
  let previous = key.authenticator;
  for (let at = 0; at < hidden.length; at += 16) {
    const mask = createHash("md5").update(key.secret).update(previous).digest();
    for (let i = 0; i < 16; i++) hidden[at + i] = (hidden[at + i] ?? 0) ^ (mask[i] ?? 0);
    previous = hidden.subarray(at, at + 16);
  }
  return hidden;
}

/** RFC 2868 §3.5 and RFC 2548 §2.4.2: the salt, then the length and the value in blocks, each hidden with the one before. */
export function hideSalted(
  value: Uint8Array,
  key: { secret: string; authenticator: Uint8Array; salt: Uint8Array },
): Uint8Array<ArrayBuffer> {
  const padded = new Uint8Array(Math.ceil((1 + value.length) / 16) * 16);
  padded.set([value.length, ...value]);
  const authenticator = Uint8Array.of(...key.authenticator, ...key.salt);
  return Uint8Array.of(...key.salt, ...hidePassword(padded, { ...key, authenticator }));
}

/** What {@link hideSalted} hid. */
export function revealSalted(
  hidden: Uint8Array,
  { secret, authenticator }: { secret: string; authenticator: Uint8Array },
): Uint8Array {
  const plain: number[] = [];
  let previous = Uint8Array.of(...authenticator, ...hidden.subarray(0, 2));
  for (let at = 2; at < hidden.length; at += 16) {
    const mask = createHash("md5").update(secret).update(previous).digest();
    previous = hidden.slice(at, at + 16);
    plain.push(...previous.map((octet, i) => octet ^ (mask[i] ?? 0)));
  }
  return Uint8Array.from(plain.slice(1, 1 + (plain[0] ?? 0)));
}

/**
 * Reads a reply and lists its faults: structure, authenticators, order, copies, attributes that the code does not
 * allow.
 */
export function readReply(bytes: Uint8Array, request: BuiltRequest, secret: string): Reply {
  const attributes = readAttributes(bytes);
  const code = bytes[0] ?? 0;
  const of = (type: number) =>
    (attributes ?? []).filter((one) => one.type === type).map(({ value }) => value);
  return {
    code,
    identifier: bytes[1] ?? 0,
    attributes: attributes ?? [],
    message: of(TYPES.replyMessage).map((value) => new TextDecoder().decode(value)).join(""),
    state: of(TYPES.state)[0] ?? null,
    problems: attributes === null ? ["the packet's structure is broken"] : [
      ...authenticityProblems(bytes, attributes, { request, secret }),
      ...contentProblems(code, of, request),
    ],
    bytes,
  };
}

function requestAttributes(
  secret: string,
  { parts, authenticator }: { parts: RequestParts; authenticator: Uint8Array },
): Attribute[] {
  const list: Attribute[] = [];
  const add = (type: number, value: Uint8Array | undefined) => {
    if (value !== undefined) list.push({ type, value });
  };
  const place = parts.messageAuthenticator ?? "first";
  if (place === "first" || place === "wrong") add(TYPES.messageAuthenticator, new Uint8Array(16));
  add(TYPES.userName, octets(parts.userName));
  const password = octets(parts.password);
  if (password !== undefined) add(TYPES.userPassword, hidePassword(password, { secret, authenticator }));
  add(TYPES.nasPort, parts.nasPort === undefined ? undefined : integer(parts.nasPort));
  add(TYPES.callingStationId, octets(parts.callingStationId));
  add(TYPES.state, parts.state);
  list.push(...parts.more ?? []);
  if (place === "last") add(TYPES.messageAuthenticator, new Uint8Array(16));
  return list;
}

function frame(
  code: number,
  identifier: number,
  authenticator: Uint8Array,
  attributes: readonly Attribute[],
): Uint8Array<ArrayBuffer> {
  const length = attributes.reduce((sum, { value }) => sum + 2 + value.length, 20);
  const bytes = new Uint8Array(length);
  bytes.set([code, identifier, length >> 8, length & 0xff]);
  bytes.set(authenticator, 4);
  let at = 20;
  for (const { type, value } of attributes) {
    if (value.length > 253) {
      throw new RangeError(`Attribute ${type} has ${value.length} octets, at most 253 fit`);
    }
    bytes.set([type, value.length + 2], at);
    bytes.set(value, at + 2);
    at += value.length + 2;
  }
  return bytes;
}

function sign(bytes: Uint8Array, secret: string, attributes: readonly Attribute[]): void {
  if (!attributes.some(({ type }) => type === TYPES.messageAuthenticator)) return;
  const digest = createHmac("md5", secret).update(bytes).digest();
  bytes.set(digest, offsetOf(attributes, TYPES.messageAuthenticator));
}

/** The position of the first attribute of `type` in the packet. */
function offsetOf(attributes: readonly Attribute[], type: number): number {
  let at = 20;
  for (const one of attributes) {
    if (one.type === type) return at + 2;
    at += one.value.length + 2;
  }
  throw new RangeError(`There is no attribute ${type}`);
}

function readAttributes(bytes: Uint8Array): Attribute[] | null {
  if (bytes.length < 20 || (bytes[2] ?? 0) * 256 + (bytes[3] ?? 0) !== bytes.length) return null;
  const attributes: Attribute[] = [];
  for (let at = 20; at < bytes.length;) {
    const length = bytes[at + 1] ?? 0;
    if (length < 2 || at + length > bytes.length) return null;
    attributes.push({ type: bytes[at] ?? 0, value: bytes.slice(at + 2, at + length) });
    at += length;
  }
  return attributes;
}

function octets(value: string | Uint8Array | undefined): Uint8Array | undefined {
  return typeof value === "string" ? new TextEncoder().encode(value) : value;
}

function integer(value: number): Uint8Array {
  return new Uint8Array([value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff]);
}

/** Faults of the two authenticators and their position. */
function authenticityProblems(
  bytes: Uint8Array,
  attributes: readonly Attribute[],
  { request, secret }: { request: BuiltRequest; secret: string },
): string[] {
  const problems: string[] = [];
  if (bytes[1] !== request.identifier) problems.push("the Identifier is another one");
  const asSigned = Uint8Array.from(bytes);
  asSigned.set(request.authenticator, 4);
  const response = createHash("md5").update(asSigned).update(secret).digest();
  if (!timingSafeEqual(response, Buffer.from(bytes.subarray(4, 20)))) {
    problems.push("the Response Authenticator is wrong");
  }
  // RFC 2869 §5.19: an Accounting-Response carries none.
  if (bytes[0] === CODES.accountingResponse) return problems;
  if (attributes[0]?.type !== TYPES.messageAuthenticator) {
    return [...problems, "Message-Authenticator is not the first attribute"];
  }
  const sent = bytes.slice(22, 38);
  asSigned.fill(0, 22, 38);
  const expected = createHmac("md5", secret).update(asSigned).digest();
  if (sent.length !== 16 || !timingSafeEqual(expected, Buffer.from(sent))) {
    problems.push("the Message-Authenticator is wrong");
  }
  return problems;
}

const EAP_MESSAGE = 79;
/** RFC 2865 §5.44: attributes that a reply must not have, or may have only once. */
const NEVER_IN_REPLIES = [TYPES.userPassword, 3, 4, TYPES.nasPort, 30, TYPES.callingStationId, 32, 60, 61];
const BARE_REPLIES = new Map<number, readonly number[]>([
  [CODES.accountingResponse, [TYPES.proxyState]],
  // RFC 2548 §2.1.5: MS-CHAP-Error is inside Vendor-Specific.
  [CODES.accessReject, [
    TYPES.replyMessage,
    TYPES.proxyState,
    TYPES.messageAuthenticator,
    26,
    EAP_MESSAGE,
    101,
  ]],
  [CODES.accessChallenge, [
    ...[TYPES.replyMessage, TYPES.state, TYPES.proxyState, TYPES.messageAuthenticator],
    ...[26, 27, 28, 76, 79],
  ]],
]);

/** Faults of a reply's attributes; `of` returns the values of a type. */
function contentProblems(
  code: number,
  of: (type: number) => Uint8Array[],
  request: BuiltRequest,
): string[] {
  const problems: string[] = [];
  for (const type of NEVER_IN_REPLIES) {
    if (of(type).length > 0) problems.push(`attribute ${type} is not allowed`);
  }
  const allowed = BARE_REPLIES.get(code);
  if (allowed !== undefined) {
    for (let type = 1; type < 256; type++) {
      if (!allowed.includes(type) && of(type).length > 0) problems.push(`attribute ${type} is not allowed`);
    }
  }
  const hasEap = of(TYPES.eapMessage).length > 0;
  // RFC 3579 §2.6.5.
  if (hasEap && of(TYPES.replyMessage).length > 0) problems.push("EAP-Message and Reply-Message");
  if (code === CODES.accessChallenge && !hasEap) {
    if (of(TYPES.state).length !== 1) problems.push("a challenge needs exactly one State");
    const hasEap = of(EAP_MESSAGE).length > 0;
    if (of(TYPES.replyMessage).length === 0 && !hasEap) problems.push("a challenge needs a Reply-Message");
  }
  // RFC 3579 §2.6.5.
  if (of(EAP_MESSAGE).length > 0 && of(TYPES.replyMessage).length > 0) {
    problems.push("EAP-Message and Reply-Message are in one reply");
  }
  const copies = of(TYPES.proxyState).map(String);
  if (copies.join() !== request.proxyStates.map(String).join()) {
    problems.push("Proxy-State is not copied in order");
  }
  return problems;
}
