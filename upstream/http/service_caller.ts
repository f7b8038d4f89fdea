// The HTTP caller of one upstream service: a guarded caller, one deadline over queue, request and body, and a bound on
// the answer. A failure is a Fault; it never throws.

import {
  type BreakerLimits,
  type CallRefusal,
  createGuardedCaller,
  type GuardedCaller,
} from "../../platform/guarded_caller.ts";
import {
  type BodyFlaw,
  type Fetch,
  type FetchResult,
  fetchWithDeadline,
} from "../../platform/fetch_with_deadline.ts";
import { asRecord, type JsonFlaw, type JsonRecord, parseBoundedJson } from "../../platform/safe_json.ts";
import type { Fault, Outcome } from "../../radius/ports.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import { sanitizeDetail } from "../../platform/control_characters.ts";

/** One call to a service that answers in JSON. */
export interface HttpCall {
  readonly method: "GET" | "POST";
  readonly url: string;
  /** Created for each attempt just before it is sent, so that a signature has the time of sending. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly body?: string;
  /** Over everything: the wait for a connection, the request, the body. */
  readonly timeoutMs: number;
  /** Parses the errors of this service. */
  readonly readError: (body: JsonRecord) => { code: unknown; detail: unknown };
  /** Texts that must not come back in a fault's `detail`. */
  readonly secrets: readonly string[];
}

/** A 2xx answer whose body is a JSON object. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: JsonRecord;
}

/** Calls one service. */
export interface HttpCaller {
  /** Never rejects; ends within `timeoutMs`. */
  call(call: HttpCall): Promise<Outcome<HttpAnswer>>;
  load: GuardedCaller<Fault>["load"];
  /** Starts no more calls; resolves when the calls in progress have ended. */
  close(): Promise<void>;
}

const MAX_RESPONSE_OCTETS = 256 * 1024;
const MAX_RESPONSE_DEPTH = 32;
const MAX_WAITING = 1000;
const DEFAULT_CONNECTIONS = 2;
const BREAKER: BreakerLimits = {
  failures: 5,
  windowMs: 30_000,
  firstPauseMs: 5_000,
  longestPauseMs: 60_000,
  jitter: 0.5,
};

/**
 * @param deps.fetch that of `openHttpClient()`, never the global one, which may send a POST twice.
 * @param deps.connections exchanges at once; default 2.
 */
export function createHttpCaller(
  { fetch, clock, random, connections = DEFAULT_CONNECTIONS }: {
    fetch: Fetch;
    clock: Clock;
    random: Random;
    connections?: number;
  },
): HttpCaller {
  const caller = createGuardedCaller<Fault>({
    clock,
    random,
    limit: { concurrent: connections, waiting: MAX_WAITING },
    breaker: BREAKER,
    toFault: ({ reason }) => REFUSALS[reason],
    isDown: ({ kind }) => kind === "unreachable" || kind === "failed",
  });

  const attempt = ({ method, url, headers, body }: HttpCall, deadlineMs: number): Promise<FetchResult> =>
    fetchWithDeadline({ method, url, headers: headers(), body }, {
      fetch,
      clock,
      deadlineMs,
      maxOctets: MAX_RESPONSE_OCTETS,
    });

  /** A GET is repeated once if the peer could not be reached or disconnected. Other methods are never repeated. */
  const attemptWithRetry = async (call: HttpCall, deadlineMs: number): Promise<FetchResult> => {
    const first = await attempt(call, deadlineMs);
    if (first.ok || call.method !== "GET" || !first.loss.repeatable) return first;
    return await attempt(call, deadlineMs);
  };

  return {
    async call(call) {
      if (!/^https?:$/.test(URL.parse(call.url)?.protocol ?? "")) {
        return failed({ kind: "not_called", detail: "the address is not http or https" });
      }
      const deadlineMs = clock.nowMs() + call.timeoutMs;
      return await caller.call(async () => toOutcome(await attemptWithRetry(call, deadlineMs), call), {
        waitUntilMs: deadlineMs,
      });
    },
    load: () => caller.load(),
    close: () => caller.close(),
  };
}

const BROKE_OFF: Fault = { kind: "unreachable", sent: true, detail: "the exchange broke off" };

const REFUSALS: Readonly<Record<CallRefusal["reason"], Fault>> = {
  circuit_open: { kind: "not_called", detail: "the service failed lately and is left alone for a while" },
  queue_full: { kind: "not_called", detail: "too many calls wait for a connection" },
  wait_timeout: { kind: "not_called", detail: "no connection became free in time" },
  closed: { kind: "not_called", detail: "the caller is closed" },
  call_timeout: BROKE_OFF,
  call_threw: BROKE_OFF,
};

