// Renders /ServiceProviderConfig, /ResourceTypes and /Schemas from the definitions (RFC 7644 §4, RFC 7643 §5 to §7).

import type { JsonObject } from "../../schema/resource.ts";
import type {
  AttributeDefinition,
  ResourceTypeDefinition,
  SchemaDefinition,
} from "../../schema/attribute_definition.ts";
import { RESOURCE_TYPE_SCHEMA, SCHEMA_SCHEMA, SERVICE_PROVIDER_CONFIG_SCHEMA } from "./discovery_schemas.ts";

/** One way to authenticate (RFC 7643 §5). */
interface AuthenticationScheme {
  readonly type: "oauth2" | "oauthbearertoken" | "httpbasic";
  readonly name: string;
  readonly description: string;
  readonly specUri?: string;
  readonly primary?: true;
}

/** What the server supports, and its limits. */
export interface ServerFeatures {
  /** An absolute URL. */
  readonly documentationUri?: string;
  readonly bulk: {
    readonly supported: boolean;
    readonly maxOperations: number;
    readonly maxPayloadSize: number;
  };
  readonly filter: { readonly maxResults: number };
  readonly pagination: {
    readonly cursor: boolean;
    readonly defaultPageSize: number;
    readonly maxPageSize: number;
    /** In seconds. Only with cursors. */
    readonly cursorTimeout?: number;
  };
  readonly isPatchSupported: boolean;
  readonly isSortSupported: boolean;
  readonly isPasswordChangeSupported: boolean;
  readonly authenticationSchemes: readonly AuthenticationScheme[];
}

/** @param baseUrl the absolute URL of the target, without a slash at the end. */
export function renderServiceProviderConfig(features: ServerFeatures, baseUrl: string): JsonObject {
  const { documentationUri, bulk, filter, pagination, authenticationSchemes } = features;
  return {
    schemas: [SERVICE_PROVIDER_CONFIG_SCHEMA],
    ...(documentationUri === undefined ? {} : { documentationUri }),
    patch: { supported: features.isPatchSupported },
    bulk: {
      supported: bulk.supported,
      maxOperations: bulk.maxOperations,
      maxPayloadSize: bulk.maxPayloadSize,
    },
    filter: { supported: true, maxResults: filter.maxResults },
    changePassword: { supported: features.isPasswordChangeSupported },
    sort: { supported: features.isSortSupported },
    etag: { supported: true },
    authenticationSchemes: authenticationSchemes.map(({ type, name, description, specUri, primary }) => ({
      type,
      name,
      description,
      ...(specUri === undefined ? {} : { specUri }),
      ...(primary === undefined ? {} : { primary }),
    })),
    pagination: {
      cursor: pagination.cursor,
      index: true,
      defaultPaginationMethod: "index",
      defaultPageSize: pagination.defaultPageSize,
      maxPageSize: pagination.maxPageSize,
      ...(pagination.cursorTimeout === undefined ? {} : { cursorTimeout: pagination.cursorTimeout }),
    },
    meta: metaOf("ServiceProviderConfig", `${baseUrl}/ServiceProviderConfig`),
  };
}

/** @param baseUrl as for {@link renderServiceProviderConfig}. */
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

/** @param baseUrl as for {@link renderServiceProviderConfig}. */
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
