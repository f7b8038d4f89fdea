// Secrets in settings: they are never printed, and a file that other users can read gets a warning.

import { CLIENT_TABLE } from "./client_rows.ts";
import type { ConfigWarning } from "./config.ts";
import type { SettingTable } from "./setting_rows.ts";
import { ADMIN_SETTINGS, SETTINGS } from "./settings.ts";
import { CREDENTIAL_SETTINGS, LDAP_BACKEND_SETTINGS, SCIM_BACKEND_SETTINGS } from "./target_settings.ts";

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
