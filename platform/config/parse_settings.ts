// Reads raw values by the rows of the table of settings: each row yields a value that its kind allows, or its preset
// and a fault.

import type { ConfigFault, ConfigSources } from "./config.ts";
import { isTable } from "./parse_toml.ts";
import { resolveReferences } from "./secret_refs.ts";
import type { Row, Rows, ValuesOf } from "./setting_row.ts";

/** Where values are read from and faults go. */
export interface Reading {
  readonly sources: ConfigSources;
  readonly faults: ConfigFault[];
}

/** Says what a value is without showing more than a line of it. */
export function shown(raw: unknown): string {
  if (typeof raw === "string") return JSON.stringify(raw.length > 60 ? `${raw.slice(0, 60)}…` : raw);
  if (typeof raw === "number" || typeof raw === "boolean" || typeof raw === "bigint") return String(raw);
  if (Array.isArray(raw)) {
    return raw.length === 0 ? "an empty list" : `[${raw.slice(0, 8).map(shownEntry).join(", ")}]`;
  }
  return isTable(raw) ? "a table" : "a date";
}

const shownEntry = (raw: unknown): string => typeof raw === "object" ? "…" : shown(raw);

const isUnset = (raw: unknown): boolean => raw === "" || (Array.isArray(raw) && raw.length === 0);

/** The preset of a row, parsed. A preset that its own kind refuses is a mistake in the table. */
export function presetOf<T>(row: Row<T>): T {
  const parsed = row.kind.parse(row.preset);
  if (!parsed.ok) throw new Error(`Cannot use the preset ${shown(row.preset)}: it must be ${parsed.should}`);
  return parsed.value;
}

/** Why `raw` cannot be taken, or the value. */
function judge<T>(
  row: Row<T>,
  raw: unknown,
  borrowed: boolean,
): { value: T } | { problem: (key: string) => string } {
  const notYet = (why: string) => ({ problem: (key: string) => `\`${key}\` cannot be set yet: ${why}` });
  if (row.required && isUnset(raw)) return { problem: () => `it is empty; it must be ${row.kind.means}` };
  if (row.later !== undefined && raw !== row.preset) return notYet(row.later);
  const parsed = row.kind.parse(raw);
  if (parsed.ok) return { value: parsed.value };
  const hidden = borrowed || row.kind.secret;
  return {
    problem: () => `${hidden ? "its value" : shown(raw)} is not allowed; it must be ${parsed.should}`,
  };
}

/**
 * Reads every row; keys of `found` that are no row are left alone.
 *
 * @param at `foundPrefix` stands before a row's key in `found`, `keyPrefix` in faults.
 */
export function readRows<R extends Rows>(
  rows: R,
  reading: Reading,
  at: { found: ReadonlyMap<string, unknown>; foundPrefix?: string; keyPrefix?: string },
): ValuesOf<R> {
  const { found, foundPrefix = "", keyPrefix = "" } = at;
  const values: Record<string, unknown> = {};
  const refuse = (key: string, problem: string) => reading.faults.push({ key, problem });
  for (const [name, row] of Object.entries(rows)) {
    const key = keyPrefix + name;
    values[name] = presetOf(row);
    const raw = found.get(foundPrefix + name);
    if (raw === undefined) {
      if (row.required) refuse(key, `it is missing; it must be ${row.kind.means}`);
      continue;
    }
    const resolved = resolveReferences(raw, reading.sources);
    if (!resolved.ok) {
      refuse(key, resolved.problem);
      continue;
    }
    const judged = judge(row, resolved.raw, resolved.borrowed);
    if ("value" in judged) values[name] = judged.value;
    else refuse(key, judged.problem(key));
  }
  return values as ValuesOf<R>;
}
