// The gateway: takes requests that passed the gate, finds or begins their conversation, lets it be played, and answers.

import type { Log } from "../../log.ts";
import { toBase64Url } from "../../runtime.ts";
import { NOTHING_KNOWN } from "../facts/facts.ts";
import { isStep, type Step, stepByName } from "../facts/steps.ts";
import { AUTHENTICATOR_AT, MAX_PASSWORD_OCTETS } from "../facts/codes.ts";
import { createHmacMd5, MD5_OCTETS } from "../pure/md5.ts";
import type { PacketView } from "../pure/packet.ts";
import { looksGarbled, readAnswer, readAppended } from "../pure/password.ts";
import { decodeText } from "../pure/text.ts";
import { step } from "../pure/step.ts";
import { canonicalName } from "../../canonical_name.ts";
import { type Tuple, tupleOf } from "../pure/tuple.ts";
import { ApprovalUsed } from "./approval_use.ts";
import { type AnswerDeps, createAnswers, senderOf } from "./answers.ts";
import { type Attempt, newAttempt } from "./attempt.ts";
import { createBeginnings } from "./beginnings.ts";
import { type Conversation, type LastAnswer, settle } from "./conversation.ts";
import { USER_LEFT } from "./leaving.ts";
import { type Finished, Left, type MachineDeps, play } from "./machine.ts";
import { createNullAsks } from "./null_asks.ts";
import { createPreparing } from "./preparing.ts";
import { findRefusal, type Refusal, REFUSALS, type Request, viewOf } from "./request.ts";
import { logRequest } from "./request_log.ts";
import { authenticatorText, isSamePacket } from "./same_packet.ts";

export interface GatewayDeps extends Omit<MachineDeps, "startOver">, AnswerDeps {
  readonly stateForm: "auto" | "name" | "token";
  readonly conversationTtlMs: number;
  readonly loginJoinWindowMs: number;
  readonly log: Log;
}

export interface Gateway {
  /** Works on an Access-Request. `view` is only read before the first wait. */
  accept(request: Request, view: PacketView): void;
  /** Resolves when nothing is being worked on, or after `deadlineMs`. */
  drain(deadlineMs: number): Promise<void>;
  readonly working: number;
}

/** A packet that is being worked on for a conversation, and the newest request that waits for the answer. */
interface Work {
  request: Request;
  readonly state: Step | null;
  readonly digest: string;
  readonly playing: Promise<Finished | null>;
  /** Other answers to the same challenge that wait for this one. */
  waiting: number;
}

/** What was typed at a login or as an answer. */
interface Typed {
  readonly tuple: Tuple;
  readonly octets: Uint8Array;
  readonly digest: string;
}

/** Requests under way at once; held ones count. */
const MOST_WORKS = 50_000;
/** Different answers to one challenge at once. */
const MOST_WAITING = 4;
const NOTHING = new Uint8Array(0);

