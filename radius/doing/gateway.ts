// The gateway: takes requests that passed the gate, finds or begins their conversation, lets it be played, and answers.

import type { FactorSettings } from "../../config.ts";
import type { Log } from "../../log.ts";
import { type Prompt, PROMPTS } from "../facts/prompts.ts";
import type { Step } from "../facts/steps.ts";
import { isStep, stepByName } from "../facts/steps.ts";
import { describeAttributes } from "../pure/attributes.ts";
import { createHmacMd5 } from "../pure/md5.ts";
import { looksGarbled, readAnswer, readAppended } from "../pure/password.ts";
import { authenticatorOf, type PacketView } from "../pure/packet.ts";
import { renderPrompt } from "../pure/render.ts";
import { canonicalName, type Tuple, tupleOf } from "../pure/tuple.ts";
import type { Attempt } from "./attempt.ts";
import type { Client } from "./clients.ts";
import { type Conversation, type LastAnswer, newSecretId, newToken, settle } from "./conversation.ts";
import type { Counters } from "./counters.ts";
import { type MachineDeps, play } from "./machine.ts";
import type { GatewayEvent } from "./ports.ts";
import { type Reply, writeReply } from "./replies.ts";
import { findRefusal, type Refusal, REFUSALS, type Request } from "./request.ts";
import { toBase64Url } from "../../runtime.ts";

export interface GatewayDeps extends Omit<MachineDeps, "startOver"> {
  readonly stateForm: "auto" | "name" | "token";
  readonly conversationTtlMs: number;
  readonly loginJoinWindowMs: number;
  readonly settings: FactorSettings;
  /** Encoded attributes of every Access-Accept. */
  readonly acceptAttributes: Uint8Array;
  readonly counters: Counters;
  readonly log: Log;
  readonly emit: (event: GatewayEvent) => void;
  readonly send: (request: Request, reply: Uint8Array) => void;
  /** Forgets a request that will not be answered, so that its retransmission is worked on. */
  readonly release: (request: Request) => void;
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
  readonly finished: Promise<void>;
}

/** Requests under way at once; held ones count. */
const MOST_WORKS = 50_000;
/** Rejects that wait for their second; above it they are not sent at all. */
const MOST_DELAYED = 50_000;
/** RFC 2865 §4.3 leaves the time open; guessing is slowed down by a second and a little more. */
const REJECT_DELAY_MS = 1000;
const REJECT_JITTER_MS = 100;
/** The document's two checks of `null`, at most this often a minute and client. */
const NULL_ASKS_A_MINUTE = 10;

