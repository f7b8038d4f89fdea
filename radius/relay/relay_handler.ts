// Relays requests with CHAP, MS-CHAP or EAP to the first-factor server of their client. A round writes nothing to the store. The verdict of the server
// enters the flow of a login.

import type { RequestSettings } from "../../platform/client_settings.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import {
  type BoundUser,
  isBound,
  isNamedProof,
  noteRequest,
  noteResponse,
  readRelayedProof,
  refusalOfResponse,
  type RelayedLoginDeps,
  RelayedLogins,
  type RelayedProof,
  relayKeyOf,
  userOfAccept,
} from "./relayed_logins.ts";
import type { LoginSettings } from "../conversation/store_effects.ts";
import type { Limits } from "../factors/limits.ts";
import type { FirstFactorReply } from "../ports.ts";
import { type ClearAttribute, clearOctets } from "../protocol/clear_attributes.ts";
import { typeOf } from "../protocol/dictionary.ts";
import {
  decodeEap,
  EAP_CODES,
  eapMsChapError,
  type EapPacket,
  isEapMethod,
  joinOctets,
} from "../protocol/eap.ts";
import { createHmacMd5, type HmacMd5 } from "../protocol/md5.ts";
import { MS_CHAP_AUTHENTICATION_FAILURE } from "../protocol/ms_chap.ts";
import { AUTHENTICATOR_AT, AUTHENTICATOR_OCTETS, forEachAttribute } from "../protocol/packet.ts";
import type { Request, RequestRefusal } from "../server/request.ts";
import { type RelayRound, RelayStates } from "./relay_state.ts";
import type { RelayedReply, RelayedVerdict } from "../conversation/conversation.ts";

interface ServerRequest {
  /** The client's name. */
  readonly client: string;
  readonly attributes: readonly ClearAttribute[];
  readonly server?: string | undefined;
}

type ServerOutcome =
  | { readonly kind: "answer" } & FirstFactorReply
  | { readonly kind: "unavailable" | "busy" };

export interface RelayDeps extends Omit<RelayedLoginDeps, "again"> {
  /** Asks the first-factor servers of a client; with `server`, only that one. Never rejects. */
  readonly exchange: (request: ServerRequest) => Promise<ServerOutcome>;
  readonly random: Random;
  readonly log: Log;
  readonly logins: LoginSettings;
  readonly limits: Pick<Limits, "isLocked">;
}

/** A request on its way to the server. */
interface Relay {
  readonly proof: RelayedProof;
  /** {@link relayKeyOf} */
  readonly key: string | null;
  readonly round: RelayRound;
  /** The same packet, re-issued by its client; the first one is the relayed one. */
  readonly requests: Request[];
}

/** What follows from the answer of the server. It is given again to a re-issued packet. */
type Judgement =
  | { readonly kind: "passed"; readonly reply: RelayedReply }
  | { readonly kind: "refused"; readonly refusal: RequestRefusal }
  | { readonly kind: "login"; readonly user: BoundUser; readonly verdict: RelayedVerdict };

/** Copies of a request that wait for one answer. */
const MAX_REQUESTS = 8;
/** Requests on their way. */
const MAX_RELAYED = 16_384;
const USER_NAME = typeOf("User-Name");
const USER_PASSWORD = typeOf("User-Password");
const STATE = typeOf("State");
const PROXY_STATE = typeOf("Proxy-State");
const MESSAGE_AUTHENTICATOR = typeOf("Message-Authenticator");
const EAP_MESSAGE = typeOf("EAP-Message");
const CHAP_CHALLENGE = typeOf("CHAP-Challenge");
const CHAP_PASSWORD = typeOf("CHAP-Password");

export class RelayHandler {
  readonly #deps: RelayDeps;
  readonly #logins: RelayedLogins;
  readonly #states: RelayStates;
  readonly #keyHmac: HmacMd5;
  readonly #inProgress = new Map<string, Relay>();
  readonly #answers: RecentAnswers<Judgement>;
  /** Log lines that are written once, by their message, client and server. */
  readonly #noted = new Set<string>();
  #working = 0;

