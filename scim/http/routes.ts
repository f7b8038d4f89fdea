// The endpoints of the SCIM interface, one row each, and their responses. The routes, the errors of unsupported requests, the docs
// page and the tests use these rows.

import type { ResourceKind } from "../schema/resource.ts";
import { HttpError } from "../../platform/http_error.ts";
import type { Log } from "../../platform/log.ts";
import type { Random } from "../../platform/runtime.ts";
import { type RefusalRow, refusalRow, SCIM_REFUSALS, ScimRefusal } from "./refusals.ts";
import type { Receipt, ReceiptEntry } from "../ports.ts";
import { errorBody } from "../schema/render_resource.ts";

/** The prefix of all paths of the interface: `{base_url}/idm/scim/<target_id>`. */
export const SCIM_PREFIX = "/idm/scim";

/** The description of a query parameter. handlers.ts parses it. */
interface ParameterRow {
  /** As in JSON Schema. */
  readonly type: "boolean" | "integer" | "string";
  /** The default, as a text. */
  readonly preset: string;
  readonly meaning: string;
}

export const QUERY_PARAMETERS = {
  refresh: {
    type: "boolean",
    preset: "false",
    meaning: "`true` fetches the latest information from the backends first.",
  },
  page: {
    type: "integer",
    preset: "the first page",
    meaning: "The number of the page wanted, from 1. A page past the end is empty.",
  },
  q: {
    type: "string",
    preset: "not given",
    meaning:
      "A search: words, each of which must begin a word of a name, e-mail address, phone number or group; " +
      "or a filter of RFC 7644 §3.4.2.2 with at most 50 comparisons and 10 levels. At most 8,192 characters.",
  },
  backends: {
    type: "string",
    preset: "all backends of the target",
    meaning: "Names of backends, separated by commas: the operation applies to these alone.",
  },
} as const satisfies Record<string, ParameterRow>;

export type QueryName = keyof typeof QUERY_PARAMETERS;

/** The name of the handler of a route. */
export type RouteHandler = "list" | "create" | "get" | "replace" | "delete" | "none";

export interface RouteRow {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "any";
  /** The path below the target. `<…>`: a segment with a name; `[prefix]`: any path. */
  readonly path: string;
  readonly operation: string;
  readonly kind: ResourceKind | null;
  /** The parameters of the operation. All others are ignored. */
  readonly query: readonly QueryName[];
  readonly supported: boolean;
  /** The access that a credential needs. `write` includes `read`. */
  readonly access: "read" | "write";
  readonly handler: RouteHandler;
}

const LIST = { query: ["refresh", "page", "q"], supported: true, access: "read", handler: "list" } as const;
const CREATE = { query: ["backends"], supported: true, access: "write", handler: "create" } as const;
const GET_ONE = { query: ["refresh"], supported: true, access: "read", handler: "get" } as const;
const REPLACE = { query: ["backends"], supported: true, access: "write", handler: "replace" } as const;
const DELETE = { query: ["backends"], supported: true, access: "write", handler: "delete" } as const;
const NOT_SUPPORTED = { query: [], supported: false, access: "read", handler: "none" } as const;

export const SCIM_ROUTES = [
  { method: "GET", path: "/Users", operation: "list users", kind: "user", ...LIST },
  { method: "POST", path: "/Users", operation: "create user", kind: "user", ...CREATE },
  { method: "POST", path: "/Users", operation: "retrieve (search)", kind: "user", ...NOT_SUPPORTED },
  { method: "GET", path: "/Groups", operation: "list groups", kind: "group", ...LIST },
  { method: "POST", path: "/Groups", operation: "create group", kind: "group", ...CREATE },
  { method: "POST", path: "/Groups", operation: "retrieve (search)", kind: "group", ...NOT_SUPPORTED },
  { method: "GET", path: "/Users/<userName>", operation: "get one user", kind: "user", ...GET_ONE },
  { method: "PUT", path: "/Users/<userName>", operation: "replace user", kind: "user", ...REPLACE },
  { method: "PATCH", path: "/Users/<userName>", operation: "modify user", kind: "user", ...NOT_SUPPORTED },
  { method: "DELETE", path: "/Users/<userName>", operation: "delete user", kind: "user", ...DELETE },
  { method: "GET", path: "/Groups/<groupName>", operation: "get one group", kind: "group", ...GET_ONE },
  { method: "PUT", path: "/Groups/<groupName>", operation: "replace group", kind: "group", ...REPLACE },
  {
    method: "PATCH",
    path: "/Groups/<groupName>",
    operation: "modify group",
    kind: "group",
    ...NOT_SUPPORTED,
  },
  { method: "DELETE", path: "/Groups/<groupName>", operation: "delete group", kind: "group", ...DELETE },
  { method: "any", path: "/Me", operation: "the caller's own resource", kind: null, ...NOT_SUPPORTED },
  { method: "any", path: "/Bulk", operation: "bulk processing", kind: null, ...NOT_SUPPORTED },
  { method: "any", path: "[prefix]/.search", operation: "search by POST", kind: null, ...NOT_SUPPORTED },
] as const satisfies readonly RouteRow[];

/** The path of the resources of a kind, below the target. */
const COLLECTIONS: Readonly<Record<ResourceKind, string>> = { user: "/Users", group: "/Groups" };

/** The address of one resource. */
export function resourceLocation(
  { publicUrl, target }: { publicUrl: string; target: string },
  resource: { readonly kind: ResourceKind; readonly name: string },
): string {
  const { kind, name } = resource;
  return `${publicUrl}${SCIM_PREFIX}/${target}${COLLECTIONS[kind]}/${encodeURIComponent(name)}`;
}

