// Steps that many rows of the conformance suites begin with.

import type { Step } from "./suite_row.ts";

export const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
export const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
export const PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
export const LIST_RESPONSE = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
export const SEARCH_REQUEST = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";
export const BULK_REQUEST = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
export const BULK_RESPONSE = "urn:ietf:params:scim:api:messages:2.0:BulkResponse";
export const SCIM_ERROR = "urn:ietf:params:scim:api:messages:2.0:Error";
/** An id that no resource has. */
export const UNKNOWN_ID = "0b0b0b0b-6f0a-4d0c-9c0d-1e5f00000000";

type Attributes = Readonly<Record<string, unknown>>;

/** Creates the user `{row}-<name>` and saves its id as `<name>`. */
export function user(name: string, attributes: Attributes = {}): Step {
  return {
    send: "POST /Users",
    body: { schemas: [USER], userName: `{row}-${name}`, ...attributes },
    status: 201,
    save: { [name]: "id" },
  };
}

/** Creates the group `{row}-<name>` with users that steps before it saved, and saves its id as `<name>`. */
export function group(name: string, members: readonly string[] = [], attributes: Attributes = {}): Step {
  return {
    send: "POST /Groups",
    body: {
      schemas: [GROUP],
      displayName: `{row}-${name}`,
      ...(members.length === 0 ? {} : { members: members.map((member) => ({ value: `{${member}}` })) }),
      ...attributes,
    },
    status: 201,
    save: { [name]: "id" },
  };
}

/** Any request with a body. @param shows expected values by path, or the expected `scimType` */
export function sent(send: string, body: unknown, status: Step["status"], shows?: Attributes | string): Step {
  return { send, body, status, ...typeof shows === "string" ? { scimType: shows } : { json: shows } };
}

/** A PATCH with `operations`. A group answers 204, a user 200 or 204 (RFC 7644 §3.5.2). */
export function patch(path: string, operations: readonly Attributes[], more: Partial<Step> = {}): Step {
  return {
    send: `PATCH ${path}`,
    body: { schemas: [PATCH_OP], Operations: operations },
    status: [200, 204],
    ...more,
  };
}

/** A PATCH that the server must refuse. */
export function refusedPatch(
  path: string,
  operations: readonly Attributes[],
  scimType: string | undefined,
): Step {
  return patch(path, operations, { status: 400, ...(scimType === undefined ? {} : { scimType }) });
}

/** A GET, with expected values by path. */
export function get(path: string, json: Attributes = {}, more: Partial<Step> = {}): Step {
  return { send: `GET ${path}`, status: 200, json, ...more };
}

/** A filter that only finds resources of this row, because each has `{row}` in its name. */
export function found(filter: string, names: readonly string[], more: Partial<Step> = {}): Step {
  return {
    send: "GET /Users",
    query: { filter: `(${filter}) and userName sw "{row}-"`, sortBy: "userName" },
    status: 200,
    json: {
      totalResults: names.length,
      ...(names.length === 0 ? {} : { "Resources/*/userName": names.map((name) => `{row}-${name}`) }),
    },
    ...more,
  };
}

/** A filter that the server must refuse. */
export function refusedFilter(filter: string, path = "/Users"): Step {
  return { send: `GET ${path}`, query: { filter }, status: 400, scimType: "invalidFilter" };
}
