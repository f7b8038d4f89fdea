// How SCIM servers differ: one row for each manner of speaking, and what a server says of itself (RFC 7643 §5).

import type { JsonObject, JsonValue } from "../../schema/resource.ts";

export interface ScimDialect {
  /** How a resource is found by its name: by a filter, or at the path that ends in the name. */
  readonly lookUp: "filter" | "path";
  /** How a list goes on: with the index of a resource, or with the number of a page. */
  readonly paging: "startIndex" | "page";
  /** Members are given by the ids of users, or by names that need not be users. */
  readonly members: "ids" | "names";
  /** Attributes are spelled as RFC 7643 does, or as the document of the identity interface does. */
  readonly spelling: "rfc" | "document";
  readonly ref: string;
}

export const SCIM_DIALECTS = {
  rfc: { lookUp: "filter", paging: "startIndex", members: "ids", spelling: "rfc", ref: "RFC 7644 §3" },
  /** Another Countersign's `/idm/scim/<target>`: no discovery, no PATCH. */
  countersign: {
    lookUp: "path",
    paging: "page",
    members: "names",
    spelling: "document",
    ref: "the identity interface of this program",
  },
} as const satisfies Record<string, ScimDialect>;

const COUNTERSIGN_PATH = /\/idm\/scim\/[^/]+$/;

/** Whether a base URL looks like another Countersign's; whether it is one shows when it has no ServiceProviderConfig. */
export function isCountersignUrl(url: string): boolean {
  return COUNTERSIGN_PATH.test(url);
}

/** What a server can do. */
export interface ScimAbilities {
  readonly dialect: ScimDialect;
  readonly patch: boolean;
  /** Resources that it gives at most in one answer. */
  readonly maxResults: number;
}

const MAX_PAGE = 200;
const SMALLEST_PAGE = 10;

/** Reads a ServiceProviderConfig; `null` when the server has none. */
export function readAbilities(config: JsonObject | null, url: string): ScimAbilities {
  if (config === null) {
    const dialect = isCountersignUrl(url) ? SCIM_DIALECTS.countersign : SCIM_DIALECTS.rfc;
    return { dialect, patch: false, maxResults: 100 };
  }
  const filter = asObject(config.filter);
  const max = typeof filter.maxResults === "number" ? Math.trunc(filter.maxResults) : 100;
  return {
    dialect: SCIM_DIALECTS.rfc,
    patch: asObject(config.patch).supported === true,
    // Some say 0 and mean no limit.
    maxResults: max < SMALLEST_PAGE ? (max > 0 ? max : 100) : Math.min(max, MAX_PAGE),
  };
}

export function asObject(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !isList(value) ? value : {};
}

export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}
