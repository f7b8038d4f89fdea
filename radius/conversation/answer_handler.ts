// Handles an Access-Request with State: the answer to a challenge.

import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import { readAnswer } from "../protocol/login_input.ts";
import { type Step, stepByName } from "../protocol/steps.ts";
import { type CheckedFirstFactor, newLoginAttempt, type Request } from "../server/request.ts";
import { type Responder, senderOf } from "../server/responder.ts";
import { mustChangeNothing } from "../server/unsigned_requests.ts";
import { type Conversation, isDeniedWhileWaiting, isLive, type TokenOf } from "./conversation.ts";
import type { Tuple, TupleComparison } from "./tuple.ts";
import type { ConversationStore } from "./conversation_store.ts";
import type { PasswordDigests, PeerNodes } from "./peers.ts";
import type { RequestRunner } from "./request_runner.ts";
import { eapSequence, findByState, isReissued, isSamePacket, isUndecided } from "./retransmissions.ts";
import type { PacketWork, WorkQueue } from "./work_queue.ts";

/** The password of a login, or an answer. */
export interface TypedInput {
  readonly tuple: Tuple;
  readonly octets: Uint8Array;
  readonly typed: PasswordDigests;
}

interface Answer extends TypedInput {
  /** The text of the State attribute. */
  readonly state: string;
  readonly checkedBefore?: CheckedFirstFactor | null;
}

/** Settings of logins. They can change. */
export interface LoginSettings {
  /** The form of State. `auto` adds a token if the tuple does not distinguish logins. */
  readonly state: "auto" | "name" | "token";
  readonly conversationTtlMs: number;
  readonly loginJoinWindowMs: number;
}

export interface AnswerHandlerDeps {
  readonly conversations: ConversationStore;
  readonly tokenOf: TokenOf;
  readonly clock: Clock;
  readonly log: Log;
  readonly peers: PeerNodes;
  readonly logins: LoginSettings;
  readonly works: WorkQueue;
  readonly runner: RequestRunner;
  readonly responder: Responder;
  /** Calls `resume` as soon as the directory has the user of the request. */
  readonly whenUserIsKnown: (request: Request, resume: () => void) => void;
}

const FIRST_FACTOR: Step = "FIRSTFACTOR_GET_ANSWER";
/** Steps whose answer is a password, with all its blanks. */
const NEW_PASSWORDS: ReadonlySet<Step> = new Set([
  "FIRSTFACTOR_GET_NEW_PASSWORD",
  "FIRSTFACTOR_REPEAT_NEW_PASSWORD",
]);
/** Different answers to one challenge that can wait. */
const MAX_WAITING_ANSWERS = 4;

export class AnswerHandler {
  readonly #deps: AnswerHandlerDeps;
  /** The conversation that was found first for each answer, by its ordered id. */
  readonly #firstFound = new WeakMap<Request, string>();

  constructor(deps: AnswerHandlerDeps) {
    this.#deps = deps;
  }

