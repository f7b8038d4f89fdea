// From the text of the settings file to raw values by key (TOML 1.0): what is unknown or misplaced is a fault here, so that nothing in the file is ever silently ignored.

import { parse, TomlDate, TomlError } from "smol-toml";
import type { ConfigFault } from "./config.ts";
import { nearKey } from "./suggest_key.ts";

export type Table = Readonly<Record<string, unknown>>;

/** Which keys a table may hold, as dotted paths. */
export interface Shape {
  readonly keys: ReadonlySet<string>;
  /** Tables that may be given any number of times. */
  readonly lists: ReadonlySet<string>;
  /** Tables whose keys are free. */
  readonly maps: ReadonlySet<string>;
}

/** What a table holds, by dotted path. */
export interface Found {
  readonly values: ReadonlyMap<string, unknown>;
  readonly lists: ReadonlyMap<string, readonly Table[]>;
  readonly maps: ReadonlyMap<string, Table>;
}

const MAX_FILE_CHARACTERS = 1024 * 1024;

/** Parses TOML. A fault names line and column and quotes nothing, because the line may hold a secret. */
export function parseToml(text: string): { ok: true; table: Table } | { ok: false; problem: string } {
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

export function isTable(raw: unknown): raw is Table {
  return typeof raw === "object" && raw !== null && !Array.isArray(raw) && !(raw instanceof TomlDate);
}

/** A dotted path as TOML writes it. */
export function joinKey(path: string, key: string): string {
  const part = /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);
  return path === "" ? part : `${path}.${part}`;
}

/**
 * Sorts what `table` holds by `shape`; `prefix` stands before the keys of faults.
 *
 * @param faults receives a fault for each key that is unknown or misplaced.
 */
export function sortTable(
  table: Table,
  { shape, prefix = "", faults }: { shape: Shape; prefix?: string; faults: ConfigFault[] },
): Found {
  const values = new Map<string, unknown>();
  const lists = new Map<string, readonly Table[]>();
  const maps = new Map<string, Table>();
  const known = [...shape.keys, ...shape.lists, ...shape.maps];
  const refuse = (key: string, problem: string) => faults.push({ key: prefix + key, problem });

  const unknown = (key: string): void => {
    const near = nearKey(key, known);
    refuse(key, `there is no such setting${near === null ? "" : `; did you mean ${prefix}${near}?`}`);
  };
  const list = (key: string, raw: unknown): void => {
    if (Array.isArray(raw) && raw.every(isTable)) lists.set(key, raw);
    else refuse(key, `it must be given as a table in double brackets: [[${prefix}${key}]]`);
  };
  const other = (key: string, raw: unknown): void => {
    if (!known.some((name) => name.startsWith(`${key}.`))) return unknown(key);
    if (isTable(raw)) walk(raw, key);
    else refuse(key, `it must be a table: [${prefix}${key}]`);
  };
  const walk = (part: Table, path: string): void => {
    for (const [name, raw] of Object.entries(part)) {
      const key = joinKey(path, name);
      if (shape.keys.has(key)) values.set(key, raw);
      else if (shape.lists.has(key)) list(key, raw);
      else if (shape.maps.has(key)) {
        isTable(raw) ? maps.set(key, raw) : refuse(key, `it must be a table: [${prefix}${key}]`);
      } else other(key, raw);
    }
  };
  walk(table, "");
  return { values, lists, maps };
}
