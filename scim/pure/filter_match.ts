// Whether a resource is what a filter asks for (RFC 7644 §3.4.2.2).

import type { JsonObject, Mapping, Stored } from "../ports.ts";
import type { Filter } from "./filter.ts";
import { etagOf, schemasOf } from "./render.ts";
import { resourceIds } from "./mapping.ts";

/** The resource as the interface answers it, as a value; what filters are matched against. `meta` has no location. */
export function filterView(stored: Stored, mapping: Mapping): JsonObject {
  const { content } = stored;
  const reference = (name: string) => ({ value: name, display: name });
  return {
    ...content.attributes,
    schemas: schemasOf(stored),
    ...resourceIds(content, mapping),
    ...(content.kind === "user"
      ? { userName: content.name, active: content.active, groups: stored.groups.map(reference) }
      : { displayName: content.name, members: content.members.map(reference) }),
    meta: {
      resourceType: content.kind === "user" ? "User" : "Group",
      created: new Date(stored.createdMs).toISOString(),
      lastModified: new Date(stored.modifiedMs).toISOString(),
      version: etagOf(stored.version),
    },
  };
}

/** @param view what {@link filterView} gives. */
export function matchesFilter(_filter: Filter, _view: JsonObject): boolean {
  return false;
}