  handle(request: Request, answer: Answer): void {
    const { works, runner, responder, clock, peers } = this.#deps;
    const dot = answer.state.indexOf(".");
    const step = stepByName(dot < 0 ? answer.state : answer.state.slice(0, dot));
    if (step === null) return responder.refuse(request, "unknown_state");
    const token = dot < 0 ? null : answer.state.slice(dot + 1);
    const { conversation, comparison } = findByState(this.#deps, request, {
      tuple: answer.tuple.key,
      step,
      token,
    });
    if (comparison !== null) this.#logComparison(request, conversation, comparison);
    if (conversation === null) return responder.gone(request, step);
    if (this.#firstFoundFor(request, conversation) !== conversation.orderedId) {
      return responder.gone(request, step);
    }
    const { typed, octets } = answer;
    const packet = { state: step, typed, node: peers.node };
    if (isSamePacket(conversation, request, packet)) return runner.repeat(request, conversation);
    if (isUndecided(conversation, request, packet)) return responder.drop(request, "overtaken");
    const sequence = eapSequence(request, conversation);
    if (sequence !== "next") {
      return this.#outOfSequence(request, conversation, { sequence, reissued: { step, typed } });
    }
    const work = works.find(conversation);
    if (mustChangeNothing(request, conversation)) {
      return this.#isRepeatable(request, conversation, { work, step })
        ? runner.repeat(request, conversation)
        : responder.gone(request, step);
    }
    if (work !== undefined) return this.#answerInProgress(request, work, { ...answer, step });
    if (isDeniedWhileWaiting(conversation) && conversation.at === step) {
      return runner.repeat(request, conversation);
    }
    if (!isLive(conversation, clock)) return responder.gone(request, step);
    if (conversation.at !== step) {
      return this.#isReissued(request, conversation, { step, typed })
        ? runner.repeat(request, conversation)
        : responder.gone(request, step);
    }
    const attempt = newLoginAttempt(request, {
      answer: readAnswer(octets),
      ...(step === FIRST_FACTOR
        ? { password: octets.slice(), checkedBefore: answer.checkedBefore ?? null }
        : {}),
      ...(NEW_PASSWORDS.has(step) ? { password: octets.slice() } : {}),
    });
    const hasPassword = octets.length > 0;
    runner.run([request], conversation, { attempt, state: step, typed, hasPassword, replaces: null });
  }

  #isReissued(
    { receivedMs }: Request,
    conversation: Conversation,
    { step, typed }: { step: Step } & Pick<Answer, "typed">,
  ): boolean {
    const { peers, logins: { loginJoinWindowMs } } = this.#deps;
    return isReissued(conversation, {
      step,
      typed,
      sinceMs: receivedMs - loginJoinWindowMs,
      node: peers.node,
    });
  }

  /** A Response that does not answer the last EAP-Request is ignored (RFC 3748 §4.1); the last one, sent again, gets the same reply. */
  #outOfSequence(
    request: Request,
    conversation: Conversation,
    { sequence, reissued }: {
      sequence: "again" | "stale" | "other_form";
      reissued: { step: Step } & Pick<Answer, "typed">;
    },
  ): void {
    const { runner, responder, clock } = this.#deps;
    if (sequence === "stale") return responder.drop(request, "overtaken", { keepSlot: true });
    const isRepeated = sequence === "again" &&
      (isLive(conversation, clock) || this.#isReissued(request, conversation, reissued));
    if (isRepeated) runner.repeat(request, conversation);
    else responder.gone(request, reissued.step);
  }

  /**
   * The ordered id of the conversation that was found first for an answer. An answer that lost a race is handled again. Meanwhile another node may
   * have finished its conversation, and the client may have begun a new login on the same tuple. Without a token, both have the same State.
   */
  #firstFoundFor(request: Request, { orderedId }: Conversation): string {
    const first = this.#firstFound.get(request) ?? orderedId;
    this.#firstFound.set(request, first);
    return first;
  }

  /** The attributes that the client changed or left out between two steps explain why an answer finds no login. */
  #logComparison(
    request: Request,
    conversation: Conversation | null,
    { missing, added, different }: TupleComparison,
  ): void {
    const { log } = this.#deps;
    log.info(
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

  #isRepeatable(
    { source }: Request,
    conversation: Conversation,
    { work, step }: { work: PacketWork | undefined; step: Step },
  ): boolean {
    return work === undefined && isLive(conversation, this.#deps.clock) && conversation.at === step &&
      source === conversation.source;
  }

  /** Handles an answer while another one is in progress. The same answer joins it; a different one waits. */
  #answerInProgress(request: Request, work: PacketWork, answer: Answer & { step: Step }): void {
    const { runner, responder, whenUserIsKnown } = this.#deps;
    if (work.state !== answer.step) return responder.gone(request, answer.step);
    if (work.digest === answer.typed.digest) return runner.takeOver(request, work);
    if (work.waiting >= MAX_WAITING_ANSWERS) return responder.drop(request, "too_busy");
    const copy = { ...answer, octets: answer.octets.slice() };
    work.wait(() => whenUserIsKnown(request, () => this.handle(request, copy)));
  }
}
