// The part of the OpenAPI 3.1 description about /scim/v2, generated from V2_ROUTES, the schemas and the refusals.

import { answerHeaders, refusalsOf } from "../../http/openapi.ts";
import { COMMON_HEADERS } from "../../http/responses.ts";
import type { ResourceKind } from "../../schema/resource.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { PAGE_SIZE } from "../http/list_parameters.ts";
import { V2_PREFIX, V2_ROUTES, type V2RouteRow } from "../http/v2_routes.ts";
import { DISCOVERY_DEFINITIONS } from "../schema/discovery_schemas.ts";
import { MAX_PROJECTION_CHARACTERS } from "../schema/projection.ts";
import { createTargetSchemas } from "../schema/target_schemas.ts";
import { discoverySchema, requestSchema, responseSchema, UNASSIGNED_SCHEMA } from "./attribute_schema.ts";
import {
  BULK_REQUEST,
  BULK_RESPONSE_SCHEMA,
  errorSchema,
  listSchema,
  PATCH_SCHEMA_OF_REQUEST,
  QUERY_INTEGER,
  QUERY_TEXT,
  SEARCH_SCHEMA,
  SORT_ORDER,
} from "./message_schemas.ts";
import { TOKEN_SCHEMAS, tokenPath } from "./token_endpoint.ts";
import { V2_ALWAYS, V2_HANDLER_ROWS, type V2HandlerRow, type V2Parameters } from "./v2_handlers.ts";

/** Names of components of this part begin with it. */
export const V2_COMPONENT = "V2";
export const V2_TAG = "SCIM 2.0";
/** Percent-encoded, with the path and the query. The HTTP server has this limit. */
export const MAX_TARGET_OCTETS = 8192;
const MEDIA_TYPE = COMMON_HEADERS["content-type"];
const KINDS: Readonly<Record<ResourceKind, string>> = { user: "User", group: "Group" };

const refTo = (part: string, name: string): JsonObject => ({
  $ref: `#/components/${part}/${V2_COMPONENT}${name}`,
});

/** A row's path in the format of OpenAPI. */
export function v2Path({ path }: Pick<V2RouteRow, "path">): string {
  return `${V2_PREFIX}/{target_id}${path === "/" ? "" : path.replace(/<(\w+)>/, "{$1}")}`;
}

/** A row's name in the description, such as `v2UsersPatch`. */
export function v2OperationId({ operation }: Pick<V2RouteRow, "operation">): string {
  return operation.split(".").reduce((id, word) => id + word.slice(0, 1).toUpperCase() + word.slice(1), "v2");
}

export function v2Paths(): Record<string, JsonValue> {
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const row of V2_ROUTES) {
    const path = v2Path(row);
    const item = paths[path] ??= { parameters: pathParameters(path) };
    item[row.method.toLowerCase()] = operationOf(row);
  }
  const [path, item] = tokenPath();
  return { ...paths, [path]: item };
}

function operationOf(row: V2RouteRow): JsonObject {
  const facts = V2_HANDLER_ROWS[row.handler];
  return {
    operationId: v2OperationId(row),
    tags: [V2_TAG],
    summary: row.operation,
    description: `${
      row.ref.startsWith("RFC") ? row.ref : `RFC 7644 ${row.ref}`
    }. Needs ${row.access} access.`,
    security: [{ v2Bearer: [] }, { v2OAuth: [] }, { basic: [] }],
    parameters: facts.parameters.flatMap((group) => PARAMETER_GROUPS[group])
      // Two lists have no common order for a cursor.
      .filter((name) => row.kind !== null || name !== "Cursor")
      .map((name) => refTo("parameters", name)),
    ...(facts.body === null
      ? {}
      : { requestBody: { required: true, content: bodyContent(row, facts.body) } }),
    responses: {
      ...Object.fromEntries(facts.success.map((status) => [status, successOf(row, facts, status)])),
      ...refusalsOf([...V2_ALWAYS, ...facts.refusals], `${V2_COMPONENT}Error`),
      ...TOO_LONG,
    },
  };
}

/** Responses of the HTTP server before it reads the request. */
const TOO_LONG: JsonObject = {
  414: {
    description: `The target of the request is over ${MAX_TARGET_OCTETS} octets. Use /.search.`,
    content: { [MEDIA_TYPE]: { schema: refTo("schemas", "Error") } },
  },
  431: { description: "The headers are too large. The response has no body." },
};

/** RFC 7644 §3.1: servers accept application/json, too. */
function bodyContent({ kind }: V2RouteRow, body: NonNullable<V2HandlerRow["body"]>): JsonObject {
  const name = body === "resource" ? `${KINDS[kind ?? "user"]}Request` : body;
  const content = { schema: refTo("schemas", name) };
  return { [MEDIA_TYPE]: content, "application/json": content };
}

function successOf(row: V2RouteRow, facts: V2HandlerRow, status: number): JsonObject {
  const text = { schema: { type: "string" } };
  const named = facts.headers.filter((name) =>
    status === 201 ? name !== "Content-Location" : status === 200 ? true : status === 304 && name === "ETag"
  );
  const hasLocation = (name: string) => status === 201 && name === "Location";
  const headers = {
    ...answerHeaders(),
    ...Object.fromEntries(named.map((name) => [name, { ...text, required: hasLocation(name) }])),
  };
  const answer = status === 204 || status === 304 ? null : answerName(row, facts);
  return {
    description: descriptionOf(row, status),
    headers,
    ...(answer === null ? {} : { content: { [MEDIA_TYPE]: { schema: refTo("schemas", answer) } } }),
  };
}

