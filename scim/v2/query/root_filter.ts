// Filters over both kinds of resources (RFC 7644 §3.4.2.1): an attribute that only the other type has is an attribute without a value.

import { type FilterPath, pathText, type ScimFilter } from "../../filter/filter.ts";
import type { ResourceTypeDefinition } from "../schema/attribute_definition.ts";
import { definitionAt, readAttributePath } from "./filter_access.ts";

/** Matches no resource: each one has an id. */
const NOTHING: ScimFilter = {
  kind: "not",
  filter: { kind: "present", path: { schema: null, attribute: "id", sub: null } },
};

/** The filter for resources of `type`. Conditions on attributes of `others` only match nothing; RFC 7644 §3.4.2.2: `ne` matches what has no value. */
export function withoutOtherTypes(
  filter: ScimFilter,
  type: ResourceTypeDefinition,
  others: readonly ResourceTypeDefinition[],
): ScimFilter {
  const isOther = (path: FilterPath) =>
    definitionAt(type, path) === undefined &&
    others.some((other) => readAttributePath(other, pathText(path)) !== undefined);
  const rewrite = (one: ScimFilter): ScimFilter => {
    switch (one.kind) {
      case "and":
      case "or":
        return { kind: one.kind, filters: one.filters.map(rewrite) };
      case "not":
        return { kind: "not", filter: rewrite(one.filter) };
      case "present":
      case "each":
        return isOther(one.path) ? NOTHING : one;
      case "compare":
        if (!isOther(one.path)) return one;
        return one.operator === "ne" ? { kind: "not", filter: NOTHING } : NOTHING;
    }
  };
  return rewrite(filter);
}
