// The settings of a RADIUS client: one row for each. The settings file, the API, the stored record, the console's form, the review
// before saving, the audit log and the docs are derived from these rows. The browser reads this table too.
//
// To add a setting: add a row here, its sentence to config/client_setting_docs.ts and its messages to console/web/i18n/{en,de}.json,
// then use the value where requests are handled.

import type { SocketAddress } from "./addresses.ts";

/** The value of each type in the program. */
export interface SettingTypes {
  readonly boolean: boolean;
  /** One of `choices`. */
  readonly choice: string;
  readonly text: string;
  readonly secret: string;
  readonly ip: string;
  /** IP addresses and ranges, canonical. */
  readonly ranges: readonly string[];
  /** A server that the gateway calls; port 0 is not allowed. */
  readonly peer: SocketAddress;
  /** The settings file gives milliseconds, or seconds; the program has milliseconds. */
  readonly milliseconds: number;
  readonly seconds: number;
  /** A UDP port; 0: off. */
  readonly port: number;
  /** One character between a password and a code. */
  readonly separator: string;
  readonly domains: readonly string[];
  readonly realms: readonly string[];
  /** Names of users. */
  readonly users: readonly string[];
}

/** What the console has of a setting. Its messages are `clients.field_<name>`, `…_question`, `…_hint`, and `…_<choice>`. */
interface ConsoleRow {
  /** In the order of the form. For a time setting: the times that the form offers. */
  readonly choices?: readonly (string | number)[];
  readonly max?: number;
  /** The value of a new client, if it is not the default of the settings file. */
  readonly initial?: string;
  /** Callers of the API may leave it out. The default then applies. */
  readonly isOptional?: true;
  /** Only the form of an existing client has the setting. */
  readonly isForEdit?: true;
  /** The name in the audit log, if it is not the name of the row. */
  readonly auditName?: string;
}

export interface ClientSettingRow {
  /** The key in `[[radius.client]]`. Without it, only the console has the setting. */
  readonly key?: string;
  /** `[radius]` has the key too, for any client address. */
  readonly isPolicy?: true;
  readonly type: keyof SettingTypes;
  readonly choices?: readonly string[];
  readonly min?: number;
  readonly max?: number;
  /** In the form of the settings file. */
  readonly default: string | number | boolean | readonly string[];
  /** The settings file must have the key. */
  readonly isRequired?: true;
  /** In the example of docs/configuration.md, instead of the default. */
  readonly example?: string | readonly string[];
  /** The setting has no effect unless another one has this value, or has another value than `isNot`. */
  readonly usedWhen?:
    | { readonly setting: "firstFactor" | "appendMode"; readonly is: string | boolean }
    | { readonly setting: "disconnectPort"; readonly isNot: number };
  /** Without it, only the settings file has the setting. */
  readonly console?: ConsoleRow;
}

const OF_SERVER = { setting: "firstFactor", is: "radius" } as const;

