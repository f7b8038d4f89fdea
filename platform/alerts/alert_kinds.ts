// The kinds of alerts: one row for each, with its severity, its source and what it is about; and the fields of receivers. The browser
// reads this file too.

import { choice, choices, defaultsOf, flag, list, secret, type SecretsOf, type ValuesOf } from "../fields.ts";

import { MINUTE_MS } from "../durations.ts";

const ALERT_SEVERITIES = ["warning", "critical"] as const;
export type AlertSeverity = typeof ALERT_SEVERITIES[number];

interface AlertKindRow {
  /** The usual severity. One that is due soon, such as a certificate, becomes critical. */
  readonly severity: AlertSeverity;
  /** `event`: from records of the audit log. `rate`: from the number of records. `state`: lasts until its cause ends. */
  readonly source: "event" | "rate" | "state";
  /** How long a state is bad before it is an alert. `null`: `alerts.failing_minutes`. */
  readonly delayMs: number | null;
  /** How many alerts of the kind are sent one by one within an hour. Further ones are sent as one alert. */
  readonly maxSingle: number;
}

const EVENT = { source: "event", delayMs: 0 } as const;
const STATE = { source: "state", delayMs: null, maxSingle: 10 } as const;
const END = { source: "state", delayMs: 0, maxSingle: 10 } as const;

/** docs/alerts.md explains each kind. */
export const ALERT_KINDS = {
  user_locked: { severity: "warning", ...EVENT, maxSingle: 5 },
  rejection_spike: { severity: "warning", source: "rate", delayMs: 0, maxSingle: 5 },
  fraud_reported: { severity: "critical", ...EVENT, maxSingle: 10 },
  disconnect_manually: { severity: "critical", ...EVENT, maxSingle: 10 },
  backend_failing: { severity: "critical", ...STATE },
  service_failing: { severity: "critical", ...STATE },
  changes_undelivered: { severity: "warning", ...STATE },
  node_down: { severity: "warning", ...STATE, delayMs: MINUTE_MS },
  certificate_expiring: { severity: "warning", ...END },
  credential_expiring: { severity: "warning", ...END },
} as const satisfies Record<string, AlertKindRow>;

export type AlertKind = keyof typeof ALERT_KINDS;
export const ALERT_KIND_NAMES = Object.keys(ALERT_KINDS) as readonly AlertKind[];

/** The row of a kind, with the types of all rows. */
export function alertKindRow(kind: AlertKind): AlertKindRow {
  return ALERT_KINDS[kind];
}

/** Whether a text is the name of a kind. */
export function isAlertKind(text: unknown): text is AlertKind {
  return typeof text === "string" && Object.hasOwn(ALERT_KINDS, text);
}

/** From when on the end of something is an alert, in days before it. After the end it is critical. */
export const END_WARNING_DAYS = {
  certificate_expiring: { warning: 30, critical: 7 },
  credential_expiring: { warning: 14, critical: 1 },
} as const satisfies Partial<Record<AlertKind, Record<AlertSeverity, number>>>;

/** The parameters of an alert's sentence. Absent ones are unknown. */
export interface AlertValues {
  /** The user name of an event about one user. */
  readonly user?: string;
  /** The first names of an alert that stands for several. `count` of the alert is the number of events. */
  readonly users?: readonly string[];
  /** How many events there were since the last message. */
  readonly since?: number;
  /** The RADIUS client. */
  readonly client?: string;
  /** The address that the user came from. */
  readonly address?: string;
  /** `user_locked`: until an administrator unlocks. */
  readonly isHard?: boolean;
  /** `disconnect_manually`. */
  readonly nas?: string;
  readonly session?: string;
  /** A code: `disconnect_no_answer`; the text is that of the audit log. */
  readonly because?: string;
  /** `rejection_spike`: the rejected sign-ins of ten minutes, and their average over the last day (`null`: less than a day is known). */
  readonly inTenMinutes?: number;
  readonly average?: number | null;
  /** `backend_failing`: "default / ldap". `node_down`, certificates and credentials: the name. */
  readonly name?: string;
  /** The kind of part of `service_failing`, as on the System status page; what a certificate or a credential is for. */
  readonly of?: string;
  /** The problem, as on the System status page. */
  readonly detail?: string;
  /** `changes_undelivered`: how many. */
  readonly changes?: number;
  /** Certificates and credentials: the end (milliseconds since the epoch). */
  readonly untilMs?: number;
}

const RECEIVER_KINDS = ["mail", "webhook"] as const;
export const MAX_RECEIVERS = 10;

const MAIL = { kind: ["mail"] } as const;
const WEBHOOK = { kind: ["webhook"] } as const;

export const RECEIVER_FIELDS = {
  kind: choice(RECEIVER_KINDS, { default: "mail" }),
  addresses: list({ max: 254, minItems: 1, maxItems: 20, hasHint: true, when: MAIL }),
  /** It may contain a token, so it is a secret. */
  url: secret({
    ...{ max: 2000, isRequired: true, isLegible: true, hasHint: true },
    placeholder: "https://chat.example.com",
    when: WEBHOOK,
  }),
  /** Whether the URL may begin with `http:`. */
  allowsHttp: flag({ when: WEBHOOK }),
  language: choice(["en", "de"], { default: "en" }),
  minSeverity: choice(ALERT_SEVERITIES, { default: "warning" }),
  /** Empty: all kinds. */
  kinds: choices(ALERT_KIND_NAMES, { default: [], hasHint: true }),
};

export type ReceiverSettings = ValuesOf<typeof RECEIVER_FIELDS> & { readonly isPaused: boolean };
export type ReceiverSecrets = SecretsOf<typeof RECEIVER_FIELDS> & {
  /** The key of the signatures of a webhook; "": none. */
  readonly webhookSecret: string;
};
export const RECEIVER_DEFAULTS: ReceiverSettings = { ...defaultsOf(RECEIVER_FIELDS), isPaused: false };

/** Whether a receiver wants alerts of a kind with a severity. */
export function wantsAlert(
  { minSeverity, kinds }: Pick<ReceiverSettings, "minSeverity" | "kinds">,
  { kind, severity }: { readonly kind: AlertKind; readonly severity: AlertSeverity },
): boolean {
  return (kinds.length === 0 || kinds.includes(kind)) &&
    (minSeverity === "warning" || severity === "critical");
}

/** `pending`: it is sent soon, or tried again. `suppressed`: the limit of messages in an hour was reached. */
export const DELIVERY_STATES = ["pending", "sent", "failed", "suppressed"] as const;
export type DeliveryState = typeof DELIVERY_STATES[number];
