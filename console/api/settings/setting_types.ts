// Types of the settings API.

import type { ConfigFault, ConfigWarning } from "../../../platform/config/config.ts";
import type { SettingValue, SettingView } from "../../../platform/config/list_settings.ts";
import type { SettingDiff } from "../../../platform/config/setting_writer.ts";
import type { TrialCode } from "../../../upstream/services.ts";

export type { ConfigFault, ConfigWarning, SettingDiff, SettingValue, SettingView };

/** This installation. */
export interface Installation {
  readonly version: string;
  /** Deno's. */
  readonly runtime: string;
  readonly startedMs: number;
  /** The settings file, absolute; `null` when there is none. */
  readonly file: string | null;
}

/** A retention limit: a time, or a number. */
export interface RetentionRow {
  readonly name: RetentionName;
  readonly amount: number;
  readonly unit: "days" | "hours" | "count" | "octets";
  readonly where: "store" | "memory";
}

export type RetentionName =
  | "history"
  | "audit"
  | "vpn_sessions"
  | "deleted_users"
  | "charts_hour"
  | "charts_minute"
  | "invitations"
  | "set_up_links"
  | "logins_with_packets"
  | "packets_each"
  | "stray_packets"
  | "packet_octets"
  | "live_changes";

/** The sign-in limits, which are not in the settings file. */
export interface SignInLimits {
  readonly minPasswordCharacters: number;
  readonly failuresPerMinute: number;
  readonly wrongCodes: number;
  readonly hardWrongCodes: number;
  readonly codeLockMs: number;
  readonly stepUpMs: number;
  readonly publicUrl: string;
  readonly passkeys: "possible" | "address_is_number" | "not_secure";
  readonly provider: ProviderStatus | null;
}

export interface ProviderStatus {
  readonly name: string;
  readonly issuer: string;
  /** The last request; `null`: none since the start. */
  readonly asked: { readonly atMs: number; readonly ok: boolean } | null;
}

export interface LicenceRow {
  readonly name: string;
  readonly licence: string;
}

/** A directory, and the names of its LDAP connectors. */
export interface DirectoryNames {
  readonly name: string;
  readonly ldap: readonly string[];
}

export interface SettingsAnswer {
  readonly nowMs: number;
  readonly file: string | null;
  /** Of this state; a save names the version that it is based on. */
  readonly version: string;
  readonly warnings: readonly ConfigWarning[];
  readonly settings: readonly SettingView[];
  /** What settings can name. */
  readonly directories: readonly DirectoryNames[];
  readonly signIn: SignInLimits;
  readonly kept: readonly RetentionRow[];
  readonly about: {
    readonly version: string;
    readonly runtime: string;
    readonly startedMs: number;
    readonly licences: readonly LicenceRow[];
  };
}

/** What a change would do. Nothing is saved. */
export interface SettingCheck {
  readonly faults: readonly ConfigFault[];
  /** Those that the change adds. */
  readonly warnings: readonly ConfigWarning[];
  readonly diff: readonly SettingDiff[];
}

/** `auditId`: null if nothing changed. */
export interface SettingsSaved extends SettingsAnswer {
  readonly auditId: string | null;
}

/** The result of a test. `code` names it for translations. */
export interface SettingTest {
  readonly ok: boolean;
  readonly code: TrialCode;
  /** What the service said, in its language, or "". */
  readonly detail: string;
  readonly message: string;
  readonly tookMs: number;
}
