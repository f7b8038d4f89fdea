// What the settings' API says.

import type { ShownSetting } from "../../../platform/config/config.ts";

export type { ShownSetting };

/** What is known of this installation, from where it was put together. */
export interface Installation {
  readonly version: string;
  /** Deno's. */
  readonly runtime: string;
  readonly startedMs: number;
  /** The settings file, absolute; `null` when there is none. */
  readonly file: string | null;
  readonly settings: readonly ShownSetting[];
}

/** Something that is kept for a bounded time, or up to a bounded number. */
export interface KeptRow {
  readonly name: KeptName;
  readonly amount: number;
  readonly unit: "days" | "hours" | "count" | "octets";
  readonly where: "store" | "memory";
}

export type KeptName =
  | "history"
  | "audit"
  | "vpn_sessions"
  | "charts_hour"
  | "charts_minute"
  | "invitations"
  | "set_up_links"
  | "logins_with_packets"
  | "packets_each"
  | "stray_packets"
  | "packet_octets"
  | "live_changes";

/** What holds for everybody who signs in here and stands in no file. */
export interface SignInRules {
  readonly minPasswordCharacters: number;
  readonly failuresPerMinute: number;
  readonly wrongCodes: number;
  readonly codeLockMs: number;
  readonly stepUpMs: number;
  /** Where people reach this console, by the settings. */
  readonly publicUrl: string;
  readonly passkeys: "possible" | "address_is_number" | "not_secure";
  readonly provider: ProviderStanding | null;
}

export interface ProviderStanding {
  readonly name: string;
  readonly issuer: string;
  /** The newest call of it; `null`: none since the start. */
  readonly asked: { readonly atMs: number; readonly ok: boolean } | null;
}

export interface LicenceRow {
  readonly name: string;
  readonly licence: string;
}

export interface SettingsAnswer {
  readonly nowMs: number;
  readonly file: string | null;
  readonly settings: readonly ShownSetting[];
  readonly signIn: SignInRules;
  readonly kept: readonly KeptRow[];
  readonly about: {
    readonly version: string;
    readonly runtime: string;
    readonly startedMs: number;
    readonly licences: readonly LicenceRow[];
  };
}
