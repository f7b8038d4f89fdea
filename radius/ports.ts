// The ports of the RADIUS gateway: what it needs from others, in its own words. Adapters live in upstream/ and scim/;
// nothing here knows HTTP or a provider.

import type { ClientPolicy } from "../platform/config/config.ts";
import type { Denial } from "./flow/denial_causes.ts";
import type { UsedFactor } from "./flow/factors.ts";
import type { PacketRow } from "./protocol/dissect_packet.ts";

/** Why something that we called let us down. A fault is a value; the flow table decides what follows. */
export type Fault =
  /** The service understood and said no: HTTP 4xx other than 404 and 429. */
  | { kind: "refused"; status: number; code: number; detail: string }
  /** HTTP 404: the service does not know the identifier or the phrase. */
  | { kind: "unknown"; code: number; detail: string }
  /** HTTP 429. `retryAfterMs` as the service said, else 0. */
  | { kind: "busy"; retryAfterMs: number; detail: string }
  /** HTTP 5xx. */
  | { kind: "failed"; status: number; detail: string }
  /** No connection, TLS failure, a redirect, or no answer within the deadline. `sent`: it may have been processed. */
  | { kind: "unreachable"; sent: boolean; detail: string }
  /** An answer that is not what the interface promises. */
  | { kind: "nonsense"; detail: string }
  /** Not called at all: the circuit breaker is open, or the queue for connections is full. */
  | { kind: "not_called"; detail: string };

export type Outcome<T> = { ok: true; value: T } | { ok: false; fault: Fault };

/** What of an authentication request record decides. Granted counts only when `pending` is false. */
export interface ApprovalRequest {
  readonly id: string;
  readonly pending: boolean;
  readonly granted: boolean;
  readonly cancelled: boolean;
  readonly reason: string;
  readonly reasonCode: number;
  /** Two digits that the phone asks for; only the embedded service gives them. */
  readonly numberToMatch?: string;
  /** Why a decided request was not granted; only the embedded service knows. */
  readonly denial?: Denial;
}

/** What of a pairing record decides. */
export interface DevicePairing {
  readonly id: string;
  readonly enabled: boolean;
  readonly pending: boolean;
  readonly deactivated: boolean;
  readonly userName: string;
  /** Digits of the device's passcode; 0 when it generates none. */
  readonly totpLength: number;
  /** What the service says that the device is called; absent when it says nothing that is a name. */
  readonly name?: string;
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
  otpAuth(requestId: string, otp: string): Promise<Outcome<ApprovalRequest>>;
  createPairing(pairing: { phrase: string; userName: string }): Promise<Outcome<DevicePairing>>;
  pairing(pairingId: string): Promise<Outcome<DevicePairing>>;
  /** Embedded: the request becomes cancelled. External: nothing is called. Never rejects. */
  cancel(requestId: string): Promise<void>;
  /** Embedded: calls back at most once when the request is decided; external: never. Returns what stops it. */
  onDecision(requestId: string, notify: () => void): () => void;
  /**
   * Embedded: why a request was not granted by the time when its login expires; a pending request expires with it. `undefined` when it was
   * granted, when it is unknown, and always for an external service.
   */
  denialOnExpiry?(requestId: string): Denial | undefined;
}

/** The telephony service of `/2010-04-01/Accounts/…`, external or the embedded outbox. */
export interface TelephonyService {
  readonly embedded: boolean;
  text(message: { to: string; body: string; validitySeconds: number }): Promise<Outcome<{ id: string }>>;
  /** `intro` is said first, then each of `digits` with a Pause of length 1 between them. */
  call(call: { to: string; intro: string; digits: string }): Promise<Outcome<{ id: string }>>;
}

/** One person as the directory has them. */
export interface DirectoryUser {
  readonly status: "active" | "inactive" | "deleted" | "unknown";
  /** The name as the directory keeps it; for an unknown user the name as it was asked for. */
  readonly name: string;
  /** `phoneNumbers[].value`, reduced to + and digits; ill-formed ones are left out. */
  readonly phoneNumbers: readonly string[];
  readonly groups: readonly string[];
}

/** The directory whose users log in. Names are canonical (NFC, lower case). */
export interface Directory {
  /**
   * Brings what {@link lookUp} needs into memory; `null` when it is there, which is nearly always. It stays there until the caller
   * waits for something else.
   */
  prepare(canonicalName: string): Promise<void> | null;
  /** Only in the turn in which `prepare` said `null` or its promise resolved. */
  lookUp(canonicalName: string): DirectoryUser;
}

/**
 * The first factor's verdict. `unchecked`: refused without a comparison, because there is no password that it could be; no failure of the
 * user. `unavailable`: fails closed, and is no failure of the user either. `busy`: too many passwords wait; the client shall try again.
 */
