// JSON Schema (2020-12) of resources, from the definitions of their attributes: what responses contain, and what requests may contain.

import { NAME_SCHEMA } from "../../http/openapi_schemas.ts";
import { MAX_MEMBERS } from "../../schema/parse_resource.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import {
  type AttributeDefinition,
  type DefinedType,
  findDefinition,
  type ResourceTypeDefinition,
  type SchemaDefinition,
  subDefinitions,
} from "../schema/attribute_definition.ts";
import { BASE64_TEXT } from "../../schema/value_rules.ts";
import { MAX_LIST_ENTRIES } from "../schema/read_value.ts";
import { MAX_USER_PASSWORD_CHARACTERS } from "../schema/stored_content.ts";
import { topLevelDefinitions } from "../schema/target_schemas.ts";

const SIMPLE_TYPES: Readonly<Record<Exclude<DefinedType, "complex">, JsonObject>> = {
  string: { type: "string" },
  boolean: { type: "boolean" },
  decimal: { type: "number" },
  integer: { type: "integer" },
  dateTime: { type: "string", format: "date-time" },
  reference: { type: "string" },
  binary: { type: "string", contentEncoding: "base64", pattern: BASE64_TEXT.source },
};
/** Row `boolean_text` of VALUE_SHAPES. */
const TRUE_TEXT = "[tT][rR][uU][eE]";
const BOOLEAN_TEXT = `^(${TRUE_TEXT}|[fF][aA][lL][sS][eE])$`;
const { type: _text, ...NAME_LIMITS } = NAME_SCHEMA;
const UNASSIGNED_REF = "#/components/schemas/V2Unassigned";

/** What a response contains. `schemas` and `id` are always there; a request can leave out the others (RFC 7644 §3.9). */
export function responseSchema({ schema, extensions, ...type }: ResourceTypeDefinition): JsonObject {
  const core = topLevelDefinitions({ schema, extensions, ...type });
  const properties = propertiesOf(core.filter(isReturned), returnedSchema);
  for (const extension of extensions) {
    properties[extension.schema.id] = objectSchema(
      extension.schema.attributes.filter(isReturned),
      returnedSchema,
    );
  }
  return {
    type: "object",
    description: `${schema.id}. A target can have further extensions: /Schemas lists them.`,
    required: ["schemas", "id"],
    properties,
    additionalProperties: true,
  };
}

/** A response that only the server writes: ServiceProviderConfig, ResourceType and Schema. */
export function discoverySchema({ id, attributes }: SchemaDefinition): JsonObject {
  const properties = propertiesOf(attributes, returnedSchema);
  return {
    type: "object",
    description: id,
    required: ["schemas", ...attributes.filter(({ required }) => required).map(({ name }) => name)],
    properties: { schemas: { type: "array", items: { type: "string" } }, ...properties },
    additionalProperties: true,
  };
}

function isReturned({ returned }: AttributeDefinition): boolean {
  return returned !== "never";
}

function returnedSchema(definition: AttributeDefinition): JsonObject {
  const { type, multiValued, description, mutability, canonicalValues } = definition;
  const one = type === "complex"
    ? objectSchema(subDefinitions(definition), returnedSchema)
    : SIMPLE_TYPES[type];
  return {
    ...(multiValued ? { type: "array", items: one } : one),
    description,
    ...(mutability === "readOnly" ? { readOnly: true } : {}),
    ...(canonicalValues === undefined || multiValued ? {} : { examples: [...canonicalValues] }),
  };
}

function objectSchema(
  definitions: readonly AttributeDefinition[],
  schemaOf: (definition: AttributeDefinition) => JsonObject,
): JsonObject {
  return { type: "object", properties: propertiesOf(definitions, schemaOf), additionalProperties: true };
}

function propertiesOf(
  definitions: readonly AttributeDefinition[],
  schemaOf: (definition: AttributeDefinition) => JsonObject,
): Record<string, JsonValue> {
  return Object.fromEntries(definitions.map((definition) => [definition.name, schemaOf(definition)]));
}

