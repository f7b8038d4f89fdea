// Handles requests that passed the packet gate: finds or begins their conversation, runs it, and answers.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Log } from "../../platform/log.ts";
import { toBase64Url } from "../../platform/runtime.ts";
import { AUTHENTICATOR_AT, MAX_PASSWORD_OCTETS, type PacketView } from "../protocol/packet.ts";
import { createHmacMd5, type HmacMd5, MD5_OCTETS } from "../protocol/md5.ts";
import { readAnswer, readAppended } from "../protocol/login_input.ts";
import { type Step, stepByName } from "../protocol/steps.ts";
import {
  findByState,
  findSameLogin,
  isReissued,
  isSamePacket,
  RequestRunner,
  type RunInput,
  wasCutOff,
} from "./request_runner.ts";
import {
  callingStation,
  findRefusal,
  newLoginAttempt,
  readView,
  type Request,
  type RequestRefusal,
} from "../server/request.ts";
import { logRequest, Responder, type ResponderDeps } from "../server/responder.ts";
import { GarbledPasswordCheck, mustChangeNothing, type UnsignedLimits } from "../server/unsigned_requests.ts";
import {
  type Conversation,
  newConversation,
  type NewLogin,
  placeOfTuple,
  type Tuple,
  tupleOf,
} from "./conversation.ts";
import { DirectoryWaitQueue } from "./directory_wait_queue.ts";
import { recordJoin } from "./login_history.ts";
import type { StateMachineDeps } from "./turn.ts";
import { Rejections } from "./rejections.ts";
import type { SharedTuples } from "./shared_tuples.ts";
import { type PacketWork, WorkQueue } from "./work_queue.ts";

export interface RequestHandlerDeps extends Omit<StateMachineDeps, "startOver">, ResponderDeps {
  readonly sharedTuples: SharedTuples;
  readonly unsignedLimits: UnsignedLimits;
  /** The form of State. `auto` adds a token if the tuple does not distinguish logins. */
  readonly stateForm: "auto" | "name" | "token";
  readonly conversationTtlMs: number;
  readonly loginJoinWindowMs: number;
  readonly log: Log;
}

/** The password of a login, or an answer. */
interface TypedInput {
  readonly tuple: Tuple;
  readonly octets: Uint8Array;
  readonly digest: string;
}

interface LoginInput extends TypedInput {
  readonly user: string;
  readonly place: string;
}

/** Requests in progress; held ones count. */
const MAX_IN_PROGRESS = 50_000;
/** Different answers to one challenge that can wait. */
const MAX_WAITING_ANSWERS = 4;

export class RequestHandler {
  readonly #deps: RequestHandlerDeps;
  readonly #responder: Responder;
  readonly #rejections: Rejections;
  readonly #waitQueue: DirectoryWaitQueue;
  readonly #garbledPasswords: GarbledPasswordCheck;
  readonly #works: WorkQueue;
  readonly #runner: RequestRunner;
  /** The key exists as long as the process. Digests under it are never stored. */
  readonly #digestKey: HmacMd5;
  /** Reused for each packet, so a value that is needed after the call is copied. */
  readonly #plain = new Uint8Array(MAX_PASSWORD_OCTETS);
  readonly #digest = new Uint8Array(MD5_OCTETS);

