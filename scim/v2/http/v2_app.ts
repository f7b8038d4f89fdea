// The full SCIM 2.0 interface over HTTP, below /scim/v2 (RFC 7644): authentication, the rules of the connection, the target, and the routes of
// V2_ROUTES, alone or in bulk. Each authenticated request is in the log of its connection.

import { type Context, Hono } from "hono";
import { HttpError } from "../../../platform/http_error.ts";
import { randomUuid } from "../../../platform/runtime.ts";
import { createRequestCheck, type ScimApp, type ScimAppDeps, type ScimEnv } from "../../http/app.ts";
import { parsePrecondition } from "../../http/handlers.ts";
import { allowedMethods, createResponse, faultResponse, toRefusal } from "../../http/routes.ts";
import { refusalRow, ScimRefusal, typedRefusal } from "../../http/refusals.ts";
import { MAX_GROUP_JSON_VALUES, MAX_GROUP_OCTETS, parseJsonObject } from "../../schema/attributes.ts";
import type { JsonObject } from "../../schema/resource.ts";
import type { QueryCursorDeps } from "../query/query_cursor.ts";
import type { AuthenticatedConnection } from "../connections/connections.ts";
import {
  getOperation,
  listOperation,
  meOperation,
  projectionQuery,
  readListQuery,
  readSearchRequest,
  resourceTypes,
  schemaList,
  serviceProviderConfig,
} from "./read_operations.ts";
import {
  type ConnectionAccess,
  findPlace,
  type NamedGroups,
  type Operation,
  type OperationContext,
  type OperationResult,
  type RequestTrace,
  V2_PREFIX,
  type V2Handler,
  type V2Place,
  type V2RouteRow,
} from "./operation.ts";
import type { BulkRequestOperation } from "../bulk/bulk_references.ts";
import { errorBody } from "../../schema/render_resource.ts";
import { type BulkEntry, type BulkOperationResult, planBulk, runBulk } from "../bulk/bulk_plan.ts";
import { patchOperation } from "./patch_operation.ts";
import { createOperation, deleteOperation, replaceOperation } from "./write_operations.ts";

export interface ScimV2AppDeps extends Omit<ScimAppDeps, "credentials"> {
  readonly access: ConnectionAccess;
  readonly vault: QueryCursorDeps["vault"];
  readonly namedAccess: NamedGroups;
}

/** Creates the routes. Mount them at the prefix. */
export function createScimV2App(deps: ScimV2AppDeps): ScimApp {
  const check = createRequestCheck(deps);
  const routes = new Hono<ScimEnv>().all("*", async (c) => {
    await check(c.req.raw);
    return await answer(c, deps);
  });
  return { prefix: V2_PREFIX, routes, onError: (fault, c) => refusedByServer(fault, c, deps) };
}

/** A refusal before the routes. For an unknown method, the response lists the methods of the path (RFC 9110 §15.5.6). */
function refusedByServer(fault: Error, c: Context<ScimEnv>, deps: ScimV2AppDeps): Response {
  const place = fault instanceof HttpError && fault.status === 405 ? findPlace(readRequest(c).path) : null;
  const refusal = place === null
    ? fault
    : new ScimRefusal("method", { headers: { allow: allowedMethods(place.rows) } });
  return faultResponse(refusal, deps);
}

/** The request, with what its path says. */
interface V2Request {
  readonly c: Context<ScimEnv>;
  readonly url: URL;
  readonly targetName: string;
  readonly path: string;
}

function readRequest(c: Context<ScimEnv>): V2Request {
  const url = new URL(c.req.url);
  const below = url.pathname.slice(V2_PREFIX.length + 1);
  const slash = below.indexOf("/");
  const targetName = slash < 0 ? below : below.slice(0, slash);
  return { c, url, targetName, path: slash < 0 ? "" : below.slice(slash) };
}

