// Runs a packet on its conversation, and answers the requests that wait for the result. Also finds the conversation of a packet, and detects
// retransmissions (RFC 5080 §2.2.2).

import type { Log } from "../../platform/log.ts";
import { isStep, type Step } from "../protocol/steps.ts";
import { type Conversation, type LastAnswer, placeOfTuple, type TokenOf } from "./conversation.ts";
import type { Responder } from "../server/responder.ts";
import type { LoginAttempt, Request } from "../server/request.ts";
import { resumeInterrupted } from "./conversation_codec.ts";
import { USER_LEFT } from "../factors/offboarding.ts";
import { advanceConversation, type TurnResult } from "./state_machine.ts";
import { FirstFactorBusy } from "./effects.ts";
import type { PacketCapture } from "../server/packet_capture.ts";
import type { SharedTuples } from "./shared_tuples.ts";
import { ApprovalUsedError, type StateMachineDeps, UserLeftError } from "./turn.ts";
import type { PacketWork, WorkQueue } from "./work_queue.ts";
import { toBase64Url } from "../../platform/runtime.ts";
import type { Appended } from "../protocol/login_input.ts";
import { authenticatorOf } from "../protocol/packet.ts";
import type { ConversationStore } from "./conversation_store.ts";

export interface RequestRunnerDeps {
  readonly machine: StateMachineDeps;
  readonly responder: Responder;
  readonly works: WorkQueue;
  readonly sharedTuples: SharedTuples;
  readonly packets: PacketCapture;
  readonly log: Log;
}

/** A packet as the input of its conversation. */
export interface RunInput extends Pick<PacketWork, "state" | "digest" | "hasPassword"> {
  readonly attempt: LoginAttempt;
  /** The older login that this one replaces, by its ordered id. */
  readonly replaces: string | null;
}

/** Records an answer and sends it. If it cannot be recorded, memory returns to the stored state, and the client sends the packet again. */
export class RequestRunner {
  readonly #deps: RequestRunnerDeps;

  constructor(deps: RequestRunnerDeps) {
    this.#deps = deps;
  }

  /** Runs a packet on a conversation and answers the requests that wait for it. */
  run(requests: Request[], conversation: Conversation, input: RunInput): void {
    const { machine, works } = this.#deps;
    const { attempt, state, digest, hasPassword, replaces } = input;
    const request = requests[0] as Request;
    this.#deps.packets.received(conversation.orderedId, request);
    const lastAnswer: LastAnswer = {
      state,
      identifier: request.octets[1] as number,
      authenticator: authenticatorText(request),
      atMs: request.receivedMs,
    };
    const before = conversation.stored === "not"
      ? null
      : { ...conversation, moments: conversation.moments.slice() };
    const result = advanceConversation(machine, {
      conversation,
      attempt,
      lastAnswer,
      answerDigest: digest,
      replaces,
    });
    const { startedMs } = conversation;
    const work: PacketWork = {
      conversation,
      requests,
      state,
      digest,
      hasPassword,
      startedMs,
      result,
      waiting: 0,
    };
    works.add(work);
    result.then(
      (finished) => {
        works.remove(work);
        if (finished === null) this.#endedInProgress(work);
        else this.#answerAll(work, finished, attempt);
      },
      (fault: unknown) => {
        works.remove(work);
        this.#failed(work, input, { before, fault });
      },
    );
  }

  /** Lets one more request wait for the answer of a packet in progress. */
  takeOver(request: Request, work: PacketWork): void {
    const tooMany = this.#deps.works.join(work, request);
    if (tooMany !== null) this.#deps.responder.drop(tooMany, "overtaken", { keepSlot: true });
  }

  /** Sends the last answer again, for the same Identifier or another one. */
  repeat(request: Request, conversation: Conversation): void {
    const { responder, works, machine } = this.#deps;
    const work = works.find(conversation);
    if (work !== undefined) return this.takeOver(request, work);
    const reason = { row: "repeated", conversation };
    if (conversation.outcome === "accepted") {
      if (machine.offboarding.hasLeft(conversation)) return this.#rejectRemovedUser(request, conversation);
      const attributes = machine.acceptAttributes.of(conversation.user);
      return responder.accept(request, { ...reason, attributes });
    }
    if (conversation.outcome === null && isStep(conversation.at)) {
      return responder.challenge(request, conversation, "repeated");
    }
    responder.reject(request, conversation.prompt ?? "gone", reason);
  }

