// Types of the user API, shared with the pages.

import type { HardwareTokenView } from "../tokens/token_types.ts";
import type { PairedPhoneFacts } from "../../../upstream/embedded/push/phone_pages.ts";
import type { ConversationView } from "../../../radius/ports.ts";
import type { UnconfirmedFactor } from "../../../radius/factors/pairing.ts";
import type { Factor } from "../../../radius/flow/context.ts";
import type { Receipt } from "../../../scim/ports.ts";
import type { BackendState, JsonObject } from "../../../scim/schema/resource.ts";

import type { BypassCodeView, BypassLimits } from "../help_desk/help_desk_types.ts";

export type { DryRunResult } from "../../../radius/conversation/login_dry_run.ts";

/** The sync status of a user in one backend, for a row. */
export interface BackendMark {
  readonly name: string;
  readonly state: BackendState["state"];
  readonly differs: boolean;
  /** Members of the group that the backend did not store; absent: none. */
  readonly notStored?: number;
}

export interface UserRow {
  readonly name: string;
  readonly displayName: string;
  readonly mail: string;
  readonly active: boolean;
  readonly groups: number;
  /** The last accepted sign-in; `null` if none is recorded. */
  readonly lastSignInMs: number | null;
  /** Kinds of the factors that were paired or verified. */
  readonly factors: readonly Factor[];
  /** Kinds that come only from directory numbers, which are not verified. */
  readonly unverified: readonly Factor[];
  readonly locked: boolean;
  readonly backends: readonly BackendMark[];
}

export interface UserPage {
  readonly target: string;
  readonly targets: readonly string[];
  readonly backends: readonly {
    readonly name: string;
    readonly kind: string;
    readonly mode: string;
    readonly isReadOnly?: true;
  }[];
  /** Read-only attributes of every backend, which cannot be changed here. */
  readonly readOnly: readonly string[];
  /** Whether this target's users log in, so that they have factors and locks. */
  readonly logsIn: boolean;
  readonly total: number;
  /** The scan ended at its limit. */
  readonly isCut: boolean;
  /** Too many users match for the requested order. They are in order of name. */
  readonly isUnsorted: boolean;
  readonly page: number;
  readonly size: number;
  readonly rows: readonly UserRow[];
  /** The first few names with factors that match the search and are not in the directory. */
  readonly outside: readonly string[];
}

/** The status of a user in one backend. */
export interface BackendView {
  readonly name: string;
  /** Its read-only attributes; absent: none. */
  readonly keeps?: readonly string[];
  readonly kind: "store" | "ldap" | "scim";
  readonly mode: "sync" | "async";
  /** The gateway must not write there. */
  readonly isReadOnly?: true;
  /** `null`: it does not have the user, and nothing is pending. */
  readonly state: BackendState | null;
  /** Its values, if they differ from the user's. */
  readonly holds: { readonly active: boolean; readonly attributes: JsonObject } | null;
}

/** A user in the directory. */
export interface UserDetails {
  readonly active: boolean;
  readonly attributes: JsonObject;
  readonly groups: readonly string[];
  readonly createdMs: number;
  readonly modifiedMs: number;
  readonly version: string;
  /** The name of the connection that provisions the user; `null`: none. */
  readonly managedBy: string | null;
}

/** One factor, with a masked number and without secrets. */
export interface PairingView {
  readonly id: string;
  readonly kind: Factor;
  readonly createdMs: number;
  readonly number?: string;
  readonly totpLength?: number;
  readonly name?: string;
  /** Of a phone of the embedded service. */
  readonly phone?: PairedPhoneFacts;
}

export interface LockView {
  readonly locked: boolean;
  readonly hardLocked: boolean;
  /** The user was locked by a report ("This was not me"), not by failures. */
  readonly isReported: boolean;
  /** Since the last success. */
  readonly failures: number;
  readonly inRow: number;
  readonly locks: number;
  /** 0: never locked. */
  readonly lockedUntilMs: number;
  /** When the user can get another push or message; `null`: now. */
  readonly pushesBlockedUntilMs: number | null;
  readonly sendsBlockedUntilMs: number | null;
}

/** A number of the directory that works as a second factor; masked. */
export interface DirectoryNumberView {
  readonly number: string;
  readonly kinds: readonly ("sms" | "voice")[];
}

/** The factors and logins of a user of the login target. */
export interface UserLoginView {
  readonly pairings: readonly PairingView[];
  /** The hardware tokens that are assigned to the user. */
  readonly tokens?: readonly HardwareTokenView[];
  /** Added by a phone that was revoked; not used for a login until the user or an administrator confirms it. */
  readonly unconfirmed?: readonly UnconfirmedFactor[];
  /** Factors that come from the directory and are not verified. */
  readonly directoryNumbers: readonly DirectoryNumberView[];
  readonly preferred: Factor | null;
  readonly enabled: readonly Factor[];
  readonly canInvite: boolean;
  /** The help desk verified the caller just now. `by`: the administrator who asked. */
  readonly verified: { readonly by: string; readonly atMs: number; readonly untilMs: number } | null;
  readonly lock: LockView;
  /** Devices whose next sign-in needs no second factor. */
  readonly rememberedDevices?: number;
  /** The bypass code that the user can use now. */
  readonly bypass: BypassCodeView | null;
  readonly bypassLimits: BypassLimits;
  readonly conversations: readonly ConversationView[];
  readonly clients: readonly string[];
}

export interface UserView {
  readonly target: string;
  readonly name: string;
  /** `null`: not in the directory, but possibly with factors and logins. */
  readonly record: UserDetails | null;
  /** The name of the user who had this name; `null` if a user has it now, or no user had it. */
  readonly renamedTo: string | null;
  /** Read-only attributes of every backend, which cannot be changed here. */
  readonly readOnly: readonly string[];
  readonly backends: readonly BackendView[];
  readonly login: UserLoginView | null;
}

/** The result of a change, with the result of each backend. */
export interface UserChange {
  readonly receipt: Receipt;
  /** `null` when the user is gone. */
  readonly user: UserView | null;
  /** The id of a deleted user in the trash. Absent: the user was not deleted, or is too large to restore. */
  readonly trashed?: string;
}

/** The result of one group. */
export interface MembershipChange {
  readonly group: string;
  readonly receipt: Receipt | null;
  /** The reason of a failure. */
  readonly problem: string | null;
}

/** One line of a user's history. */
export interface TimelineEntry {
  readonly id: string;
  readonly atMs: number;
  readonly actor: string;
  readonly source: string;
  readonly action: string;
  /** Further fields of the record, as texts. */
  readonly before: string;
  readonly after: string;
  readonly details: Readonly<Record<string, string>>;
}

export interface TimelinePage {
  readonly entries: readonly TimelineEntry[];
  /** The start of the next page; `null` at the end. */
  readonly next: string | null;
}
