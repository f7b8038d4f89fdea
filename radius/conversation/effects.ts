// The effects that call other services. Each one is prepared before its claim is recorded, and performed after that. The result is stored in
// the attempt, and the flow table chooses the next row.

import { isAccountRefusal } from "../../platform/account_refusals.ts";
import { type Clock, type Random, randomDigits } from "../../platform/runtime.ts";
import type { Mutation } from "../../platform/store.ts";
import type { Effect } from "../flow/flow.ts";
import { readCode } from "../protocol/login_input.ts";
import type { CheckedFirstFactor, LoginAttempt } from "../server/request.ts";
import { ANY_ADDRESS_CLIENT } from "../server/clients.ts";
import { type Conversation, passcodeDigest } from "./conversation.ts";
import { changeInDirectory, openReply, sealReply } from "./sealed_fields.ts";
import { type Limits, NOT_SENT_REASONS, type NotSentReason, whyNotSent } from "../factors/limits.ts";
import { orderPhones } from "../factors/own_factors.ts";
import { keptReply } from "../protocol/relayed_attributes.ts";
import type {
  ApprovalRequest,
  DevicePairing,
  Fault,
  FirstFactorReply,
  FirstFactorVerifier,
  Outcome,
  Passwords,
  SecondFactorService,
  TelephonyService,
} from "../ports.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import type { FactorSettings } from "../../platform/config/config.ts";
import type { Log } from "../../platform/log.ts";
import type { Vault } from "../../platform/vault.ts";
import type { Pairings } from "../factors/pairings.ts";
import type { Facts } from "../flow/context.ts";
import type { Denial } from "./login_record.ts";
import type { Counters } from "../server/gateway_monitor.ts";

export interface UpstreamDeps {
  readonly settings: FactorSettings;
  readonly secondFactor: SecondFactorService;
  readonly nullStatusCheck: NullStatusCheck;
  readonly telephony: TelephonyService;
  readonly firstFactor: FirstFactorVerifier;
  /** Absent: no password can be changed. */
  readonly passwords?: Pick<Passwords, "changes"> | undefined;
  readonly pairings: Pairings;
  readonly limits: Limits;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly counters: Counters;
  readonly log: Log;
}

/** The login that a service is called for. */
interface ServiceCall {
  readonly conversation: Conversation;
  readonly attempt: LoginAttempt;
  readonly facts: Facts;
}

/** Too many passwords wait. The request gets no answer, so that the client sends it again. */
export class FirstFactorBusy extends Error {
  constructor() {
    super("Cannot check a password now: too many wait already");
    this.name = "FirstFactorBusy";
  }
}

/** The mutations of the effect's claim, and its call. */
interface PreparedEffect {
  readonly mutations: readonly Mutation[];
  /** Called if the claim could not be recorded. */
  readonly undo?: () => void;
  /** Makes the call. Rejects only with {@link FirstFactorBusy}. */
  perform(): Promise<void>;
}

/** Prepares one effect. All random values and counts are made here, so that the claim includes them. */
export function prepareEffect(
  deps: UpstreamDeps,
  effect: Effect,
  at: ServiceCall,
): PreparedEffect {
  switch (effect) {
    case "push":
      return preparePush(deps, at);
    case "text":
    case "call":
      return prepareMessage(deps, effect, at);
    case "create_pairing":
      return calling(() => createPairing(deps, at));
    case "change_password":
      return calling(() => changeInDirectory(deps, at));
    case "check_first_factor":
      return calling(() => checkFirstFactor(deps, at));
    case "hold": {
      const until = at.attempt.receivedMs + at.attempt.client.settings.holdMs;
      return calling(() =>
        awaitDecision(deps, at, until, deps.secondFactor.embedded ? POLL_WITH_NOTICE_MS : POLL_MS)
      );
    }
    case "ask_approval": {
      const until = deps.clock.nowMs() + deps.settings.device.continueWaitMs;
      return calling(() => awaitDecision(deps, at, until, CONTINUE_POLL_MS));
    }
    case "ask_null":
      return calling(() => deps.nullStatusCheck.checkTwice(at.conversation.client));
    case "ask_pairing":
      return calling(() => askPairing(deps, at));
    case "ask_otp":
      return calling(() => askOtp(deps, at));
    default:
      throw new Error(`Cannot prepare "${effect}": it calls no service`);
  }
}

