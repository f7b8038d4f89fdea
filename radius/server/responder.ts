// Answers requests: writes the reply, delays a Reject by one second, sends, counts and logs. Also the Access-Rejects of requests that have no
// conversation.

import { codeFaultText } from "../tokens/token_codes.ts";
import type { Log, LogFields, LogLevel } from "../../platform/log.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Vault } from "../../platform/vault.ts";
import { type ClearAttribute, clearOctets } from "../protocol/clear_attributes.ts";
import { describeAttributes } from "../protocol/attributes.ts";
import type { ReplySource } from "../protocol/dissect_packet.ts";
import { typeOf } from "../protocol/dictionary.ts";
import type { ReplyName } from "../protocol/packet.ts";
import { DROP_REASONS } from "../protocol/drop_reasons.ts";
import {
  EAP_CODES,
  EAP_METHODS,
  eapFailure,
  eapIdentifierOf,
  eapSuccess,
  encodeEap,
} from "../protocol/eap.ts";
import { encodeMsChapError, readMsChap } from "../protocol/ms_chap.ts";
import type { Conversation, RelayedReply, TokenOf } from "../conversation/conversation.ts";
import { type AcceptFault, type Factor, NOTHING_KNOWN } from "../flow/context.ts";
import { step } from "../flow/flow.ts";
import { isSecretPrompt, type OfferedPhone, type Prompt, PROMPTS, renderPrompt } from "../flow/prompts.ts";
import { offeredPhones } from "../factors/own_factors.ts";
import {
  type AcceptReply,
  acceptReplyOf,
  questionOf,
  rejectMessages,
} from "../conversation/sealed_fields.ts";
import type { Counters, FoldedLog } from "./gateway_monitor.ts";
import type { GatewayEvent } from "../ports.ts";
import type { PacketCapture } from "./packet_capture.ts";
import { type Reply, replyOctets, writeReply } from "./reply_encoder.ts";
import {
  type LoginAttempt,
  nextEapIdentifier,
  type Request,
  REQUEST_REFUSALS,
  type RequestRefusal,
} from "./request.ts";
import type { NullStatusCheck } from "../conversation/effects.ts";
import type { Step } from "../protocol/steps.ts";
import type { UnsignedLimits } from "./unsigned_requests.ts";

export interface ResponderDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Opens the answers of first-factor servers. */
  readonly vault: Vault;
  readonly log: Log;
  readonly folded: FoldedLog;
  readonly counters: Counters;
  readonly menuOf: (conversation: Conversation) => ReadonlySet<Factor>;
  /** Whom users ask for help. */
  readonly helpText: () => string;
  readonly emit: (event: GatewayEvent) => void;
  readonly packets: PacketCapture;
  readonly tokenOf: TokenOf;
  readonly nullStatusCheck: NullStatusCheck;
  readonly unsignedLimits: Pick<UnsignedLimits, "mayReject">;
}

/** The reason for an answer, for the log. */
interface ReplyReason {
  readonly row: string;
  readonly conversation: Conversation | null;
  /** Why a user was refused. The reply does not contain it. */
  readonly refusedFor?: string | null;
  /** Of the attributes of an Access-Accept, in order. */
  readonly sources?: readonly ReplySource[];
  /** Joins the packets of a relayed conversation that is no login yet. */
  readonly trace?: string;
}

/** Why a request that passed the gate gets no answer. */
type NoReplyReason =
  | "overtaken"
  | "too_busy"
  | "rate_limited"
  | "first_factor_busy"
  | "first_factor_silent"
  | "store_failed";

interface DropLine {
  readonly reason: NoReplyReason | "reply_not_written";
  readonly level: LogLevel;
  readonly text: string;
  readonly fields?: LogFields;
}

const EAP_MESSAGE = typeOf("EAP-Message");
const REPLY_MESSAGE = typeOf("Reply-Message");
const VENDOR_SPECIFIC = typeOf("Vendor-Specific");
/** Delayed Rejects. Above this number, no Reject is sent. */
const MAX_DELAYED = 50_000;
/** Slows down guessing. RFC 2865 does not define a time. */
const REJECT_DELAY_MS = 1000;
const REJECT_JITTER_MS = 100;
/** Most octets of a reply for each octet of a request that does not prove that its sender knows the secret. */
const MAX_AMPLIFICATION = 3;

/** In place of a row of the flow table, of an answer of another server. It belongs to no login of this gateway. */
const FORWARDED = "shadow";

