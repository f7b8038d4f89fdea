// Whether a packet is the one that was worked on last for its conversation (RFC 5080 §2.2.2).

import { toBase64Url } from "../../platform/runtime.ts";
import type { Appended } from "../protocol/password.ts";
import type { Step } from "../protocol/steps.ts";
import { authenticatorOf } from "../protocol/packet.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { Conversations } from "../conversation/conversation_store.ts";
import type { Request } from "./request.ts";

const DEVICE: Step = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";

/** The Request Authenticator as it is stored. */
export function authenticatorText(request: Request): string {
  return toBase64Url(authenticatorOf(request.octets));
}

/**
 * A retransmission of the packet that was worked on last: the same Request Authenticator and Identifier, at the same State. The process
 * that worked on the packet also compares the password: some clients use one Authenticator twice.
 */
export function isSamePacket(
  { lastAnswer, answerDigest, signed }: Conversation,
  request: Request,
  { state, digest }: { state: Step | null; digest: string },
): boolean {
  return lastAnswer !== null && lastAnswer.state === state &&
    lastAnswer.authenticator === authenticatorText(request) &&
    (lastAnswer.identifier === null || lastAnswer.identifier === request.octets[1]) &&
    (answerDigest === null || answerDigest === digest) && (request.signed || !signed);
}

/** The conversation that this very packet began, if it has not gone on since. @param newest of the packet's tuple. */
export function findSameLogin(
  conversations: Pick<Conversations, "byLoginPacket">,
  newest: Conversation | null,
  { request, digest }: { request: Request; digest: string },
): Conversation | null {
  if (newest === null) return null;
  const packet = { state: null, digest };
  if (isSamePacket(newest, request, packet)) return newest;
  if (!newest.hasToken) return null;
  const identifier = request.octets[1] as number;
  const other = conversations.byLoginPacket({ authenticator: authenticatorText(request), identifier });
  return other !== null && other.tuple === newest.tuple && isSamePacket(other, request, packet)
    ? other
    : null;
}

/** Whether an answer is the one that was worked on last, re-issued under another identifier. After a restart no answer is. */
export function isReissued(
  { lastAnswer, answerDigest }: Conversation,
  { step, digest, sinceMs }: { step: Step; digest: string; sinceMs: number },
): boolean {
  return lastAnswer !== null && lastAnswer.state === step && answerDigest === digest &&
    lastAnswer.atMs >= sinceMs;
}

/** Whether a restart or the store interrupted the wait of a held login. Its client cannot use a challenge, so a retransmission waits again. */
export function wasCutOff(
  { outcome, at, lastAnswer }: Conversation,
  appended: Appended | null,
  { device }: Request["client"]["policy"],
): boolean {
  return outcome === null && at === DEVICE && lastAnswer?.state === null &&
    (device === "hold" || appended?.kind === "push");
}
