// The schemas and resource types of one target: the core schemas, the enterprise extension and custom extensions (RFC 7643 §3.3, §6). The schemas of
// ServiceProviderConfig, ResourceType and Schema (RFC 7643 §5 to §7, §8.7.2; RFC 9865 §4).

import type { ResourceKind } from "../../schema/resource.ts";
import {
  type AttributeDefinition,
  type Characteristics,
  COMMON_DEFINITIONS,
  defineAttribute,
  DEFINED_TYPES,
  ENTERPRISE_DEFINITION,
  findDefinition,
  GROUP_DEFINITION,
  MUTABILITIES,
  type ResourceTypeDefinition,
  RETURN_RULES,
  type SchemaDefinition,
  type SchemaExtension,
  UNIQUENESS_RULES,
  USER_DEFINITION,
} from "../../schema/attribute_table.ts";

/** An extension that an administrator defines. */
export interface CustomExtension extends SchemaExtension {
  readonly kind: ResourceKind;
}

/** What /Schemas and /ResourceTypes of one target list. */
export interface TargetSchemas {
  readonly types: Readonly<Record<ResourceKind, ResourceTypeDefinition>>;
  readonly schemas: readonly SchemaDefinition[];
}

/** @param custom definitions that `parseExtensions` accepted. */
export function createTargetSchemas(custom: readonly CustomExtension[] = []): TargetSchemas {
  const of = (kind: ResourceKind): SchemaExtension[] => custom.filter((one) => one.kind === kind);
  return {
    types: {
      user: {
        kind: "user",
        name: "User",
        description: USER_DEFINITION.description,
        endpoint: "/Users",
        schema: USER_DEFINITION,
        extensions: [{ schema: ENTERPRISE_DEFINITION, required: false }, ...of("user")],
      },
      group: {
        kind: "group",
        name: "Group",
        description: GROUP_DEFINITION.description,
        endpoint: "/Groups",
        schema: GROUP_DEFINITION,
        extensions: of("group"),
      },
    },
    schemas: [
      USER_DEFINITION,
      GROUP_DEFINITION,
      ENTERPRISE_DEFINITION,
      ...custom.map(({ schema }) => schema),
      ...DISCOVERY_DEFINITIONS,
    ],
  };
}

/** The place that the name of an attribute in a request denotes. */
type NamedAttribute =
  /** A common or core attribute. */
  | { readonly extension: null; readonly attribute: AttributeDefinition }
  /** An attribute of an extension. */
  | { readonly extension: SchemaDefinition; readonly attribute: AttributeDefinition }
  /** An extension as a whole. */
  | { readonly extension: SchemaDefinition; readonly attribute: null };

/** The common attributes, then those of the core schema. */
export function topLevelDefinitions(type: ResourceTypeDefinition): readonly AttributeDefinition[] {
  let all = topLevel.get(type.schema);
  if (all === undefined) {
    all = [...COMMON_DEFINITIONS, ...type.schema.attributes];
    topLevel.set(type.schema, all);
  }
  return all;
}
const topLevel = new WeakMap<SchemaDefinition, readonly AttributeDefinition[]>();

/** No URN of a schema with the name of an attribute is longer. */
const MAX_QUALIFIED_NAME = 400;

/**
 * Resolves a name without a sub-attribute: `userName`, the name after the URN of its schema, or the URN of an
 * extension (RFC 7644 §3.10). Case does not matter.
 *
 * @returns `undefined` if no schema of the type has the attribute.
 */
export function resolveAttribute(type: ResourceTypeDefinition, name: string): NamedAttribute | undefined {
  if (name.length > MAX_QUALIFIED_NAME) return undefined;
  const lower = name.toLowerCase();
  for (const { schema } of type.extensions) {
    const urn = schema.id.toLowerCase();
    if (lower === urn) return { extension: schema, attribute: null };
    if (!lower.startsWith(`${urn}:`)) continue;
    const attribute = findDefinition(schema.attributes, name.slice(urn.length + 1));
    return attribute === undefined ? undefined : { extension: schema, attribute };
  }
  const core = `${type.schema.id.toLowerCase()}:`;
  const plain = lower.startsWith(core) ? name.slice(core.length) : name;
  const attribute = findDefinition(topLevelDefinitions(type), plain);
  return attribute === undefined ? undefined : { extension: null, attribute };
}

export const SERVICE_PROVIDER_CONFIG_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig";
export const RESOURCE_TYPE_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:ResourceType";
export const SCHEMA_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Schema";

type More = Partial<Characteristics>;
const URI = { type: "reference", referenceTypes: ["uri"], caseExact: true } as const;
const EXTERNAL = { type: "reference", referenceTypes: ["external"], caseExact: true } as const;

/** Definitions that only the server writes. */
function readOnlyBy(ref: string) {
  return (name: string, description: string, more: More = {}): AttributeDefinition =>
    defineAttribute(name, description, { mutability: "readOnly", ref, ...more });
}

const config = readOnlyBy("RFC 7643 §5");
const paging = readOnlyBy("RFC 9865 §4");
const resourceType = readOnlyBy("RFC 7643 §6");
const schema = readOnlyBy("RFC 7643 §7");

/** A feature of the server with its limits. */
function feature(name: string, description: string, limits: readonly AttributeDefinition[] = []) {
  return config(name, description, {
    type: "complex",
    required: true,
    subAttributes: [
      config("supported", "Whether the server supports it.", { type: "boolean", required: true }),
      ...limits,
    ],
  });
}

const limit = (name: string, description: string) =>
  config(name, description, { type: "integer", required: true });

