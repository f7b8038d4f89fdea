// What the embedded second-factor service offers to the phone page and to the console. The gateway uses its port.

import type { Check, Mutation } from "../../../platform/store.ts";
import type { PreparedTableChange } from "../../../platform/table.ts";

/** A pending request in the console's list. */
export interface PendingApproval {
  readonly requestId: string;
  readonly userName: string;
  readonly terminalName: string;
  readonly client: string;
  readonly place: string;
  readonly createdMs: number;
  readonly deadlineMs: number;
}

/** A request on the phone. The phone never receives the number itself. */
export interface PhoneRequest extends PendingApproval {
  readonly requesterName: string;
  /** Whether an approval requires the two digits of the login prompt. */
  readonly asksNumber: boolean;
  /** The help desk asks whether the user is on the telephone. Absent: a login. */
  readonly kind?: "verify";
  /** The administrator who asks; only for `verify`. */
  readonly askedBy?: string;
}

/** A pairing on the phone. `asks_approval`: the phrase was typed at a login, and the user must confirm. */
export interface PhonePairing {
  readonly pairingId: string;
  readonly userName: string;
  readonly requesterName: string;
  readonly status: "asks_approval" | "enabled";
  readonly createdMs: number;
  /** The name of the phone, if the user gave one. */
  readonly name?: string;
  /** When the phone received the seed of its passcodes; a key of another time is out of date. */
  readonly seedMs?: number;
}

