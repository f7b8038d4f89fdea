// The endpoints of the SCIM interface, one row each. The routes, the errors of unsupported requests, the docs
// page and the tests use these rows.

import type { ResourceKind } from "../schema/resource.ts";

/** The prefix of all paths of the interface: `{base_url}/idm/scim/<target_id>`. */
export const SCIM_PREFIX = "/idm/scim";

/** The description of a query parameter. handlers.ts parses it. */
interface ParameterRow {
  /** As in JSON Schema. */
  readonly type: "boolean" | "integer" | "string";
  /** The default, as a text. */
  readonly preset: string;
  readonly meaning: string;
}

export const QUERY_PARAMETERS = {
  refresh: {
    type: "boolean",
    preset: "false",
    meaning: "`true` fetches the latest information from the backends first.",
  },
  page: {
    type: "integer",
    preset: "the first page",
    meaning: "The number of the page wanted, from 1. A page past the end is empty.",
  },
  q: {
    type: "string",
    preset: "not given",
    meaning:
      "A search: words, each of which must begin a word of a name, e-mail address, phone number or group; " +
      "or a filter of RFC 7644 §3.4.2.2 with at most 50 comparisons and 10 levels. At most 8,192 characters.",
  },
  backends: {
    type: "string",
    preset: "all backends of the target",
    meaning: "Names of backends, separated by commas: the operation applies to these alone.",
  },
} as const satisfies Record<string, ParameterRow>;

export type QueryName = keyof typeof QUERY_PARAMETERS;

/** The name of the handler of a route. */
export type RouteHandler = "list" | "create" | "get" | "replace" | "delete" | "none";

export interface RouteRow {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "any";
  /** The path below the target. `<…>`: a segment with a name; `[prefix]`: any path. */
  readonly path: string;
  readonly operation: string;
  readonly kind: ResourceKind | null;
  /** The parameters of the operation. All others are ignored. */
  readonly query: readonly QueryName[];
  readonly supported: boolean;
  /** The access that a credential needs. `write` includes `read`. */
  readonly access: "read" | "write";
  readonly handler: RouteHandler;
}

const LIST = { query: ["refresh", "page", "q"], supported: true, access: "read", handler: "list" } as const;
const CREATE = { query: ["backends"], supported: true, access: "write", handler: "create" } as const;
const GET_ONE = { query: ["refresh"], supported: true, access: "read", handler: "get" } as const;
const REPLACE = { query: ["backends"], supported: true, access: "write", handler: "replace" } as const;
const DELETE = { query: ["backends"], supported: true, access: "write", handler: "delete" } as const;
const NOT_SUPPORTED = { query: [], supported: false, access: "read", handler: "none" } as const;

export const SCIM_ROUTES = [
  { method: "GET", path: "/Users", operation: "list users", kind: "user", ...LIST },
  { method: "POST", path: "/Users", operation: "create user", kind: "user", ...CREATE },
  { method: "POST", path: "/Users", operation: "retrieve (search)", kind: "user", ...NOT_SUPPORTED },
  { method: "GET", path: "/Groups", operation: "list groups", kind: "group", ...LIST },
  { method: "POST", path: "/Groups", operation: "create group", kind: "group", ...CREATE },
  { method: "POST", path: "/Groups", operation: "retrieve (search)", kind: "group", ...NOT_SUPPORTED },
  { method: "GET", path: "/Users/<userName>", operation: "get one user", kind: "user", ...GET_ONE },
  { method: "PUT", path: "/Users/<userName>", operation: "replace user", kind: "user", ...REPLACE },
  { method: "PATCH", path: "/Users/<userName>", operation: "modify user", kind: "user", ...NOT_SUPPORTED },
  { method: "DELETE", path: "/Users/<userName>", operation: "delete user", kind: "user", ...DELETE },
  { method: "GET", path: "/Groups/<groupName>", operation: "get one group", kind: "group", ...GET_ONE },
  { method: "PUT", path: "/Groups/<groupName>", operation: "replace group", kind: "group", ...REPLACE },
  {
    method: "PATCH",
    path: "/Groups/<groupName>",
    operation: "modify group",
    kind: "group",
    ...NOT_SUPPORTED,
  },
  { method: "DELETE", path: "/Groups/<groupName>", operation: "delete group", kind: "group", ...DELETE },
  { method: "any", path: "/Me", operation: "the caller's own resource", kind: null, ...NOT_SUPPORTED },
  { method: "any", path: "/Bulk", operation: "bulk processing", kind: null, ...NOT_SUPPORTED },
  { method: "any", path: "[prefix]/.search", operation: "search by POST", kind: null, ...NOT_SUPPORTED },
] as const satisfies readonly RouteRow[];

/** The path of the resources of a kind, below the target. */
const COLLECTIONS: Readonly<Record<ResourceKind, string>> = { user: "/Users", group: "/Groups" };

/** The address of one resource. */
export function resourceLocation(
  { publicUrl, target }: { publicUrl: string; target: string },
  resource: { readonly kind: ResourceKind; readonly name: string },
): string {
  const { kind, name } = resource;
  return `${publicUrl}${SCIM_PREFIX}/${target}${COLLECTIONS[kind]}/${encodeURIComponent(name)}`;
}

/** The methods of the rows of a path, for `Allow` (RFC 9110 §10.2.1). */
export function allowedMethods(rows: readonly { readonly method: string }[]): string {
  const methods = rows.flatMap(({ method }) => method === "GET" ? ["GET", "HEAD"] : [method]);
  return [...new Set(methods)].join(", ");
}
