// One exchange over HTTP under one deadline: the request, the head of the answer, its body with a cap. Knows neither
// queues nor breakers nor what the answer means.

import type { Clock } from "../runtime.ts";
import { type ConnectionLoss, connectionLossOf } from "./faults.ts";

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What is sent. */
export interface ExchangeRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A whole answer, or how far it came. `body` is `null` when it broke off, was too long or no UTF-8; `flaw` says which. */
export type Exchange =
  | { ok: true; status: number; headers: Headers; body: string }
  | { ok: true; status: number; headers: Headers; body: null; flaw: BodyFlaw }
  | { ok: false; loss: ConnectionLoss };

export type BodyFlaw = "too_long" | "not_utf8" | "broke_off" | "out_of_time";

const OUT_OF_TIME: ConnectionLoss = { sent: true, detail: "no answer in time", repeatable: false };

/**
 * Runs one exchange. Never rejects, and ends by `deadlineMs` even when `fetch` ignores its signal. Redirects are not
 * followed: they come back as their status.
 *
 * @param options.maxOctets cap of the body, counted as it arrives (after decompression).
 */
export async function exchange(
  request: ExchangeRequest,
  options: { fetch: Fetch; clock: Clock; deadlineMs: number; maxOctets: number },
): Promise<Exchange> {
  const { fetch, clock, deadlineMs, maxOctets } = options;
  const deadline = startDeadline(clock, deadlineMs);
  try {
    const response = await Promise.race([
      fetch(request.url, {
        method: request.method,
        headers: request.headers,
        body: request.body,
        redirect: "manual",
        signal: deadline.signal,
      }),
      deadline.passed,
    ]);
    if (response === "passed") return { ok: false, loss: OUT_OF_TIME };
    const body = await readBody(response.body, { passed: deadline.passed, maxOctets });
    const { status, headers } = response;
    return typeof body === "string"
      ? { ok: true, status, headers, body }
      : { ok: true, status, headers, body: null, flaw: body.flaw };
  } catch (thrown) {
    return { ok: false, loss: deadline.signal.aborted ? OUT_OF_TIME : connectionLossOf(thrown) };
  } finally {
    deadline.stop();
  }
}

interface Deadline {
  readonly signal: AbortSignal;
  readonly passed: Promise<"passed">;
  /** Ends the timer and whatever of the exchange is still open. */
  stop(): void;
}

function startDeadline(clock: Clock, deadlineMs: number): Deadline {
  const controller = new AbortController();
  const { promise, resolve } = Promise.withResolvers<"passed">();
  const cancelTimer = clock.after(Math.max(0, deadlineMs - clock.nowMs()), () => {
    controller.abort();
    resolve("passed");
  });
  return {
    signal: controller.signal,
    passed: promise,
    stop() {
      cancelTimer();
      controller.abort();
    },
  };
}

async function readBody(
  stream: ReadableStream<Uint8Array> | null,
  { passed, maxOctets }: { passed: Promise<"passed">; maxOctets: number },
): Promise<string | { flaw: BodyFlaw }> {
  if (stream === null) return "";
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let octets = 0;
  try {
    for (;;) {
      const read = await Promise.race([reader.read(), passed]);
      if (read === "passed") return { flaw: "out_of_time" };
      if (read.done) return decodeUtf8(chunks, octets);
      octets += read.value.length;
      if (octets > maxOctets) return { flaw: "too_long" };
      chunks.push(read.value);
    }
  } catch (_brokeOff) {
    return { flaw: "broke_off" };
  } finally {
    // The rest of the body is not needed, and an error of this cancellation does not matter.
    reader.cancel().catch(() => undefined);
  }
}

function decodeUtf8(chunks: readonly Uint8Array[], octets: number): string | { flaw: BodyFlaw } {
  const whole = new Uint8Array(octets);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(whole);
  } catch (_notUtf8) {
    return { flaw: "not_utf8" };
  }
}
