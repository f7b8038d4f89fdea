// The ports of the RADIUS gateway: the interfaces that it needs from other folders. upstream/ and scim/ implement them. No type here depends
// on HTTP or on a provider.

import type { AccountRefusal } from "../platform/account_refusals.ts";
import type { UnversionedChange } from "../platform/write_batch.ts";
import type { RequestSettings } from "../platform/config/config.ts";
import type { Denial, RelayedSignIn } from "./conversation/login_record.ts";
import type { UsedFactor } from "./flow/context.ts";
import type { ClearAttribute } from "./protocol/clear_attributes.ts";
import type { PacketRow } from "./protocol/dissect_packet.ts";
import { reducePhoneNumber } from "../platform/phone_number.ts";

/** Why a call to a service failed. A fault is a value; the flow table chooses the next row. */
export type Fault =
  /** The service refused the request: HTTP 4xx other than 404 and 429. */
  | { kind: "refused"; status: number; code: number; detail: string }
  /** HTTP 404: the service does not know the identifier or the phrase. */
  | { kind: "unknown"; code: number; detail: string }
  /** HTTP 429. `retryAfterMs` is 0 if the service does not state it. */
  | { kind: "busy"; retryAfterMs: number; detail: string }
  /** HTTP 5xx. */
  | { kind: "failed"; status: number; detail: string }
  /** No connection, TLS failure, a redirect, or no answer within the deadline. `sent`: it may have been processed. */
  | { kind: "unreachable"; sent: boolean; detail: string }
  /** The answer does not follow the interface. */
  | { kind: "nonsense"; detail: string }
  /** No call was made: the circuit breaker is open, or the queue for connections is full. */
  | { kind: "not_called"; detail: string };

export type Outcome<T> = { ok: true; value: T } | { ok: false; fault: Fault };

/** The fields of an authentication request that the gateway uses. `granted` counts only if `pending` is false. */
export interface ApprovalRequest {
  readonly id: string;
  readonly pending: boolean;
  readonly granted: boolean;
  readonly cancelled: boolean;
  readonly reason: string;
  readonly reasonCode: number;
  /** Two digits that the phone asks for; only from the embedded service. */
  readonly numberToMatch?: string;
  /** Why a decided request was not granted; only from the embedded service. */
  readonly denial?: Denial;
  /** When the phone or an administrator decided; only from the embedded service. */
  readonly decidedMs?: number;
  /** The pairing whose passcode granted the request, if another one was asked; only from the embedded service. */
  readonly passcodeOf?: string;
}

/** The fields of a pairing that the gateway uses. */
export interface DevicePairing {
  readonly id: string;
  readonly enabled: boolean;
  readonly pending: boolean;
  readonly deactivated: boolean;
  readonly userName: string;
  /** Digits of the device's passcode; 0 if it generates none. */
  readonly totpLength: number;
  /** The device's name at the service; absent without a valid name. */
  readonly name?: string;
}

/** A request or a pairing that can no longer be approved, because a person denied or ended it, or because the phone has a newer one. */
export interface DeniedRequest {
  /** The id of the request or of the pairing. */
  readonly id: string;
  readonly userName: string;
  /** `null` for a pairing. */
  readonly denial: Denial | null;
  readonly decidedMs: number;
}

/** Shown on the embedded service's phone page; never sent to an external service. */
export interface ApprovalContext {
  readonly client: string;
  readonly place: string;
  /** Whether the user sees a prompt with the number before deciding. */
  readonly hasPrompt: boolean;
}

/** The second-factor service of `/v1/authentication_requests/…`, external or embedded. */
export interface SecondFactorService {
  readonly embedded: boolean;
  initiate(
    request: { pairingId: string; terminalName: string; context: ApprovalContext },
  ): Promise<Outcome<ApprovalRequest>>;
  status(requestId: string): Promise<Outcome<ApprovalRequest>>;
  /** @param also other pairings of the user, whose passcodes the embedded service accepts, too. An external service knows only the asked one. */
  otpAuth(requestId: string, otp: string, also?: readonly string[]): Promise<Outcome<ApprovalRequest>>;
  createPairing(pairing: { phrase: string; userName: string }): Promise<Outcome<DevicePairing>>;
  pairing(pairingId: string): Promise<Outcome<DevicePairing>>;
  /** Embedded: cancels the request. External: does nothing. Never rejects. */
  cancel(requestId: string): Promise<void>;
  /** Embedded: calls back at most once, when the request is decided; external: never. Returns a function that stops it. */
  onDecision(requestId: string, notify: () => void): () => void;
  /**
   * Embedded: why a request was not granted before its login expired; a pending request expires with it. `undefined` if it was granted or is
   * unknown, and always for an external service.
   */
  denialOnExpiry?(requestId: string): Denial | undefined;
  /** Embedded: calls back on each node when a request or a pairing is denied. Returns a function that stops it. */
  onDenied?(notify: (denied: DeniedRequest) => void): () => void;
  /** Embedded: the request or pairing with this id, if it is denied. */
  findDenied?(id: string): DeniedRequest | undefined;
  /** Embedded: whether a link to pair a phone, made by another person than the user, is open. External: never. @param user canonical */
  hasOpenInvitation?(user: string): boolean;
  /** Embedded: ends these links in the commit of a pairing. @param user canonical */
  prepareInvitationEnds?(user: string): UnversionedChange;
}

