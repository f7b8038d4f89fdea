// The types of the settings that the program uses: one Config, with units in its names. The table of settings
// (platform/config/settings.ts) describes each key of the file.

import type { AlertSettings } from "../alerts/alert_rules.ts";
import type { ClientPolicy, ClientSettings } from "../client_values.ts";
import type { SocketAddress } from "../addresses.ts";
import type { Problem } from "../setting_problems.ts";
import type { Mailbox } from "../mail/mail_address.ts";
import type { MailLanguage } from "../mail/mail_templates.ts";

export type { ClientPolicy, ClientSettings, SocketAddress };

type EnabledFactor = "device" | "sms" | "voice" | "totp";

export interface FactorSettings {
  readonly enabled: readonly EnabledFactor[];
  readonly terminalName: string;
  readonly requesterName: string;
  readonly phoneNumbers: "registered" | "any";
  readonly enrolAtLogin: "after_first_factor" | "never" | "always";
  /** Country calling codes without +; empty allows all but satellite and premium-rate numbers. */
  readonly countryCodes: readonly string[];
  readonly device: { readonly continueWaitMs: number; readonly numberMatching: boolean };
  readonly passcode: {
    readonly smsDigits: number;
    readonly voiceDigits: number;
    readonly lifetimeMs: number;
  };
  readonly pushes: { readonly perUser: number; readonly windowMs: number };
  readonly lockout: {
    readonly failures: number;
    readonly lockMs: number;
    readonly hardLimit: number;
    /** More than this in an hour causes a warning. */
    readonly warnLocksPerHour: number;
    readonly warnFailuresPerHour: number;
  };
  readonly sends: {
    readonly perUser: number;
    readonly perNumber: number;
    readonly windowMs: number;
    readonly totalPerHour: number;
    readonly perClientPerHour: number;
  };
}

/** Invitations that campaigns mail. */
export interface EnrolmentSettings {
  /** How long the link of a mailed invitation is valid. */
  readonly invitationMs: number;
  /** Days after the invitation, ascending, as texts of digits. */
  readonly reminderDays: readonly string[];
  /** 0: no deadline. */
  readonly deadlineDays: number;
  readonly helpText: string;
  readonly perMinute: number;
}

export interface HelpDeskSettings {
  readonly bypassMaxMs: number;
  readonly bypassMaxUses: number;
  /** Whether a bypass code may be valid for any number of logins until it expires. */
  readonly bypassAnyUses: boolean;
  readonly verificationsPerHour: number;
}

export interface AdminSettings {
  readonly name: string;
  readonly password: string;
  readonly role: "owner" | "user_manager" | "operator" | "help_desk" | "viewer";
}

/** Sign-in to the console through an OpenID Connect provider. */
export interface OidcSettings {
  /** Without a slash at the end. */
  readonly issuer: string;
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: string;
  readonly roleClaim: string;
  /** Values of the claim that give each role. */
  readonly owners: readonly string[];
  readonly userManagers: readonly string[];
  readonly operators: readonly string[];
  readonly helpDesk: readonly string[];
  readonly viewers: readonly string[];
}

/** The server that mails are sent through, and their sender. */
export interface MailSettings {
  /** "": no mail is sent. */
  readonly host: string;
  readonly port: number;
  readonly security: "starttls" | "tls" | "none";
  /** "": no sign-in. */
  readonly user: string;
  readonly password: string;
  /** Certificates of the trusted authorities, in place of those of the host; "" for those of the host. */
  readonly caPem: string;
  /** `null`: no mail is sent. */
  readonly from: Mailbox | null;
  readonly replyTo: Mailbox | null;
  /** Of mails to users without a language of their own, and to administrators. */
  readonly language: MailLanguage;
  readonly perMinute: number;
  readonly timeoutMs: number;
}

