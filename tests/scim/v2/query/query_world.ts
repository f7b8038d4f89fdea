// A directory with a query function, and a naive evaluation of the same queries: all resources are read, compared and sorted.

import { canonicalName } from "../../../../platform/canonical_name.ts";
import { createSystemRandom } from "../../../../platform/runtime.ts";
import { createVault } from "../../../../platform/vault.ts";
import { compareText } from "../../../../scim/directory/keys.ts";
import { matchesFilter } from "../../../../scim/filter/filter_match.ts";
import { filterPaths } from "../../../../scim/filter/filter.ts";
import type { TargetDirectory } from "../../../../scim/ports.ts";
import type { ResourceKind } from "../../../../scim/schema/resource.ts";
import { filterAccess, readQuerySort, readResourceFilter } from "../../../../scim/v2/query/filter_access.ts";
import {
  type QueryDeps,
  type QueryOutcome,
  type QueryProblem,
  queryResources,
  type ResourceQuery,
} from "../../../../scim/v2/query/query.ts";
import { comparedViews } from "../../../../scim/v2/schema/render_stored.ts";
import { createTargetSchemas, type TargetSchemas } from "../../../../scim/v2/schema/target_schemas.ts";

export const BASE_URL = "https://scim.example.com/scim/v2/default";
export const SCHEMAS: TargetSchemas = createTargetSchemas();

export type Asked = Partial<ResourceQuery> & { readonly kind: ResourceKind };

const VAULT = createVault(new Uint8Array(32), createSystemRandom());
const AT_MS = 1_800_000_000_000;

export function ask(
  directory: TargetDirectory,
  asked: Asked,
  { nowMs = AT_MS, ...deps }: Partial<QueryDeps> & { readonly nowMs?: number } = {},
): Promise<QueryOutcome> {
  const query: ResourceQuery = {
    ...{ filter: null, sortBy: null, startIndex: 1, count: 100, cursor: null },
    sortOrder: "ascending",
    ...asked,
  };
  const clock = { nowMs: () => nowMs };
  return queryResources({ directory }, SCHEMAS, query, { vault: VAULT, clock, baseUrl: BASE_URL, ...deps });
}

export type Answer = Extract<QueryOutcome, { ok: true }>;

/** The answer of a query that must succeed. */
export function answered(outcome: QueryOutcome): Answer {
  if (!outcome.ok) throw new Error(`Cannot look at what was found: ${outcome.problem}: ${outcome.detail}`);
  return outcome;
}

export async function find(directory: TargetDirectory, asked: Asked): Promise<readonly string[]> {
  return answered(await ask(directory, asked)).resources.map(({ content }) => content.name);
}

export function problemIn(outcome: QueryOutcome): QueryProblem["problem"] | "none" {
  return outcome.ok ? "none" : outcome.problem;
}

/** The canonical names of all resources that match, sorted; in any order without `sortBy`. */
export async function evaluate(
  directory: TargetDirectory,
  { kind, filter = null, sortBy = null, sortOrder = "ascending" }: Asked,
): Promise<string[]> {
  const type = SCHEMAS.types[kind];
  const read = filter === null ? null : readResourceFilter(type, filter);
  if (read?.ok === false) throw new Error(`Cannot evaluate ${filter}: ${read.detail}`);
  const sort = sortBy === null ? null : readQuerySort(type, sortBy);
  if (sort?.ok === false) throw new Error(`Cannot sort: ${sort.detail}`);
  const paths = [...read === null ? [] : filterPaths(read.filter), ...sort === null ? [] : [sort.sort.path]];
  const viewOf = comparedViews({ directory, type, baseUrl: BASE_URL }, paths);
  const found: { readonly text: string; readonly name: string }[] = [];
  for await (const stored of directory.all(kind)) {
    const view = await viewOf(stored);
    if (read !== null && !matchesFilter(read.filter, view, filterAccess(type))) continue;
    found.push({ text: sort?.sort.textOf(view) ?? "", name: canonicalName(stored.content.name) });
  }
  const isByName = sortBy === null || sort?.sort.by === "name";
  found.sort((a, b) => (isByName ? 0 : compareText(a.text, b.text)) || compareText(a.name, b.name));
  const names = found.map(({ name }) => name);
  return sortBy !== null && sortOrder === "descending" ? names.reverse() : names;
}