const AUTHENTICATION_PARTS = [
  config("type", "The kind of the scheme.", {
    required: true,
    canonicalValues: ["oauth", "oauth2", "oauthbearertoken", "httpbasic", "httpdigest"],
  }),
  config("name", "The name of the scheme.", { required: true }),
  config("description", "How a client authenticates.", { required: true }),
  config("specUri", "The URL of the specification.", EXTERNAL),
  config("documentationUri", "The URL of the documentation.", EXTERNAL),
  config("primary", "The preferred scheme.", { type: "boolean" }),
];

/** RFC 7643 §5. */
const SERVICE_PROVIDER_CONFIG: SchemaDefinition = {
  id: SERVICE_PROVIDER_CONFIG_SCHEMA,
  name: "Service Provider Configuration",
  description: "What the server supports.",
  attributes: [
    config("documentationUri", "The URL of the documentation.", EXTERNAL),
    feature("patch", "PATCH (RFC 7644 §3.5.2)."),
    feature("bulk", "Bulk requests (RFC 7644 §3.7).", [
      limit("maxOperations", "The largest number of operations in a request."),
      limit("maxPayloadSize", "The largest size of a request, in bytes."),
    ]),
    feature("filter", "Filters (RFC 7644 §3.4.2.2).", [
      limit("maxResults", "The largest number of resources in a response."),
    ]),
    feature("changePassword", "Changes of passwords."),
    feature("sort", "Sorting (RFC 7644 §3.4.2.3)."),
    feature("etag", "Entity tags (RFC 7644 §3.14)."),
    config("authenticationSchemes", "How a client can authenticate.", {
      type: "complex",
      multiValued: true,
      required: true,
      subAttributes: AUTHENTICATION_PARTS,
    }),
    paging("pagination", "How a client can read long lists.", {
      type: "complex",
      subAttributes: [
        paging("cursor", "Whether pages have cursors.", { type: "boolean", required: true }),
        paging("index", "Whether pages have a start index.", { type: "boolean", required: true }),
        paging("defaultPaginationMethod", "The method of a request that names none.", {
          canonicalValues: ["cursor", "index"],
        }),
        paging("defaultPageSize", "The size of a page if the request names none.", { type: "integer" }),
        paging("maxPageSize", "The largest size of a page.", { type: "integer" }),
        paging("cursorTimeout", "How long a cursor is valid, in seconds.", { type: "integer" }),
      ],
    }),
  ],
};

/** RFC 7643 §6. */
const RESOURCE_TYPE: SchemaDefinition = {
  id: RESOURCE_TYPE_SCHEMA,
  name: "ResourceType",
  description: "A type of resources.",
  attributes: [
    resourceType("id", "The identifier of the resource type."),
    resourceType("name", "The name of the resource type.", {
      required: true,
      caseExact: true,
      uniqueness: "server",
    }),
    resourceType("description", "What the resources are."),
    resourceType("endpoint", "The path of the resources below the base URL.", {
      ...URI,
      required: true,
      uniqueness: "server",
    }),
    resourceType("schema", "The URN of the core schema.", { ...URI, required: true }),
    resourceType("schemaExtensions", "The extensions of the resource type.", {
      type: "complex",
      multiValued: true,
      // RFC 7643 §6: optional. A group has no extension.
      subAttributes: [
        resourceType("schema", "The URN of the extension.", { ...URI, required: true }),
        resourceType("required", "Whether every resource must have the extension.", {
          type: "boolean",
          required: true,
        }),
      ],
    }),
  ],
};

/** The characteristics of an attribute, without its sub-attributes. */
const CHARACTERISTICS: readonly AttributeDefinition[] = [
  schema("name", "The name of the attribute.", { required: true, caseExact: true }),
  schema("type", "The type of the value.", { required: true, canonicalValues: DEFINED_TYPES }),
  schema("multiValued", "Whether the attribute has several values.", { type: "boolean", required: true }),
  schema("description", "What the attribute is.", { caseExact: true }),
  schema("required", "Whether a resource must have the attribute.", { type: "boolean" }),
  schema("canonicalValues", "Suggested values.", { multiValued: true, caseExact: true }),
  schema("caseExact", "Whether values are compared with case.", { type: "boolean" }),
  schema("mutability", "Who can write the attribute, and when.", {
    caseExact: true,
    canonicalValues: MUTABILITIES,
  }),
  schema("returned", "When a response contains the attribute.", {
    caseExact: true,
    canonicalValues: RETURN_RULES,
  }),
  schema("uniqueness", "Whether two resources can have the same value.", {
    caseExact: true,
    canonicalValues: UNIQUENESS_RULES,
  }),
  schema("referenceTypes", "What a reference can refer to.", { multiValued: true, caseExact: true }),
];

/** RFC 7643 §7. */
const SCHEMA: SchemaDefinition = {
  id: SCHEMA_SCHEMA,
  name: "Schema",
  description: "A schema of resources.",
  attributes: [
    schema("id", "The URN of the schema.", { required: true, caseExact: true }),
    schema("name", "The name of the schema.", { caseExact: true }),
    schema("description", "What the schema describes.", { caseExact: true }),
    schema("attributes", "The attributes of the schema.", {
      type: "complex",
      multiValued: true,
      required: true,
      subAttributes: [
        ...CHARACTERISTICS,
        schema("subAttributes", "The sub-attributes of a complex attribute.", {
          type: "complex",
          multiValued: true,
          subAttributes: CHARACTERISTICS,
        }),
      ],
    }),
  ],
};

/** The schemas that describe the server itself. */
const DISCOVERY_DEFINITIONS: readonly SchemaDefinition[] = [
  SERVICE_PROVIDER_CONFIG,
  RESOURCE_TYPE,
  SCHEMA,
];
