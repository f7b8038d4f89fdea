// What the console's API answers, as types alone: the pages import them and nothing else from here.

import type { ConversationView } from "../../radius/ports.ts";
import type { PendingApproval } from "../../upstream/embedded/second_factor/interfaces.ts";
import type { OutboxItem } from "../../upstream/embedded/telephony/outbox.ts";
import type { Role } from "./auth/permissions.ts";
import type { FirstStep } from "./onboarding/onboarding.ts";

/** Who is signed in, and until when. Times are the server's, in milliseconds since the epoch. */
export interface SessionInfo {
  readonly name: string;
  readonly role: Role;
  readonly nowMs: number;
  readonly deadlineMs: number;
  readonly idleDeadlineMs: number;
  /** Until then what needs a fresh factor goes without asking. */
  readonly freshUntilMs: number;
  /** Where the account comes from; the provider's have nothing to type here. */
  readonly origin: "settings" | "console" | "provider";
  /** Which second factors the account has. */
  readonly has: { readonly totp: boolean; readonly passkey: boolean };
}

/** Which parts this gateway has; external services take theirs elsewhere. */
export interface Features {
  readonly approvals: boolean;
  readonly outbox: boolean;
  readonly phone: boolean;
}

export interface SessionAnswer {
  readonly session: SessionInfo | null;
  /** No owner exists yet; the server's start printed a link. */
  readonly needsSetUp: boolean;
  readonly features: Features;
  /** What the sign-in provider is called; `null` without one. */
  readonly provider: string | null;
  /** What is left to do after the set-up; absent when nothing is, or without a session. */
  readonly firstSteps?: readonly FirstStep[];
}

/** The newest of what waits, and how many there are. */
export interface ApprovalList {
  readonly total: number;
  readonly items: readonly PendingApproval[];
}

/** Everything at one moment; what follows comes over the stream after `at`. */
export interface LiveSnapshot {
  readonly at: string;
  readonly nowMs: number;
  readonly conversations: readonly ConversationView[];
  /** Live conversations at each step. */
  readonly steps: Readonly<Record<string, number>>;
  readonly counters: Readonly<Record<string, number>>;
  /** The number of the newest packet that belongs to no login; 0 without one. */
  readonly newestStray: number;
  readonly approvals: ApprovalList | null;
  readonly outbox: readonly OutboxItem[] | null;
}

/** One message of the live stream. Its id is `upTo`; ids are `<epoch>.<number>`, one number a conversation's change. */
export interface LiveMessage {
  readonly upTo: string;
  readonly nowMs: number;
  readonly conversations: readonly ConversationView[];
  readonly steps: Readonly<Record<string, number>>;
  /** Packets that were dropped since the last message, by reason. */
  readonly drops: Readonly<Record<string, number>>;
  readonly counters?: Readonly<Record<string, number>>;
  readonly newestStray?: number;
  readonly approvals?: ApprovalList;
  readonly outbox?: readonly OutboxItem[];
  /** Changes came faster than they can be kept: fetch the snapshot again. */
  readonly lost?: number;
}

/** An administrator in the list. The settings file's have no time of making. */
export interface AdminRow {
  readonly name: string;
  readonly role: Role;
  readonly origin: "settings" | "console" | "provider";
  readonly disabled: boolean;
  readonly createdMs: number | null;
  readonly has: { readonly password: boolean; readonly totp: boolean; readonly passkeys: number };
}

/** A link that waits to be used; `renews`: it is for an account that there is. */
export interface InvitationRow {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly by: string;
  readonly deadlineMs: number;
  readonly renews: boolean;
}

/** An API token in the list; the token itself is nowhere. */
export interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly createdBy: string;
  readonly createdMs: number;
  readonly expiresMs: number;
  readonly usedMs: number | null;
}

/** One's own factors. */
export interface FactorSummary {
  readonly nowMs: number;
  readonly totpSinceMs: number | null;
  readonly recoveryCodesLeft: number;
  readonly passkeys: readonly {
    readonly id: string;
    readonly label: string;
    readonly createdMs: number;
    readonly usedMs: number | null;
  }[];
}
