// Whether a packet is the one that was worked on last for its conversation (RFC 5080 §2.2.2).

import { toBase64Url } from "../../runtime.ts";
import { authenticatorOf } from "../pure/packet.ts";
import type { Conversation, LastAnswer } from "./conversation.ts";
import type { Request } from "./request.ts";

/** The Request Authenticator as it is kept. */
export function authenticatorText(request: Request): string {
  return toBase64Url(authenticatorOf(request.octets));
}

/**
 * The same packet as the one that was worked on last: a retransmission that arrived after a restart. The Authenticator alone does not say so:
 * there are clients that use one twice, and then the end of one login would answer another.
 */
export function isSamePacket(
  { lastAnswer }: Conversation,
  request: Request,
  { state, digest }: Pick<LastAnswer, "state" | "digest">,
): boolean {
  return lastAnswer !== null && lastAnswer.authenticator === authenticatorText(request) &&
    lastAnswer.state === state && lastAnswer.digest === digest;
}
