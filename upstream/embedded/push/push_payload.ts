// The content of push messages, as JSON for the service worker of the phone. The phone keeps notifications in a list, so a message
// has no secret and never the number of a login.

import type { ApprovalRecord } from "../second_factor/records.ts";
import type { OwnRequest } from "../second_factor/interfaces.ts";

/** How a request ended, for the phone that shows its notification. */
export type PushedEnd = Exclude<OwnRequest["state"], "waiting">;

/** What a message says. */
export type PushPayload =
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
export function requestMessage(
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
export function endedMessage(requestId: string, how: PushedEnd, nowMs: number): OutgoingPush {
  return {
    payload: { v: 1, kind: "ended", requestId, how },
    subject: requestId,
    keptUntilMs: nowMs + ENDED_KEPT_MS,
    deadlineMs: nowMs + ENDED_DEADLINE_MS,
  };
}

/** A phrase was typed at a login, and the phone must confirm the pairing. */
export function pairingMessage(
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
