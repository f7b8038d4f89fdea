// Judges a reply: its authenticators, the order that RFC 3579 and its successors ask for, the copies, and what a reply of
// its code may carry.

import { Buffer } from "node:buffer";
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { CODES, TYPES } from "./radius_numbers.ts";
import type { Attribute, BuiltRequest } from "./radius_packets.ts";

/** What is wrong with the two authenticators and their place. */
export function authenticityProblems(
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

/** RFC 2865 §5.44: what a reply may not carry, and what of it may be there once at most. */
const NEVER_IN_REPLIES = [TYPES.userPassword, 3, 4, TYPES.nasPort, 30, TYPES.callingStationId, 32, 60, 61];
const BARE_REPLIES = new Map<number, readonly number[]>([
  [CODES.accountingResponse, [TYPES.proxyState]],
  [CODES.accessReject, [TYPES.replyMessage, TYPES.proxyState, TYPES.messageAuthenticator, 79, 101]],
  [CODES.accessChallenge, [
    ...[TYPES.replyMessage, TYPES.state, TYPES.proxyState, TYPES.messageAuthenticator],
    ...[26, 27, 28, 76, 79],
  ]],
]);

/** What is wrong with the attributes of a reply; `of` gives the values of a type. */
export function contentProblems(
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
  if (code === CODES.accessChallenge) {
    if (of(TYPES.state).length !== 1) problems.push("a challenge needs exactly one State");
    if (of(TYPES.replyMessage).length === 0) problems.push("a challenge needs a Reply-Message");
  }
  const copies = of(TYPES.proxyState).map(String);
  if (copies.join() !== request.proxyStates.map(String).join()) {
    problems.push("Proxy-State is not copied in order");
  }
  return problems;
}
