// What the embedded services show to the phone page and to the console. The gateway itself reaches them only through
// the HTTP interface of the documents; these are the other two doors.

import type { Mutation } from "../../store.ts";
import type { InvitingPhone } from "./rows.ts";

/** A request that waits for a decision, as the console's list shows it. */
export interface PendingApproval {
  readonly requestId: string;
  readonly userName: string;
  readonly terminalName: string;
  readonly client: string;
  readonly place: string;
  readonly createdMs: number;
  readonly deadlineMs: number;
}

/** A request as the phone shows it. The number itself is never sent to the phone. */
export interface PhoneRequest {
  readonly requestId: string;
  readonly userName: string;
  readonly requesterName: string;
  readonly terminalName: string;
  readonly client: string;
  readonly place: string;
  readonly createdMs: number;
  readonly deadlineMs: number;
  /** Whether the person must type the two digits of the login prompt to approve. */
  readonly asksNumber: boolean;
}

/** A pairing as the phone shows it. `asks_approval`: a login used this phone's phrase; the person must confirm. */
export interface PhonePairing {
  readonly pairingId: string;
  readonly userName: string;
  readonly requesterName: string;
  readonly status: "asks_approval" | "enabled";
  readonly createdMs: number;
}

/** Everything that a phone's page shows, or `null` for an unknown token. */
export interface PhoneView {
  readonly nowMs: number;
  /** A phrase that waits to be typed at a login, and its end. */
  readonly phrase: { readonly text: string; readonly deadlineMs: number } | null;
  readonly pairings: readonly PhonePairing[];
  readonly requests: readonly PhoneRequest[];
}

export type InviteView =
  | {
    readonly ok: true;
    readonly userName: string;
    readonly requesterName: string;
    readonly deadlineMs: number;
  }
  | { readonly ok: false; readonly reason: PhoneRefusal };

/** Why the phone page is told no. */
export type PhoneRefusal =
  | "unknown_token"
  | "unknown_invitation"
  | "account_changed"
  | "already_used"
  | "expired"
  | "unknown_request"
  | "already_decided"
  | "wrong_number"
  | "too_many_tries";

export type PhoneResult<T> = { ok: true; value: T } | { ok: false; reason: PhoneRefusal };

/** Where a request of the phone page came from, for the audit log. */
export interface PhoneOrigin {
  readonly source: string;
  /** "Chrome on Android"; "" where the browser does not tell. */
  readonly browser?: string | undefined;
}

/** The phone page's door. Tokens are 256 bits, base64url; the store keeps only their digests. */
export interface PhoneService {
  /** A new phone that has no pairing yet: gives it a token and a phrase (at least 40 bits, once, 10 minutes). */
  startWithPhrase(
    source: string,
  ): Promise<PhoneResult<{ token: string; phrase: string; deadlineMs: number }>>;
  /** A further phrase for a phone that has a token. */
  newPhrase(token: string): Promise<PhoneResult<{ phrase: string; deadlineMs: number }>>;
  /** What an invitation is for; looking consumes nothing. */
  lookAtInvitation(invitation: string, source: string): Promise<InviteView>;
  /** Pairs the phone with the invitation's user. Uses `token` when the phone already has a valid one. `name`: what the phone shall be called. */
  acceptInvitation(
    invitation: string,
    options: PhoneOrigin & { token: string | null; name?: string | null },
  ): Promise<PhoneResult<{ token: string; pairingId: string }>>;
  view(token: string): Promise<PhoneView | null>;
  /** Approve or deny a pairing that a typed phrase asked for. `name`: what the phone shall be called. */
  decidePairing(
    token: string,
    pairingId: string,
    decision: { approve: boolean; name?: string | null; origin?: PhoneOrigin },
  ): Promise<PhoneResult<null>>;
  /** Approve (with the number where it is asked) or deny a request. One wrong number denies. */
  decide(
    token: string,
    requestId: string,
    decision: PersonDecision,
  ): Promise<PhoneResult<null>>;
  /** The device passcode of a pairing, and when the next one comes. */
  passcode(token: string, pairingId: string): Promise<PhoneResult<{ code: string; validUntilMs: number }>>;
  /** Ends a pairing from the phone. */
  unpair(token: string, pairingId: string, origin?: PhoneOrigin): Promise<PhoneResult<null>>;
  /** Calls back whenever `view(token)` may have changed. Returns what stops it. */
  watch(token: string, notify: () => void): () => void;
}