  #answerAll(work: PacketWork, finished: TurnResult, { refusedFor }: LoginAttempt): void {
    const { responder, machine } = this.#deps;
    const { conversation, row, kind, attributes } = finished;
    if (kind !== "challenge") this.#conclude(conversation);
    for (const request of this.#waitingFor(work)) {
      if (kind === "challenge") responder.challenge(request, conversation, row.name);
      else if (attributes !== null) responder.accept(request, { row: row.name, conversation, attributes });
      else responder.reject(request, row.prompt ?? "denied", { row: row.name, conversation, refusedFor });
    }
    machine.conversations.park(conversation);
  }

  #failed(
    { conversation, requests }: PacketWork,
    { attempt, state, digest, hasPassword }: RunInput,
    { before, fault }: { before: Conversation | null; fault: unknown },
  ): void {
    this.#restore(conversation, before);
    if (before === null) this.#conclude(conversation);
    if (fault instanceof ApprovalUsedError && !attempt.approvalUsed) {
      const again = this.#deps.machine.conversations.unpark(conversation.orderedId);
      const refused: LoginAttempt = { ...attempt, approvalUsed: true, decision: "denied" };
      const input = { attempt: refused, state, digest, hasPassword, replaces: null };
      if (again !== null) return this.run(requests, again, input);
    }
    for (const request of requests) this.#notRecorded(request, conversation, fault);
  }

  /** Records that no State value with the bare name is in use any more. */
  #conclude({ hasToken, tuple, user }: Conversation): void {
    if (!hasToken) this.#deps.sharedTuples.concluded(placeOfTuple(tuple, user), user);
  }

  /** The requests to answer: all requests of a held login, otherwise the newest one. */
  #waitingFor({ conversation, requests }: PacketWork): readonly Request[] {
    if (requests.length === 1 || conversation.moments.some(({ step }) => step === "holding")) return requests;
    const newest = requests.at(-1) as Request;
    for (const older of requests) {
      if (older !== newest) this.#deps.responder.drop(older, "overtaken", { keepSlot: true });
    }
    return [newest];
  }

  #notRecorded(request: Request, conversation: Conversation, fault: unknown): void {
    const { responder, machine, log } = this.#deps;
    if (fault instanceof FirstFactorBusy) return responder.drop(request, "first_factor_busy");
    if (machine.offboarding.hasLeft(conversation)) return this.#rejectRemovedUser(request, conversation);
    // While the user is being removed, the result is unknown. The client sends the packet again and then gets the result.
    const write = fault instanceof UserLeftError ? log.info : log.error;
    write("the answer could not be recorded", { conversation: conversation.orderedId, fault: String(fault) });
    responder.drop(request, "store_failed");
  }

  #rejectRemovedUser(request: Request, conversation: Conversation): void {
    this.#deps.responder.reject(request, "denied", { row: USER_LEFT, conversation });
  }

  /** The conversation ended while its packet was in progress: at its deadline, with its user, or because a new login replaced it. */
  #endedInProgress(work: PacketWork): void {
    const { responder } = this.#deps;
    const { conversation } = work;
    for (const request of this.#waitingFor(work)) {
      if (conversation.outcome === "expired") {
        responder.reject(request, "gone", { row: "expired", conversation });
      } else if (conversation.outcome === "cancelled") this.#rejectRemovedUser(request, conversation);
      else responder.drop(request, "overtaken", { keepSlot: true });
    }
  }

  /** Returns memory to the stored state, so that no answer is based on an unrecorded change. */
  #restore(conversation: Conversation, before: Conversation | null): void {
    const { conversations, offboarding } = this.#deps.machine;
    conversations.remove(conversation);
    if (conversation.stored === "not" || conversation.outcome === "superseded") return;
    if (offboarding.hasLeft(conversation)) return;
    // A recorded claim stays, because its effect was made and must not be made again.
    const claimed = before === null || before.stored !== conversation.stored;
    const restored = claimed ? conversation : before;
    restored.outcome = null;
    if (resumeInterrupted(restored)) conversations.add(restored);
  }
}

const DEVICE: Step = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";

/** The Request Authenticator as it is stored. */
export function authenticatorText(request: Request): string {
  return toBase64Url(authenticatorOf(request.octets));
}

/**
 * Whether a packet is a retransmission of the last one: the same Request Authenticator, Identifier and State. Until a restart, the password is
 * compared too, because some clients use one Authenticator twice.
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

/** The conversation that this packet began, if it has not advanced since. @param newest of the packet's tuple */
export function findSameLogin(
  conversations: Pick<ConversationStore, "byLoginPacket">,
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

/** The conversation of a State. An unsigned packet never answers one that began signed. */
export function findByState(
  { conversations, tokenOf }: { conversations: ConversationStore; tokenOf: TokenOf },
  { signed }: Request,
  { tuple, step, token }: { tuple: string; step: Step; token: string | null },
): Conversation | null {
  const found = token === null ? conversations.bareOn(tuple) : conversations.byToken(token);
  if (found === null || found.tuple !== tuple || (found.signed && !signed)) return null;
  return token === null || tokenOf(found.orderedId, step) === token ? found : null;
}

/** Whether an answer is the last one, re-issued with another Identifier. After a restart, the result is always `false`. */
export function isReissued(
  { lastAnswer, answerDigest }: Conversation,
  { step, digest, sinceMs }: { step: Step; digest: string; sinceMs: number },
): boolean {
  return lastAnswer !== null && lastAnswer.state === step && answerDigest === digest &&
    lastAnswer.atMs >= sinceMs;
}

/** Whether a restart or a store failure interrupted a held login. Its client cannot answer a challenge, so a retransmission waits again. */
export function wasCutOff(
  { outcome, at, lastAnswer }: Conversation,
  appended: Appended | null,
  { device }: Request["client"]["policy"],
): boolean {
  return outcome === null && at === DEVICE && lastAnswer?.state === null &&
    (device === "hold" || appended?.kind === "push");
}