const FLAWS: Readonly<Record<BodyFlaw, Fault>> = {
  too_long: { kind: "nonsense", detail: `an answer of more than ${MAX_RESPONSE_OCTETS} octets` },
  broke_off: { kind: "unreachable", sent: true, detail: "the answer broke off" },
  out_of_time: { kind: "unreachable", sent: true, detail: "the answer did not end in time" },
};

const JSON_FLAWS: Readonly<Record<JsonFlaw, string>> = {
  not_utf8: "an answer that is not UTF-8",
  not_json: "not JSON",
  too_deep: `JSON deeper than ${MAX_RESPONSE_DEPTH} levels`,
  too_many_values: "JSON with too many values",
  too_many_names: "JSON with an object of too many names",
  repeated_name: "an object with the same name twice",
};

/** The outcome of an exchange. A status other than 2xx is a fault, even if its body is unreadable. */
function toOutcome(made: FetchResult, call: HttpCall): Outcome<HttpAnswer> {
  if (!made.ok) {
    return failed({ kind: "unreachable", sent: made.loss.sent, detail: made.loss.detail });
  }
  const { status, headers } = made;
  if (status < 200 || status > 299) {
    const error = readErrorBody(made, call);
    return failed(faultOfStatus(status, { error, retryAfter: headers.get("retry-after") }));
  }
  if (made.body === null) return failed(FLAWS[made.flaw]);
  if (!isJson(headers)) return malformed("an answer that is not application/json");
  const parsed = parseBoundedJson(made.body, { maxDepth: MAX_RESPONSE_DEPTH });
  if (!parsed.ok) return malformed(JSON_FLAWS[parsed.flaw]);
  const body = asRecord(parsed.value);
  return body === null ? malformed("JSON that is no object") : { ok: true, value: { status, headers, body } };
}

function isJson(headers: Headers): boolean {
  const [type = ""] = (headers.get("content-type") ?? "").split(";", 1);
  return /^application\/(?:[a-z0-9.-]+\+)?json$/i.test(type.trim());
}

function readErrorBody(made: Extract<FetchResult, { ok: true }>, call: HttpCall): ErrorBody {
  const plain: ErrorBody = { code: made.status, detail: `HTTP ${made.status}` };
  const parsed = parseBoundedJson(made.body ?? "", { maxDepth: MAX_RESPONSE_DEPTH });
  const body = parsed.ok ? asRecord(parsed.value) : null;
  if (body === null) return plain;
  const { code, detail } = call.readError(body);
  return {
    code: readCode(code) ?? plain.code,
    detail: typeof detail === "string" ? maskDetail(detail, call.secrets) : plain.detail,
  };
}

/** Codes are integers; some services write them as text. */
function readCode(code: unknown): number | null {
  if (typeof code === "number") return Number.isSafeInteger(code) ? code : null;
  return typeof code === "string" && /^\d{1,9}$/.test(code) ? Number(code) : null;
}

// The faults of calls: the meaning of an HTTP status, and texts without secrets and control characters.

/** The error in a response body; `code` falls back to the HTTP status. */
interface ErrorBody {
  readonly code: number;
  readonly detail: string;
}

const MAX_DETAIL_CHARACTERS = 200;
const MAX_RETRY_AFTER_MS = 3_600_000;

/** An outcome that failed. */
export function failed<T>(fault: Fault): Outcome<T> {
  return { ok: false, fault };
}

/** The fault for an answer that does not follow the interface. */
export function malformed<T>(detail: string): Outcome<T> {
  return failed({ kind: "nonsense", detail });
}

/** The fault for a status other than 2xx. `retryAfter` is the header's text. */
export function faultOfStatus(
  status: number,
  { error, retryAfter }: { error: ErrorBody; retryAfter: string | null },
): Fault {
  const { code, detail } = error;
  if (status >= 300 && status < 400) {
    return { kind: "unreachable", sent: true, detail: `redirected (HTTP ${status})` };
  }
  if (status === 404) return { kind: "unknown", code, detail };
  if (status === 429) return { kind: "busy", retryAfterMs: readRetryAfterMs(retryAfter), detail };
  if (status >= 400 && status < 500) return { kind: "refused", status, code, detail };
  if (status >= 500) return { kind: "failed", status, detail };
  return { kind: "nonsense", detail: `HTTP ${status} is no answer to this call` };
}

/** `Retry-After` in seconds (RFC 9110 §10.2.3), at most an hour; a date or anything else is 0. */
function readRetryAfterMs(text: string | null): number {
  if (text === null || !/^\d{1,9}$/.test(text.trim())) return 0;
  return Math.min(Number(text) * 1000, MAX_RETRY_AFTER_MS);
}

/** A text of a service for a fault: short, on one line, and without `secrets`, passcodes and phone numbers. */
export function maskDetail(text: string, secrets: readonly string[] = []): string {
  const limits = { maxCharacters: MAX_DETAIL_CHARACTERS, masksDigits: true };
  return sanitizeDetail(text.toWellFormed(), { secrets, ...limits });
}