  constructor(deps: RequestHandlerDeps) {
    this.#deps = deps;
    this.#responder = new Responder(deps);
    this.#rejections = new Rejections(deps, this.#responder);
    this.#waitQueue = new DirectoryWaitQueue(deps);
    this.#digestKey = createHmacMd5(deps.random.bytes(32));
    this.#garbledPasswords = new GarbledPasswordCheck(deps);
    this.#works = new WorkQueue({ joinWindowMs: deps.loginJoinWindowMs });
    const { sharedTuples, packets, log } = deps;
    this.#runner = new RequestRunner({
      machine: { ...deps, startOver: (old) => this.#startOver(old) },
      responder: this.#responder,
      works: this.#works,
      ...{ sharedTuples, packets, log },
    });
  }

  get working(): number {
    return this.#works.size + this.#waitQueue.waiting;
  }

  /** Handles an Access-Request. `view` is only read before the first wait. */
  accept(request: Request, view: PacketView): void {
    this.#deps.counters.count("requests");
    const refusal = findRefusal(view, request.userName) ??
      (request.signed ? null : this.#findGarbledPassword(request, view));
    if (refusal === null && !this.#deps.unsignedLimits.mayBegin(request, view)) {
      return this.#responder.drop(request, "rate_limited");
    }
    if (refusal !== null) return this.#rejections.refuse(request, refusal, { view, isLogged: false });
    logRequest(this.#deps, request);
    const user = canonicalName(request.userName);
    const pending = this.#waitQueue.pendingFor(user);
    if (pending === null) return this.#admit(request, view, user);
    // The view is reused for the next datagram, so this packet is read again later.
    this.#wait(request, { user, pending }, () => this.#admit(request, readView(request), user));
  }

  /** Resolves when no request is in progress, or after `deadlineMs`. */
  async drain(deadlineMs: number): Promise<void> {
    const { clock, folded } = this.#deps;
    const end = clock.nowMs() + deadlineMs;
    while ((this.working > 0 || this.#responder.delayed > 0) && clock.nowMs() < end) {
      await new Promise<void>((resolve) => void clock.after(20, resolve));
    }
    folded.flush();
  }

  /** Begins a new conversation after Cancel. A right first factor stays right, but the deadline is not extended. */
  #startOver(old: Conversation): Conversation {
    const isShared = this.#deps.stateForm === "auto" &&
      this.#deps.sharedTuples.isShared(placeOfTuple(old.tuple, old.user));
    const begun = this.#begin({ ...old, hasToken: old.hasToken || isShared });
    const next = old.firstFactorRight ? { ...begun, deadlineMs: old.deadlineMs } : begun;
    this.#deps.conversations.add(next);
    return next;
  }

  #begin(login: NewLogin): Conversation {
    const { orderedId, clock, conversationTtlMs: ttlMs } = this.#deps;
    return newConversation(login, { orderedId: orderedId(), nowMs: clock.nowMs(), ttlMs });
  }

  /** Reveals the password into `#plain`. Returns its length, or -1 if the hidden one has an impossible length. */
  #reveal({ client, octets }: Request, view: PacketView): number {
    const hidden = view.value("userPassword");
    if (hidden === null) return 0;
    const place = { authenticator: octets, at: AUTHENTICATOR_AT };
    return client.secret.revealPasswordInto(this.#plain, hidden, place);
  }

  /** Refuses an unsigned packet with a garbled password, because anyone can send it. */
  #findGarbledPassword(request: Request, view: PacketView): RequestRefusal | null {
    const length = request.proven ? this.#reveal(request, view) : 0;
    return length > 0 && this.#garbledPasswords.isRefused(request.octets, this.#plain.subarray(0, length))
      ? "garbled_password"
      : null;
  }

  #wait(request: Request, packet: { user: string; pending: Promise<void> }, resume: () => void): void {
    this.#waitQueue.enqueue(packet, { resume, fail: (why) => this.#responder.drop(request, why) });
  }

  #admit(request: Request, view: PacketView, user: string): void {
    const length = this.#reveal(request, view);
    if (length < 0) return this.#rejections.refuse(request, "bad_password_length", { view, isLogged: true });
    if (this.#works.size >= MAX_IN_PROGRESS) return this.#responder.drop(request, "too_busy");
    const octets = this.#plain.subarray(0, length);
    const tuple = tupleOf(view, request.client.name, user);
    this.#digestKey.signInto(octets, 0, length, this.#digest, 0);
    const digest = toBase64Url(this.#digest);
    const state = view.value("state");
    if (state !== null) return this.#resume(request, { tuple, octets, digest, state: readAnswer(state) });
    this.#login(request, { tuple, octets, digest, user, place: callingStation(view) });
  }

  /** Handles an Access-Request without State: a new login, or one that is already in progress. */
  #login(request: Request, login: LoginInput): void {
    const { policy } = request.client;
    const { tuple, digest } = login;
    const password = policy.firstFactor === "none" && !policy.appendMode
      ? login.octets
      : login.octets.slice();
    const typed = policy.appendMode ? readAppended(password, policy) : { password, appended: null };
    const attempt = newLoginAttempt(request, { answer: null, ...typed });
    const input = { attempt, state: null, digest, hasPassword: typed.password.length > 0, replaces: null };
    const newest = this.#deps.conversations.newestOn(tuple.key);
    const known = findSameLogin(this.#deps.conversations, newest, { request, digest });
    if (known === null) return this.#newLogin(request, { ...login, input, newest });
    if (this.#works.find(known) !== undefined || !wasCutOff(known, typed.appended, policy)) {
      return this.#runner.repeat(request, known);
    }
    this.#runner.run([request], known, { ...input, attempt: { ...attempt, holdsAgain: true } });
  }

  #newLogin(request: Request, login: LoginInput & { input: RunInput; newest: Conversation | null }): void {
    const { tuple, digest, user, place, input, newest } = login;
    const { conversations, sharedTuples, stateForm } = this.#deps;
    const { policy, name: client } = request.client;
    const older = newest !== null && this.#isLive(newest) ? newest : null;
    const wasDistinct = older !== null && tuple.distinct && !sharedTuples.isShared(tuple.place);
    const joined = wasDistinct && input.hasPassword
      ? this.#works.joinable({ request, tuple: tuple.key, digest })
      : null;
    if (joined !== null) return this.#join(request, joined);
    if (!conversations.hasRoom(request)) return this.#responder.drop(request, "too_busy");
    const isRival = older !== null && older.signed && !request.signed;
    const isDistinct = tuple.distinct && sharedTuples.distinguishes({
      place: tuple.place,
      user,
      busy: older !== null,
      proven: request.proven && !isRival,
    });
    const conversation = this.#begin({
      client,
      user,
      shownUser: request.userName,
      source: request.source,
      place,
      tuple: tuple.key,
      // The bare name never selects an unsigned login while there is a signed one.
      hasToken: isRival || stateForm === "token" || (stateForm === "auto" && !isDistinct),
      signed: request.signed,
    });
    const isReplaced = older !== null && !isRival && (wasDistinct || stateForm === "name");
    conversations.add(conversation, { behind: isReplaced && policy.firstFactor !== "none" });
    this.#runner.run([request], conversation, { ...input, replaces: isReplaced ? older.orderedId : null });
  }

  #isLive({ outcome, deadlineMs }: Conversation): boolean {
    return outcome === null && deadlineMs > this.#deps.clock.nowMs();
  }

  /** Lets a re-issued login wait for the answer of the unanswered one. */
  #join(request: Request, work: PacketWork): void {
    this.#deps.counters.count("logins_joined");
    const [first] = work.requests;
    if (first !== undefined) recordJoin(this.#deps, work.conversation, { first, joined: request });
    this.#runner.takeOver(request, work);
  }

  /** Handles an Access-Request with State: the answer to a challenge. */
  #resume(request: Request, answer: TypedInput & { state: string }): void {
    const dot = answer.state.indexOf(".");
    const step = stepByName(dot < 0 ? answer.state : answer.state.slice(0, dot));
    if (step === null) {
      return this.#rejections.refuse(request, "unknown_state", { view: null, isLogged: true });
    }
    const token = dot < 0 ? null : answer.state.slice(dot + 1);
    const conversation = findByState(this.#deps, request, { tuple: answer.tuple.key, step, token });
    if (conversation === null) return this.#rejections.gone(request, step);
    const { digest, octets } = answer;
    if (isSamePacket(conversation, request, { state: step, digest })) {
      return this.#runner.repeat(request, conversation);
    }
    const work = this.#works.find(conversation);
    if (mustChangeNothing(request, conversation)) {
      const isRepeatable = work === undefined && this.#isLive(conversation) && conversation.at === step &&
        request.source === conversation.source;
      return isRepeatable ? this.#runner.repeat(request, conversation) : this.#rejections.gone(request, step);
    }
    if (work !== undefined) return this.#answerInProgress(request, work, { ...answer, step });
    if (!this.#isLive(conversation)) return this.#rejections.gone(request, step);
    if (conversation.at !== step) {
      const sinceMs = request.receivedMs - this.#deps.loginJoinWindowMs;
      return isReissued(conversation, { step, digest, sinceMs })
        ? this.#runner.repeat(request, conversation)
        : this.#rejections.gone(request, step);
    }
    const attempt = newLoginAttempt(request, { answer: readAnswer(octets) });
    const hasPassword = octets.length > 0;
    this.#runner.run([request], conversation, { attempt, state: step, digest, hasPassword, replaces: null });
  }

  /** Handles an answer while another one is in progress. The same answer joins it; a different one waits. */
  #answerInProgress(
    request: Request,
    work: PacketWork,
    answer: TypedInput & { state: string; step: Step },
  ): void {
    if (work.state !== answer.step) return this.#rejections.gone(request, answer.step);
    if (work.digest === answer.digest) return this.#runner.takeOver(request, work);
    if (work.waiting >= MAX_WAITING_ANSWERS) return this.#responder.drop(request, "too_busy");
    work.waiting++;
    const copy = { ...answer, octets: answer.octets.slice() };
    const user = canonicalName(request.userName);
    const resume = () => {
      const pending = this.#waitQueue.pendingFor(user);
      if (pending === null) return this.#resume(request, copy);
      this.#wait(request, { user, pending }, () => this.#resume(request, copy));
    };
    void work.result.then(resume, resume);
  }
}
