// Web push of the embedded second-factor service: tells phones about requests while their page is closed, and until when a message has a meaning. Nothing
// waits for a push: a login goes on whatever becomes of it.

import { MINUTE_MS } from "../../../platform/durations.ts";
import type { Log } from "../../../platform/log.ts";
import { toBase64Url } from "../../../platform/runtime.ts";
import { findPhone } from "../second_factor/pairings.ts";
import { createRateLimit, type RateLimit } from "../../../platform/limit_table.ts";
import type { PhoneNews, SecondFactorContext } from "../second_factor/context.ts";
import { encryptPush, openVapidKeys, VapidHeaders, type VapidKeys } from "./push_encryption.ts";
import {
  type GivenSubscription,
  isAllowedEndpoint,
  parsePushTarget,
  PushSubscriptions,
  type PushTarget,
} from "./push_subscriptions.ts";
import {
  probePushHost,
  type PushExchangeResult,
  type PushNetwork,
  type PushProblem,
  pushProblem,
  sendPushOnce,
} from "./push_exchange.ts";
import { type AttemptBounds, type PushHostStatus, type PushResult, PushSender } from "./push_sender.ts";
import type { Config } from "../../../platform/config/config.ts";
import { type ApprovalRecord, approvalState, type PushSubscriptionRecord } from "../second_factor/records.ts";
import type { OwnRequest } from "../second_factor/interfaces.ts";

export interface PushSettings {
  readonly enabled: boolean;
  /** Patterns of allowed hosts. */
  readonly hosts: readonly string[];
  /** A mailto: or https: address for the operators of push services. */
  readonly contact: string;
}

export interface PushDeps {
  readonly settings: PushSettings;
  readonly network: PushNetwork;
  readonly userAgent: string;
  readonly log?: Pick<Log, "info" | "warn"> | undefined;
  /** Receives the error of a message that could not be made. */
  readonly onBug: (fault: unknown) => void;
}

/** What the page of a phone knows about its push messages. */
export interface PhonePushView {
  readonly enabled: boolean;
  /** `applicationServerKey`, in base64url. */
  readonly publicKey: string;
  readonly subscribed: boolean;
  readonly problem: string | null;
}

/** Push of this node, for System status. */
export interface PushStatus {
  readonly isEnabled: boolean;
  /** Without the key pair there are no messages. */
  readonly hasKey: boolean;
  readonly subscribed: number;
  /** Subscriptions that the push services ended. */
  readonly ended: number;
  /** Messages in progress, with those that wait for another attempt. */
  readonly inProgress: number;
  /** Messages since the start that a push service accepted, and those that none accepted. */
  readonly accepted: number;
  readonly failed: number;
  readonly hosts: readonly PushHostStatus[];
}

/** Why a phone cannot change its subscription. */
type PushRefusal =
  | "unknown_token"
  | "bad_push_subscription"
  | "push_host_not_allowed"
  | "push_off"
  | "too_many_tries";

export type PushChange = { readonly ok: true } | { readonly ok: false; readonly reason: PushRefusal };
export type PushTestResult = PushResult | { readonly ok: false; readonly fault: PushRefusal };

const TESTS_PER_MINUTE = 5;
/** Of one administrator, to any phones. */
const TESTS_BY_ADMINISTRATOR_PER_MINUTE = 30;
const CHANGES_PER_MINUTE = 20;

export class PushNotifications {
  readonly #context: SecondFactorContext;
  readonly #deps: PushDeps;
  readonly #sender: PushSender;
  readonly #tests: RateLimit;
  readonly #administratorTests: RateLimit;
  readonly #changes: RateLimit;
  readonly subscriptions: PushSubscriptions;
  readonly #results = { accepted: 0, failed: 0 };
  #keys: { readonly pair: VapidKeys; readonly headers: VapidHeaders } | null = null;