function calling(perform: () => Promise<void>): PreparedEffect {
  return { mutations: [], perform };
}

function preparePush(deps: UpstreamDeps, { conversation, attempt, facts }: ServiceCall): PreparedEffect {
  const forCode = attempt.appended?.kind === "code" ||
    (conversation.at === "CHOOSE_WHICH_MULTIFACTOR" && facts.answer.toLowerCase() === "d");
  const phones = orderPhones(deps.pairings.usable(conversation.user));
  const wanted = phones.find(({ totpLength }) => !forCode || totpLength > 0);
  const chosen = typeof facts.appendedChoice === "object" ? facts.appendedChoice.id : null;
  const pairingId = facts.phones.other ?? conversation.newPairingId ?? chosen ?? wanted?.id ?? "";
  conversation.factor = "device";
  conversation.pairingId = pairingId;
  conversation.phone = phones.find(({ id }) => id === pairingId)?.name ?? null;
  conversation.requestId = null;
  conversation.numberToMatch = null;
  const hasPrompt = facts.held === "no";
  return {
    mutations: [deps.limits.countPush(conversation.user)],
    undo: () => deps.limits.uncountPush(conversation.user),
    async perform() {
      const opened = await deps.secondFactor.initiate({
        pairingId,
        terminalName: deps.settings.terminalName,
        context: { ...originOf(conversation), hasPrompt },
      });
      if (!opened.ok) return logFault(deps, "initiate", conversation, opened.fault);
      conversation.requestId = opened.value.id;
      conversation.numberToMatch = hasPrompt ? opened.value.numberToMatch ?? null : null;
    },
  };
}

/**
 * The origin of a login for the user: the name of the client (its address while no client is configured) and the place that the client
 * reports. The address of the client is not the place of the user.
 */
function originOf({ client, source, place }: Conversation): { client: string; place: string } {
  return { client: client === ANY_ADDRESS_CLIENT ? source : client, place };
}

function prepareMessage(
  deps: UpstreamDeps,
  effect: "text" | "call",
  { conversation, attempt, facts }: ServiceCall,
): PreparedEffect {
  const factor = effect === "text" ? "sms" : "voice";
  const typed = conversation.at === "GET_SMS_PHONE_NUMBER" || conversation.at === "GET_VOICE_PHONE_NUMBER";
  const known = effect === "text" ? facts.smsNumbers : facts.voiceNumbers;
  const chosen = typeof facts.appendedChoice === "object" ? facts.appendedChoice.number : known[0];
  const number = (typed ? facts.number : chosen) ?? null;
  conversation.factor = factor;
  conversation.passcode = null;
  const { user, client } = conversation;
  if (number === null) return calling(() => Promise.resolve());
  // The row that led here allowed a typed number. The others are numbers of the user.
  const forbidden = whyNotSent(deps, { user, client, number, allowed: true });
  if (forbidden !== null) {
    return calling(() => Promise.resolve(logNotSent(deps, effect, conversation, forbidden)));
  }
  const send = { user, client, number };
  const mutations = deps.limits.countSend(send);
  const { smsDigits, voiceDigits, lifetimeMs } = deps.settings.passcode;
  const passcode = randomDigits(deps.random, effect === "text" ? smsDigits : voiceDigits);
  const intro = spokenIntro(deps, spokenName(conversation.shownUser, { exists: facts.userExists }));
  if (conversation.secretId === "") conversation.secretId = deps.random.bytes(16).toHex();
  conversation.passcode = {
    factor,
    number,
    digest: passcodeDigest(deps.vault, conversation.secretId, passcode),
    expiresMs: deps.clock.nowMs() + lifetimeMs,
  };
  return {
    mutations,
    undo: () => deps.limits.uncountSend(send),
    async perform() {
      deps.counters.count("sends");
      const sent = effect === "text"
        ? await deps.telephony.text({
          to: number,
          body:
            `${passcode} is your passcode for ${deps.settings.terminalName}. ${deps.settings.requesterName}`,
          validitySeconds: Math.ceil(lifetimeMs / 1000),
        })
        : await deps.telephony.call({ to: number, intro, digits: passcode });
      attempt.messageSent = sent.ok;
      if (sent.ok) return;
      logFault(deps, effect, conversation, sent.fault);
      // If nothing was delivered, there is no passcode to guess. After a lost answer there may be one.
      if (NOT_DELIVERED.has(sent.fault.kind)) conversation.passcode = null;
    },
  };
}