/** What the page of a phone shows. */
export interface PhoneView {
  readonly nowMs: number;
  /** A phrase to type at a login, and its deadline. */
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

/** Why an operation of the phone page is refused. */
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

/** The source of a request of the phone page, for the audit log. */
export interface PhoneOrigin {
  readonly source: string;
  /** "Chrome on Android"; "" if the browser is unknown. */
  readonly browser?: string | undefined;
}

/** The service of the phone page. Tokens have 256 bits, in base64url; the store contains only their digests. */
export interface DeviceService {
  /** A new phone without a pairing: returns a token and a phrase (at least 40 bits, valid once, for 10 minutes). */
  startWithPhrase(
    source: string,
  ): Promise<PhoneResult<{ token: string; phrase: string; deadlineMs: number }>>;
  /** A further phrase for a phone with a token. */
  newPhrase(token: string): Promise<PhoneResult<{ phrase: string; deadlineMs: number }>>;
  /** The user and the deadline of an invitation. Does not use the invitation. */
  viewInvitation(invitation: string, source: string): Promise<InviteView>;
  /** Pairs the phone with the invitation's user. A phone with a valid `token` keeps it. `name`: the name of the phone. */
  acceptInvitation(
    invitation: string,
    options: PhoneOrigin & { token: string | null; name?: string | null },
  ): Promise<PhoneResult<{ token: string; pairingId: string }>>;
  /** `null` for an unknown token. */
  view(token: string): Promise<PhoneView | null>;
  /** Approves or denies a pairing whose phrase was typed. `name`: the name of the phone. */
  decidePairing(
    token: string,
    pairingId: string,
    decision: { approve: boolean; name?: string | null; origin?: PhoneOrigin },
  ): Promise<PhoneResult<null>>;
  /** Approves (with the number, if it is required) or denies a request. One wrong number denies. */
  decide(
    token: string,
    requestId: string,
    decision: PersonDecision,
    options?: DecideOptions & {
      /** The phone had shown a notification of the request, so it needs no message about the end. */
      isNotified?: boolean;
    },
  ): Promise<PhoneResult<null>>;
  /** The device passcode of a pairing, and when the next one replaces it. */
  passcode(token: string, pairingId: string): Promise<PhoneResult<{ code: string; validUntilMs: number }>>;
  /**
   * A new seed, with which the phone computes the passcodes of a pairing without the server (RFC 6238). It replaces the seed
   * before.
   */
  issuePasscodeSeed(
    token: string,
    pairingId: string,
    origin?: PhoneOrigin,
  ): Promise<PhoneResult<{ seed: Uint8Array<ArrayBuffer>; digits: number; stepMs: number; seedMs: number }>>;
  unpair(token: string, pairingId: string, origin?: PhoneOrigin): Promise<PhoneResult<null>>;
  /** Calls back when `view(token)` may have changed. Returns a function that ends the watch. */
  watch(token: string, notify: () => void): () => void;
}

/** The phone on whose /me page a user created an invitation: its pairing, and its name at that time. */
export interface InvitingPhone {
  readonly id: string;
  readonly name?: string;
}

/** Mutations of the same commit, such as the audit record. */
export interface CommitOptions {
  readonly also?: readonly Mutation[];
}

/** What else belongs to the commit of an invitation. */
export interface InvitationOptions extends CommitOptions {
  /** The phone on whose /me page the invitation is created. */
  readonly addedBy?: InvitingPhone | undefined;
  /** Whether the user makes it on the account page. It then stays open when the user adds another factor. */
  readonly isOwn?: boolean;
  readonly checks?: readonly Check[];
  /** Further mutations of the commit that contain the invitation, such as a mail. */
  readonly alsoFor?: (
    link: { readonly invitation: string; readonly deadlineMs: number },
  ) => readonly Mutation[];
  /** Pairings that end, such as those of a lost phone. */
  readonly ends?: readonly string[];
  /** Receives the versionstamp of the commit. */
  readonly onCommitted?: (versionstamp: string) => void;
}

/** The administrator who decides, by name. The history of the login shows it. */
interface DecidedBy {
  readonly by?: string;
}

/** The decision of a person about a request. `notMe`: the person did not call the help desk. */
export type PersonDecision = { approve: false; notMe?: boolean } | { approve: true; number: string | null };

/** Mutations of the same commit, made from the request that is decided. */
export interface DecideOptions {
  readonly also?: ((request: PhoneRequest) => readonly Mutation[]) | undefined;
}

/** A question of the help desk to a user's phone. */
export interface CallerVerification {
  readonly id: string;
  readonly pairingId: string;
  readonly userName: string;
  /** The administrator who asks. */
  readonly askedBy: string;
  readonly createdMs: number;
  readonly deadlineMs: number;
  readonly state: "waiting" | "verified" | "wrong_number" | "denied" | "not_me" | "expired" | "cancelled";
  /** `null` while it waits. */
  readonly endedMs: number | null;
  /** So long the result is shown. */
  readonly shownUntilMs: number;
}

/** `waiting`: the user's phone already shows a question of the help desk. `busy`: too many requests in total. */
type VerificationRefusal =
  | { readonly ok: false; readonly reason: "no_phone" | "waiting" | "busy" }
  | { readonly ok: false; readonly reason: "too_many"; readonly waitMs: number };

/** Questions of the help desk. They are no logins: the gateway never sees them. */
export interface CallerVerifications {
  /** Asks the phone of a pairing. The help desk reads `number` out, and the user types it on the phone. */
  start(
    asked: CommitOptions & { readonly pairingId: string; readonly by: string },
  ): Promise<{ ok: true; verification: CallerVerification; number: string } | VerificationRefusal>;
  find(id: string): CallerVerification | null;
  /** The newest successful question to a user (canonical name), while its result is shown. */
  verifiedOf(canonical: string): CallerVerification | null;
  /** Ends a question; `false` if it had ended. */
  cancel(id: string, by: string): Promise<boolean>;
}

/** A request as its person sees it, also after its end. */
export interface OwnRequest extends PhoneRequest {
  readonly pairingId: string;
  readonly state: "waiting" | "approved" | "denied" | "expired" | "cancelled";
}

/** A pairing that a phone enabled by an invitation. */
interface NewPhonePairing extends PhoneOrigin {
  readonly pairingId: string;
  readonly userName: string;
  /** The directory record of the invitation. */
  readonly recordId: string;
  readonly totpLength: number;
  readonly name?: string;
  /** The phone on whose /me page the invitation was created. */
  readonly addedBy?: InvitingPhone;
}

export interface PreparedInvitation extends PreparedTableChange {
  /** The last part of the link. Only its digest is stored. */
  readonly invitation: string;
  /** Identifies the stored invitation, for `replaces`. */
  readonly id: string;
  readonly deadlineMs: number;
}

/** The use of an invitation, for a user who enrols something other than a phone. */
export interface PreparedInvitationUse extends PreparedTableChange {
  readonly userName: string;
  readonly recordId: string;
  readonly addedBy: InvitingPhone | undefined;
}

/** The administration of the embedded second-factor service, for the console and `deno task pair`. */
export interface SecondFactorAdmin {
  /** An invitation (128 bits, valid once, for 24 hours). It is the last part of the link to the phone page. */
  invite(userName: string, options?: InvitationOptions): Promise<{ invitation: string; deadlineMs: number }>;
  /**
   * An invitation with another lifetime, which the caller commits. It replaces the open invitation with the id `replaces`. The caller checks
   * that `recordId` is the record of the user at the commit. `null`: too many invitations are open.
   */
  prepareInvitation(
    userName: string,
    options: { recordId: string; lifetimeMs: number; replaces: string | null },
  ): PreparedInvitation | null;
  /** Whether the invitation with this id can still be used. */
  isInvitationOpen(id: string): boolean;
  /** Prepares the end of an open invitation whose user enrolled in another way; `null` if it is not open. */
  prepareInvitationEnd(id: string): PreparedTableChange | null;
  /** Prepares the use of a valid invitation without a phone. */
  prepareInvitationUse(invitation: string, source: string): Promise<PhoneResult<PreparedInvitationUse>>;
  /** Pending requests, oldest first; with `newest`, only the newest ones, because there may be very many. */
  pendingApprovals(newest?: number): PendingApproval[];
  /** How many requests are pending. Costs nothing. */
  pendingCount(): number;
  /** Denies or cancels a pending request; `false` if it was already decided. */
  deny(requestId: string, options?: CommitOptions & DecidedBy): Promise<boolean>;
  cancel(requestId: string, options?: CommitOptions & DecidedBy): Promise<boolean>;
  /** A request as its person may see it; `null` for an unknown one. */
  request(requestId: string): OwnRequest | null;
  /** Approves (with the number, if it is required) or denies for the person. One wrong number denies. */
  decide(
    requestId: string,
    decision: PersonDecision,
    options?: CommitOptions,
  ): Promise<PhoneResult<null>>;
  readonly verifications: CallerVerifications;
  /** Checks a device passcode and uses it; `false` for a wrong or used one. */
  usePasscode(pairingId: string, code: string): Promise<boolean>;
  /** The live pairings of the phone that has this pairing; none for an unknown one. */
  pairingsOfSamePhone(pairingId: string): readonly string[];
  /** Ends a device pairing, and with the last one the token of the phone. `false` if there is none. */
  revokePairing(pairingId: string): Promise<boolean>;
  /** Calls back when the list of pending requests changed. */
  onChange(notify: () => void): () => void;
  /**
   * Calls back when a phone enabled a pairing by an invitation, so that the gateway stores it. If a callback returns `false`, the pairing ends and
   * the phone receives `account_changed`.
   */
  onPaired(notify: (pairing: NewPhonePairing) => Promise<boolean>): () => void;
  /** Calls back when a pairing ended on the phone. */
  onUnpaired(
    notify: (pairing: { pairingId: string; userName: string }, origin: PhoneOrigin) => Promise<void>,
  ): () => void;
}
