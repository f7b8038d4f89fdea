// Checks the value of a PATCH operation and gives it the exact spelling of the schema (RFC 7643 §2).

import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { isJsonArray, isJsonObject } from "../../schema/json_limits.ts";
import { isPrimary } from "../../schema/value_rules.ts";
import { simpleValueProblem } from "../schema/read_body.ts";
import { type AttributeDefinition, findSub, subDefinitions } from "../../schema/attribute_definition.ts";
import { PatchRefusal } from "./patch_schema.ts";

/**
 * The value of a whole attribute, in the spelling of the schema. `undefined`: unassigned, because null and an empty list mean that (RFC 7643 §2.5).
 *
 * @param at the name in messages.
 * @throws PatchRefusal `invalidValue`, or `mutability` for a sub-attribute that is readOnly.
 */
export function cleanAttribute(
  value: JsonValue,
  node: AttributeDefinition,
  at: string = node.name,
): JsonValue | undefined {
  if (value === null) return undefined;
  if (!node.multiValued) return cleanEntry(value, node, at);
  if (!isJsonArray(value)) throw new PatchRefusal("invalidValue", `Send "${at}" as a list.`);
  const entries = value.flatMap((one) => {
    const entry = cleanEntry(one, node, at);
    return entry === undefined ? [] : [entry];
  });
  return entries.length === 0 ? undefined : entries;
}

/** {@link cleanAttribute} for one entry of a multi-valued attribute. */
export function cleanEntry(
  value: JsonValue,
  node: AttributeDefinition,
  at: string = node.name,
): JsonValue | undefined {
  if (value === null) return undefined;
  if (node.type === "complex") return cleanComplex(value, node);
  const { type, mutability } = node;
  const problem = simpleValueProblem({ type, mutability }, value);
  if (problem !== null) throw new PatchRefusal("invalidValue", `"${at}" ${problem}.`);
  return value;
}

function cleanComplex(value: JsonValue, node: AttributeDefinition): JsonObject | undefined {
  const parts = cleanParts(value, node).filter(([, part]) => part !== undefined);
  return parts.length === 0 ? undefined : Object.fromEntries(parts) as JsonObject;
}

/** The sub-attributes of a complex value. `undefined`: the sub-attribute becomes unassigned. */
function cleanParts(value: JsonValue, node: AttributeDefinition): [string, JsonValue | undefined][] {
  if (!isJsonObject(value)) throw new PatchRefusal("invalidValue", `Send "${node.name}" as an object.`);
  const seen = new Set<AttributeDefinition>();
  return Object.entries(value).map(([name, part]) => {
    const sub = findSub(node, name);
    if (sub !== undefined && seen.size === seen.add(sub).size) throw sentTwice(`${node.name}.${sub.name}`);
    if (sub === undefined) {
      throw new PatchRefusal("invalidValue", `Use the sub-attributes of "${node.name}" that /Schemas lists.`);
    }
    if (sub.mutability === "readOnly") {
      throw new PatchRefusal(
        "mutability",
        `Remove "${node.name}.${sub.name}" from the value: it is readOnly.`,
      );
    }
    return [sub.name, cleanAttribute(part, sub, `${node.name}.${sub.name}`)];
  });
}

/** The refusal for one name in two spellings: another reader of the body may take the other value. */
export function sentTwice(name: string): PatchRefusal {
  return new PatchRefusal("invalidSyntax", `Send "${name}" once. Case does not count.`);
}

/** A complex value with the given sub-attributes changed. The others stay (RFC 7644 §3.5.2.3). `undefined`: none is left. */
export function mergeComplex(
  current: JsonObject,
  value: JsonValue,
  node: AttributeDefinition,
): JsonObject | undefined {
  return cleanParts(value, node).reduce<JsonObject | undefined>(
    (merged, [name, part]) => withPart(merged ?? {}, name, part),
    current,
  );
}

/** An object with one part set, or without it. `undefined`: no part is left. */
export function withPart(
  object: JsonObject,
  name: string,
  part: JsonValue | undefined,
): JsonObject | undefined {
  const { [name]: _, ...others } = object;
  if (part !== undefined) return { ...object, [name]: part };
  return Object.keys(others).length === 0 ? undefined : others;
}

/**
 * Checks an attribute after all operations: required parts, and at most one primary entry (RFC 7643 §2.2 and §2.4).
 *
 * @throws PatchRefusal `mutability` for a missing required attribute (RFC 7644 §3.5.2.2), or `invalidValue`.
 */
export function checkAttribute(value: JsonValue | undefined, node: AttributeDefinition): void {
  if (value === undefined || value === "") {
    if (!node.required) return;
    throw new PatchRefusal("mutability", `Keep a value of "${node.name}": it is required.`);
  }
  if (node.type !== "complex") return;
  const entries = isJsonArray(value) ? value : [value];
  const required = subDefinitions(node).filter(({ required }) => required);
  for (const entry of entries) {
    const missing = required.find(({ name }) => !isJsonObject(entry) || !Object.hasOwn(entry, name));
    if (missing !== undefined) {
      throw new PatchRefusal("invalidValue", `Send "${node.name}.${missing.name}" too: it is required.`);
    }
  }
  if (entries.filter(isPrimary).length > 1) {
    throw new PatchRefusal("invalidValue", `Mark at most one entry of "${node.name}" as primary.`);
  }
}