/** The telephony service of `/2010-04-01/Accounts/…`, external or the embedded outbox. */
export interface TelephonyService {
  readonly embedded: boolean;
  text(message: { to: string; body: string; validitySeconds: number }): Promise<Outcome<{ id: string }>>;
  /** Speaks `intro`, then each of `digits` with a Pause of length 1 between them. */
  call(call: { to: string; intro: string; digits: string }): Promise<Outcome<{ id: string }>>;
}

export interface DirectoryUser {
  readonly status: "active" | "inactive" | "deleted" | "unknown";
  /** The name as stored; for an unknown user the requested name. */
  readonly name: string;
  /** `phoneNumbers[].value`, reduced to + and digits; invalid ones are left out. */
  readonly phoneNumbers: readonly string[];
  readonly groups: readonly string[];
  /** The groups, then the groups that contain them, directly or through others. Absent: no group contains them. */
  readonly allGroups?: readonly string[];
  /** The id of the record, which stays when the user is renamed. Absent: the directory has no record. */
  readonly id?: string;
  /** The values of reply attributes that the record has. Absent: none. */
  readonly replies?: Readonly<Record<string, readonly string[]>>;
}

/** The directory whose users log in. Names are canonical (NFC, lower case). */
export interface LoginDirectory {
  /**
   * Loads the data of {@link lookUp} into memory; `null` if it is already there, which is the usual case. It stays there until the caller waits
   * for another promise.
   */
  prepare(canonicalName: string): Promise<void> | null;
  /** Call it only after `prepare` returned `null` or its promise resolved, and before any other wait. */
  lookUp(canonicalName: string): DirectoryUser;
  /** Absent: users have no other names. */
  readonly otherNames?: OtherNames;
}

/** Names of users besides the one in the directory, such as a user principal name. */
export interface OtherNames {
  /** Whether users can have other names. */
  readonly isUsed: boolean;
  /** Finds the user of a typed name; `null` if {@link find} knows the result. Rejects if it cannot be known now. */
  prepare(typed: string): Promise<void> | null;
  /** The name of the user in the directory; `null`: the typed name finds no user; `several`: it finds more than one user. */
  find(typed: string): { readonly name: string } | "several" | null;
}

/**
 * The result of the first factor. `unchecked`: refused without a comparison, because the user has no password. `unavailable`: the check was
 * not possible, and the login is refused. Neither counts as a failure of the user, and neither does an {@link AccountRefusal}. `busy`: too many
 * passwords wait; the client tries again.
 */
export type FirstFactorVerdict = "right" | "wrong" | "unchecked" | "unavailable" | "busy" | AccountRefusal;

/** The answer of a first-factor server, with its attributes in clear form and in order. */
export interface FirstFactorReply {
  readonly code: "Access-Accept" | "Access-Reject" | "Access-Challenge";
  readonly attributes: readonly ClearAttribute[];
  /** The server that answered, by its address and port. */
  readonly server: string;
}

/** A typed password, as octets. */
export interface PasswordAttempt {
  /** The client's name. */
  readonly client: string;
  readonly settings: Pick<RequestSettings, "firstFactor" | "firstFactorBackend">;
  /** Canonical. */
  readonly user: string;
  /** As typed. */
  readonly userName: string;
  readonly password: Uint8Array;
  /** The client's request. Absent: there is none, as in a test. */
  readonly request?: Uint8Array;
  /** The challenge of the first-factor server that the password answers. */
  readonly challenge?: FirstFactorReply | null;
}

/** Checks a password by the `first_factor` of a client. The answer of another RADIUS server is its verdict. */
export interface FirstFactorVerifier {
  verify(attempt: PasswordAttempt): Promise<FirstFactorVerdict | FirstFactorReply>;
}

/** A RADIUS server that checks the first factor of clients. */
export interface FirstFactorServerStatus {
  /** `host:port`. */
  readonly server: string;
  readonly client: string;
  /** `unknown`: no request was answered since the start. `all_down`: it is down, and so are all others of the client. */
  readonly state: "answers" | "unknown" | "down" | "all_down";
  readonly lastAnswerMs: number | null;
  /** Why there is no answer, as far as that is known; or "". */
  readonly fault: string;
}

