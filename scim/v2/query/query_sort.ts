// The order of a query (RFC 7644 §3.4.2.3): the index that has it, or the value of each resource.

import {
  comparedText,
  dateText,
  INDEXED_VALUES,
  indexText,
  markedText,
  NO_VALUE,
} from "../../directory/index_keys.ts";
import { type FilterPath, pathText } from "../../filter/filter.ts";
import type { ListedBy } from "../../ports.ts";
import { property } from "../../schema/attributes.ts";
import { isJsonObject } from "../../schema/json_limits.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import type { AttributeDefinition, ResourceTypeDefinition } from "../../schema/attribute_definition.ts";
import { comparedAt, filterAccess, readAttributePath } from "./filter_access.ts";

export interface QuerySort {
  readonly path: FilterPath;
  /** The index in this order. `null`: none. */
  readonly by: ListedBy | null;
  /** The value of a resource, as a text in the order. */
  readonly textOf: (view: JsonObject) => string;
}

type ReadSortOutcome =
  | { readonly ok: true; readonly sort: QuerySort }
  | { readonly ok: false; readonly detail: string };

const MAX_SHOWN_NAME = 100;

/** Reads the parameter `sortBy`. */
export function readQuerySort(type: ResourceTypeDefinition, sortBy: string): ReadSortOutcome {
  const path = readAttributePath(type, sortBy);
  const definition = path === undefined ? undefined : comparedAt(type, path);
  if (path === undefined || definition === undefined || definition.returned === "never") {
    const name = sortBy.slice(0, MAX_SHOWN_NAME).toWellFormed();
    return { ok: false, detail: `Resources cannot be sorted by "${name}". Name an attribute of /Schemas.` };
  }
  const nameAttribute = type.kind === "user" ? "userName" : "displayName";
  const isName = pathText(path) === nameAttribute;
  const attribute = pathText(path) === "emails" ? "emails.value" : pathText(path);
  const row = Object.entries(INDEXED_VALUES).find(([name, { kinds }]) =>
    name === attribute && kinds.includes(type.kind)
  );
  const by = isName ? "name" : row === undefined ? null : row[0] as ListedBy;
  const textOf = (view: JsonObject) => sortText(definition, sortValue(type, path, view));
  return { ok: true, sort: { path, by, textOf } };
}

/** RFC 7644 §3.4.2.3: of a multi-valued attribute, the primary value, or else the first one. Empty values come last. */
function sortValue(type: ResourceTypeDefinition, path: FilterPath, view: JsonObject): JsonValue | undefined {
  const values = filterAccess(type).entries(path, view).flatMap((entry) => {
    const value = isJsonObject(entry) ? property(entry, path.sub ?? "value") : entry;
    if (value === undefined) return [];
    return [{ value, isPrimary: isJsonObject(entry) && property(entry, "primary") === true }];
  });
  const filled = values.filter(({ value }) => value !== "");
  return (filled.find(({ isPrimary }) => isPrimary) ?? filled[0] ?? values[0])?.value;
}

function sortText({ type, caseExact }: AttributeDefinition, value: JsonValue | undefined): string {
  switch (typeof value) {
    case "boolean":
      return String(value);
    case "number":
      return numberText(value);
    case "string": {
      const ms = type === "dateTime" ? Date.parse(value) : NaN;
      return Number.isNaN(ms)
        ? markedText(comparedText(caseExact ? "exactText" : "text", value))
        : indexText(dateText(ms)).text;
    }
    default:
      return NO_VALUE;
  }
}

/** A text in the order of the number: the bits of a float in a form that sorts. */
function numberText(value: number): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const sign = 1n << 63n;
  return (bits < sign ? bits | sign : ~bits & ((1n << 64n) - 1n)).toString(16).padStart(16, "0");
}
