// Helpers for tests of bodies: read a body with the specification's mapping, and put content into a resource.

import type { Content, JsonObject, ResourceKind, Stored } from "../../../scim/schema/resource.ts";
import { parseResource, type ParseResourceOutcome } from "../../../scim/schema/parse_resource.ts";
import { parseJsonObject } from "../../../scim/schema/attributes.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";

export const DOCUMENT_MAPPING = createMapping({ user: {}, group: {} });
export const GENERATED_NAME = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";

const utf8 = new TextEncoder();

/** The result of a reader that accepted its input. */
export function taken<T extends { ok: boolean }>(outcome: T): Extract<T, { ok: true }> {
  if (!outcome.ok) throw new Error(`Cannot go on, it was refused: ${JSON.stringify(outcome)}`);
  return outcome as Extract<T, { ok: true }>;
}

/** The result of a reader that refused its input. */
export function refused<T extends { ok: boolean }>(outcome: T): Extract<T, { ok: false }> {
  if (outcome.ok) throw new Error(`Cannot go on, it was taken: ${JSON.stringify(outcome)}`);
  return outcome as Extract<T, { ok: false }>;
}

/** @param json a JSON text whose top is an object. */
export function bodyOf(json: string): JsonObject {
  return taken(parseJsonObject(utf8.encode(json))).value;
}

/** Reads a POST, or a PUT if there is a `pathName`. */
export function read(
  kind: ResourceKind,
  body: JsonObject,
  { pathName, previous, mapping = DOCUMENT_MAPPING }: {
    pathName?: string;
    previous?: JsonObject;
    mapping?: typeof DOCUMENT_MAPPING;
  } = {},
): ParseResourceOutcome {
  return parseResource(kind, body, {
    mapping,
    newName: () => GENERATED_NAME,
    ...(pathName === undefined ? {} : { pathName }),
    ...(previous === undefined ? {} : { previous }),
  });
}

export function contentOf(
  kind: ResourceKind,
  body: JsonObject,
  options: Parameters<typeof read>[2] = {},
): Content {
  return taken(read(kind, body, options)).content;
}

export function stored(content: Content, { groups = [] }: { groups?: readonly string[] } = {}): Stored {
  return {
    id: "019b7d9f-2c40-8000-8000-000000000000",
    content,
    groups,
    backends: {},
    createdMs: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
    modifiedMs: Date.UTC(2026, 1, 2, 3, 4, 5, 6),
    version: "00000000000000a1",
  };
}