export function createGateway(deps: GatewayDeps): Gateway {
  const { conversations, clock, log, counters } = deps;
  const answers = createAnswers(deps);
  const beginnings = createBeginnings(deps);
  const nullAsks = createNullAsks(deps);
  const preparing = createPreparing(deps);
  const machine: MachineDeps = { ...deps, startOver };
  const joinKey = createHmacMd5(deps.vault.deriveKey("join", 32));
  const works = new Map<string, Work>();
  /** Clients that were warned of CHAP: it is a setting of theirs, not what one request did. */
  const chapClients = new Set<string>();

  function startOver(old: Conversation): Conversation {
    const next = beginnings.startOver(old);
    conversations.add(next);
    return next;
  }

  /** What was typed, and its digest: used again for every packet, so what outlives the call is copied. */
  const plain = new Uint8Array(MAX_PASSWORD_OCTETS);
  const digest = new Uint8Array(MD5_OCTETS);

  function digestOf(typed: Uint8Array): string {
    joinKey.signInto(typed, 0, typed.length, digest, 0);
    return toBase64Url(digest);
  }

  function accept(request: Request, view: PacketView): void {
    counters.count("requests");
    logRequest(log, request);
    const refusal = findRefusal(view, request.userName);
    if (refusal !== null) return refuse(request, refusal, view);
    const user = canonicalName(request.userName);
    const pending = preparing.ask(user);
    if (pending === null) return admit(request, view, user);
    // The view is used again for the next datagram: this packet is read once more when its turn comes.
    wait(request, { user, pending }, () => admit(request, viewOf(request), user));
  }

  function wait(
    request: Request,
    what: { user: string; pending: Promise<void> },
    go: () => void,
  ): void {
    preparing.wait(what, { go, fail: (why) => answers.drop(request, why) });
  }

  function admit(request: Request, view: PacketView, user: string): void {
    const { client } = request;
    const hidden = view.value("userPassword");
    const { octets } = request;
    const length = hidden === null
      ? 0
      : client.secret.revealPasswordInto(plain, hidden, { authenticator: octets, at: AUTHENTICATOR_AT });
    if (length < 0) return refuse(request, "bad_password_length", view);
    const typed = plain.subarray(0, length);
    if (works.size >= MOST_WORKS) return answers.drop(request, "too_busy");
    if (hidden !== null && view.slots.messageAuthenticator.count === 0 && looksGarbled(typed)) {
      const hint = "the revealed password is no text: is the shared secret of this client right?";
      log.warn(hint, senderOf(request));
    }
    const login: Typed = { tuple: tupleOf(view, client.name, user), octets: typed, digest: digestOf(typed) };
    const state = view.value("state");
    if (state === null) return begin(request, { ...login, user, place: placeOf(view) });
    resume(request, { ...login, state: readAnswer(state) });
  }

  /** An Access-Request without State: a new login, or one that is running already. */
  function begin(request: Request, login: Typed & { user: string; place: string }): void {
    const { policy, name: client } = request.client;
    const running = conversations.byTuple(login.tuple.key);
    const ended: Conversation[] = [];
    const password = policy.firstFactor === "none" && !policy.appendMode
      ? login.octets
      : login.octets.slice();
    const typed = policy.appendMode ? readAppended(password, policy) : { password, appended: null };
    if (running !== null) {
      const again = () => {
        if (!mustHoldAgain(running, typed.appended, policy)) return repeat(request, running);
        const attempt = { ...newAttempt(request, { answer: null, ...typed }), holdsAgain: true };
        run(request, running, { attempt, state: null, digest: login.digest, ended });
      };
      if (isSamePacket(running, request, { state: null, digest: login.digest })) return again();
      if (running.outcome === null) {
        if (isSameLogin(running, login, request.receivedMs)) {
          counters.count("logins_joined");
          return again();
        }
        conversations.end(running, "superseded", "superseded");
        ended.push(running);
        if (running.requestId !== null) void deps.secondFactor.cancel(running.requestId);
      }
    }
    const conversation = beginnings.login({
      client,
      user: login.user,
      shownUser: request.userName,
      source: request.source,
      place: login.place,
      tuple: login.tuple,
      passwordDigest: login.digest,
    });
    conversations.add(conversation);
    const attempt = newAttempt(request, { answer: null, ...typed });
    run(request, conversation, { attempt, state: null, digest: login.digest, ended });
  }

  function isSameLogin(
    { passwordDigest, startedMs }: Conversation,
    { digest }: Typed,
    nowMs: number,
  ): boolean {
    return passwordDigest === digest && nowMs - startedMs <= deps.loginJoinWindowMs;
  }

  /** An Access-Request with State: the answer to a challenge. */
  function resume(request: Request, answer: Typed & { state: string }): void {
    const dot = answer.state.indexOf(".");
    const step = stepByName(dot < 0 ? answer.state : answer.state.slice(0, dot));
    if (step === null) return refuse(request, "unknown_state", null);
    const token = dot < 0 ? null : answer.state.slice(dot + 1);
    const found = token === null ? conversations.byTuple(answer.tuple.key) : conversations.byToken(token);
    const conversation = found?.token === token && found.tuple === answer.tuple.key ? found : null;
    if (conversation === null) return gone(request, step);
    if (isSamePacket(conversation, request, { state: step, digest: answer.digest })) {
      return repeat(request, conversation);
    }
    const work = works.get(conversation.orderedId);
    if (work !== undefined) return meanwhile(request, work, { ...answer, step });
    const live = conversation.outcome === null && conversation.deadlineMs > clock.nowMs();
    if (!live) return gone(request, step);
    if (conversation.at !== step) {
      const again = isReissued(conversation, { step, digest: answer.digest, nowMs: request.receivedMs });
      return again ? repeat(request, conversation) : gone(request, step);
    }
    const attempt = newAttempt(request, {
      answer: readAnswer(answer.octets),
      password: NOTHING,
      appended: null,
    });
    run(request, conversation, { attempt, state: step, digest: answer.digest, ended: [] });
  }

  /** An answer while another one is being worked on: the same one again takes its place, a different one waits. */
  function meanwhile(request: Request, work: Work, answer: Typed & { state: string; step: Step }): void {
    if (work.state !== answer.step) return gone(request, answer.step);
    if (work.digest === answer.digest) return takeOver(request, work);
    if (work.waiting >= MOST_WAITING) return answers.drop(request, "too_busy");
    work.waiting++;
    const kept = { ...answer, octets: answer.octets.slice() };
    const user = canonicalName(request.userName);
    const resumed = () => {
      const pending = preparing.ask(user);
      if (pending === null) return resume(request, kept);
      wait(request, { user, pending }, () => resume(request, kept));
    };
    void work.playing.then(resumed, resumed);
  }

  function isReissued(
    conversation: Conversation,
    { step, digest, nowMs }: { step: Step; digest: string; nowMs: number },
  ): boolean {
    const { lastAnswer } = conversation;
    return lastAnswer !== null && lastAnswer.state === step && lastAnswer.digest === digest &&
      nowMs - lastAnswer.atMs <= deps.loginJoinWindowMs;
  }

  /** Plays a packet on a conversation and answers whoever waits newest. */
  function run(
    request: Request,
    conversation: Conversation,
    { attempt, state, digest, ended }: {
      attempt: Attempt;
      state: Step | null;
      digest: string;
      ended: Conversation[];
    },
  ): void {
    deps.packets.received(conversation.orderedId, request);
    const lastAnswer: LastAnswer = {
      state,
      digest,
      authenticator: authenticatorText(request),
      atMs: request.receivedMs,
    };
    const before = conversation.stored === "not"
      ? null
      : { ...conversation, moments: conversation.moments.slice() };
    const playing = play(machine, { conversation, attempt, lastAnswer }, ended);
    const work: Work = { request, state, digest, playing, waiting: 0 };
    works.set(conversation.orderedId, work);
    playing.then(
      (finished) => {
        works.delete(conversation.orderedId);
        if (finished === null) return endedMeanwhile(work.request, conversation);
        tell(work.request, finished, attempt);
        conversations.park(finished.conversation);
      },
      (fault: unknown) => {
        works.delete(conversation.orderedId);
        restore(conversation, before);
        if (fault instanceof ApprovalUsed && !attempt.approvalUsed) {
          const again = conversations.awake(conversation.orderedId);
          const refused: Attempt = { ...attempt, approvalUsed: true, decision: "denied" };
          if (again !== null) return run(work.request, again, { attempt: refused, state, digest, ended: [] });
        }
        notRecorded(work.request, conversation, fault);
      },
    );
  }

  function notRecorded(request: Request, conversation: Conversation, fault: unknown): void {
    if (deps.leavings.hasLeft(conversation)) return rejectLeaver(request, conversation);
    // While the leaving is under way its outcome is not known; sent again, the packet meets it.
    const say = fault instanceof Left ? log.info : log.error;
    say("the answer could not be recorded", { conversation: conversation.orderedId, fault: String(fault) });
    answers.drop(request, "store_failed");
  }

  function rejectLeaver(request: Request, conversation: Conversation): void {
    answers.reject(request, "denied", { row: USER_LEFT, conversation });
  }

  /** The conversation ended while its packet was being worked on: at its deadline, with its user, or because a new login took its place. */
  function endedMeanwhile(request: Request, conversation: Conversation): void {
    if (conversation.outcome === "expired") {
      return answers.reject(request, "gone", { row: "expired", conversation });
    }
    if (conversation.outcome === "cancelled") return rejectLeaver(request, conversation);
    answers.drop(request, "overtaken", { keepSlot: true });
  }

  function tell(request: Request, finished: Finished, { refusedFor }: Attempt): void {
    const { conversation, row, kind, attributes } = finished;
    if (kind === "challenge") return answers.challenge(request, conversation, row.name);
    if (attributes !== null) return answers.accept(request, { row: row.name, conversation, attributes });
    answers.reject(request, row.say ?? "denied", { row: row.name, conversation, refusedFor });
  }

  /** Takes memory back to what the store holds, so that nothing unrecorded can be answered from it. */
  function restore(conversation: Conversation, before: Conversation | null): void {
    conversations.remove(conversation);
    if (conversation.stored === "not" || conversation.outcome === "superseded") return;
    if (deps.leavings.hasLeft(conversation)) return;
    // A claim that was recorded meanwhile stays: its effect was made, and must not be made again.
    const claimed = before === null || before.stored !== conversation.stored;
    const kept = claimed ? conversation : before;
    kept.outcome = null;
    if (settle(kept)) conversations.add(kept);
  }

  /** The newest request of a login gets the answer, and the older one none. */
  function takeOver(request: Request, work: Work): void {
    answers.drop(work.request, "overtaken", { keepSlot: true });
    work.request = request;
  }

  /** Its wait was cut off, by a restart or by the store: a client that is held to the end can do nothing with a challenge. */
  function mustHoldAgain(
    { orderedId, outcome, at, lastAnswer }: Conversation,
    appended: Attempt["appended"],
    { device }: Request["client"]["policy"],
  ): boolean {
    return outcome === null && at === "SECONDFACTOR_AWAIT_DEVICE_APPROVAL" && lastAnswer?.state === null &&
      (device === "hold" || appended?.kind === "push") && !works.has(orderedId);
  }

  /** Says again what was said last, for another identifier or the same one. */
  function repeat(request: Request, conversation: Conversation): void {
    const work = works.get(conversation.orderedId);
    if (work !== undefined) return takeOver(request, work);
    const because = { row: "repeated", conversation };
    if (conversation.outcome === "accepted") {
      if (deps.leavings.hasLeft(conversation)) return rejectLeaver(request, conversation);
      const attributes = deps.acceptAttributes.of(conversation.user);
      return answers.accept(request, { ...because, attributes });
    }
    if (conversation.outcome === null && isStep(conversation.at)) {
      return answers.challenge(request, conversation, "repeated");
    }
    answers.reject(request, conversation.prompt ?? "gone", because);
  }

  /** A State whose conversation is gone or stands elsewhere: never a reason to check anything typed. */
  function gone(request: Request, at: Step): void {
    const row = step("gone", {
      ...NOTHING_KNOWN,
      stateWasDevice: at === "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
    });
    const answer = () => answers.reject(request, row.say ?? "gone", { row: row.name, conversation: null });
    if (row.then.includes("ask_null")) void nullAsks.askTwice(request.client.name).then(answer);
    else answer();
  }

  function refuse(request: Request, refusal: Refusal, view: PacketView | null): void {
    const { sentence, prompt } = REFUSALS[refusal];
    counters.count(`refused_${refusal}`);
    const said = refusal === "chap" && chapClients.has(request.client.name);
    if (refusal === "chap") chapClients.add(request.client.name);
    log[said ? "debug" : "warn"](`request refused: ${sentence}`, { reason: refusal, ...senderOf(request) });
    const eap = refusal === "eap" ? view?.value("eapMessage") ?? null : null;
    const because = { row: refusal, conversation: null };
    answers.reject(request, prompt, eap === null ? because : { ...because, eapIdentifier: eap[1] ?? 0 });
  }

  return {
    accept,
    async drain(deadlineMs) {
      const end = clock.nowMs() + deadlineMs;
      while ((works.size + preparing.waiting > 0 || answers.delayed > 0) && clock.nowMs() < end) {
        await new Promise<void>((resolve) => void clock.after(20, resolve));
      }
    },
    get working() {
      return works.size + preparing.waiting;
    },
  };
}

function placeOf(view: PacketView): string {
  const calling = view.value("callingStationId");
  return calling === null ? "" : decodeText(calling);
}
