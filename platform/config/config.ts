// The types of the settings that the program uses: one Config, with units in its names. Its members come from the tables of settings.

import type { SocketAddress } from "../addresses.ts";
import type { ClientSettings, RequestSettings } from "../client_settings.ts";
import type { Mailbox } from "../mail/mail_address.ts";
import type { Problem } from "../setting_problems.ts";
import type { TableValues } from "./setting_rows.ts";
import type { ADMIN_SETTINGS, SETTINGS } from "./settings.ts";
import type {
  CREDENTIAL_SETTINGS,
  LDAP_BACKEND_SETTINGS,
  SCIM_BACKEND_SETTINGS,
  STORE_BACKEND_SETTINGS,
  TARGET_SETTINGS,
} from "./target_settings.ts";

export type { ClientSettings, RequestSettings, SocketAddress };

type Values = TableValues<typeof SETTINGS>;
export type AdminSettings = TableValues<typeof ADMIN_SETTINGS>;
export type ScimCredentialSettings = TableValues<typeof CREDENTIAL_SETTINGS>;
/** Sign-in to the console through an OpenID Connect provider. */
export type OidcSettings = Values["console"]["oidc"];
export type FactorSettings = Values["factors"];
/** Invitations that campaigns mail. */
export type EnrolmentSettings = Values["enrolment"];
export type HelpDeskSettings = Values["helpDesk"];

/** The server that mails are sent through, and their sender. */
export interface MailSettings extends Omit<Values["mail"], "ca" | "from" | "replyTo"> {
  /** Certificates of the trusted authorities, in place of those of the host; "" for those of the host. */
  readonly caPem: string;
  /** `null`: no mail is sent. */
  readonly from: Mailbox | null;
  readonly replyTo: Mailbox | null;
}

/** One value of a reply attribute, or several: each one becomes an attribute. */
export type ReplyValue = string | number | readonly (string | number)[];
/** Attributes of an Access-Accept, by name. */
export type ReplyAttributes = Readonly<Record<string, ReplyValue>>;
interface ReplyUser {
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

interface StoreBackendSettings extends TableValues<typeof STORE_BACKEND_SETTINGS> {
  readonly name: string;
}

interface ExternalBackend {
  readonly name: string;
  /** SCIM attributes of users that only this backend writes; absent: none. */
  readonly readOnly?: readonly string[];
  /** Absent: `write`. */
  readonly access?: "read";
}

export interface LdapBackendSettings
  extends Omit<TableValues<typeof LDAP_BACKEND_SETTINGS>, "access" | "caCert" | "readOnly">, ExternalBackend {
  /** Certificates of the trusted authorities, in place of those of the host; "" for those of the host. */
  readonly caPem: string;
  /** Front-end attribute → LDAP attribute, if it differs from the schema's table. */
  readonly attributes: Readonly<Record<string, string>>;
}

export interface ScimBackendSettings
  extends Omit<TableValues<typeof SCIM_BACKEND_SETTINGS>, "access" | "readOnly">, ExternalBackend {}

export type BackendSettings = StoreBackendSettings | LdapBackendSettings | ScimBackendSettings;

export interface TargetSettings extends Omit<TableValues<typeof TARGET_SETTINGS>, "extensions"> {
  /** The `<target_id>` of the path. */
  readonly name: string;
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

/** The values of the settings, and what the file has besides. Secrets are in clear text; printing it or converting it to JSON redacts them. */
export interface Config extends Omit<Values, "console" | "http" | "mail" | "radius"> {
  /** The absolute path of the file; `null` if there is none and every setting has its default. */
  readonly file: string | null;
  readonly http: Omit<Values["http"], "tlsCert" | "tlsKey"> & {
    readonly tls: { readonly certPem: string; readonly keyPem: string } | null;
  };
  readonly radius: Omit<Values["radius"], "accounting"> & {
    readonly accounting: Values["radius"]["accounting"] & {
      /** Whether the file has `radius.accounting_listen`. If not, the gateway starts even if the port is in use. */
      readonly isGiven: boolean;
    };
    readonly anyClient: RequestSettings;
    readonly clients: readonly ClientSettings[];
    readonly replyDefault: ReplyAttributes;
    /** In the order of the file, which is their priority. */
    readonly replyGroups: readonly ReplyGroup[];
    /** Of single users, by name. */
    readonly replyUsers: readonly ReplyUser[];
    /** Reply attributes whose values the directory has, with the front-end attribute of each. */
    readonly replyFromDirectory: Readonly<Record<string, string>>;
  };
  readonly mail: MailSettings;
  /** At least one; "default" is always among them. */
  readonly targets: readonly TargetSettings[];
  readonly scim: { readonly credentials: readonly ScimCredentialSettings[] };
  readonly console: Omit<Values["console"], "auditDays" | "oidc"> & {
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
  /** The name, else the first address, of the repeated table that `key` has by its number. */
  readonly entry?: string;
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
