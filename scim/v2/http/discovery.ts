// /ServiceProviderConfig, /ResourceTypes and /Schemas (RFC 7644 §4, RFC 7643 §5 to §7).

import { ScimRefusal } from "../../http/refusals.ts";
import type {
  AttributeDefinition,
  ResourceTypeDefinition,
  SchemaDefinition,
} from "../../schema/attribute_definition.ts";
import type { JsonObject } from "../../schema/resource.ts";
import { BULK_LIMITS } from "../bulk/bulk_plan.ts";
import { CURSOR_TIMEOUT_SECONDS } from "../query/query_cursor.ts";
import {
  RESOURCE_TYPE_SCHEMA,
  SCHEMA_SCHEMA,
  SERVICE_PROVIDER_CONFIG_SCHEMA,
} from "../schema/target_schemas.ts";
import { renderListResponse } from "../../schema/render_resource.ts";
import { PAGE_SIZE } from "./list_parameters.ts";
import type { OperationContext, OperationResult } from "./operation.ts";

/** What the server supports, and its limits (RFC 7643 §5, RFC 9865 §4). */
const FEATURES = {
  patch: { supported: true },
  bulk: { supported: true, ...BULK_LIMITS },
  filter: { supported: true, maxResults: PAGE_SIZE.max },
  changePassword: { supported: true },
  sort: { supported: true },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: "oauthbearertoken",
      name: "Bearer token",
      description: "A token of a connection (RFC 6750).",
      specUri: "https://www.rfc-editor.org/info/rfc6750",
      primary: true,
    },
    {
      type: "oauth2",
      name: "OAuth 2.0 client credentials",
      description: "A short-lived token for the client secret of a connection (RFC 6749 §4.4).",
      specUri: "https://www.rfc-editor.org/info/rfc6749",
    },
    {
      type: "httpbasic",
      name: "HTTP Basic",
      description: "The name and password of a provisioning credential (RFC 7617).",
      specUri: "https://www.rfc-editor.org/info/rfc7617",
    },
  ],
  pagination: {
    cursor: true,
    index: true,
    defaultPaginationMethod: "index",
    defaultPageSize: PAGE_SIZE.preset,
    maxPageSize: PAGE_SIZE.max,
    cursorTimeout: CURSOR_TIMEOUT_SECONDS,
  },
} as const;

export function serviceProviderConfig({ baseUrl }: Pick<OperationContext, "baseUrl">): OperationResult {
  return found({
    schemas: [SERVICE_PROVIDER_CONFIG_SCHEMA],
    ...FEATURES,
    meta: metaOf("ServiceProviderConfig", `${baseUrl}/ServiceProviderConfig`),
  });
}

/** @param id `null`: all of them. */
export function resourceTypes({ schemas, baseUrl }: OperationContext, id: string | null): OperationResult {
  const types = Object.values(schemas.types);
  if (id === null) return listed(types.map((type) => renderResourceType(type, baseUrl)));
  const type = types.find(({ name }) => name.toLowerCase() === id.toLowerCase());
  if (type === undefined) {
    throw new ScimRefusal("not_found", { detail: "There is no resource type of that name." });
  }
  return found(renderResourceType(type, baseUrl));
}

/** @param id the URN. `null`: all of them. */
export function schemaList({ schemas, baseUrl }: OperationContext, id: string | null): OperationResult {
  if (id === null) return listed(schemas.schemas.map((schema) => renderSchema(schema, baseUrl)));
  const schema = schemas.schemas.find((one) => one.id.toLowerCase() === id.toLowerCase());
  if (schema === undefined) {
    throw new ScimRefusal("not_found", { detail: "There is no schema with that URN." });
  }
  return found(renderSchema(schema, baseUrl));
}

function found(body: JsonObject): OperationResult {
  return { status: 200, text: JSON.stringify(body) };
}

function listed(bodies: readonly JsonObject[]): OperationResult {
  const texts = bodies.map((body) => JSON.stringify(body));
  return { status: 200, text: renderListResponse({ total: texts.length, texts, startIndex: 1 }) };
}

/** @param baseUrl the absolute URL of the target, without a slash at the end. */
export function renderResourceType(type: ResourceTypeDefinition, baseUrl: string): JsonObject {
  return {
    schemas: [RESOURCE_TYPE_SCHEMA],
    id: type.name,
    name: type.name,
    description: type.description,
    endpoint: type.endpoint,
    schema: type.schema.id,
    schemaExtensions: type.extensions.map(({ schema, required }) => ({ schema: schema.id, required })),
    meta: metaOf("ResourceType", `${baseUrl}/ResourceTypes/${type.name}`),
  };
}

/** @param baseUrl the absolute URL of the target, without a slash at the end. */
export function renderSchema(
  { id, name, description, attributes }: SchemaDefinition,
  baseUrl: string,
): JsonObject {
  return {
    schemas: [SCHEMA_SCHEMA],
    id,
    name,
    description,
    attributes: attributes.map(renderDefinition),
    // A URN may have characters that a path does not have (RFC 8141 §2).
    meta: metaOf("Schema", `${baseUrl}/Schemas/${encodeURIComponent(id).replaceAll("%3A", ":")}`),
  };
}

/** As in RFC 7643 §8.7.1: `caseExact` and `uniqueness` only for values that can have them. */
function renderDefinition(definition: AttributeDefinition): JsonObject {
  const { name, type, multiValued, description, required, canonicalValues, referenceTypes, subAttributes } =
    definition;
  const isComparable = type !== "complex" && type !== "boolean";
  return {
    name,
    type,
    multiValued,
    description,
    required,
    ...(canonicalValues === undefined ? {} : { canonicalValues }),
    ...(isComparable ? { caseExact: definition.caseExact } : {}),
    mutability: definition.mutability,
    returned: definition.returned,
    ...(isComparable ? { uniqueness: definition.uniqueness } : {}),
    ...(referenceTypes === undefined ? {} : { referenceTypes }),
    ...(subAttributes === undefined ? {} : { subAttributes: subAttributes.map(renderDefinition) }),
  };
}

function metaOf(resourceType: string, location: string): JsonObject {
  return { resourceType, location };
}
