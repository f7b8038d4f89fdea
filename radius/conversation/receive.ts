// Receives requests that passed the packet gate: refuses, or finds the user and what the user typed, then the conversation, and runs it.

import type { Log } from "../../platform/log.ts";
import { type Clock, pauseFor, type Random } from "../../platform/runtime.ts";
import type { FactorSettings } from "../../platform/config/config.ts";
import { equalDigests, type Vault } from "../../platform/vault.ts";
import { appParameters } from "../tokens/token_codes.ts";
import type { BypassCodeStore } from "../factors/bypass_codes.ts";
import type { Pairings } from "../factors/pairings.ts";
import type { SentPasscodes } from "../factors/sent_passcodes.ts";
import type { HardwareTokens } from "../tokens/hardware_tokens.ts";
import { passcodeDigest, type PasswordDigests, PeerDigests } from "./conversation.ts";
import type { PeerNodes } from "../ports.ts";
import {
  AUTHENTICATOR_AT,
  MAX_PASSWORD_OCTETS,
  type PacketView,
  sixteenOctetText,
} from "../protocol/packet.ts";
import { decodeText, typedOctets } from "../protocol/attributes.ts";
import {
  type AppendSettings,
  BYPASS_CODE_DIGITS,
  isSshdPassword,
  maybeStaticChallenge,
  readAnswer,
  readAppended,
  stripUserName,
  type TypedPassword,
} from "../protocol/login_input.ts";
import { type LostRace, RequestRunner } from "./run.ts";
import { type AnswerPacket, ConversationFinder, type ConversationFinderDeps } from "./find_conversation.ts";
import {
  callingStation,
  findRefusal,
  isRelayedRequest,
  newLoginAttempt,
  nextEapIdentifier,
  readView,
  type Request,
  type RequestRefusal,
} from "../server/request.ts";
import { acceptFaultOf, logRequest, Responder, type ResponderDeps } from "../server/responder.ts";
import { GarbledPasswordCheck, type UnsignedLimits } from "../server/unsigned_requests.ts";
import { tupleOf } from "./tuple.ts";
import { findTypedTotp } from "./flow_context.ts";
import { DirectoryWaitQueue } from "./waiting_packets.ts";
import type { TurnDeps } from "./store_effects.ts";
import { type RelayDeps, RelayHandler } from "../relay/relay_handler.ts";
import { ShadowForwarder, type ShadowForwarderDeps } from "../shadow/shadow_forwarder.ts";
import { PrefixViews } from "../../platform/octet_fields.ts";
import { createHmacMd5, type HmacMd5, MD5_OCTETS } from "../protocol/md5.ts";
import { mayRelay } from "../../platform/upgrade/store_format.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import {
  decodeEap,
  EAP_CODES,
  EAP_IDENTITY,
  EAP_METHODS,
  EAP_NAK,
  eapIdentity,
  type EapPacket,
  encodeEap,
  joinEapMessages,
} from "../protocol/eap.ts";
import { stepByName } from "../protocol/steps.ts";