async function answer(c: Context<ScimEnv>, deps: ScimV2AppDeps): Promise<Response> {
  const startedMs = deps.clock.nowMs();
  const request = readRequest(c);
  const connection = await authenticate(c, deps);
  const trace: RequestTrace = { resource: null, attributes: [], planned: null };
  const place = findPlace(request.path);
  const row = place?.rows.find(({ method }) => method === methodOf(c));
  let response: Response;
  let fault: HttpError | null = null;
  try {
    deps.access.admit(connection);
    response = toResponse(await run({ request, connection, place, row, trace }, deps));
  } catch (thrown) {
    fault = thrown instanceof HttpError ? thrown : toRefusal(thrown, deps);
    response = faultResponse(fault, deps);
  }
  deps.access.record({
    atMs: startedMs,
    connection: connection.settings.name,
    source: c.env.remoteAddress,
    method: c.req.method,
    operation: row?.operation ?? "unknown",
    resource: trace.resource,
    status: response.status,
    scimType: fault instanceof ScimRefusal ? scimTypeOf(fault) : null,
    detail: fault?.message ?? trace.planned,
    attributes: trace.attributes,
    durationMs: deps.clock.nowMs() - startedMs,
    dryRun: connection.settings.dryRun,
    userAgent: (c.req.header("user-agent") ?? "").slice(0, 200),
  });
  return response;
}

function scimTypeOf({ code }: ScimRefusal): string | null {
  const { scimType } = refusalRow(code);
  return scimType ?? null;
}

function methodOf(c: Context<ScimEnv>): string {
  return c.req.method === "HEAD" ? "GET" : c.req.method;
}

/** The challenges for a caller without a valid credential (RFC 6750 §3, RFC 7617 §2). */
const CHALLENGE = 'Bearer realm="Countersign", Basic realm="Countersign", charset="UTF-8"';

async function authenticate(
  c: Context<ScimEnv>,
  { access }: ScimV2AppDeps,
): Promise<AuthenticatedConnection> {
  const header = c.req.header("authorization") ?? null;
  const connection = await access.authenticate(header, c.env.remoteAddress);
  if (connection !== null) return connection;
  const invalid = header === null
    ? CHALLENGE
    : CHALLENGE.replace('"Countersign"', '"Countersign", error="invalid_token"');
  throw new ScimRefusal("no_token", { headers: { "www-authenticate": invalid } });
}

interface Routed {
  readonly request: V2Request;
  readonly connection: AuthenticatedConnection;
  readonly place: V2Place | null;
  readonly row: V2RouteRow | undefined;
  readonly trace: RequestTrace;
}

async function run(routed: Routed, deps: ScimV2AppDeps): Promise<OperationResult> {
  const { request: { c, url, targetName }, connection, place, row } = routed;
  const target = deps.targets.get(targetName);
  if (target === null) throw new ScimRefusal("unknown_target");
  if (!connection.targets.includes(target.name)) {
    throw new ScimRefusal("forbidden", { detail: "This connection is for another directory." });
  }
  if (place === null) throw new ScimRefusal("no_such_path");
  if (row === undefined) throw new ScimRefusal("method", { headers: { allow: allowedMethods(place.rows) } });
  if (row.access === "write" && connection.settings.access === "read") {
    throw new ScimRefusal("forbidden", { detail: "This connection has read access only." });
  }
  const isGroupWrite = row.kind === "group" && row.access === "write";
  c.var.body.allowLarge(isGroupWrite ? MAX_GROUP_OCTETS : undefined);
  const context: OperationContext = {
    target,
    schemas: deps.schemasOf(target.name),
    connection,
    access: deps.access,
    namedAccess: deps.namedAccess,
    actor: { name: connection.actorName, source: c.env.remoteAddress },
    baseUrl: `${deps.http.publicUrl}${V2_PREFIX}/${target.name}`,
    trace: routed.trace,
    cursors: deps,
    newId: () => randomUuid(deps.random),
  };
  return await runRow(row, { context, url, c, id: place.id }, deps);
}