/** The passwords of the directory whose users log in. */
export interface Passwords {
  /** Whether the directory has a password of this user. Computes no hash. @param user canonical */
  hasPassword(user: string): Promise<boolean>;
  /** Checks against the hash in the directory. @param user canonical */
  directory(user: string, password: Uint8Array): Promise<FirstFactorVerdict>;
  /** Checks by a bind at an LDAP backend. Throws with the reason if it cannot. @param user as typed */
  ldap(backend: string, user: string, password: Uint8Array): Promise<FirstFactorVerdict>;
  /** Absent: users cannot change passwords during a login. */
  readonly changes?: PasswordChanges;
}

/** Changes of passwords that are over, during the login. */
export interface PasswordChanges {
  /** Whether the settings of an LDAP backend allow it. */
  isAllowed(backend: string): boolean;
  /**
   * Changes a password by the old one. `refused`: the directory does not allow the new one. `wrong`: the old one is not right. Throws with the
   * reason if it cannot, and then it may have happened.
   *
   * @param user as typed
   */
  change(
    backend: string,
    user: string,
    passwords: { readonly old: string; readonly next: string },
  ): Promise<"changed" | "refused" | "wrong">;
}

/** The result of a finished conversation. */
export type ConversationOutcome = "accepted" | "rejected" | "expired" | "cancelled" | "superseded";

/** One entry of a conversation's history, as the console shows it. Contains no secret. */
export interface ConversationMoment {
  readonly atMs: number;
  /** The step or end. */
  readonly step: string;
  /** The name of the row in the flow table. */
  readonly row: string;
}

/** A conversation as the console shows it. `id` is the ordered id, not the secret one. */
export interface ConversationView {
  readonly id: string;
  readonly user: string;
  readonly client: string;
  readonly source: string;
  /** Calling-Station-Id, or empty. */
  readonly place: string;
  readonly step: string;
  readonly factor: UsedFactor | null;
  readonly startedMs: number;
  readonly updatedMs: number;
  readonly deadlineMs: number;
  readonly outcome: ConversationOutcome | null;
  readonly moments: readonly ConversationMoment[];
  /** Whether the first factor was checked and was right. */
  readonly passwordRight?: boolean;
  /** The first-factor server that answered; absent for another first factor. */
  readonly firstFactorServer?: string;
  /** The target whose user logs in. */
  readonly target?: string;
  /** The name of the phone that received the last push; absent without a phone or a name. */
  readonly phone?: string;
  /** The serial number of the hardware token whose code was right. */
  readonly token?: string;
  /** The node that handled the last packet; absent if no other node can use the store. */
  readonly node?: string;
  /** The policy that applied to the last packet, by name; absent if the settings applied. */
  readonly policy?: string;
  /** How the user proved the password to the first-factor server, or with EAP-GTC to the gateway; absent for PAP. */
  readonly relay?: RelayedSignIn;
}

/** An event of the gateway. Observers must not throw and must not wait. */
export type GatewayEvent =
  | { readonly kind: "conversation"; readonly atMs: number; readonly conversation: ConversationView }
  | {
    readonly kind: "drop";
    readonly atMs: number;
    readonly reason: string;
    readonly source: string;
    readonly client: string | null;
  };

/** Receives events. It runs on the hot path, so it only records them. */
export type GatewayObserver = (event: GatewayEvent) => void;

/** Learns of each login that this node accepted. It runs on the hot path: it must not throw and must not wait. `user` is canonical. */
export type AcceptListener = (login: AcceptedLogin) => void;
export interface AcceptedLogin {
  readonly user: string;
  readonly factor: UsedFactor | null;
  readonly updatedMs: number;
}

/** A packet for display. Its secrets were zeroed when it was captured. */
export interface PacketRecord {
  /** From a client to this gateway. */
  readonly inbound: boolean;
  readonly atMs: number;
  /** How often the same packet arrived. */
  readonly copies: number;
  /** Of a request: `signed`, `unsigned`, `unchecked` or `tls`, or why it was dropped; of a reply: the flow table's row. */
  readonly verdict: string;
  /** The octets, in hexadecimal. */
  readonly hex: string;
  readonly rows: readonly PacketRow[];
}

