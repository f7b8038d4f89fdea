// What a destination of the log export can be: its fields with their bounds and defaults, as data. The browser reads this file too.

import {
  choice,
  choices,
  defaultsOf,
  flag,
  number,
  secret,
  type SecretsOf,
  text,
  type ValuesOf,
} from "../fields.ts";

/** Fields, addresses, permissions and the page follow these rows. */
export const DESTINATION_KINDS = {
  syslog_tls: { hasUrl: false, isSigned: false },
  syslog_udp: { hasUrl: false, isSigned: false },
  webhook: { hasUrl: true, isSigned: true },
} as const satisfies Record<string, { hasUrl: boolean; isSigned: boolean }>;
type DestinationKind = keyof typeof DESTINATION_KINDS;
const DESTINATION_KIND_NAMES = Object.keys(DESTINATION_KINDS) as readonly DestinationKind[];

/** The kinds of records among which a destination selects. */
const RECORD_KINDS = ["logins", "audit", "drops", "alerts"] as const;
export type RecordKind = typeof RECORD_KINDS[number];

/** `json`: the message is one JSON object. `structured_data`: the fields are parameters of one element. */
export type SyslogFormat = "json" | "structured_data";

/** `json`: an object with the member `records`. `ndjson`: one record per line. */
export type WebhookFormat = "json" | "ndjson";

/** The standard ports: RFC 5425 §4.1, RFC 5426 §3.3. */
const DEFAULT_PORTS = { syslog_tls: 6514, syslog_udp: 514 } as const;
const HAS_URL = { kind: DESTINATION_KIND_NAMES.filter((kind) => DESTINATION_KINDS[kind].hasUrl) };
const HAS_HOST = { kind: DESTINATION_KIND_NAMES.filter((kind) => !DESTINATION_KINDS[kind].hasUrl) };
const SYSLOG = { kind: ["syslog_tls", "syslog_udp"] } as const;
const SYSLOG_TLS = { kind: ["syslog_tls"] } as const;
const PEM = { max: 32_000, lines: 3 } as const;

export const DESTINATION_FIELDS = {
  kind: choice(DESTINATION_KIND_NAMES, { default: "syslog_tls" }),
  url: text({ max: 2000, isRequired: true, placeholder: "https://logs.example.com", when: HAS_URL }),
  allowsHttp: flag({ when: HAS_URL }),
  host: text({ max: 253, isRequired: true, when: HAS_HOST }),
  port: number({
    ...{ min: 1, max: 65_535, default: DEFAULT_PORTS.syslog_tls },
    usual: { by: "kind", of: DEFAULT_PORTS },
    when: HAS_HOST,
  }),
  format: choice(["json", "structured_data", "ndjson"], {
    default: "json",
    only: { structured_data: SYSLOG, ndjson: { kind: ["webhook"] } },
  }),
  /** RFC 5424 §6.2.1, table 1. The default: security and authorization messages. */
  facility: number({ min: 0, max: 23, default: 10, when: SYSLOG }),
  /** The value of the Authorization header. */
  authorization: secret({ max: 2000, hasHint: true, when: HAS_URL }),
  /** Certificates of the authorities of the receiver; "": those of the platform. */
  ca: text({ ...PEM, hasHint: true, when: { kind: ["syslog_tls", "webhook"] } }),
  /** The client certificate, and its key. */
  certificate: text({ ...PEM, hasHint: true, when: SYSLOG_TLS }),
  privateKey: secret({ ...PEM, when: SYSLOG_TLS }),
  records: choices(RECORD_KINDS, { default: ["logins", "audit", "alerts"], min: 1 }),
  /** The bound of the backlog. Older records are skipped. */
  maxHours: number({ min: 1, max: 720, default: 72, hasHint: true }),
  maxRecords: number({ min: 1000, max: 5_000_000, default: 500_000 }),
};
/** Of the creation only: how many hours of past records are sent first. */
export const NEW_DESTINATION_FIELDS = {
  pastHours: number({ min: 0, max: 720, default: 0, choices: [0, 24, 168, 720] }),
};

export type DestinationSettings = ValuesOf<typeof DESTINATION_FIELDS> & { readonly isPaused: boolean };
export type DestinationSecrets = SecretsOf<typeof DESTINATION_FIELDS> & {
  /** The key of the signatures of webhooks; "": none. */
  readonly webhookSecret: string;
};
export const DESTINATION_DEFAULTS: DestinationSettings = {
  ...defaultsOf(DESTINATION_FIELDS),
  isPaused: false,
};
export const MAX_DESTINATIONS = 10;
