// Parses the settings file (TOML 1.0) into raw values by key. An unknown or misplaced key is a fault, so that no part of the
// file is ignored silently.

import { parse, TomlDate, TomlError } from "smol-toml";
import type { ConfigFault } from "./config.ts";
import { type Problem, problemOf } from "../setting_problems.ts";
import { levenshteinDistance } from "@std/text/levenshtein-distance";

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
