// What the console's API says of users: types alone, shared with the pages.

import type { ConversationView } from "../../../radius/ports.ts";
import type { UnconfirmedFactor } from "../../../radius/factors/unconfirmed_factors.ts";
import type { Factor } from "../../../radius/flow/factors.ts";
import type { Receipt } from "../../../scim/ports.ts";
import type { BackendState, JsonObject } from "../../../scim/schema/resource.ts";

export type { LoginTrial } from "../../../radius/conversation/login_dry_run.ts";

/** How one backend stands to a user, for a row. */
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
  readonly backends: readonly { readonly name: string; readonly kind: string; readonly mode: string }[];
  /** Names of attributes that cannot be changed here, because every backend keeps them. */
  readonly readOnly: readonly string[];
  /** Whether this target's users log in, so that factors and locks are theirs. */
  readonly logsIn: boolean;
  readonly total: number;
  /** More match than were looked at. */
  readonly isCut: boolean;
  readonly page: number;
  readonly size: number;
  readonly rows: readonly UserRow[];
  /** Names with factors that the directory does not have and the search fits; the first few. */
  readonly outside: readonly string[];
}

/** One backend in the table of what is true where. */
export interface BackendView {
  readonly name: string;
  /** Names of attributes that it keeps for itself; absent: none. */
  readonly keeps?: readonly string[];
  readonly kind: "store" | "ldap" | "scim";
  readonly mode: "sync" | "async";
  /** `null`: it does not have the user and owes nothing. */
  readonly state: BackendState | null;
  /** What it holds instead of the user's own values; `null` when that is the same. */
  readonly holds: { readonly active: boolean; readonly attributes: JsonObject } | null;
}

/** What the directory says of a user. */
export interface UserRecord {
  readonly active: boolean;
  readonly attributes: JsonObject;
  readonly groups: readonly string[];
  readonly createdMs: number;
  readonly modifiedMs: number;
  readonly version: string;
}

/** One factor; a number is masked, and a secret is not there. */
export interface PairingView {
  readonly id: string;
  readonly kind: Factor;
  readonly createdMs: number;
  readonly number?: string;
  readonly totpLength?: number;
  /** What its person calls a phone. */
  readonly name?: string;
}

export interface LockView {
  readonly locked: boolean;
  readonly hardLocked: boolean;
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

/** What only users have who log in. */
export interface LoginView {
  readonly pairings: readonly PairingView[];
  /** Added by a phone that was revoked; not used for a login until the user or an administrator confirms it. */
  readonly unconfirmed?: readonly UnconfirmedFactor[];
  /** Factors that come from the directory and are not verified. */
  readonly directoryNumbers: readonly DirectoryNumberView[];
  readonly preferred: Factor | null;
  readonly enabled: readonly Factor[];
  readonly canInvite: boolean;
  readonly lock: LockView;
  readonly conversations: readonly ConversationView[];
  readonly clients: readonly string[];
}

export interface UserView {
  readonly target: string;
  readonly name: string;
  /** `null`: not in the directory; factors and logins there may be all the same. */
  readonly record: UserRecord | null;
  /** Names of attributes that cannot be changed here, because every backend keeps them. */
  readonly readOnly: readonly string[];
  readonly backends: readonly BackendView[];
  readonly login: LoginView | null;
}

/** What a change made, and what each backend said. */
export interface UserChange {
  readonly receipt: Receipt;
  /** `null` when the user is gone. */
  readonly user: UserView | null;
}

/** What came of one group. */
export interface GroupChange {
  readonly group: string;
  readonly receipt: Receipt | null;
  /** Why it was not done. */
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
  /** What to ask for the older ones; `null` at the end. */
  readonly next: string | null;
}
