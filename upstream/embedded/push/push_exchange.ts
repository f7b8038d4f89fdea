// One push message to one push service (RFC 8030 §5): https to an allowed host with a public address, without redirects, with a
// deadline and a small answer. The result is a value; nothing throws.

import dns from "node:dns";
import {
  type Fetch,
  type FetchResult,
  fetchWithDeadline,
  NO_ANSWER_IN_TIME,
  readRetryAfter,
} from "../../../platform/fetch_with_deadline.ts";
import { isPublicAddress } from "../../../platform/addresses.ts";
import { type Clock, withTimeout } from "../../../platform/runtime.ts";

/** The network, as far as push needs it. */
export interface PushNetwork {
  readonly fetch: Fetch;
  /** The IP addresses of a host name. Rejects if the name cannot be resolved. */
  lookUp(hostname: string): Promise<readonly string[]>;
}

/** Why a message was not accepted. docs/push.md explains each one. */
export type PushProblemCode =
  | "gone"
  | "bad_message"
  | "credentials_refused"
  | "too_large"
  | "rate_limited"
  | "service_failed"
  | "unexpected_answer"
  | "redirected"
  | "unreachable"
  | "timed_out"
  | "private_address"
  | "host_not_allowed"
  | "overloaded"
  | "paused"
  | "failed";

export interface PushProblem {
  readonly code: PushProblemCode;
  /** The HTTP status; `null` without an answer. */
  readonly status: number | null;
  /** What the network said; "" for nothing. Never an address of a subscription. */
  readonly detail: string;
  /** The push service asks to wait this long; `null` if it does not. */
  readonly retryAfterMs: number | null;
}

/** The body and the headers of a message. */
interface PushRequest {
  readonly endpoint: string;
  readonly authorization: string;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly ttlS: number;
  readonly topic: string;
  readonly userAgent: string;
}

export type PushExchangeResult = { readonly ok: true } | { readonly ok: false; readonly fault: PushProblem };

interface ExchangeDeps {
  readonly network: PushNetwork;
  readonly clock: Clock;
  /** Ends the exchange. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

const MAX_ANSWER_OCTETS = 4096;

export function pushProblem(
  code: PushProblemCode,
  { status = null, detail = "", retryAfterMs = null }: Partial<PushProblem> = {},
): PushProblem {
  return { code, status, detail, retryAfterMs };
}

/** Sends a message once. */
export async function sendPushOnce(
  { endpoint, authorization, body, ttlS, topic, userAgent }: PushRequest,
  deps: ExchangeDeps,
): Promise<PushExchangeResult> {
  if (await isPrivateHost(new URL(endpoint).hostname, deps)) {
    return { ok: false, fault: pushProblem("private_address") };
  }
  const headers = {
    "authorization": authorization,
    "content-encoding": "aes128gcm",
    "content-type": "application/octet-stream",
    "ttl": String(ttlS),
    "topic": topic,
    "urgency": "high",
    "user-agent": userAgent,
  };
  return resultOf(
    await fetchWithDeadline({ method: "POST", url: endpoint, headers, body }, limitsOf(deps)),
    deps.clock.nowMs(),
  );
}

function limitsOf({ network: { fetch }, clock, deadlineMs, signal }: ExchangeDeps) {
  return { fetch, clock, deadlineMs, signal, maxOctets: MAX_ANSWER_OCTETS };
}

/** Whether a push service answers at all. Sends no message. */
export async function probePushHost(
  host: string,
  deps: ExchangeDeps,
): Promise<PushExchangeResult> {
  const url = `https://${host}/`;
  if (await isPrivateHost(new URL(url).hostname, deps)) {
    return { ok: false, fault: pushProblem("private_address") };
  }
  const made = await fetchWithDeadline({ method: "GET", url, headers: {} }, limitsOf(deps));
  // Any answer shows that the service can be reached.
  return made.ok && made.status < 500 ? { ok: true } : resultOf(made, deps.clock.nowMs());
}

/**
 * Whether the name has an address that is not public. The connection resolves the name again; a certificate for an allowed host
 * is the second lock. A name that cannot be resolved here may be one that only a proxy resolves, so the exchange decides.
 */
async function isPrivateHost(
  hostname: string,
  { network, clock, deadlineMs }: ExchangeDeps,
): Promise<boolean> {
  const found = network.lookUp(hostname).catch((): readonly string[] => []);
  const timed = await withTimeout(found, { clock, timeoutMs: deadlineMs - clock.nowMs() });
  return timed.inTime && timed.value.some((address) => !isPublicAddress(address));
}

/** The first row that fits the status applies. */
const STATUS_PROBLEMS: readonly (readonly [from: number, to: number, code: PushProblemCode])[] = [
  [300, 399, "redirected"],
  [400, 400, "bad_message"],
  [401, 401, "credentials_refused"],
  [403, 403, "credentials_refused"],
  [404, 404, "gone"],
  [410, 410, "gone"],
  [406, 406, "rate_limited"], // the push service of Windows
  [413, 413, "too_large"],
  [429, 429, "rate_limited"],
  [500, 599, "service_failed"],
];

function resultOf(made: FetchResult, nowMs: number): PushExchangeResult {
  if (!made.ok) {
    const { detail } = made.loss;
    const code = detail === NO_ANSWER_IN_TIME.detail ? "timed_out" : "unreachable";
    return { ok: false, fault: pushProblem(code, { detail }) };
  }
  const { status, headers } = made;
  // The status decides, also if the rest of the answer is too long or broken.
  if (status >= 200 && status <= 299) return { ok: true };
  const row = STATUS_PROBLEMS.find(([from, to]) => status >= from && status <= to);
  const retryAfterMs = readRetryAfter(headers.get("retry-after"), nowMs);
  return { ok: false, fault: pushProblem(row?.[2] ?? "unexpected_answer", { status, retryAfterMs }) };
}

const IDLE_CONNECTIONS_PER_HOST = 4;

export function openPushNetwork(): PushNetwork & { close(): void } {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: IDLE_CONNECTIONS_PER_HOST, http2: true });
  return {
    fetch(url, init) {
      const withClient: RequestInit & { client: Deno.HttpClient } = { ...init, client };
      return fetch(url, withClient);
    },
    async lookUp(hostname) {
      // The resolver of the host, which also reads /etc/hosts, as for the connection itself.
      const found = await dns.promises.lookup(hostname, { all: true });
      return found.map(({ address }) => address);
    },
    close: () => client.close(),
  };
}
