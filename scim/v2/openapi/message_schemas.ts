// JSON Schema of the messages of RFC 7644 §3: lists, searches, PATCH, bulk and errors.

import { SCIM_REFUSALS, V2_REFUSALS } from "../../http/refusals.ts";
import { ERROR_SCHEMA, LIST_SCHEMA, SEARCH_REQUEST_SCHEMA } from "../../schema/attribute_table.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { BULK_LIMITS } from "../bulk/bulk_plan.ts";
import { MAX_QUERY_CHARACTERS } from "../http/list_parameters.ts";
import { MAX_PATCH_OPERATIONS } from "../patch/patch_request.ts";
import { MAX_PROJECTION_NAMES } from "../schema/projection.ts";

const MESSAGES = "urn:ietf:params:scim:api:messages:2.0";

/** `startIndex` and `count`: values below 1 and 0 mean 1 and 0 (RFC 7644 §3.4.2.4). */
export const QUERY_INTEGER: JsonObject = {
  type: "integer",
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
};
/** Or one of the short forms, in any case; empty: the default. */
export const SORT_ORDER = "^$|^([aA][sS][cC]|[dD][eE][sS][cC])([eE][nN][dD][iI][nN][gG])?$";
/** The same in a body. */
const BODY_INTEGER: JsonObject = { ...QUERY_INTEGER, type: ["integer", "null"] };
export const QUERY_TEXT: JsonObject = { type: "string", maxLength: MAX_QUERY_CHARACTERS };

function schemasOf(urn: string): JsonObject {
  return { type: "array", items: { type: "string" }, contains: { const: urn }, examples: [[urn]] };
}

/** A list of resources. */
export function listSchema(items: JsonObject): JsonObject {
  return {
    type: "object",
    required: ["schemas", "totalResults", "itemsPerPage", "Resources"],
    properties: {
      schemas: schemasOf(LIST_SCHEMA),
      totalResults: { type: "integer", minimum: 0, description: "All matches, on all pages." },
      itemsPerPage: { type: "integer", minimum: 0, description: "The resources of this page." },
      startIndex: { type: "integer", minimum: 1, description: "Absent on pages by cursor." },
      nextCursor: { type: "string", description: "Absent on the last page (RFC 9865 §2)." },
      previousCursor: { type: "string", description: "Absent on the first page (RFC 9865 §2)." },
      Resources: { type: "array", items },
    },
  };
}

/** RFC 7644 §3.12. */
export function errorSchema(): JsonObject {
  const rows = [...Object.values(SCIM_REFUSALS), ...Object.values(V2_REFUSALS)];
  const types = rows.flatMap((row) => "scimType" in row ? [row.scimType] : []);
  return {
    type: "object",
    description: "RFC 7644 §3.12",
    required: ["schemas", "status", "detail"],
    properties: {
      schemas: schemasOf(ERROR_SCHEMA),
      status: { type: "string", description: "The HTTP status, as a text." },
      scimType: { type: "string", enum: [...new Set(types)] },
      detail: { type: "string", description: "What to do." },
    },
  };
}

const NAMES: JsonObject = {
  anyOf: [
    { type: "array", items: { type: "string" }, maxItems: MAX_PROJECTION_NAMES },
    { type: ["string", "null"] },
  ],
};

/** `schemas` of a request: MESSAGE_SHAPES of scim/v2/schema/body_shapes.ts accepts other lists, too. */
function requestSchemasOf(urn: string): JsonObject {
  return {
    type: ["array", "null"],
    items: { type: "string" },
    description: `\`${urn}\`. It is recommended, and not required.`,
    examples: [[urn]],
  };
}

/** RFC 7644 §3.4.3. */
export const SEARCH_SCHEMA: JsonObject = {
  type: "object",
  properties: {
    schemas: requestSchemasOf(SEARCH_REQUEST_SCHEMA),
    filter: { ...QUERY_TEXT, type: ["string", "null"] },
    sortBy: { ...QUERY_TEXT, type: ["string", "null"] },
    sortOrder: { type: ["string", "null"], pattern: SORT_ORDER, examples: ["ascending", "descending"] },
    startIndex: BODY_INTEGER,
    count: BODY_INTEGER,
    cursor: { ...QUERY_TEXT, type: ["string", "null"] },
    attributes: NAMES,
    excludedAttributes: NAMES,
  },
  additionalProperties: true,
};

const PATH: JsonObject = {
  type: "string",
  description: "An attribute, or a sub-attribute; for lists, also with a filter in brackets.",
};
const REMOVE: JsonObject = {
  type: "object",
  required: ["op", "path"],
  properties: { op: { type: "string", pattern: "^[rR][eE][mM][oO][vV][eE]$" }, path: PATH },
};
const CHANGE: JsonObject = {
  type: "string",
  pattern: "^([aA][dD][dD]|[rR][eE][pP][lL][aA][cC][eE])$",
  description: "`add` or `replace`.",
};
const WITH_PATH: JsonObject = {
  type: "object",
  required: ["op", "path", "value"],
  properties: { op: CHANGE, path: PATH, value: { description: "As the attribute requires." } },
};
const WITHOUT_PATH: JsonObject = {
  type: "object",
  required: ["op", "value"],
  properties: {
    op: CHANGE,
    path: { type: "null" },
    value: { type: "object", description: "Attributes of the resource.", additionalProperties: true },
  },
};

/** RFC 7644 §3.5.2. The docs page lists tolerated shapes. */
export const PATCH_SCHEMA_OF_REQUEST: JsonObject = {
  type: "object",
  required: ["Operations"],
  properties: {
    schemas: requestSchemasOf(`${MESSAGES}:PatchOp`),
    Operations: {
      type: "array",
      maxItems: MAX_PATCH_OPERATIONS,
      items: { anyOf: [REMOVE, WITH_PATH, WITHOUT_PATH] },
    },
  },
  additionalProperties: true,
};

const BULK_HEAD: Record<string, JsonValue> = {
  method: { type: "string", enum: ["POST", "PUT", "PATCH", "DELETE"] },
  bulkId: { type: "string", minLength: 1, maxLength: 256 },
};

/** RFC 7644 §3.7. */
export const BULK_REQUEST: JsonObject = {
  type: "object",
  required: ["Operations"],
  description: `At most ${BULK_LIMITS.maxPayloadSize} octets.`,
  properties: {
    schemas: requestSchemasOf(`${MESSAGES}:BulkRequest`),
    failOnErrors: { type: ["integer", "null"], minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    Operations: {
      type: "array",
      maxItems: BULK_LIMITS.maxOperations,
      items: {
        type: "object",
        required: ["method", "path"],
        properties: {
          ...BULK_HEAD,
          path: { type: "string", examples: ["/Users", "/Users/bulkId:ann"] },
          version: { type: "string", description: "The entity tag that the resource must have." },
          data: { type: "object", additionalProperties: true },
        },
      },
    },
  },
  additionalProperties: true,
};

/** RFC 7644 §3.7.3. The whole request is 200; each operation has its own status. */
export const BULK_RESPONSE_SCHEMA: JsonObject = {
  type: "object",
  required: ["schemas", "Operations"],
  properties: {
    schemas: schemasOf(`${MESSAGES}:BulkResponse`),
    Operations: {
      type: "array",
      items: {
        type: "object",
        required: ["status"],
        properties: {
          method: { type: "string" },
          bulkId: { type: "string" },
          location: { type: "string" },
          version: { type: "string" },
          status: { type: "string", pattern: "^\\d{3}$" },
          response: { $ref: "#/components/schemas/V2Error" },
        },
      },
    },
  },
};