/** The methods of the rows of a path, for `Allow` (RFC 9110 §10.2.1). */
export function allowedMethods(rows: readonly { readonly method: string }[]): string {
  const methods = rows.flatMap(({ method }) => method === "GET" ? ["GET", "HEAD"] : [method]);
  return [...new Set(methods)].join(", ");
}

// Responses: common headers, resources, errors (RFC 7644 §3.12), and the receipt of a write.

/** On every response; `content-type` only with a body. */
export const COMMON_HEADERS = {
  "content-type": "application/scim+json",
  "content-language": "en",
  vary: "Accept-Language, Cookie",
  "x-frame-options": "DENY",
} as const;

/** The header with the result of a write at each backend. */
export const RECEIPT_HEADER = "backends-receipt";

/** So many octets cost more to copy than a stream. */
const LARGE_OCTETS = 65_536;

/** @param text JSON, or `null` for a response without a body. */
export function createResponse(
  text: string | null,
  { status, headers = {} }: { status: number; headers?: Readonly<Record<string, string>> },
): Response {
  const { "content-type": type, ...others } = COMMON_HEADERS;
  if (text === null) return new Response(null, { status, headers: { ...others, ...headers } });
  const octets = new TextEncoder().encode(text);
  // HEAD has the length of GET (RFC 9110 §9.3.2). Hono omits its body.
  const length = { "content-length": String(octets.length) };
  return new Response(octets.length < LARGE_OCTETS ? octets : handedOver(octets), {
    status,
    headers: { "content-type": type, ...length, ...others, ...headers },
  });
}

/** A body that the response does not copy, as it does with octets. */
function handedOver(octets: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(octets);
      controller.close();
    },
  });
}

/**
 * The receipt as a List of Strings with a Token as parameter (RFC 9651 §3.1), in the order in which the target names its backends:
 * `"local";outcome=done, "directory";outcome=queued`. Names are Strings because keys of a Dictionary cannot have capital letters. A backend that did not
 * store members of the group adds the count and the first names: `"corp";outcome=done;not-stored=2;names="bob eve"`.
 */
export function receiptText({ entries }: Receipt): string {
  let left = MAX_NAME_OCTETS;
  return entries.map((entry) => {
    const names = namesText(entry, left);
    left -= names.length;
    return `${stringItem(entry.backend)};outcome=${entry.outcome}${notStoredText(entry, names)}`;
  }).join(", ");
}

/** Octets of member names in one header; proxies refuse responses with headers of more than 4 to 8 KiB. */
const MAX_NAME_OCTETS = 1024;

/** The first names that fit, percent-encoded (RFC 3986 §2.1) and separated by spaces. */
function namesText({ notStored }: ReceiptEntry, maxOctets: number): string {
  let text = "";
  for (const name of notStored?.names ?? []) {
    const more = `${text === "" ? "" : " "}${encodeURIComponent(name.toWellFormed())}`;
    if (text.length + more.length > maxOctets) break;
    text += more;
  }
  return text;
}

/** Members that the backend did not store: an Integer parameter with the count and, where names fit, a String parameter. */
function notStoredText({ notStored }: ReceiptEntry, names: string): string {
  if (notStored === undefined) return "";
  return `;not-stored=${notStored.count}${names === "" ? "" : `;names=${stringItem(names)}`}`;
}

/** RFC 9651 §3.3.3. The settings allow only ASCII names of backends, so other characters are only escaped. */
function stringItem(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/g, "?").replace(/["\\]/g, "\\$&")}"`;
}

/** The headers of a receipt. None if no backend was called. */
export function receiptHeaders(receipt: Receipt | null): Record<string, string> {
  return receipt === null || receipt.entries.length === 0 ? {} : { [RECEIPT_HEADER]: receiptText(receipt) };
}

/** The response for a refusal. */
function scimRefusalResponse(refusal: ScimRefusal): Response {
  const { scimType } = refusalRow(refusal.code);
  return errorResponse({
    status: refusal.status,
    scimType,
    detail: refusal.message,
    headers: { ...refusal.headers, ...receiptHeaders(refusal.receipt) },
  });
}

/** An error of the HTTP server, in the same format. */
export function errorResponse(
  { status, scimType, detail, headers }: {
    status: number;
    scimType?: RefusalRow["scimType"];
    detail: string;
    headers?: Readonly<Record<string, string>>;
  },
): Response {
  return createResponse(JSON.stringify(errorBody({ status, scimType, detail })), { status, headers });
}

interface FaultDeps {
  readonly log: Log;
  readonly random: Random;
}

/** An error as a refusal. An unexpected error is logged under an ID that the refusal contains. */
export function toRefusal(fault: unknown, { log, random }: FaultDeps): ScimRefusal {
  if (fault instanceof ScimRefusal) return fault;
  const id = random.bytes(4).toHex();
  const error = fault instanceof Error ? fault : new Error(String(fault));
  log.error("a SCIM request failed", { id, error: error.message, stack: error.stack });
  return new ScimRefusal("internal", { detail: `${SCIM_REFUSALS.internal.detail} Look for ${id}.` });
}

/** Renders an error as a response. Errors of the HTTP server stay as they are: a body that is too large, or too slow. */
export function faultResponse(fault: unknown, deps: FaultDeps): Response {
  if (fault instanceof HttpError && !(fault instanceof ScimRefusal)) {
    return errorResponse({ status: fault.status, detail: fault.message, headers: fault.headers });
  }
  return scimRefusalResponse(toRefusal(fault, deps));
}
