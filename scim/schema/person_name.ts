// The part of a user's name that every answer has.

import type { JsonObject, JsonValue } from "./resource.ts";
import { isObject } from "./json_limits.ts";

/** A user's attributes with the two names that always are there, first. */
export function withName(attributes: JsonObject): JsonObject {
  const { name, ...rest } = attributes;
  const given: JsonObject = isObject(name) ? name : {};
  const textOr = (value: JsonValue | undefined) => typeof value === "string" ? value : "";
  const familyName = textOr(given["familyName"]);
  const givenName = textOr(given["givenName"]);
  return { name: { ...given, familyName, givenName }, ...rest };
}