  constructor(deps: RelayDeps) {
    const { vault, clock, random } = deps;
    this.#deps = deps;
    this.#logins = new RelayedLogins({ ...deps, again: (request) => this.accept(request) });
    this.#keyHmac = createHmacMd5(vault.deriveKey("relayed request", 32));
    this.#answers = new RecentAnswers({ clock });
    this.#states = new RelayStates({
      ...{ vault, clock, random },
      onLong: ({ server }, { client }) => this.#noteOnce("warn", LONG_STATE, { client, server }),
    });
  }

  /** Requests on their way to a server. */
  get working(): number {
    return this.#working;
  }

  /** Handles a request whose client relays. `request.octets` is a copy. */
  accept(request: Request): void {
    const { limits, responder, waitQueue } = this.#deps;
    const proof = readRelayedProof(request.octets);
    if (proof === null || typeof proof === "string") return this.#refuse(request, proof ?? "malformed_eap");
    const key = relayKeyOf(this.#keyHmac, request.octets, request.client.name);
    if (key !== null && this.#isRepeated(request, key)) return;
    const round = this.#roundOf(request, proof);
    if (typeof round === "string") return this.#refuse(request, round);
    const user = isProofOfName(proof, round) ? waitQueue.find(nameOfRequest(request)) : null;
    if (user instanceof Promise) {
      return waitQueue.enqueue({ user: request.user, pending: user }, {
        resume: () => this.accept(request),
        fail: (why) => responder.drop(request, why),
      });
    }
    if (user === "several") return this.#refuse(request, "several_users");
    if (user !== null && limits.isLocked(user.canonical)) {
      return this.#refuseLocked(request, { proof, key, round });
    }
    if (this.#working >= MAX_RELAYED) return responder.drop(request, "too_busy");
    void this.#relay({ proof, key, round, requests: [request] });
  }

  /** Handles a packet that its client sent before, perhaps with another Identifier. `false`: it is a new one. */
  #isRepeated(request: Request, key: string): boolean {
    const { responder } = this.#deps;
    const known = this.#logins.find(key);
    const answered = known === "over" ? null : this.#answers.find(key);
    if (known !== null && known !== "over") {
      const reply = answered?.kind === "login" && known.outcome === "rejected"
        ? answered.verdict.reply
        : null;
      if (reply === null) this.#logins.resume(request, key);
      else responder.pass(request, reply, { row: "repeated", conversation: known });
      return true;
    }
    const same = this.#inProgress.get(key);
    if (same !== undefined) this.#join(request, same);
    else if (answered !== null) this.#give([request], answered);
    return same !== undefined || answered !== null;
  }

  /** The server does not see the password of a locked user, so that no one can continue to guess. The flow refuses the login. */
  #refuseLocked(request: Request, { proof, key, round: { trace, server } }: Omit<Relay, "requests">): void {
    this.#logins.begin([request], nameOfRequest(request), {
      ...{ key: key ?? "", method: proof.name, outer: request.userName, trace, server },
      ...{ firstFactor: "unavailable", passwordChecked: false, answer: null, reply: null },
    });
  }

  #join(request: Request, { requests }: Relay): void {
    if (requests.length < MAX_REQUESTS) requests.push(request);
    else this.#deps.responder.drop(request, "overtaken", { keepSlot: true });
  }

  /** What is known before the server is asked, or why it is not asked. */
  #roundOf(request: Request, proof: RelayedProof): RelayRound | RequestRefusal {
    const state = valuesOf(request.octets, STATE).find(({ length }) => length > 0) ?? null;
    if (proof.kind !== "eap") return state === null ? this.#firstRound() : "relay_over";
    const before = state === null ? this.#firstRound() : this.#states.open(state, ownerOf(request));
    if (before === null) return "relay_over";
    const { userName, client: { settings } } = request;
    const known = noteResponse(proof.eap, before, { userName, settings });
    const isCounted = before.isCounted && !isNamedProof(proof.eap);
    return refusalOfResponse(proof.eap, known, { userName, settings }) ?? { ...before, ...known, isCounted };
  }

  #firstRound(): RelayRound {
    return {
      ...{ upstreamState: null, server: "", expiresMs: 0, method: 0 },
      ...{ identity: "unknown", isMixed: false, isCounted: false },
      trace: this.#states.newTrace(),
    };
  }

  /** Asks the server and answers all copies of the request. Never rejects. */
  async #relay(relay: Relay): Promise<void> {
    const { exchange, responder, log } = this.#deps;
    const { key, round, requests } = relay;
    const request = requests[0] as Request;
    this.#working++;
    if (key !== null) this.#inProgress.set(key, relay);
    responder.traced(request, round.trace);
    let outcome: ServerOutcome;
    let judged: Judgement | null = null;
    try {
      outcome = await exchange({
        client: request.client.name,
        attributes: requestAttributes(request, round),
        server: round.server === "" ? undefined : round.server,
      });
      if (outcome.kind === "answer") judged = this.#judge(request, relay, outcome);
    } catch (fault) {
      log.error("a request could not be relayed", { client: request.client.name, fault: String(fault) });
      outcome = { kind: "unavailable" };
    } finally {
      this.#working--;
      if (key !== null) this.#inProgress.delete(key);
    }
    if (judged === null) {
      const reason = outcome.kind === "busy" ? "first_factor_busy" : "first_factor_silent";
      for (const one of requests) responder.drop(one, reason);
      return;
    }
    if (key !== null) this.#answers.add(key, judged, octetsOf(outcome));
    this.#give(requests, judged);
  }

  #give(requests: readonly Request[], judged: Judgement): void {
    const { responder } = this.#deps;
    if (judged.kind === "login") return this.#logins.begin(requests, judged.user, judged.verdict);
    for (const request of requests) {
      if (judged.kind === "refused") this.#refuse(request, judged.refusal);
      else responder.pass(request, judged.reply, { row: rowOf(judged.reply), conversation: null });
    }
  }

  #judge(request: Request, relay: Relay, answer: FirstFactorReply): Judgement {
    if (answer.code === "Access-Accept") return this.#judgeAccept(request, relay, answer);
    if (answer.code === "Access-Challenge") return this.#judgeChallenge(request, relay, answer);
    const { round } = relay;
    const reply = { name: answer.code, clear: passedOn(answer.attributes), trace: round.trace } as const;
    // The server refuses again what was counted already.
    if (round.isCounted) return { kind: "passed", reply };
    return this.#login(request, relay, { answer, isRight: false, reply });
  }

  #judgeAccept(request: Request, relay: Relay, answer: FirstFactorReply): Judgement {
    const { proof, round } = relay;
    const { settings } = request.client;
    const user = userOfAccept({
      isBound: proof.kind !== "eap" || isBound(proof.eap, round),
      user: nameOfRequest(request),
      names: answer.attributes.filter(({ type }) => type === USER_NAME).map(({ value }) => value),
      settings,
    });
    if (typeof user === "string") return { kind: "refused", refusal: user };
    if (isNamedLikeOuter(relay, { request, user })) {
      this.#noteOnce("info", NAMED_LIKE_OUTER, { client: request.client.name, server: answer.server });
    }
    return this.#login(request, relay, { answer, isRight: true, reply: null, user });
  }

  #judgeChallenge(request: Request, relay: Relay, answer: FirstFactorReply): Judgement {
    const { proof, round } = relay;
    const eap = eapOf(answer.attributes);
    // A prompt for a client that sent CHAP: nothing that it shows can answer it (RFC 2865 §4.4).
    if (proof.kind !== "eap" || eap === null) return { kind: "refused", refusal: "relay_prompted" };
    const isCounted = eapMsChapError(eap) === MS_CHAP_AUTHENTICATION_FAILURE;
    const next: RelayRound = {
      ...round,
      ...noteRequest(eap, proof.eap, round),
      upstreamState: answer.attributes.find(({ type }) => type === STATE)?.value ?? null,
      server: answer.server,
      expiresMs: this.#deps.clock.nowMs() + this.#deps.logins.conversationTtlMs,
      isCounted,
    };
    const state = this.#states.seal(next, ownerOf(request));
    const clear = [...passedOn(answer.attributes), { type: STATE, value: state }];
    const reply = { name: answer.code, clear, trace: round.trace };
    // The peer learns here that the password is wrong, and may end the conversation without another packet.
    return isCounted
      ? this.#login(request, relay, { answer, isRight: false, reply })
      : { kind: "passed", reply };
  }

  #login(
    request: Request,
    { proof, key, round }: Relay,
    { answer, isRight, reply, user = nameOfRequest(request) }: {
      answer: FirstFactorReply;
      isRight: boolean;
      reply: RelayedReply | null;
      user?: BoundUser;
    },
  ): Judgement {
    const { trace } = round;
    return {
      kind: "login",
      user,
      verdict: {
        ...{ key: key ?? "", method: proof.name, outer: request.userName, trace, reply },
        firstFactor: isRight ? "right" : "wrong",
        // Without a binding, it is unknown whose password was wrong.
        passwordChecked: proof.kind !== "eap" || isBound(proof.eap, round) ||
          isTrusted(proof.eap, request.client.settings),
        server: answer.server,
        answer: isRight ? answer : null,
      },
    };
  }

  #refuse(request: Request, refusal: RequestRefusal): void {
    this.#deps.responder.refuse(request, refusal);
  }

  #noteOnce(
    level: "info" | "warn",
    message: string,
    { client, server }: { client: string; server: string },
  ): void {
    const key = `${message} ${server} ${client}`;
    if (this.#noted.has(key) || this.#noted.size >= MAX_LOGGED) return;
    this.#noted.add(key);
    this.#deps.log[level](message, { client, server });
  }
}