/** A dropped datagram, or a request that was refused and belongs to no login. */
export interface StrayPacket extends PacketRecord {
  /** Grows by one with each stray packet. */
  readonly id: number;
  /** A drop reason, a refusal, or the row of a login that is gone. */
  readonly reason: string;
  readonly source: string;
  readonly client: string | null;
  /** Whether an Access-Reject was sent. */
  readonly answered: boolean;
  /** When the newest copy arrived. */
  readonly lastMs: number;
  /** With the reason `other_nas`: what the client requires, and what the packet has. */
  readonly rule?: { readonly requires: string; readonly given: string };
}

/** How often datagrams of one source were dropped for one reason, in the current streak. */
export interface DropTally {
  readonly reason: string;
  readonly source: string;
  readonly client: string | null;
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/**
 * The results of the logins of one client. `times`: the number of logins in each bucket of the time to answer (conversation/login_record.ts);
 * logins without an answer are in none.
 */
export interface FinishedLoginCounts {
  readonly client: string;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly times: readonly number[];
  /** The longest time to answer; absent without one. */
  readonly maxMs?: number;
  /** The minute in which these logins ended, by its start. */
  readonly minuteMs?: number;
}

/** How the logins of this node ended since its start. */
export interface LoginTotals {
  readonly outcomes: Readonly<Record<ConversationOutcome, number>>;
  /** Rejected logins, by the row of the flow table that ended them. */
  readonly rejectedBy: ReadonlyMap<string, number>;
  /** The logins in each bucket of the time to answer, as in {@link FinishedLoginCounts}. */
  readonly times: readonly number[];
  /** The sum of the times to answer. */
  readonly answeredMs: number;
}

/** The state of the gateway, for the console. */
export interface GatewayMonitor {
  /** Live and recently ended conversations, newest first, at most `limit`. */
  conversations(limit: number): ConversationView[];
  /** The steps of live conversations, newest first, at most `limit`; much cheaper than {@link conversations}. */
  liveSteps(limit: number): Iterable<{ readonly id: string; readonly step: string }>;
  /** How many conversations are alive. */
  alive(): number;
  /** Live conversations that this node handled last. */
  aliveHere(): number;
  counters(): Readonly<Record<string, number>>;
  observe(observer: GatewayObserver): () => void;
  /** Reports the logins that this node accepts. Returns a function that removes the listener. */
  onAccepted(listener: AcceptListener): () => void;
  /** A live or recently ended conversation; `null` if it is not in memory. */
  conversation(id: string): ConversationView | null;
  /** The packets of a conversation, oldest first; `null` if there are none. */
  packets(id: string): PacketRecord[] | null;
  /** Newest first. */
  strays(limit: number): StrayPacket[];
  dropTallies(): DropTally[];
  /** The counts of logins that ended since the last call. Only one caller is allowed. */
  takeFinishedCounts(): FinishedLoginCounts[];
  loginTotals(): LoginTotals;
  /** The time from which logins are counted. */
  readonly countsSinceMs: number;
}

// The directory of the login target in the form that the gateway needs.

/** The users of the directory that is the login target now. Names are canonical. */
interface LoginUsers {
  /** See {@link LoginDirectory.prepare}. */
  prepareLogin(name: string): Promise<void> | null;
  /** With phone numbers as the directory has them. */
  login(name: string): DirectoryUser;
}

/** The groups of a user, with those that contain them. */
export function allGroupsOf({ groups, allGroups = groups }: DirectoryUser): readonly string[] {
  return allGroups;
}

/** Reduces phone numbers to + and digits. @param users asked at each call, because the login target can change */
export function loginDirectoryOf(users: () => LoginUsers, otherNames?: OtherNames): LoginDirectory {
  return {
    ...(otherNames === undefined ? {} : { otherNames }),
    prepare: (name) => users().prepareLogin(name),
    lookUp(name) {
      const user = users().login(name);
      if (user.phoneNumbers.length === 0) return user;
      return { ...user, phoneNumbers: user.phoneNumbers.flatMap((given) => reducePhoneNumber(given) ?? []) };
    },
  };
}

/** What the gateway needs to know of the other nodes. */
export interface PeerNodes {
  /** This run of this process; "" if no other node can use the store. */
  readonly node: string;
  /** The clock of a node minus the clock of this node. */
  clockOffsetMs(node: string): number;
  /** Whether a node runs, as far as this node knows. */
  isAlive(node: string): boolean;
  /** Whether this node finishes the work of `node`: its own, or that of a dead node. */
  isResponsibleFor(node: string): boolean;
  /** The keys that this process shares with other running processes, in memory only. */
  keys(): readonly { readonly node: string; readonly key: Uint8Array }[];
}

/** For a store that only this process uses. */
export const NO_PEERS: PeerNodes = {
  node: "",
  clockOffsetMs: () => 0,
  isAlive: () => false,
  isResponsibleFor: () => true,
  keys: () => [],
};
