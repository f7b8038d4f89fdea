// Types of the console API, shared with the pages.

import type { ConversationView } from "../../radius/ports.ts";
import type { PendingApproval } from "../../upstream/embedded/second_factor/interfaces.ts";
import type { OutboxItem } from "../../upstream/embedded/telephony/outbox.ts";
import type { Role } from "./auth/admin_records.ts";
import type { FirstStep } from "./onboarding/onboarding.ts";

/** The session of the caller. Times are the server's, in milliseconds since the epoch. */
export interface SessionInfo {
  readonly name: string;
  readonly role: Role;
  readonly nowMs: number;
  readonly deadlineMs: number;
  readonly idleDeadlineMs: number;
  /** Until then, no new factor is required. */
  readonly freshUntilMs: number;
  /** Accounts of the provider have no password here. */
  readonly origin: "settings" | "console" | "provider";
  readonly has: { readonly totp: boolean; readonly passkey: boolean };
  /** A second factor is required, and the account has none: only its set-up is allowed. */
  readonly mustSetUpFactor?: true;
}

/** The embedded services of this gateway. */
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
  /** The name of the sign-in provider; `null` without one. */
  readonly provider: string | null;
  /** Tasks after the set-up; absent without tasks, or without a session. */
  readonly firstSteps?: readonly FirstStep[];
}

/** The newest pending approvals, and their number. */
export interface ApprovalList {
  readonly total: number;
  readonly items: readonly PendingApproval[];
}

/** The names of the nodes, by id; empty while there is one node. */
export type NodeNames = Readonly<Record<string, string>>;

/** The current state. Later changes are in the stream after `at`. */
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
  readonly nodes: NodeNames;
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
  readonly nodes?: NodeNames;
  /** The buffer was full: fetch the snapshot again. */
  readonly lost?: number;
}

/** An administrator in the list. Those of the settings file have no `createdMs`. */
export interface AdminRow {
  readonly name: string;
  readonly role: Role;
  readonly origin: "settings" | "console" | "provider";
  readonly disabled: boolean;
  readonly createdMs: number | null;
  readonly has: {
    readonly password: boolean;
    readonly totp: boolean;
    readonly passkeys: number;
    /** Unused ones. */
    readonly recoveryCodes: number;
  };
  /** Whether codes of the authenticator app are refused now, after too many wrong ones. */
  readonly codesLocked?: boolean;
}

/** A pending invitation; `renews`: for an existing account. */
export interface InvitationRow {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly by: string;
  readonly deadlineMs: number;
  readonly renews: boolean;
}

/** An API token in the list, without the token itself. */
export interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly createdBy: string;
  readonly createdMs: number;
  readonly expiresMs: number;
  readonly usedMs: number | null;
}

/** The caller's own factors. */
export interface FactorSummary {
  readonly nowMs: number;
  readonly totpSinceMs: number | null;
  readonly recoveryCodesLeft: number;
  /** Whether the account can sign in with a password. */
  readonly hasPassword: boolean;
  readonly passkeys: readonly {
    readonly id: string;
    readonly label: string;
    readonly createdMs: number;
    readonly usedMs: number | null;
  }[];
}

export const BULK_ACTIONS = ["activate", "deactivate", "delete", "join", "leave"] as const;
export type BulkAction = typeof BULK_ACTIONS[number];
/** `restore` undoes `delete`. */
export type JobAction = BulkAction | "restore";

/** The result of one user. `same`: no change was needed. */
export interface JobItem {
  readonly name: string;
  readonly did: "changed" | "same" | "failed";
  /** The reason of a failure. */
  readonly detail: string | null;
  /** Backends that receive the change later. Absent: none. */
  readonly owes?: readonly string[];
}

/** A bulk operation, until some time after its end. */
export interface JobView {
  readonly id: string;
  readonly action: JobAction;
  /** The group of `join` and `leave`. */
  readonly group: string | null;
  readonly total: number;
  readonly done: number;
  readonly changed: number;
  readonly same: number;
  readonly failed: number;
  /** `stopped`: the administrator stopped the job; the changes so far remain. */
  readonly state: "running" | "stopped" | "ended";
  /** The administrator stopped the job: it ends after the users that are in progress. */
  readonly isStopping: boolean;
  /** Backends with pending changes, and their number of users. */
  readonly owed: readonly { readonly backend: string; readonly count: number }[];
  /** Whether the changes can be undone. */
  readonly canUndo: boolean;
  /** The first failures. */
  readonly failures: readonly JobItem[];
}

export interface JobItems {
  readonly total: number;
  readonly rows: readonly JobItem[];
}

/** The objects that a bulk operation would affect. */
export interface BulkPreview {
  readonly count: number;
  /** The first names. */
  readonly names: readonly string[];
  /** The number of these users in each backend. */
  readonly backends: readonly { readonly name: string; readonly count: number }[];
  readonly factors: number;
  readonly memberships: number;
  readonly conversations: number;
  /** Users that are active, and members of the group of the request. */
  readonly active: number;
  readonly members: number;
}

export const VERDICTS = ["create", "update", "same", "refused", "skipped"] as const;
export type Verdict = typeof VERDICTS[number];

/** One row of a file. */
export interface ImportRow {
  readonly line: number;
  readonly kind: "user" | "group";
  readonly name: string;
  readonly verdict: Verdict;
  /** Why it is refused. */
  readonly reason: string | null;
  /** What an update changes. Values are text; "": none. */
  readonly changes: readonly {
    readonly attribute: string;
    readonly before: string;
    readonly after: string;
  }[];
  /** The cells under the headers; `null` for a password. */
  readonly cells: readonly (string | null)[];
  /** The result after the import. */
  readonly did: "created" | "updated" | "unchanged" | "refused" | null;
  readonly detail: string | null;
  /** The result in each backend after the import. */
  readonly receipt: readonly { readonly backend: string; readonly outcome: "done" | "queued" }[];
}

export interface ImportView {
  readonly id: string;
  readonly file: string;
  readonly target: string;
  readonly backends: readonly { readonly name: string; readonly kind: string; readonly mode: string }[];
  readonly state: "receiving" | "checking" | "checked" | "applying" | "applied";
  /** Whether rows of existing users and groups change these; otherwise such a row is refused. */
  readonly mayUpdate: boolean;
  readonly done: number;
  readonly total: number;
  readonly verdicts: Readonly<Record<Verdict, number>>;
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly refused: number;
  /** Groups that got members by the rows of users. */
  readonly filledGroups: number;
  /** Why groups were not filled, and why the import stopped. */
  readonly problems: readonly string[];
  readonly headers: readonly string[] | null;
  readonly notes: readonly string[];
  /** The number of rows that match the query. */
  readonly matching: number;
  readonly page: number;
  readonly size: number;
  readonly rows: readonly ImportRow[];
}
