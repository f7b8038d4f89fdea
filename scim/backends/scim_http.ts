// Requests to another SCIM server: one deadline over everything, a cap on the answer, no redirects, a bounded number at a time.

import type { ScimBackendSettings } from "../../config.ts";
import type { Clock } from "../../runtime.ts";
import type { JsonObject } from "../resource.ts";
import { parseBody } from "../pure/json_limits.ts";
import { TOO_LATE, withDeadline } from "./deadline.ts";
import { createQueue } from "./queue.ts";
import { nonsense, Trouble, unreachable } from "./trouble.ts";

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
/** Not even a connection was made: nothing can have been done. */
const NOT_CONNECTED =
  /connection refused|dns error|failed to lookup|tcp connect error|client error \(connect\)/i;

export function createScimHttp(
  { settings, fetch: doFetch, clock }: { settings: ScimBackendSettings; fetch: typeof fetch; clock: Clock },
): ScimHttp {
  const line = createQueue(clock, settings.connections);
  const closing = new AbortController();
  const headers = { ...authorization(settings), "User-Agent": USER_AGENT, Accept: "application/scim+json" };

  const once = async (request: ScimRequest): Promise<ScimAnswer> => {
    const ending = new AbortController();
    const signal = AbortSignal.any([ending.signal, closing.signal]);
    try {
      const made = await withDeadline(exchange(doFetch, { settings, headers, request, signal }), {
        clock,
        deadlineMs: request.deadlineMs,
      });
      if (made !== TOO_LATE) return made;
      throw unreachable("the server did not answer in time", { unsure: request.method !== "GET" });
    } finally {
      ending.abort();
    }
  };

  return {
    async ask(request) {
      await line.enter(request.deadlineMs);
      try {
        if (closing.signal.aborted) throw unreachable("the gateway is stopping");
        return await once(request);
      } catch (thrown) {
        const isRepeatable = request.method === "GET" && thrown instanceof Trouble &&
          thrown.fault.kind === "unreachable" && !closing.signal.aborted &&
          clock.nowMs() < request.deadlineMs;
        if (!isRepeatable) throw thrown;
        return await once(request);
      } finally {
        line.leave();
      }
    },
    async close() {
      closing.abort();
      await line.empty();
    },
  };
}

function authorization({ token, userName, password }: ScimBackendSettings): Record<string, string> {
  if (token !== "") return { Authorization: `Bearer ${token}` };
  return { Authorization: `Basic ${new TextEncoder().encode(`${userName}:${password}`).toBase64()}` };
}

async function exchange(
  doFetch: typeof fetch,
  { settings, headers, request, signal }: {
    settings: ScimBackendSettings;
    headers: Record<string, string>;
    request: ScimRequest;
    signal: AbortSignal;
  },
): Promise<ScimAnswer> {
  const writes = request.method !== "GET";
  let response: Response;
  try {
    response = await doFetch(settings.url + request.path, {
      method: request.method,
      headers: request.body === undefined ? headers : { ...headers, "Content-Type": "application/scim+json" },
      ...request.body === undefined ? {} : { body: JSON.stringify(request.body) },
      redirect: "error",
      signal,
    });
  } catch (thrown) {
    // The platform's sentence holds the URL, and says no more than this does.
    const isSent = !(thrown instanceof Error && NOT_CONNECTED.test(describe(thrown)));
    throw unreachable("the server cannot be reached, or broke off", { unsure: writes && isSent });
  }
  const octets = await readBody(response, { writes });
  return { status: response.status, headers: response.headers, body: readJson(octets, response.ok) };
}

function describe(fault: Error): string {
  return fault.cause instanceof Error ? `${fault.message} ${fault.cause.message}` : fault.message;
}

async function readBody(response: Response, { writes }: { writes: boolean }): Promise<Uint8Array> {
  if (response.body === null) return new Uint8Array(0);
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    // Leaving the loop early cancels the rest.
    for await (const part of response.body) {
      length += part.length;
      if (length > MAX_ANSWER_OCTETS) break;
      parts.push(part);
    }
  } catch {
    throw unreachable("the server's answer broke off", { unsure: writes });
  }
  if (length > MAX_ANSWER_OCTETS) throw nonsense("the server's answer is too long");
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function readJson(octets: Uint8Array, isSuccess: boolean): JsonObject | null {
  if (octets.length === 0) return null;
  const parsed = parseBody(octets);
  if (parsed.ok) return parsed.value;
  if (isSuccess) throw nonsense("the server's answer is no JSON object");
  return null;
}
