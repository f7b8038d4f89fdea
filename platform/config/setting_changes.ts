// Changes of settings in the console: what may be changed, and how a change is shown before and after it is saved.

import type { AuditEntry, AuditValues } from "../audit.ts";
import type { Mutation } from "../store.ts";
import type { ConfigFault } from "./config.ts";
import type { SettingValue, SettingView } from "./list_settings.ts";
import { type Problem, problemOf } from "../setting_problems.ts";
import { isTable, type TomlTable } from "./parse_toml.ts";
import { isBackendSecret } from "./setting_records.ts";
import { isCertificatePem, isExtensionsJson } from "./setting_values.ts";

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
    return problem === null ? [] : [{ key, ...problem }];
  });
  return isUndo ? ofKeys : [...ofKeys, ...repeatedSecretFaults(changes, settings)];
}

/** The secrets that are sent to an address. */
const SECRETS_OF: Readonly<Record<string, readonly string[]>> = {
  "second_factor.url": ["second_factor.consumer_key", "second_factor.consumer_secret"],
  "telephony.url": ["telephony.auth_token"],
  "mail.host": ["mail.password"],
  "console.oidc.issuer": ["console.oidc.client_secret"],
  "radius.first_factor_server.address": ["radius.first_factor_server.secret"],
};

/** The keys that must not be undone alone: an earlier secret belongs to the address of its time. */
export function partnersOf(key: string): readonly string[] {
  const pair = Object.entries(SECRETS_OF).find(([address, secrets]) =>
    address === key || secrets.includes(key)
  );
  return pair === undefined ? [] : [pair[0], ...pair[1]];
}

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
        ? [{ key: address, ...problemOf("file_sets_secret", { key }) }]
        : [{ key, ...problemOf("repeat_for_key", { key: address }) }];
    });
  });
}

function changeProblem(view: SettingView | undefined, value: SettingValue | null): Problem | null {
  if (view === undefined) return problemOf("no_such_setting");
  if (view.locked === "file") return problemOf("in_file");
  if (view.locked === "restart") return problemOf("needs_restart");
  const isPath = view.key === "mail.ca" && typeof value === "string" && value !== "" &&
    !isCertificatePem(value);
  if (isPath) return problemOf("certificate_content");
  return hasReference(value) ? problemOf("reference") : null;
}

/** Faults of the table of a target that only the console has. */
export function targetReferenceFaults(path: string, table: TomlTable): ConfigFault[] {
  return Object.entries(table).flatMap(([key, value]) => {
    const at = `${path}.${key}`;
    if (key === "ca_cert" && typeof value === "string" && value !== "" && !isCertificatePem(value)) {
      return [{ key: at, ...problemOf("certificate_content") }];
    }
    if (key === "extensions" && typeof value === "string" && value !== "" && !isExtensionsJson(value)) {
      return [{ key: at, ...problemOf("extensions_content") }];
    }
    if (isTable(value)) return targetReferenceFaults(at, value);
    return hasReference(value) ? [{ key: at, ...problemOf("reference") }] : [];
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

const MAX_AUDIT_CHARACTERS = 4000;

/** The values of a change of a target for the audit log. A record has no room for long ones, such as certificates. */
export function targetAuditValues(
  diff: readonly Omit<SettingDiff, "isSecret">[],
): { before: AuditValues; after: AuditValues } {
  const text = (value: SettingValue | null): unknown => {
    const whole = auditText(value);
    return typeof whole === "string" && whole.length > MAX_AUDIT_CHARACTERS
      ? `${whole.slice(0, MAX_AUDIT_CHARACTERS).toWellFormed()}… (${whole.length} characters)`
      : whole;
  };
  return {
    before: Object.fromEntries(diff.map(({ key, before }) => [key, text(before)])),
    after: Object.fromEntries(diff.map(({ key, after }) => [key, text(after)])),
  };
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

/** Deeply, for values of TOML. */
export function isSameValue(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
