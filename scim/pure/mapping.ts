// The mapping of a target between SCIM attributes and front-end attributes, in both directions.

import type { Content, FrontEnd, Mapping, ResourceKind } from "../ports.ts";
import { DEFAULT_GROUP_MAPPING, DEFAULT_USER_MAPPING } from "../facts/mapping_table.ts";

/** What the settings say differs from the document's table: SCIM attribute → front-end attribute. */
export interface MappingSettings {
  readonly user: Readonly<Record<string, string>>;
  readonly group: Readonly<Record<string, string>>;
}

export function createMapping(_settings: MappingSettings): Mapping {
  return { user: DEFAULT_USER_MAPPING, group: DEFAULT_GROUP_MAPPING };
}

export function resourceIds(content: Content, _mapping: Mapping): { id: string; externalId: string } {
  return { id: content.name, externalId: content.name };
}

export function ownExternalId(content: Content): string | undefined {
  const own = content.attributes["externalId"];
  return typeof own === "string" ? own : undefined;
}

export function toFrontEnd(_content: Content, _mapping: Mapping): FrontEnd {
  return new Map();
}

export function fromFrontEnd(
  _frontEnd: FrontEnd,
  _options: { kind: ResourceKind; name: string; mapping: Mapping },
): Content {
  throw new Error("Cannot map: not built");
}

export function mergeContent(
  _previous: Content,
  read: Content,
  _covers: ReadonlySet<string> | null,
): Content {
  return read;
}

export function coveredAttributes(
  _names: Iterable<string>,
  _mapping: Mapping,
  _kind: ResourceKind,
): Set<string> {
  return new Set();
}
