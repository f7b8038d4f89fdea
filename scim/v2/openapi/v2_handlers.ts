// What each handler of the full SCIM 2.0 interface reads and answers, one row each: for the OpenAPI description and the docs page.

import type { ScimRefusalCode } from "../../http/refusals.ts";
import type { V2Handler } from "../http/v2_routes.ts";

/** A group of parameters. `projection`: `attributes` and `excludedAttributes`. */
export type V2Parameters = "page" | "projection" | "ifMatch" | "ifNoneMatch";

export interface V2HandlerRow {
  readonly success: readonly (200 | 201 | 204 | 304)[];
  /** The schema of the body: of the resource, or by name. */
  readonly body: "resource" | "PatchRequest" | "BulkRequest" | "SearchRequest" | null;
  /** The schema of the response: of the resource, of a list of it, or by name. */
  readonly answer: "resource" | "list" | string | null;
  readonly parameters: readonly V2Parameters[];
  /** Headers of the successful responses, besides those of every response. */
  readonly headers: readonly ("ETag" | "Location" | "Content-Location")[];
  /** Besides {@link V2_ALWAYS}. */
  readonly refusals: readonly ScimRefusalCode[];
}

/** The refusals that every operation can return. */
export const V2_ALWAYS: readonly ScimRefusalCode[] = [
  "no_token",
  "forbidden",
  "cross_site",
  "unknown_target",
  "wrong_host",
  "too_many_failures",
  "rate_limited",
  "internal",
  "paused",
  "busy",
];

const BODY_FAILS = [
  "invalid_syntax",
  "invalid_value",
  "body_too_slow",
  "too_large",
  "media_type",
  "content_encoding",
] as const;
const BACKENDS_FAIL = ["unsupported", "backend_failed", "backend_unreachable"] as const;
const QUERY_FAILS = [
  "invalid_value",
  "invalid_filter",
  "invalid_path",
  "invalid_cursor",
  "expired_cursor",
  "invalid_count",
  "too_many",
] as const;
/** Of writes to an existing resource. */
const CHANGE_FAILS = [
  "not_found",
  "adoption_needed",
  "deletion_limit",
  "changed",
  "precondition",
  ...BACKENDS_FAIL,
] as const;
const DISCOVERY = { success: [200], body: null, parameters: [], headers: [] } as const;

export const V2_HANDLER_ROWS: Readonly<Record<V2Handler, V2HandlerRow>> = {
  list: {
    ...{ success: [200], body: null, answer: "list", parameters: ["page", "projection"], headers: [] },
    refusals: QUERY_FAILS,
  },
  search: {
    ...{ success: [200], body: "SearchRequest", answer: "list", parameters: [], headers: [] },
    refusals: [...BODY_FAILS, ...QUERY_FAILS],
  },
  create: {
    ...{ success: [200, 201], body: "resource", answer: "resource", parameters: ["projection"] },
    headers: ["ETag", "Location"],
    refusals: [...BODY_FAILS, "taken", "adoption_needed", "changed", ...BACKENDS_FAIL],
  },
  get: {
    ...{ success: [200, 304], body: null, answer: "resource" },
    ...{ parameters: ["projection", "ifNoneMatch"], headers: ["ETag", "Content-Location"] },
    refusals: ["invalid_value", "not_found"],
  },
  replace: {
    ...{ success: [200], body: "resource", answer: "resource" },
    ...{ parameters: ["projection", "ifMatch", "ifNoneMatch"], headers: ["ETag", "Content-Location"] },
    refusals: [...BODY_FAILS, "immutable", "taken", ...CHANGE_FAILS],
  },
  patch: {
    ...{ success: [200, 204], body: "PatchRequest", answer: "resource" },
    ...{ parameters: ["projection", "ifMatch", "ifNoneMatch"], headers: ["ETag", "Content-Location"] },
    refusals: [
      ...BODY_FAILS,
      "invalid_path",
      "invalid_filter",
      "no_target",
      "immutable",
      "too_many",
      "taken",
      ...CHANGE_FAILS,
    ],
  },
  delete: {
    ...{ success: [204], body: null, answer: null, parameters: ["ifMatch", "ifNoneMatch"], headers: [] },
    refusals: CHANGE_FAILS,
  },
  me: {
    ...{ success: [200, 304], body: null, answer: "resource" },
    ...{ parameters: ["projection", "ifNoneMatch"], headers: ["ETag", "Content-Location"] },
    refusals: ["invalid_value", "no_me"],
  },
  bulk: {
    ...{ success: [200], body: "BulkRequest", answer: "BulkResponse", parameters: [], headers: [] },
    refusals: BODY_FAILS,
  },
  service_provider_config: { ...DISCOVERY, answer: "ServiceProviderConfig", refusals: [] },
  resource_types: { ...DISCOVERY, answer: "ResourceType", refusals: ["not_found"] },
  schemas: { ...DISCOVERY, answer: "Schema", refusals: ["not_found"] },
};
