// Rows of an import as they reach a target, and what became of each. Types, and reading them from a request.

import type { ScimRefusalCode } from "../http/refusals.ts";
import type { JsonObject, JsonValue, ResourceKind } from "../schema/resource.ts";
import { isArray, isObject } from "../schema/json_limits.ts";
import { readName } from "../schema/resource_name.ts";

/**
 * One row. `resource`: a user or a group as the body of a POST says it; with `joins` a group that is there already keeps its members besides.
 * `members`: names that a group gets; it is created when it is missing.
 */
export type BulkRow =
  | {
    readonly row: "resource";
    readonly kind: ResourceKind;
    readonly body: JsonObject;
    readonly joins: boolean;
    /** Names of groups that a user is put into, besides those that it is in. */
    readonly groups: readonly string[];
  }
  | { readonly row: "members"; readonly group: string; readonly add: readonly string[] };

/** What became of a row; in a dry run, what would. */
export type RowOutcome =
  | {
    readonly did: "created" | "updated" | "unchanged";
    /** Groups that the user was put into, as given, and those of them that were made for it. */
    readonly joined?: readonly string[];
    readonly made?: readonly string[];
    /** Backends that get it later; absent: all have it. */
    readonly owes?: readonly string[];
    /** Groups that the user is still to be put into: a backend would get the whole group for each row. */
    readonly joins?: readonly string[];
  }
  | { readonly did: "refused"; readonly code: ScimRefusalCode; readonly detail: string };

/** Rows of one request. */
export const MOST_ROWS = 1000;
const MOST_MEMBERS = 50_000;

/** Reads rows from a request; `null` when one is none, or when there are over {@link MOST_ROWS}. */
export function readRows(value: unknown): BulkRow[] | null {
  if (!Array.isArray(value) || value.length > MOST_ROWS) return null;
  const rows: BulkRow[] = [];
  for (const given of value as readonly JsonValue[]) {
    const row = isObject(given) ? readRow(given) : null;
    if (row === null) return null;
    rows.push(row);
  }
  return rows;
}

function readRow({ kind, body, joins, groups: given, group, add }: JsonObject): BulkRow | null {
  if (kind === "members") {
    const names = readMembers(add);
    const read = typeof group === "string" ? readName(group) : null;
    return names === null || read === null || !read.ok
      ? null
      : { row: "members", group: read.name, add: names };
  }
  if ((kind !== "user" && kind !== "group") || !isObject(body)) return null;
  const groups = kind === "user" ? readMembers(given ?? []) : [];
  return groups === null
    ? null
    : { row: "resource", kind, body, joins: joins === true && kind === "group", groups };
}

function readMembers(value: JsonValue | undefined): string[] | null {
  if (!isArray(value) || value.length > MOST_MEMBERS) return null;
  const names: string[] = [];
  for (const one of value) {
    const read = typeof one === "string" ? readName(one) : null;
    if (read === null || !read.ok) return null;
    names.push(read.name);
  }
  return names;
}
