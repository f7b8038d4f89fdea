// The settings as the console, commands and logs show them: each row with its value, its source, and what a form needs. Of a secret, they
// show only whether it is set. The rows of RADIUS clients have their sentences here.

import type { ConfigFault, ConfigWarning } from "./config.ts";
import { ADMIN_SETTINGS, GENERAL_ROWS, SETTINGS } from "./settings.ts";
import type { SortedTable } from "./parse_settings.ts";
import { controlOf, defaultOf, type SettingControl } from "./setting_values.ts";
import { rowsByKey, type SettingRow, type SettingTable } from "./setting_rows.ts";
import { CREDENTIAL_SETTINGS, LDAP_BACKEND_SETTINGS, SCIM_BACKEND_SETTINGS } from "./target_settings.ts";
import {
  CLIENT_SETTINGS,
  type ClientSettingRow,
  type ClientSettings,
  REQUEST_SETTINGS,
  type RequestSettings,
  settingsObject,
} from "../client_settings.ts";

// The keys of [[radius.client]], and of those in [radius] for any client address, from the rows of platform/client_settings.ts.

type FileSetting = {
  [K in keyof typeof CLIENT_SETTINGS]: typeof CLIENT_SETTINGS[K] extends { key: string } ? K : never;
}[keyof typeof CLIENT_SETTINGS];

/** The sentences of the docs and of the Settings page. The rows do not have them, because the browser loads those. */
const DOCS: Readonly<Record<FileSetting, string>> = {
  name: "what logs and console call it; unique",
  address: "IP addresses and CIDR ranges; the most specific match wins; with tls, empty: every address",
  secret: "the shared secret; under 16 characters is a warning; with tls, it is not used",
  tlsSan:
    "the client uses TLS (radius.tls_listen) and no UDP; a subjectAltName that its certificate must have: a host name, " +
    '"*.aps.example" for any name with one more label, an IP address, or a text that begins with URI: or email:',
  tlsFingerprint:
    "the client uses TLS and no UDP; the SHA-256 fingerprint of its certificate, which must also be valid for radius.tls_ca",
  tlsDisconnect: "the client accepts a Disconnect-Request on its TLS connection (RFC 6614)",
  nasIdentifier: "picks this client among several behind one address",
  nasIpAddress: "likewise, by NAS-IP-Address",
  messageAuthenticator:
    "require | auto | off; auto: checked when present, and required per source address from the first " +
    "signed Access-Request onwards; CHAP and MS-CHAP may be unsigned only if the addresses of the client are listed one by one. " +
    "Under [radius], auto only checks what is present",
  limitProxyState: "drop Proxy-State without Message-Authenticator",
  firstFactor: "none | directory | ldap | radius: who checks the password before the second factor",
  firstFactorBackend:
    'for first_factor = "ldap": the name of an ldap backend of the target that radius.directory names',
  "firstFactorServer.address":
    'the servers that first_factor = "radius" asks, in order of preference: an IP address and a port, or a list',
  "firstFactorServer.secret": "the secret shared with these servers",
  "firstFactorServer.timeoutMs": "how long an answer is awaited, all servers together",
  "firstFactorServer.messageAuthenticator":
    "require | auto; require: an answer of that server without Message-Authenticator is ignored. auto: " +
    "required from the first signed answer onwards, until the next restart",
  replyFromFirstFactor:
    "all | none | a list of names: which attributes of that server's answer the client gets, as in " +
    '["Class", "Filter-Id", "26.9.1"]; the reply attributes of the gateway replace those of the same type',
  eap:
    "auto | relay | gtc | refuse: requests without a password (EAP, CHAP, MS-CHAP); relay: to the first-factor server; " +
    'gtc: the gateway asks with EAP-GTC, and refuses CHAP and MS-CHAP; auto: relay if first_factor = "radius", otherwise refuse',
  eapOuterIdentity:
    "refuse | reply | trust: who signs in with PEAP, EAP-TTLS, EAP-TLS and other methods whose outer identity is free " +
    "text; refuse: such requests are refused; reply: the User-Name of the server's Access-Accept; trust: the outer identity, which can be " +
    "that of another user",
  mode:
    "enforce | shadow; shadow: each Access-Request goes to the first-factor server, and its answer goes to the client, " +
    'without a second factor; the gateway only observes. Needs first_factor = "radius"',
  device:
    "challenge | hold | hold_then_challenge: how a device approval is awaited; CHAP, MS-CHAP and relayed EAP: always hold",
  holdMs: "longest wait for an approval inside one Access-Request",
  appendMode:
    'accept "password,123456" and "password,push|phone|sms|call|auto", with a number for one of several phones ' +
    'or numbers as in "password,push2"; if no first factor is checked, also a code or a word alone',
  appendSeparator: "for append_mode: the character between the password and what is appended",
  codePosition:
    'separated | behind | front, for append_mode; behind: also "password123456", a code directly behind the ' +
    'password; front: also "123456password"',
  unknownUsers:
    "auto | allow | reject: for a User-Name that is not in the directory; auto: reject if a first factor is " +
    "checked, otherwise allow",
  stripDomains:
    'domains that are removed from the front of User-Name, as in ["CORP"]: CORP\\alice is treated as alice',
  stripRealms:
    'realms that are removed from the end of User-Name, as in ["corp.example"]: alice@corp.example is ' +
    "treated as alice",
  healthCheckUsers:
    'names with which a device tests whether the gateway answers, as in ["probe"]: each gets an Access-Reject at ' +
    "once, without log line, limit, history, event and delay",
  disconnectPort:
    "the UDP port on which the client accepts a Disconnect-Request (RFC 5176), often 3799; 0: the gateway " +
    "ends no session there",
  disconnectSecret: "the secret of Disconnect-Requests; empty: the shared secret of the client",
};

