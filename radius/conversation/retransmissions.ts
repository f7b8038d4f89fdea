// Finds the conversation of a packet, and detects retransmissions (RFC 5080 §2.2.2).

import type { Step } from "../protocol/steps.ts";
import type { Appended } from "../protocol/login_input.ts";
import { eapIdentifierOf } from "../protocol/eap.ts";
import { AUTHENTICATOR_AT, sixteenOctetText } from "../protocol/packet.ts";
import { nextEapIdentifier, type Request } from "../server/request.ts";
import { type Conversation, isDeniedWhileWaiting, type TokenOf } from "./conversation.ts";
import type { ConversationStore } from "./conversation_store.ts";
import { compareTuples, type TupleComparison } from "./tuple.ts";
import { awaitsPeerKey, isSamePassword, maybeSamePassword, type PasswordDigests } from "./peers.ts";

const DEVICE: Step = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";

/** The Request Authenticator as it is stored. */
export function authenticatorText(request: Request): string {
  return sixteenOctetText(request.octets, AUTHENTICATOR_AT);
}

/** The values by which a retransmission is recognized. `node`: this run of this process. */
interface ReceivedPacket {
  readonly state: Step | null;
  readonly typed: PasswordDigests;
  readonly node: string;
}

/**
 * Whether a packet is a retransmission of the last one: the same Request Authenticator, Identifier and State. Until a restart, the password is
 * compared too, because some clients use one Authenticator twice.
 */
export function isSamePacket(
  conversation: Conversation,
  request: Request,
  { state, typed, node }: ReceivedPacket,
): boolean {
  return hasSameHeader(conversation, request, state) && maybeSamePassword(conversation, typed, node);
}

/**
 * Whether a packet may be a retransmission of one that was accepted, and this node cannot tell yet. It must stay without an answer: the next try of the
 * client gets the Access-Accept again, or is handled as another packet.
 */
export function isUndecided(
  conversation: Conversation,
  request: Request,
  { state, typed, node }: ReceivedPacket,
): boolean {
  return conversation.outcome === "accepted" && hasSameHeader(conversation, request, state) &&
    awaitsPeerKey(conversation, typed, node);
}

function hasSameHeader(
  { lastAnswer, signed }: Conversation,
  request: Request,
  state: Step | null,
): boolean {
  return lastAnswer !== null && lastAnswer.state === state &&
    lastAnswer.authenticator === authenticatorText(request) &&
    (lastAnswer.identifier === null || lastAnswer.identifier === request.octets[1]) &&
    (request.signed || !signed);
}

/** The conversation that this packet began, if it has not advanced since. @param newest of the packet's tuple */
export function findSameLogin(
  conversations: Pick<ConversationStore, "byLoginPacket">,
  newest: Conversation | null,
  { request, typed, node }: Omit<ReceivedPacket, "state"> & { request: Request },
): Conversation | null {
  if (newest === null) return null;
  const packet = { state: null, typed, node };
  if (isSamePacket(newest, request, packet)) return newest;
  if (!newest.hasToken) return null;
  const identifier = request.octets[1] as number;
  const other = conversations.byLoginPacket({ authenticator: authenticatorText(request), identifier });
  return other !== null && other.tuple === newest.tuple && isSamePacket(other, request, packet)
    ? other
    : null;
}

/** The conversation of an answer, and how their tuples differ; `comparison` is `null` if they are equal. */
interface FoundAnswer {
  readonly conversation: Conversation | null;
  readonly comparison: TupleComparison | null;
}

/**
 * The conversation of a State. An unsigned packet never answers one that began signed. With a token, State, client and user identify it. Without
 * one, the whole tuple does, or {@link findByPart}.
 */
export function findByState(
  { conversations, tokenOf }: { conversations: ConversationStore; tokenOf: TokenOf },
  request: Request,
  { tuple, step, token }: { tuple: string; step: Step; token: string | null },
): FoundAnswer {
  const { signed, user, client: { name: client } } = request;
  if (token === null) {
    const exact = conversations.bareOn(tuple);
    const found = exact === null
      ? findByPart(conversations, request, tuple)
      : { conversation: exact, comparison: null };
    return found.conversation?.signed === true && !signed ? NOT_FOUND : found;
  }
  const found = conversations.byToken(token);
  if (
    found === null || found.client !== client || found.user !== user || (found.signed && !signed) ||
    tokenOf(found.orderedId, step) !== token
  ) return NOT_FOUND;
  return {
    conversation: found,
    comparison: found.tuple === tuple ? null : compareTuples(found.tuple, tuple),
  };
}