async function runRow(
  row: V2RouteRow,
  { context, url, c, id }: { context: OperationContext; url: URL; c: Context<ScimEnv>; id: string | null },
  deps: ScimV2AppDeps,
): Promise<OperationResult> {
  const kinds = row.kind === null ? ["user", "group"] as const : [row.kind];
  switch (row.handler) {
    case "service_provider_config":
    case "resource_types":
    case "schemas":
      return discover(row.handler, { context, url, id });
    case "list":
      return await listOperation(context, { kinds, parameters: readListQuery(url.searchParams) });
    case "search":
      return await listOperation(context, { kinds, parameters: readSearchRequest(await readJson(c)) });
    case "bulk": {
      const octets = await c.var.body.read();
      return await bulkOperation(context, {
        body: parseBody(octets),
        octets: octets.length,
        onFault: (fault) => toRefusal(fault, deps),
      });
    }
    default: {
      const operation: Operation = {
        context,
        kind: row.kind ?? "user",
        id,
        json: () => row.kind === "group" ? readGroup(c) : readJson(c),
        ifMatch: parsePrecondition(c.req.header("if-match") ?? null),
        ifNoneMatch: parsePrecondition(c.req.header("if-none-match") ?? null),
        projection: projectionQuery(url.searchParams),
      };
      if (row.handler === "get") return await getOperation(operation);
      if (row.handler === "me") return await meOperation(operation);
      const write = WRITE_HANDLERS[row.handler];
      if (write === undefined) throw new Error(`Cannot run ${row.operation}: it has no handler`);
      return await write(operation);
    }
  }
}

/** RFC 7644 §4: a filter gets 403, so that no client takes all resources for the matches. */
function discover(
  handler: "service_provider_config" | "resource_types" | "schemas",
  { context, url, id }: { context: OperationContext; url: URL; id: string | null },
): OperationResult {
  if (url.searchParams.has("filter")) {
    throw new ScimRefusal("forbidden", { detail: "These resources cannot be filtered." });
  }
  if (handler === "service_provider_config") return serviceProviderConfig(context);
  return handler === "schemas" ? schemaList(context, id) : resourceTypes(context, id);
}

async function readJson(c: Context<ScimEnv>): Promise<JsonObject> {
  return parseBody(await c.var.body.read());
}

/** @throws ScimRefusal `too_large`, `invalid_syntax` */
async function readGroup(c: Context<ScimEnv>): Promise<JsonObject> {
  const octets = await c.var.body.read().catch((fault: unknown) => {
    if (!(fault instanceof HttpError) || fault.status !== 413) throw fault;
    const { headers } = fault;
    throw new ScimRefusal("too_large", { detail: "The body is over 16 MiB.", headers, cause: fault });
  });
  return parseBody(octets, MAX_GROUP_JSON_VALUES);
}

function parseBody(octets: Uint8Array, maxValues?: number): JsonObject {
  const parsed = parseJsonObject(octets, { maxValues });
  if (!parsed.ok) throw new ScimRefusal("invalid_syntax", { detail: parsed.problem });
  return parsed.value;
}

function toResponse({ status, text, etag, location }: OperationResult): Response {
  return createResponse(text, {
    status,
    headers: {
      ...(etag === undefined ? {} : { etag }),
      ...(location === undefined ? {} : status === 201 ? { location } : { "content-location": location }),
    },
  });
}

const BULK_RESPONSE = "urn:ietf:params:scim:api:messages:2.0:BulkResponse";

/** The handlers of operations that write. */
const WRITE_HANDLERS: Partial<Record<V2Handler, (operation: Operation) => Promise<OperationResult>>> = {
  create: createOperation,
  replace: replaceOperation,
  patch: patchOperation,
  delete: deleteOperation,
};

interface SentBulk {
  readonly body: JsonObject;
  /** The length of the body. */
  readonly octets: number;
  /** An error that is not a refusal: it is logged, and the entry says so. */
  readonly onFault: (fault: unknown) => ScimRefusal;
}

