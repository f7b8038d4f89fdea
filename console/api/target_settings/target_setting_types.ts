// Types of the API of directory settings.

import type { SettingControl } from "../../../platform/config/setting_values.ts";
import type { ConfigFault } from "../../../platform/config/config.ts";
import type { TargetDiff, TargetView } from "../../../platform/config/target_changes.ts";
import type { SettingChange } from "../../../platform/config/list_settings.ts";

export type { ConfigFault, TargetDiff, TargetView };

/** A table of a directory, as in the settings file. */
export type TargetTable = { readonly [key: string]: TableValue };
export type TableValue = string | number | boolean | readonly string[] | TargetTable;

/** One row of a form: a key of a directory, or of a connector. */
export interface TargetFormRow {
  /** `page_size` */
  readonly key: string;
  readonly doc: string;
  readonly control: SettingControl;
  readonly isSecret: boolean;
  readonly isRequired: boolean;
  readonly preset: string | number | boolean | readonly string[];
}

/** What a removal concerns. */
export interface TargetImpact {
  readonly users: number;
  readonly groups: number;
  /** Writes that its connectors did not get yet, at most 1000. */
  readonly pendingWrites: number;
  /** Provisioning tokens that may use it. */
  readonly credentials: readonly string[];
  /** Connections of identity providers that provision it. */
  readonly connections: readonly string[];
  /** RADIUS clients whose first factor is one of its connectors. */
  readonly clients: readonly string[];
  /** Users sign in from it. */
  readonly isLogin: boolean;
}

/** With secrets as `true` (set) or `false`. */
export interface TargetSettingView extends Omit<TargetView, "table"> {
  readonly table: TargetTable;
  readonly impact: TargetImpact;
}

export interface RemovedTargetView {
  readonly name: string;
  readonly removed: SettingChange;
  readonly dataUntilMs: number;
}

export interface TargetSettingsAnswer {
  readonly nowMs: number;
  readonly version: string;
  /** The settings file; `null` without one. */
  readonly file: string | null;
  readonly items: readonly TargetSettingView[];
  readonly removed: readonly RemovedTargetView[];
  readonly forms: {
    readonly target: readonly TargetFormRow[];
    readonly backends: Readonly<Record<"store" | "ldap" | "scim", readonly TargetFormRow[]>>;
  };
  readonly presets: readonly TargetPreset[];
}

/** A connector to begin with. `attributes`: front-end attribute → LDAP attribute. */
export interface TargetPreset {
  readonly id: "openldap" | "active_directory";
  readonly table: TargetTable;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface OneTargetSetting {
  readonly nowMs: number;
  readonly version: string;
  readonly item: TargetSettingView;
}

export interface TargetCheck {
  readonly faults: readonly ConfigFault[];
  readonly warnings: readonly ConfigFault[];
  readonly diff: readonly TargetDiff[];
}

/** `auditId`: null if nothing changed. `item`: null after a removal. */
export interface TargetSaved {
  readonly nowMs: number;
  readonly version: string;
  readonly item: TargetSettingView | null;
  readonly auditId: string | null;
}

/** `code`: `answered`, or the kind of the fault. */
export interface TargetTest {
  readonly ok: boolean;
  readonly code: "embedded" | "answered" | "unreachable" | "refused" | "busy" | "nonsense" | "unsupported";
  readonly message: string;
  readonly tookMs: number;
  readonly users: readonly {
    readonly user: string;
    readonly rows: readonly { readonly name: string; readonly values: readonly string[] }[];
  }[];
}