  constructor(context: SecondFactorContext, deps: PushDeps) {
    this.#context = context;
    this.#deps = deps;
    this.#sender = new PushSender({
      ...context,
      onHostChange: (host, problem) => this.#logChange(host, problem),
    });
    this.subscriptions = new PushSubscriptions(context);
    const inOneMinute = (name: string, count: number) =>
      createRateLimit(context, { name, count, windowMs: MINUTE_MS });
    this.#tests = inOneMinute("push_test", TESTS_PER_MINUTE);
    this.#administratorTests = inOneMinute("push_test_by", TESTS_BY_ADMINISTRATOR_PER_MINUTE);
    this.#changes = inOneMinute("push_change", CHANGES_PER_MINUTE);
    context.phoneNews.add((news) => this.#announce(news));
  }

  /** Reads or creates the key pair. Without it there are no messages, but the gateway starts. */
  async open(): Promise<void> {
    try {
      const pair = await openVapidKeys(this.#context);
      this.#keys = { pair, headers: new VapidHeaders({ keys: pair, clock: this.#context.clock }) };
    } catch (fault) {
      this.#deps.onBug(fault);
    }
  }

  close(): Promise<void> {
    return this.#sender.close();
  }

  /** Since when this installation has push. */
  get sinceMs(): number {
    return this.#keys?.pair.createdMs ?? 0;
  }

  get #isOn(): boolean {
    return this.#deps.settings.enabled && this.#keys !== null;
  }

  /** `null` for an unknown token. */
  view(token: string): PhonePushView | null {
    const phone = findPhone(this.#context, token);
    if (phone === null) return null;
    const record = this.subscriptions.find(phone);
    return {
      enabled: this.#isOn,
      publicKey: this.#keys?.pair.publicKey ?? "",
      subscribed: this.subscriptions.isSubscribed(phone),
      problem: record?.problem?.code ?? null,
    };
  }

  async subscribe(token: string, given: GivenSubscription): Promise<PushChange> {
    const phone = findPhone(this.#context, token);
    if (phone === null) return { ok: false, reason: "unknown_token" };
    if (!this.#isOn) return { ok: false, reason: "push_off" };
    if (!await this.#changes.take(phone)) return { ok: false, reason: "too_many_tries" };
    const parsed = await parsePushTarget(given, this.#deps.settings.hosts);
    if (!parsed.ok) return parsed;
    const isSaved = await this.subscriptions.save(phone, parsed.value);
    return isSaved ? { ok: true } : { ok: false, reason: "unknown_token" };
  }

  async unsubscribe(token: string): Promise<PushChange> {
    const phone = findPhone(this.#context, token);
    if (phone === null) return { ok: false, reason: "unknown_token" };
    await this.subscriptions.remove(phone);
    return { ok: true };
  }

  /**
   * Sends a message to a phone, and resolves with its result.
   *
   * @param phone the digest of its token; `null`: unknown.
   * @param options.by the administrator who asks for it; absent: the phone itself.
   */
  async test(phone: string | null, { by }: { by?: string } = {}): Promise<PushTestResult> {
    if (phone === null) return { ok: false, fault: "unknown_token" };
    const subscription = this.subscriptions.find(phone);
    if (!this.#isOn || subscription === undefined || subscription.sealed === null) {
      return { ok: false, fault: "push_off" };
    }
    const isAllowed = (by === undefined || await this.#administratorTests.take(by)) &&
      await this.#tests.take(phone);
    if (!isAllowed) return { ok: false, fault: "too_many_tries" };
    const message = testMessage(phone, this.#context.clock.nowMs());
    const sent = await this.#push({ subscription, message, onlyAfter: false, isNeeded: () => true });
    return sent ?? { ok: false, fault: "push_off" };
  }

  status(): PushStatus {
    return {
      isEnabled: this.#deps.settings.enabled,
      hasKey: this.#keys !== null,
      ...this.subscriptions.counts(),
      ...this.#results,
      inProgress: this.#sender.jobCount,
      hosts: this.#sender.status(),
    };
  }

  /** Calls each host that has no pattern, and each host that was used, without sending a message. */
  async probe(): Promise<PushStatus> {
    const { network, settings } = this.#deps;
    const named = settings.hosts.filter((host) => !host.startsWith("*."));
    const used = this.#sender.status().map(({ host }) => host);
    await Promise.all(
      [...new Set([...named, ...used])].map((host) =>
        this.#sender.call(
          host,
          (bounds) => probePushHost(host, { network, clock: this.#context.clock, ...bounds }),
        )
      ),
    );
    return this.status();
  }

  #logChange(host: string, problem: PushProblem | null): void {
    const { log } = this.#deps;
    if (problem === null) return log?.info("the push service accepts messages again", { host });
    const { code, status, detail } = problem;
    log?.warn("the push service does not accept messages", { host, problem: code, status, detail });
  }

  /** After the answer of the login is on its way. */
  #announce(news: PhoneNews): void {
    if (!this.#isOn) return;
    try {
      const planned = planPush(news, this.#context);
      if (planned !== null) this.#context.clock.after(0, () => void this.#push(planned));
    } catch (fault) {
      this.#deps.onBug(fault);
    }
  }

  /** Never rejects. `null`: the subscription has no address. */
  async #push({ subscription, message, onlyAfter, isNeeded }: PlannedPush): Promise<PushResult | null> {
    try {
      const { phone, createdMs } = subscription;
      const target = this.subscriptions.target(subscription);
      if (target === null) return null;
      const result = await this.#sender.send({
        host: target.host,
        key: `${phone} ${message.subject}`,
        deadlineMs: message.deadlineMs,
        onlyAfter,
        isNeeded,
        attempt: (bounds) => this.#attempt(target, { message, bounds }),
      });
      if (result.ok) this.#results.accepted++;
      else if (result.fault !== "replaced") this.#results.failed++;
      await this.subscriptions.note(phone, { result, createdMs });
      return result;
    } catch (fault) {
      this.#deps.onBug(fault);
      return { ok: false, fault: pushProblem("failed") };
    }
  }

  async #attempt(
    target: PushTarget,
    { message, bounds }: { message: OutgoingPush; bounds: AttemptBounds },
  ): Promise<PushExchangeResult> {
    const { settings: { hosts, contact }, network, userAgent } = this.#deps;
    const { vault, random, clock } = this.#context;
    if (this.#keys === null) return { ok: false, fault: pushProblem("failed") };
    if (!isAllowedEndpoint(target.endpoint, hosts)) {
      return { ok: false, fault: pushProblem("host_not_allowed") };
    }
    const plain = new TextEncoder().encode(JSON.stringify(message.payload));
    const [authorization, body] = await Promise.all([
      this.#keys.headers.header(new URL(target.endpoint).origin, contact),
      encryptPush(plain, target, { salt: random.bytes(16) }),
    ]);
    // RFC 8030 §5.4: at most 32 characters. The push service learns nothing about the request.
    const digest = Uint8Array.fromHex(vault.digest("push topic", message.subject));
    const topic = toBase64Url(digest.subarray(0, 24));
    // A later attempt has less time (RFC 8030 §5.2).
    const ttlS = Math.max(0, Math.floor((message.keptUntilMs - clock.nowMs()) / 1000));
    const request = { endpoint: target.endpoint, authorization, body, ttlS, topic, userAgent };
    return await sendPushOnce(request, { network, clock, ...bounds });
  }
}

export function createPushSettings(config: Pick<Config, "push" | "http">): PushSettings {
  return {
    get enabled() {
      return config.push.enabled;
    },
    get hosts() {
      return config.push.hosts;
    },
    get contact() {
      return config.push.contact || defaultContact(config.http.publicUrl);
    },
  };
}

/** RFC 8292 §2.1: a mailto: or https: address. Apple refuses tokens without one. */
function defaultContact(publicUrl: string): string {
  return `https://${URL.parse(publicUrl)?.host ?? "localhost"}`;
}

/** How a request ended, for the phone that shows its notification. */
type PushedEnd = Exclude<OwnRequest["state"], "waiting">;

/** What a message says. */
type PushPayload =
  | {
    readonly v: 1;
    readonly kind: "request";
    readonly requestId: string;
    readonly userName: string;
    readonly requesterName: string;
    readonly client: string;
    readonly place: string;
    readonly terminalName: string;
    readonly createdMs: number;
    readonly deadlineMs: number;
    readonly asksNumber: boolean;
    /** The help desk verifies a caller: who asks. Absent: a login. */
    readonly askedBy?: string;
  }
  | { readonly v: 1; readonly kind: "ended"; readonly requestId: string; readonly how: PushedEnd }
  | { readonly v: 1; readonly kind: "pairing"; readonly pairingId: string; readonly userName: string }
  | { readonly v: 1; readonly kind: "test" };

/** A message, and how the push service treats it (RFC 8030 §5). */
interface OutgoingPush {
  readonly payload: PushPayload;
  /** What the message is about. A later message about the same replaces one that was not delivered. */
  readonly subject: string;
  /** Until when the push service keeps the message for a phone that is offline. */
  readonly keptUntilMs: number;
  /** No attempt begins after this. */
  readonly deadlineMs: number;
}

/** With six texts of three octets a character, the payload stays below 3,000 octets. */
const MAX_TEXT_CHARACTERS = 120;
/** A phone that showed the request and then lost its connection for some minutes removes the notification afterwards. */
const ENDED_KEPT_MS = 600_000;
const ENDED_DEADLINE_MS = 30_000;
const PAIRING_KEPT_MS = 600_000;
const TEST_KEPT_MS = 60_000;
const TEST_DEADLINE_MS = 20_000;

/** A pending request. */
function requestMessage(
  request: ApprovalRecord,
  { requesterName }: { requesterName: string },
): OutgoingPush {
  const { id, userName, client, place, terminalName, createdMs, deadlineMs, number, askedBy } = request;
  return {
    payload: {
      v: 1,
      kind: "request",
      requestId: id,
      userName: short(userName),
      requesterName: short(requesterName),
      client: short(client),
      place: short(place),
      terminalName: short(terminalName),
      createdMs,
      deadlineMs,
      asksNumber: number !== null,
      ...(askedBy === undefined ? {} : { askedBy: short(askedBy) }),
    },
    subject: id,
    keptUntilMs: deadlineMs,
    deadlineMs,
  };
}

/** The end of a request. It replaces the request if the phone has not received it. */
function endedMessage(requestId: string, how: PushedEnd, nowMs: number): OutgoingPush {
  return {
    payload: { v: 1, kind: "ended", requestId, how },
    subject: requestId,
    keptUntilMs: nowMs + ENDED_KEPT_MS,
    deadlineMs: nowMs + ENDED_DEADLINE_MS,
  };
}

/** A phrase was typed at a login, and the phone must confirm the pairing. */
function pairingMessage(
  { id, userName }: { readonly id: string; readonly userName: string },
  nowMs: number,
): OutgoingPush {
  return {
    payload: { v: 1, kind: "pairing", pairingId: id, userName: short(userName) },
    subject: id,
    keptUntilMs: nowMs + PAIRING_KEPT_MS,
    deadlineMs: nowMs + PAIRING_KEPT_MS,
  };
}

/** A message that an administrator or the user requested. */
function testMessage(phone: string, nowMs: number): OutgoingPush {
  const payload = { v: 1, kind: "test" } as const;
  const [keptUntilMs, deadlineMs] = [nowMs + TEST_KEPT_MS, nowMs + TEST_DEADLINE_MS];
  return { payload, subject: `test ${phone}`, keptUntilMs, deadlineMs };
}

/**
 * A text for a notification: on one line, in one direction, and not too long. JSON would escape a control character with six
 * octets. A RADIUS client supplies some of the texts, and characters that change the direction could disguise the place.
 */
function short(text: string): string {
  const plain = text.toWellFormed().replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, " ");
  return plain.length <= MAX_TEXT_CHARACTERS
    ? plain
    : `${plain.slice(0, MAX_TEXT_CHARACTERS - 1).toWellFormed()}…`;
}

/** A message about news, for one phone. */
interface PlannedPush {
  readonly subscription: PushSubscriptionRecord;
  readonly message: OutgoingPush;
  /** Whether the message has a meaning only after an earlier one about the same. */
  readonly onlyAfter: boolean;
  /** Whether the message still has a meaning; on all nodes, because each one mirrors the tables. */
  readonly isNeeded: () => boolean;
}

type PlanDeps = Pick<SecondFactorContext, "tables" | "clock" | "settings">;

/** `null`: no phone needs a message. */
function planPush(news: PhoneNews, deps: PlanDeps): PlannedPush | null {
  // The phone decided after its notification appeared, and removes the notification itself.
  if (news.kind === "ended" && news.isNotified === true) return null;
  const subscription = subscriptionFor(news, deps);
  if (subscription === undefined || subscription.sealed === null) return null;
  const message = messageOf(news, deps);
  return { subscription, message, onlyAfter: news.kind === "ended", isNeeded: () => isOpen(news, deps) };
}

function subscriptionFor(news: PhoneNews, { tables }: PlanDeps): PushSubscriptionRecord | undefined {
  // With the last pairing, the subscription ended in the same commit.
  if (news.kind === "ended" && news.subscription !== undefined) return news.subscription;
  const pairing = news.kind === "pairing" ? news.pairing : tables.pairings.get(news.request.pairingId)?.value;
  return pairing === undefined ? undefined : tables.subscriptions.get(pairing.phone)?.value;
}

function messageOf(news: PhoneNews, { clock, settings: { requesterName } }: PlanDeps): OutgoingPush {
  const nowMs = clock.nowMs();
  if (news.kind === "pairing") return pairingMessage(news.pairing, nowMs);
  const { request } = news;
  if (news.kind === "request") return requestMessage(request, { requesterName });
  const state = approvalState(request.decision);
  return endedMessage(request.id, state === "waiting" ? "cancelled" : state, nowMs);
}

/** Whether what the news asks is still open. The end of a request stays true. */
function isOpen(news: PhoneNews, { tables }: PlanDeps): boolean {
  if (news.kind === "ended") return true;
  if (news.kind === "pairing") return tables.pairings.get(news.pairing.id)?.value.state === "asks_approval";
  return tables.requests.get(news.request.id)?.value.decision === null;
}