/** What is written in the commit of the deed, and only with it: the record of who asked for it. */
export interface Alongside {
  readonly also?: readonly Mutation[];
}

/** The administrator who decides, by name: the history of the login shows it. */
export interface DecidedBy {
  readonly by?: string;
}

/** What a person decides about a request. */
export type PersonDecision = { approve: false } | { approve: true; number: string | null };

/** A request as its person sees it. The number itself is never told. */
export interface OwnRequest {
  readonly requestId: string;
  readonly pairingId: string;
  readonly userName: string;
  readonly requesterName: string;
  readonly terminalName: string;
  readonly client: string;
  readonly place: string;
  readonly createdMs: number;
  readonly deadlineMs: number;
  readonly asksNumber: boolean;
  readonly state: "waiting" | "approved" | "denied" | "expired" | "cancelled";
}

/** A pairing that a phone enabled by an invitation. */
export interface NewPhonePairing {
  readonly pairingId: string;
  readonly userName: string;
  /** The directory record that the invitation was made for. */
  readonly recordId: string;
  readonly totpLength: number;
  readonly name?: string;
  /** The phone whose visit to /me made the invitation. */
  readonly addedBy?: InvitingPhone;
  /** The phone's address and browser. */
  readonly source: string;
  readonly browser?: string | undefined;
}

/** What `deno task pair` and the console ask of the embedded second-factor service. */
export interface SecondFactorDesk {
  /** An invitation (128 bits, once, 24 hours) for `userName`; it is the last part of the phone page's link. */
  invite(
    userName: string,
    options?: Alongside & { readonly addedBy?: InvitingPhone | undefined },
  ): Promise<{ invitation: string; deadlineMs: number }>;
  /** What waits, oldest first; with `newest` only so many, those that came last: there may be very many. */
  pendingApprovals(newest?: number): PendingApproval[];
  /** How many wait; costs nothing. */
  pendingCount(): number;
  /** Denies or cancels a waiting request for the administrator `by`; `false` when it was already decided. */
  deny(requestId: string, options?: Alongside & DecidedBy): Promise<boolean>;
  cancel(requestId: string, options?: Alongside & DecidedBy): Promise<boolean>;
  /** A request as its person may see it, also when it is over; `null` when it is not known any more. */
  request(requestId: string): OwnRequest | null;
  /** Approve (with the number where it is asked) or deny on behalf of the person. One wrong number denies. */
  decide(
    requestId: string,
    decision: PersonDecision,
    options?: Alongside,
  ): Promise<PhoneResult<null>>;
  /** Checks a device passcode and uses it up; `false` for a wrong or used one. */
  usePasscode(pairingId: string, code: string): Promise<boolean>;
  /** Ends a device pairing, and its phone's token with the last one. `false` when there is none. */
  revokePairing(pairingId: string): Promise<boolean>;
  /** Calls back when the list of waiting requests changed. */
  onChange(notify: () => void): () => void;
  /**
   * Calls back when a phone enabled a pairing (by invitation), so that the gateway learns of it. With `false` the pairing ends and the phone is told
   * `account_changed`.
   */
  onPaired(notify: (pairing: NewPhonePairing) => Promise<boolean>): () => void;
  /** Calls back when a pairing ended on the phone. */
  onUnpaired(
    notify: (pairing: { pairingId: string; userName: string }, origin: PhoneOrigin) => Promise<void>,
  ): () => void;
}

/** A message in the embedded outbox. `body` holds a passcode: only an owner may see it, on demand. */
export interface OutboxItem {
  readonly id: string;
  readonly kind: "text" | "call";
  readonly to: string;
  readonly createdMs: number;
  readonly deadlineMs: number;
}

/** The embedded telephony outbox. */
export interface OutboxDesk {
  /** Newest first, at most 200, without bodies. */
  items(): OutboxItem[];
  /** The text of one message while it lives (sealed in the store), else `null`. */
  reveal(id: string): Promise<string | null>;
  onChange(notify: () => void): () => void;
}
