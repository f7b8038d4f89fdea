// Handles requests that passed the packet gate: finds or begins their conversation, runs it, and answers.

import type { Log } from "../../platform/log.ts";
import { pauseFor, type Random } from "../../platform/runtime.ts";
import {
  AUTHENTICATOR_AT,
  MAX_PASSWORD_OCTETS,
  type PacketView,
  sixteenOctetText,
} from "../protocol/packet.ts";
import { typedOctets } from "../protocol/attributes.ts";
import { isSshdPassword, readAnswer } from "../protocol/login_input.ts";
import { EapGtc, type PacketInput } from "./eap_gtc.ts";
import { RequestRunner } from "./request_runner.ts";
import { loginInput } from "./run_input.ts";
import { AnswerHandler, type LoginSettings, type TypedInput } from "./answer_handler.ts";
import { isSamePassword, type PasswordDigests, PeerDigests, type PeerNodes } from "./peers.ts";
import {
  findSameLogin,
  isBeingSent,
  isReissuedElsewhere,
  isUndecided,
  wasCutOff,
} from "./retransmissions.ts";
import {
  callingStation,
  type CheckedFirstFactor,
  findRefusal,
  isRelayedRequest,
  type LoginAttempt,
  newLoginAttempt,
  readView,
  type Request,
  type RequestRefusal,
} from "../server/request.ts";
import { acceptFaultOf, logRequest, Responder, type ResponderDeps } from "../server/responder.ts";
import { GarbledPasswordCheck, type UnsignedLimits } from "../server/unsigned_requests.ts";
import { type Conversation, isLive, newConversation, type NewLogin } from "./conversation.ts";
import { placeOfTuple, tupleOf } from "./tuple.ts";
import { readTypedPassword, type TypedPasswordDeps } from "./typed_password.ts";
import { DirectoryWaitQueue } from "./directory_wait_queue.ts";
import { recordJoin } from "./login_history.ts";
import type { StateMachineDeps } from "./turn.ts";
import { type RelayDeps, RelayHandler } from "../relay/relay_handler.ts";
import { RelayedLogins } from "./relayed_logins.ts";
import type { SharedTuples } from "./shared_tuples.ts";
import { type PacketWork, WorkQueue } from "./work_queue.ts";
import { ShadowForwarder, type ShadowForwarderDeps } from "../shadow/shadow_forwarder.ts";
import { PrefixViews } from "../../platform/prefix_views.ts";
import { createHmacMd5, type HmacMd5, MD5_OCTETS } from "../protocol/md5.ts";
import { mayRelay } from "../../platform/upgrade/store_format.ts";

interface RequestHandlerDeps
  extends
    Omit<StateMachineDeps, "startOver">,
    ResponderDeps,
    TypedPasswordDeps,
    Omit<ShadowForwarderDeps, "responder"> {
  readonly sharedTuples: SharedTuples;
  readonly unsignedLimits: UnsignedLimits;
  readonly logins: LoginSettings;
  /** Random, so that clients cannot predict the hashes of tuples. */
  readonly hashSeed: number;
  readonly log: Log;
  readonly peers: PeerNodes;
  /** The servers that relayed requests go to. */
  readonly exchange: RelayDeps["exchange"];
}

interface LoginInput extends TypedInput {
  readonly user: string;
  readonly place: string;
  /** Of the packets before the login; "" for none. */
  readonly trace: string;
}

/** Requests in progress; held ones count. */
const MAX_IN_PROGRESS = 50_000;
/** A packet that lost so many races is dropped. Its client sends it again. */
const MAX_RETRIES = 5;

export class RequestHandler {
  readonly #deps: RequestHandlerDeps;
  readonly #responder: Responder;
  readonly #waitQueue: DirectoryWaitQueue;
  readonly #garbledPasswords: GarbledPasswordCheck;
  readonly #works: WorkQueue;
  readonly #runner: RequestRunner;
  readonly #passwords: PasswordReader;
  readonly #gtc: EapGtc;
  readonly #answers: AnswerHandler;
  readonly #relay: RelayHandler;
  readonly #shadow: ShadowForwarder;
  /** Requests that were handled again, because another packet changed what they depend on. */
  readonly #retries = new WeakMap<
    Request,
    { readonly count: number; readonly checked: CheckedFirstFactor }
  >();