/** Attributes of an Access-Accept, by name. */
/** One value of a reply attribute, or several: each one becomes an attribute. */
export type ReplyValue = string | number | readonly (string | number)[];
export type ReplyAttributes = Readonly<Record<string, ReplyValue>>;
export interface ReplyUser {
  readonly user: string;
  readonly attributes: ReplyAttributes;
}
/** What the attributes of a group do beside those of other groups of a user: `all` adds the values of attributes that may be repeated. */
export const GROUP_COMBINATIONS = ["first", "all"] as const;
export type GroupCombination = typeof GROUP_COMBINATIONS[number];
export interface ReplyGroup {
  readonly group: string;
  readonly attributes: ReplyAttributes;
  /** Default `first`: the first group that has an attribute wins. */
  readonly groups?: GroupCombination;
}

interface BackendHead {
  readonly name: string;
  readonly mode: "sync" | "async";
}

export interface StoreBackendSettings extends BackendHead {
  readonly kind: "store";
}

export interface LdapBackendSettings extends BackendHead {
  readonly kind: "ldap";
  /** `ldap://host:port` or `ldaps://host:port`. */
  readonly url: string;
  readonly startTls: boolean;
  /** Certificates of the trusted authorities, in place of those of the host; "" for those of the host. */
  readonly caPem: string;
  readonly bindDn: string;
  readonly bindPassword: string;
  readonly usersDn: string;
  /** "" if the backend has no groups. */
  readonly groupsDn: string;
  /** SCIM attributes of users that only this backend writes; absent: none. */
  readonly readOnly?: readonly string[];
  /** Absent: `write`. */
  readonly access?: "read";
  readonly schema: "openldap" | "active_directory";
  /** Front-end attribute → LDAP attribute, if it differs from the schema's table. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly timeoutMs: number;
}

export interface ScimBackendSettings extends BackendHead {
  readonly kind: "scim";
  /** The service's base URL, without a trailing slash. */
  readonly url: string;
  /** A Bearer token; "" if there are user name and password. */
  readonly token: string;
  readonly userName: string;
  readonly password: string;
  /** SCIM attributes of users that only this backend writes; absent: none. */
  readonly readOnly?: readonly string[];
  /** Absent: `write`. */
  readonly access?: "read";
  readonly connections: number;
  readonly timeoutMs: number;
}

export type BackendSettings = StoreBackendSettings | LdapBackendSettings | ScimBackendSettings;

/** A SCIM target. */
export interface TargetSettings {
  /** The `<target_id>` of the path. */
  readonly name: string;
  readonly pageSize: number;
  /** If more of a backend's users or groups than this are missing, a refresh removes none of them. In percent, 1 to 100. */
  readonly maxDropPercent: number;
  /** SCIM attribute → front-end attribute, if it differs from the default table. */
  readonly mapping: {
    readonly user: Readonly<Record<string, string>>;
    readonly group: Readonly<Record<string, string>>;
  };
  /** In the order of the file. The first one wins a conflict. At least one. */
  readonly backends: readonly BackendSettings[];
  /** Schema extensions in JSON (RFC 7643 §3.3); absent: none. */
  readonly extensions?: string;
}

export interface ScimCredentialSettings {
  readonly name: string;
  readonly password: string;
  /** Names of targets. */
  readonly targets: readonly string[];
  readonly access: "read" | "write";
}

