// Reads raw values by the rows of the tables of settings.
// `env:NAME` and `file:PATH` refer to values outside the settings file.

import type { ConfigFault, ConfigSources } from "./config.ts";
import { meaningText, type Problem, problemOf } from "../setting_problems.ts";
import { isTable } from "./parse_toml.ts";
import {
  defaultOf,
  mapTable,
  meansOf,
  readSetting,
  type SettingRow,
  type SettingTable,
  type TableValues,
} from "./setting_values.ts";
import { resolve } from "node:path";

/** The sources of values, and the list that receives faults. */
export interface ParseContext {
  readonly sources: ConfigSources;
  readonly faults: ConfigFault[];
}

/** A value on one short line. */
export function quoteValue(raw: unknown): string {
  if (typeof raw === "string") return JSON.stringify(raw.length > 60 ? `${raw.slice(0, 60)}…` : raw);
  if (typeof raw === "number" || typeof raw === "boolean" || typeof raw === "bigint") return String(raw);
  if (Array.isArray(raw)) {
    return raw.length === 0 ? "an empty list" : `[${raw.slice(0, 8).map(quoteEntry).join(", ")}]`;
  }
  return isTable(raw) ? "a table" : "a date";
}

const quoteEntry = (raw: unknown): string => typeof raw === "object" ? "…" : quoteValue(raw);

const isUnset = (raw: unknown): boolean => raw === "" || (Array.isArray(raw) && raw.length === 0);

/** The default of a setting, as a value of the program. */
export function presetOf(row: SettingRow): unknown {
  const value = readSetting(row, defaultOf(row));
  if (value === undefined) {
    throw new Error(
      `Cannot use the default ${quoteValue(defaultOf(row))}: it must be ${meaningText(meansOf(row))}`,
    );
  }
  return value;
}

/** The value, or why `raw` is not allowed. */
function judge(
  row: SettingRow,
  { raw, isReference }: { raw: unknown; isReference: boolean },
): { value: unknown } | Problem {
  const means = meansOf(row);
  if (row.mustBeGiven && isUnset(raw)) return problemOf("empty", { means });
  const value = readSetting(row, raw);
  if (value !== undefined) return { value };
  return isReference || row.type === "secret"
    ? problemOf("value_not_allowed", { means })
    : problemOf("not_allowed", { value: quoteValue(raw), means });
}

/**
 * Reads every row of a table; other keys of `found` are ignored. A value that is not allowed is a fault, and the default takes its place.
 *
 * @param at `foundPrefix` precedes a row's key in `found`, `keyPrefix` in faults.
 */
export function parseTable<T extends SettingTable>(
  table: T,
  { faults, sources }: ParseContext,
  at: { found: ReadonlyMap<string, unknown>; foundPrefix?: string; keyPrefix?: string },
): TableValues<T> {
  const { found, foundPrefix = "", keyPrefix = "" } = at;
  return mapTable(table, (row, key) => {
    const refuse = (problem: Problem) => {
      faults.push({ key: keyPrefix + key, ...problem });
      return presetOf(row);
    };
    const raw = found.get(foundPrefix + key);
    if (raw === undefined) {
      return row.mustBeGiven ? refuse(problemOf("missing", { means: meansOf(row) })) : presetOf(row);
    }
    const resolved = resolveReferences(raw, sources);
    if (!resolved.ok) return refuse({ problem: resolved.problem });
    const judged = judge(row, resolved);
    return "value" in judged ? judged.value : refuse(judged);
  });
}

export type ResolvedValue =
  /** `isReference`: the text comes from elsewhere and must not be shown. */
  | { ok: true; raw: unknown; isReference: boolean }
  | { ok: false; problem: string };

const MAX_REFERENCED_CHARACTERS = 64 * 1024;

/** Why a file cannot be read, in words. */
export function readFailure(failure: unknown): string {
  if (failure instanceof Deno.errors.NotFound) return "does not exist";
  if (failure instanceof Deno.errors.PermissionDenied || failure instanceof Deno.errors.NotCapable) {
    return "may not be read by this process";
  }
  if (failure instanceof Deno.errors.IsADirectory) return "is a directory";
  return "cannot be read";
}

function fromEnvironment(name: string, { env }: ConfigSources): ResolvedValue {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return { ok: false, problem: '"env:" must be followed by the name of an environment variable' };
  }
  let value: string | undefined;
  try {
    value = env(name);
  } catch {
    return { ok: false, problem: `the environment variable ${name} may not be read by this process` };
  }
  if (value === undefined) {
    return { ok: false, problem: `the environment variable ${name} is not set; it must hold the value` };
  }
  return { ok: true, raw: value, isReference: true };
}

function fromFile(path: string, { readTextFile, cwd }: ConfigSources): ResolvedValue {
  if (path === "") return { ok: false, problem: '"file:" must be followed by a path' };
  let content: string;
  try {
    content = readTextFile(resolve(cwd, path));
  } catch (failure) {
    return {
      ok: false,
      problem: `the file ${JSON.stringify(path)} ${readFailure(failure)}; it must hold the value`,
    };
  }
  return { ok: true, raw: content.replace(/\r?\n$/, ""), isReference: true };
}

function resolveText(text: string, sources: ConfigSources): ResolvedValue {
  const found = text.startsWith("env:")
    ? fromEnvironment(text.slice(4), sources)
    : text.startsWith("file:")
    ? fromFile(text.slice(5), sources)
    : { ok: true, raw: text, isReference: false } as const;
  if (found.ok && typeof found.raw === "string" && found.raw.length > MAX_REFERENCED_CHARACTERS) {
    return { ok: false, problem: `the value has more than ${MAX_REFERENCED_CHARACTERS} characters` };
  }
  return found;
}

/** Resolves a text, or each text of a list; other values stay as they are. */
export function resolveReferences(raw: unknown, sources: ConfigSources): ResolvedValue {
  if (typeof raw === "string") return resolveText(raw, sources);
  if (!Array.isArray(raw)) return { ok: true, raw, isReference: false };
  const entries: unknown[] = [];
  let isReference = false;
  for (const entry of raw) {
    const found: ResolvedValue = typeof entry === "string"
      ? resolveText(entry, sources)
      : { ok: true, raw: entry, isReference: false };
    if (!found.ok) return found;
    entries.push(found.raw);
    isReference ||= found.isReference;
  }
  return { ok: true, raw: entries, isReference };
}
