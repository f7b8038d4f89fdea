// What a destination of the log export can be: kinds, formats, defaults and bounds, as data. The browser reads this file too.

export const DESTINATION_KINDS = ["syslog_tls", "syslog_udp", "webhook"] as const;
export type DestinationKind = typeof DESTINATION_KINDS[number];

/** The kinds of records among which a destination selects. */
export const RECORD_KINDS = ["logins", "audit", "drops", "alerts"] as const;
export type RecordKind = typeof RECORD_KINDS[number];

export const SYSLOG_FORMATS = ["json", "structured_data"] as const;
/** `json`: the message is one JSON object. `structured_data`: the fields are parameters of one element. */
export type SyslogFormat = typeof SYSLOG_FORMATS[number];

export const WEBHOOK_FORMATS = ["json", "ndjson"] as const;
/** `json`: an object with the member `records`. `ndjson`: one record per line. */
export type WebhookFormat = typeof WEBHOOK_FORMATS[number];

/** Why records could not be delivered. The console has a sentence for each code. */
const CHANNEL_PROBLEMS = [
  "bad_settings",
  "busy",
  "certificate",
  "connection_lost",
  "name_not_found",
  "not_confirmed",
  "redirected",
  "refused",
  "slow",
  "timeout",
  "too_large",
  "unreachable",
] as const;
export type ChannelProblem = typeof CHANNEL_PROBLEMS[number];

/** What an administrator sets. */
export interface DestinationSettings {
  readonly kind: DestinationKind;
  /** Of a webhook; otherwise "". */
  readonly url: string;
  readonly allowsHttp: boolean;
  /** Of syslog; otherwise "" and 0. */
  readonly host: string;
  readonly port: number;
  readonly format: SyslogFormat | WebhookFormat;
  /** Of syslog (RFC 5424 §6.2.1, table 1). */
  readonly facility: number;
  /** Which records are sent. */
  readonly records: readonly RecordKind[];
  /** Certificates (PEM) of the authorities of the receiver; "": those of the platform. */
  readonly ca: string;
  /** The client certificate (PEM) of syslog over TLS; "": none. */
  readonly certificate: string;
  /** The bound of the backlog. Older records are skipped. */
  readonly maxHours: number;
  readonly maxRecords: number;
  readonly isPaused: boolean;
}

export const DESTINATION_DEFAULTS: DestinationSettings = {
  kind: "syslog_tls",
  url: "",
  allowsHttp: false,
  host: "",
  port: 6514,
  format: "json",
  // Security and authorization messages.
  facility: 10,
  records: ["logins", "audit", "alerts"],
  ca: "",
  certificate: "",
  maxHours: 72,
  maxRecords: 500_000,
  isPaused: false,
};

/** The standard ports: RFC 5425 §4.1, RFC 5426 §3.3. */
export const DEFAULT_PORTS: Readonly<Record<DestinationKind, number>> = {
  syslog_tls: 6514,
  syslog_udp: 514,
  webhook: 0,
};

export const MAX_DESTINATIONS = 10;
export const MAX_FACILITY = 23;
export const MAX_HOURS = 720;
export const MIN_RECORDS = 1000;
export const MAX_RECORDS = 5_000_000;
/** A name begins with a letter, and has at most 40 letters a to z, digits and hyphens. */
export const DESTINATION_NAME = /^[a-z][a-z0-9-]{0,39}$/;
