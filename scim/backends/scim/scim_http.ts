// HTTP requests to another SCIM server, with limits for concurrency, time and response size.

import type { ScimBackendSettings } from "../../../platform/config/config.ts";
import {
  type BodyFlaw,
  type Fetch,
  type FetchResult,
  fetchWithDeadline,
  NO_ANSWER_IN_TIME,
  readRetryAfter,
} from "../../../platform/fetch_with_deadline.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { JsonObject } from "../../schema/resource.ts";
import { parseJsonObject } from "../../schema/json_limits.ts";
import { ConnectionLimit } from "../guarded_backend.ts";
import { BackendError, foreignDetail, malformedError, unreachableError } from "../backend_error.ts";
import type { BackendFault } from "../../backend_port.ts";

export interface ScimRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the base URL, with a leading slash, percent-encoded; with the query. */
  readonly path: string;
  readonly body?: JsonObject;
  readonly deadlineMs: number;
}

export interface ScimResponse {
  readonly status: number;
  readonly headers: Headers;
  /** `null` if the body is empty, or if the status is an error and the body is not a JSON object. */
  readonly body: JsonObject | null;
}

export interface ScimHttp {
  /** Returns a response with any status. Throws a BackendError if there is no response. A GET is repeated once if its connection fails. */
  send(request: ScimRequest): Promise<ScimResponse>;
  close(): Promise<void>;
}

const USER_AGENT = "Countersign";
const MAX_RESPONSE_OCTETS = 16 * 1024 * 1024;
/** The redirects that `fetch` would follow. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export function createScimHttp(
  { settings, fetch, clock }: { settings: ScimBackendSettings; fetch: Fetch; clock: Clock },
): ScimHttp {
  const limit = new ConnectionLimit({ clock, connections: settings.connections });
  const closing = new AbortController();
  const headers = { ...authorization(settings), "User-Agent": USER_AGENT, Accept: "application/scim+json" };

  const exchange = async ({ method, path, body, deadlineMs }: ScimRequest): Promise<ScimResponse> => {
    const request = {
      method,
      url: settings.url + path,
      headers: body === undefined ? headers : { ...headers, "Content-Type": "application/scim+json" },
      ...body !== undefined && { body: JSON.stringify(body) },
    };
    const result = await fetchWithDeadline(request, {
      fetch,
      clock,
      deadlineMs,
      maxOctets: MAX_RESPONSE_OCTETS,
      signal: closing.signal,
    });
    return toResponse(result, { writes: method !== "GET" });
  };

  const exchangeWithRetry = async (request: ScimRequest): Promise<ScimResponse> => {
    try {
      return await exchange(request);
    } catch (thrown) {
      const isRepeatable = request.method === "GET" && thrown instanceof BackendError &&
        thrown.fault.kind === "unreachable" && !closing.signal.aborted &&
        clock.nowMs() < request.deadlineMs;
      if (!isRepeatable) throw thrown;
      return await exchange(request);
    }
  };

  return {
    send: (request) => limit.run(() => exchangeWithRetry(request), request.deadlineMs),
    close() {
      closing.abort();
      return limit.close();
    },
  };
}

function authorization({ token, userName, password }: ScimBackendSettings): Record<string, string> {
  if (token !== "") return { Authorization: `Bearer ${token}` };
  return { Authorization: `Basic ${new TextEncoder().encode(`${userName}:${password}`).toBase64()}` };
}

/** @param options.writes whether the request may have changed something. */
function toResponse(result: FetchResult, { writes }: { writes: boolean }): ScimResponse {
  if (!result.ok) {
    if (result.loss === NO_ANSWER_IN_TIME) throw outOfTime({ writes });
    throw lost({ unsure: writes && result.loss.sent });
  }
  const { status, headers, body } = result;
  if (REDIRECTS.has(status)) throw lost({ unsure: writes });
  if (body === null) throw FLAWS[result.flaw]({ writes });
  return { status, headers, body: readJson(body, { isSuccess: status >= 200 && status <= 299 }) };
}

const lost = ({ unsure }: { unsure: boolean }) =>
  unreachableError("the server cannot be reached, or the connection was lost", { unsure });

const outOfTime = ({ writes }: { writes: boolean }) =>
  unreachableError("the server did not respond in time", { unsure: writes });

