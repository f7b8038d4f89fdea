// Finds the conversation of a packet or begins one, and finds out what follows: a turn, the last answer again (RFC 5080 §2.2.2), or none. Sends
// and runs nothing.

import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import { type Step, stepByName } from "../protocol/steps.ts";
import { type Appended, readAnswer } from "../protocol/login_input.ts";
import { eapIdentifierOf } from "../protocol/eap.ts";
import type { Counters } from "../server/gateway_monitor.ts";
import type { PacketCapture } from "../server/packet_capture.ts";
import {
  authenticatorText,
  type CheckedFirstFactor,
  type LoginAttempt,
  newLoginAttempt,
  nextEapIdentifier,
  type Request,
} from "../server/request.ts";
import { senderOf } from "../server/responder.ts";
import { mustChangeNothing } from "../server/unsigned_requests.ts";
import {
  awaitsPeerKey,
  type Conversation,
  isDeniedWhileWaiting,
  isLive,
  isSamePassword,
  maybeSamePassword,
  newConversation,
  type NewLogin,
  type PasswordDigests,
  type TokenOf,
} from "./conversation.ts";
import type { PeerNodes } from "../ports.ts";
import type { ConversationStore } from "./conversation_store.ts";
import { recordJoin } from "./ended_logins.ts";
import { loginInput, type PacketAction, type PacketsInProgress, type RunningPacket } from "./run.ts";
import { compareTuples, type SharedTuples, type Tuple, type TupleComparison } from "./tuple.ts";
import type { LoginSettings } from "./store_effects.ts";

export interface ConversationFinderDeps {
  readonly conversations: ConversationStore;
  readonly sharedTuples: SharedTuples;
  readonly packets: PacketCapture;
  readonly works: PacketsInProgress;
  readonly tokenOf: TokenOf;
  readonly orderedId: () => string;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: Counters;
  readonly peers: PeerNodes;
  readonly logins: LoginSettings;
}

interface TypedPacket {
  readonly tuple: Tuple;
  readonly typed: PasswordDigests;
}

interface LoginPacket extends TypedPacket {
  readonly attempt: LoginAttempt;
  readonly place: string;
  /** Of the packets before the login; "" for none. */
  readonly trace: string;
  /** Whether it lost a race, and is received again. */
  readonly isAgain: boolean;
}

export interface AnswerPacket extends TypedPacket {
  readonly octets: Uint8Array;
  /** The text of the State attribute. */
  readonly state: string;
  readonly checkedBefore: CheckedFirstFactor | null;
  /**
   * The conversation that was found first, by its ordered id; `null` if the answer is handled for the first time. An answer that lost a race is received
   * again. Meanwhile another node may have finished its conversation, and the client may have begun a new login on the same tuple. Without a token, both
   * have the same State.
   */
  readonly firstFound: string | null;
}

/** The answer waits until another answer to the same challenge is no longer in progress. Then it is handled again. */
interface WaitingAnswer {
  readonly kind: "wait";
  readonly work: RunningPacket;
  readonly firstFound: string;
}

const DEVICE: Step = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const FIRST_FACTOR: Step = "FIRSTFACTOR_GET_ANSWER";
/** Steps whose answer is a password, with all its blanks. */
const NEW_PASSWORDS: ReadonlySet<Step> = new Set([
  "FIRSTFACTOR_GET_NEW_PASSWORD",
  "FIRSTFACTOR_REPEAT_NEW_PASSWORD",
]);
/** Different answers to one challenge that can wait. */
const MAX_WAITING_ANSWERS = 4;
/** The next try of the client is handled. */
const OVERTAKEN: PacketAction = { kind: "drop", reason: "overtaken", keepSlot: false };
/** Retransmissions stay without an answer, too. */
const IGNORED: PacketAction = { kind: "drop", reason: "overtaken", keepSlot: true };
const TOO_BUSY: PacketAction = { kind: "drop", reason: "too_busy", keepSlot: false };

