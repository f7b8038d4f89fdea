// One HTTP request: its end by the response and by the deadline.

import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type BodyBounds,
  type Fetch,
  type FetchResult,
  fetchWithDeadline,
  readBoundedBody,
  readRetryAfter,
} from "../../platform/fetch_with_deadline.ts";
import { createManualClock, settle } from "../upstream/manual_clock.ts";

const TIMEOUT_MS = 1000;
const MAX_OCTETS = 8;
const NEVER = new Promise<Response>(() => undefined);

function start(fetch: Fetch, { signal }: { signal?: AbortSignal } = {}) {
  const clock = createManualClock();
  const inits: RequestInit[] = [];
  const result = fetchWithDeadline(
    { method: "POST", url: "http://peer.invalid/", headers: { "X-A": "1" }, body: "sent" },
    {
      fetch(url, init) {
        inits.push(init);
        return fetch(url, init);
      },
      clock,
      deadlineMs: clock.nowMs() + TIMEOUT_MS,
      maxOctets: MAX_OCTETS,
      ...signal !== undefined && { signal },
    },
  );
  return { clock, inits, result };
}

function summaryOf(result: FetchResult): string {
  if (!result.ok) {
    const { sent, detail, repeatable } = result.loss;
    return `${sent ? "sent" : "not sent"}, ${repeatable ? "repeatable" : "final"}: ${detail}`;
  }
  return result.body === null ? `${result.status} ${result.flaw}` : `${result.status} ${result.body.length}`;
}

/** A body of these chunks that then ends, breaks off, or stays open. */
function bodyOf(chunks: readonly string[], end: "ends" | "breaks" | "stays"): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = chunks[at++];
      if (chunk !== undefined) controller.enqueue(encoder.encode(chunk));
      else if (end === "ends") controller.close();
      else if (end === "breaks") controller.error(new TypeError("connection reset"));
      else return new Promise(() => undefined);
    },
  });
}

const failure = (message: string, cause?: string): Fetch => () =>
  Promise.reject(new TypeError(message, cause === undefined ? {} : { cause: new Error(cause) }));

const ROWS: readonly (readonly [title: string, fetch: Fetch, summary: string])[] = [
  ["no body", () => Promise.resolve(new Response(null, { status: 204 })), "204 0"],
  ["a body as long as the bound", () => Promise.resolve(new Response("12345678")), "200 8"],
  ["a body in parts", () => Promise.resolve(new Response(bodyOf(["1234", "5678"], "ends"))), "200 8"],
  ["an octet more", () => Promise.resolve(new Response(bodyOf(["1234", "56789"], "stays"))), "200 too_long"],
  ["a body that breaks off", () => Promise.resolve(new Response(bodyOf(["12"], "breaks"))), "200 broke_off"],
  ["a failure with its status", () => Promise.resolve(new Response("no", { status: 500 })), "500 2"],
  [
    "a redirect as its status",
    () => Promise.resolve(Response.redirect("http://else.invalid/", 302)),
    "302 0",
  ],
  [
    "a refused connection",
    failure("error sending request", "Connection refused (os error 111)"),
    "not sent, repeatable: connection refused",
  ],
  [
    "an unknown name",
    failure("client error (Connect): dns error"),
    "not sent, final: the name cannot be resolved",
  ],
  [
    "a failed TLS handshake",
    failure("client error (Connect): invalid peer certificate"),
    "not sent, final: cannot connect",
  ],
  ["a reset", failure("Connection reset by peer"), "sent, repeatable: connection reset"],
  [
    "an early end",
    failure("connection closed before message completed"),
    "sent, repeatable: closed without an answer",
  ],
  ["an unknown failure", failure("something else"), "sent, final: the exchange broke off"],
  ["a thrown text", () => Promise.reject("text"), "sent, final: the exchange broke off"],
];

for (const [title, fetch, summary] of ROWS) {
  Deno.test(`fetchWithDeadline() returns ${title}`, async () => {
    const { clock, inits, result } = start(fetch);
    assertEquals(summaryOf(await result), summary);
    assertEquals(inits.map(({ method, redirect, body }) => [method, redirect, body]), [[
      "POST",
      "manual",
      "sent",
    ]]);
    assertEquals([inits[0]?.signal?.aborted, clock.timers()], [true, 0], "nothing stays open");
  });
}

