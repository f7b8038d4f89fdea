// The settings for eyes: each row with what the file gives for it, its default and what it means. Of a secret nothing is shown but whether
// it is set.

import type { ShownSetting } from "./config.ts";
import type { Found } from "./parse_toml.ts";
import { GENERAL_ROWS } from "./settings.ts";
import { POLICY_ROWS } from "./client_rows.ts";
import type { Row, Rows } from "./setting_row.ts";

/**
 * Every setting that stands once, in the order of the table; those of one part of the file together.
 *
 * @param derived what holds for keys that the file does not have and whose preset follows another key.
 */
export function shownSettings(
  { values }: Pick<Found, "values">,
  derived: Readonly<Record<string, string>> = {},
): ShownSetting[] {
  const shown = (rows: Rows, prefix = "") =>
    Object.entries(rows).map(([name, row]) => {
      const key = prefix + name;
      return shownSetting(key, { ...row, preset: derived[key] ?? row.preset }, values.get(key));
    });
  const all = [...shown(GENERAL_ROWS), ...shown(POLICY_ROWS, "radius.")];
  const tables = [...new Set(all.map(tableOf))];
  return all.toSorted((a, b) => tables.indexOf(tableOf(a)) - tables.indexOf(tableOf(b)));
}

function tableOf({ key }: ShownSetting): string {
  return key.slice(0, key.indexOf("."));
}

/** @param raw as the file has it, references to the environment and to files included; `undefined`: it has none. */
function shownSetting(key: string, { kind, preset, doc }: Row<unknown>, raw: unknown): ShownSetting {
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

const MOST_CHARACTERS = 1000;

/** As the file would have it. */
function tomlText(raw: unknown): string {
  const text = Array.isArray(raw)
    ? `[${raw.map((one) => JSON.stringify(one)).join(", ")}]`
    : JSON.stringify(raw);
  return text.slice(0, MOST_CHARACTERS);
}
