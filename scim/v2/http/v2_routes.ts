// The endpoints of the full SCIM 2.0 interface, one row each (RFC 7644 §3.2, §4). The routes, `Allow`, the OpenAPI description and the tests use these
// rows.

import type { ResourceKind } from "../../schema/resource.ts";

/** The prefix of all paths: `{base_url}/scim/v2/<target_id>`. */
export const V2_PREFIX = "/scim/v2";

/** The name of the handler of a route. */
export type V2Handler =
  | "list"
  | "search"
  | "create"
  | "get"
  | "replace"
  | "patch"
  | "delete"
  | "me"
  | "bulk"
  | "service_provider_config"
  | "resource_types"
  | "schemas";

export interface V2RouteRow {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the target. `<id>` is one segment. Names of endpoints are compared without case. */
  readonly path: string;
  /** For the request log. */
  readonly operation: string;
  /** `null`: no kind, or every kind. */
  readonly kind: ResourceKind | null;
  readonly handler: V2Handler;
  /** The access that a connection needs. `write` includes `read`. */
  readonly access: "read" | "write";
  /** RFC 7644, unless another one is named. */
  readonly ref: string;
}

const READ = { access: "read" } as const;
const WRITE = { access: "write" } as const;

function collection(kind: ResourceKind, path: "/Users" | "/Groups"): V2RouteRow[] {
  const name = path.slice(1).toLowerCase();
  return [
    { method: "GET", path, operation: `${name}.list`, kind, handler: "list", ...READ, ref: "§3.4.2" },
    { method: "POST", path, operation: `${name}.create`, kind, handler: "create", ...WRITE, ref: "§3.3" },
    {
      ...{ method: "POST", path: `${path}/.search`, operation: `${name}.search` },
      ...{ kind, handler: "search", ...READ, ref: "§3.4.3" },
    },
    {
      ...{ method: "GET", path: `${path}/<id>`, operation: `${name}.get` },
      ...{ kind, handler: "get", ...READ, ref: "§3.4.1" },
    },
    {
      ...{ method: "PUT", path: `${path}/<id>`, operation: `${name}.replace` },
      ...{ kind, handler: "replace", ...WRITE, ref: "§3.5.1" },
    },
    {
      ...{ method: "PATCH", path: `${path}/<id>`, operation: `${name}.patch` },
      ...{ kind, handler: "patch", ...WRITE, ref: "§3.5.2" },
    },
    {
      ...{ method: "DELETE", path: `${path}/<id>`, operation: `${name}.delete` },
      ...{ kind, handler: "delete", ...WRITE, ref: "§3.6" },
    },
  ];
}

function discovery(path: string, handler: V2Handler, operation: string): V2RouteRow {
  return { method: "GET", path, operation, kind: null, handler, ...READ, ref: "§4" };
}

export const V2_ROUTES: readonly V2RouteRow[] = [
  ...collection("user", "/Users"),
  ...collection("group", "/Groups"),
  { method: "GET", path: "/", operation: "all.list", kind: null, handler: "list", ...READ, ref: "§3.4.2.1" },
  {
    ...{ method: "POST", path: "/.search", operation: "all.search" },
    ...{ kind: null, handler: "search", ...READ, ref: "§3.4.3" },
  },
  { method: "POST", path: "/Bulk", operation: "bulk", kind: null, handler: "bulk", ...WRITE, ref: "§3.7" },
  { method: "GET", path: "/Me", operation: "me.get", kind: "user", handler: "me", ...READ, ref: "§3.11" },
  discovery("/ServiceProviderConfig", "service_provider_config", "discovery.config"),
  discovery("/ResourceTypes", "resource_types", "discovery.types"),
  discovery("/ResourceTypes/<id>", "resource_types", "discovery.type"),
  discovery("/Schemas", "schemas", "discovery.schemas"),
  discovery("/Schemas/<id>", "schemas", "discovery.schema"),
];

/** The place of a request below a target: the rows of its path, and the segment of the id. */
export interface V2Place {
  readonly rows: readonly V2RouteRow[];
  /** As in the path, decoded. `null`: the path has no id. */
  readonly id: string | null;
}

const MAX_SEGMENT_CHARACTERS = 2048;

/**
 * Finds the rows of a path. A slash at the end does not matter, and neither does the case of endpoint names: Microsoft's collection sends `/users` and
 * `/Users/?filter=`.
 *
 * @param path below the target, as sent. @returns `null` for an unknown path.
 */
export function findPlace(path: string): V2Place | null {
  const segments = path.split("/").filter((segment) => segment !== "");
  if (segments.length > 2) return null;
  const [collection = "", sent] = segments;
  const whole = ROWS_BY_PATH.get(`/${segments.join("/")}`.toLowerCase());
  if (whole !== undefined) return { rows: whole, id: null };
  const rows = sent === undefined ? undefined : ROWS_BY_PATH.get(`/${collection.toLowerCase()}/<id>`);
  const id = sent === undefined ? null : decodeSegment(sent);
  return rows === undefined || id === null ? null : { rows, id };
}

const ROWS_BY_PATH: ReadonlyMap<string, readonly V2RouteRow[]> = Map.groupBy(
  V2_ROUTES,
  ({ path }) => path.toLowerCase(),
);

function decodeSegment(segment: string): string | null {
  if (segment.length > MAX_SEGMENT_CHARACTERS) return null;
  try {
    return decodeURIComponent(segment);
  } catch (_malformed) {
    return null;
  }
}
