// The OpenAPI 3.1 description of the SCIM interface, generated from the table of routes.

import { refusalRow, SCIM_REFUSALS, type ScimRefusalCode } from "./refusals.ts";
import {
  QUERY_PARAMETERS,
  type QueryName,
  type RouteHandler,
  type RouteRow,
  SCIM_PREFIX,
  SCIM_ROUTES,
} from "./routes.ts";
import { MAX_FILTER_CHARACTERS } from "../filter/filter_tokens.ts";
import type { JsonObject, JsonValue } from "../schema/resource.ts";
import { COMMON_HEADERS, RECEIPT_HEADER } from "./responses.ts";
import { componentSchemas, NAME_SCHEMA, schemaRef } from "./openapi_schemas.ts";

const TITLE = "Countersign identity interface";
const VERSION = "1.0.0";
const ALL_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
const MEDIA_TYPE = COMMON_HEADERS["content-type"];

/** The refusals that every operation can return. */
const ALWAYS_POSSIBLE: readonly ScimRefusalCode[] = [
  "unauthorized",
  "forbidden",
  "cross_site",
  "unknown_target",
  "wrong_host",
  "too_many_failures",
  "internal",
];
const BACKENDS_FAIL: readonly ScimRefusalCode[] = ["backend_failed", "backend_unreachable", "busy"];
const BODY_FAILS: readonly ScimRefusalCode[] = [
  "invalid_syntax",
  "invalid_value",
  "too_large",
  "media_type",
  "content_encoding",
  "body_too_slow",
];
const CHANGE_FAILS: readonly ScimRefusalCode[] = [
  ...(["unknown_backend", "read_only", "not_found", "changed", "precondition"] as const),
  ...BACKENDS_FAIL,
];

interface HandlerRow {
  readonly success: 200 | 201 | 204 | null;
  readonly body: boolean;
  /** Whether the response has the receipt of a write. */
  readonly writes: boolean;
  readonly refusals: readonly ScimRefusalCode[];
}

/** The request and the responses of each operation. The docs page shows them, too. */
export const HANDLER_FACTS: Readonly<Record<RouteHandler, HandlerRow>> = {
  list: {
    success: 200,
    body: false,
    writes: false,
    refusals: ["invalid_value", "invalid_filter", "too_many", ...BACKENDS_FAIL],
  },
  get: {
    success: 200,
    body: false,
    writes: false,
    refusals: ["invalid_value", "not_found", ...BACKENDS_FAIL],
  },
  create: {
    success: 201,
    body: true,
    writes: true,
    refusals: [...BODY_FAILS, "unknown_backend", "read_only", "taken", "unsupported", ...BACKENDS_FAIL],
  },
  replace: {
    success: 200,
    body: true,
    writes: true,
    refusals: [...BODY_FAILS, "renamed", "taken", ...CHANGE_FAILS],
  },
  delete: {
    success: 204,
    body: false,
    writes: true,
    refusals: ["invalid_value", ...CHANGE_FAILS],
  },
  none: { success: null, body: false, writes: false, refusals: ["unsupported"] },
};

