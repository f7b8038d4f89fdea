// Attribute values as texts.

import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";

/** Any value as one line. */
export function valueText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(valueText).filter((one) => one !== "").join(", ");
  if (!isObjectValue(value)) return String(value);
  const named = Object.entries(value).map(([name, one]) => [name, valueText(one)] as const)
    .filter(([, text]) => text !== "");
  const main = named.find(([name]) => name === "value");
  if (main !== undefined) {
    const type = named.find(([name]) => name === "type");
    return type === undefined ? main[1] : `${main[1]} (${type[1]})`;
  }
  return named.map(([name, text]) => `${name}: ${text}`).join(", ");
}

export function isObjectValue(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
