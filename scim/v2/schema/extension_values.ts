// The values of custom extensions that the specified interface stores: they must be values that the full interface can show and take back.

import { property } from "../../schema/attributes.ts";
import { isJsonArray, isJsonObject, isSameJson } from "../../schema/json_limits.ts";
import { ENTERPRISE_SCHEMA } from "../../schema/attribute_table.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import {
  type AttributeDefinition,
  findDefinition,
  type ResourceTypeDefinition,
} from "../../schema/attribute_definition.ts";
import { readAttributeValue, UnreadableBody } from "./read_body.ts";
import { isTextForm } from "./stored_value.ts";

/**
 * The problem of the first value that an extension of the type cannot have, as a sentence. `null`: none.
 *
 * @param previous the attributes of the resource. A value that it has may stay.
 */
export function extensionProblem(
  attributes: JsonObject,
  { extensions }: ResourceTypeDefinition,
  previous: JsonObject = {},
): string | null {
  for (const { schema } of extensions) {
    // The attribute table has the enterprise extension.
    if (schema.id === ENTERPRISE_SCHEMA) continue;
    const values = sectionOf(attributes, schema.id);
    const held = sectionOf(previous, schema.id);
    if (!isJsonObject(values)) {
      if (isSameJson(values, held)) continue;
      return `${schema.id} must be an object.`;
    }
    for (const [name, value] of Object.entries(values)) {
      const definition = findDefinition(schema.attributes, name);
      if (
        definition === undefined || isSameJson(value, isJsonObject(held) ? property(held, name) : undefined)
      ) continue;
      const problem = problemOf(value, definition, `${schema.id}:${definition.name}`);
      if (problem !== null) return problem;
    }
  }
  return null;
}

function sectionOf(attributes: JsonObject, urn: string): JsonValue {
  const lower = urn.toLowerCase();
  return Object.entries(attributes).find(([name]) => name.toLowerCase() === lower)?.[1] ?? {};
}

function problemOf(value: JsonValue, definition: AttributeDefinition, at: string): string | null {
  // Programs of this interface, and backends, write numbers and booleans as texts.
  const entries = isJsonArray(value) ? value : [value];
  if (entries.every((one) => typeof one === "string" && isTextForm(definition.type, one))) return null;
  try {
    readAttributeValue(value, { definition, at, options: { unknown: "ignore" } });
    return null;
  } catch (fault) {
    if (fault instanceof UnreadableBody) return fault.message;
    throw fault;
  }
}