/** What the body of a POST or PUT may contain, with the tolerated shapes of VALUE_SHAPES. Other attributes are ignored. */
export function requestSchema(type: ResourceTypeDefinition): JsonObject {
  const naming = type.kind === "user" ? "userName" : "displayName";
  const core = topLevelDefinitions(type).filter(({ mutability, name }) =>
    mutability !== "readOnly" && name !== "schemas"
  );
  const properties = propertiesOf(core, (one) => acceptedSchema(one, limitsOf(type, one)));
  for (const { schema } of type.extensions) {
    properties[schema.id] = orUnassigned(objectSchema(schema.attributes, (one) => acceptedSchema(one, {})));
  }
  return {
    type: "object",
    description:
      `${type.schema.id}. readOnly attributes, and attributes that no schema defines, are ignored.`,
    required: [naming],
    properties: {
      schemas: {
        type: "array",
        items: { type: "string" },
        contains: { const: type.schema.id },
        description: "The core schema, and each extension that the body uses.",
      },
      ...properties,
    },
    additionalProperties: true,
  };
}

/** Limits beyond the type. */
function limitsOf({ kind }: ResourceTypeDefinition, { name }: AttributeDefinition): JsonObject {
  if (name === (kind === "user" ? "userName" : "displayName")) return NAME_LIMITS;
  if (name === "password") return { minLength: 1, maxLength: MAX_USER_PASSWORD_CHARACTERS };
  return {};
}

function acceptedSchema(definition: AttributeDefinition, limits: JsonObject): JsonObject {
  const { description, mutability, multiValued, required } = definition;
  const one = multiValued ? acceptedList(definition) : acceptedOne(definition, { isEntry: false, limits });
  return {
    ...(required ? one : orUnassigned(one)),
    description,
    ...(mutability === "writeOnly" ? { writeOnly: true } : {}),
  };
}

/** RFC 7643 §2.5: the attribute has no value. An empty object means the same here. */
export const UNASSIGNED_SCHEMA: JsonObject = {
  anyOf: [{ type: "null" }, { type: "array", maxItems: 0 }, { type: "object", maxProperties: 0 }],
};

function orUnassigned(schema: JsonObject): JsonObject {
  return { anyOf: [...variantsOf(schema), { $ref: UNASSIGNED_REF }] };
}

/** A list, or its only entry (`single_entry`). */
function acceptedList(definition: AttributeDefinition): JsonObject {
  const entry = acceptedOne(definition, { isEntry: true, limits: {} });
  const hasPrimary = findDefinition(subDefinitions(definition), "primary") !== undefined;
  const list = {
    type: "array",
    maxItems: definition.name === "members" ? MAX_MEMBERS : MAX_LIST_ENTRIES,
    items: orUnassigned(entry),
    ...(hasPrimary ? ONE_PRIMARY : {}),
  };
  return { anyOf: [list, ...variantsOf(entry)] };
}

/** RFC 7643 §2.4. */
const ONE_PRIMARY: JsonObject = {
  contains: {
    type: "object",
    required: ["primary"],
    properties: { primary: { anyOf: [{ const: true }, { type: "string", pattern: `^${TRUE_TEXT}$` }] } },
  },
  minContains: 0,
  maxContains: 1,
};

function acceptedOne(
  definition: AttributeDefinition,
  { isEntry, limits }: { isEntry: boolean; limits: JsonObject },
): JsonObject {
  const { type, name, canonicalValues } = definition;
  if (type === "boolean") return { anyOf: [{ type }, { type: "string", pattern: BOOLEAN_TEXT }] };
  const examples: JsonObject = canonicalValues === undefined ? {} : { examples: [...canonicalValues] };
  if (type !== "complex") return { ...SIMPLE_TYPES[type], ...limits, ...examples };
  const subs = subDefinitions(definition).filter(({ mutability }) => mutability !== "readOnly");
  const object = {
    ...objectSchema(subs, (sub) => acceptedSchema(sub, {})),
    // Only the id says which user a member is.
    ...(name === "members" ? { required: ["value"], properties: MEMBER } : {}),
  };
  // `complex_text` and `list_of_one`.
  const hasValue = findDefinition(subs, "value") !== undefined;
  const text: JsonObject = name === "members" ? { type: "string", minLength: 1 } : { type: "string" };
  const list = { type: "array", minItems: 1, maxItems: 1, items: object };
  return { anyOf: [object, ...(hasValue ? [text] : []), ...(isEntry ? [] : [list])] };
}

const MEMBER: JsonObject = {
  value: { type: "string", minLength: 1, description: "The id of a user." },
  type: { type: ["string", "null"], examples: ["User"] },
  $ref: { type: ["string", "null"] },
};

function variantsOf(schema: JsonObject): readonly JsonValue[] {
  return Array.isArray(schema["anyOf"]) ? schema["anyOf"] : [schema];
}