/** The text of a Reject offers nothing to choose. */
const NO_CHOICE = { menu: new Set<Factor>(), numberToMatch: null, numbers: [] };

const NO_PHONES: readonly OfferedPhone[] = [];
const NO_ATTRIBUTES: readonly ClearAttribute[] = [];
const PASSWORD_PROMPT = "Password: ";
const utf8 = new TextEncoder();

export class Responder {
  readonly #deps: ResponderDeps;
  /** Clients with a logged warning about CHAP. CHAP is a setting of the client, so one warning is enough. */
  readonly #chapClients = new Set<string>();
  /** Clients whose log line about their encoding was written. */
  readonly #encodedClients = new Set<string>();
  #delayed = 0;

  constructor(deps: ResponderDeps) {
    this.#deps = deps;
  }

  get delayed(): number {
    return this.#delayed;
  }

  accept(request: Request, reason: ReplyReason & { reply: AcceptReply }): void {
    const { row, conversation, reply: { sources, attributes, clear } } = reason;
    const reply: Reply = { name: "Access-Accept", message: "", attributes, clear };
    this.#deliver(request, inEap(request, reply), { row, conversation, sources });
  }

  /** Rejects a request of a health check: at once, and without log line, record, delay or event. */
  rejectHealthCheck(request: Request): void {
    const { counters, random } = this.#deps;
    const reply: Reply = { name: "Access-Reject", message: PROMPTS.denied.text };
    let octets: Uint8Array<ArrayBuffer>;
    try {
      octets = writeReply(request, { ...reply, ...failureOf(request, { reply, random }) }, random);
    } catch (fault) {
      // Proxy-States fill the packet.
      return this.#leave(request, "too_busy", { keepSlot: true, line: notWritten("health_check", fault) });
    }
    request.slot.reply = octets;
    request.server.answer(request, octets);
    counters.count("health_checks");
  }

