// Runs a packet on its conversation, and answers the requests that wait for the result.

import type { Log } from "../../platform/log.ts";
import { eapIdentifierOf } from "../protocol/eap.ts";
import { isStep, type Step } from "../protocol/steps.ts";
import { type Conversation, type LastAnswer } from "./conversation.ts";
import { placeOfTuple } from "./tuple.ts";
import type { Responder } from "../server/responder.ts";
import type { CheckedFirstFactor, LoginAttempt, Request } from "../server/request.ts";
import { resumeInterrupted } from "./conversation_codec.ts";
import { USER_LEFT } from "../factors/offboarding.ts";
import { advanceConversation } from "./state_machine.ts";
import { FirstFactorBusy } from "./effects.ts";
import type { PacketCapture } from "../server/packet_capture.ts";
import { authenticatorText } from "./retransmissions.ts";
import type { SharedTuples } from "./shared_tuples.ts";
import {
  ApprovalUsedError,
  ConcurrentUpdateError,
  repeatedReplyOf,
  type StateMachineDeps,
  type TurnListener,
  type TurnResult,
  UserLeftError,
} from "./turn.ts";
import type { RunInput } from "./run_input.ts";
import type { PacketWork, WorkQueue } from "./work_queue.ts";

interface RequestRunnerDeps {
  readonly machine: StateMachineDeps;
  readonly responder: Responder;
  readonly works: WorkQueue;
  readonly sharedTuples: SharedTuples;
  readonly packets: PacketCapture;
  readonly log: Log;
  /** Handles a request again whose result was not recorded, because what it depended on changed. */
  readonly retry: (request: Request, checked: CheckedFirstFactor) => void;
}

/** Records an answer and sends it. If it cannot be recorded, memory returns to the stored state, and the client sends the packet again. */
export class RequestRunner {
  readonly #deps: RequestRunnerDeps;

  constructor(deps: RequestRunnerDeps) {
    this.#deps = deps;
  }

  /** Runs a packet on a conversation and answers the requests that wait for it. */
  run(requests: Request[], conversation: Conversation, input: RunInput): void {
    const { machine, works, packets } = this.#deps;
    const request = requests[0] as Request;
    packets.received(conversation.orderedId, request);
    const lastAnswer: LastAnswer = {
      state: input.state,
      identifier: request.octets[1] as number,
      authenticator: authenticatorText(request),
      eapIdentifier: request.hasEap ? eapIdentifierOf(request.octets) : null,
      atMs: request.receivedMs,
    };
    const before = conversation.stored === "not"
      ? null
      : { ...conversation, moments: conversation.moments.slice() };
    const work = new RunningPacket(this, conversation, { requests, input, before });
    works.add(work);
    advanceConversation(machine, {
      conversation,
      attempt: input.attempt,
      lastAnswer,
      typed: input.typed,
      replaces: input.replaces,
      listener: work,
    });
  }

  /** Answers the requests of a packet whose result is recorded. @param result `null`: its conversation ended meanwhile */
  finish(work: RunningPacket, result: TurnResult | null): void {
    this.#deps.works.remove(work);
    if (result === null) this.#endedInProgress(work);
    else this.#answerAll(work, result, work.input.attempt);
  }

  /** Restores memory after a packet whose result is not recorded. */
  fail(work: RunningPacket, fault: unknown): void {
    this.#deps.works.remove(work);
    this.#failed(work, work.input, { before: work.before, fault });
  }

  /** Lets one more request wait for the answer of a packet in progress. */
  takeOver(request: Request, work: PacketWork): void {
    const tooMany = this.#deps.works.join(work, request);
    if (tooMany !== null) this.#deps.responder.drop(tooMany, "overtaken", { keepSlot: true });
  }

  /** Sends the last answer again, for the same Identifier or another one; or the Access-Reject of a login that a decision ended meanwhile. */
  repeat(request: Request, conversation: Conversation): void {
    const { responder, works, machine } = this.#deps;
    const work = works.find(conversation);
    if (work !== undefined) return this.takeOver(request, work);
    const reason = { row: "repeated", conversation };
    if (conversation.outcome === "accepted") {
      if (machine.offboarding.hasLeft(conversation)) return this.#rejectRemovedUser(request, conversation);
      const reply = repeatedReplyOf(machine, conversation);
      if (reply !== null) return responder.accept(request, { ...reason, reply });
      return responder.reject(request, "denied", { ...reason, row: "reply_unreadable" });
    }
    if (conversation.outcome === null && isStep(conversation.at)) {
      return responder.challenge(request, conversation, "repeated");
    }
    responder.reject(request, conversation.prompt ?? "gone", reason);
  }

