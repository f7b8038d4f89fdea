// One HTTP exchange with one deadline for the request, the head of the response, and a body of bounded size. Redirects are not
// followed. The caller adds queues and circuit breakers, and interprets the response. The server reads request bodies with the same code.

import type { Clock } from "./runtime.ts";

/** The part of `fetch` that the product uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

interface FetchRequest {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

interface FetchLimits {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** The maximum octets of a body, counted as they arrive (after decompression). */
  readonly maxOctets: number;
  /** Ends the exchange early. */
  readonly signal?: AbortSignal;
}

/** A response, or the loss of the connection. A body that could not be read is `null`, with its flaw. */
export type FetchResult =
  | { readonly ok: true; readonly status: number; readonly headers: Headers; readonly body: Uint8Array }
  | {
    readonly ok: true;
    readonly status: number;
    readonly headers: Headers;
    readonly body: null;
    readonly flaw: BodyFlaw;
  }
  | { readonly ok: false; readonly loss: ConnectionLoss };

/** A failure below HTTP. The platform's message is not used, because it contains the URL. */
interface ConnectionLoss {
  /** Whether the request may have been processed. */
  readonly sent: boolean;
  readonly detail: string;
  /** Whether an idempotent request may be repeated at once: the peer was not reachable, or closed the connection. */
  readonly repeatable: boolean;
}

export const NO_ANSWER_IN_TIME: ConnectionLoss = {
  sent: true,
  detail: "no answer in time",
  repeatable: false,
};

/** Never rejects, and ends by `deadlineMs` even if `fetch` ignores its signal. */
export async function fetchWithDeadline(
  { url, ...request }: FetchRequest,
  { fetch, clock, deadlineMs, maxOctets, signal }: FetchLimits,
): Promise<FetchResult> {
  const ending = new AbortController();
  const { promise: outOfTime, resolve } = Promise.withResolvers<"out_of_time">();
  const cancelTimer = clock.after(Math.max(0, deadlineMs - clock.nowMs()), () => {
    resolve("out_of_time");
    ending.abort();
  });
  try {
    const response = await Promise.race([
      fetch(url, {
        ...request,
        redirect: "manual",
        signal: signal === undefined ? ending.signal : AbortSignal.any([ending.signal, signal]),
      }),
      outOfTime,
    ]);
    if (response === "out_of_time") return { ok: false, loss: NO_ANSWER_IN_TIME };
    const { status, headers } = response;
    const body = await readBoundedBody(response.body, { maxOctets, outOfTime });
    return typeof body === "string"
      ? { ok: true, status, headers, body: null, flaw: body }
      : { ok: true, status, headers, body };
  } catch (thrown) {
    return { ok: false, loss: ending.signal.aborted ? NO_ANSWER_IN_TIME : connectionLossOf(thrown) };
  } finally {
    cancelTimer();
    // Ends the rest of the exchange.
    ending.abort();
  }
}

/** The first row whose `message` is part of the platform's message (Deno 2.9.6) applies. */
const CONNECTION_LOSSES: readonly (ConnectionLoss & { readonly message: string })[] = [
  { message: "dns error", sent: false, detail: "the name cannot be resolved", repeatable: false },
  { message: "Connection refused", sent: false, detail: "connection refused", repeatable: true },
  { message: "client error (Connect)", sent: false, detail: "cannot connect", repeatable: false },
  { message: "are blocked", sent: false, detail: "this port is blocked", repeatable: false },
  { message: "onnection reset", sent: true, detail: "connection reset", repeatable: true },
  { message: "connection closed", sent: true, detail: "closed without an answer", repeatable: true },
  { message: "invalid HTTP", sent: true, detail: "the answer is not HTTP", repeatable: false },
];

const UNKNOWN_LOSS: ConnectionLoss = { sent: true, detail: "the exchange broke off", repeatable: false };

/** The connection loss that a rejected `fetch` means. */
function connectionLossOf(thrown: unknown): ConnectionLoss {
  const text = messagesOf(thrown);
  return CONNECTION_LOSSES.find(({ message }) => text.includes(message)) ?? UNKNOWN_LOSS;
}

function messagesOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "";
  return thrown.cause instanceof Error ? `${thrown.message} ${thrown.cause.message}` : thrown.message;
}

/**
 * The real `fetch` for calls that must not be sent twice. If a reused connection fails, the platform's `fetch` sends the request
 * again, even a POST (measured on Deno 2.9.6). The user would get a second text or push. So each call has its own connection.
 *
 * @param options.ca certificates (PEM) of authorities that are accepted besides those of the platform
 */
export function openHttpClient(
  { ca = "" }: { ca?: string } = {},
): { fetch: Fetch; close: () => void } {
  const caCerts = ca === "" ? {} : { caCerts: [ca] };
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0, http2: false, ...caCerts });
  const singleUseFetch: Fetch = (url, init) => {
    const withClient: RequestInit & { client: Deno.HttpClient } = { ...init, client };
    return fetch(url, withClient);
  };
  return { fetch: singleUseFetch, close: () => client.close() };
}

/** Why a body was not read. */
export type BodyFlaw = "too_long" | "out_of_time" | "broke_off";

export interface BodyBounds {
  readonly maxOctets: number;
  /** Resolves when the time is over. */
  readonly outOfTime: Promise<"out_of_time">;
  /** Called with the length of each chunk. If it throws, reading ends. */
  readonly onChunk?: (octets: number) => void;
}

/** The whole body, or why it was not read. */
export async function readBoundedBody(
  stream: ReadableStream<Uint8Array> | null,
  { maxOctets, outOfTime, onChunk }: BodyBounds,
): Promise<Uint8Array<ArrayBuffer> | BodyFlaw> {
  if (stream === null) return new Uint8Array();
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    while (true) {
      const step = await Promise.race([reader.read().catch(() => "broke_off" as const), outOfTime]);
      if (typeof step === "string") return step;
      if (step.done) return joined(chunks, length);
      length += step.value.length;
      if (length > maxOctets) return "too_long";
      onChunk?.(step.value.length);
      chunks.push(step.value);
    }
  } finally {
    // The rest is not needed, and an error of the cancellation does not matter.
    reader.cancel().catch(() => undefined);
  }
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

const MAX_RETRY_AFTER_MS = 3_600_000;

/** The milliseconds of `Retry-After` (RFC 9110 §10.2.3), which is seconds or a date: at most an hour; `null` if it is neither. */
export function readRetryAfter(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  const text = header.trim();
  const waitMs = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isFinite(waitMs) ? Math.min(MAX_RETRY_AFTER_MS, Math.max(0, waitMs)) : null;
}
