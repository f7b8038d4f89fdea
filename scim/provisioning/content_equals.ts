// Whether two contents say the same, whatever the order of their attributes and members.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Content, JsonValue } from "../schema/resource.ts";

export function sameContent(a: Content, b: Content): boolean {
  if (a === b) return true;
  if (a.name !== b.name || !equalJson(a.attributes, b.attributes)) return false;
  if (a.kind === "user") return b.kind === "user" && a.active === b.active;
  return b.kind === "group" && sameMembers(a.members, b.members);
}

/** Names are compared without case: another spelling of a member is no other member. */
export function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  if (a.every((name, at) => name === b[at])) return true;
  const names = new Set(a.map(canonicalName));
  return b.every((name) => names.has(canonicalName(name)));
}

/** Deep equality; the order of an object's members is nothing, that of an array's entries counts. Recursion ends: JSON here is at most 32 deep. */
export function equalJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (isArray(a) || isArray(b)) {
    return isArray(a) && isArray(b) && a.length === b.length &&
      a.every((value, at) => equalJson(value, b[at]));
  }
  const names = Object.keys(a);
  return names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && equalJson(a[name], b[name]));
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