  constructor(deps: RequestHandlerDeps) {
    this.#deps = deps;
    this.#responder = new Responder(deps);
    this.#shadow = new ShadowForwarder({ ...deps, responder: this.#responder });
    this.#waitQueue = new DirectoryWaitQueue(deps);
    this.#passwords = new PasswordReader(deps);
    this.#gtc = new EapGtc(deps);
    this.#garbledPasswords = new GarbledPasswordCheck(deps);
    this.#works = new WorkQueue({
      joinWindowMs: () => deps.logins.loginJoinWindowMs,
      hashSeed: deps.hashSeed,
    });
    deps.conversations.isRunning = (orderedId) => this.#works.has(orderedId);
    const { sharedTuples, packets, log } = deps;
    this.#runner = new RequestRunner({
      machine: {
        ...deps,
        startOver: (old) => this.#startOver(old),
        acceptFault: (conversation, attempt) => acceptFaultOf(deps, conversation, attempt),
      },
      responder: this.#responder,
      works: this.#works,
      retry: (request, checked) => this.#retry(request, checked),
      ...{ sharedTuples, packets, log },
    });
    this.#answers = new AnswerHandler({
      ...deps,
      works: this.#works,
      runner: this.#runner,
      responder: this.#responder,
      whenUserIsKnown: (request, resume) => this.#whenUserIsKnown(request, resume),
    });
    const relayedLogins = new RelayedLogins({
      ...deps,
      responder: this.#responder,
      runner: this.#runner,
      waitQueue: this.#waitQueue,
      digests: (octets, context) => this.#passwords.digests(octets, context),
      newConversation: (login) => this.#begin(login),
      refuseSeveral: (request) => this.#refuseSeveral(request),
      relayAgain: (request) => this.#relay.accept(request),
      resume: (request, known, typed) =>
        this.#continue(request, known, { attempt: newLoginAttempt(request, { answer: null }), typed }),
    });
    this.#relay = new RelayHandler({
      ...deps,
      responder: this.#responder,
      isLocked: (name) => {
        const found = this.#waitQueue.pendingFor(name.canonical) ?? this.#waitQueue.userOf(name);
        if (found === "several" || found instanceof Promise) return found;
        return deps.limits.isLocked(found.canonical);
      },
      wait: (request, pending, resume) => this.#wait(request, { user: request.user, pending }, resume),
      relayedLogins,
    });
  }

  get working(): number {
    return this.#works.size + this.#waitQueue.waiting + this.#relay.working + this.#shadow.working;
  }

  /** A request arrived again while it waits for its answer. */
  noteCopy({ slot }: Pick<Request, "slot">): void {
    this.#shadow.noteCopy(slot);
  }

  /** Handles an Access-Request. `view` is only read before the first wait. */
  accept(request: Request, view: PacketView): void {
    if (request.client.settings.mode === "shadow") return this.#shadowed(request, view);
    if (request.name.isHealthCheck) {
      return this.#responder.rejectHealthCheck(request);
    }
    this.#deps.counters.count("requests");
    const refusal = findRefusal(view, request) ?? this.#findMixedRefusal(request, view) ??
      (request.signed ? null : this.#findGarbledPassword(request, view));
    if (refusal === null && !this.#deps.unsignedLimits.mayBegin(request, view)) {
      return this.#responder.drop(request, "rate_limited");
    }
    if (refusal !== null) return this.#responder.refuse(request, refusal, { isLogged: false });
    logRequest(this.#deps, request);
    this.#prepare(request, view);
  }

  /** Nodes of version 0.2 would misread the login, and refuse its packets. */
  #findMixedRefusal(request: Request, view: PacketView): RequestRefusal | null {
    if (mayRelay(this.#deps.store)) return null;
    return request.hasEap || isRelayedRequest(view, request.client) ? "mixed_versions" : null;
  }

  /** Forwards a request in shadow mode, within the limits of unsigned requests. */
  #shadowed(request: Request, view: PacketView): void {
    if (!this.#deps.unsignedLimits.mayBegin(request, view)) {
      return this.#responder.drop(request, "rate_limited");
    }
    logRequest(this.#deps, request);
    this.#shadow.forward(request, view);
  }

  /** Handles a request, as soon as the directory has its user. That of a relayed request is known only when its server has judged it. */
  #prepare(request: Request, view: PacketView): void {
    const { user } = request;
    if (isRelayedRequest(view, request.client)) return this.#relay.accept(request);
    const pending = this.#waitQueue.pendingFor(user);
    if (pending === null) return this.#findUser(request, view);
    // The view is reused for the next datagram, so this packet is read again later.
    this.#wait(request, { user, pending }, () => this.#findUser(request, readView(request)));
  }

  /** Continues with the user whom the name of a request means. */
  #findUser(request: Request, view: PacketView): void {
    const { user, userName } = request;
    const found = this.#waitQueue.userOf({ canonical: user, shown: userName });
    if (found === "several") return this.#refuseSeveral(request);
    if (found instanceof Promise) {
      return this.#wait(request, { user, pending: found }, () => this.#findUser(request, readView(request)));
    }
    if (found.canonical === user) return this.#admit(request, view, user);
    const named: Request = { ...request, user: found.canonical, userName: found.shown };
    const pending = this.#waitQueue.pendingFor(named.user);
    if (pending === null) return this.#admit(named, view, named.user);
    this.#wait(named, { user: named.user, pending }, () => this.#admit(named, readView(named), named.user));
  }

  #refuseSeveral(request: Request): void {
    this.#responder.refuse(request, "several_users");
  }

  #whenUserIsKnown(request: Request, resume: () => void): void {
    const { user } = request;
    const pending = this.#waitQueue.pendingFor(user);
    if (pending === null) resume();
    else this.#wait(request, { user, pending }, resume);
  }

  #retry(request: Request, { firstFactor, firstFactorReply, passwordChecked }: CheckedFirstFactor): void {
    const count = (this.#retries.get(request)?.count ?? 0) + 1;
    this.#retries.set(request, { count, checked: { firstFactor, firstFactorReply, passwordChecked } });
    if (count > MAX_RETRIES) return this.#responder.drop(request, "store_failed");
    this.#prepare(request, readView(request));
  }

  /** Resolves when no request is in progress, or after `deadlineMs`. */
  async drain(deadlineMs: number): Promise<void> {
    const { clock, folded } = this.#deps;
    const end = clock.nowMs() + deadlineMs;
    while ((this.working > 0 || this.#responder.delayed > 0) && clock.nowMs() < end) {
      await pauseFor(clock, 20);
    }
    folded.flush();
  }

  /** Begins a new conversation after Cancel. A right first factor stays right, but the deadline is not extended. */
  #startOver(old: Conversation): Conversation {
    const isShared = this.#deps.logins.state === "auto" &&
      this.#deps.sharedTuples.isShared(placeOfTuple(old.tuple, old.user));
    const begun = this.#begin({ ...old, hasToken: old.hasToken || isShared });
    const next = old.firstFactorRight ? { ...begun, deadlineMs: old.deadlineMs } : begun;
    this.#deps.conversations.add(next);
    return next;
  }

  #begin(login: NewLogin): Conversation {
    const { orderedId, clock, logins: { conversationTtlMs: ttlMs } } = this.#deps;
    return newConversation(login, { orderedId: orderedId(), nowMs: clock.nowMs(), ttlMs });
  }

  /** Refuses an unsigned packet with a garbled password, because anyone can send it. */
  #findGarbledPassword(request: Request, view: PacketView): RequestRefusal | null {
    const password = request.hasProof ? this.#passwords.reveal(request, view) : null;
    if (password === null || password.length === 0) return null;
    // Random octets are never that text, but it has control characters.
    if (isSshdPassword(password)) return "sshd_password";
    return this.#garbledPasswords.isRefused(request.octets, password) ? "garbled_password" : null;
  }

  #wait(request: Request, packet: { user: string; pending: Promise<void> }, resume: () => void): void {
    this.#waitQueue.enqueue(packet, { resume, fail: (why) => this.#responder.drop(request, why) });
  }

  #admit(request: Request, view: PacketView, user: string): void {
    const input = request.hasEap ? this.#gtc.read(request, view) : this.#passwords.read(request, view);
    if (input.kind === "refused") return this.#responder.refuse(request, input.refusal);
    if (input.kind === "asked") return this.#responder.ask(request, input.asked);
    const octets = typedOctets(input.octets);
    if (!request.name.isUtf8 || octets.buffer !== input.octets.buffer) this.#responder.noteEncoding(request);
    if (this.#works.size >= MAX_IN_PROGRESS) return this.#responder.drop(request, "too_busy");
    const tuple = tupleOf(view, request.client.name, user);
    const typed = this.#passwords.digests(octets, tuple.key);
    const state = input.begins ? null : view.value("state");
    if (state !== null) {
      const checkedBefore = this.#checkedBefore(request);
      return this.#answers.handle(request, { tuple, octets, typed, state: readAnswer(state), checkedBefore });
    }
    this.#login(request, { tuple, octets, typed, user, place: callingStation(view), trace: input.trace });
  }

  /** Handles an Access-Request without State: a new login, or one that is already in progress. */
  #login(request: Request, login: LoginInput): void {
    const { settings, name: client } = request.client;
    const { tuple, typed, user } = login;
    const read = readTypedPassword(this.#deps, login.octets, { user, client, settings });
    // The octets are reused for the next packet, and a first factor is checked later.
    const password = settings.firstFactor === "none" ? read.password : read.password.slice();
    const { appended } = read;
    const checkedBefore = this.#checkedBefore(request);
    const attempt = newLoginAttempt(request, { answer: null, password, appended, checkedBefore });
    const newest = this.#deps.conversations.newestOn(tuple.key);
    const { peers: { node }, sharedTuples, clock, logins: { loginJoinWindowMs: joinWindowMs } } = this.#deps;
    const known = findSameLogin(this.#deps.conversations, newest, { request, typed, node });
    if (known !== null) return this.#continue(request, known, { attempt, typed });
    if (newest !== null && isUndecided(newest, request, { state: null, typed, node })) {
      return this.#responder.drop(request, "overtaken");
    }
    const mayJoin = newest !== null && tuple.distinct && attempt.password.length > 0 &&
      !sharedTuples.isShared(tuple.place);
    const isElsewhere = mayJoin && isLive(newest, clock) &&
      isReissuedElsewhere(newest, { request, typed, node, joinWindowMs });
    if (!isElsewhere) return this.#newLogin(request, login, { attempt, newest, mayJoin });
    this.#deps.counters.count("logins_joined");
    recordJoin(this.#deps, newest, { firstSource: newest.source, joined: request });
    this.#continue(request, newest, { attempt, typed });
  }

  /** The result of the first factor of a request that is handled again. */
  #checkedBefore(request: Request): CheckedFirstFactor | null {
    const checked = this.#retries.get(request)?.checked;
    return checked === undefined || checked.firstFactor === null ? null : checked;
  }

  /** Handles a login again that is known: it waits again, or gets the last answer. */
  #continue(
    request: Request,
    known: Conversation,
    { attempt, typed }: { attempt: LoginAttempt } & Pick<LoginInput, "typed">,
  ): void {
    if (isBeingSent(known) && known.node !== this.#deps.peers.node && this.#deps.peers.isAlive(known.node)) {
      // The next try of the client finds the result.
      return this.#responder.drop(request, "overtaken");
    }
    if (
      this.#works.find(known) !== undefined || !wasCutOff(known, attempt.appended, request.client.settings)
    ) {
      return this.#runner.repeat(request, known);
    }
    this.#runner.run(
      [request],
      known,
      loginInput({ ...attempt, holdsAgain: true }, { typed, replaces: null }),
    );
  }

  #newLogin(
    request: Request,
    { tuple, typed, user, place, trace }: LoginInput,
    { attempt, newest, mayJoin }: { attempt: LoginAttempt; newest: Conversation | null; mayJoin: boolean },
  ): void {
    const { conversations, sharedTuples, logins: { state: stateForm } } = this.#deps;
    const { settings, name: client } = request.client;
    const older = newest !== null && isLive(newest, this.#deps.clock) ? newest : null;
    const wasDistinct = older !== null && tuple.distinct && !sharedTuples.isShared(tuple.place);
    const joined = older !== null && attempt.password.length > 0
      ? this.#works.joinable({ request, tuple: tuple.key, digest: typed.digest, isDistinct: wasDistinct })
      : null;
    if (joined !== null) return this.#join(request, joined);
    if (this.#wasAnsweredElsewhere(request, { newest, typed, mayJoin })) {
      return this.#responder.drop(request, "overtaken", { keepSlot: true });
    }
    if (!conversations.hasRoom(request)) return this.#responder.drop(request, "too_busy");
    const isRival = older !== null && older.signed && !request.signed;
    const isDistinct = tuple.distinct && sharedTuples.distinguishes({
      place: tuple.place,
      user,
      busy: older !== null,
      hasProof: request.hasProof && !isRival,
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
    conversations.add(conversation, { behind: isReplaced && settings.firstFactor !== "none" });
    const replaces = isReplaced ? older.orderedId : null;
    if (trace !== "") this.#deps.packets.follow(trace, conversation.orderedId);
    this.#runner.run([request], conversation, loginInput(attempt, { typed, replaces }));
  }

  /** Whether a login that lost a race lost it to itself: its client asked another node, which has handled it. */
  #wasAnsweredElsewhere(
    request: Request,
    { newest, typed, mayJoin }: Pick<TypedInput, "typed"> & { newest: Conversation | null; mayJoin: boolean },
  ): boolean {
    const { peers, logins: { loginJoinWindowMs } } = this.#deps;
    return mayJoin && newest !== null && this.#retries.has(request) && newest.node !== peers.node &&
      newest.startedMs >= request.receivedMs - loginJoinWindowMs && isSamePassword(newest, typed, peers.node);
  }

  /** Lets a re-issued login wait for the answer of the unanswered one. */
  #join(request: Request, work: PacketWork): void {
    this.#deps.counters.count("logins_joined");
    const [first] = work.requests;
    if (first !== undefined) {
      recordJoin(this.#deps, work.conversation, { firstSource: first.source, joined: request });
    }
    this.#runner.takeOver(request, work);
  }
}

// Reveals the password of a request (RFC 2865 §5.2), and makes the digests by which a re-issued packet is recognized.

class PasswordReader {
  /** The key exists as long as the process. Digests under it are never stored. */
  readonly #digestKey: HmacMd5;
  readonly #peerDigests: PeerDigests;
  /** Reused for each packet, so a value that is needed after the call is copied. */
  readonly #plain = new Uint8Array(MAX_PASSWORD_OCTETS);
  readonly #plainViews = new PrefixViews(this.#plain);
  readonly #digest = new Uint8Array(MD5_OCTETS);

  constructor({ random, peers }: { random: Random; peers: PeerNodes }) {
    this.#digestKey = createHmacMd5(random.bytes(32));
    this.#peerDigests = new PeerDigests(peers);
  }

  /**
   * The password without its padding, as a view that is valid until the next call. `null`: the hidden one has an impossible length. Empty: there
   * is none. Use {@link typedOctets} for what the user typed.
   */
  reveal({ client, octets }: Request, view: PacketView): Uint8Array | null {
    const hidden = view.value("userPassword");
    if (hidden === null) return this.#plainViews.of(0);
    const length = client.secret.revealPasswordInto(this.#plain, hidden, {
      authenticator: octets,
      at: AUTHENTICATOR_AT,
    });
    return length < 0 ? null : this.#plainViews.of(length);
  }

  /** The password as the input of a login. */
  read(request: Request, view: PacketView): PacketInput {
    const octets = this.reveal(request, view);
    if (octets === null) return { kind: "refused", refusal: "bad_password_length" };
    if (isSshdPassword(octets)) return { kind: "refused", refusal: "sshd_password" };
    return { kind: "typed", octets, begins: false, trace: "" };
  }

  /** @param context the tuple of the packet */
  digests(password: Uint8Array, context: string): PasswordDigests {
    this.#digestKey.signInto(password, 0, password.length, this.#digest, 0);
    return {
      digest: sixteenOctetText(this.#digest, 0),
      peerDigests: this.#peerDigests.of(password, context),
    };
  }
}