/** In the order of the settings file. */
const FILE_SETTINGS = Object.keys(CLIENT_SETTINGS).filter((name): name is FileSetting => name in DOCS);

function clientTable(names: readonly FileSetting[]): SettingTable {
  return Object.fromEntries(
    names.map((name) => {
      const { console: _console, isForRequests: _isForRequests, ...row }: ClientSettingRow =
        CLIENT_SETTINGS[name];
      return [name, { ...row, doc: DOCS[name] }];
    }),
  );
}

/** How requests of a client are treated: keys of [[radius.client]], and of [radius] for any client address. */
export const RADIUS_TABLE = clientTable(REQUEST_SETTINGS);
export const RADIUS_ROWS = rowsByKey(RADIUS_TABLE);
/** Each [[radius.client]]. */
export const CLIENT_TABLE = clientTable(FILE_SETTINGS);

/** The settings of parsed values, without settings of another first factor. */
export function toRequestSettings(values: Readonly<Record<string, unknown>>): RequestSettings {
  return withOneFirstFactor(
    settingsObject(REQUEST_SETTINGS, (name) => values[name]) as unknown as RequestSettings,
  );
}

/** The client of parsed values. */
export function toClientSettings(values: Readonly<Record<string, unknown>>): ClientSettings {
  return withOneFirstFactor(
    settingsObject(FILE_SETTINGS, (name) => values[name]) as unknown as ClientSettings,
  );
}

/** Without an address, there is no server. */
function withOneFirstFactor<T extends RequestSettings>(of: T): T {
  const hasServer = (of.firstFactorServer?.address ?? []).length > 0;
  return {
    ...of,
    firstFactorBackend: of.firstFactor === "ldap" ? of.firstFactorBackend : "",
    firstFactorServer: of.firstFactor === "radius" && hasServer ? of.firstFactorServer : null,
  };
}

// What the Settings page and commands list.

/** A value as in the settings file. A table contains reply attributes. */
export type SettingValue =
  | string
  | number
  | boolean
  | readonly string[]
  | Readonly<Record<string, string | number>>;

/** The pages of the settings form. */
const SETTING_TOPICS = [
  "sign_in",
  "factors",
  "limits",
  "enrolment",
  "alerts",
  "telephony",
  "second_factor",
  "mail",
  "radius",
  "console",
  "system",
] as const;
type SettingTopic = typeof SETTING_TOPICS[number];

/** Who changed a setting in the console, and when (milliseconds since the epoch). */
export interface SettingChange {
  readonly atMs: number;
  readonly by: string;
}

