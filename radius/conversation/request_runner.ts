// Runs a packet on its conversation, and answers the requests that wait for the outcome.

import type { Log } from "../../platform/log.ts";
import { isStep } from "../protocol/steps.ts";
import { placeOfTuple } from "./session_key.ts";
import type { Answers } from "../server/responder.ts";
import { ApprovalUsed } from "../factors/approval_use.ts";
import type { Attempt } from "../server/request_context.ts";
import { type Conversation, type LastAnswer, settle } from "./conversation.ts";
import { USER_LEFT } from "../factors/offboarding.ts";
import { type Finished, play } from "./state_machine.ts";
import { FirstFactorBusy } from "./effects.ts";
import type { PacketLog } from "../server/packet_capture.ts";
import type { Request } from "../server/request.ts";
import { authenticatorText } from "../server/is_retransmission.ts";
import type { SharedTuples } from "./shared_tuples.ts";
import { Left, type MachineDeps } from "./login_round.ts";
import type { Work, Works } from "./work_queue.ts";

export interface RequestRunnerDeps {
  readonly machine: MachineDeps;
  readonly answers: Answers;
  readonly works: Works;
  readonly sharedTuples: SharedTuples;
  readonly packets: PacketLog;
  readonly log: Log;
}

/** What a packet brings to its conversation. */
export interface RunInput extends Pick<Work, "state" | "digest" | "hasPassword"> {
  readonly attempt: Attempt;
  /** The older login that this one replaces, by its ordered id. */
  readonly replaces: string | null;
}

/** Either an answer is recorded and sent, or memory goes back to what the store holds and the client sends again. */
export class RequestRunner {
  readonly #deps: RequestRunnerDeps;

  constructor(deps: RequestRunnerDeps) {
    this.#deps = deps;
  }

  /** Plays a packet on a conversation and answers the requests that wait for it. */
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
    const playing = play(machine, { conversation, attempt, lastAnswer, answerDigest: digest, replaces });
    const { startedMs } = conversation;
    const work: Work = { conversation, requests, state, digest, hasPassword, startedMs, playing, waiting: 0 };
    works.add(work);
    playing.then(
      (finished) => {
        works.remove(work);
        if (finished === null) this.#endedMeanwhile(work);
        else this.#answerAll(work, finished, attempt);
      },
      (fault: unknown) => {
        works.remove(work);
        this.#failed(work, input, { before, fault });
      },
    );
  }

  /** One more request waits for the answer of a packet that is being worked on. */
  takeOver(request: Request, work: Work): void {
    const tooMany = this.#deps.works.join(work, request);
    if (tooMany !== null) this.#deps.answers.drop(tooMany, "overtaken", { keepSlot: true });
  }

  /** Sends the last answer again, for another identifier or the same one. */
  repeat(request: Request, conversation: Conversation): void {
    const { answers, works, machine } = this.#deps;
    const work = works.of(conversation);
    if (work !== undefined) return this.takeOver(request, work);
    const because = { row: "repeated", conversation };
    if (conversation.outcome === "accepted") {
      if (machine.leavings.hasLeft(conversation)) return this.#rejectLeaver(request, conversation);
      const attributes = machine.acceptAttributes.of(conversation.user);
      return answers.accept(request, { ...because, attributes });
    }
    if (conversation.outcome === null && isStep(conversation.at)) {
      return answers.challenge(request, conversation, "repeated");
    }
    answers.reject(request, conversation.prompt ?? "gone", because);
  }

  #answerAll(work: Work, finished: Finished, { refusedFor }: Attempt): void {
    const { answers, machine } = this.#deps;
    const { conversation, row, kind, attributes } = finished;
    if (kind !== "challenge") this.#conclude(conversation);
    for (const request of this.#waitingFor(work)) {
      if (kind === "challenge") answers.challenge(request, conversation, row.name);
      else if (attributes !== null) answers.accept(request, { row: row.name, conversation, attributes });
      else answers.reject(request, row.say ?? "denied", { row: row.name, conversation, refusedFor });
    }
    machine.conversations.park(conversation);
  }

  #failed(
    { conversation, requests }: Work,
    { attempt, state, digest, hasPassword }: RunInput,
    { before, fault }: { before: Conversation | null; fault: unknown },
  ): void {
    this.#restore(conversation, before);
    if (before === null) this.#conclude(conversation);
    if (fault instanceof ApprovalUsed && !attempt.approvalUsed) {
      const again = this.#deps.machine.conversations.awake(conversation.orderedId);
      const refused: Attempt = { ...attempt, approvalUsed: true, decision: "denied" };
      const input = { attempt: refused, state, digest, hasPassword, replaces: null };
      if (again !== null) return this.run(requests, again, input);
    }
    for (const request of requests) this.#notRecorded(request, conversation, fault);
  }

  /** No State value with the bare name is in use any more. */
  #conclude({ hasToken, tuple, user }: Conversation): void {
    if (!hasToken) this.#deps.sharedTuples.concluded(placeOfTuple(tuple, user), user);
  }

  /** The requests that are answered: all of a login that was held, otherwise the newest one. */
  #waitingFor({ conversation, requests }: Work): readonly Request[] {
    if (requests.length === 1 || conversation.moments.some(({ step }) => step === "holding")) return requests;
    const newest = requests.at(-1) as Request;
    for (const older of requests) {
      if (older !== newest) this.#deps.answers.drop(older, "overtaken", { keepSlot: true });
    }
    return [newest];
  }

  #notRecorded(request: Request, conversation: Conversation, fault: unknown): void {
    const { answers, machine, log } = this.#deps;
    if (fault instanceof FirstFactorBusy) return answers.drop(request, "first_factor_busy");
    if (machine.leavings.hasLeft(conversation)) return this.#rejectLeaver(request, conversation);
    // While the user is being removed the outcome is not known. The client sends the packet again and gets it then.
    const write = fault instanceof Left ? log.info : log.error;
    write("the answer could not be recorded", { conversation: conversation.orderedId, fault: String(fault) });
    answers.drop(request, "store_failed");
  }

  #rejectLeaver(request: Request, conversation: Conversation): void {
    this.#deps.answers.reject(request, "denied", { row: USER_LEFT, conversation });
  }

  /** The conversation ended during its packet: at its deadline, with its user, or because a new login replaced it. */
  #endedMeanwhile(work: Work): void {
    const { answers } = this.#deps;
    const { conversation } = work;
    for (const request of this.#waitingFor(work)) {
      if (conversation.outcome === "expired") {
        answers.reject(request, "gone", { row: "expired", conversation });
      } else if (conversation.outcome === "cancelled") this.#rejectLeaver(request, conversation);
      else answers.drop(request, "overtaken", { keepSlot: true });
    }
  }

  /** Takes memory back to what the store holds, so that nothing unrecorded can be answered from it. */
  #restore(conversation: Conversation, before: Conversation | null): void {
    const { conversations, leavings } = this.#deps.machine;
    conversations.remove(conversation);
    if (conversation.stored === "not" || conversation.outcome === "superseded") return;
    if (leavings.hasLeft(conversation)) return;
    // A claim that was recorded meanwhile stays: its effect was made, and must not be made again.
    const claimed = before === null || before.stored !== conversation.stored;
    const kept = claimed ? conversation : before;
    kept.outcome = null;
    if (settle(kept)) conversations.add(kept);
  }
}