function descriptionOf({ handler, kind }: V2RouteRow, status: number): string {
  if (status === 201) return "Created.";
  if (status === 204) {
    return handler === "patch"
      ? "Changed. The answer for a group, unless `attributes` names some."
      : "Deleted.";
  }
  if (status === 304) return "The resource is unchanged.";
  if (handler === "create" && kind === "user") return "An inactive user with this name is active again.";
  return "Done.";
}

function answerName({ kind, path }: V2RouteRow, { answer }: V2HandlerRow): string | null {
  const resource = kind === null ? "Resource" : KINDS[kind];
  if (answer === "resource") return resource;
  if (answer === "list") return `${resource}List`;
  const isCollection = answer === "ResourceType" || answer === "Schema";
  return isCollection && !path.includes("<") ? `${answer}List` : answer;
}

const PARAMETER_GROUPS: Readonly<Record<V2Parameters, readonly string[]>> = {
  page: ["Filter", "SortBy", "SortOrder", "StartIndex", "Count", "Cursor"],
  projection: ["Attributes", "ExcludedAttributes"],
  ifMatch: ["IfMatch"],
  ifNoneMatch: ["IfNoneMatch"],
};

function query(name: string, schema: JsonObject, description: string): JsonObject {
  return { name, in: "query", description, schema };
}

function header(name: string): JsonObject {
  return {
    name,
    in: "header",
    description: "Entity tags, or `*` (RFC 9110 §13.1).",
    schema: { type: "string" },
  };
}

const NAMES = { type: "string", maxLength: MAX_PROJECTION_CHARACTERS } as const;

function v2Parameters(): Record<string, JsonObject> {
  const { preset, max } = PAGE_SIZE;
  return {
    Filter: query("filter", QUERY_TEXT, "RFC 7644 §3.4.2.2."),
    SortBy: query("sortBy", QUERY_TEXT, "An attribute (RFC 7644 §3.4.2.3)."),
    SortOrder: query(
      "sortOrder",
      { type: "string", pattern: SORT_ORDER, examples: ["ascending", "descending"] },
      "Default: ascending.",
    ),
    StartIndex: query(
      "startIndex",
      QUERY_INTEGER,
      "The place of the first resource, from 1. Less than 1 means 1.",
    ),
    Count: query(
      "count",
      QUERY_INTEGER,
      `Resources on the page. Default: ${preset}. More than ${max} means ${max}, less than 0 means 0. With a cursor, at least 1.`,
    ),
    Cursor: query(
      "cursor",
      QUERY_TEXT,
      "Pages by cursor (RFC 9865). Empty: the first page. Not together with startIndex.",
    ),
    Attributes: query(
      "attributes",
      NAMES,
      "Names, separated by commas: the response has only these. Not together with excludedAttributes.",
    ),
    ExcludedAttributes: query(
      "excludedAttributes",
      NAMES,
      "Names, separated by commas: the response does not have these.",
    ),
    IfMatch: header("If-Match"),
    IfNoneMatch: header("If-None-Match"),
  };
}

function v2Schemas(): Record<string, JsonObject> {
  const { types: { user, group } } = createTargetSchemas();
  const discovery = DISCOVERY_DEFINITIONS.map((one): [string, JsonObject] => [
    one.id.slice(one.id.lastIndexOf(":") + 1),
    discoverySchema(one),
  ]);
  const either = { anyOf: [refTo("schemas", "User"), refTo("schemas", "Group")] };
  return {
    User: responseSchema(user),
    Group: responseSchema(group),
    UserRequest: requestSchema(user),
    GroupRequest: requestSchema(group),
    UserList: listSchema(refTo("schemas", "User")),
    GroupList: listSchema(refTo("schemas", "Group")),
    ResourceList: listSchema(either),
    PatchRequest: PATCH_SCHEMA_OF_REQUEST,
    SearchRequest: SEARCH_SCHEMA,
    BulkRequest: BULK_REQUEST,
    BulkResponse: BULK_RESPONSE_SCHEMA,
    ...Object.fromEntries(discovery),
    ResourceTypeList: listSchema(refTo("schemas", "ResourceType")),
    SchemaList: listSchema(refTo("schemas", "Schema")),
    Error: errorSchema(),
    Unassigned: UNASSIGNED_SCHEMA,
  };
}

/** The components, by kind and name. */
export function v2Components(): Readonly<Record<string, Readonly<Record<string, JsonObject>>>> {
  const named = (all: Readonly<Record<string, JsonObject>>) =>
    Object.fromEntries(Object.entries(all).map(([name, value]) => [V2_COMPONENT + name, value]));
  const methods = refusalsOf(["method"], `${V2_COMPONENT}Error`);
  return {
    securitySchemes: SECURITY,
    parameters: named(v2Parameters()),
    responses: named({ MethodNotAllowed: methods["405"] as JsonObject }),
    schemas: { ...named(v2Schemas()), ...TOKEN_SCHEMAS },
  };
}

/** Their names begin with `v2`. */
const SECURITY: Readonly<Record<string, JsonObject>> = {
  v2Bearer: { type: "http", scheme: "bearer", description: "A token of a connection (RFC 6750)." },
  v2OAuth: {
    type: "oauth2",
    description: "An access token for the client secret of a connection (RFC 6749 §4.4).",
    flows: { clientCredentials: { tokenUrl: tokenPath()[0], scopes: {} } },
  },
  v2Client: {
    type: "http",
    scheme: "basic",
    description: "The name and a client secret of a connection (RFC 6749 §2.3.1).",
  },
};

function pathParameters(path: string): JsonValue {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string", ...(name === "id" ? { minLength: 1 } : {}) },
  }));
}