export type FirstFactorVerdict = "right" | "wrong" | "unchecked" | "unavailable" | "busy";

/** A password that was typed. It is octets, never text. */
export interface PasswordAttempt {
  /** The client's name. */
  readonly client: string;
  readonly policy: Pick<ClientPolicy, "firstFactor" | "firstFactorBackend">;
  /** Canonical. */
  readonly user: string;
  /** As it was typed. */
  readonly userName: string;
  readonly password: Uint8Array;
}

/** Checks a password against what a client's `first_factor` names. */
export interface FirstFactor {
  verify(attempt: PasswordAttempt): Promise<FirstFactorVerdict>;
}

/** The passwords of the directory whose users log in. */
export interface Passwords {
  /** Whether the directory has a password of this user. Costs no hash. @param user canonical. */
  hasPassword(user: string): Promise<boolean>;
  /** Against the hash that the directory keeps. @param user canonical. */
  directory(user: string, password: Uint8Array): Promise<FirstFactorVerdict>;
  /** By a bind at an LDAP backend. @param user as it was typed. */
  ldap(backend: string, user: string, password: Uint8Array): Promise<FirstFactorVerdict>;
}

/** How a finished conversation ended. */
export type ConversationOutcome = "accepted" | "rejected" | "expired" | "cancelled" | "superseded";

/** One entry of a conversation's history, as the console shows it. Never holds a secret. */
export interface ConversationMoment {
  readonly atMs: number;
  /** The step or end that was reached. */
  readonly step: string;
  /** Why: the name of the flow table's row. */
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
  /** The first factor was asked and was right. */
  readonly passwordRight?: boolean;
  /** The target whose user logs in. */
  readonly target?: string;
  /** The phone that was asked last, by its name; absent when none was asked, or it has no name. */
  readonly phone?: string;
}

/** The events of the gateway, for observers. Observers must not throw and must not wait. */
export type GatewayEvent =
  | { readonly kind: "conversation"; readonly atMs: number; readonly conversation: ConversationView }
  | {
    readonly kind: "drop";
    readonly atMs: number;
    readonly reason: string;
    readonly source: string;
    readonly client: string | null;
  };

/** Receives events as they happen; called on the hot path, so it only notes them down. */
export type Observer = (event: GatewayEvent) => void;

/** A packet as it is shown: its secrets were zeroed when it was recorded. */
export interface PacketRecord {
  /** From a client to this gateway. */
  readonly inbound: boolean;
  readonly atMs: number;
  /** How often the same packet came; 1 unless it was sent again. */
  readonly copies: number;
  /** Of a request: `signed`, `unsigned` or `unchecked`, or why it was dropped; of a reply: the flow table's row. */
  readonly verdict: string;
  /** The octets, in hexadecimal. */
  readonly hex: string;
  readonly rows: readonly PacketRow[];
}

/** A datagram that was dropped, or a request that was refused without belonging to a login. */
export interface StrayPacket extends PacketRecord {
  /** Grows by one with each. */
  readonly id: number;
  /** A drop reason, a refusal, or the row of a login that is gone. */
  readonly reason: string;
  readonly source: string;
  readonly client: string | null;
  /** Whether an Access-Reject was sent. */
  readonly answered: boolean;
  /** When its newest copy came. */
  readonly lastMs: number;
}

/** How often datagrams of one source were dropped for one reason, in the present streak. */
export interface DropTally {
  readonly reason: string;
  readonly source: string;
  readonly client: string | null;
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** How the logins of one client ended. `times`: how many took how long, in the buckets of pure/duration_buckets.ts. */
export interface FinishTally {
  readonly client: string;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly times: readonly number[];
  /** The minute in which these logins ended, by its start. */
  readonly minuteMs?: number;
}

/** What the console asks of the gateway. */
export interface GatewayWatch {
  /** Live conversations and those that ended lately, newest first, at most `limit`. */
  conversations(limit: number): ConversationView[];
  /** Where live conversations stand, newest first, at most `limit`; much cheaper than reading them. */
  standing(limit: number): Iterable<{ readonly id: string; readonly step: string }>;
  /** How many conversations are alive. */
  alive(): number;
  counters(): Readonly<Record<string, number>>;
  observe(observer: Observer): () => void;
  /** One that is alive or ended lately; `null` when it is not in memory. */
  conversation(id: string): ConversationView | null;
  /** The packets of a conversation, oldest first; `null` when none are kept. */
  packets(id: string): PacketRecord[] | null;
  /** Newest first. */
  strays(limit: number): StrayPacket[];
  dropTallies(): DropTally[];
  /** What ended since the last time this was called; one caller at most. */
  takeFinished(): FinishTally[];
  /** Every login that ends from this time on is counted. */
  readonly countsSinceMs: number;
}
