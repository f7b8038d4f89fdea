// Runs a packet on its conversation, and answers the requests that wait for the result. Has the packets in progress: an unanswered login is
// also found by its tuple, so that a re-issued one can join it.

import { TextTable } from "../../platform/octet_fields.ts";
import { eapIdentifierOf } from "../protocol/eap.ts";
import { isStep, type Step } from "../protocol/steps.ts";
import type { Conversation, LastAnswer, PasswordDigests } from "./conversation.ts";
import { placeOfTuple } from "./tuple.ts";
import type { Responder } from "../server/responder.ts";
import {
  authenticatorText,
  type CheckedFirstFactor,
  type LoginAttempt,
  type Request,
  type RequestRefusal,
} from "../server/request.ts";
import { resumeInterrupted } from "./conversation_codec.ts";
import { USER_LEFT } from "../factors/offboarding.ts";
import { acceptReplyOf } from "./sealed_fields.ts";
import { attributesOf } from "./login_policy.ts";
import { advanceConversation } from "./turn.ts";
import { FirstFactorBusy } from "./effects.ts";
import type { PacketCapture } from "../server/packet_capture.ts";
import {
  ApprovalUsedError,
  ConcurrentUpdateError,
  type TurnDeps,
  type TurnListener,
  type TurnResult,
  UserLeftError,
} from "./store_effects.ts";

/** A packet as the input of its conversation. */
interface RunInput {
  /** The step in the packet's State; `null`: a login. */
  readonly state: Step | null;
  readonly hasPassword: boolean;
  readonly typed: PasswordDigests;
  readonly attempt: LoginAttempt;
  /** The older login that this one replaces, by its ordered id. */
  readonly replaces: string | null;
}

/** The first packet of a login, as the input of its conversation. */
export function loginInput(
  attempt: LoginAttempt,
  { typed, replaces }: { typed: PasswordDigests; replaces: string | null },
): RunInput {
  return { attempt, state: null, typed, hasPassword: attempt.password.length > 0, replaces };
}

/** What follows from a packet: `find_conversation.ts` finds it out, and {@link RequestRunner.take} does it. */
export type PacketAction =
  | { readonly kind: "run"; readonly conversation: Conversation; readonly input: RunInput }
  /** The packet, or its answer, was sent again. */
  | { readonly kind: "repeat"; readonly conversation: Conversation }
  /** The answer of a packet in progress is that of this one, too. */
  | { readonly kind: "join"; readonly work: RunningPacket }
  | { readonly kind: "drop"; readonly reason: "overtaken" | "too_busy"; readonly keepSlot: boolean }
  | { readonly kind: "refuse"; readonly refusal: RequestRefusal }
  /** The conversation of an answer is over, or at another step. */
  | { readonly kind: "gone"; readonly step: Step };

interface RequestRunnerDeps extends TurnDeps {
  readonly responder: Responder;
  readonly packets: PacketCapture;
  /** Held requests count. */
  readonly works: PacketsInProgress;
  /** Receives a request again whose result was not recorded, because what it depended on changed. */
  readonly again: (request: Request, lost: LostRace) => void;
}

/** The first factor of a packet that lost a race, and its conversation by its ordered id. */
export interface LostRace {
  readonly checked: CheckedFirstFactor;
  readonly conversation: string;
}

/** Records an answer and sends it. If it cannot be recorded, memory returns to the stored state, and the client sends the packet again. */
export class RequestRunner {
  readonly #deps: RequestRunnerDeps;

  constructor(deps: RequestRunnerDeps) {
    this.#deps = deps;
  }

  /** Does what follows from a packet. */
  take(request: Request, action: PacketAction): void {
    const { responder } = this.#deps;
    switch (action.kind) {
      case "run":
        return this.run([request], action.conversation, action.input);
      case "repeat":
        return this.#repeat(request, action.conversation);
      case "join":
        return this.#join(request, action.work);
      case "drop":
        return responder.drop(request, action.reason, { keepSlot: action.keepSlot });
      case "refuse":
        return responder.refuse(request, action.refusal);
      case "gone":
        return responder.gone(request, action.step);
    }
  }

