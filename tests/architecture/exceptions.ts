// The present violations of the architecture rules, listed in exceptions.json. The list may only become shorter.

import type { Finding, RuleName } from "./findings.ts";

/** Keys of findings by rule. */
export type Exceptions = Readonly<Record<RuleName, readonly string[]>>;

/** Old paths and the paths to which their files moved. */
export type Renames = ReadonlyMap<string, string>;

export interface Judgement {
  /** Breaches that no row lists. */
  readonly added: readonly Finding[];
  /** Rows whose breach no longer exists. */
  readonly stale: readonly string[];
}

export const EXCEPTIONS_PATH = "tests/architecture/exceptions.json";
const FILE = new URL("exceptions.json", import.meta.url);

/**
 * Ends each list, so that every row ends with a comma: git merges the file line by line (.gitattributes), and the
 * result is JSON. A merge may bring back rows that one side removed; then they are stale.
 */
const LAST_ROW = "";

/** Compares what one rule finds with the rows that list its exceptions. */
export function judge(rule: RuleName, found: readonly Finding[], rows: readonly string[]): Judgement {
  return {
    added: found.filter(({ key }) => !rows.some((row) => covers(rule, row, key))),
    stale: rows.filter((row) => !found.some(({ key }) => covers(rule, row, key))),
  };
}

/** The rows that still apply, with the new paths of files that moved. Adds no row. */
export function pruneRows(
  rule: RuleName,
  rows: readonly string[],
  { found, renames }: { found: readonly Finding[]; renames: Renames },
): string[] {
  const applies = (row: string) => found.some(({ key }) => covers(rule, row, key));
  const followed = rows.map((row) => applies(row) ? row : followRenames(row, renames));
  return [...new Set(followed)].sort().filter(applies);
}

export async function readExceptions(): Promise<Exceptions> {
  const lists: Exceptions = JSON.parse(await Deno.readTextFile(FILE));
  const rows = Object.entries(lists).map(([rule, list]) => [rule, list.filter((row) => row !== LAST_ROW)]);
  return Object.fromEntries(rows);
}

export async function writeExceptions(exceptions: Exceptions): Promise<void> {
  const rows = Object.entries(exceptions).map(([rule, list]) => [rule, [...list, LAST_ROW]]);
  await Deno.writeTextFile(FILE, `${JSON.stringify(Object.fromEntries(rows), null, 2)}\n`);
}

/** A row may end with its reason, in parentheses. A row for a cycle also covers what is left of that cycle. */
function covers(rule: RuleName, row: string, key: string): boolean {
  if (rule !== "cycles") return row === key || row.startsWith(`${key} (`);
  const members = new Set(row.split(" "));
  return key.split(" ").every((member) => members.has(member));
}

/** A row begins with a path, up to `#` or `:`. A row for a cycle is a list of paths. */
function followRenames(row: string, renames: Renames): string {
  return row.replaceAll(/(?<=^| )[^ #:]+(?=$|[ #:])/g, (path) => renames.get(path) ?? path);
}