const MAX_LOGGED = 1024;
const LONG_STATE =
  "the State of the first-factor server is too long to be sealed: it stays in memory, so that its logins cannot continue on another node or " +
  "after a restart before the second factor";
const NAMED_LIKE_OUTER =
  "the User-Name of the Access-Accept is the outer identity: either the device sends the same name twice, or the server repeats what is not " +
  'proven; verify it (docs/vpn-methods.md, "Check it")';

/** Whether the server names the user as the outer identity does, which it would do also if it proves no name. */
function isNamedLikeOuter(
  { proof, round }: Pick<Relay, "proof" | "round">,
  { request, user }: { request: Request; user: BoundUser },
): boolean {
  return request.client.settings.eapOuterIdentity === "reply" && proof.kind === "eap" &&
    !isBound(proof.eap, round) && user.canonical === request.user;
}

/** What the log and the packet view name instead of a row of the flow. */
function rowOf({ name }: RelayedReply): string {
  return name === "Access-Reject" ? "relayed_reject" : "relayed_round";
}

/** Whether a request contains a proof of the name in User-Name, which the server would check. */
function isProofOfName(proof: RelayedProof, round: RelayRound): boolean {
  return proof.kind !== "eap" || (isNamedProof(proof.eap) && isBound(proof.eap, round));
}

