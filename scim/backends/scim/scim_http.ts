// HTTP requests to another SCIM server, with limits for concurrency, time and response size.

import type { ScimBackendSettings } from "../../../platform/config/config.ts";
import {
  type BodyFlaw,
  type Fetch,
  type FetchResult,
  fetchWithDeadline,
  NO_ANSWER_IN_TIME,
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
  /** `null` when there is none, or when it is no JSON object and the status is no success. */
  readonly body: JsonObject | null;
}

export interface ScimHttp {
  /** Throws a Trouble when there is no answer. Any status is an answer. A GET is repeated once when its connection fails. */
  send(request: ScimRequest): Promise<ScimResponse>;
  close(): Promise<void>;
}

const USER_AGENT = "Countersign";
const MAX_RESPONSE_OCTETS = 16 * 1024 * 1024;
/** Those that `fetch` would follow. */
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

/** @param options.writes whether the server may have done something. */
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
  unreachableError("the server cannot be reached, or broke off", { unsure });

const outOfTime = ({ writes }: { writes: boolean }) =>
  unreachableError("the server did not answer in time", { unsure: writes });

const FLAWS: Readonly<Record<BodyFlaw, (options: { writes: boolean }) => BackendError>> = {
  too_long: () => malformedError("the server's answer is too long"),
  broke_off: ({ writes }) => unreachableError("the server's answer broke off", { unsure: writes }),
  out_of_time: outOfTime,
};

function readJson(octets: Uint8Array, { isSuccess }: { isSuccess: boolean }): JsonObject | null {
  if (octets.length === 0) return null;
  const parsed = parseJsonObject(octets);
  if (parsed.ok) return parsed.value;
  if (isSuccess) throw malformedError("the server's answer is no JSON object");
  return null;
}

interface StatusRow {
  readonly kind: BackendFault["kind"];
  readonly retry: boolean;
  /** It may have been done all the same. */
  readonly unsure?: true;
  readonly text: string;
}

const STATUSES: ReadonlyMap<number, StatusRow> = new Map([
  [400, { kind: "refused", retry: false, text: "the server does not accept the request" }],
  [401, { kind: "refused", retry: true, text: "the server does not accept the gateway's credential" }],
  [403, { kind: "refused", retry: true, text: "the gateway's credential may not do that" }],
  [404, { kind: "refused", retry: true, text: "the server has nothing at that path" }],
  [405, { kind: "unsupported", retry: false, text: "the server does not support that" }],
  [408, { kind: "busy", retry: true, unsure: true, text: "the server waited too long" }],
  [409, { kind: "refused", retry: true, text: "the server has another resource of that name" }],
  [412, { kind: "refused", retry: true, text: "another client changed the resource meanwhile" }],
  [413, { kind: "refused", retry: false, text: "the request is too large for the server" }],
  [429, { kind: "busy", retry: true, text: "the server asks for fewer requests" }],
  [501, { kind: "unsupported", retry: false, text: "the server does not support that" }],
  [502, {
    kind: "unreachable",
    retry: true,
    unsure: true,
    text: "something before the server cannot reach it",
  }],
  [503, { kind: "busy", retry: true, unsure: true, text: "the server is busy" }],
  [504, { kind: "unreachable", retry: true, unsure: true, text: "the server was too slow" }],
]);
const SERVER_FAILED: StatusRow = { kind: "refused", retry: true, unsure: true, text: "the server failed" };
const OTHER: StatusRow = { kind: "nonsense", retry: true, text: "the server's answer makes no sense" };
const MAX_RETRY_AFTER_MS = 3_600_000;

/** The fault of an answer that is no success. @param secrets texts that must not come back in its detail. */
export function statusError(
  answer: ScimResponse,
  { writes, secrets, nowMs }: { writes: boolean; secrets: readonly string[]; nowMs: number },
): BackendError {
  const { status, body, headers } = answer;
  const row = STATUSES.get(status) ?? (status >= 500 ? SERVER_FAILED : OTHER);
  const said = typeof body?.detail === "string" ? foreignDetail(body.detail, secrets) : "";
  const type = typeof body?.scimType === "string" ? foreignDetail(body.scimType, secrets) : "";
  const words = [String(status), type, said].filter((word) => word !== "").join(": ");
  const retryAfterMs = readRetryAfter(headers.get("retry-after"), nowMs);
  return new BackendError({
    kind: row.kind,
    detail: `${row.text} (${words})`,
    unsure: writes && row.unsure === true,
    retry: row.retry,
    ...retryAfterMs === null ? {} : { retryAfterMs },
  });
}

/** RFC 9110 §10.2.3: seconds or a date. */
export function readRetryAfter(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  const text = header.trim();
  const waitMs = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isFinite(waitMs) ? Math.min(MAX_RETRY_AFTER_MS, Math.max(0, waitMs)) : null;
}
