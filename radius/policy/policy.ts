// A policy of logins: its conditions and its outcome, as stored, as the API sends it, and as the console shows it; and what they mean. No side
// effects, so that the browser can use it.

import {
  choice,
  choices,
  flag,
  list,
  type ManyChoices,
  number,
  type TextList,
  type ValueOf,
  type ValuesOf,
} from "../../platform/fields.ts";
import { type Factor, FACTOR_ORDER, menuOf } from "../flow/context.ts";
import { MINUTE_MS } from "../../platform/durations.ts";

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

/** A condition: its field, where its values come from, and why a policy does not apply if it fails. */
type PolicyConditionRow = (TextList | ManyChoices<DeviceState>) & {
  /** The form offers these names. */
  readonly names?: "clients" | "groups" | "users";
  /** Entries are IP addresses and CIDR ranges, compared with the address in Calling-Station-Id. */
  readonly isNetwork?: true;
  /** Entries are weekly periods. */
  readonly isTime?: true;
  readonly miss: string;
};

const ENTRIES = list({ max: 1024, maxItems: 200, minItems: 1 });

/**
 * The conditions, in the order in which they are checked and shown. All must hold. In each list, one entry is enough; a list that is absent holds for
 * every login. CONTRIBUTING.md says how to add one.
 */
export const CONDITION_FIELDS = {
  clients: { ...ENTRIES, names: "clients", miss: "The policy is for other clients." },
  users: { ...ENTRIES, names: "users", miss: "The policy is for other users." },
  exceptUsers: { ...ENTRIES, names: "users", miss: "The policy excludes this user." },
  groups: { ...ENTRIES, names: "groups", miss: "The user is in none of the groups." },
  exceptGroups: { ...ENTRIES, names: "groups", miss: "The user is in an excluded group." },
  networks: {
    ...ENTRIES,
    isNetwork: true,
    miss: "The address is in none of the networks, or the sign-in has no IP address.",
  },
  exceptNetworks: {
    ...ENTRIES,
    isNetwork: true,
    miss:
      "The address is in an excluded network, or the sign-in has no IP address and needs its second factor.",
  },
  times: { ...ENTRIES, maxItems: 20, isTime: true, miss: "The time is outside the periods." },
  device: {
    ...choices(DEVICE_STATES, { default: [], min: 1 }),
    miss: "The user's factors or device have another state.",
  },
} as const satisfies Readonly<Record<string, PolicyConditionRow>>;

type Conditions = typeof CONDITION_FIELDS;
export type PolicyConditionName = keyof Conditions;
/** The conditions whose entries are names. */
export type NameConditionName = {
  [K in PolicyConditionName]: Conditions[K] extends { names: string } ? K : never;
}[PolicyConditionName];
export type PolicyConditions = {
  readonly [K in PolicyConditionName]?: Conditions[K] extends { isTime: true } ? readonly PolicyTime[]
    : ValueOf<Conditions[K]>;
};

export const POLICY_CONDITIONS = Object.keys(CONDITION_FIELDS) as readonly PolicyConditionName[];

/** The row of a condition, for code that handles all of them. */
export function conditionRow(name: PolicyConditionName): PolicyConditionRow {
  return CONDITION_FIELDS[name];
}

/** The names in the conditions of a policy that are clients, groups or users. */
export function namesInConditions(
  conditions: PolicyConditions,
  kind: NonNullable<PolicyConditionRow["names"]>,
): readonly string[] {
  return POLICY_CONDITIONS.flatMap((name) =>
    conditionRow(name).names === kind ? (conditions[name] ?? []) as readonly string[] : []
  );
}

/** A factor that a policy can allow. Recovery codes replace a lost factor. */
export type PolicyFactor = Factor | "recovery";
export const POLICY_FACTORS: readonly PolicyFactor[] = ["device", "sms", "voice", "totp", "recovery"];