/** All settings, with secrets in clear text. Printing it or converting it to JSON redacts them. */
export interface Config {
  /** The absolute path of the file; `null` if there is none and every setting has its default. */
  readonly file: string | null;
  readonly server: {
    /** Absolute. */
    readonly dataDir: string;
    readonly logFormat: "text" | "json";
    readonly logLevel: "debug" | "info" | "warn" | "error";
  };
  readonly store: {
    /** The URL of a KV Connect endpoint; "" for the file in `server.dataDir`. */
    readonly kv: string;
  };
  readonly http: {
    readonly listen: SocketAddress;
    /** Without a trailing slash. */
    readonly publicUrl: string;
    readonly tls: { readonly certPem: string; readonly keyPem: string } | null;
    /** Canonical addresses and ranges whose X-Forwarded-For is trusted. */
    readonly trustedProxies: readonly string[];
  };
  readonly radius: {
    readonly listen: readonly SocketAddress[];
    readonly accounting: {
      readonly listen: readonly SocketAddress[];
      /** Whether the file has `radius.accounting_listen`. If not, the gateway starts even if the port is in use. */
      readonly isGiven: boolean;
    };
    /** For any client address, while there is no client; "" generates one. */
    readonly secret: string;
    readonly state: "auto" | "name" | "token";
    readonly directory: string;
    readonly conversationTtlMs: number;
    readonly loginJoinWindowMs: number;
    readonly anyClient: ClientPolicy;
    readonly clients: readonly ClientSettings[];
    readonly replyDefault: ReplyAttributes;
    /** In the order of the file, which is their priority. */
    readonly replyGroups: readonly ReplyGroup[];
    /** Of single users, by name. */
    readonly replyUsers: readonly ReplyUser[];
    /** Reply attributes whose values the directory has, with the front-end attribute of each. */
    readonly replyFromDirectory: Readonly<Record<string, string>>;
  };
  readonly factors: FactorSettings;
  readonly enrolment: EnrolmentSettings;
  readonly alerts: AlertSettings;
  readonly secondFactor: {
    /** "" for the embedded service. */
    readonly url: string;
    readonly consumerKey: string;
    readonly consumerSecret: string;
    readonly timeoutMs: number;
  };
  readonly telephony: {
    /** "" for the embedded outbox. */
    readonly url: string;
    readonly accountId: string;
    readonly authToken: string;
    readonly from: string;
    readonly twimlEchoUrl: string;
    readonly connectionsPerRoute: number;
    readonly connectionsTotal: number;
    readonly timeoutMs: number;
  };
  /** Web push to the phones of the embedded second-factor service. */
  readonly push: {
    readonly enabled: boolean;
    /** Patterns of allowed hosts (platform/host_patterns.ts). */
    readonly hosts: readonly string[];
    /** A mailto: or https: address; "" for the address of `http.publicUrl`. */
    readonly contact: string;
  };
  readonly mail: MailSettings;
  readonly geoip: {
    /** Absolute paths of MaxMind DB files; "" for none. */
    readonly database: string;
    readonly asnDatabase: string;
  };
  readonly helpDesk: HelpDeskSettings;
  /** At least one; "default" is always among them. */
  readonly targets: readonly TargetSettings[];
  readonly scim: { readonly credentials: readonly ScimCredentialSettings[] };
  readonly console: {
    readonly sessionMs: number;
    readonly idleMs: number;
    /** `required`: administrators without a second factor can only set one up. */
    readonly secondFactor: "offered" | "required";
    /** How long an audit record is stored. */
    readonly auditRetentionMs: number;
    readonly admins: readonly AdminSettings[];
    /** `null`: no provider. */
    readonly oidc: OidcSettings | null;
  };
}

/** A fault prevents the start. `problem` is a sentence with the value and the allowed values. */
export interface ConfigFault extends Problem {
  /** In the file. */
  readonly key: string;
}

/** A value that is allowed but needs attention. */
export type ConfigWarning = ConfigFault;

/** Where settings come from, and the checks of values that other areas understand. */
export interface ConfigSources {
  readonly env: (name: string) => string | undefined;
  /** Throws as `Deno.readTextFileSync` does. */
  readonly readTextFile: (path: string) => string;
  /** Permission bits of a file; `null` if the host has none. */
  readonly fileMode?: (path: string) => number | null;
  /** The working directory, absolute; relative paths start there. */
  readonly cwd: string;
  /** The problem of a reply attribute, or `null`. */
  readonly checkReplyAttribute?: (name: string, value: ReplyValue) => string | null;
  /** The problem of schema extensions in JSON, or `null`. */
  readonly checkExtensions?: (json: string) => string | null;
}