/** In the order of the settings file. The settings of the first-factor server are nested: `firstFactorServer.address`. */
export const CLIENT_SETTINGS = {
  name: {
    key: "name",
    type: "text",
    max: 64,
    default: "",
    isRequired: true,
    example: "vpn",
  },
  address: {
    key: "address",
    type: "ranges",
    default: [],
    isRequired: true,
    example: ["10.1.0.0/16", "192.0.2.7"],
    console: {},
  },
  secret: {
    key: "secret",
    type: "secret",
    default: "",
    isRequired: true,
    example: "env:VPN_SECRET",
  },
  nasIdentifier: {
    key: "nas_identifier",
    type: "text",
    max: 253,
    default: "",
    console: { max: 128 },
  },
  nasIpAddress: { key: "nas_ip_address", type: "ip", default: "" },
  disabled: {
    type: "boolean",
    default: false,
    console: { isForEdit: true },
  },
  messageAuthenticator: {
    key: "message_authenticator",
    isPolicy: true,
    type: "choice",
    choices: ["require", "auto", "off"],
    default: "auto",
    console: { choices: ["auto", "require", "off"] },
  },
  limitProxyState: {
    key: "limit_proxy_state",
    isPolicy: true,
    type: "boolean",
    default: false,
  },
  firstFactor: {
    key: "first_factor",
    isPolicy: true,
    type: "choice",
    choices: ["none", "directory", "ldap", "radius"],
    default: "none",
    console: {
      choices: ["settings", "none", "directory", "ldap", "radius"],
      initial: "settings",
    },
  },
  firstFactorBackend: {
    key: "first_factor_backend",
    isPolicy: true,
    type: "text",
    max: 64,
    default: "",
    example: "",
    usedWhen: { setting: "firstFactor", is: "ldap" },
    console: { max: 256 },
  },
  "firstFactorServer.address": {
    key: "first_factor_server.address",
    isPolicy: true,
    type: "peer",
    default: "",
    example: "192.0.2.20:1812",
    usedWhen: OF_SERVER,
    console: { auditName: "firstFactorServer" },
  },
  "firstFactorServer.secret": {
    key: "first_factor_server.secret",
    isPolicy: true,
    type: "secret",
    default: "",
    example: "env:UPSTREAM_SECRET",
    usedWhen: OF_SERVER,
    console: { auditName: "firstFactorServerSecret" },
  },
  "firstFactorServer.timeoutMs": {
    key: "first_factor_server.timeout_ms",
    isPolicy: true,
    type: "milliseconds",
    min: 100,
    max: 30_000,
    default: 3000,
    usedWhen: OF_SERVER,
    console: {
      max: 10_000,
      choices: [1000, 2000, 3000, 5000, 10_000],
      auditName: "firstFactorServerTimeout",
    },
  },
  "firstFactorServer.messageAuthenticator": {
    key: "first_factor_server.message_authenticator",
    isPolicy: true,
    type: "choice",
    choices: ["require", "auto"],
    default: "require",
    usedWhen: OF_SERVER,
    console: {
      isOptional: true,
      auditName: "firstFactorServerMessageAuthenticator",
    },
  },
  device: {
    key: "device",
    isPolicy: true,
    type: "choice",
    choices: ["challenge", "hold", "hold_then_challenge"],
    default: "challenge",
    console: {},
  },
  holdMs: {
    key: "hold_s",
    isPolicy: true,
    type: "seconds",
    min: 1,
    max: 300,
    default: 25,
  },
  appendMode: {
    key: "append_mode",
    isPolicy: true,
    type: "boolean",
    default: false,
    console: {},
  },
  appendSeparator: {
    key: "append_separator",
    isPolicy: true,
    type: "separator",
    default: ",",
    usedWhen: { setting: "appendMode", is: true },
    console: { isOptional: true },
  },
  codePosition: {
    key: "code_position",
    isPolicy: true,
    type: "choice",
    choices: ["separated", "behind", "front"],
    default: "separated",
    usedWhen: { setting: "appendMode", is: true },
    console: { isOptional: true },
  },
  unknownUsers: {
    key: "unknown_users",
    isPolicy: true,
    type: "choice",
    choices: ["auto", "allow", "reject"],
    default: "auto",
    console: {},
  },
  stripDomains: {
    key: "strip_domains",
    isPolicy: true,
    type: "domains",
    default: [],
    example: [],
    console: { isOptional: true },
  },
  stripRealms: {
    key: "strip_realms",
    isPolicy: true,
    type: "realms",
    default: [],
    example: [],
    console: { isOptional: true },
  },
  healthCheckUsers: {
    key: "health_check_users",
    isPolicy: true,
    type: "users",
    default: [],
    example: [],
    console: { isOptional: true },
  },
  disconnectPort: {
    key: "disconnect_port",
    type: "port",
    min: 0,
    max: 65_535,
    default: 0,
    console: { isOptional: true },
  },
  disconnectSecret: {
    key: "disconnect_secret",
    type: "secret",
    default: "",
    usedWhen: { setting: "disconnectPort", isNot: 0 },
    console: { isOptional: true },
  },
} as const satisfies Readonly<Record<string, ClientSettingRow>>;