function isTrusted(eap: EapPacket | null, settings: Pick<RequestSettings, "eapOuterIdentity">): boolean {
  return eap !== null && isEapMethod(eap.type) && settings.eapOuterIdentity === "trust";
}

function nameOfRequest({ userName, user }: Request): BoundUser {
  return { shown: userName, canonical: user };
}

function ownerOf({ octets, client }: Request): { client: string; userName: Uint8Array } {
  return { client: client.name, userName: valuesOf(octets, USER_NAME)[0] ?? new Uint8Array(0) };
}

function valuesOf(octets: Uint8Array, wanted: number): Uint8Array[] {
  const values: Uint8Array[] = [];
  forEachAttribute(octets, octets.length, (type, at, valueOctets) => {
    if (type === wanted) values.push(octets.subarray(at, at + valueOctets));
  });
  return values;
}

/** The attributes of the request to the server. User-Name is unchanged, because MS-CHAPv2 hashes it. */
function requestAttributes({ octets }: Request, { upstreamState }: RelayRound): ClearAttribute[] {
  const attributes: ClearAttribute[] = [];
  let isChap = false;
  let hasChallenge = false;
  forEachAttribute(octets, octets.length, (type, at, valueOctets) => {
    // An empty attribute counts as absent (RFC 2865 §5), except that of EAP-Start.
    if (OF_HOP.has(type) || type === USER_PASSWORD || (valueOctets === 0 && type !== EAP_MESSAGE)) return;
    if (type === CHAP_PASSWORD) isChap = true;
    if (type === CHAP_CHALLENGE) hasChallenge = true;
    attributes.push({ type, value: octets.subarray(at, at + valueOctets) });
  });
  // RFC 2865 §2.2: without CHAP-Challenge, the Request Authenticator is the challenge, and the server gets another one.
  if (isChap && !hasChallenge) {
    const value = octets.subarray(AUTHENTICATOR_AT, AUTHENTICATOR_AT + AUTHENTICATOR_OCTETS);
    attributes.push({ type: CHAP_CHALLENGE, value });
  }
  if (upstreamState !== null) attributes.push({ type: STATE, value: upstreamState });
  return attributes;
}

