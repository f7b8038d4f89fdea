// The messages for phones: which one news of the second-factor service becomes, for which subscription, and until when it has a meaning.

import { type ApprovalRecord, approvalState, type PushSubscriptionRecord } from "../second_factor/records.ts";
import type { OwnRequest } from "../second_factor/interfaces.ts";
import type { PhoneNews, SecondFactorContext } from "../second_factor/context.ts";

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
export interface OutgoingPush {
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
export function testMessage(phone: string, nowMs: number): OutgoingPush {
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
export interface PlannedPush {
  readonly subscription: PushSubscriptionRecord;
  readonly message: OutgoingPush;
  /** Whether the message has a meaning only after an earlier one about the same. */
  readonly onlyAfter: boolean;
  /** Whether the message still has a meaning; on all nodes, because each one mirrors the tables. */
  readonly isNeeded: () => boolean;
}

type PlanDeps = Pick<SecondFactorContext, "tables" | "clock" | "settings">;

/** `null`: no phone needs a message. */
export function planPush(news: PhoneNews, deps: PlanDeps): PlannedPush | null {
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
