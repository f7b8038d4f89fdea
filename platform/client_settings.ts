// The settings of a RADIUS client: one row for each. The settings file, the API, the stored record, the console's form, the review
// before saving, the audit log and the docs are derived from these rows. The browser reads this table too.
//
// To add a setting: add a row here, its sentence to config/list_settings.ts and its messages to console/web/i18n/{en,de}.json,
// then use the value where requests are handled.

import type { FormatName, SettingValueOf } from "./config/setting_rows.ts";
import { type AnyField, appliesTo, choice, flag, list, number, secret, text } from "./fields.ts";

/** What the console has of a setting. Its messages are `clients.field_<name>`, `…_question`, `…_hint`, and `…_<choice>`. */
interface ConsoleRow {
  /** In the order of the form. For a time setting: the times that the form offers. */
  readonly choices?: readonly (string | number)[];
  readonly max?: number;
  /** The value of a new client, if it is not the default of the settings file. A number is beyond the bounds: the value of `[radius]` applies. */
  readonly initial?: string | number;
  /** Callers of the API may leave it out. The default then applies. */
  readonly isOptional?: true;
  /** Only the form of an existing client has the setting. */
  readonly isForEdit?: true;
  /** Only clients with this transport have the setting. */
  readonly transport?: Transport;
  /** The name in the audit log, if it is not the name of the row. */
  readonly auditName?: string;
}

/** How requests come: by UDP, or over TLS (RFC 6614, RFC 9765). */
export type Transport = "udp" | "tls";

export type ClientSettingRow = AnyField & {
  /** Checks the value of a text or a list. */
  readonly format?: FormatName;
  /** The key in `[[radius.client]]`. Without it, only the console has the setting. */
  readonly key?: string;
  /** How requests are treated: `[radius]` has the key too, for any client address. */
  readonly isForRequests?: true;
  /** The settings file must have the key. */
  readonly mustBeGiven?: true;
  /** In the example of docs/configuration.md, instead of the default. */
  readonly example?: string | readonly string[];
  readonly names?: "ldap_connectors";
  /** Without it, only the settings file has the setting. */
  readonly console?: ConsoleRow;
};

const MAX_SECRET_CHARACTERS = 1024;
/** Each has its share of the time in which a login needs an answer. */
const MAX_SERVERS = 8;
const OF_SERVER = { firstFactor: ["radius"] };
const IF_APPENDED = { appendMode: ["true"] };
const MAX_SAN_CHARACTERS = 253;
/** 32 octets in hexadecimal digits, with colons, and what openssl prints before them. */
const MAX_FINGERPRINT_CHARACTERS = 128;

