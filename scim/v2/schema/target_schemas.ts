// The schemas and resource types of one target: the core schemas, the enterprise extension and custom extensions
// (RFC 7643 §3.3, §6).

import type { ResourceKind } from "../../schema/resource.ts";
import {
  type AttributeDefinition,
  findDefinition,
  type ResourceTypeDefinition,
  type SchemaDefinition,
  type SchemaExtension,
} from "../../schema/attribute_definition.ts";
import {
  COMMON_DEFINITIONS,
  ENTERPRISE_DEFINITION,
  GROUP_DEFINITION,
  USER_DEFINITION,
} from "../../schema/attribute_table.ts";
import { DISCOVERY_DEFINITIONS } from "./discovery_schemas.ts";

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