/** One setting, without secrets. */
export interface SettingView {
  /** `radius.state` */
  readonly key: string;
  readonly topic: SettingTopic;
  readonly doc: string;
  readonly control: SettingControl;
  readonly isSecret: boolean;
  /** Whether the value in effect is not empty. */
  readonly isSet: boolean;
  /** In effect; `null` for a secret. */
  readonly value: SettingValue | null;
  /** The default; `null` for a secret. */
  readonly preset: SettingValue | null;
  readonly source: "default" | "file" | "console";
  /** Why the console cannot change it. */
  readonly locked: "file" | "restart" | null;
  /** The last change in the console. */
  readonly changed: SettingChange | null;
  /** Why the stored value is not used. */
  readonly problem: string | null;
  /** The fault behind `problem`, with the key that has it. */
  readonly cause: ConfigFault | null;
}

/** A setting whose value is a table of reply attributes. */
interface AttributesRow {
  readonly type: "attributes";
  readonly doc: string;
  readonly editable?: undefined;
  readonly security?: undefined;
}
type ListedRow = SettingRow | AttributesRow;

/** The setting whose value is a table of attributes. */
export const REPLY_DEFAULT_KEY = "radius.reply.default";
const REPLY_DEFAULT: AttributesRow = { type: "attributes", doc: "attributes of every Access-Accept" };

/** Every setting that is not in a repeated table, by key, in the order of the tables of the file. */
export const ALL_SETTINGS: ReadonlyMap<string, ListedRow> = new Map<string, ListedRow>(
  [
    ...Object.entries<ListedRow>(GENERAL_ROWS),
    ...Object.entries(RADIUS_ROWS).map(([name, row]) => [`radius.${name}`, row] as const),
    [REPLY_DEFAULT_KEY, REPLY_DEFAULT] as const,
  ].map(([key, row], at) => ({ key, row, at, table: tableOf(key) }))
    .toSorted((a, b) => firstAt(a.table) - firstAt(b.table) || a.at - b.at)
    .map(({ key, row }) => [key, row]),
);

function tableOf(key: string): string {
  return key.slice(0, key.indexOf("."));
}

function firstAt(table: string): number {
  return Object.keys(GENERAL_ROWS).findIndex((key) => tableOf(key) === table);
}

/** The topic of keys that start with a text; the first match counts. */
const TOPIC_OF: readonly (readonly [start: string, topic: SettingTopic])[] = [
  ["factors.lockout.", "limits"],
  ["factors.pushes.", "limits"],
  ["factors.sends.", "limits"],
  ["factors.", "factors"],
  ["enrolment.", "enrolment"],
  ["alerts.", "alerts"],
  ["help_desk.", "limits"],
  ["second_factor.", "second_factor"],
  ["push.", "second_factor"],
  ["telephony.", "telephony"],
  ["mail.", "mail"],
  ["radius.conversation_ttl_s", "sign_in"],
  ["radius.login_join_window_s", "sign_in"],
  ["radius.directory", "sign_in"],
  ["radius.", "radius"],
  ["console.audit_days", "system"],
  ["console.", "console"],
  ["http.", "console"],
];

function topicOf(key: string): SettingTopic {
  return TOPIC_OF.find(([start]) => key.startsWith(start))?.[1] ?? "system";
}

/** What the console stored about a setting. */
interface StoredSettingState {
  readonly changed: SettingChange | null;
  readonly problem: string | null;
  readonly cause: ConfigFault | null;
  /** Whether the stored value is in effect, unless the file has the key. */
  readonly isUsed: boolean;
}

const NOT_STORED: StoredSettingState = { changed: null, problem: null, cause: null, isUsed: false };

/**
 * Every setting that is not in a repeated table.
 *
 * @param effective the file merged with what the console stored.
 * @param derived defaults that depend on another key.
 */
export function listSettings(
  effective: SortedTable,
  derived: Readonly<Record<string, string>> = {},
  stateOf: (key: string) => StoredSettingState & { readonly isInFile: boolean } = (key) => ({
    ...NOT_STORED,
    isInFile: effective.values.has(key) || effective.maps.has(key),
  }),
): SettingView[] {
  return [...ALL_SETTINGS].map(([key, row]): SettingView => {
    const isSecret = row.type === "secret";
    const raw = effective.values.get(key) ?? effective.maps.get(key);
    const { isInFile, isUsed, changed, problem, cause } = stateOf(key);
    const shown = (value: unknown) => isSecret ? null : value as SettingValue;
    const fallback = row.type === "attributes" ? {} : derived[key] ?? defaultOf(row);
    return {
      key,
      topic: topicOf(key),
      doc: row.doc,
      control: row.type === "attributes" ? { kind: "attributes" } : controlOf(row),
      isSecret,
      isSet: raw !== undefined && raw !== "",
      value: shown(raw ?? fallback),
      preset: shown(fallback),
      source: isInFile ? "file" : isUsed ? "console" : "default",
      locked: row.editable === false ? "restart" : isInFile ? "file" : null,
      changed,
      problem,
      cause,
    };
  });
}