export class ConversationFinder {
  readonly #deps: ConversationFinderDeps;

  constructor(deps: ConversationFinderDeps) {
    this.#deps = deps;
  }

  /** For an Access-Request without State: a new login, or one that is already in progress. */
  resolveLogin(request: Request, login: LoginPacket): PacketAction {
    const { conversations, peers: { node }, sharedTuples, clock, logins } = this.#deps;
    const { tuple, typed, attempt } = login;
    const newest = conversations.newestOn(tuple.key);
    const known = findSameLogin(conversations, newest, { request, typed, node });
    if (known !== null) return this.resolveKnown(request, known, login);
    if (newest !== null && isUndecided(newest, request, { state: null, typed, node })) return OVERTAKEN;
    const mayJoin = newest !== null && tuple.distinct && attempt.password.length > 0 &&
      !sharedTuples.isShared(tuple.place);
    const isElsewhere = mayJoin && isLive(newest, clock) &&
      isReissuedElsewhere(newest, { request, typed, node, joinWindowMs: logins.loginJoinWindowMs });
    if (!isElsewhere) return this.#resolveNewLogin(request, login, { newest, mayJoin });
    this.#noteJoin(newest, newest.source, request);
    return this.resolveKnown(request, newest, login);
  }

  /** For a packet whose login is known: it waits again, or gets the last answer. */
  resolveKnown(
    request: Request,
    known: Conversation,
    { attempt, typed }: Pick<LoginPacket, "attempt" | "typed">,
  ): PacketAction {
    const { peers, works } = this.#deps;
    // The next try of the client finds the result.
    if (isBeingSent(known) && known.node !== peers.node && peers.isAlive(known.node)) return OVERTAKEN;
    if (works.find(known) !== undefined || !wasCutOff(known, attempt.appended, request.client.settings)) {
      return { kind: "repeat", conversation: known };
    }
    const input = loginInput({ ...attempt, holdsAgain: true }, { typed, replaces: null });
    return { kind: "run", conversation: known, input };
  }