const NOT_DELIVERED: ReadonlySet<Fault["kind"]> = new Set(["refused", "unknown", "busy", "not_called"]);

function spokenIntro({ settings }: UpstreamDeps, name: string): string {
  return `This is ${settings.requesterName}. The passcode of ${name} for ${settings.terminalName} is:`;
}

async function checkFirstFactor(deps: UpstreamDeps, call: ServiceCall): Promise<void> {
  const { conversation, attempt } = call;
  if (attempt.checkedBefore !== null) return noteFirstFactor(deps, call, attempt.checkedBefore);
  const { octets } = attempt;
  const question = attempt.answer === null ? null : openReply(deps.vault, conversation);
  // Without the State of the server, the answer would be taken for a password.
  if (attempt.answer !== null && question === null) {
    return noteFirstFactor(deps, call, {
      firstFactor: "unavailable",
      firstFactorReply: null,
      passwordChecked: false,
    });
  }
  const verdict = await deps.firstFactor.verify({
    client: conversation.client,
    settings: attempt.client.settings,
    user: conversation.user,
    userName: conversation.shownUser,
    password: attempt.password,
    ...(octets === undefined ? {} : { request: octets }),
    challenge: question,
  });
  if (verdict === "busy") throw new FirstFactorBusy();
  noteFirstFactor(
    deps,
    call,
    typeof verdict === "object" ? checkedByServer(verdict) : {
      passwordChecked: verdict === "right" || verdict === "wrong",
      firstFactor: verdict === "unchecked" ? "wrong" : verdict,
      firstFactorReply: null,
    },
  );
}

const VERDICTS = {
  "Access-Accept": "right",
  "Access-Reject": "wrong",
  "Access-Challenge": "challenged",
} as const;

function checkedByServer(answer: FirstFactorReply): CheckedFirstFactor {
  const firstFactor = VERDICTS[answer.code];
  return { firstFactor, firstFactorReply: answer, passwordChecked: firstFactor !== "challenged" };
}

function noteFirstFactor(
  { vault }: Pick<UpstreamDeps, "vault">,
  { conversation, attempt }: Pick<ServiceCall, "conversation" | "attempt">,
  checked: CheckedFirstFactor,
): void {
  Object.assign(attempt, checked);
  const { firstFactorReply: answer } = checked;
  conversation.firstFactorServer = answer?.server ?? "";
  conversation.firstFactorReply = answer === null
    ? ""
    : sealReply(vault, conversation, keptReply(answer, attempt.client.settings.replyFromFirstFactor));
  if (isAccountRefusal(checked.firstFactor)) attempt.refusedFor = checked.firstFactor;
}

async function createPairing(
  deps: UpstreamDeps,
  { conversation, attempt, facts }: ServiceCall,
): Promise<void> {
  const created = await deps.secondFactor.createPairing({
    phrase: facts.answer,
    userName: conversation.shownUser,
  });
  notePairing(deps, { conversation, attempt }, created);
  conversation.newPairingId = created.ok ? created.value.id : null;
  if (created.ok) [conversation.factor, conversation.phone] = ["device", created.value.name ?? null];
}

async function askPairing(deps: UpstreamDeps, { conversation, attempt }: ServiceCall): Promise<void> {
  const { newPairingId } = conversation;
  if (newPairingId === null) {
    attempt.pairing = "unknown";
    return;
  }
  notePairing(deps, { conversation, attempt }, await deps.secondFactor.pairing(newPairingId));
}