const FLAWS: Readonly<Record<BodyFlaw, (options: { writes: boolean }) => BackendError>> = {
  too_long: () => malformedError("the server's response is too long"),
  broke_off: ({ writes }) => unreachableError("the server's response is incomplete", { unsure: writes }),
  out_of_time: outOfTime,
};

function readJson(octets: Uint8Array, { isSuccess }: { isSuccess: boolean }): JsonObject | null {
  if (octets.length === 0) return null;
  const parsed = parseJsonObject(octets, { uniqueNames: null });
  if (parsed.ok) return parsed.value;
  if (isSuccess) throw malformedError("the server's response is not a JSON object");
  return null;
}

interface StatusRow {
  readonly kind: BackendFault["kind"];
  readonly retry: boolean;
  /** The operation may have been done nevertheless. */
  readonly unsure?: true;
  readonly text: string;
}

const STATUSES: ReadonlyMap<number, StatusRow> = new Map([
  [400, { kind: "refused", retry: false, text: "the server does not accept the request" }],
  [401, { kind: "refused", retry: true, text: "the server does not accept the gateway's credential" }],
  [403, { kind: "refused", retry: true, text: "the gateway's credential does not have the permission" }],
  [404, { kind: "refused", retry: true, text: "the server has no resource at that path" }],
  [405, { kind: "unsupported", retry: false, text: "the server does not support the method" }],
  [408, { kind: "busy", retry: true, unsure: true, text: "the server waited too long for the request" }],
  [409, { kind: "refused", retry: true, text: "the server has another resource with that name or value" }],
  [412, { kind: "refused", retry: true, text: "another client changed the resource meanwhile" }],
  [413, { kind: "refused", retry: false, text: "the request is too large for the server" }],
  [422, { kind: "refused", retry: false, text: "the server does not accept a value" }],
  [429, { kind: "busy", retry: true, text: "the server received too many requests" }],
  [501, { kind: "unsupported", retry: false, text: "the server does not support the operation" }],
  [502, {
    kind: "unreachable",
    retry: true,
    unsure: true,
    text: "a gateway in front of the server cannot reach it",
  }],
  [503, { kind: "busy", retry: true, unsure: true, text: "the server is busy" }],
  [504, {
    kind: "unreachable",
    retry: true,
    unsure: true,
    text: "the server did not respond to the gateway in front of it",
  }],
]);
const SERVER_FAILED: StatusRow = {
  kind: "refused",
  retry: true,
  unsure: true,
  text: "the server reported an internal error",
};
const OTHER: StatusRow = { kind: "nonsense", retry: true, text: "the server sent an unexpected status" };

/** The types of a 400 that concern the values. The others concern the form of our request. Many servers send none. */
const VALUE_TYPES: readonly string[] = ["", "invalidValue", "mutability", "sensitive"];

/** Whether the values of the client are the reason. The detail of the server says which one (RFC 7644 §3.12). */
function concernsValues({ status, body }: ScimResponse, type: string): boolean {
  return status === 413 || status === 422 || (status === 400 && body !== null && VALUE_TYPES.includes(type));
}

/** The fault for an error response. @param secrets texts that must not appear in its detail. */
export function statusError(
  answer: ScimResponse,
  { method, secrets, nowMs }: {
    method: ScimRequest["method"];
    secrets: readonly string[];
    nowMs: number;
  },
): BackendError {
  const { status, body, headers } = answer;
  const row = STATUSES.get(status) ?? (status >= 500 ? SERVER_FAILED : OTHER);
  const message = typeof body?.detail === "string" ? foreignDetail(body.detail, secrets) : "";
  const type = typeof body?.scimType === "string" ? body.scimType : "";
  const words = [String(status), foreignDetail(type, secrets), message].filter((word) => word !== "").join(
    ": ",
  );
  const retryAfterMs = readRetryAfter(headers.get("retry-after"), nowMs);
  const writes = method !== "GET";
  const isInvalidValue = writes && concernsValues(answer, type);
  const isConflict = status === 409 && type === "" && method !== "DELETE";
  const isTaken = writes && (isConflict || ([400, 409].includes(status) && type === "uniqueness"));
  return new BackendError({
    kind: row.kind,
    detail: `${row.text} (${words})`,
    unsure: writes && row.unsure === true,
    retry: row.retry,
    ...isInvalidValue ? { isInvalidValue } : {},
    ...isTaken ? { isTaken } : {},
    ...retryAfterMs === null ? {} : { retryAfterMs },
  });
}