/** The description as an object. @param publicUrl where the server is, without a trailing slash. */
export function openApiDocument(publicUrl: string): JsonObject {
  return {
    openapi: "3.1.0",
    info: {
      title: TITLE,
      version: VERSION,
      description: "Users and groups of a target, in the style of SCIM 2.0 (RFC 7643, RFC 7644). " +
        "Any other method at a path is answered as the response MethodNotAllowed describes.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: publicUrl }],
    security: [{ basic: [] }],
    tags: [{ name: "Users" }, { name: "Groups" }, { name: "Not supported" }],
    paths: paths(),
    components: {
      securitySchemes: {
        basic: {
          type: "http",
          scheme: "basic",
          description: "A credential of `deno task scim-credential` or of the settings.",
        },
      },
      parameters: parameters(),
      responses: { MethodNotAllowed: refusalsOf(["method"])[SCIM_REFUSALS.method.status] ?? {} },
      schemas: componentSchemas(),
    },
  };
}

/** The description as JSON. */
export function openApiText(publicUrl: string): string {
  return JSON.stringify(openApiDocument(publicUrl), null, 2);
}

/** The paths of a row in the format of OpenAPI. */
export function openApiPaths({ path }: RouteRow): string[] {
  const base = `${SCIM_PREFIX}/{target_id}`;
  if (!path.startsWith("[prefix]")) return [base + path.replace(/<(\w+)>/, "{$1}")];
  const ending = path.slice("[prefix]".length);
  return ["", "/Users", "/Groups"].map((prefix) => base + prefix + ending);
}

/** The methods of a row in the format of OpenAPI. */
export function openApiMethods({ method }: RouteRow): string[] {
  return (method === "any" ? ALL_METHODS : [method]).map((one) => one.toLowerCase());
}

function paths(): JsonObject {
  const all: Record<string, Record<string, JsonValue>> = {};
  for (const row of SCIM_ROUTES) {
    for (const path of openApiPaths(row)) {
      const item = all[path] ??= { parameters: pathParameters(path) };
      for (const method of openApiMethods(row)) {
        item[method] = merged(item[method], operationOf(row, method, path));
      }
    }
  }
  return all;
}

/** Two rows may share a method and a path, because the body distinguishes a search from a creation. The supported row comes first. */
function merged(before: JsonValue | undefined, operation: JsonObject): JsonObject {
  if (before === undefined || typeof before !== "object" || before === null || Array.isArray(before)) {
    return operation;
  }
  const first = before as JsonObject;
  return { ...first, description: `${String(first["description"])} ${String(operation["description"])}` };
}

function operationOf(row: RouteRow, method: string, path: string): JsonObject {
  const { success, body, writes, refusals } = HANDLER_FACTS[row.handler];
  const resource = row.kind === "group" ? "Group" : "User";
  const codes = [...ALWAYS_POSSIBLE, ...refusals];
  const headers = [...row.handler === "replace" || row.handler === "delete" ? ["If-Match"] : []];
  const reads = row.handler === "list" || row.handler === "get" ? ["If-None-Match"] : [];
  return {
    operationId: idOf(row, method, path),
    tags: [row.supported && row.kind !== null ? `${resource}s` : "Not supported"],
    summary: row.operation,
    description: row.supported
      ? `Needs a credential with ${row.access} access.`
      : `"${row.operation}" is not supported: 501.`,
    parameters: [...row.query, ...headers, ...reads].map((name) => ({
      $ref: `#/components/parameters/${name}`,
    })),
    ...body ? { requestBody: { required: true, content: contentOf(resource) } } : {},
    responses: {
      ...success === null ? {} : { [success]: successOf(row, { resource, success, writes }) },
      ...reads.length === 0 ? {} : { 304: { description: "It is what If-None-Match names." } },
      ...refusalsOf(codes),
    },
  };
}

function idOf(row: RouteRow, method: string, path: string): string {
  const words = row.method === "any" ? `${method} ${path.slice(path.indexOf("}") + 1)}` : row.operation;
  return words.replace(/[^A-Za-z]+(\w)?/g, (_, next = "") => next.toUpperCase());
}

function successOf(
  row: RouteRow,
  { resource, success, writes }: { resource: string; success: number; writes: boolean },
): JsonObject {
  const text = { schema: { type: "string" } };
  const headers: Record<string, JsonValue> = {
    ...answerHeaders(),
    ...success === 204 ? {} : { ETag: text },
    ...success === 201 ? { Location: text } : {},
    ...writes ? { [RECEIPT_HEADER]: { ...text, description: RECEIPT } } : {},
  };
  const schema = row.handler === "list" ? `${resource}List` : resource;
  return { description: row.operation, headers, ...success === 204 ? {} : { content: contentOf(schema) } };
}

const RECEIPT =
  'The outcome at each backend (a List, RFC 9651 §3.1): `"local";outcome=done`. A backend that did not store members of a group adds ' +
  'their count and the first names, percent-encoded and separated by spaces: `"corp";outcome=done;not-stored=2;names="bob eve"`.';

/** The responses of refusals, by status. @param schema of the error. */
export function refusalsOf(codes: readonly ScimRefusalCode[], schema = "Error"): Record<string, JsonValue> {
  const byStatus = new Map<number, string[]>();
  for (const code of codes) {
    const { status, detail } = refusalRow(code);
    byStatus.set(status, [...byStatus.get(status) ?? [], detail]);
  }
  const entries = [...byStatus].map(([status, details]) =>
    [status, {
      description: [...new Set(details)].join(" "),
      headers: { ...answerHeaders(), ...REFUSAL_HEADERS[status] },
      content: contentOf(schema),
    }] as const
  );
  return Object.fromEntries(entries);
}

const RETRY_AFTER = {
  "Retry-After": { schema: { type: "integer", minimum: 1 }, description: "Seconds until the next try." },
};

/** Headers of refusals, by status. */
const REFUSAL_HEADERS: Readonly<Record<number, JsonObject>> = {
  401: { "WWW-Authenticate": { required: true, schema: { type: "string" } } },
  405: { Allow: { required: true, schema: { type: "string" } } },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

/** Headers of every response. OpenAPI describes Content-Type by the media type of the content. */
export function answerHeaders(): JsonObject {
  const names = Object.entries(COMMON_HEADERS).filter(([name]) => name !== "content-type");
  return Object.fromEntries(names.map(([name, value]) => [name, { schema: { const: value } }]));
}

function contentOf(schema: string): JsonObject {
  return { [MEDIA_TYPE]: { schema: schemaRef(schema) } };
}

function parameters(): JsonObject {
  const query = Object.entries(QUERY_PARAMETERS).map(([name, { type, meaning, preset }]) => [name, {
    name,
    in: "query",
    description: `${meaning} Default: ${preset}.`,
    ...schemaOfParameter(name as QueryName, type),
  }]);
  const header = ["If-Match", "If-None-Match"].map((name) => [name, {
    name,
    in: "header",
    description: "Entity tags, or `*` (RFC 9110 §13.1).",
    schema: { type: "string" },
  }]);
  return Object.fromEntries([...query, ...header]);
}

function schemaOfParameter(name: QueryName, type: string): JsonObject {
  if (name === "backends") {
    return { style: "form", explode: false, schema: BACKEND_LIST };
  }
  if (name === "page") return { schema: { type, minimum: 1, maximum: Number.MAX_SAFE_INTEGER } };
  return { schema: name === "q" ? { type, maxLength: MAX_FILTER_CHARACTERS } : { type } };
}

const BACKEND_LIST = { type: "array", minItems: 1, items: { type: "string", minLength: 1 } };

function pathParameters(path: string): JsonValue {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: name === "target_id" ? { type: "string" } : NAME_SCHEMA,
  }));
}
