// The refusals of the SCIM interfaces, one row each: status, scimType and text (RFC 7644 §3.12). The checks of a request that every interface makes.

import { HttpError } from "../../platform/http_error.ts";
import { type BackendFault, isUnavailable } from "../backend_port.ts";
import type { Receipt } from "../ports.ts";
import type { Log } from "../../platform/log.ts";
import { type Clock, withTimeout } from "../../platform/runtime.ts";

/** One refusal. `ref` is the source of the status. */
export interface RefusalRow {
  readonly status: number;
  readonly scimType?:
    | "invalidFilter"
    | "tooMany"
    | "uniqueness"
    | "mutability"
    | "invalidSyntax"
    | "invalidValue"
    | "invalidPath"
    | "noTarget"
    | "invalidCount"
    | "invalidCursor"
    | "expiredCursor"
    | "sensitive";
  /** The default sentence. */
  readonly detail: string;
  readonly ref: string;
}

/** Refusals of both interfaces. */
export const SCIM_REFUSALS = {
  invalid_syntax: {
    status: 400,
    scimType: "invalidSyntax",
    detail: "The body is not a JSON object.",
    ref: "RFC 7644 §3.12",
  },
  invalid_value: {
    status: 400,
    scimType: "invalidValue",
    detail: "A value has the wrong type.",
    ref: "RFC 7644 §3.12",
  },
  invalid_filter: {
    status: 400,
    scimType: "invalidFilter",
    detail: "The filter names what no resource has.",
    ref: "RFC 7644 §3.12",
  },
  too_many: {
    status: 400,
    scimType: "tooMany",
    detail: "The search matches too much. Make it narrower.",
    ref: "RFC 7644 §3.12",
  },
  renamed: {
    status: 400,
    scimType: "mutability",
    detail: "A name cannot be changed. Create the new one and delete the old one.",
    ref: "RFC 7644 §3.12",
  },
  unknown_backend: {
    status: 400,
    scimType: "invalidValue",
    detail: "The directory has no connector of that name.",
    ref: "RFC 7644 §3.12",
  },
  unauthorized: {
    status: 401,
    detail: "Send the name and password of a credential with HTTP Basic.",
    ref: "RFC 7617 §2",
  },
  forbidden: { status: 403, detail: "This credential may not do that.", ref: "RFC 7644 §3.12" },
  read_only: {
    status: 403,
    detail: "The connector that has this resource is read-only. Nothing was changed.",
    ref: "RFC 7644 §3.12",
  },
  cross_site: {
    status: 403,
    detail: "That request came from a page of another site.",
    ref: "Fetch, Sec-Fetch-Site",
  },
  not_found: { status: 404, detail: "There is no such resource.", ref: "RFC 7644 §3.12" },
  unknown_target: { status: 404, detail: "There is no directory of that name.", ref: "RFC 7644 §3.12" },
  no_such_path: { status: 404, detail: "This interface has nothing at that path.", ref: "RFC 7644 §3.12" },
  method: { status: 405, detail: "That method is not supported at this path.", ref: "RFC 9110 §15.5.6" },
  body_too_slow: { status: 408, detail: "The body took too long to arrive.", ref: "RFC 9110 §15.5.9" },
  taken: {
    status: 409,
    scimType: "uniqueness",
    detail: "A resource of that name exists already.",
    ref: "RFC 7644 §3.3",
  },
  changed: {
    status: 409,
    detail: "Another request wrote the resource at the same time. Read it and try again.",
    ref: "RFC 7644 §3.12",
  },
  precondition: {
    status: 412,
    detail: "The resource has another version than If-Match names.",
    ref: "RFC 7644 §3.14",
  },
  too_large: { status: 413, detail: "The body is over 1 MiB.", ref: "RFC 7644 §3.12" },
  media_type: {
    status: 415,
    detail: "Send application/scim+json or application/json.",
    ref: "RFC 9110 §15.5.16",
  },
  content_encoding: {
    status: 415,
    detail: "Send the body without Content-Encoding.",
    ref: "RFC 9110 §15.5.16",
  },
  wrong_host: {
    status: 421,
    detail: "This server is not known by that name. Set http.public_url to it.",
    ref: "RFC 9110 §15.5.20",
  },
  too_many_failures: {
    status: 429,
    detail: "Too many failed attempts came from this address.",
    ref: "RFC 6585 §4",
  },
  internal: {
    status: 500,
    detail: "Something went wrong here. The server's log says what.",
    ref: "RFC 7644 §3.12",
  },
  unsupported: {
    status: 501,
    detail: "This interface does not support that operation.",
    ref: "RFC 7644 §3.12",
  },
  backend_failed: {
    status: 502,
    detail: "A connector refused the operation. Nothing was changed.",
    ref: "RFC 9110 §15.6.3",
  },
  backend_unreachable: {
    status: 503,
    detail: "A connector cannot be reached. Nothing was changed. Try again later.",
    ref: "RFC 9110 §15.6.4",
  },
  busy: { status: 503, detail: "Too much is asked at once. Try again in a moment.", ref: "RFC 9110 §15.6.4" },
} as const satisfies Record<string, RefusalRow>;