/** In the order of the settings file. The settings of the first-factor server are nested: `firstFactorServer.address`. */
export const CLIENT_SETTINGS = {
  name: { ...text({ max: 64 }), key: "name", example: "vpn", mustBeGiven: true },
  address: {
    ...list({ max: 64, maxItems: 1000 }),
    format: "ranges",
    key: "address",
    example: ["10.1.0.0/16", "192.0.2.7"],
    console: {},
  },
  secret: {
    ...secret({ max: MAX_SECRET_CHARACTERS }),
    key: "secret",
    example: "env:VPN_SECRET",
  },
  tlsSan: {
    ...text({ max: MAX_SAN_CHARACTERS }),
    format: "san",
    key: "tls.san",
    example: "",
    console: { isOptional: true, transport: "tls" },
  },
  tlsFingerprint: {
    ...text({ max: MAX_FINGERPRINT_CHARACTERS }),
    format: "fingerprint",
    key: "tls.fingerprint",
    example: "",
    console: { isOptional: true, transport: "tls" },
  },
  tlsDisconnect: { ...flag(), key: "tls.disconnect", console: { isOptional: true, transport: "tls" } },
  nasIdentifier: { ...text({ max: 253 }), key: "nas_identifier", console: { max: 128, transport: "udp" } },
  nasIpAddress: { ...text({ max: 64 }), format: "ip", key: "nas_ip_address" },
  disabled: { ...flag(), console: { isForEdit: true } },
  messageAuthenticator: {
    ...choice(["require", "auto", "off"], { default: "auto" }),
    key: "message_authenticator",
    isForRequests: true,
    console: { choices: ["auto", "require", "off"], transport: "udp" },
  },
  limitProxyState: { ...flag(), key: "limit_proxy_state", isForRequests: true },
  firstFactor: {
    ...choice(["none", "directory", "ldap", "radius"], { default: "none" }),
    key: "first_factor",
    isForRequests: true,
    console: { choices: ["settings", "none", "directory", "ldap", "radius"], initial: "settings" },
  },
  firstFactorBackend: {
    ...text({ max: 64, when: { firstFactor: ["ldap"] } }),
    key: "first_factor_backend",
    isForRequests: true,
    example: "",
    console: { max: 256 },
    names: "ldap_connectors",
  },
  "firstFactorServer.address": {
    ...list({ max: 260, maxItems: MAX_SERVERS, when: OF_SERVER }),
    format: "peers",
    key: "first_factor_server.address",
    isForRequests: true,
    example: ["192.0.2.20:1812", "192.0.2.21:1812"],
    console: { auditName: "firstFactorServer" },
  },
  "firstFactorServer.secret": {
    ...secret({ max: MAX_SECRET_CHARACTERS, when: OF_SERVER }),
    key: "first_factor_server.secret",
    isForRequests: true,
    example: "env:UPSTREAM_SECRET",
    console: { max: 128, auditName: "firstFactorServerSecret" },
  },
  "firstFactorServer.timeoutMs": {
    ...number({ min: 100, max: 30_000, default: 3000, unit: "ms", when: OF_SERVER }),
    key: "first_factor_server.timeout_ms",
    isForRequests: true,
    console: {
      max: 10_000,
      choices: [1000, 2000, 3000, 5000, 10_000],
      auditName: "firstFactorServerTimeout",
    },
  },
  "firstFactorServer.messageAuthenticator": {
    ...choice(["require", "auto"], { default: "require", when: OF_SERVER }),
    key: "first_factor_server.message_authenticator",
    isForRequests: true,
    console: { isOptional: true, auditName: "firstFactorServerMessageAuthenticator" },
  },
  replyFromFirstFactor: {
    ...list({ max: 128, maxItems: 100, default: ["all"], when: OF_SERVER }),
    format: "reply_names",
    key: "reply_from_first_factor",
    isForRequests: true,
    example: ["all"],
    console: { isOptional: true },
  },
  eap: {
    ...choice(["auto", "relay", "gtc", "refuse"], { default: "auto" }),
    key: "eap",
    isForRequests: true,
    console: { isOptional: true },
  },
  eapOuterIdentity: {
    ...choice(["refuse", "reply", "trust"], { default: "refuse", when: OF_SERVER }),
    key: "eap_outer_identity",
    isForRequests: true,
    console: { isOptional: true },
  },
  mode: {
    ...choice(["enforce", "shadow"], { default: "enforce", when: { firstFactor: ["radius", "settings"] } }),
    key: "mode",
    isForRequests: true,
    console: { isOptional: true },
  },
  device: {
    ...choice(["challenge", "hold", "hold_then_challenge"], { default: "challenge" }),
    key: "device",
    isForRequests: true,
    console: {},
  },
  holdMs: {
    ...number({ min: 1, max: 300, default: 25, unit: "s" }),
    key: "hold_s",
    isForRequests: true,
    console: { initial: 0, isOptional: true },
  },
  appendMode: { ...flag(), key: "append_mode", isForRequests: true, console: {} },
  appendSeparator: {
    ...text({ max: 20, default: ",", when: IF_APPENDED }),
    format: "separator",
    key: "append_separator",
    isForRequests: true,
    console: { isOptional: true },
  },
  codePosition: {
    ...choice(["separated", "behind", "front"], { default: "separated", when: IF_APPENDED }),
    key: "code_position",
    isForRequests: true,
    console: { isOptional: true },
  },
  unknownUsers: {
    ...choice(["auto", "allow", "reject"], { default: "auto" }),
    key: "unknown_users",
    isForRequests: true,
    console: {},
  },
  stripDomains: {
    ...list({ max: 500, maxItems: 100 }),
    format: "domains",
    key: "strip_domains",
    isForRequests: true,
    example: [],
    console: { isOptional: true },
  },
  stripRealms: {
    ...list({ max: 500, maxItems: 100 }),
    format: "realms",
    key: "strip_realms",
    isForRequests: true,
    example: [],
    console: { isOptional: true },
  },
  healthCheckUsers: {
    ...list({ max: 500, maxItems: 100 }),
    format: "users",
    key: "health_check_users",
    isForRequests: true,
    example: [],
    console: { isOptional: true },
  },
  disconnectPort: {
    ...number({ min: 0, max: 65_535, default: 0 }),
    key: "disconnect_port",
    console: { isOptional: true, transport: "udp" },
  },
  disconnectSecret: {
    ...secret({ max: MAX_SECRET_CHARACTERS, when: { disconnectPort: { not: ["0", ""] } } }),
    key: "disconnect_secret",
    console: { max: 128, isOptional: true, transport: "udp" },
  },
} as const satisfies Readonly<Record<string, ClientSettingRow>>;

