// Types of enrolment campaigns, shared with the pages.

import type { UserListFilters } from "../users/user_list.ts";

/** Why a campaign does not invite a user. Each has its label in both catalogues: `enrolment.reason_<reason>`. */
export const SKIP_REASONS = [
  "has_factor",
  "has_number",
  "invited_already",
  "no_address",
  "inactive",
  "unknown_user",
  "over_maximum",
  "mail_refused",
  "changed_meanwhile",
] as const;
export type SkipReason = typeof SKIP_REASONS[number];

/** Why a running campaign waits. */
export const CAMPAIGN_WAITS = [
  "mail_off",
  "mail_queue_full",
  "no_phone_service",
  "too_many_invitations",
] as const;
export type CampaignWait = typeof CAMPAIGN_WAITS[number];

export type CampaignState = "running" | "done" | "cancelled";

/** Where the users of a campaign came from. */
export type CampaignSource =
  | { readonly kind: "users" }
  | { readonly kind: "import"; readonly file: string }
  | { readonly kind: "group"; readonly group: string }
  | { readonly kind: "filter"; readonly filters: UserListFilters };

export interface CampaignOptions {
  /** Users that are invited at most. */
  readonly maximum: number;
  readonly perMinute: number;
  /** Days from the invitation to the deadline; 0: no deadline. */
  readonly deadlineDays: number;
  /** Whether users without a factor are reminded on the days of the settings. */
  readonly reminders: boolean;
  /** Also invite users whose only factor is a phone number of the directory. */
  readonly includesNumbers: boolean;
  /** Also invite users who have a valid invitation. It becomes invalid. */
  readonly again: boolean;
}

export type SkipCounts = Readonly<Partial<Record<SkipReason, number>>>;

/** A campaign as the API shows it. Times are milliseconds since the epoch. */
export interface CampaignView {
  readonly id: string;
  readonly name: string;
  readonly source: CampaignSource;
  readonly by: string;
  readonly state: CampaignState;
  readonly wait: CampaignWait | null;
  readonly createdMs: number;
  readonly endedMs: number | null;
  readonly options: CampaignOptions;
  readonly total: number;
  /** Users that were looked at. */
  readonly done: number;
  readonly invited: number;
  readonly skipped: SkipCounts;
  /** Invited users who have a factor now, and who got a reminder. */
  readonly enrolled: number;
  readonly reminded: number;
}

/** What a campaign would do now. */
export interface CampaignPreview {
  readonly total: number;
  readonly invited: number;
  readonly skipped: SkipCounts;
  /** The first names of each reason. */
  readonly names: Readonly<Partial<Record<SkipReason | "invited", readonly string[]>>>;
  readonly isMailConfigured: boolean;
  readonly canInvite: boolean;
  /** The address of the links, if only this host can open them; otherwise `null`. */
  readonly localUrl: string | null;
  readonly minutes: number;
}

/** The result of one user of a campaign. */
export interface CampaignResult {
  readonly name: string;
  readonly did: "invited" | "skipped";
  readonly reason: SkipReason | null;
  readonly atMs: number;
}

export interface CampaignResults {
  readonly total: number;
  readonly rows: readonly CampaignResult[];
}