const NOT_FOUND: FoundAnswer = { conversation: null, comparison: null };

/**
 * The only conversation whose tuple differs from that of an answer in nothing but attributes which one of them does not have: some clients leave
 * attributes out in the second step. A login that ended without a word to its client counts too, because the client may still answer it: its State
 * must not select another login of the user.
 */
function findByPart(conversations: ConversationStore, request: Request, tuple: string): FoundAnswer {
  const authenticator = authenticatorText(request);
  let fitting: { orderedId: string; comparison: TupleComparison } | null = null;
  let other: TupleComparison | null = null;
  for (const login of conversations.bareOf(request.user) ?? []) {
    const { orderedId, outcome, lastAnswer } = login;
    const isAnswered = outcome === "accepted" || (outcome === "rejected" && !isDeniedWhileWaiting(login));
    // A retransmission of the last packet gets its answer again.
    const isOver = isAnswered && lastAnswer?.authenticator !== authenticator;
    const comparison = isOver ? null : compareTuples(login.tuple, tuple);
    if (comparison === null) continue;
    if (!comparison.fits) other ??= comparison;
    else if (fitting !== null) return { conversation: null, comparison };
    else fitting = { orderedId, comparison };
  }
  if (fitting === null) return { conversation: null, comparison: other };
  return { conversation: conversations.unpark(fitting.orderedId), comparison: fitting.comparison };
}

/**
 * How an answer follows the last packet of its conversation: the EAP-Response to the last Request, or no EAP at all; the last Response again; another
 * one; or EAP in one of them only.
 */
export function eapSequence(
  request: Request,
  { lastAnswer }: Conversation,
): "next" | "again" | "stale" | "other_form" {
  const [before, now] = [
    lastAnswer?.eapIdentifier ?? null,
    request.hasEap ? eapIdentifierOf(request.octets) : null,
  ];
  if (before === null || now === null) return before === now ? "next" : "other_form";
  if (now === nextEapIdentifier(before)) return "next";
  return now === before ? "again" : "stale";
}

/** Whether an answer is the last one, re-issued with another Identifier. After a restart, the result is always `false`. */
export function isReissued(
  conversation: Conversation,
  { step, typed, sinceMs, node }: { step: Step; typed: PasswordDigests; sinceMs: number; node: string },
): boolean {
  const { lastAnswer } = conversation;
  return lastAnswer !== null && lastAnswer.state === step && isSamePassword(conversation, typed, node) &&
    lastAnswer.atMs >= sinceMs;
}

/** Whether a login is one that another node handles, re-issued to this node because its client did not get the answer. */
export function isReissuedElsewhere(
  conversation: Conversation,
  { request, typed, node, joinWindowMs }: {
    request: Request;
    typed: PasswordDigests;
    node: string;
    joinWindowMs: number;
  },
): boolean {
  const { lastAnswer, interrupted, startedMs, signed } = conversation;
  return interrupted && lastAnswer?.state === null && conversation.node !== node &&
    (request.signed || !signed) && request.receivedMs - startedMs <= joinWindowMs &&
    isSamePassword(conversation, typed, node);
}

/** Whether a push or a pairing of the conversation was claimed, and its result is not recorded yet. */
export function isBeingSent({ interrupted, requestId, passcode, newPairingId }: Conversation): boolean {
  return interrupted && requestId === null && passcode === null && newPairingId === null;
}

/** Whether a restart or a store failure interrupted a held login. Its client cannot answer a challenge, so a retransmission waits again. */
export function wasCutOff(
  { outcome, at, lastAnswer, relay }: Conversation,
  appended: Appended | null,
  { device }: Request["client"]["settings"],
): boolean {
  return outcome === null && at === DEVICE && lastAnswer?.state === null &&
    (device === "hold" || appended?.kind === "push" || relay !== null);
}
