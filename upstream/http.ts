// Everything that is called over HTTP goes through here: one deadline over queue, request and body, a cap on the
// answer, a count of connections, a circuit breaker per route. What goes wrong is a Fault, never a throw.

import type { Fault, Outcome } from "../radius/doing/ports.ts";
import { asRecord, type JsonFlaw, type JsonRecord, parseBoundedJson } from "../platform/safe_json.ts";
import type { Clock, Random } from "../runtime.ts";
import {
  admitCall,
  afterCall,
  type Breaker,
  BREAKER_LIMITS,
  type BreakerLimits,
  type CallLesson,
  CLOSED_BREAKER,
  isOpen,
} from "./breaker.ts";
import { type ConnectionLimits, createConnectionGate } from "./connection_gate.ts";
import { cleanDetail, type ErrorBody, failed, faultOfStatus, nonsense } from "./faults.ts";
import { type BodyFlaw, type Exchange, exchange, type Fetch } from "./http_exchange.ts";

/** One call to a service that answers in JSON. */
export interface HttpCall {
  readonly method: "GET" | "POST";
  readonly url: string;
  /** Made anew for each attempt and only when it goes out, so that a signature carries the time of sending. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly body?: string;
  /** Over everything: the wait for a connection, the request, the body. */
  readonly timeoutMs: number;
  /** How this service words its errors. */
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

/** How busy a caller is. */
export interface HttpCallerLoad {
  readonly underWay: number;
  readonly waiting: number;
  /** Routes (scheme, host, port) that are not called for the moment. */
  readonly openRoutes: readonly string[];
}

/** The one way out. */
export interface HttpCaller {
  /** Never rejects; ends within `timeoutMs`. */
  call(call: HttpCall): Promise<Outcome<HttpAnswer>>;
  load(): HttpCallerLoad;
  /** Starts no more calls; resolves when the calls in progress have ended. */
  close(): Promise<void>;
}

const MAX_ANSWER_OCTETS = 256 * 1024;
const MAX_ANSWER_DEPTH = 32;
const MAX_ROUTES = 100;
const DEFAULT_LIMITS: ConnectionLimits = { perRoute: 2, total: 20, waiting: 1000 };

/**
 * @param deps.fetch that of `openHttpClient()`, never the global one, which may send a POST twice.
 * @param deps.connections exchanges at once; default 2 per route, 20 in all, 1,000 waiting.
 */
export function createHttpCaller(
  deps: {
    fetch: Fetch;
    clock: Clock;
    random: Random;
    connections?: Partial<ConnectionLimits>;
    breaker?: Partial<BreakerLimits>;
  },
): HttpCaller {
  const { clock } = deps;
  const gate = createConnectionGate(clock, { ...DEFAULT_LIMITS, ...deps.connections });
  const breakers = createBreakers(deps);

  const attempt = (call: HttpCall, deadlineMs: number): Promise<Exchange> =>
    exchange({ method: call.method, url: call.url, headers: call.headers(), body: call.body }, {
      fetch: deps.fetch,
      clock,
      deadlineMs,
      maxOctets: MAX_ANSWER_OCTETS,
    });

  /** A GET is repeated once when the peer was not there or went away; nothing else ever is. */
  const attemptTwice = async (call: HttpCall, deadlineMs: number): Promise<Exchange> => {
    const first = await attempt(call, deadlineMs);
    if (first.ok || call.method !== "GET" || !first.loss.repeatable) return first;
    return await attempt(call, deadlineMs);
  };

  const callInTurn = async (call: HttpCall, route: string): Promise<Outcome<HttpAnswer>> => {
    const deadlineMs = clock.nowMs() + call.timeoutMs;
    const place = await gate.enter(route, deadlineMs);
    if (!place.ok) return failed({ kind: "not_called", detail: place.detail });
    try {
      return judge(await attemptTwice(call, deadlineMs), call);
    } finally {
      place.leave();
    }
  };

  return {
    async call(call) {
      const route = routeOf(call.url);
      if (route === null) return failed({ kind: "not_called", detail: "the address is not http or https" });
      if (!breakers.admits(route)) {
        return failed({
          kind: "not_called",
          detail: "the service failed lately and is left alone for a while",
        });
      }
      const outcome = await callInTurn(call, route);
      breakers.learn(route, lessonOf(outcome));
      return outcome;
    },
    load: () => ({ underWay: gate.underWay(), waiting: gate.waiting(), openRoutes: breakers.open() }),
    close: () => gate.close(),
  };
}

function routeOf(url: string): string | null {
  const parsed = URL.parse(url);
  return parsed !== null && /^https?:$/.test(parsed.protocol) ? parsed.origin : null;
}

interface Breakers {
  admits(route: string): boolean;
  learn(route: string, lesson: CallLesson): void;
  open(): string[];
}

function createBreakers(
  { clock, random, breaker }: { clock: Clock; random: Random; breaker?: Partial<BreakerLimits> },
): Breakers {
  const limits = { ...BREAKER_LIMITS, ...breaker };
  const routes = new Map<string, Breaker>();
  const keep = (route: string, state: Breaker): void => {
    if (state === CLOSED_BREAKER) routes.delete(route);
    else if (routes.has(route) || routes.size < MAX_ROUTES) routes.set(route, state);
  };
  return {
    admits(route) {
      const { admitted, next } = admitCall(routes.get(route) ?? CLOSED_BREAKER, clock.nowMs());
      keep(route, next);
      return admitted;
    },
    learn(route, lesson) {
      const jitter = (random.bytes(1)[0] ?? 0) / 255;
      keep(
        route,
        afterCall(routes.get(route) ?? CLOSED_BREAKER, lesson, { nowMs: clock.nowMs(), jitter, limits }),
      );
    },
    open: () => [...routes].filter(([, state]) => isOpen(state)).map(([route]) => route),
  };
}

function lessonOf(outcome: Outcome<HttpAnswer>): CallLesson {
  if (outcome.ok) return "alive";
  switch (outcome.fault.kind) {
    case "not_called":
      return "unused";
    case "unreachable":
    case "failed":
      return "down";
    default:
      return "alive";
  }
}

const FLAWS: Readonly<Record<BodyFlaw, Fault>> = {
  too_long: { kind: "nonsense", detail: `an answer of more than ${MAX_ANSWER_OCTETS} octets` },
  not_utf8: { kind: "nonsense", detail: "an answer that is not UTF-8" },
  broke_off: { kind: "unreachable", sent: true, detail: "the answer broke off" },
  out_of_time: { kind: "unreachable", sent: true, detail: "the answer did not end in time" },
};

const JSON_FLAWS: Readonly<Record<JsonFlaw, string>> = {
  not_utf8: "an answer that is not UTF-8",
  not_json: "not JSON",
  too_deep: `JSON deeper than ${MAX_ANSWER_DEPTH} levels`,
  too_many_values: "JSON with too many values",
};

/** What an exchange means. A status that is no success counts even when its body is of no use. */
function judge(made: Exchange, call: HttpCall): Outcome<HttpAnswer> {
  if (!made.ok) {
    return failed({ kind: "unreachable", sent: made.loss.sent, detail: made.loss.detail });
  }
  const { status, headers } = made;
  if (status < 200 || status > 299) {
    const error = readErrorBody(made, call);
    return failed(faultOfStatus(status, { error, retryAfter: headers.get("retry-after") }));
  }
  if (made.body === null) return failed(FLAWS[made.flaw]);
  if (!isJson(headers)) return nonsense("an answer that is not application/json");
  const parsed = parseBoundedJson(made.body, { maxDepth: MAX_ANSWER_DEPTH });
  if (!parsed.ok) return nonsense(JSON_FLAWS[parsed.flaw]);
  const body = asRecord(parsed.value);
  return body === null ? nonsense("JSON that is no object") : { ok: true, value: { status, headers, body } };
}

function isJson(headers: Headers): boolean {
  const [type = ""] = (headers.get("content-type") ?? "").split(";", 1);
  return /^application\/(?:[a-z0-9.-]+\+)?json$/i.test(type.trim());
}

function readErrorBody(made: Extract<Exchange, { ok: true }>, call: HttpCall): ErrorBody {
  const plain: ErrorBody = { code: made.status, detail: `HTTP ${made.status}` };
  const parsed = parseBoundedJson(made.body ?? "", { maxDepth: MAX_ANSWER_DEPTH });
  const body = parsed.ok ? asRecord(parsed.value) : null;
  if (body === null) return plain;
  const { code, detail } = call.readError(body);
  return {
    code: readCode(code) ?? plain.code,
    detail: typeof detail === "string" ? cleanDetail(detail, call.secrets) : plain.detail,
  };
}

/** Codes are integers; some services write them as text. */
function readCode(code: unknown): number | null {
  if (typeof code === "number") return Number.isSafeInteger(code) ? code : null;
  return typeof code === "string" && /^\d{1,9}$/.test(code) ? Number(code) : null;
}
