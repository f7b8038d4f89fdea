// A policy of logins: its conditions and its outcome, as stored, as the API sends it, and as the console shows it. Data only, so that the
// browser can use it.

import type { Factor } from "../flow/context.ts";

/** The days of a week, Monday first as in ISO 8601. */
export const WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** A weekly period in the local time of a zone. If `to` is not after `from`, it ends on the next day. */
export interface PolicyTime {
  readonly days: readonly Weekday[];
  /** `HH:MM` */
  readonly from: string;
  /** `HH:MM`, up to `24:00`; exclusive. */
  readonly to: string;
  /** An IANA name, such as `Europe/Berlin`. */
  readonly zone: string;
}

export const DEVICE_STATES = ["has_factor", "no_factor", "remembered"] as const;
export type DeviceState = (typeof DEVICE_STATES)[number];

/** All conditions must hold. In each list, one entry is enough; a list that is absent holds for every login. */
export interface PolicyConditions {
  readonly groups?: readonly string[];
  readonly exceptGroups?: readonly string[];
  readonly users?: readonly string[];
  readonly exceptUsers?: readonly string[];
  readonly clients?: readonly string[];
  /** IP addresses and CIDR ranges, compared with the address in Calling-Station-Id. */
  readonly networks?: readonly string[];
  readonly exceptNetworks?: readonly string[];
  readonly times?: readonly PolicyTime[];
  readonly device?: readonly DeviceState[];
}

/** The order in which conditions are checked and shown. */
export const POLICY_CONDITIONS = [
  "clients",
  "users",
  "exceptUsers",
  "groups",
  "exceptGroups",
  "networks",
  "exceptNetworks",
  "times",
  "device",
] as const satisfies readonly (keyof PolicyConditions)[];
export type PolicyConditionName = (typeof POLICY_CONDITIONS)[number];

/** A factor that a policy can allow. Recovery codes replace a lost factor. */
export type PolicyFactor = Factor | "recovery";
export const POLICY_FACTORS: readonly PolicyFactor[] = ["device", "sms", "voice", "totp", "recovery"];

export const ENROLMENT_RULES = ["never", "after_first_factor", "always"] as const;
export type EnrolmentRule = (typeof ENROLMENT_RULES)[number];

/** Attributes of the Access-Accept; a number is the value of an integer attribute. */
export type SessionAttributes = Readonly<Record<string, string | number | readonly (string | number)[]>>;

export interface ChallengeOutcome {
  readonly kind: "challenge";
  /** Absent: every factor that the settings enable. */
  readonly factors?: readonly PolicyFactor[];
  /** The login uses this factor and no other. `device` is an approval on the phone, not its passcode. */
  readonly requiredFactor?: Factor;
  /** Replaces the setting `factors.enrol_at_login`. */
  readonly enrolment?: EnrolmentRule;
  /** After a second factor, logins of the same user, client and Calling-Station-Id need none for this time. */
  readonly rememberHours?: number;
  /** A remembered device also replaces the second factor if only the client checks the password. */
  readonly clientChecksPassword?: boolean;
  readonly attributes?: SessionAttributes;
}

/** An Access-Accept without a second factor. */
export interface BypassOutcome {
  readonly kind: "bypass";
  /** The client checks the password. Without it, a login is accepted only if the gateway checked the password. */
  readonly clientChecksPassword?: boolean;
  /**
   * Also for names that the directory does not know. Such a name can be another one of a known user, such as `ada@example.com` of `ada`, which the
   * server of the passwords accepts. Without it, only the names in the condition `users` are accepted.
   */
  readonly unknownUsers?: boolean;
  readonly attributes?: SessionAttributes;
}

export interface DenyOutcome {
  readonly kind: "deny";
}

export type PolicyOutcome = ChallengeOutcome | BypassOutcome | DenyOutcome;

export interface Policy {
  readonly id: string;
  /** Unique among the policies. */
  readonly name: string;
  readonly enabled: boolean;
  readonly conditions: PolicyConditions;
  readonly outcome: PolicyOutcome;
}

/** The policies in the order in which they are tried. `version` grows with each change; 0: no policy was ever stored. */
export interface PolicyList {
  readonly version: number;
  readonly policies: readonly Policy[];
  /** The administrator who made the last change, and when; absent: no policy was ever stored. */
  readonly changed?: PolicyListChange | undefined;
}

export interface PolicyListChange {
  readonly by: string;
  readonly atMs: number;
}

/** Whether a policy accepts names that the directory does not know, without a second factor: any of them, or those that it lists. */
export function acceptsUnknownUsers(
  { conditions, outcome }: Pick<Policy, "conditions" | "outcome">,
): boolean {
  return outcome.kind === "bypass" && (outcome.unknownUsers === true || conditions.users !== undefined);
}

export const MAX_POLICIES = 200;
export const MAX_REMEMBER_HOURS = 24 * 90;
