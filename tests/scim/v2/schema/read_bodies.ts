// Helpers for tests of bodies: schemas with custom extensions, and readers that fail the test.

import type { JsonObject, JsonValue, ResourceKind } from "../../../../scim/schema/resource.ts";
import type { ResourceTypeDefinition } from "../../../../scim/schema/attribute_table.ts";
import { parseExtensions } from "../../../../scim/v2/schema/custom_extension.ts";
import { readBody, type ReadBodyOptions } from "../../../../scim/v2/schema/read_body.ts";
import { createTargetSchemas } from "../../../../scim/v2/schema/target_schemas.ts";

export const BADGE_URN = "urn:example:params:scim:badge:2.0:User";
export const ENTERPRISE_URN = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
export const USER_URN = "urn:ietf:params:scim:schemas:core:2.0:User";
export const GROUP_URN = "urn:ietf:params:scim:schemas:core:2.0:Group";

/** One attribute of each type and of each mutability that a custom extension may have. */
export const BADGE_EXTENSION: JsonValue = {
  id: BADGE_URN,
  name: "Badge",
  description: "The badge of a user.",
  attributes: [
    { name: "number", type: "integer" },
    { name: "weight", type: "decimal" },
    { name: "serial", mutability: "immutable", caseExact: true },
    { name: "lastSeen", type: "dateTime", mutability: "readOnly" },
    { name: "issued", type: "dateTime" },
    { name: "isLost", type: "boolean" },
    { name: "photo", type: "binary" },
    { name: "notes", returned: "request" },
    { name: "colour", returned: "always" },
    { name: "doors", multiValued: true },
    {
      name: "floors",
      type: "complex",
      multiValued: true,
      subAttributes: [{ name: "value", type: "integer", required: true }, {
        name: "primary",
        type: "boolean",
      }],
    },
    {
      name: "chip",
      type: "complex",
      subAttributes: [{ name: "vendor", mutability: "immutable" }, { name: "key", returned: "request" }],
    },
  ],
};

const custom = parseExtensions([BADGE_EXTENSION]);
if (!custom.ok) throw new Error(custom.problem);

export const BADGE_SCHEMAS = createTargetSchemas(custom.extensions);

export function typeOf(kind: ResourceKind): ResourceTypeDefinition {
  return BADGE_SCHEMAS.types[kind];
}

/** The core schema is added if `body` names no schemas. */
export function outcomeOf(kind: ResourceKind, body: JsonObject, options: ReadBodyOptions = {}) {
  const type = typeOf(kind);
  return readBody({ schemas: [type.schema.id], ...body }, type, options);
}

/** A resource that must be accepted, without `schemas`. */
export function accepted(
  kind: ResourceKind,
  body: JsonObject,
  options: ReadBodyOptions = {},
): JsonObject {
  const outcome = outcomeOf(kind, body, options);
  if (!outcome.ok) throw new Error(`Cannot read the body: ${outcome.detail}`);
  const { schemas: _, ...resource } = outcome.resource;
  return resource;
}

/** The scimType and the sentence of a body that must be refused. */
export function problemOf(kind: ResourceKind, body: JsonObject, options: ReadBodyOptions = {}) {
  const outcome = outcomeOf(kind, body, options);
  if (outcome.ok) throw new Error(`The body was accepted: ${JSON.stringify(outcome.resource)}`);
  return [outcome.scimType, outcome.detail];
}
