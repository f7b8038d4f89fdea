// Reads the parameters of lists and searches, from a query or from a SearchRequest (RFC 7644 §3.4.2, §3.4.3, RFC 9865 §2).

import { MAX_FILTER_CHARACTERS } from "../../filter/filter_tokens.ts";
import { ScimRefusal, valueRefusal } from "../../http/refusals.ts";
import { propertyWithoutCase } from "../../schema/attributes.ts";
import { SEARCH_REQUEST_SCHEMA } from "../../schema/attribute_table.ts";
import { isJsonArray } from "../../schema/json_limits.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { isMessage } from "../schema/body_shapes.ts";
import type { ProjectionParameters } from "../schema/projection.ts";

/** No target has so many resources, so this page is empty, too. */
const MAX_START_INDEX = 2 ** 31;

export interface ListParameters extends ProjectionParameters {
  readonly filter: string | null;
  readonly sortBy: string | null;
  readonly sortOrder: "ascending" | "descending";
  /** From 1. */
  readonly startIndex: number;
  readonly count: number;
  /** `null`: pages by index. Empty: the first page by cursor. */
  readonly cursor: string | null;
}

/** The resources of a page, if the request does not say how many, and at most. */
export const PAGE_SIZE = { preset: 100, max: 1000 } as const;

/** Of a filter, a sort path and a cursor. */
export const MAX_QUERY_CHARACTERS = MAX_FILTER_CHARACTERS;

/** The parameters of a GET. Unknown ones are ignored: Entra ID adds `aadOptscim062020`. @throws ScimRefusal `invalid_value` or `invalid_count` */
export function readListQuery(query: URLSearchParams): ListParameters {
  const text = (name: string): string | null => {
    const [value = null, ...more] = valuesWithoutCase(query, name);
    // To choose one of two filters would answer another question.
    if (more.some((other) => other !== value)) throw valueRefusal(`${name} is given twice.`);
    return value;
  };
  const cursor = text("cursor");
  return toListParameters({
    filter: text("filter"),
    sortBy: text("sortBy"),
    sortOrder: text("sortOrder"),
    startIndex: integerText(text("startIndex"), "startIndex"),
    count: integerText(text("count"), "count", cursor),
    cursor,
    ...projectionQuery(query),
  });
}

/** `attributes` and `excludedAttributes` of a query. A parameter that is repeated names more attributes. */
export function projectionQuery(query: URLSearchParams): ProjectionParameters {
  if (query.size === 0) return {};
  const only = valuesWithoutCase(query, "attributes");
  const except = valuesWithoutCase(query, "excludedAttributes");
  return {
    ...(only.length === 0 ? {} : { attributes: only.join(",") }),
    ...(except.length === 0 ? {} : { excludedAttributes: except.join(",") }),
  };
}

function valuesWithoutCase(query: URLSearchParams, name: string): string[] {
  const lower = name.toLowerCase();
  return [...query].flatMap(([key, value]) => key.toLowerCase() === lower ? [value] : []);
}

/** The parameters of a SearchRequest. @throws ScimRefusal `invalid_syntax`, `invalid_value` or `invalid_count` */
export function readSearchRequest(body: JsonObject): ListParameters {
  if (!isMessage(messageProperty(body, "schemas"), SEARCH_REQUEST_SCHEMA)) {
    throw new ScimRefusal("invalid_syntax", { detail: `Send "${SEARCH_REQUEST_SCHEMA}" in "schemas".` });
  }
  const cursor = textOf(body, "cursor");
  const names = (name: string): readonly string[] | undefined => {
    const given = messageProperty(body, name) ?? undefined;
    if (given === undefined) return undefined;
    if (isJsonArray(given) && given.every((one) => typeof one === "string")) return given;
    if (typeof given === "string") return given.split(",");
    throw valueRefusal(`${name} must be a list of names.`);
  };
  const [attributes, excludedAttributes] = [names("attributes"), names("excludedAttributes")];
  return toListParameters({
    filter: textOf(body, "filter"),
    sortBy: textOf(body, "sortBy"),
    sortOrder: textOf(body, "sortOrder"),
    startIndex: integerOf(messageProperty(body, "startIndex"), "startIndex"),
    count: integerOf(messageProperty(body, "count"), "count", cursor),
    cursor,
    ...(attributes === undefined ? {} : { attributes }),
    ...(excludedAttributes === undefined ? {} : { excludedAttributes }),
  });
}

interface GivenParameters extends ProjectionParameters {
  readonly filter: string | null;
  readonly sortBy: string | null;
  readonly sortOrder: string | null;
  readonly startIndex: number | null;
  readonly count: number | null;
  readonly cursor: string | null;
}

function toListParameters(given: GivenParameters): ListParameters {
  const { filter, sortBy, startIndex, count, cursor, sortOrder: _order, ...projection } = given;
  for (const [name, text] of Object.entries({ filter, sortBy, cursor })) {
    if (text !== null && text.length > MAX_QUERY_CHARACTERS) {
      throw valueRefusal(`${name} must have at most ${MAX_QUERY_CHARACTERS} characters.`);
    }
  }
  if (cursor !== null && count !== null && count < 1) throw invalidInteger("count", cursor);
  if (cursor !== null && cursor !== "" && startIndex !== null) {
    throw valueRefusal("Send either cursor or startIndex, not both.");
  }
  return {
    ...projection,
    filter: filter === null || filter.trim() === "" ? null : filter,
    sortBy: sortBy === null || sortBy.trim() === "" ? null : sortBy,
    sortOrder: sortOrderOf(given.sortOrder),
    // RFC 7644 §3.4.2.4: less than 1 means 1, and a negative count means 0.
    startIndex: Math.min(Math.max(1, startIndex ?? 1), MAX_START_INDEX),
    count: Math.min(Math.max(0, count ?? PAGE_SIZE.preset), PAGE_SIZE.max),
    cursor,
  };
}

function messageProperty(body: JsonObject, name: string): JsonValue | undefined {
  return propertyWithoutCase(
    body,
    name,
    () => new ScimRefusal("invalid_syntax", { detail: `Send "${name}" once. Case does not count.` }),
  );
}

function textOf(body: JsonObject, name: string): string | null {
  const given = messageProperty(body, name) ?? null;
  if (given === null || typeof given === "string") return given;
  throw valueRefusal(`${name} must be a text.`);
}

function integerText(text: string | null, name: string, cursor: string | null = null): number | null {
  if (text === null || text === "") return null;
  const value = /^-?\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(value)) throw invalidInteger(name, cursor);
  return value;
}

function integerOf(given: JsonValue | undefined, name: string, cursor: string | null = null): number | null {
  if (given === undefined || given === null) return null;
  if (typeof given === "number" && Number.isSafeInteger(given)) return given;
  throw invalidInteger(name, cursor);
}

/** RFC 9865 §2.1 has its own error for the count of a page by cursor. */
function invalidInteger(name: string, cursor: string | null): ScimRefusal {
  if (cursor !== null) return new ScimRefusal("invalid_count");
  return valueRefusal(`${name} must be an integer.`);
}

/** RFC 7644 §3.4.2.3. The short forms are accepted, and another word is not read as the default order. */
function sortOrderOf(given: string | null): ListParameters["sortOrder"] {
  const order = given?.trim().toLowerCase() ?? "";
  if (order === "" || order === "asc" || order === "ascending") return "ascending";
  if (order === "desc" || order === "descending") return "descending";
  throw valueRefusal("sortOrder must be ascending or descending.");
}