/** Refusals that only the full interface has. */
const V2_REFUSALS = {
  invalid_path: {
    status: 400,
    scimType: "invalidPath",
    detail: "The path names what no resource has.",
    ref: "RFC 7644 §3.12",
  },
  no_target: {
    status: 400,
    scimType: "noTarget",
    detail: "The filter of the path matches nothing.",
    ref: "RFC 7644 §3.12",
  },
  immutable: {
    status: 400,
    scimType: "mutability",
    detail: "That attribute cannot be changed.",
    ref: "RFC 7644 §3.12",
  },
  invalid_cursor: {
    status: 400,
    scimType: "invalidCursor",
    detail: "This server did not give out that cursor. Begin with the first page.",
    ref: "RFC 9865 §2.1",
  },
  invalid_count: {
    status: 400,
    scimType: "invalidCount",
    detail: "With a cursor, count must be an integer from 1.",
    ref: "RFC 9865 §2.1",
  },
  expired_cursor: {
    status: 400,
    scimType: "expiredCursor",
    detail: "The cursor has expired. Begin with the first page.",
    ref: "RFC 9865 §2.1",
  },
  no_token: {
    status: 401,
    detail: "Send a valid token of a connection: Authorization: Bearer <token>.",
    ref: "RFC 6750 §3",
  },
  no_me: {
    status: 501,
    detail: "This connection stands for no user. Name one in its settings.",
    ref: "RFC 7644 §3.11",
  },
  deletion_limit: {
    status: 409,
    detail:
      "This connection deleted or deactivated as many users in 24 hours as its limit allows. Check the identity provider. To continue, raise the deletion limit of the connection in the console.",
    ref: "RFC 9110 §15.5.10",
  },
  adoption_needed: {
    status: 409,
    detail:
      "This connection did not create the resource. Accept the resource in the console, in the tab Existing users of the connection. Then send the request again.",
    ref: "RFC 9110 §15.5.10",
  },
  rate_limited: {
    status: 429,
    detail:
      "This connection sends more requests per minute than its limit allows. Wait as long as Retry-After says, or raise the limit in the console.",
    ref: "RFC 6585 §4",
  },
  paused: {
    status: 503,
    detail: "An administrator paused this connection. Resume it in the console, or try again later.",
    ref: "RFC 9110 §15.6.4",
  },
} as const satisfies Record<string, RefusalRow>;

const REFUSALS = { ...SCIM_REFUSALS, ...V2_REFUSALS };

export type ScimRefusalCode = keyof typeof REFUSALS;

/** The row of a refusal. */
export function refusalRow(code: ScimRefusalCode): RefusalRow {
  return REFUSALS[code];
}

/** Thrown for an HTTP caller whose request is refused. The error handler renders the body of the standard. */
export class ScimRefusal extends HttpError {
  readonly code: ScimRefusalCode;
  /** Present if backends were called. */
  readonly receipt: Receipt | null;

  /** @param detail a sentence, instead of the row's own. */
  constructor(
    code: ScimRefusalCode,
    { detail, headers = {}, receipt = null, cause }: {
      detail?: string;
      headers?: Readonly<Record<string, string>>;
      receipt?: Receipt | null;
      cause?: unknown;
    } = {},
  ) {
    const row = refusalRow(code);
    super(detail ?? row.detail, { status: row.status, headers, cause });
    this.name = "ScimRefusal";
    this.code = code;
    this.receipt = receipt;
  }
}

