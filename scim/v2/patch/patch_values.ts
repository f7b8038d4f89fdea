// Checks the value of a PATCH operation and gives it the exact spelling of the schema (RFC 7643 §2).

import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { isJsonArray, isJsonObject } from "../../schema/json_limits.ts";
import { findPatchNode, type PatchNode, PatchRefusal } from "./patch_schema.ts";

type ScalarType = Exclude<PatchNode["type"], "complex">;

/** RFC 7643 §2.3, by type: the JSON form, and what to send. */
const SCALARS: Readonly<
  Record<ScalarType, { readonly holds: (value: JsonValue) => boolean; readonly wanted: string }>
> = {
  string: { holds: isText, wanted: "a string" },
  reference: { holds: isText, wanted: "a string with a URI" },
  binary: { holds: isText, wanted: "a string in base 64" },
  boolean: { holds: (value) => typeof value === "boolean", wanted: "true or false" },
  decimal: { holds: (value) => typeof value === "number", wanted: "a number" },
  integer: { holds: (value) => Number.isSafeInteger(value), wanted: "an integer" },
  dateTime: { holds: isDate, wanted: "a date and time" },
};

function isText(value: JsonValue): boolean {
  return typeof value === "string" && value.isWellFormed();
}

function isDate(value: JsonValue): boolean {
  return typeof value === "string" && !Number.isNaN(Date.parse(value));
}

/**
 * The value of a whole attribute, in the spelling of the schema. `undefined`: unassigned, because null and an empty list mean that (RFC 7643 §2.5).
 *
 * @throws PatchRefusal `invalidValue`, or `mutability` for a sub-attribute that is readOnly.
 */
export function cleanAttribute(value: JsonValue, node: PatchNode): JsonValue | undefined {
  if (value === null) return undefined;
  if (!node.isMulti) return cleanEntry(value, node);
  if (!isJsonArray(value)) throw new PatchRefusal("invalidValue", `Send "${node.name}" as a list.`);
  const entries = value.flatMap((one) => {
    const entry = cleanEntry(one, node);
    return entry === undefined ? [] : [entry];
  });
  return entries.length === 0 ? undefined : entries;
}

/** {@link cleanAttribute} for one entry of a multi-valued attribute. */
export function cleanEntry(value: JsonValue, node: PatchNode): JsonValue | undefined {
  if (value === null) return undefined;
  if (node.type === "complex") return cleanComplex(value, node);
  const { holds, wanted } = SCALARS[node.type];
  if (!holds(value)) throw new PatchRefusal("invalidValue", `Send "${node.name}" as ${wanted}.`);
  return value;
}

function cleanComplex(value: JsonValue, node: PatchNode): JsonObject | undefined {
  const parts = cleanParts(value, node).filter(([, part]) => part !== undefined);
  return parts.length === 0 ? undefined : Object.fromEntries(parts) as JsonObject;
}

/** The sub-attributes of a complex value. `undefined`: the sub-attribute becomes unassigned. */
function cleanParts(value: JsonValue, node: PatchNode): [string, JsonValue | undefined][] {
  if (!isJsonObject(value)) throw new PatchRefusal("invalidValue", `Send "${node.name}" as an object.`);
  return Object.entries(value).map(([name, part]) => {
    const sub = findPatchNode(node.sub, name);
    if (sub === undefined) {
      throw new PatchRefusal("invalidValue", `Use the sub-attributes of "${node.name}" that /Schemas lists.`);
    }
    if (sub.mutability === "readOnly") {
      throw new PatchRefusal(
        "mutability",
        `Remove "${node.name}.${sub.name}" from the value: it is readOnly.`,
      );
    }
    return [sub.name, cleanAttribute(part, sub)];
  });
}

/** A complex value with the given sub-attributes changed. The others stay (RFC 7644 §3.5.2.3). `undefined`: none is left. */
export function mergeComplex(
  current: JsonObject,
  value: JsonValue,
  node: PatchNode,
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
export function checkAttribute(value: JsonValue | undefined, node: PatchNode): void {
  if (value === undefined || value === "") {
    if (!node.isRequired) return;
    throw new PatchRefusal("mutability", `Keep a value of "${node.name}": it is required.`);
  }
  if (node.type !== "complex") return;
  const entries = isJsonArray(value) ? value : [value];
  const required = [...node.sub.values()].filter(({ isRequired }) => isRequired);
  for (const entry of entries) {
    const missing = required.find(({ name }) => !isJsonObject(entry) || !Object.hasOwn(entry, name));
    if (missing !== undefined) {
      throw new PatchRefusal("invalidValue", `Send "${node.name}.${missing.name}" too: it is required.`);
    }
  }
  if (entries.filter((entry) => isPrimary(entry)).length > 1) {
    throw new PatchRefusal("invalidValue", `Mark at most one entry of "${node.name}" as primary.`);
  }
}

/** Whether an entry is the primary one of its attribute. */
export function isPrimary(entry: JsonValue): boolean {
  return isJsonObject(entry) && Object.hasOwn(entry, "primary") && entry.primary === true;
}
