// Two administrators changed one directory: what the other one changed, and both changes in one table. Pure functions.

import { findMessage, t } from "../../i18n/translate.ts";
import type { DiffRow } from "../../components/diff_table.tsx";
import { DIRECTORY_ROWS, type DirectoryTable } from "./directory_form.ts";

type Table = Readonly<Record<string, unknown>>;

const isTable = (value: unknown): value is Table =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

export interface ThreeTables {
  /** What both changes began with. */
  readonly base: DirectoryTable;
  readonly mine: DirectoryTable;
  readonly theirs: DirectoryTable;
}

/** Their table with my changes. Where both changed a value, mine wins. */
export function mergeDirectories({ base, mine, theirs }: ThreeTables): DirectoryTable {
  return mergeTables(base as Table, mine as Table, theirs as Table) as DirectoryTable;
}

function mergeTables(base: Table, mine: Table, theirs: Table): Table {
  const merged: Record<string, unknown> = {};
  for (const key of orderOf(base, mine, theirs)) {
    const value = mergeValues(base[key], mine[key], theirs[key]);
    if (value !== undefined) merged[key] = value;
  }
  return merged;
}

function mergeValues(base: unknown, mine: unknown, theirs: unknown): unknown {
  if (isSame(base, mine)) return theirs;
  if (!isTable(mine) || !isTable(theirs)) return mine;
  return mergeTables(isTable(base) ? base : {}, mine, theirs);
}

/** The order of connectors counts: mine if I changed it. */
function orderOf(base: Table, mine: Table, theirs: Table): string[] {
  const common = (table: Table) => Object.keys(table).filter((key) => key in base && key in mine);
  const [first, second] = isSame(common(base), common(mine)) ? [theirs, mine] : [mine, theirs];
  return [...new Set([...Object.keys(first), ...Object.keys(second)])];
}

const PRESETS: Readonly<Record<string, string>> = Object.fromEntries(
  DIRECTORY_ROWS.map(({ name, preset }) => [name, String(preset)]),
);

/** What the other administrator changed. A value that I changed too has a note. */
export function theirChanges({ base, mine, theirs }: ThreeTables): readonly DiffRow[] {
  const [before, own, after] = [base, mine, theirs].map((table) => ({
    ...PRESETS,
    ...flatten(table as Table),
  }));
  const paths = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...paths].flatMap((path): DiffRow[] => {
    const [was = null, is = null, my = null] = [before?.[path], after?.[path], own?.[path]];
    if (was === is) return [];
    const isBoth = my !== was && my !== is;
    return [{
      name: rowLabel(path),
      now: was,
      after: is,
      ...(isBoth ? { note: t("targets.conflict_yours", { value: my ?? t("common.none") }) } : {}),
    }];
  });
}

function flatten(table: Table, start = ""): Record<string, string> {
  const rows: Record<string, string> = {};
  for (const [key, value] of Object.entries(table)) {
    const path = start === "" ? key : `${start}\n${key}`;
    if (isTable(value)) Object.assign(rows, flatten(value, path));
    else rows[path] = Array.isArray(value) ? value.join(", ") : String(value);
  }
  const order = Object.keys(table).join(", ");
  if (start === "backends") rows.backends = order;
  return rows;
}

/** "ldap: Address", "Page size", "title" of a mapping. */
function rowLabel(path: string): string {
  const [area = "", ...rest] = path.split("\n");
  const key = rest.at(-1) ?? area;
  if (path === "backends") return t("common.connectors");
  const label = area === "mapping" ? key : findMessage(`targets.field_${key}`) ?? key;
  return area === "backends" ? `${rest[0] ?? ""}: ${label}` : label;
}