/** The refusals by the scimType of RFC 7644 §3.12 and RFC 9865 §2.1. */
const BY_TYPE = {
  invalidSyntax: "invalid_syntax",
  invalidValue: "invalid_value",
  mutability: "immutable",
  invalidPath: "invalid_path",
  invalidFilter: "invalid_filter",
  noTarget: "no_target",
  tooMany: "too_many",
  invalidCursor: "invalid_cursor",
  expiredCursor: "expired_cursor",
} as const satisfies Record<string, ScimRefusalCode>;

/** The refusal for a problem that the reader of a request found. */
export function typedRefusal(
  { scimType, detail }: { readonly scimType: keyof typeof BY_TYPE; readonly detail: string },
): ScimRefusal {
  return new ScimRefusal(BY_TYPE[scimType], { detail });
}

/** The refusal of a value. */
export function valueRefusal(detail: string): ScimRefusal {
  return typedRefusal({ scimType: "invalidValue", detail });
}

/** The refusal for a fault of a backend. */
export function backendRefusal(
  backend: string,
  { fault, receipt = null }: { fault: BackendFault; receipt?: Receipt | null },
): ScimRefusal {
  const pending = receipt?.entries.filter(({ outcome }) => outcome === "undoing")
    .map(({ backend }) => `"${backend}"`) ?? [];
  const end = pending.length === 0
    ? "Nothing was changed."
    : `The write failed. The rollback at ${pending.join(", ")} is pending.`;
  const reason = `${fault.detail.replace(/[.\s]+$/, "").slice(0, 300)}.`;
  const problem = isUnavailable(fault) ? "cannot be reached" : "refused the operation";
  if (fault.isInvalidValue === true) {
    return new ScimRefusal("invalid_value", {
      detail: `The connector "${backend}" does not accept a value: ${reason} ${end}`,
      receipt,
    });
  }
  if (fault.isTaken === true) {
    return new ScimRefusal("taken", {
      detail:
        `The connector "${backend}" has another resource with a value that must be unique: ${reason} ${end}`,
      receipt,
    });
  }
  const waitS = Math.ceil(Math.min(fault.retryAfterMs ?? 5000, 3600_000) / 1000);
  return new ScimRefusal(isUnavailable(fault) ? "backend_unreachable" : "backend_failed", {
    detail: `The connector "${backend}" ${problem}: ${reason} ${end}`,
    headers: isUnavailable(fault) ? { "Retry-After": String(Math.max(1, waitS)) } : {},
    receipt,
  });
}

// Checks before the applications are loaded: HTTP Basic authentication (RFC 7617), and whether memory contains the writes of other nodes.

/** Base64 of a name, a colon and a password. */
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;
const MAX_HEADER_CHARACTERS = 8192;
const CONTROL = /\p{Cc}/u;

/** The challenge for a caller without a valid credential (RFC 7617 §2 and §2.1). */
export const BASIC_CHALLENGE = 'Basic realm="Countersign", charset="UTF-8"';

/**
 * The name and password of an Authorization header. `null` if it is absent, has another scheme, or is malformed: bad base64, not UTF-8,
 * no colon, a control character (RFC 7617 §2).
 */
export function readBasic(header: string | null): { name: string; password: string } | null {
  if (header === null || header.length > MAX_HEADER_CHARACTERS) return null;
  const encoded = BASIC.exec(header)?.[1];
  const text = encoded === undefined ? null : decodeText(encoded);
  if (text === null || CONTROL.test(text)) return null;
  const colon = text.indexOf(":");
  if (colon < 0) return null;
  return { name: text.slice(0, colon).normalize("NFC"), password: text.slice(colon + 1) };
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeText(base64: string): string | null {
  try {
    return decoder.decode(Uint8Array.fromBase64(base64));
  } catch (_notBase64OrUtf8) {
    return null;
  }
}

const STORE_TIMEOUT_MS = 5000;

/** Waits until memory contains the writes of other nodes. @throws ScimRefusal `busy` if the store does not answer */
export async function waitForStore(
  caughtUp: Promise<void>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  let cause: unknown = null;
  try {
    if ((await withTimeout(caughtUp, { clock, timeoutMs: STORE_TIMEOUT_MS })).inTime) return;
  } catch (fault) {
    cause = fault;
  }
  log.warn("a SCIM request was refused because the store does not answer", {
    fault: String(cause ?? "timeout"),
  });
  throw new ScimRefusal("busy", {
    detail: "The store does not answer. Try again in a moment.",
    headers: { "Retry-After": "5" },
    cause,
  });
}
