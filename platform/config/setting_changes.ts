// Changes of settings in the console: what may be changed, and how a change is shown before and after it is saved.

import type { AuditEntry, AuditValues } from "../audit.ts";
import type { Mutation } from "../store.ts";
import type { ConfigFault } from "./config.ts";
import { ALL_SETTINGS, type SettingValue, type SettingView } from "./list_settings.ts";
import { isTable, type TomlTable } from "./parse_toml.ts";
import { isBackendSecret } from "./setting_records.ts";
import { isCertificatePem } from "./directory_value_types.ts";

/** Values by key; `null` restores the default. */
export type SettingChanges = Readonly<Record<string, SettingValue | null>>;

/** One setting before and after a change. Values of secrets are not shown. */
export interface SettingDiff {
  readonly key: string;
  readonly isSecret: boolean;
  readonly before: SettingValue | null;
  readonly after: SettingValue | null;
}

/** What a save writes. `targets`: tables with their secrets; `null` removes. */
export interface SettingsSave {
  readonly changes: SettingChanges;
  readonly targets?: Readonly<Record<string, TomlTable | null>>;
  readonly audit: Omit<AuditEntry, "actor" | "source">;
  /** When the data of removed targets is deleted (milliseconds since the epoch). */
  readonly dataUntilMs?: number;
  /** Restores what was there before, so stored secrets stay. */
  readonly isUndo?: boolean;
  /** Further writes of the same commit. */
  readonly also?: readonly Mutation[];
}

const REFERENCE = /^(env|file):/;

/** A console administrator must not read files or the environment of the server. */
const NO_REFERENCE =
  "a value of the console cannot refer to the environment or to a file; enter the value itself, or set it in the settings file";

function hasReference(value: unknown): boolean {
  if (typeof value === "string") return REFERENCE.test(value);
  if (Array.isArray(value)) return value.some(hasReference);
  return isTable(value) && Object.values(value).some(hasReference);
}

/** Why keys cannot be changed, or have values that only the file can have. `null`: the default. */
export function changeFaults(
  changes: SettingChanges,
  settings: readonly SettingView[],
  { isUndo = false } = {},
): ConfigFault[] {
  const views = new Map(settings.map((view) => [view.key, view]));
  const ofKeys = Object.entries(changes).flatMap(([key, value]) => {
    const problem = changeProblem(views.get(key), value);
    return problem === null ? [] : [{ key, problem }];
  });
  return isUndo ? ofKeys : [...ofKeys, ...repeatedSecretFaults(changes, settings)];
}

/** The secrets that are sent to an address. */
const SECRETS_OF: Readonly<Record<string, readonly string[]>> = {
  "second_factor.url": ["second_factor.consumer_secret"],
  "telephony.url": ["telephony.auth_token"],
  "console.oidc.issuer": ["console.oidc.client_secret"],
  "radius.first_factor_server.address": ["radius.first_factor_server.secret"],
};

/** A stored secret is never sent to a new address: otherwise, an administrator could read it by naming an address of theirs. */
function repeatedSecretFaults(changes: SettingChanges, settings: readonly SettingView[]): ConfigFault[] {
  const views = new Map(settings.map((view) => [view.key, view]));
  return Object.entries(SECRETS_OF).flatMap(([address, secrets]) => {
    const next = changes[address] ?? "";
    if (next === "" || next === views.get(address)?.value) return [];
    return secrets.flatMap((key): ConfigFault[] => {
      const view = views.get(key);
      if (view === undefined || !view.isSet || typeof changes[key] === "string") return [];
      return view.source === "file"
        ? [{ key: address, problem: `the settings file sets ${key}, so it must set the address too` }]
        : [{ key, problem: `enter it again, because ${address} changes` }];
    });
  });
}

function changeProblem(view: SettingView | undefined, value: SettingValue | null): string | null {
  if (view === undefined) return "there is no such setting";
  if (view.locked === "file") return "the settings file sets it; change it there and restart";
  if (view.locked === "restart") return "it can only be changed in the settings file, with a restart";
  return hasReference(value) ? NO_REFERENCE : null;
}

/** Faults of the table of a target that only the console has. */
export function targetReferenceFaults(path: string, table: TomlTable): ConfigFault[] {
  return Object.entries(table).flatMap(([key, value]) => {
    const at = `${path}.${key}`;
    if (key === "ca_cert" && typeof value === "string" && value !== "" && !isCertificatePem(value)) {
      return [{ key: at, problem: "it must be the content of a PEM file: the console cannot read files" }];
    }
    if (isTable(value)) return targetReferenceFaults(at, value);
    return hasReference(value) ? [{ key: at, problem: NO_REFERENCE }] : [];
  });
}

/** The settings that differ. */
export function settingDiff(
  before: readonly SettingView[],
  after: readonly SettingView[],
  changes: SettingChanges,
): SettingDiff[] {
  const then = new Map(after.map((view) => [view.key, view]));
  return before.flatMap(({ key, isSecret, value }) => {
    if (!(key in changes)) return [];
    return [{ key, isSecret, before: value, after: then.get(key)?.value ?? null }];
  });
}

/** The values of a change for the audit log. Of a secret, only that it changed. */
export function auditValues(
  diff: readonly SettingDiff[],
  { changes }: { changes: SettingChanges },
): { before: AuditValues; after: AuditValues } {
  const before: Record<string, unknown> = {};
  const after: Record<string, unknown> = {};
  for (const { key, isSecret, ...values } of diff) {
    before[key] = isSecret ? "***" : auditText(values.before);
    after[key] = isSecret ? (changes[key] === null ? "removed" : "changed") : auditText(values.after);
  }
  return { before, after };
}

/** Lists and tables as text, because the audit log shows texts. */
function auditText(value: SettingValue | null): unknown {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

/** The rows of a table of a target, by path. Of secrets, it has whether they are set. */
export function flattenTarget(table: TomlTable | null, path = ""): Record<string, SettingValue> {
  const rows: Record<string, SettingValue> = {};
  for (const [key, value] of Object.entries(table ?? {})) {
    const at = path === "" ? key : `${path}.${key}`;
    if (isTable(value)) Object.assign(rows, flattenTarget(value, at));
    else rows[at] = isBackendSecret(key) ? (value === true ? "***" : "") : value as SettingValue;
  }
  return rows;
}

/** Whether a key is a setting that the console can change. */
export const isEditableSetting = (key: string): boolean => ALL_SETTINGS.get(key)?.editable !== false;

/** Deeply, for values of TOML. */
export function isSameValue(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
