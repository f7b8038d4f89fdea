// Reads the settings file: TOML 1.0 into raw values by key, and raw values by the rows of the tables of settings. An unknown or misplaced
// key is a fault, so that no part of the file is ignored silently.
// `env:NAME` and `file:PATH` refer to values outside the settings file.

import type { ConfigFault, ConfigSources } from "./config.ts";
import { meaningText, type Problem, problemOf } from "../setting_problems.ts";
import { defaultOf, meansOf, readSetting } from "./setting_values.ts";
import { mapTable, type SettingRow, type SettingTable, type TableValues } from "./setting_rows.ts";
import { resolve } from "node:path";
import { parse, TomlDate, TomlError } from "smol-toml";
import { levenshteinDistance } from "@std/text/levenshtein-distance";

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

export type TomlTable = Readonly<Record<string, unknown>>;

/** The allowed keys of a table, as dotted paths. */
export interface TableShape {
  readonly keys: ReadonlySet<string>;
  /** Tables that may be repeated. */
  readonly lists: ReadonlySet<string>;
  /** Tables with arbitrary keys. */
  readonly maps: ReadonlySet<string>;
}

/** The content of a table, by dotted path. */
export interface SortedTable {
  readonly values: ReadonlyMap<string, unknown>;
  readonly lists: ReadonlyMap<string, readonly TomlTable[]>;
  readonly maps: ReadonlyMap<string, TomlTable>;
}

const MAX_FILE_CHARACTERS = 1024 * 1024;

/** Parses TOML. A fault has line and column but no quotation, because the line may contain a secret. */
export function parseToml(text: string): { ok: true; table: TomlTable } | { ok: false; problem: string } {
  if (text.length > MAX_FILE_CHARACTERS) {
    return { ok: false, problem: "the file has more than 1 MiB; it must be smaller" };
  }
  try {
    return { ok: true, table: parse(text) };
  } catch (failure) {
    if (!(failure instanceof TomlError)) throw failure;
    const [reason = ""] = failure.message.replace(/^Invalid TOML document: /, "").split("\n");
    return { ok: false, problem: `line ${failure.line}, column ${failure.column} is not TOML: ${reason}` };
  }
}

export function isTable(raw: unknown): raw is TomlTable {
  return typeof raw === "object" && raw !== null && !Array.isArray(raw) && !(raw instanceof TomlDate);
}

/** A dotted path as TOML writes it. */
export function joinKey(path: string, key: string): string {
  const part = /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);
  return path === "" ? part : `${path}.${part}`;
}

export const targetPath = (name: string): string => joinKey("targets", name);

/**
 * Sorts the content of `table` by `shape`. `prefix` precedes the keys of faults.
 *
 * @param faults receives a fault for each key that is unknown or misplaced.
 */
export function sortTable(
  table: TomlTable,
  { shape, prefix = "", faults }: { shape: TableShape; prefix?: string; faults: ConfigFault[] },
): SortedTable {
  const values = new Map<string, unknown>();
  const lists = new Map<string, readonly TomlTable[]>();
  const maps = new Map<string, TomlTable>();
  const known = [...shape.keys, ...shape.lists, ...shape.maps];
  const refuse = (key: string, problem: Problem) => faults.push({ key: prefix + key, ...problem });

  const unknown = (key: string): void => {
    const near = suggestKey(key, known);
    refuse(
      key,
      near === null ? problemOf("no_such_setting") : problemOf("did_you_mean", { key: prefix + near }),
    );
  };
  const list = (key: string, raw: unknown): void => {
    if (Array.isArray(raw) && raw.every(isTable)) lists.set(key, raw);
    else refuse(key, problemOf("must_be_list_table", { table: prefix + key }));
  };
  const other = (key: string, raw: unknown): void => {
    if (!known.some((name) => name.startsWith(`${key}.`))) return unknown(key);
    if (isTable(raw)) walk(raw, key);
    else refuse(key, problemOf("must_be_table", { table: prefix + key }));
  };
  const walk = (part: TomlTable, path: string): void => {
    for (const [name, raw] of Object.entries(part)) {
      const key = joinKey(path, name);
      if (shape.keys.has(key)) values.set(key, raw);
      else if (shape.lists.has(key)) list(key, raw);
      else if (shape.maps.has(key)) {
        isTable(raw) ? maps.set(key, raw) : refuse(key, problemOf("must_be_table", { table: prefix + key }));
      } else other(key, raw);
    }
  };
  walk(table, "");
  return { values, lists, maps };
}

const MAX_KEY_CHARACTERS = 80;

const lastPart = (key: string) => key.slice(key.lastIndexOf(".") + 1);

/** The known key that a mistyped key probably means: a few characters differ, or another table has a key with the same last part. */
export function suggestKey(key: string, known: Iterable<string>): string | null {
  if (key.length > MAX_KEY_CHARACTERS) return null;
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.min(3, Math.floor(lastPart(key).length / 3))) + 1;
  let elsewhere: string | null = null;
  for (const candidate of known) {
    const apart: number = levenshteinDistance(key, candidate);
    if (apart < bestDistance) [best, bestDistance] = [candidate, apart];
    if (elsewhere === null && lastPart(candidate) === lastPart(key)) elsewhere = candidate;
  }
  return best ?? elsewhere;
}