Deno.test("fetchWithDeadline() ends at the deadline, also if fetch ignores its signal", async () => {
  const { clock, inits, result } = start(() => NEVER);
  clock.advance(TIMEOUT_MS);
  assertEquals(summaryOf(await result), "sent, final: no answer in time");
  assertEquals(inits[0]?.signal?.aborted, true);
});

Deno.test("fetchWithDeadline() ends at the deadline while a body continues", async () => {
  const { clock, result } = start(() => Promise.resolve(new Response(bodyOf(["1"], "stays"))));
  await settle();
  clock.advance(TIMEOUT_MS);
  assertEquals(summaryOf(await result), "200 out_of_time");
});

Deno.test("fetchWithDeadline() ends when the caller's signal is aborted", async () => {
  const ending = new AbortController();
  const { result } = start(
    (_url, { signal }) =>
      new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
    ending,
  );
  ending.abort();
  assertEquals(summaryOf(await result), "sent, final: the exchange broke off");
});

const never = new Promise<never>(() => undefined);
const octets = (length: number) => new Uint8Array(length).fill(7);

function streamOf(chunks: readonly Uint8Array[], end: "close" | "error" | "never" = "close") {
  let isCancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    start(to) {
      for (const chunk of chunks) to.enqueue(chunk);
      if (end === "close") to.close();
    },
    pull: (to) => end === "error" ? to.error(new Error("reset")) : never,
    cancel: () => void (isCancelled = true),
  });
  return { stream, isCancelled: () => isCancelled };
}

const read = (stream: ReadableStream<Uint8Array> | null, bounds: Partial<BodyBounds> = {}) =>
  readBoundedBody(stream, { maxOctets: 10, outOfTime: never, ...bounds });

Deno.test("readBoundedBody() joins the chunks, up to exactly the limit", async () => {
  assertEquals(await read(null), new Uint8Array());
  assertEquals(await read(streamOf([]).stream), new Uint8Array());
  assertEquals(await read(streamOf([octets(4), octets(6)]).stream), octets(10));
});

Deno.test("readBoundedBody() stops one octet above the limit, and cancels the rest", async () => {
  const long = streamOf([octets(4), octets(7), octets(100)], "never");
  assertEquals(await read(long.stream), "too_long");
  assertEquals(long.isCancelled(), true);
});

Deno.test("readBoundedBody() reports that a stream broke off, or did not end in time", async () => {
  assertEquals(await read(streamOf([octets(1)], "error").stream), "broke_off");
  const late = streamOf([octets(1)], "never");
  const outOfTime = Promise.resolve("out_of_time" as const);
  assertEquals(await read(late.stream, { outOfTime }), "out_of_time");
  assertEquals(late.isCancelled(), true);
});

Deno.test("readBoundedBody() throws the error of onChunk, and cancels the rest", async () => {
  const full = streamOf([octets(1)], "never");
  const onChunk = () => {
    throw new Error("no memory");
  };
  await assertRejects(() => read(full.stream, { onChunk }), Error, "no memory");
  assertEquals(full.isCancelled(), true);
});
Deno.test("readRetryAfter() reads seconds and dates, and no absurd values", () => {
  const nowMs = Date.parse("2026-01-01T00:00:00Z");
  assertEquals(readRetryAfter("120", nowMs), 120_000);
  assertEquals(readRetryAfter("Thu, 01 Jan 2026 00:00:30 GMT", nowMs), 30_000);
  assertEquals(readRetryAfter("Thu, 01 Jan 2015 00:00:30 GMT", nowMs), 0);
  assertEquals(readRetryAfter("999999999", nowMs), 3_600_000);
  for (const text of [null, "", "soon", "-5", "1e9"]) {
    const read = readRetryAfter(text, nowMs);
    assert(read === null || (read >= 0 && read <= 3_600_000));
  }
});