  /** Runs a packet on a conversation and answers the requests that wait for it. */
  run(requests: Request[], conversation: Conversation, input: RunInput): void {
    const request = requests[0] as Request;
    this.#deps.packets.received(conversation.orderedId, request);
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
    this.#deps.works.add(work);
    advanceConversation(this.#deps, {
      conversation,
      attempt: input.attempt,
      lastAnswer,
      typed: input.typed,
      replaces: input.replaces,
      listener: work,
    });
  }

  /** A Cancel began another conversation, which is not recorded before its packet is finished. */
  began(work: RunningPacket, begun: Conversation): void {
    this.#deps.works.addBegun(work, begun);
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
  #join(request: Request, work: RunningPacket): void {
    const tooMany = work.join(request);
    if (tooMany !== null) this.#deps.responder.drop(tooMany, "overtaken", { keepSlot: true });
  }

  /** Sends the last answer again, for the same Identifier or another one; or the Access-Reject of a login that a decision ended meanwhile. */
  #repeat(request: Request, conversation: Conversation): void {
    const { responder, offboarding, works } = this.#deps;
    const work = works.find(conversation);
    if (work !== undefined) return this.#join(request, work);
    const reason = { row: "repeated", conversation };
    if (conversation.outcome === "accepted") {
      if (offboarding.hasLeft(conversation)) return this.#rejectRemovedUser(request, conversation);
      const reply = repeatedReplyOf(this.#deps, conversation);
      if (reply !== null) return responder.accept(request, { ...reason, reply });
      return responder.reject(request, "denied", { ...reason, row: "reply_unreadable" });
    }
    if (conversation.outcome === null && isStep(conversation.at)) {
      return responder.challenge(request, conversation, "repeated");
    }
    responder.reject(request, conversation.prompt ?? "gone", reason);
  }

  #answerAll(work: RunningPacket, finished: TurnResult, { refusedFor, relayed }: LoginAttempt): void {
    const { responder, conversations } = this.#deps;
    const { conversation, row, kind, reply } = finished;
    if (kind !== "challenge") this.#conclude(conversation);
    for (const request of this.#waitingFor(work)) {
      if (kind === "challenge") responder.challenge(request, conversation, row.name);
      else if (reply !== null) responder.accept(request, { row: row.name, conversation, reply });
      else if (relayed !== null && relayed.reply !== null) {
        responder.pass(request, relayed.reply, { row: row.name, conversation, refusedFor });
      } else responder.reject(request, row.prompt ?? "denied", { row: row.name, conversation, refusedFor });
    }
    conversations.park(conversation);
  }

  #failed(
    { conversation, requests }: RunningPacket,
    { attempt, state, typed, hasPassword }: RunInput,
    { before, fault }: { before: Conversation | null; fault: unknown },
  ): void {
    const known = conversation.stored;
    this.#restore(conversation, before);
    if (before === null) this.#conclude(conversation);
    if (fault instanceof ConcurrentUpdateError && this.#deps.store.isShared) {
      return void this.#lostRace({ requests, conversation, known, attempt, isLogin: state === null }, fault);
    }
    if (fault instanceof ApprovalUsedError && !attempt.approvalUsed) {
      const again = this.#deps.conversations.unpark(conversation.orderedId);
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
    const { store, conversations, again, log } = this.#deps;
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
      void this.#deps.secondFactor.cancel(requestId);
    }
    for (const request of requests) {
      if (!isLogin || !isContinued) again(request, { checked: attempt, conversation: orderedId });
      // The client asked another node, which continues this login or has accepted it. A retransmission gets that Accept again.
      else if (now.outcome === null || now.outcome === "superseded" || now.outcome === "accepted") {
        this.#deps.responder.drop(request, "overtaken", { keepSlot: true });
      } else this.#repeat(request, now);
    }
  }

  /** Records that no State value with the bare name is in use any more. */
  #conclude({ hasToken, tuple, user }: Conversation): void {
    if (!hasToken) this.#deps.sharedTuples.concluded(placeOfTuple(tuple, user), user);
  }

  /** The requests to answer: all requests of a held login, otherwise the newest one. */
  #waitingFor({ conversation, requests }: RunningPacket): readonly Request[] {
    if (requests.length === 1 || conversation.moments.some(({ step }) => step === "holding")) return requests;
    const newest = requests.at(-1) as Request;
    for (const older of requests) {
      if (older !== newest) this.#deps.responder.drop(older, "overtaken", { keepSlot: true });
    }
    return [newest];
  }

  #notRecorded(request: Request, conversation: Conversation, fault: unknown): void {
    const { responder, offboarding, log } = this.#deps;
    if (fault instanceof FirstFactorBusy) return responder.drop(request, "first_factor_busy");
    if (offboarding.hasLeft(conversation)) return this.#rejectRemovedUser(request, conversation);
    // While the user is being removed, the result is unknown. The client sends the packet again and then gets the result.
    const write = fault instanceof UserLeftError ? log.info : log.error;
    write("the answer could not be recorded", { conversation: conversation.orderedId, fault: String(fault) });
    responder.drop(request, "store_failed");
  }

  #rejectRemovedUser(request: Request, conversation: Conversation): void {
    this.#deps.responder.reject(request, "denied", { row: USER_LEFT, conversation });
  }

  /** The conversation ended while its packet was in progress: at its deadline, with its user, or because a new login replaced it. */
  #endedInProgress(work: RunningPacket): void {
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
    const { conversations, offboarding } = this.#deps;
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

/**
 * The attributes of an Access-Accept that is sent again: those of the settings, of the user's groups, of the policy, and of the first-factor
 * server. The directory has prepared the user. `null`: see `acceptReplyOf()`.
 */
function repeatedReplyOf(deps: TurnDeps, conversation: Conversation) {
  const { policy } = conversation;
  const named = policy === "" ? null : deps.policies.registry.current.byName(policy);
  return acceptReplyOf(deps, conversation, { ofPolicy: attributesOf(named) });
}