/** Attributes that concern only the two ends of a hop. */
const OF_HOP: ReadonlySet<number> = new Set([STATE, PROXY_STATE, MESSAGE_AUTHENTICATOR]);

function passedOn(attributes: readonly ClearAttribute[]): ClearAttribute[] {
  return attributes.filter(({ type }) => !OF_HOP.has(type));
}

/** The EAP-Request of an answer, or `null`. */
function eapOf(attributes: readonly ClearAttribute[]): EapPacket | null {
  const parts = attributes.filter(({ type }) => type === EAP_MESSAGE).map(({ value }) => value);
  const eap = decodeEap(joinOctets(parts));
  return eap?.code === EAP_CODES.request ? eap : null;
}

function octetsOf(outcome: ServerOutcome): number {
  return outcome.kind === "answer" ? clearOctets(outcome.attributes) : 0;
}

// The last answers of first-factor servers, so that a packet that its client re-issues with another Identifier does not reach the server twice.

/** As long as the duplicate cache stores a reply. */
const RETENTION_MS = 30_000;
const MAX_ANSWERS = 16_384;
const MAX_OCTETS = 16 * 1024 * 1024;
/** What an entry takes besides the octets of its attributes. */
const ENTRY_OCTETS = 512;

interface Entry<T> {
  readonly answer: T;
  readonly atMs: number;
  readonly lengthOctets: number;
}

/** Limited in number, in octets and in time. The oldest entry is removed first. */
export class RecentAnswers<T> {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #entries = new Map<string, Entry<T>>();
  #octets = 0;

  constructor({ clock }: { clock: Pick<Clock, "nowMs"> }) {
    this.#clock = clock;
  }

  find(key: string): T | null {
    const entry = this.#entries.get(key);
    return entry === undefined || this.#isOver(entry) ? null : entry.answer;
  }

  add(key: string, answer: T, attributeOctets: number): void {
    this.#remove(key);
    const lengthOctets = attributeOctets + ENTRY_OCTETS;
    this.#entries.set(key, { answer, atMs: this.#clock.nowMs(), lengthOctets });
    this.#octets += lengthOctets;
    for (const [oldest, entry] of this.#entries) {
      const isTooMuch = this.#entries.size > MAX_ANSWERS || this.#octets > MAX_OCTETS;
      if (!isTooMuch && !this.#isOver(entry)) break;
      this.#remove(oldest);
    }
  }

  #isOver({ atMs }: Entry<T>): boolean {
    const passedMs = this.#clock.nowMs() - atMs;
    return passedMs < 0 || passedMs >= RETENTION_MS;
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#octets -= entry.lengthOctets;
  }
}