export const ENROLMENT_RULES = ["never", "after_first_factor", "always"] as const;
export type EnrolmentRule = (typeof ENROLMENT_RULES)[number];
export const MAX_REMEMBER_HOURS = 24 * 90;

/** Attributes of the Access-Accept; a number is the value of an integer attribute. */
export type SessionAttributes = Readonly<Record<string, string | number | readonly (string | number)[]>>;

const OUTCOME_KINDS = ["challenge", "bypass", "deny"] as const;
const IF_ASKED = { kind: ["challenge"] };
const IF_ACCEPTED = { kind: { not: ["deny"] } };

/** What an outcome can have, besides its kind and the attributes of the Access-Accept. All but `kind` can be absent. */
export const OUTCOME_FIELDS = {
  kind: choice(OUTCOME_KINDS, { default: "challenge" }),
  /** Absent: every factor that the settings enable. */
  factors: choices(POLICY_FACTORS, { default: [], min: 1, when: IF_ASKED }),
  /** The login uses this factor and no other. `device` is an approval on the phone, not its passcode. */
  requiredFactor: choice(FACTOR_ORDER, { default: "device", when: IF_ASKED }),
  /** Replaces the setting `factors.enrol_at_login`. */
  enrolment: choice(ENROLMENT_RULES, { default: "never", when: IF_ASKED }),
  /** After a second factor, logins of the same user, client and Calling-Station-Id need none for this time. */
  rememberHours: number({ min: 1, max: MAX_REMEMBER_HOURS, default: 1, when: IF_ASKED }),
  /**
   * Of a bypass: the client checks the password. Without it, a login is accepted only if the gateway checked the password. Of a remembered device:
   * it also replaces the second factor if only the client checks the password.
   */
  clientChecksPassword: flag({ when: IF_ACCEPTED }),
  /**
   * Also for names that the directory does not know. Such a name can be another one of a known user, such as `ada@example.com` of `ada`, which the
   * server of the passwords accepts. Without it, only the names in the condition `users` are accepted.
   */
  unknownUsers: flag({ when: { kind: ["bypass"] } }),
};

type OutcomeValues = ValuesOf<typeof OUTCOME_FIELDS>;
interface WithAttributes {
  readonly attributes?: SessionAttributes;
}
export type ChallengeOutcome =
  & { readonly kind: "challenge" }
  & Partial<Omit<OutcomeValues, "kind" | "unknownUsers">>
  & WithAttributes;
/** An Access-Accept without a second factor. */
type BypassOutcome =
  & { readonly kind: "bypass" }
  & Partial<Pick<OutcomeValues, "clientChecksPassword" | "unknownUsers">>
  & WithAttributes;

interface DenyOutcome {
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

// What a policy allows of the factors that the settings enable.

/** The factors of a login. Without a policy, they follow from the settings. */
export interface PolicyRules {
  readonly enabled: ReadonlySet<Factor>;
  readonly menu: ReadonlySet<Factor>;
  /** Whether a passcode of the paired phone is accepted. */
  readonly deviceCodes: boolean;
  readonly recoveryCodes: boolean;
  readonly required: Factor | null;
}

/** The rules of the settings alone. */
export function settingsRules(enabled: ReadonlySet<Factor>): PolicyRules {
  return {
    enabled,
    menu: menuOf(enabled),
    deviceCodes: enabled.has("device"),
    recoveryCodes: true,
    required: null,
  };
}

/** The rules of one outcome. The last result is cached, because the enabled factors rarely change. */
export class FactorRules {
  readonly #outcome: PolicyOutcome;
  #enabled: ReadonlySet<Factor> | null = null;
  #rules: PolicyRules | null = null;

  constructor(outcome: PolicyOutcome) {
    this.#outcome = outcome;
  }