/** A bulk request (RFC 7644 §3.7): each operation runs like a request of its own. */
async function bulkOperation(
  context: OperationContext,
  { body, octets, onFault }: SentBulk,
): Promise<OperationResult> {
  const { schemas } = context;
  const planned = planBulk(body, { octets, schemas });
  if (!planned.ok) {
    const { status, scimType = "invalidSyntax", detail } = planned.problem;
    throw status === 413 ? new ScimRefusal("too_large", { detail }) : typedRefusal({ scimType, detail });
  }
  const { operations, refused } = planned.plan;
  context.access.admitOperations(context.connection, Math.max(1, operations.length + refused.length));
  const execute = async (operation: BulkRequestOperation): Promise<BulkOperationResult> => {
    try {
      return await runOne(context, operation);
    } catch (fault) {
      const refusal = fault instanceof ScimRefusal ? fault : onFault(fault);
      const { status, message: detail } = refusal;
      const { scimType } = refusalRow(refusal.code);
      return { ok: false, status, response: errorBody({ status, scimType, detail }) };
    }
  };
  const entries = await runBulk(planned.plan, {
    schemas,
    execute,
    // A dry run created nothing that could be changed.
    ...context.connection.settings.dryRun ? { complete: skipped } : {},
  });
  const bodies = entries.map((entry) => entryBody(entry, context));
  const text = JSON.stringify({ schemas: [BULK_RESPONSE], Operations: bodies });
  return { status: 200, text };
}

function skipped({ path }: BulkRequestOperation): Promise<BulkOperationResult> {
  return Promise.resolve({ ok: true, status: 200, location: path, id: "" });
}

async function runOne(
  context: OperationContext,
  operation: BulkRequestOperation,
): Promise<BulkOperationResult> {
  const { method, path, version, data } = operation;
  const place = findPlace(path);
  const row = place?.rows.find((one) => one.method === method);
  const handler = row === undefined ? undefined : WRITE_HANDLERS[row.handler];
  if (place === null || row === undefined || row.kind === null || handler === undefined) {
    throw new ScimRefusal("no_such_path");
  }
  const connection = await context.access.readmit(context.connection);
  if (connection.settings.access === "read") {
    throw new ScimRefusal("forbidden", { detail: "This connection has read access only." });
  }
  const result = await handler({
    // The log has one entry for the whole request.
    context: { ...context, connection, trace: { resource: null, attributes: [], planned: null } },
    kind: row.kind,
    id: place.id,
    json: () => Promise.resolve(data ?? {}),
    ifMatch: parsePrecondition(version),
    ifNoneMatch: null,
    projection: {},
  });
  const id = result.id ?? place.id ?? "";
  const location = result.location ?? `${context.baseUrl}${context.schemas.types[row.kind].endpoint}/${id}`;
  return {
    ok: true,
    status: result.status,
    location,
    id,
    ...(result.etag === undefined ? {} : { version: result.etag }),
  };
}

/** RFC 7644 §3.7.3: `status` is a string, `response` is there for errors only, and only a POST that failed has no location. */
function entryBody({ operation, result }: BulkEntry, context: OperationContext): JsonObject {
  const { method, bulkId } = operation;
  const head = { ...(method === null ? {} : { method }), ...(bulkId === null ? {} : { bulkId }) };
  if (result.ok) {
    const { location, version, status } = result;
    return { ...head, location, ...(version === undefined ? {} : { version }), status: String(status) };
  }
  const path = "path" in operation && method !== "POST" ? operation.path : null;
  const failed = { ...head, ...(path === null ? {} : { location: context.baseUrl + path }) };
  if ("problem" in result) {
    return { ...failed, status: String(result.problem.status), response: errorBody(result.problem) };
  }
  return { ...failed, status: String(result.status), response: result.response as JsonObject };
}