/** Why a stored value is not used. Names the setting that has the fault, if that is another one. */
export function unusedText(key: string, { key: other, problem }: ConfigFault): string {
  return key === other ? problem : `${other}: ${problem}`;
}

// Secrets in settings: they are never printed, and a file that other users can read gets a warning.

const TABLES: readonly SettingTable[] = [
  SETTINGS,
  CLIENT_TABLE,
  ADMIN_SETTINGS,
  LDAP_BACKEND_SETTINGS,
  SCIM_BACKEND_SETTINGS,
  CREDENTIAL_SETTINGS,
];

/** The names of secrets in a Config: those of the rows, and the key of the certificate. */
const SECRET_NAMES: ReadonlySet<string> = new Set(["keyPem", ...TABLES.flatMap(secretNames)]);

function secretNames(table: SettingTable): string[] {
  return Object.entries(table).flatMap(([name, entry]) =>
    typeof entry["doc"] !== "string"
      ? secretNames(entry as SettingTable)
      : entry["type"] === "secret"
      ? [name.slice(name.lastIndexOf(".") + 1)]
      : []
  );
}

const INSPECTORS = [Symbol.for("Deno.customInspect"), Symbol.for("nodejs.util.inspect.custom")];

/** What knows which values are secrets. */
export interface SecretSettings {
  readonly redact: typeof redact;
  readonly secretsIn: typeof secretsIn;
}

/** A copy in which secrets are `mark`; empty ones stay empty. */
export function redact(value: unknown, mark = "***"): unknown {
  if (Array.isArray(value)) return value.map((one) => redact(one, mark));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) =>
      SECRET_NAMES.has(name) && inner !== "" ? [name, mark] : [name, redact(inner, mark)]
    ),
  );
}

/** All texts below the names of secrets. */
export function secretsIn(value: unknown, isSecret = false): string[] {
  if (typeof value === "string") return isSecret ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    secretsIn(inner, isSecret || SECRET_NAMES.has(name))
  );
}

function toRedacted(this: unknown): unknown {
  return redact(this);
}

function inspectRedacted(this: unknown): string {
  return JSON.stringify(redact(this), null, 2);
}

/** Freezes `value` deeply, and redacts its secrets when it is printed. */
export function freezeRedacted<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const inner of Object.values(value)) freezeRedacted(inner);
  if (!Array.isArray(value)) redactWhenPrinted(value);
  return Object.freeze(value);
}

/** Printing `value`, or converting it to JSON, redacts its secrets. */
export function redactWhenPrinted<T extends object>(value: T): T {
  Object.defineProperty(value, "toJSON", { value: toRedacted });
  for (const inspector of INSPECTORS) Object.defineProperty(value, inspector, { value: inspectRedacted });
  return value;
}

const SECRET_KEY = /(^|_)(secret|password|token)$/;
const OTHERS_READ = 0o044;

/**
 * The mode of a settings file. The group of a file of root is left out: root gave it to the user of the service, as the package does
 * (0640 root:countersign).
 */
export function settingsFileMode({ mode, uid }: Pick<Deno.FileInfo, "mode" | "uid">): number | null {
  return mode === null || uid !== 0 ? mode : mode & ~0o070;
}

/** Warns if the settings file contains secrets and other users can read it. `env:NAME` and `file:PATH` are no secrets. */
export function readableSecretWarnings(
  table: unknown,
  { path, mode }: { path: string; mode: number | null },
): ConfigWarning[] {
  if (mode === null || (mode & OTHERS_READ) === 0 || !hasSecret(table)) return [];
  return [{
    key: path,
    problem: `it contains secrets, and other users of this host can read it; run: chmod 600 ${path}`,
  }];
}

function hasSecret(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasSecret);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, one]) =>
    typeof one === "string" ? SECRET_KEY.test(key) && one !== "" && !/^(env|file):/.test(one) : hasSecret(one)
  );
}
