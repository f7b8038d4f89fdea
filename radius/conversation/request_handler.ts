// The gateway: takes requests that passed the gate, finds or begins their conversation, lets it be played, and answers.

import type { Log } from "../../platform/log.ts";
import { toBase64Url } from "../../platform/runtime.ts";
import { type Step, stepByName } from "../protocol/steps.ts";
import { AUTHENTICATOR_AT, MAX_PASSWORD_OCTETS } from "../protocol/codes.ts";
import { createHmacMd5, MD5_OCTETS } from "../protocol/md5.ts";
import type { PacketView } from "../protocol/packet.ts";
import { readAnswer, readAppended } from "../protocol/password.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { type Tuple, tupleOf } from "./session_key.ts";
import { type AnswerDeps, createAnswers } from "../server/responder.ts";
import { newAttempt } from "../server/request_context.ts";
import { createBeginnings } from "./new_conversation.ts";
import type { Conversation } from "./conversation.ts";
import { recordJoin } from "./login_audit.ts";
import type { MachineDeps } from "./login_round.ts";
import { createGarbledPasswordCheck } from "../server/garbled_password.ts";
import { createPreparing } from "./directory_wait_queue.ts";
import { createRejections } from "./rejections.ts";
import { callingStation, findRefusal, type Refusal, type Request, viewOf } from "../server/request.ts";
import { logRequest } from "../server/request_log.ts";
import { RequestRunner } from "./request_runner.ts";
import { findSameLogin, isReissued, isSamePacket, wasCutOff } from "../server/is_retransmission.ts";
import type { SharedTuples } from "./shared_tuples.ts";
import type { UnsignedLimits } from "../server/unsigned_limits.ts";
import { mustChangeNothing } from "../server/unsigned_requests.ts";
import { createWorks, type Work } from "./work_queue.ts";