function notePairing(
  deps: UpstreamDeps,
  { conversation, attempt }: { conversation: Conversation; attempt: LoginAttempt },
  answer: Outcome<DevicePairing>,
): void {
  if (!answer.ok) {
    attempt.pairing = answer.fault.kind === "unknown" ? "unknown" : null;
    return logFault(deps, "pairing", conversation, answer.fault);
  }
  const { id, enabled, pending, deactivated, totpLength, name } = answer.value;
  const owner = deps.pairings.ownerOf(id);
  attempt.newPairingTotpLength = totpLength;
  attempt.newPairingName = name;
  // A service must not give this user the phone of another user.
  const refused = deactivated || (owner !== null && owner !== conversation.user);
  attempt.pairing = refused ? "denied" : pending ? "pending" : enabled ? "enabled" : "denied";
}

async function askOtp(deps: UpstreamDeps, { conversation, attempt, facts }: ServiceCall): Promise<void> {
  const { requestId } = conversation;
  if (requestId === null) return;
  const code = attempt.appended?.kind === "code" ? attempt.appended.code : readCode(facts.answer);
  // Each phone of the user may generate the passcode, not only the one that has the request.
  const phones = orderPhones(deps.pairings.usable(conversation.user)).filter(({ totpLength }) =>
    totpLength > 0
  );
  const answer = await deps.secondFactor.otpAuth(requestId, code, phones.map(({ id }) => id));
  if (answer.ok) {
    attempt.decision = decisionOf(answer);
    const used = phones.find(({ id }) => id === answer.value.passcodeOf);
    if (used !== undefined) [conversation.pairingId, conversation.phone] = [used.id, used.name ?? null];
    // An external service answers the same for a wrong code and a request that is over. Both count as a wrong code.
    attempt.denial = deps.secondFactor.embedded ? denialOf(deps, answer) : undefined;
    return;
  }
  // 4xx is a wrong code, except 401 and 403, which concern the credentials of the gateway.
  const { fault } = answer;
  const refused = fault.kind === "unknown" ||
    (fault.kind === "refused" && fault.status !== 401 && fault.status !== 403);
  attempt.decision = refused ? "denied" : null;
  logFault(deps, "otp_auth", conversation, fault);
}

/** Counts and logs a message that is not sent. The user sees the same text as after a fault. */
export function logNotSent(
  { log, counters }: Pick<UpstreamDeps, "log" | "counters">,
  call: "text" | "call",
  { orderedId, shownUser, client }: Conversation,
  reason: NotSentReason,
): void {
  counters.count(`sends_refused_${reason}`);
  const why = NOT_SENT_REASONS[reason];
  log.warn(`not sent: ${call}`, { conversation: orderedId, user: shownUser, client, reason, why });
}

/** Longer names of the directory are cut before they are spoken. */
const MAX_SPOKEN_CHARACTERS = 64;
/** A plain login name. Without blanks it is not a sentence, and with few digits it is not a phone number. */
const PLAIN_NAME = /^[\p{L}\p{N}._@\\-]{1,32}$/u;
const MAX_SPOKEN_DIGITS = 4;

/**
 * The user's name for a voice call. Anyone can begin a login with an invented name. So a name that the directory does not have is only spoken if it
 * cannot contain a message.
 */
function spokenName(name: string, { exists }: { exists: boolean }): string {
  if (exists) return [...name].slice(0, MAX_SPOKEN_CHARACTERS).join("");
  const digits = name.match(/\p{N}/gu)?.length ?? 0;
  return PLAIN_NAME.test(name) && digits <= MAX_SPOKEN_DIGITS ? name : "this user";
}

// Waits for the decision about an approval request: polls the service, and continues at once when the service reports the decision.

/** Logs a call that failed. */
function logFault(deps: UpstreamDeps, call: string, conversation: Conversation, fault: Fault): void {
  deps.log.warn(`upstream call failed: ${call}`, {
    conversation: conversation.orderedId,
    user: conversation.shownUser,
    fault: fault.kind,
    detail: fault.detail,
  });
}

