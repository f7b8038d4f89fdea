// What a body says of a user or a group: its name, what it is made of, a password apart.

import type { Content, JsonObject, Mapping, ResourceKind } from "../ports.ts";

export type ContentOutcome =
  | { readonly ok: true; readonly content: Content; readonly password: string | undefined }
  | { readonly ok: false; readonly code: "invalid_value" | "renamed"; readonly detail: string };

export interface ContentOptions {
  readonly mapping: Mapping;
  /** The name that a PUT's path gives. */
  readonly pathName?: string;
  /** A name for a resource that brings none: a UUID. */
  readonly newName: () => string;
}

/** Reads a body. */
export function readContent(
  _kind: ResourceKind,
  _body: JsonObject,
  _options: ContentOptions,
): ContentOutcome {
  return { ok: false, code: "invalid_value", detail: "not built" };
}