interface RequestHandlerDeps
  extends
    TurnDeps,
    ConversationFinderDeps,
    ResponderDeps,
    TypedPasswordDeps,
    Omit<ShadowForwarderDeps, "responder"> {
  readonly unsignedLimits: UnsignedLimits;
  readonly log: Log;
  readonly peers: PeerNodes;
  /** The servers that relayed requests go to. */
  readonly exchange: RelayDeps["exchange"];
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
  readonly #runner: RequestRunner;
  readonly #finder: ConversationFinder;
  readonly #passwords: PasswordReader;
  readonly #gtc: EapGtc;
  readonly #relay: RelayHandler;
  readonly #shadow: ShadowForwarder;
  /** Requests that are received again, because another packet changed what they depend on. */
  readonly #lost = new WeakMap<Request, LostRace & { readonly count: number }>();

  constructor(deps: RequestHandlerDeps) {
    this.#deps = deps;
    const responder = this.#responder = new Responder(deps);
    const waitQueue = this.#waitQueue = new DirectoryWaitQueue(deps);
    const passwords = this.#passwords = new PasswordReader(deps);
    this.#gtc = new EapGtc(deps);
    this.#garbledPasswords = new GarbledPasswordCheck(deps);
    this.#shadow = new ShadowForwarder({ ...deps, responder });
    const runner = this.#runner = new RequestRunner({
      ...deps,
      responder,
      acceptFault: (conversation, attempt) => acceptFaultOf(deps, conversation, attempt),
      again: (request, lost) => this.#again(request, lost),
    });
    const finder = this.#finder = new ConversationFinder(deps);
    this.#relay = new RelayHandler({ ...deps, responder, runner, finder, waitQueue, passwords });
  }

  get working(): number {
    return this.#deps.works.size + this.#waitQueue.waiting + this.#relay.working + this.#shadow.working;
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

  /** Refuses an unsigned packet with a garbled password, because anyone can send it. */
  #findGarbledPassword(request: Request, view: PacketView): RequestRefusal | null {
    const password = request.hasProof ? this.#passwords.reveal(request, view) : null;
    if (password === null || password.length === 0) return null;
    // Random octets are never that text, but it has control characters.
    if (isSshdPassword(password)) return "sshd_password";
    return this.#garbledPasswords.isRefused(request.octets, password) ? "garbled_password" : null;
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
    if (found === "several") return this.#responder.refuse(request, "several_users");
    if (found instanceof Promise) {
      return this.#wait(request, { user, pending: found }, () => this.#findUser(request, readView(request)));
    }
    if (found.canonical === user) return this.#admit(request, view);
    const named: Request = { ...request, user: found.canonical, userName: found.shown };
    const pending = this.#waitQueue.pendingFor(named.user);
    if (pending === null) return this.#admit(named, view);
    this.#wait(named, { user: named.user, pending }, () => this.#admit(named, readView(named)));
  }

  #wait(request: Request, packet: { user: string; pending: Promise<void> }, resume: () => void): void {
    this.#waitQueue.enqueue(packet, { resume, fail: (why) => this.#responder.drop(request, why) });
  }

  #admit(request: Request, view: PacketView): void {
    const input = request.hasEap ? this.#gtc.read(request, view) : this.#passwords.read(request, view);
    if (input.kind === "refused") return this.#responder.refuse(request, input.refusal);
    if (input.kind === "asked") return this.#responder.ask(request, input.asked);
    const octets = typedOctets(input.octets);
    if (!request.name.isUtf8 || octets.buffer !== input.octets.buffer) this.#responder.noteEncoding(request);
    if (this.#deps.works.size >= MAX_IN_PROGRESS) return this.#responder.drop(request, "too_busy");
    const { user, client: { name: client, settings } } = request;
    const tuple = tupleOf(view, client, user);
    const typed = this.#passwords.digests(octets, tuple.key);
    const state = input.begins ? null : view.value("state");
    const lost = this.#lost.get(request);
    const checkedBefore = lost === undefined || lost.checked.firstFactor === null ? null : lost.checked;
    if (state !== null) {
      const firstFound = lost?.conversation ?? null;
      const answer = { tuple, typed, octets, state: readAnswer(state), checkedBefore, firstFound };
      return this.#answer(request, answer);
    }
    const read = readTypedPassword(this.#deps, octets, { user, client, settings });
    // The octets are reused for the next packet, and a first factor is checked later.
    const password = settings.firstFactor === "none" ? read.password : read.password.slice();
    const { appended } = read;
    const attempt = newLoginAttempt(request, { answer: null, password, appended, checkedBefore });
    const { trace } = input;
    const login = { tuple, typed, attempt, place: callingStation(view), trace, isAgain: lost !== undefined };
    this.#runner.take(request, this.#finder.resolveLogin(request, login));
  }

  #answer(request: Request, answer: AnswerPacket): void {
    const found = this.#finder.resolveAnswer(request, answer);
    if (found.kind !== "wait") return this.#runner.take(request, found);
    const { user } = request;
    const { firstFound } = found;
    const copy = { ...answer, octets: answer.octets.slice(), firstFound };
    const resume = () => this.#answer(request, copy);
    found.work.wait(() => {
      const pending = this.#waitQueue.pendingFor(user);
      if (pending === null) resume();
      else this.#wait(request, { user, pending }, resume);
    });
  }

  #again(request: Request, { checked, conversation }: LostRace): void {
    const { firstFactor, firstFactorReply, passwordChecked } = checked;
    const count = (this.#lost.get(request)?.count ?? 0) + 1;
    const kept = { firstFactor, firstFactorReply, passwordChecked };
    this.#lost.set(request, { count, conversation, checked: kept });
    if (count > MAX_RETRIES) return this.#responder.drop(request, "store_failed");
    this.#prepare(request, readView(request));
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

// Reads what append mode appends to the password of a login.

interface TypedPasswordDeps {
  readonly pairings: Pairings;
  readonly hardwareTokens: HardwareTokens;
  readonly bypassCodes: BypassCodeStore;
  readonly sentPasscodes: SentPasscodes;
  readonly settings: FactorSettings;
  readonly clock: Clock;
  readonly vault: Vault;
}

/** @param typed what the user typed, in UTF-8 @param of.user canonical */
function readTypedPassword(
  deps: TypedPasswordDeps,
  typed: Uint8Array,
  { user, client, settings }: { user: string; client: string; settings: AppendSettings },
): TypedPassword {
  if (!settings.appendMode && !maybeStaticChallenge(typed)) return { password: typed, appended: null };
  const hasBypassCode = deps.bypassCodes.status(user) !== null;
  const { smsDigits, voiceDigits } = deps.settings.passcode;
  const sent = deps.sentPasscodes.of({ user, client });
  const sentDigits = sent === null ? 0 : sent.factor === "sms" ? smsDigits : voiceDigits;
  const isSeparated = !settings.appendMode || settings.codePosition === "separated";
  return readAppended(typed, settings, {
    hasBypassCode,
    sentDigits,
    digits: isSeparated ? NO_DIGITS : codeDigits(deps, user, { sentDigits, hasBypassCode }),
    matches: (code) => isCodeNow(deps, { user, client, code }),
  });
}

const NO_DIGITS: readonly number[] = [];

/** How many digits the codes of a user can have: those of a passcode that was sent first, then the longest first. */
function codeDigits(
  { pairings, hardwareTokens }: TypedPasswordDeps,
  user: string,
  { sentDigits, hasBypassCode }: { sentDigits: number; hasBypassCode: boolean },
): number[] {
  const own = [
    ...pairings.usable(user).map((one) =>
      one.kind === "totp" ? appParameters(one).digits : one.kind === "device" ? one.totpLength : 0
    ),
    ...hardwareTokens.usable(user).map(({ record }) => record.digits),
    hasBypassCode ? BYPASS_CODE_DIGITS : 0,
  ].sort((a, b) => b - a);
  return [...new Set([sentDigits, ...own])].filter((digits) => digits > 0);
}

function isCodeNow(
  deps: TypedPasswordDeps,
  { user, client, code }: { user: string; client: string; code: string },
): boolean {
  const sent = deps.sentPasscodes.of({ user, client });
  if (sent !== null && equalDigests(passcodeDigest(deps.vault, sent.secretId, code), sent.digest)) {
    return true;
  }
  if (code.length === BYPASS_CODE_DIGITS) return deps.bypassCodes.matches(user, code);
  const own = deps.pairings.usable(user);
  return findTypedTotp(deps, { user, own, code, nowMs: deps.clock.nowMs() }) !== null;
}

// EAP-GTC (RFC 3748 §5.6): the conversation of a login inside EAP. Reads what a Response of the user's device means for the login. The State of the
// password prompt is sealed, so it needs no record, and each node can read it.

/** What the user typed, or what the gateway asks for before a login begins, or why it refuses the request. */
type PacketInput =
  /** `begins`: a login begins although the packet has a State; `trace` joins the packets before it for the packet view, "" for none. */
  | { readonly kind: "typed"; readonly octets: Uint8Array; readonly begins: boolean; readonly trace: string }
  | { readonly kind: "asked"; readonly asked: Parameters<Responder["ask"]>[1] }
  | { readonly kind: "refused"; readonly refusal: RequestRefusal };

interface EapGtcDeps {
  readonly vault: Vault;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: Random;
  readonly logins: { readonly conversationTtlMs: number };
}

const GTC = EAP_METHODS["EAP-GTC"].type;
const NO_OCTETS = new Uint8Array(0);
/** EAP-Start is not an EAP packet, so the first Identifier is free. */
const ASK_IDENTITY = encodeEap({
  code: EAP_CODES.request,
  identifier: 1,
  type: EAP_IDENTITY,
  data: NO_OCTETS,
});
const TRACE_OCTETS = 6;
/** An Identifier, a time in seconds, and the trace. */
const PROMPT_OCTETS = 5 + TRACE_OCTETS;

class EapGtc {
  readonly #deps: EapGtcDeps;

  constructor(deps: EapGtcDeps) {
    this.#deps = deps;
  }

  /** Reads a request of a client with `eap = "gtc"`. */
  read(request: Request, view: PacketView): PacketInput {
    const joined = joinEapMessages(view.octets, view.lengthOctets);
    if (joined === null) return refused("malformed_eap");
    if (joined.length === 0) {
      return { kind: "asked", asked: { row: "identity_asked", trace: this.#newTrace(), eap: ASK_IDENTITY } };
    }
    const eap = decodeEap(joined);
    if (eap === null || eap.code !== EAP_CODES.response) return refused("malformed_eap");
    const identity = eapIdentity(eap);
    if (identity !== null) return this.#readIdentity(identity, { request, view, identifier: eap.identifier });
    if (eap.type === EAP_NAK) return refused("eap_gtc_refused");
    return this.#readTyped(eap, { request, view });
  }

  /**
   * The device must name the user whom the client names (RFC 3579 §2.1), because the second factor of that user is asked. Both names are compared as
   * typed: they can be other names of the user.
   */
  #readIdentity(identity: Uint8Array, { request, view, identifier }: Prompted): PacketInput {
    const { client: { settings }, name } = request;
    const named = canonicalName(stripUserName(decodeText(identity), settings));
    if (named !== name.canonical) return refused("eap_names_differ");
    if (view.slots.state.count > 0) return refused("eap_unasked");
    // The flow begins with the menu. EAP-Success may only follow a method (RFC 3748 §4.2).
    if (settings.firstFactor === "none") return { kind: "typed", octets: NO_OCTETS, begins: true, trace: "" };
    const trace = this.#newTrace();
    const state = this.#sealPrompt({ request, view, identifier: nextEapIdentifier(identifier) }, trace);
    return { kind: "asked", asked: { row: "password_asked", trace, state } };
  }

  #readTyped(
    { identifier, type, data }: EapPacket,
    { request, view }: Omit<Prompted, "identifier">,
  ): PacketInput {
    const state = view.value("state");
    if (type !== GTC || state === null) return refused("eap_unasked");
    // The limit of User-Password.
    if (data.length > MAX_PASSWORD_OCTETS) return refused("malformed_eap");
    const [name = ""] = decodeText(state).split(".", 1);
    if (stepByName(name) !== null) return { kind: "typed", octets: data, begins: false, trace: "" };
    const trace = this.#openPrompt(state, { request, view, identifier });
    return trace === null ? refused("eap_unasked") : { kind: "typed", octets: data, begins: true, trace };
  }

  #newTrace(): string {
    return this.#deps.random.bytes(TRACE_OCTETS).toHex();
  }

  #sealPrompt(prompted: Prompted, trace: string): Uint8Array<ArrayBuffer> {
    const plain = new DataView(new ArrayBuffer(PROMPT_OCTETS));
    plain.setUint8(0, prompted.identifier);
    plain.setUint32(1, Math.floor(this.#deps.clock.nowMs() / 1000));
    const octets = new Uint8Array(plain.buffer);
    octets.set(Uint8Array.fromHex(trace), PROMPT_OCTETS - TRACE_OCTETS);
    return this.#deps.vault.seal(promptKey(prompted), octets);
  }

  /** The trace in the State of a password prompt with this Identifier, for this client and User-Name. `null`: it is none, or has expired. */
  #openPrompt(state: Uint8Array, prompted: Prompted): string | null {
    const plain = this.#deps.vault.open(promptKey(prompted), state);
    if (plain?.length !== PROMPT_OCTETS || plain[0] !== prompted.identifier) return null;
    const askedMs = new DataView(plain.buffer, plain.byteOffset).getUint32(1) * 1000;
    const isOver = this.#deps.clock.nowMs() >= askedMs + this.#deps.logins.conversationTtlMs;
    return isOver ? null : plain.subarray(PROMPT_OCTETS - TRACE_OCTETS).toHex();
  }
}

interface Prompted {
  readonly request: Request;
  readonly view: PacketView;
  /** Of the EAP-Request with the prompt. */
  readonly identifier: number;
}

function promptKey({ request, view }: Prompted): Deno.KvKey {
  return ["eap_gtc_prompt", request.client.name, view.value("userName") ?? NO_OCTETS];
}

function refused(refusal: RequestRefusal): PacketInput {
  return { kind: "refused", refusal };
}