  of(enabled: ReadonlySet<Factor>): PolicyRules {
    if (this.#rules === null || this.#enabled !== enabled) {
      this.#rules = rulesOf(this.#outcome, enabled);
      this.#enabled = enabled;
    }
    return this.#rules;
  }
}

function rulesOf(outcome: PolicyOutcome, all: ReadonlySet<Factor>): PolicyRules {
  if (outcome.kind !== "challenge") return settingsRules(all);
  const { factors, requiredFactor: required = null } = outcome;
  if (factors === undefined && required === null) return settingsRules(all);
  const allowed = required === null ? factors ?? [] : [required];
  const enabled = new Set([...all].filter((factor) => allowed.includes(factor)));
  const recoveryCodes = allowed.includes("recovery");
  // A required phone means an approval there, not its passcode.
  const deviceCodes = enabled.has("device") && required === null;
  const menu = new Set(enabled);
  if (deviceCodes || recoveryCodes) menu.add("totp");
  return { enabled, menu, deviceCodes, recoveryCodes, required };
}

// The time condition of policies: weekly periods in the local time of a zone.

const DAY_MINUTES = 24 * 60;

/** The minutes since midnight of `HH:MM`, up to `24:00`; `null` for anything else. */
export function minutesOf(text: string): number | null {
  const found = /^([01][0-9]|2[0-4]):([0-5][0-9])$/.exec(text);
  if (found === null) return null;
  const minutes = Number(found[1]) * 60 + Number(found[2]);
  return minutes <= DAY_MINUTES ? minutes : null;
}

/** The local day and minute of a zone. The last result is cached, because a conversion costs more than a decision, and zones change at minutes. */
export class ZoneClock {
  readonly #zone: string;
  #minute = Number.NaN;
  /** 0 for Monday. */
  day = 0;
  /** Since midnight. */
  minute = 0;

  constructor(zone: string) {
    this.#zone = zone;
  }

  setTime(atMs: number): void {
    const minute = Math.floor(atMs / MINUTE_MS);
    if (minute === this.#minute) return;
    const local = Temporal.Instant.fromEpochMilliseconds(minute * MINUTE_MS).toZonedDateTimeISO(this.#zone);
    this.#minute = minute;
    this.day = local.dayOfWeek - 1;
    this.minute = local.hour * 60 + local.minute;
  }
}

/** A {@link PolicyTime}, ready to be compared. */
export class TimeWindow {
  readonly clock: ZoneClock;
  /** Bit 0 is Monday. */
  readonly #days: number;
  readonly #from: number;
  readonly #to: number;

  constructor({ days, from, to }: PolicyTime, clock: ZoneClock) {
    this.clock = clock;
    this.#days = days.reduce((bits, day) => bits | (1 << WEEKDAYS.indexOf(day)), 0);
    this.#from = minutesOf(from) ?? 0;
    this.#to = minutesOf(to) ?? DAY_MINUTES;
  }

  /** @param atMs since the epoch */
  contains(atMs: number): boolean {
    const { clock } = this;
    clock.setTime(atMs);
    return this.containsLocal(clock.day, clock.minute);
  }

  /** @param day 0 for Monday @param minute since midnight */
  containsLocal(day: number, minute: number): boolean {
    const isToday = (this.#days & (1 << day)) !== 0;
    if (this.#from < this.#to) return isToday && minute >= this.#from && minute < this.#to;
    const wasYesterday = (this.#days & (1 << ((day + 6) % 7))) !== 0;
    return (isToday && minute >= this.#from) || (wasYesterday && minute < this.#to);
  }
}

/** Whether the periods leave no minute of a week out, apart from the hours that clocks skip. Periods of other zones are not added up. */
export function coverWeek(windows: readonly TimeWindow[]): boolean {
  const zones = Map.groupBy(windows, ({ clock }) => clock);
  return zones.values().some((ofZone) => {
    for (let minute = 0; minute < WEEKDAYS.length * DAY_MINUTES; minute++) {
      const day = Math.floor(minute / DAY_MINUTES);
      if (!ofZone.some((window) => window.containsLocal(day, minute % DAY_MINUTES))) return false;
    }
    return true;
  });
}
