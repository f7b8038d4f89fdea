// Requests to another SCIM server: a bounded number at a time, each with a deadline over everything and a bound on the response.

import type { ScimBackendSettings } from "../../../platform/config/config.ts";
import type { BodyFlaw } from "../../../platform/bounded_body.ts";
import {
  type Fetch,
  type FetchResult,
  fetchWithDeadline,
  NO_ANSWER_IN_TIME,
} from "../../../platform/fetch_with_deadline.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { JsonObject } from "../../schema/resource.ts";
import { parseBody } from "../../schema/json_limits.ts";
import { ConnectionLimit } from "../connection_limit.ts";
import { nonsense, Trouble, unreachable } from "../backend_error.ts";

export interface ScimRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the base URL, with a leading slash, percent-encoded; with the query. */
  readonly path: string;
  readonly body?: JsonObject;
  readonly deadlineMs: number;
}

export interface ScimAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** `null` when there is none, or when it is no JSON object and the status is no success. */
  readonly body: JsonObject | null;
}

export interface ScimHttp {
  /** Throws a Trouble when there is no answer. Any status is an answer. A GET is repeated once when its connection fails. */
  ask(request: ScimRequest): Promise<ScimAnswer>;
  close(): Promise<void>;
}

const USER_AGENT = "Countersign";
const MAX_ANSWER_OCTETS = 16 * 1024 * 1024;
/** Those that `fetch` would follow. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export function createScimHttp(
  { settings, fetch, clock }: { settings: ScimBackendSettings; fetch: Fetch; clock: Clock },
): ScimHttp {
  const limit = new ConnectionLimit({ clock, connections: settings.connections });
  const closing = new AbortController();
  const headers = { ...authorization(settings), "User-Agent": USER_AGENT, Accept: "application/scim+json" };

  const exchange = async ({ method, path, body, deadlineMs }: ScimRequest): Promise<ScimAnswer> => {
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
      maxOctets: MAX_ANSWER_OCTETS,
      signal: closing.signal,
    });
    return toAnswer(result, { writes: method !== "GET" });
  };

  const exchangeTwice = async (request: ScimRequest): Promise<ScimAnswer> => {
    try {
      return await exchange(request);
    } catch (thrown) {
      const isRepeatable = request.method === "GET" && thrown instanceof Trouble &&
        thrown.fault.kind === "unreachable" && !closing.signal.aborted &&
        clock.nowMs() < request.deadlineMs;
      if (!isRepeatable) throw thrown;
      return await exchange(request);
    }
  };

  return {
    ask: (request) => limit.run(() => exchangeTwice(request), request.deadlineMs),
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
function toAnswer(result: FetchResult, { writes }: { writes: boolean }): ScimAnswer {
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
  unreachable("the server cannot be reached, or broke off", { unsure });

const outOfTime = ({ writes }: { writes: boolean }) =>
  unreachable("the server did not answer in time", { unsure: writes });

const FLAWS: Readonly<Record<BodyFlaw, (options: { writes: boolean }) => Trouble>> = {
  too_long: () => nonsense("the server's answer is too long"),
  broke_off: ({ writes }) => unreachable("the server's answer broke off", { unsure: writes }),
  out_of_time: outOfTime,
};

function readJson(octets: Uint8Array, { isSuccess }: { isSuccess: boolean }): JsonObject | null {
  if (octets.length === 0) return null;
  const parsed = parseBody(octets);
  if (parsed.ok) return parsed.value;
  if (isSuccess) throw nonsense("the server's answer is no JSON object");
  return null;
}