export function createGateway(deps: GatewayDeps): Gateway {
  const { conversations, clock, log, counters } = deps;
  const joinKey = createHmacMd5(deps.vault.deriveKey("join", 32));
  const works = new Map<string, Work>();
  const nullAsks = new Map<string, number[]>();
  let delayed = 0;

  const machine: MachineDeps = { ...deps, startOver };

  function digestOf(typed: Uint8Array): string {
    const digest = new Uint8Array(16);
    joinKey.signInto(typed, 0, typed.length, digest, 0);
    return toBase64Url(digest);
  }

  function accept(request: Request, view: PacketView): void {
    const { client } = request;
    logRequest(request);
    const refusal = findRefusal(view);
    if (refusal !== null) return refuse(request, refusal, view);
    const hidden = view.value("userPassword");
    const typed = hidden === null
      ? new Uint8Array(0)
      : client.secret.revealPassword(hidden, authenticatorOf(request.octets));
    if (typed === null) return refuse(request, "bad_password_length", view);
    if (works.size >= MOST_WORKS) return drop(request, "too_busy");
    if (hidden !== null && !view.slots.messageAuthenticator.count && looksGarbled(typed)) {
      log.warn(
        "the revealed password is no text: is the shared secret of this client right?",
        senderOf(request),
      );
    }
    const user = canonicalName(request.userName);
    const tuple = tupleOf(view, client.name, user);
    const digest = digestOf(typed);
    const state = view.value("state");
    if (state === null) return begin(request, view, { user, tuple, typed, digest });
    resume(request, { user, tuple, typed, digest, state: readAnswer(state) });
  }

  /** An Access-Request without State: a new login, or one that is running already. */
  function begin(
    request: Request,
    view: PacketView,
    login: { user: string; tuple: Tuple; typed: Uint8Array; digest: string },
  ): void {
    const { client } = request;
    const now = request.receivedMs;
    const running = conversations.byTuple(login.tuple.key);
    const ended: Conversation[] = [];
    if (running !== null) {
      if (isSamePacket(running, request)) return repeat(request, running);
      if (running.outcome === null) {
        const sameLogin = running.passwordDigest === login.digest &&
          now - running.startedMs <= deps.loginJoinWindowMs;
        if (sameLogin) return join(request, running);
        conversations.end(running, "superseded", "superseded");
        ended.push(running);
        if (running.requestId !== null) void deps.secondFactor.cancel(running.requestId);
      }
    }
    const appended = client.policy.appendMode
      ? readAppended(login.typed)
      : { password: login.typed, appended: null };
    const conversation = newConversation({
      client,
      user: login.user,
      shownUser: request.userName,
      source: request.sender.hostname,
      place: placeOf(view),
      tuple: login.tuple.key,
      token: needsToken(login.tuple),
      passwordDigest: login.digest,
      firstFactorRight: false,
    });
    conversations.add(conversation);
    const attempt = newAttempt(request, { answer: null, ...appended });
    run(request, conversation, { attempt, state: null, digest: login.digest, ended });
  }

  /** An Access-Request with State: the answer to a challenge. */
  function resume(
    request: Request,
    answer: { user: string; tuple: Tuple; typed: Uint8Array; digest: string; state: string },
  ): void {
    const dot = answer.state.indexOf(".");
    const step = stepByName(dot < 0 ? answer.state : answer.state.slice(0, dot));
    if (step === null) return refuse(request, "unknown_state", null);
    const token = dot < 0 ? null : answer.state.slice(dot + 1);
    const conversation = token === null
      ? conversations.byTuple(answer.tuple.key)
      : conversations.byToken(token);
    if (
      conversation === null || conversation.token !== token || conversation.tuple !== answer.tuple.key
    ) return gone(request, step);
    if (isSamePacket(conversation, request)) return repeat(request, conversation);
    const work = works.get(conversation.orderedId);
    if (work !== undefined) {
      if (work.state !== step) return gone(request, step);
      if (work.digest === answer.digest) return takeOver(request, work);
      // Another answer to the same challenge waits for the first one to be worked on.
      void work.finished.then(() => resume(request, answer));
      return;
    }
    if (conversation.outcome !== null || conversation.at !== step) {
      return isReissued(conversation, { step, digest: answer.digest, nowMs: request.receivedMs }) &&
          conversation.outcome === null
        ? repeat(request, conversation)
        : gone(request, step);
    }
    if (conversation.deadlineMs <= clock.nowMs()) return gone(request, step);
    const attempt = newAttempt(request, {
      answer: readAnswer(answer.typed),
      password: new Uint8Array(0),
      appended: null,
    });
    run(request, conversation, { attempt, state: step, digest: answer.digest, ended: [] });
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
    const lastAnswer: LastAnswer = {
      state,
      digest,
      authenticator: authenticatorText(request),
      atMs: request.receivedMs,
    };
    const before = conversation.stored === "not" ? null : structuredClone(conversation);
    const playing = play(machine, { conversation, attempt, lastAnswer }, ended);
    const work: Work = { request, state, digest, finished: playing.then(() => {}, () => {}) };
    works.set(conversation.orderedId, work);
    playing.then(
      (finished) => {
        works.delete(conversation.orderedId);
        if (finished === null) return drop(work.request, "overtaken", { keepSlot: true });
        const { row, kind } = finished;
        if (kind === "accept") return answer(work.request, acceptReply(), row.name, finished.conversation);
        const prompt = row.say ?? "denied";
        if (kind === "reject") {
          return answer(work.request, rejectReply(prompt), row.name, finished.conversation);
        }
        answer(work.request, challengeOf(finished.conversation), row.name, finished.conversation);
      },
      (fault: unknown) => {
        works.delete(conversation.orderedId);
        restore(conversation, before);
        log.error("the answer could not be recorded", {
          conversation: conversation.orderedId,
          fault: String(fault),
        });
        drop(work.request, "store_failed");
      },
    );
  }

  /** Takes memory back to what the store holds, so that nothing unrecorded can be answered from it. */
  function restore(conversation: Conversation, before: Conversation | null): void {
    if (before === null && conversation.stored === "not") return conversations.remove(conversation);
    conversations.remove(conversation);
    const kept = before ?? conversation;
    kept.stored = conversation.stored;
    kept.outcome = null;
    if (settle(kept)) conversations.add(kept);
  }

  /** The newest request of a login gets the answer, and the older one none. */
  function takeOver(request: Request, work: Work): void {
    drop(work.request, "overtaken", { keepSlot: true });
    work.request = request;
  }

  function join(request: Request, running: Conversation): void {
    const work = works.get(running.orderedId);
    if (work !== undefined) return takeOver(request, work);
    counters.count("logins_joined");
    repeat(request, running);
  }

  /** Says again what was said last, for another identifier or the same one. */
  function repeat(request: Request, conversation: Conversation): void {
    const work = works.get(conversation.orderedId);
    if (work !== undefined) return takeOver(request, work);
    if (conversation.outcome === "accepted") return answer(request, acceptReply(), "repeated", conversation);
    if (conversation.outcome !== null || !isStep(conversation.at)) {
      return answer(request, rejectReply(conversation.prompt ?? "gone"), "repeated", conversation);
    }
    answer(request, challengeOf(conversation), "repeated", conversation);
  }

  /** A State whose conversation is gone or stands elsewhere: never a reason to check anything typed. */
  function gone(request: Request, step: Step): void {
    const asks = step === "SECONDFACTOR_AWAIT_DEVICE_APPROVAL" && mayAskNull(request.client);
    const checks = asks ? askNullTwice() : Promise.resolve();
    void checks.then(() =>
      answer(
        request,
        rejectReply(step === "SECONDFACTOR_AWAIT_DEVICE_APPROVAL" ? "not_given" : "gone"),
        asks ? "gone_device" : "gone_elsewhere",
        null,
      )
    );
  }

  async function askNullTwice(): Promise<void> {
    await deps.secondFactor.status("null");
    await deps.secondFactor.status("null");
  }

  function mayAskNull(client: Client): boolean {
    const now = clock.nowMs();
    const recent = (nullAsks.get(client.name) ?? []).filter((atMs) => atMs > now - 60_000);
    if (recent.length >= NULL_ASKS_A_MINUTE) return false;
    recent.push(now);
    nullAsks.set(client.name, recent);
    return true;
  }

  function refuse(request: Request, refusal: Refusal, view: PacketView | null): void {
    const { sentence, prompt } = REFUSALS[refusal];
    counters.count(`refused_${refusal}`);
    log.warn(`request refused: ${sentence}`, { reason: refusal, ...senderOf(request) });
    const eap = refusal === "eap" ? view?.value("eapMessage") ?? null : null;
    const reply = rejectReply(prompt);
    answer(request, eap === null ? reply : { ...reply, eapIdentifier: eap[1] ?? 0 }, refusal, null);
  }

  function acceptReply(): Reply {
    return { name: "Access-Accept", message: "", attributes: deps.acceptAttributes };
  }

  function rejectReply(prompt: Prompt): Reply {
    return { name: "Access-Reject", message: PROMPTS[prompt].text };
  }

  function challengeOf(conversation: Conversation): Reply {
    const { at, token, prompt, numbers, numberToMatch } = conversation;
    const message = renderPrompt(prompt ?? "menu", { enabled: deps.enabled, numberToMatch, numbers });
    return { name: "Access-Challenge", message, state: token === null ? at : `${at}.${token}` };
  }

  /** Answers after the commit; a Reject no sooner than a second after reception. */
  function answer(request: Request, reply: Reply, row: string, conversation: Conversation | null): void {
    if (reply.name !== "Access-Reject") return deliver(request, reply, row, conversation);
    if (delayed >= MOST_DELAYED) return drop(request, "too_busy", { keepSlot: true });
    delayed++;
    const jitter = ((deps.random.bytes(1)[0] as number) / 256) * REJECT_JITTER_MS;
    const waitMs = Math.max(0, request.receivedMs + REJECT_DELAY_MS + jitter - clock.nowMs());
    clock.after(waitMs, () => {
      delayed--;
      deliver(request, reply, row, conversation);
    });
  }

  function deliver(request: Request, reply: Reply, row: string, conversation: Conversation | null): void {
    let octets: Uint8Array<ArrayBuffer>;
    try {
      octets = writeReply(request, reply);
    } catch (fault) {
      log.error("a reply could not be written", { row, fault: String(fault), ...senderOf(request) });
      return drop(request, "too_busy", { keepSlot: true });
    }
    request.slot.reply = octets;
    deps.send(request, octets);
    counters.count(
      reply.name === "Access-Accept" ? "accepts" : reply.name === "Access-Reject" ? "rejects" : "challenges",
    );
    if (log.enabled("info")) {
      log.info(reply.name, {
        ...senderOf(request),
        user: request.userName,
        id: request.octets[1],
        step: conversation?.outcome ?? conversation?.at,
        row,
        conversation: conversation?.orderedId,
        tookMs: performance.now() - request.startedAt,
      });
    }
  }

  function drop(
    request: Request,
    reason: "overtaken" | "too_busy" | "store_failed",
    options: { keepSlot?: boolean } = {},
  ): void {
    counters.drop(reason);
    if (options.keepSlot !== true) deps.release(request);
    deps.emit({
      kind: "drop",
      atMs: clock.nowMs(),
      reason,
      source: request.sender.hostname,
      client: request.client.name,
    });
  }

  function logRequest(request: Request): void {
    const { client, octets } = request;
    counters.count("requests");
    if (client.anyAddress) {
      log.warn(
        "any client address is accepted: configure [[radius.client]] to take only known ones",
        senderOf(request),
      );
    }
    if (!log.enabled("info")) return;
    const { shown, unknown } = describeAttributes(octets, octets.length);
    log.info("Access-Request", { ...senderOf(request), id: octets[1], attributes: shown });
    for (const type of unknown) log.info(`attribute ${type} is unknown, skipped`, senderOf(request));
  }

  function needsToken({ distinct }: Tuple): string | null {
    const { stateForm } = deps;
    return stateForm === "token" || (stateForm === "auto" && !distinct)
      ? newToken(deps.random.bytes(16))
      : null;
  }

  function newConversation(
    login: {
      client: Client;
      user: string;
      shownUser: string;
      source: string;
      place: string;
      tuple: string;
      token: string | null;
      passwordDigest: string;
      firstFactorRight: boolean;
    },
  ): Conversation {
    const now = clock.nowMs();
    return {
      ...login,
      client: login.client.name,
      orderedId: deps.orderedId(),
      secretId: newSecretId(deps.random.bytes(16)),
      startedMs: now,
      updatedMs: now,
      deadlineMs: now + deps.conversationTtlMs,
      at: "start",
      round: 0,
      factor: null,
      requestId: null,
      pairingId: null,
      newPairingId: null,
      numberToMatch: null,
      passcode: null,
      numbers: [],
      prompt: null,
      lastAnswer: null,
      outcome: null,
      moments: [],
      stored: "not",
    };
  }

  /** Cancel: a new conversation in the place of the old one; the first factor that was right stays right. */
  function startOver(old: Conversation): Conversation {
    const now = clock.nowMs();
    const next: Conversation = {
      ...old,
      orderedId: deps.orderedId(),
      secretId: newSecretId(deps.random.bytes(16)),
      token: old.token === null ? null : newToken(deps.random.bytes(16)),
      startedMs: now,
      updatedMs: now,
      deadlineMs: now + deps.conversationTtlMs,
      round: 0,
      factor: null,
      requestId: null,
      pairingId: null,
      newPairingId: null,
      numberToMatch: null,
      passcode: null,
      numbers: [],
      lastAnswer: null,
      outcome: null,
      moments: [],
      stored: "not",
    };
    conversations.add(next);
    return next;
  }

  function newAttempt(request: Request, typed: Pick<Attempt, "answer" | "password" | "appended">): Attempt {
    return {
      ...typed,
      client: request.client,
      receivedMs: request.receivedMs,
      mayAskNull: false,
      firstFactor: null,
      decision: null,
      pairing: null,
      messageSent: false,
      newPairingTotpLength: 0,
      totp: undefined,
    };
  }

  return {
    accept,
    async drain(deadlineMs) {
      const end = clock.nowMs() + deadlineMs;
      while ((works.size > 0 || delayed > 0) && clock.nowMs() < end) {
        await new Promise<void>((resolve) => void clock.after(20, resolve));
      }
    },
    get working() {
      return works.size;
    },
  };
}

const text = new TextDecoder();

function placeOf(view: PacketView): string {
  const calling = view.value("callingStationId");
  return calling === null ? "" : text.decode(calling);
}

function senderOf({ client, sender }: Request): { client: string; source: string } {
  return { client: client.name, source: sender.hostname };
}

function authenticatorText(request: Request): string {
  return toBase64Url(authenticatorOf(request.octets));
}

/** The same packet as the one that was worked on last: a retransmission that arrived after a restart. */
function isSamePacket({ lastAnswer }: Conversation, request: Request): boolean {
  return lastAnswer !== null && lastAnswer.authenticator === authenticatorText(request);
}
