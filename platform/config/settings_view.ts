// The settings as the console and logs show them: each row with its value, default and description. Of a secret, they show only
// whether it is set.

import type { Config, ConfigWarning, SettingView } from "./config.ts";
import type { SortedTable } from "./parse_toml.ts";
import { GENERAL_ROWS } from "./settings.ts";
import { POLICY_ROWS } from "./client_rows.ts";
import type { SettingRow, SettingRows } from "./value_types.ts";
import { ownUrl } from "../addresses.ts";

/**
 * Every setting that is not in a repeated table, grouped by the table of the file.
 *
 * @param derived defaults that depend on another key.
 */
export function listSettings(
  { values }: Pick<SortedTable, "values">,
  derived: Readonly<Record<string, string>> = {},
): SettingView[] {
  const shown = (rows: SettingRows, prefix = "") =>
    Object.entries(rows).map(([name, row]) => {
      const key = prefix + name;
      return toSettingView(key, { ...row, preset: derived[key] ?? row.preset }, values.get(key));
    });
  const all = [...shown(GENERAL_ROWS), ...shown(POLICY_ROWS, "radius.")];
  const tables = [...new Set(all.map(tableOf))];
  return all.toSorted((a, b) => tables.indexOf(tableOf(a)) - tables.indexOf(tableOf(b)));
}

function tableOf({ key }: SettingView): string {
  return key.slice(0, key.indexOf("."));
}

/** @param raw the value in the file, with unresolved references; `undefined`: the file does not have the key. */
function toSettingView(key: string, { kind, preset, doc }: SettingRow<unknown>, raw: unknown): SettingView {
  const isGiven = raw !== undefined;
  const isSet = isGiven && raw !== "";
  if (kind.secret) return { key, doc, isSecret: true, isGiven, isSet, value: "", preset: "" };
  return {
    key,
    doc,
    isSecret: false,
    isGiven,
    isSet,
    value: tomlText(raw ?? preset),
    preset: tomlText(preset),
  };
}

const MAX_CHARACTERS = 1000;

/** The value in TOML. */
function tomlText(raw: unknown): string {
  const text = Array.isArray(raw)
    ? `[${raw.map((one) => JSON.stringify(one)).join(", ")}]`
    : JSON.stringify(raw);
  return text.slice(0, MAX_CHARACTERS);
}

/** The settings as the program uses them, and as the console shows them. */
export interface LoadedSettings {
  readonly config: Config;
  readonly settings: readonly SettingView[];
}

const KEY = "http.public_url";

/** The settings with the bound port: if `http.listen` has port 0, links use `port` unless `http.public_url` is set. */
export function withBoundPort(loaded: LoadedSettings, port: number): LoadedSettings {
  const { http } = loaded.config;
  if (http.listen.port !== 0) return loaded;
  const listen = { ...http.listen, port };
  const isGiven = loaded.settings.some(({ key, isGiven }) => key === KEY && isGiven);
  const own = isGiven ? null : ownUrl(listen, { tls: http.tls !== null });
  const config = freezeRedacted({
    ...loaded.config,
    http: { ...http, listen, publicUrl: own ?? http.publicUrl },
  });
  if (own === null) return { ...loaded, config };
  const shown = JSON.stringify(own);
  const settings = loaded.settings.map((row) =>
    row.key === KEY ? { ...row, value: shown, preset: shown } : row
  );
  return { config, settings };
}

const SECRET_NAMES = new Set([
  "secret",
  "consumerKey",
  "consumerSecret",
  "clientSecret",
  "authToken",
  "password",
  "keyPem",
  "bindPassword",
  "token",
]);
const INSPECTORS = [Symbol.for("Deno.customInspect"), Symbol.for("nodejs.util.inspect.custom")];

/** A copy in which secrets are `***`; empty ones stay empty. */
export function redact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) =>
      SECRET_NAMES.has(name) && inner !== "" ? [name, "***"] : [name, redact(inner)]
    ),
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
  if (!Array.isArray(value)) {
    Object.defineProperty(value, "toJSON", { value: toRedacted });
    for (const inspector of INSPECTORS) Object.defineProperty(value, inspector, { value: inspectRedacted });
  }
  return Object.freeze(value);
}

const SECRET_KEY = /(^|_)(secret|password|token)$/;
const OTHERS_READ = 0o044;

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