export interface GatewayDeps extends Omit<MachineDeps, "startOver">, AnswerDeps {
  readonly sharedTuples: SharedTuples;
  readonly unsignedLimits: UnsignedLimits;
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

/** What was typed at a login or as an answer. */
interface Typed {
  readonly tuple: Tuple;
  readonly octets: Uint8Array;
  readonly digest: string;
}

/** Requests under way at once; held ones count. */
const MAX_WORKS = 50_000;
/** Different answers to one challenge at once. */
const MOST_WAITING = 4;
const NOTHING = new Uint8Array(0);

export function createGateway(deps: GatewayDeps): Gateway {
  const { conversations, clock, log, counters } = deps;
  const answers = createAnswers(deps);
  const beginnings = createBeginnings(deps);
  const preparing = createPreparing(deps);
  const { sharedTuples, unsignedLimits, tokenOf } = deps;
  // The key ends with the process: what is compared with it is never stored.
  const joinKey = createHmacMd5(deps.random.bytes(32));
  const garbledPasswords = createGarbledPasswordCheck(deps);
  const { gone, refuse } = createRejections(deps, answers);
  const works = createWorks({ joinWindowMs: deps.loginJoinWindowMs });
  const machine: MachineDeps = { ...deps, startOver };
  const runner = new RequestRunner({ machine, answers, works, sharedTuples, packets: deps.packets, log });

  function startOver(old: Conversation): Conversation {
    const next = beginnings.startOver(old);
    conversations.add(next);
    return next;
  }

  /** Used again for every packet, so what outlives the call is copied. */
  const plain = new Uint8Array(MAX_PASSWORD_OCTETS);
  const digest = new Uint8Array(MD5_OCTETS);

  function digestOf(typed: Uint8Array): string {
    joinKey.signInto(typed, 0, typed.length, digest, 0);
    return toBase64Url(digest);
  }

  /** Reveals the password into `plain`. Returns its length, or -1 if the hidden one has an impossible length. */
  function reveal({ client, octets }: Request, view: PacketView): number {
    const hidden = view.value("userPassword");
    if (hidden === null) return 0;
    return client.secret.revealPasswordInto(plain, hidden, { authenticator: octets, at: AUTHENTICATOR_AT });
  }

  function accept(request: Request, view: PacketView): void {
    counters.count("requests");
    const refusal = findRefusal(view, request.userName) ??
      (request.signed ? null : findGarbledPassword(request, view));
    if (refusal === null && !unsignedLimits.mayBegin(request, view)) {
      return answers.drop(request, "rate_limited");
    }
    if (refusal !== null) return refuse(request, refusal, { view, isLogged: false });
    logRequest(deps, request);
    const user = canonicalName(request.userName);
    const pending = preparing.ask(user);
    if (pending === null) return admit(request, view, user);
    // The view is used again for the next datagram: this packet is read once more when its turn comes.
    wait(request, { user, pending }, () => admit(request, viewOf(request), user));
  }

  /** An unsigned packet with a garbled password: anyone can send it. */
  function findGarbledPassword(request: Request, view: PacketView): Refusal | null {
    const length = request.proven ? reveal(request, view) : 0;
    return length > 0 && garbledPasswords.isRefused(request.octets, plain.subarray(0, length))
      ? "garbled_password"
      : null;
  }

  function wait(
    request: Request,
    what: { user: string; pending: Promise<void> },
    go: () => void,
  ): void {
    preparing.wait(what, { go, fail: (why) => answers.drop(request, why) });
  }

  function admit(request: Request, view: PacketView, user: string): void {
    const length = reveal(request, view);
    if (length < 0) return refuse(request, "bad_password_length", { view, isLogged: true });
    if (works.size >= MAX_WORKS) return answers.drop(request, "too_busy");
    const typed = plain.subarray(0, length);
    const tuple = tupleOf(view, request.client.name, user);
    const login: Typed = { tuple, octets: typed, digest: digestOf(typed) };
    const state = view.value("state");
    if (state === null) return begin(request, { ...login, user, place: callingStation(view) });
    resume(request, { ...login, state: readAnswer(state) });
  }

  /** An Access-Request without State: a new login, or one that is in progress already. */
  function begin(request: Request, login: Typed & { user: string; place: string }): void {
    const { policy, name: client } = request.client;
    const { tuple, digest, user } = login;
    const password = policy.firstFactor === "none" && !policy.appendMode
      ? login.octets
      : login.octets.slice();
    const typed = policy.appendMode ? readAppended(password, policy) : { password, appended: null };
    const attempt = newAttempt(request, { answer: null, ...typed });
    const hasPassword = typed.password.length > 0;
    const newest = conversations.newestOn(tuple.key);
    const known = findSameLogin(conversations, newest, { request, digest });
    if (known !== null) {
      if (works.of(known) !== undefined || !wasCutOff(known, typed.appended, policy)) {
        return runner.repeat(request, known);
      }
      const held = { attempt: { ...attempt, holdsAgain: true }, state: null, digest, hasPassword };
      return runner.run([request], known, { ...held, replaces: null });
    }
    const older = newest !== null && isLive(newest) ? newest : null;
    const wasDistinct = older !== null && tuple.distinct && !sharedTuples.isShared(tuple.place);
    const running = wasDistinct && hasPassword ? works.joinable({ request, tuple: tuple.key, digest }) : null;
    if (running !== null) return join(request, running);
    if (!conversations.hasRoom(request)) return answers.drop(request, "too_busy");
    const isRival = older !== null && older.signed && !request.signed;
    const isDistinct = tuple.distinct && sharedTuples.distinguishes({
      place: tuple.place,
      user,
      busy: older !== null,
      proven: request.proven && !isRival,
    });
    const conversation = beginnings.login({
      client,
      user,
      shownUser: request.userName,
      source: request.source,
      place: login.place,
      tuple: tuple.key,
      // An unsigned login beside a signed one is never selected by its name.
      hasToken: isRival || deps.stateForm === "token" || (deps.stateForm === "auto" && !isDistinct),
      signed: request.signed,
    });
    const isReplaced = older !== null && !isRival && (wasDistinct || deps.stateForm === "name");
    const replaces = isReplaced ? older.orderedId : null;
    conversations.add(conversation, { behind: isReplaced && policy.firstFactor !== "none" });
    runner.run([request], conversation, { attempt, state: null, digest, hasPassword, replaces });
  }

  function isLive({ outcome, deadlineMs }: Conversation): boolean {
    return outcome === null && deadlineMs > clock.nowMs();
  }

  /** A re-issued login waits for the answer of the one that is not answered yet. */
  function join(request: Request, work: Work): void {
    counters.count("logins_joined");
    const [first] = work.requests;
    if (first !== undefined) recordJoin(deps, work.conversation, { first, joined: request });
    runner.takeOver(request, work);
  }

  /** An Access-Request with State: the answer to a challenge. */
  function resume(request: Request, answer: Typed & { state: string }): void {
    const dot = answer.state.indexOf(".");
    const step = stepByName(dot < 0 ? answer.state : answer.state.slice(0, dot));
    if (step === null) return refuse(request, "unknown_state", { view: null, isLogged: true });
    const token = dot < 0 ? null : answer.state.slice(dot + 1);
    const conversation = findByState(request, { tuple: answer.tuple.key, step, token });
    if (conversation === null) return gone(request, step);
    if (isSamePacket(conversation, request, { state: step, digest: answer.digest })) {
      return runner.repeat(request, conversation);
    }
    const work = works.of(conversation);
    if (mustChangeNothing(request, conversation)) {
      const isRepeatable = work === undefined && isLive(conversation) && conversation.at === step &&
        request.source === conversation.source;
      return isRepeatable ? runner.repeat(request, conversation) : gone(request, step);
    }
    if (work !== undefined) return meanwhile(request, work, { ...answer, step });
    if (!isLive(conversation)) return gone(request, step);
    if (conversation.at !== step) {
      const { digest } = answer;
      const again = isReissued(conversation, {
        step,
        digest,
        sinceMs: request.receivedMs - deps.loginJoinWindowMs,
      });
      return again ? runner.repeat(request, conversation) : gone(request, step);
    }
    const typed = { answer: readAnswer(answer.octets), password: NOTHING, appended: null };
    const attempt = newAttempt(request, typed);
    const hasPassword = answer.octets.length > 0;
    runner.run([request], conversation, {
      ...{ attempt, state: step, digest: answer.digest, hasPassword, replaces: null },
    });
  }

  /** The conversation that a State belongs to. An unsigned packet never answers one that began signed. */
  function findByState(
    { signed }: Request,
    { tuple, step, token }: { tuple: string; step: Step; token: string | null },
  ): Conversation | null {
    const found = token === null ? conversations.bareOn(tuple) : conversations.byToken(token);
    if (found === null || found.tuple !== tuple || (found.signed && !signed)) return null;
    return token === null || tokenOf(found.orderedId, step) === token ? found : null;
  }

  /** An answer while another one is being worked on: the same one again takes its place, a different one waits. */
  function meanwhile(request: Request, work: Work, answer: Typed & { state: string; step: Step }): void {
    if (work.state !== answer.step) return gone(request, answer.step);
    if (work.digest === answer.digest) return runner.takeOver(request, work);
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

  return {
    accept,
    async drain(deadlineMs) {
      const end = clock.nowMs() + deadlineMs;
      while ((works.size + preparing.waiting > 0 || answers.delayed > 0) && clock.nowMs() < end) {
        await new Promise<void>((resolve) => void clock.after(20, resolve));
      }
      deps.folded.flush();
    },
    get working() {
      return works.size + preparing.waiting;
    },
  };
}
