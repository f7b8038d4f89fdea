// The endpoints of the full SCIM 2.0 interface, and one operation, from an HTTP request or from a bulk request, with its result.

import type { Actor, Target } from "../../ports.ts";
import { ScimRefusal, valueRefusal } from "../../http/refusals.ts";
import type { Precondition } from "../../http/handlers.ts";
import type { JsonObject, ResourceKind, Stored } from "../../schema/resource.ts";
import type { ResourceTypeDefinition } from "../../schema/attribute_table.ts";
import { type Projection, type ProjectionParameters, readProjection } from "../schema/render_stored.ts";
import type { QueryCursorDeps } from "../query/query_cursor.ts";
import type { TargetSchemas } from "../schema/target_schemas.ts";
import type { AuthenticatedConnection, Connections } from "../connections/connections.ts";

/** The facts of a request that the request log shows. The handlers add to it. */
export interface RequestTrace {
  /** `id: null`: a dry run would create it. */
  resource: { kind: ResourceKind; id: string | null; name: string } | null;
  /** Names of attributes that the request sets. */
  attributes: readonly string[];
  /** What a dry run would do. */
  planned: string | null;
}

/** What the application needs of the connections of identity providers. */
export type ConnectionAccess = Pick<
  Connections,
  | "authenticate"
  | "admit"
  | "admitOperations"
  | "readmit"
  | "countDeletion"
  | "record"
  | "proposeAdoption"
  | "isAdopted"
>;

/** The groups that policies and reply attributes name: they decide how their members sign in. */
export interface NamedGroups {
  /** Whether they name any group of a target. */
  namesGroups(target: string): boolean;
  /** @param group canonical */
  isGroupNamed(group: string): boolean;
}

/** Who asks, where, and with which rules. */
export interface OperationContext {
  readonly target: Target;
  readonly schemas: TargetSchemas;
  readonly connection: AuthenticatedConnection;
  readonly access: ConnectionAccess;
  readonly actor: Actor;
  readonly namedAccess: NamedGroups;
  /** The absolute URL of the target, without a slash at the end. */
  readonly baseUrl: string;
  readonly trace: RequestTrace;
  /** For cursors. */
  readonly cursors: QueryCursorDeps;
  /** A new UUID. */
  readonly newId: () => string;
}

export interface Operation {
  readonly context: OperationContext;
  readonly kind: ResourceKind;
  /** `null`: the operation creates a resource. */
  readonly id: string | null;
  /** The body. @throws ScimRefusal `invalid_syntax` */
  readonly json: () => Promise<JsonObject>;
  readonly ifMatch: Precondition | null;
  readonly ifNoneMatch: Precondition | null;
  readonly projection: ProjectionParameters;
}

export interface OperationResult {
  readonly status: 200 | 201 | 204 | 304;
  /** JSON text. `null`: no body. */
  readonly text: string | null;
  readonly etag?: string;
  readonly location?: string;
  readonly id?: string;
}

/** The resource type of an operation. */
export function resourceTypeOf(
  { context: { schemas }, kind }: Pick<Operation, "context" | "kind">,
): ResourceTypeDefinition {
  return schemas.types[kind];
}

/** @throws ScimRefusal `invalid_value` */
export function projectionOf(operation: Pick<Operation, "context" | "kind" | "projection">): Projection {
  const read = readProjection(operation.projection, resourceTypeOf(operation));
  if (!read.ok) throw valueRefusal(read.detail);
  return read.projection;
}

/** Notes the resource for the request log. */
export function traceResource({ trace }: OperationContext, { id, content: { kind, name } }: Stored): void {
  trace.resource = { kind, id, name };
}

/** A write that another writer overtook is repeated this often. */
const MAX_ATTEMPTS = 20;

/** Runs a write until no other writer overtakes it. If the client requires a version, the first lost race is its error. */
export async function repeatLostRaces<T>(operation: Operation, once: () => Promise<T>): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await once();
    } catch (fault) {
      if (!isLostRace(fault)) throw fault;
      if (isConditional(operation)) throw new ScimRefusal("precondition", { cause: fault });
      if (attempt >= MAX_ATTEMPTS) throw fault;
    }
  }
}

/** Another writer changed the resource after it was read. */
function isLostRace(fault: unknown): boolean {
  return fault instanceof ScimRefusal && (fault.code === "changed" || fault.code === "precondition");
}

/** Whether a client requires a version, so that a lost race is its error and not ours to repeat. */
export function isConditional({ ifMatch, ifNoneMatch }: Operation): boolean {
  return (ifMatch !== null && ifMatch !== "any") || ifNoneMatch !== null;
}

// The endpoints, one row each (RFC 7644 §3.2, §4). The routes, `Allow`, the pages of the docs and the tests use these rows.

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