type Table = typeof CLIENT_SETTINGS;

export type ClientSetting = keyof Table;

/** Settings whose row matches `Part`. */
type SettingWith<Part> = { [K in ClientSetting]: Table[K] extends Part ? K : never }[ClientSetting];

/** Settings that `[radius]` also has, for any client address. */
type RequestSetting = SettingWith<{ isForRequests: true }>;
/** Settings that the console can change. */
export type ConsoleSetting = SettingWith<{ console: object }>;

/** Settings that are neither stored in the content of a client nor returned. */
export type SecretSetting = SettingWith<{ type: "secret" }>;

/** Settings that callers of the console's API may leave out. */
export type OptionalSetting = SettingWith<{ console: { isOptional: true } }>;

/** A server that is not given is absent. */
type TypedValue<K extends ClientSetting> = Exclude<SettingValueOf<Table[K]>, "">;

/** The value of a setting in the console, where some settings have one more choice. */
export type ConsoleValue<K extends ConsoleSetting> = Table[K] extends
  { type: "choice"; console: { choices: readonly (infer Choice)[] } } ? Choice : TypedValue<K>;

/** The settings of the servers that check passwords, with `firstFactor: "radius"`. */
export type ServerSetting = ClientSetting & `firstFactorServer.${string}`;
export type ServerPart<K> = K extends `firstFactorServer.${infer Part}` ? Part : never;
export type FirstFactorServer = { readonly [K in ServerSetting as ServerPart<K>]: TypedValue<K> };

/** How requests of a client are treated. */
export type RequestSettings =
  & { readonly [K in Exclude<RequestSetting, ServerSetting>]: TypedValue<K> }
  & { readonly firstFactorServer: FirstFactorServer | null };

export type ClientSettings =
  & { readonly [K in Exclude<SettingWith<{ key: string }>, ServerSetting>]: TypedValue<K> }
  & { readonly firstFactorServer: FirstFactorServer | null };

/** A client of the console, without its secrets. `firstFactor: "settings"` and `holdMs: 0` mean the value of [radius]. */
export type ClientContent =
  & { readonly name: string }
  & { readonly [K in Exclude<ConsoleSetting, ServerSetting | SecretSetting>]: ConsoleValue<K> }
  & { readonly firstFactorServer: Omit<FirstFactorServer, "secret"> | null };

const NAMES = Object.keys(CLIENT_SETTINGS) as ClientSetting[];

