// What each handler of both SCIM interfaces answers, and what it refuses, one row each: for the docs pages, and for the test of docs/openapi.json.

import type { ScimRefusalCode } from "../scim/http/refusals.ts";
import type { RouteHandler } from "../scim/http/routes.ts";
import type { V2Handler } from "../scim/v2/http/operation.ts";

/** Percent-encoded, with the path and the query. The HTTP server has this limit. */
export const MAX_TARGET_OCTETS = 8192;

/** The refusals that every operation can return. */
export const ALWAYS_POSSIBLE: readonly ScimRefusalCode[] = [
  "unauthorized",
  "forbidden",
  "cross_site",
  "unknown_target",
  "wrong_host",
  "too_many_failures",
  "internal",
];
const BACKENDS_FAIL: readonly ScimRefusalCode[] = ["backend_failed", "backend_unreachable", "busy"];
const BODY_FAILS: readonly ScimRefusalCode[] = [
  "invalid_syntax",
  "invalid_value",
  "too_large",
  "media_type",
  "content_encoding",
  "body_too_slow",
];
const CHANGE_FAILS: readonly ScimRefusalCode[] = [
  ...(["unknown_backend", "read_only", "not_found", "changed", "precondition"] as const),
  ...BACKENDS_FAIL,
];

interface HandlerRow {
  readonly success: 200 | 201 | 204 | null;
  readonly body: boolean;
  /** Whether the response has the receipt of a write. */
  readonly writes: boolean;
  readonly refusals: readonly ScimRefusalCode[];
}

/** The request and the responses of each operation. The docs page shows them, too. */
export const HANDLER_FACTS: Readonly<Record<RouteHandler, HandlerRow>> = {
  list: {
    success: 200,
    body: false,
    writes: false,
    refusals: ["invalid_value", "invalid_filter", "too_many", ...BACKENDS_FAIL],
  },
  get: {
    success: 200,
    body: false,
    writes: false,
    refusals: ["invalid_value", "not_found", ...BACKENDS_FAIL],
  },
  create: {
    success: 201,
    body: true,
    writes: true,
    refusals: [...BODY_FAILS, "unknown_backend", "read_only", "taken", "unsupported", ...BACKENDS_FAIL],
  },
  replace: {
    success: 200,
    body: true,
    writes: true,
    refusals: [...BODY_FAILS, "renamed", "taken", ...CHANGE_FAILS],
  },
  delete: {
    success: 204,
    body: false,
    writes: true,
    refusals: ["invalid_value", ...CHANGE_FAILS],
  },
  none: { success: null, body: false, writes: false, refusals: ["unsupported"] },
};

/** What a handler of /scim/v2 answers, and what it refuses besides {@link V2_ALWAYS}. */
interface V2HandlerRow {
  readonly success: readonly (200 | 201 | 204 | 304)[];
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

const V2_BODY_FAILS = [
  "invalid_syntax",
  "invalid_value",
  "body_too_slow",
  "too_large",
  "media_type",
  "content_encoding",
] as const;
const V2_BACKENDS_FAIL = ["unsupported", "backend_failed", "backend_unreachable"] as const;
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
const V2_CHANGE_FAILS = [
  "not_found",
  "adoption_needed",
  "deletion_limit",
  "changed",
  "precondition",
  ...V2_BACKENDS_FAIL,
] as const;
export const V2_HANDLER_ROWS: Readonly<Record<V2Handler, V2HandlerRow>> = {
  list: { success: [200], refusals: QUERY_FAILS },
  search: { success: [200], refusals: [...V2_BODY_FAILS, ...QUERY_FAILS] },
  create: {
    success: [200, 201],
    refusals: [...V2_BODY_FAILS, "taken", "adoption_needed", "changed", ...V2_BACKENDS_FAIL],
  },
  get: { success: [200, 304], refusals: ["invalid_value", "not_found"] },
  replace: { success: [200], refusals: [...V2_BODY_FAILS, "immutable", "taken", ...V2_CHANGE_FAILS] },
  patch: {
    success: [200, 204],
    refusals: [
      ...V2_BODY_FAILS,
      "invalid_path",
      "invalid_filter",
      "no_target",
      "immutable",
      "too_many",
      "taken",
      ...V2_CHANGE_FAILS,
    ],
  },
  delete: { success: [204], refusals: V2_CHANGE_FAILS },
  me: { success: [200, 304], refusals: ["invalid_value", "no_me"] },
  bulk: { success: [200], refusals: V2_BODY_FAILS },
  service_provider_config: { success: [200], refusals: [] },
  resource_types: { success: [200], refusals: ["not_found"] },
  schemas: { success: [200], refusals: ["not_found"] },
};