/** The interval of status calls. The embedded service also reports the decision at once. */
const POLL_MS = 1000;
const POLL_WITH_NOTICE_MS = 5000;
/** After "continue", the wait is short, so the interval is short too. */
const CONTINUE_POLL_MS = 500;

/** Polls until there is a decision, the time is over, or the conversation has ended. */
async function awaitDecision(
  deps: UpstreamDeps,
  at: ServiceCall,
  untilMs: number,
  pollMs: number,
): Promise<void> {
  const { conversation, attempt } = at;
  const { requestId } = conversation;
  if (requestId === null) return;
  const notice = createNotice(deps.clock);
  const stop = deps.secondFactor.onDecision(requestId, notice.wake);
  try {
    while (conversation.outcome === null && !conversation.overtaken) {
      const answer = await deps.secondFactor.status(requestId);
      attempt.decision = decisionOf(answer);
      attempt.denial = denialOf(deps, answer);
      attempt.decidedMs = answer.ok ? answer.value.decidedMs : undefined;
      if (!answer.ok) logFault(deps, "status", conversation, answer.fault);
      // A request that expires together with its login was not denied.
      const loginIsOver = deps.clock.nowMs() >= conversation.deadlineMs;
      if (loginIsOver && attempt.decision === "denied") attempt.decision = "pending";
      const left = untilMs - deps.clock.nowMs();
      if (attempt.decision === "granted" || attempt.decision === "denied" || left <= 0) return;
      await notice.wait(Math.min(pollMs, left));
    }
  } finally {
    stop();
  }
}

/** A wait that `wake` ends early. */
function createNotice(clock: Clock): { wake: () => void; wait: (delayMs: number) => Promise<void> } {
  let woken = false;
  let resume: (() => void) | null = null;
  return {
    wake() {
      woken = true;
      resume?.();
    },
    wait(delayMs) {
      if (woken) {
        woken = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const cancel = clock.after(delayMs, () => done());
        const done = () => {
          cancel();
          resume = null;
          woken = false;
          resolve();
        };
        resume = done;
      });
    },
  };
}

/** `granted` counts only if `pending` is false. A service that does not know the request has not approved it. */
function decisionOf(answer: Outcome<ApprovalRequest>): Facts["decision"] {
  if (!answer.ok) return answer.fault.kind === "unknown" ? "denied" : null;
  if (answer.value.pending) return "pending";
  return answer.value.granted && !answer.value.cancelled ? "granted" : "denied";
}

/** The cause of a decision that {@link decisionOf} reads as "denied". */
function denialOf(
  { secondFactor }: UpstreamDeps,
  answer: Outcome<ApprovalRequest>,
): Denial | undefined {
  if (decisionOf(answer) !== "denied") return undefined;
  // The embedded service forgets a request only long after its deadline.
  return (answer.ok ? answer.value.denial : undefined) ??
    { cause: secondFactor.embedded ? "expired" : "service" };
}

const MAX_CHECKS_PER_MINUTE = 10;

/**
 * The two status calls with the literal `null` that the specification requires for a State of the device step whose conversation is gone.
 * Limited per client, so that forged States cannot cause many calls.
 */
export class NullStatusCheck {
  readonly #deps: { readonly clock: Clock; readonly secondFactor: SecondFactorService };
  readonly #checked = new Map<string, number[]>();

  constructor(deps: { readonly clock: Clock; readonly secondFactor: SecondFactorService }) {
    this.#deps = deps;
  }

  /** Calls twice, unless the client reached its limit. Never rejects. */
  async checkTwice(client: string): Promise<void> {
    const { clock, secondFactor } = this.#deps;
    const now = clock.nowMs();
    const recent = (this.#checked.get(client) ?? []).filter((atMs) => atMs > now - MINUTE_MS);
    if (recent.length >= MAX_CHECKS_PER_MINUTE) return;
    this.#checked.set(client, [...recent, now]);
    await secondFactor.status("null");
    await secondFactor.status("null");
  }
}