export const REQUEST_SETTINGS = NAMES.filter((name): name is RequestSetting =>
  clientSetting(name).isForRequests === true
);
/** The settings of the console, with the secret of the first-factor server. */
export const CONSOLE_SETTINGS = NAMES.filter((name): name is ConsoleSetting =>
  clientSetting(name).console !== undefined
);
/** The settings that a stored record and the API's answers have. */
export const CONTENT_SETTINGS = CONSOLE_SETTINGS.filter((name) => clientSetting(name).type !== "secret");

/** The row of a setting, for code that handles all settings. */
export function clientSetting(name: ClientSetting): ClientSettingRow {
  return CLIENT_SETTINGS[name];
}

/** The value of a setting in a new client of the console, and in a record of an earlier version, which does not have it. */
export function initialValue(name: ClientSetting): unknown {
  const row = clientSetting(name);
  return row.console?.initial ?? (row.type === "secret" ? "" : row.default);
}

/** The value of a setting; `undefined` where there is no first-factor server. */
export function settingOf(values: object, name: ClientSetting): unknown {
  return name.split(".").reduce(
    (value: unknown, part) => (value as Readonly<Record<string, unknown>> | null)?.[part],
    values,
  );
}

/** The setting with this name in the audit log, or `null`. */
export function findAuditedSetting(auditName: string): ConsoleSetting | null {
  return CONSOLE_SETTINGS.find((name) => (clientSetting(name).console?.auditName ?? name) === auditName) ??
    null;
}

/** An object with some settings. The first-factor server is `null` if `valueOf` returns `undefined` for its settings. */
export function settingsObject<K extends ClientSetting>(
  names: readonly K[],
  valueOf: (name: K) => unknown,
): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const name of names) {
    const [parent = name, part] = name.split(".");
    const value = valueOf(name);
    if (part === undefined) object[parent] = value;
    else if (value === undefined) object[parent] ??= null;
    else object[parent] = { ...object[parent] as object | null, [part]: value };
  }
  return object;
}

/** Whether a client sends its requests over TLS, and is known by its certificate. It then sends none by UDP. */
export function usesTls(
  { tlsSan, tlsFingerprint }: Pick<ClientContent, "tlsSan" | "tlsFingerprint">,
): boolean {
  return tlsSan !== "" || tlsFingerprint !== "";
}

/** Whether requests without a password (CHAP, MS-CHAP, EAP) go to the first-factor server, which alone can check them. */
export function isRelaying(
  { firstFactor, eap }: { readonly firstFactor: string; readonly eap: string },
): boolean {
  return firstFactor === "radius" && (eap === "relay" || eap === "auto");
}

/**
 * Whether a client may send CHAP and MS-CHAP without Message-Authenticator. With `auto`, only a client whose addresses are listed one by one: a
 * forged request then needs a forged address, and its answer goes to the client (ADR 22).
 *
 * @param client.hasNetwork whether it has a network, or any address
 */
export function mayOmitSignatureOfChap(
  { messageAuthenticator, hasNetwork }: {
    readonly messageAuthenticator: string;
    readonly hasNetwork: boolean;
  },
): boolean {
  return messageAuthenticator === "off" || (messageAuthenticator === "auto" && !hasNetwork);
}

export const transportOf = (of: Parameters<typeof usesTls>[0]): Transport => usesTls(of) ? "tls" : "udp";

/** Whether clients with this transport have the setting. */
export function isOfTransport(name: ClientSetting, transport: Transport): boolean {
  const { console } = clientSetting(name);
  return console?.transport === undefined || console.transport === transport;
}

/** Whether the setting has an effect, given the values of the others. A form has the text of a number. */
export function isSettingUsed(name: ClientSetting, valueOf: (name: ClientSetting) => unknown): boolean {
  const { when = {} } = clientSetting(name);
  const values = Object.keys(when).map((other) => [other, valueOf(other as ClientSetting)]);
  return appliesTo(when, Object.fromEntries(values));
}