  reject(request: Request, prompt: Prompt, reason: ReplyReason): void {
    const { helpText, vault } = this.#deps;
    const { conversation } = reason;
    const clear = rejectMessages(vault, conversation);
    const separator = request.client.settings.appendSeparator;
    const reply: Reply = {
      name: "Access-Reject",
      message: clear.length > 0
        ? ""
        : renderPrompt(prompt, { ...NO_CHOICE, helpText: helpText(), separator }),
      clear,
    };
    this.#deliverLate(
      request,
      { ...reply, ...failureOf(request, { reply, random: this.#deps.random }) },
      reason,
    );
  }

  /** Rejects an answer if its conversation is gone or at another step. The typed answer is not checked. */
  gone(request: Request, at: Step): void {
    const { unsignedLimits, nullStatusCheck } = this.#deps;
    if (!unsignedLimits.mayReject(request)) return this.drop(request, "rate_limited");
    const row = step("gone", {
      ...NOTHING_KNOWN,
      stateWasDevice: at === "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
    });
    const reject = () => this.reject(request, row.prompt ?? "gone", { row: row.name, conversation: null });
    if (row.then.includes("ask_null")) void nullStatusCheck.checkTwice(request.client.name).then(reject);
    else reject();
  }

  /** @param options.isLogged whether the log already has the lines of the request */
  refuse(request: Request, refusal: RequestRefusal, { isLogged = true }: { isLogged?: boolean } = {}): void {
    const { unsignedLimits, counters, folded } = this.#deps;
    if (!unsignedLimits.mayReject(request)) return this.drop(request, "rate_limited");
    if (!isLogged) logRequest(this.#deps, request);
    const { sentence, prompt } = REQUEST_REFUSALS[refusal];
    counters.count(`refused_${refusal}`);
    const wasWarned = refusal === "chap" && this.#chapClients.has(request.client.name);
    if (refusal === "chap") this.#chapClients.add(request.client.name);
    folded.write(refusal, {
      // On a host that attackers probe, sshd sends its text all day.
      level: wasWarned ? "debug" : refusal === "sshd_password" ? "info" : "warn",
      message: `request refused: ${sentence}`,
      fields: { reason: refusal, ...senderOf(request) },
    });
    this.reject(request, prompt, { row: refusal, conversation: null });
  }

  /** Logs once for each client that a text of it is not UTF-8. */
  noteEncoding(request: Request): void {
    const { name } = request.client;
    if (this.#encodedClients.has(name)) return;
    this.#encodedClients.add(name);
    this.#deps.log.warn(
      "a name or password is not UTF-8 and is read as Windows-1252: set the client to UTF-8",
      senderOf(request),
    );
  }

  #deliverLate(request: Request, reply: Reply, reason: ReplyReason): void {
    if (this.#delayed >= MAX_DELAYED) return this.drop(request, "too_busy", { keepSlot: true });
    const { clock, random } = this.#deps;
    const jitterMs = ((random.bytes(1)[0] as number) / 256) * REJECT_JITTER_MS;
    // A clock that was set back must not make the delay longer.
    const delayMs = REJECT_DELAY_MS + jitterMs;
    const waitMs = Math.min(delayMs, Math.max(0, request.receivedMs + delayMs - clock.nowMs()));
    this.#delayed++;
    clock.after(waitMs, () => {
      this.#delayed--;
      this.#deliver(request, reply, reason);
    });
  }

  /** Passes an answer of the first-factor server on. A wrong password is answered as late as that of another login. */
  pass(request: Request, { name, clear, trace }: RelayedReply, reason: ReplyReason): void {
    const reply: Reply = { name, message: "", clear: withoutTexts(clear) };
    const isLate = name === "Access-Reject" || reason.conversation !== null;
    if (isLate) this.#deliverLate(request, reply, { ...reason, trace });
    else this.#deliver(request, reply, { ...reason, trace });
  }

  /** Captures a relayed request before there is a login. */
  traced(request: Request, trace: string): void {
    this.#deps.packets.received(trace, request);
  }

  challenge(request: Request, conversation: Conversation, row: string): void {
    const { orderedId, at, hasToken, prompt, numbers, numberToMatch, pairingId } = conversation;
    const asked = (prompt ?? "menu") === "menu" && !request.hasProof ? "short_menu" : prompt ?? "menu";
    const menu = this.#deps.menuOf(conversation);
    const phones = at === "SECONDFACTOR_AWAIT_DEVICE_APPROVAL"
      ? offeredPhones(numbers, pairingId)
      : NO_PHONES;
    const question = at === "FIRSTFACTOR_GET_ANSWER" ? questionOf(this.#deps.vault, conversation) : null;
    const context = { menu, numberToMatch, numbers, phones, question: question?.text ?? "" };
    const reply: Reply = {
      name: "Access-Challenge",
      message: renderPrompt(asked, context),
      state: hasToken ? `${at}.${this.#deps.tokenOf(orderedId, at)}` : at,
      isEchoed: question?.isEchoed ?? !isSecretPrompt(asked),
      clear: question?.attributes ?? NO_ATTRIBUTES,
    };
    const fitting = hasNoSizeLimit(request)
      ? reply
      : shorterChallenges(reply).find((one) => isSmallReply(request, one));
    if (fitting !== undefined) {
      return this.#deliver(request, inEap(request, fitting), { row, conversation });
    }
    // A request with little more than a short name is no login of a real client.
    this.reject(request, "denied", { row, conversation });
  }

  /** Sends the answer of another server. `clear`: its attributes, without Message-Authenticator and Proxy-State. */
  forward(request: Request, answer: { name: ReplyName; clear: readonly ClearAttribute[] }): void {
    const isSmall = clearOctets(answer.clear) <= MAX_AMPLIFICATION * request.octets.length;
    // Only a right password gets an Accept, so its size needs no limit.
    if (!isSmall && answer.name !== "Access-Accept" && !hasNoSizeLimit(request)) {
      return this.drop(request, "rate_limited");
    }
    this.#deliver(request, { ...answer, message: "" }, { row: FORWARDED, conversation: null });
  }

  /**
   * Asks for the password of a login that has no conversation yet, or for the name of the user.
   *
   * @param asked.trace joins the packets before the login for the packet view
   */
  ask(request: Request, asked: { row: string; trace: string } & Pick<Reply, "state" | "eap">): void {
    const { row, trace, ...parts } = asked;
    const reply: Reply = { name: "Access-Challenge", message: PASSWORD_PROMPT, ...parts };
    this.#deliver(request, inEap(request, reply), { row, conversation: null, trace });
  }

  /** Leaves a request without an answer. `keepSlot`: its retransmissions stay unanswered too. */
  drop(request: Request, reason: NoReplyReason, { keepSlot = false }: { keepSlot?: boolean } = {}): void {
    const { level, sentence } = DROP_REASONS[reason];
    const line: DropLine = { reason, level, text: sentence };
    this.#leave(request, reason, { keepSlot, line });
  }

  /** Counts a drop and logs it. The folded log limits the lines and the events of a flood. */
  #leave(
    request: Request,
    reason: NoReplyReason,
    { keepSlot, line }: { keepSlot: boolean; line: DropLine },
  ): void {
    const { counters, packets, folded, emit, clock } = this.#deps;
    counters.drop(reason);
    request.server.release(request, { keepSlot });
    const { octets, source, client, slot } = request;
    if (slot.recorded !== null) slot.recorded.verdict = reason;
    else packets.dropped({ octets, reason, source, client: client.name });
    const fields = { reason: line.reason, ...line.fields, ...senderOf(request) };
    if (!folded.write(line.reason, { level: line.level, message: `dropped: ${line.text}`, fields })) return;
    emit({ kind: "drop", atMs: clock.nowMs(), reason, source, client: client.name });
  }

  #deliver(
    request: Request,
    reply: Reply,
    { row, conversation, refusedFor, sources, trace }: ReplyReason,
  ): void {
    const { log, counters, packets, random } = this.#deps;
    let octets: Uint8Array<ArrayBuffer>;
    try {
      const isSmall = hasNoSizeLimit(request) || reply.name === "Access-Challenge" ||
        isSmallReply(request, reply);
      octets = writeReply(request, isSmall ? reply : withoutText(reply), random);
    } catch (fault) {
      const line = notWritten(row, fault);
      // Only the log names this reason. The metrics and the console have no row for it and count it as too_busy.
      return this.#leave(request, "too_busy", { keepSlot: true, line });
    }
    request.slot.reply = octets;
    request.server.answer(request, octets);
    counters.count(COUNTED[reply.name]);
    if (row !== FORWARDED) {
      packets.answered(conversation?.orderedId ?? trace ?? null, request, { reply: octets, row, sources });
    }
    if (!log.enabled("info")) return;
    log.info(reply.name, {
      ...senderOf(request),
      ...namesOf(request, conversation),
      id: request.octets[1],
      step: conversation?.outcome ?? conversation?.at,
      row,
      because: refusedFor ? codeFaultText(refusedFor) : undefined,
      policy: (conversation?.policy ?? "") || undefined,
      conversation: conversation?.orderedId,
      tookMs: Math.round((performance.now() - request.startedAt) * 10) / 10,
    });
  }
}

/** The user of the login, and the name outside the tunnel of EAP if that differs. */
function namesOf({ userName }: Request, conversation: Conversation | null): { user: string; outer?: string } {
  const { shownUser: user = userName, relay = null } = conversation ?? {};
  return relay === null || relay.outer === user ? { user } : { user, outer: relay.outer };
}

/** Why the Access-Accept of a login cannot be sent: found out before the user is asked, by writing it. */
export function acceptFaultOf(
  deps: Parameters<typeof acceptReplyOf>[0] & { readonly random: Random },
  conversation: Conversation,
  attempt: Pick<LoginAttempt, "client" | "octets" | "hasEap" | "hasProxyState" | "policy">,
): AcceptFault | null {
  const { octets, hasProxyState } = attempt;
  // The settings limit the attributes of the gateway.
  if (octets === undefined || (conversation.firstFactorReply === "" && !hasProxyState)) return null;
  const reply = acceptReplyOf(deps, conversation, { ofPolicy: attempt.policy?.attributes });
  if (reply === null) return "reply_unreadable";
  const { sources: _ofAttributes, ...attributes } = reply;
  const request = { ...attempt, octets };
  try {
    writeReply(request, inEap(request, { name: "Access-Accept", message: "", ...attributes }), deps.random);
    return null;
  } catch (fault) {
    if (fault instanceof RangeError) return "accept_too_large";
    throw fault;
  }
}

function notWritten(row: string, fault: unknown): DropLine {
  return {
    reason: "reply_not_written",
    level: "error",
    text: "the reply could not be written",
    fields: { row, fault: String(fault) },
  };
}

/** RFC 3579 §2.2: the Access-Reject of a request with EAP contains EAP-Failure; RFC 2548 §2.1.5: that of one with MS-CHAP, MS-CHAP-Error. */
function failureOf(
  { octets }: Request,
  { reply: { message, clear = [] }, random }: { reply: Reply; random: Random },
): Pick<Reply, "eap" | "clear"> {
  const identifier = eapIdentifierOf(octets);
  if (identifier !== null) {
    return { eap: eapFailure(identifier), clear: withoutTexts(clear, { isEap: true }) };
  }
  const msChap = readMsChap(octets);
  if (msChap === null) return {};
  const error = encodeMsChapError(msChap, { challenge: random.bytes(16), message });
  return { clear: [...clear, { type: VENDOR_SPECIFIC, value: error }] };
}

/** RFC 3579 §2.6.5: an answer with EAP has no Reply-Message. */
function withoutTexts(
  clear: readonly ClearAttribute[],
  { isEap = clear.some(({ type }) => type === EAP_MESSAGE) }: { isEap?: boolean } = {},
): readonly ClearAttribute[] {
  return isEap ? clear.filter(({ type }) => type !== REPLY_MESSAGE) : clear;
}

/** RFC 3748 §3.1: a lower layer carries at least 1020 octets, and EAP-GTC has no fragments. Code, Identifier, Length and Type take five. */
const MAX_GTC_OCTETS = 1020 - 5;
/** How long the client waits for the user before it sends the prompt again (RFC 3579 §2.3). */
const TYPING_SECONDS = 60;
const TYPING_TIME = Uint8Array.of(typeOf("Session-Timeout"), 6, 0, 0, 0, TYPING_SECONDS);

/** An Accept or a challenge of an EAP-GTC conversation, with EAP-Success or with the text as EAP-GTC. Another one stays as it is. */
function inEap({ octets, hasEap }: Pick<Request, "octets" | "hasEap">, reply: Reply): Reply {
  if (!hasEap) return reply;
  const { name, message, eap: own, isEchoed: _prompt, clear = [], ...plain } = reply;
  if (own !== undefined || clear.some(({ type }) => type === EAP_MESSAGE)) return reply;
  const identifier = eapIdentifierOf(octets) ?? 0;
  if (name !== "Access-Challenge") return { ...reply, eap: eapSuccess(identifier) };
  const text = new Uint8Array(MAX_GTC_OCTETS);
  const eap = encodeEap({
    code: EAP_CODES.request,
    identifier: nextEapIdentifier(identifier),
    type: EAP_METHODS["EAP-GTC"].type,
    data: text.subarray(0, utf8.encodeInto(message, text).written),
  });
  return { ...plain, name, message, eap, attributes: TYPING_TIME };
}

/** A text of the gateway, or of the first-factor server, is left out of a Reject. An Accept keeps its attributes. */
function withoutText(reply: Reply): Reply {
  return { ...reply, message: "", ...(reply.name === "Access-Reject" ? { clear: [] } : {}) };
}

/** The challenge, and ones with fewer octets: without Prompt (RFC 2869 §5.10), with only the first line, and without a text. */
function shorterChallenges(reply: Reply): Reply[] {
  const { isEchoed: _prompt, clear: _ofServer, ...plain } = reply;
  const [message = ""] = reply.message.split("\n");
  return [reply, plain, { ...plain, message }, { ...plain, message: "" }];
}

/**
 * A reply needs no limit if the sender knows the secret, or if the client has addresses of its own: a forged packet then only reaches that client,
 * and its source has a limited rate.
 */
function hasNoSizeLimit({ hasProof, client }: Request): boolean {
  return hasProof || !client.hasNetwork;
}

/**
 * Whether a reply is small enough for a request that proves nothing: its source address may be forged, and the owner of that address gets the
 * reply.
 */
function isSmallReply(request: Request, reply: Reply): boolean {
  return replyOctets(request, reply) <= MAX_AMPLIFICATION * request.octets.length;
}

const COUNTED = {
  "Access-Accept": "accepts",
  "Access-Reject": "rejects",
  "Access-Challenge": "challenges",
} as const;

/** The sender of a request, for a log line. */
export function senderOf({ client, source }: Request): { client: string; source: string } {
  return { client: client.name, source };
}

const ANY_ADDRESS =
  "any client address is accepted: configure [[radius.client]] to accept only known clients";

/** Logs a request that passed the gate. */
export function logRequest({ log, folded }: { log: Log; folded: FoldedLog }, request: Request): void {
  const { client, octets, signed } = request;
  if (client.anyAddress) {
    folded.write("any_address", { level: "warn", message: ANY_ADDRESS, fields: senderOf(request) });
  }
  if (!log.enabled("info")) return;
  const { shown, unknown } = describeAttributes(octets, octets.length);
  const fields = { ...senderOf(request), id: octets[1], attributes: shown };
  // A signed request comes from a client, so each has its own line.
  if (signed) log.info("Access-Request", fields);
  else folded.write("unsigned_request", { level: "info", message: "Access-Request", fields });
  for (const type of unknown) {
    const message = `attribute ${type} is unknown, skipped`;
    folded.write("unknown_attribute", { level: "info", message, fields: senderOf(request) });
  }
}
