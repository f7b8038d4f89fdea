// What a write changes in a resource, compared with what was agreed before: the attributes, and the members that leave. Pure.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { ContentChanges } from "../backend_port.ts";
import { property } from "./attributes.ts";
import { isJsonObject, isSameJson } from "./json_limits.ts";
import type { Content, JsonObject, JsonValue } from "./resource.ts";

export const NO_CHANGES: ContentChanges = { attributes: [], left: [] };
/** An entry of the outbox is one value of the store, with at most 64 KiB. */
const MAX_QUEUED_CHARACTERS = 20_000;

/** The change from `before` to `after`. @param before `null`: the backend does not have the resource. */
export function contentChanges(before: Content | null, after: Content): ContentChanges {
  const attributes = changedPaths(before?.attributes ?? {}, after.attributes);
  if (after.kind === "group") {
    const left = before?.kind === "group" ? leftMembers(before.members, after.members) : [];
    return { attributes, left };
  }
  const isSwitched = before?.kind !== "user" || before.active !== after.active;
  return { attributes: isSwitched ? ["active", ...attributes] : attributes, left: [] };
}

function leftMembers(before: readonly string[], after: readonly string[]): string[] {
  if (before === after) return [];
  const stay = new Set(after.map(canonicalName));
  return before.filter((name) => !stay.has(canonicalName(name)));
}

function changedPaths(before: JsonObject, after: JsonObject): string[] {
  return differing(before, after).flatMap((name) => {
    const [held, wanted] = [property(before, name), property(after, name)];
    if (!isParted(held) || !isParted(wanted)) return [name];
    const separator = name.startsWith("urn:") ? ":" : ".";
    return differing(held ?? {}, wanted ?? {}).map((part) => `${name}${separator}${part}`);
  });
}

/** An absent object has no parts. */
function isParted(value: JsonValue | undefined): value is JsonObject | undefined {
  return value === undefined || isJsonObject(value);
}

/** An empty text is no value. */
function differing(before: JsonObject, after: JsonObject): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => {
    const [held, wanted] = [property(before, name), property(after, name)];
    return !isSameJson(held === "" ? undefined : held, wanted === "" ? undefined : wanted);
  });
}

/** The changes of two writes, of which only the last content is delivered. `undefined`: everything. */
export function mergeChanges(
  first: ContentChanges | undefined,
  second: ContentChanges | undefined,
): ContentChanges | undefined {
  return first === undefined || second === undefined ? undefined : joinChanges(first, second);
}

export function joinChanges(first: ContentChanges, second: ContentChanges): ContentChanges {
  return {
    attributes: [...new Set([...first.attributes, ...second.attributes])],
    left: [...new Set([...first.left, ...second.left])],
  };
}

/** The changes as the outbox stores them. `undefined`, which means everything, if they are too many. */
export function queuedChanges(changes: ContentChanges | undefined): ContentChanges | undefined {
  const { attributes, left } = changes ?? NO_CHANGES;
  const characters = [...attributes, ...left].reduce((sum, text) => sum + text.length + 4, 0);
  return characters > MAX_QUEUED_CHARACTERS ? undefined : changes;
}