/** The maximum number of requests that wait for one answer. */
const MAX_REQUESTS = 8;

/** A packet in progress. It receives the result of its turn, without a promise. */
export class RunningPacket implements TurnListener {
  readonly #runner: RequestRunner;
  /** The conversation as it is stored; `null` if it is not stored. */
  readonly before: Conversation | null;
  readonly conversation: Conversation;
  /** The requests that wait for the answer: the first one, and those that joined. */
  readonly requests: Request[];
  readonly input: RunInput;
  /** When the conversation began. */
  readonly startedMs: number;
  /** Its rows in the tables of {@link PacketsInProgress}, from `add()` on. */
  readonly places = { work: -1, begun: -1, login: -1 };
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

  /** Adds a request that waits for the same answer. Returns the request that it displaces, if there were too many. */
  join(request: Request): Request | null {
    const { requests } = this;
    requests.push(request);
    // The first request stays, because the audit names it.
    return requests.length > MAX_REQUESTS ? requests.splice(1, 1)[0] ?? null : null;
  }

  /** Other answers to the same challenge that wait for this one. */
  get waiting(): number {
    return this.#resumes?.length ?? 0;
  }

  /** Lets another answer wait: `resume` is called when this packet is no longer in progress. */
  wait(resume: () => void): void {
    this.#resumes ??= [];
    this.#resumes.push(resume);
  }

  began(conversation: Conversation): void {
    this.#runner.began(this, conversation);
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

/** The values that a re-issued login must share with the unanswered one. */
interface ReissuedLogin {
  readonly request: Request;
  readonly tuple: string;
  readonly digest: string;
  /** Whether the tuple distinguishes logins. Otherwise only a copy of the packet joins, which can come by another socket (RFC 5080 §2.2.2). */
  readonly isDistinct: boolean;
}

/** The packets in progress, by conversation and by tuple. */
export class PacketsInProgress {
  readonly #logins: TurnDeps["logins"];
  readonly #works: TextTable<RunningPacket>;
  /** The newest unanswered login of each tuple. */
  readonly #unanswered: TextTable<RunningPacket>;

  /** @param deps.hashSeed random, so that clients cannot predict the hashes of tuples */
  constructor({ logins, hashSeed }: Pick<RequestRunnerDeps, "logins"> & { readonly hashSeed: number }) {
    this.#logins = logins;
    this.#works = new TextTable(hashSeed);
    this.#unanswered = new TextTable(hashSeed);
  }

  get size(): number {
    return this.#works.size;
  }

  add(work: RunningPacket): void {
    const { places, conversation: { orderedId, tuple } } = work;
    places.work = this.#works.set(orderedId, work);
    if (work.input.state === null) places.login = this.#unanswered.set(tuple, work);
  }

  /** Adds the conversation that the packet began by a Cancel. */
  addBegun(work: RunningPacket, { orderedId }: Conversation): void {
    work.places.begun = this.#works.set(orderedId, work);
  }

  remove(work: RunningPacket): void {
    this.#works.remove(work.places.work, work);
    // The engine reads an array at -1 by a slow path, which cost a fifth of the logins per second.
    if (work.places.begun >= 0) this.#works.remove(work.places.begun, work);
    if (work.input.state === null) this.#unanswered.remove(work.places.login, work);
  }

  has(orderedId: string): boolean {
    return this.#works.get(orderedId) !== undefined;
  }

  find({ orderedId }: Conversation): RunningPacket | undefined {
    return this.#works.get(orderedId);
  }

  /** Marks the login of a packet that another node has answered, so that it is not recorded, too: a wrong password would count twice. */
  overtake({ orderedId, tuple, outcome, lastAnswer }: Conversation): void {
    if (outcome === null || lastAnswer === null || lastAnswer.state !== null) return;
    const work = this.#unanswered.get(tuple);
    if (work === undefined || work.conversation.orderedId === orderedId) return;
    const { authenticator, identifier } = lastAnswer;
    const isSame = (one: Request) => authenticatorText(one) === authenticator && identifier === one.octets[1];
    if (work.requests.some(isSame)) work.conversation.overtaken = true;
  }

  /** The login that a re-issued one joins, or `null`. */
  joinable({ request, tuple, digest, isDistinct }: ReissuedLogin): RunningPacket | null {
    const work = this.#unanswered.get(tuple);
    if (work === undefined || !work.input.hasPassword || work.input.typed.digest !== digest) return null;
    if (!isDistinct && !work.requests.some((one) => isCopy(one, request))) return null;
    const { outcome, signed } = work.conversation;
    if (outcome !== null || (signed && !request.signed)) return null;
    return request.receivedMs - work.startedMs <= this.#logins.loginJoinWindowMs ? work : null;
  }
}

function isCopy(one: Request, other: Request): boolean {
  return one.octets[1] === other.octets[1] && authenticatorText(one) === authenticatorText(other);
}