  #answerAll(work: PacketWork, finished: TurnResult, { refusedFor, relayed }: LoginAttempt): void {
    const { responder, machine } = this.#deps;
    const { conversation, row, kind, reply } = finished;
    if (kind !== "challenge") this.#conclude(conversation);
    for (const request of this.#waitingFor(work)) {
      if (kind === "challenge") responder.challenge(request, conversation, row.name);
      else if (reply !== null) responder.accept(request, { row: row.name, conversation, reply });
      else if (relayed !== null && relayed.reply !== null) {
        responder.pass(request, relayed.reply, { row: row.name, conversation, refusedFor });
      } else responder.reject(request, row.prompt ?? "denied", { row: row.name, conversation, refusedFor });
    }
    machine.conversations.park(conversation);
  }

  #failed(
    { conversation, requests }: PacketWork,
    { attempt, state, typed, hasPassword }: RunInput,
    { before, fault }: { before: Conversation | null; fault: unknown },
  ): void {
    const known = conversation.stored;
    this.#restore(conversation, before);
    if (before === null) this.#conclude(conversation);
    if (fault instanceof ConcurrentUpdateError && this.#deps.machine.store.isShared) {
      return void this.#lostRace({ requests, conversation, known, attempt, isLogin: state === null }, fault);
    }
    if (fault instanceof ApprovalUsedError && !attempt.approvalUsed) {
      const again = this.#deps.machine.conversations.unpark(conversation.orderedId);
      const refused: LoginAttempt = { ...attempt, approvalUsed: true, decision: "denied" };
      const input = { attempt: refused, state, typed, hasPassword, replaces: null };
      if (again !== null) return this.run(requests, again, input);
    }
    for (const request of requests) this.#notRecorded(request, conversation, fault);
  }

  /** Reads again what changed, and handles the requests again. */
  async #lostRace(
    { requests, conversation, known, attempt, isLogin }: {
      requests: readonly Request[];
      conversation: Conversation;
      known: Conversation["stored"];
      attempt: LoginAttempt;
      isLogin: boolean;
    },
    fault: ConcurrentUpdateError,
  ): Promise<void> {
    const { machine: { store, conversations }, retry, log } = this.#deps;
    const { orderedId } = conversation;
    const fields = { conversation: orderedId, why: fault.message };
    log.info("what this packet depends on changed meanwhile: it is handled again", fields);
    try {
      await store.catchUp();
      await store.reread(fault.keys);
    } catch (lost) {
      for (const request of requests) this.#notRecorded(request, conversation, lost);
      return;
    }
    const now = conversations.unpark(orderedId);
    const isContinued = now !== null && isOtherVersion(now.stored, known);
    // The phone must not show a request that this node opened and no record has.
    const { requestId } = conversation;
    if (requestId !== null && isContinued && now.requestId !== requestId) {
      void this.#deps.machine.secondFactor.cancel(requestId);
    }
    for (const request of requests) {
      if (!isLogin || !isContinued) retry(request, attempt);
      // The client asked another node, which continues this login or has accepted it. A retransmission gets that Accept again.
      else if (now.outcome === null || now.outcome === "superseded" || now.outcome === "accepted") {
        this.#deps.responder.drop(request, "overtaken", { keepSlot: true });
      } else this.repeat(request, now);
    }
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

function isOtherVersion(a: Conversation["stored"], b: Conversation["stored"]): boolean {
  return typeof a === "string" || typeof b === "string" ? a !== b : a.versionstamp !== b.versionstamp;
}

/** A packet in progress. It receives the result of its turn, without a promise. */
class RunningPacket implements PacketWork, TurnListener {
  readonly #runner: RequestRunner;
  /** The conversation as it is stored; `null` if it is not stored. */
  readonly before: Conversation | null;
  readonly conversation: Conversation;
  readonly requests: Request[];
  readonly input: RunInput;
  readonly startedMs: number;
  readonly places = { work: -1, login: -1 };
  #resumes: (() => void)[] | null = null;

  constructor(
    runner: RequestRunner,
    conversation: Conversation,
    { requests, input, before }: { requests: Request[]; input: RunInput; before: Conversation | null },
  ) {
    this.#runner = runner;
    this.before = before;
    this.conversation = conversation;
    this.requests = requests;
    this.input = input;
    this.startedMs = conversation.startedMs;
  }

  get state(): Step | null {
    return this.input.state;
  }
  get digest(): string {
    return this.input.typed.digest;
  }
  get hasPassword(): boolean {
    return this.input.hasPassword;
  }
  get waiting(): number {
    return this.#resumes?.length ?? 0;
  }

  wait(resume: () => void): void {
    this.#resumes ??= [];
    this.#resumes.push(resume);
  }

  finished(result: TurnResult | null): void {
    this.#runner.finish(this, result);
    this.#resume();
  }

  failed(fault: unknown): void {
    this.#runner.fail(this, fault);
    this.#resume();
  }

  #resume(): void {
    for (const resume of this.#resumes ?? []) queueMicrotask(resume);
  }
}