  #resolveNewLogin(
    request: Request,
    { tuple, typed, attempt, place, trace, isAgain }: LoginPacket,
    { newest, mayJoin }: { newest: Conversation | null; mayJoin: boolean },
  ): PacketAction {
    const { conversations, sharedTuples, works, clock, packets, logins: { state: stateForm } } = this.#deps;
    const { client: { settings, name: client }, user, userName: shownUser, source, signed } = request;
    const older = newest !== null && isLive(newest, clock) ? newest : null;
    const wasDistinct = older !== null && tuple.distinct && !sharedTuples.isShared(tuple.place);
    const joined = older !== null && attempt.password.length > 0
      ? works.joinable({ request, tuple: tuple.key, digest: typed.digest, isDistinct: wasDistinct })
      : null;
    if (joined !== null) {
      const [first] = joined.requests;
      this.#noteJoin(joined.conversation, first?.source ?? source, request);
      return { kind: "join", work: joined };
    }
    if (isAgain && mayJoin && newest !== null && this.#wasAnsweredElsewhere(request, newest, typed)) {
      return IGNORED;
    }
    if (!conversations.hasRoom(request)) return TOO_BUSY;
    const isRival = older !== null && older.signed && !signed;
    const isDistinct = tuple.distinct && sharedTuples.distinguishes({
      place: tuple.place,
      user,
      busy: older !== null,
      hasProof: request.hasProof && !isRival,
    });
    // The bare name never selects an unsigned login while there is a signed one.
    const hasToken = isRival || stateForm === "token" || (stateForm === "auto" && !isDistinct);
    const login = { client, user, shownUser, source, place, tuple: tuple.key, hasToken, signed };
    const conversation = this.begin(login);
    const isReplaced = older !== null && !isRival && (wasDistinct || stateForm === "name");
    conversations.add(conversation, { behind: isReplaced && settings.firstFactor !== "none" });
    if (trace !== "") packets.follow(trace, conversation.orderedId);
    const replaces = isReplaced ? older.orderedId : null;
    return { kind: "run", conversation, input: loginInput(attempt, { typed, replaces }) };
  }

  begin(login: NewLogin): Conversation {
    const { orderedId, clock, logins: { conversationTtlMs: ttlMs } } = this.#deps;
    return newConversation(login, { orderedId: orderedId(), nowMs: clock.nowMs(), ttlMs });
  }

  /** Whether a login that lost a race lost it to itself: its client asked another node, which has handled it. */
  #wasAnsweredElsewhere({ receivedMs }: Request, newest: Conversation, typed: PasswordDigests): boolean {
    const { peers: { node }, logins: { loginJoinWindowMs } } = this.#deps;
    return newest.node !== node && newest.startedMs >= receivedMs - loginJoinWindowMs &&
      isSamePassword(newest, typed, node);
  }

  #noteJoin(conversation: Conversation, firstSource: string, joined: Request): void {
    this.#deps.counters.count("logins_joined");
    recordJoin(this.#deps, conversation, { firstSource, joined });
  }

  /** For an Access-Request with State: the answer to a challenge. */
  resolveAnswer(request: Request, answer: AnswerPacket): PacketAction | WaitingAnswer {
    const { conversations, works, clock, peers } = this.#deps;
    const { typed, octets, tuple, firstFound } = answer;
    const dot = answer.state.indexOf(".");
    const step = stepByName(dot < 0 ? answer.state : answer.state.slice(0, dot));
    if (step === null) return { kind: "refuse", refusal: "unknown_state" };
    const token = dot < 0 ? null : answer.state.slice(dot + 1);
    const found = findByState(this.#deps, request, { tuple: tuple.key, step, token });
    const { conversation, comparison } = found;
    if (comparison !== null) this.#logComparison(request, conversation, comparison);
    if (conversation === null || (firstFound ?? conversation.orderedId) !== conversation.orderedId) {
      return { kind: "gone", step };
    }
    const packet = { state: step, typed, node: peers.node };
    if (isSamePacket(conversation, request, packet)) return { kind: "repeat", conversation };
    // The packet that cancelled a login is the last one of the login that began then.
    const begun = conversation.outcome === "cancelled" ? conversations.newestOn(conversation.tuple) : null;
    if (begun !== null && isSamePacket(begun, request, packet)) {
      return { kind: "repeat", conversation: begun };
    }
    if (isUndecided(conversation, request, packet)) return OVERTAKEN;
    const sequence = eapSequence(request, conversation);
    // A Response that does not answer the last EAP-Request is ignored (RFC 3748 §4.1); the last one, sent again, gets the same reply.
    if (sequence === "stale") return IGNORED;
    if (sequence !== "next") {
      const isRepeated = sequence === "again" &&
        (isLive(conversation, clock) || this.#isReissued(request, conversation, packet));
      return isRepeated ? { kind: "repeat", conversation } : { kind: "gone", step };
    }
    const work = works.find(conversation);
    if (mustChangeNothing(request, conversation)) {
      const isRepeatable = work === undefined && isLive(conversation, clock) && conversation.at === step &&
        request.source === conversation.source;
      return isRepeatable ? { kind: "repeat", conversation } : { kind: "gone", step };
    }
    if (work !== undefined) return this.#besides(work, { step, digest: typed.digest });
    const isHere = conversation.at === step;
    if (isHere && isDeniedWhileWaiting(conversation)) return { kind: "repeat", conversation };
    if (!isLive(conversation, clock)) return { kind: "gone", step };
    if (!isHere) {
      return this.#isReissued(request, conversation, packet)
        ? { kind: "repeat", conversation }
        : { kind: "gone", step };
    }
    const attempt = newLoginAttempt(request, {
      answer: readAnswer(octets),
      ...(step === FIRST_FACTOR ? { password: octets.slice(), checkedBefore: answer.checkedBefore } : {}),
      ...(NEW_PASSWORDS.has(step) ? { password: octets.slice() } : {}),
    });
    const hasPassword = octets.length > 0;
    return { kind: "run", conversation, input: { attempt, state: step, typed, hasPassword, replaces: null } };
  }

  /** For an answer while another one is in progress. The same answer joins it; a different one waits. */
  #besides(
    work: RunningPacket,
    { step, digest }: { step: Step; digest: string },
  ): PacketAction | WaitingAnswer {
    if (work.input.state !== step) return { kind: "gone", step };
    if (work.input.typed.digest === digest) return { kind: "join", work };
    if (work.waiting >= MAX_WAITING_ANSWERS) return TOO_BUSY;
    return { kind: "wait", work, firstFound: work.conversation.orderedId };
  }

  /** Whether an answer is the last one, re-issued with another Identifier. After a restart, the result is always `false`. */
  #isReissued(
    { receivedMs }: Request,
    conversation: Conversation,
    { state, typed, node }: ReceivedPacket,
  ): boolean {
    const { lastAnswer } = conversation;
    return lastAnswer !== null && lastAnswer.state === state && isSamePassword(conversation, typed, node) &&
      lastAnswer.atMs >= receivedMs - this.#deps.logins.loginJoinWindowMs;
  }

  /** The attributes that the client changed or left out between two steps explain why an answer finds no login. */
  #logComparison(
    request: Request,
    conversation: Conversation | null,
    { missing, added, different }: TupleComparison,
  ): void {
    this.#deps.log.info(
      conversation === null
        ? "no login fits this answer: the client sends other attributes than in the first step"
        : "the client sends other attributes than in the first step",
      {
        ...senderOf(request),
        missing: missing.join(", ") || undefined,
        added: added.join(", ") || undefined,
        different: different.join(", ") || undefined,
        conversation: conversation?.orderedId,
      },
    );
  }
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
function isSamePacket(
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
function isUndecided(
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
    lastAnswer.identifier === request.octets[1] &&
    (request.signed || !signed);
}

/** The conversation that this packet began, if it has not advanced since. @param newest of the packet's tuple */
function findSameLogin(
  conversations: Pick<ConversationStore, "byLoginPacket" | "behindOn">,
  newest: Conversation | null,
  { request, typed, node }: Omit<ReceivedPacket, "state"> & { request: Request },
): Conversation | null {
  if (newest === null) return null;
  const packet = { state: null, typed, node };
  if (isSamePacket(newest, request, packet)) return newest;
  const behind = conversations.behindOn(newest.tuple);
  if (behind !== null && isSamePacket(behind, request, packet)) return behind;
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
function findByState(
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
function eapSequence(
  request: Request,
  { lastAnswer }: Conversation,
): "next" | "again" | "stale" | "other_form" {
  const before = lastAnswer?.eapIdentifier ?? null;
  const now = request.hasEap ? eapIdentifierOf(request.octets) : null;
  if (before === null || now === null) return before === now ? "next" : "other_form";
  if (now === nextEapIdentifier(before)) return "next";
  return now === before ? "again" : "stale";
}

/** Whether a login is one that another node handles, re-issued to this node because its client did not get the answer. */
function isReissuedElsewhere(
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
function isBeingSent({ interrupted, requestId, passcode, newPairingId }: Conversation): boolean {
  return interrupted && requestId === null && passcode === null && newPairingId === null;
}

/** Whether a restart or a store failure interrupted a held login. Its client cannot answer a challenge, so a retransmission waits again. */
function wasCutOff(
  { outcome, at, lastAnswer, relay }: Conversation,
  appended: Appended | null,
  { device }: Request["client"]["settings"],
): boolean {
  return outcome === null && at === DEVICE && lastAnswer?.state === null &&
    (device === "hold" || appended?.kind === "push" || relay !== null);
}
