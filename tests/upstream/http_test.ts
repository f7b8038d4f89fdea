// The HTTP caller: connections as counted by the server, deadlines, closing.

import { assertEquals, assertLessOrEqual, assertRejects } from "@std/assert";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { createHttpCaller, type HttpCall } from "../../upstream/http/service_caller.ts";
import { openHttpClient } from "../../platform/fetch_with_deadline.ts";
import { type RawServer, startRawServer } from "../fakes/raw_http.ts";
import { nextTurn } from "../support/settle.ts";
import { createManualClock, settle } from "./manual_clock.ts";

/** Open for the whole file: a client without a call has nothing open. */
const singleUse = openHttpClient();

const JSON_REPLY = { status: 200, headers: { "Content-Type": "application/json" }, body: "{}" };

const startServer = (): RawServer => startRawServer(() => ({ reply: JSON_REPLY }));

const get = (url: string, overrides: Partial<HttpCall> = {}): HttpCall => ({
  method: "GET",
  url,
  headers: () => ({}),
  timeoutMs: 60_000,
  readError: () => ({ code: undefined, detail: undefined }),
  secrets: [],
  ...overrides,
});

async function until(holds: () => boolean): Promise<void> {
  const endMs = performance.now() + 30_000;
  while (!holds()) {
    if (performance.now() > endMs) throw new Error("It never came to hold");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

Deno.test("HttpCaller opens at most 2 connections, as counted by the server", async () => {
  const server = startServer();
  const caller = createHttpCaller({
    fetch: singleUse.fetch,
    clock: systemClock,
    random: createSystemRandom(),
  });
  const release = server.hold();
  const calls = Array.from({ length: 30 }, (_, at) => caller.call(get(`${server.url}/${at}`)));
  await until(() => server.underWay() === 2);
  assertEquals(caller.load(), { running: 2, waiting: 28, isOpen: false });
  release();
  assertEquals((await Promise.all(calls)).filter(({ ok }) => ok).length, 30);
  assertEquals(server.mostUnderWay(), 2);
  // One more may be counted for a moment, because the server learns late that a connection was closed.
  assertLessOrEqual(server.mostConnections(), 4);
  await caller.close();
  await server.close();
});

Deno.test("HttpCaller.call() sends nothing when no connection becomes free before the deadline", async () => {
  const server = startServer();
  const caller = createHttpCaller({
    fetch: singleUse.fetch,
    clock: systemClock,
    random: createSystemRandom(),
  });
  const release = server.hold();
  const busy = [caller.call(get(server.url)), caller.call(get(server.url))];
  await until(() => server.underWay() === 2);
  const late = await caller.call(get(server.url, { timeoutMs: 50 }));
  assertEquals(late, {
    ok: false,
    fault: { kind: "not_called", detail: "no connection became free in time" },
  });
  release();
  await Promise.all(busy);
  await caller.close();
  await server.close();
});

Deno.test("HttpCaller.call() queues 1,000 calls, and refuses further ones", async () => {
  const clock = createManualClock();
  const answers: ((answer: Response) => void)[] = [];
  const caller = createHttpCaller({
    fetch: () => new Promise((resolve) => answers.push(resolve)),
    clock,
    random: createSystemRandom(),
    connections: 1,
  });
  const call = () => caller.call(get("http://service.invalid/"));
  const taken = Array.from({ length: 1001 }, call);
  await settle();
  assertEquals(caller.load(), { running: 1, waiting: 1000, isOpen: false });
  assertEquals(await call(), {
    ok: false,
    fault: { kind: "not_called", detail: "too many calls wait for a connection" },
  });
  for (let done = 0; done < taken.length; done++) {
    while (answers[done] === undefined) await nextTurn();
    answers[done]?.(Response.json({}));
  }
  assertEquals((await Promise.all(taken)).every(({ ok }) => ok), true);
});

Deno.test("HttpCaller.call() ends by its deadline even when fetch ignores the signal", async () => {
  const clock = createManualClock();
  const never = Promise.withResolvers<Response>();
  const caller = createHttpCaller({ fetch: () => never.promise, clock, random: createSystemRandom() });
  const calling = caller.call(get("http://service.invalid/", { timeoutMs: 1000 }));
  await settle();
  clock.advance(1000);
  assertEquals(await calling, {
    ok: false,
    fault: { kind: "unreachable", sent: true, detail: "no answer in time" },
  });
  assertEquals([caller.load().running, clock.timers()], [0, 0]);
});

Deno.test("HttpCaller.call() ends by its deadline when a body never ends", async () => {
  const clock = createManualClock();
  const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([123])) });
  const answer = new Response(body, { headers: { "Content-Type": "application/json" } });
  const caller = createHttpCaller({
    fetch: () => Promise.resolve(answer),
    clock,
    random: createSystemRandom(),
  });
  const calling = caller.call(get("http://service.invalid/", { timeoutMs: 1000 }));
  await settle();
  clock.advance(1000);
  assertEquals(await calling, {
    ok: false,
    fault: { kind: "unreachable", sent: true, detail: "the answer did not end in time" },
  });
});

Deno.test("HttpCaller.call() returns a fault for anything that fetch throws", async () => {
  for (const thrown of [new TypeError("fetch failed"), "text", undefined, new Error("x", { cause: 1 })]) {
    const caller = createHttpCaller({
      fetch: () => Promise.reject(thrown),
      clock: systemClock,
      random: createSystemRandom(),
    });
    assertEquals(await caller.call(get("http://service.invalid/")), {
      ok: false,
      fault: { kind: "unreachable", sent: true, detail: "the exchange broke off" },
    });
  }
});

Deno.test("HttpCaller.call() accepts 256 KiB and not one octet more", async () => {
  const sizes = { fits: 256 * 1024, exceeds: 256 * 1024 + 1 };
  const answers: boolean[] = [];
  for (const octets of Object.values(sizes)) {
    const body = `"${"x".repeat(octets - 8)}"`;
    const answer = new Response(`{"a":${body}}`, { headers: { "Content-Type": "application/json" } });
    const caller = createHttpCaller({
      fetch: () => Promise.resolve(answer),
      clock: systemClock,
      random: createSystemRandom(),
    });
    answers.push((await caller.call(get("http://service.invalid/"))).ok);
  }
  assertEquals(answers, [true, false]);
});

Deno.test("HttpCaller.call() calls only http and https addresses", async () => {
  let called = false;
  const caller = createHttpCaller({
    fetch: () => {
      called = true;
      return Promise.reject(new Error("called"));
    },
    clock: systemClock,
    random: createSystemRandom(),
  });
  for (const url of ["file:///etc/passwd", "data:application/json,{}", "not an address"]) {
    const answer = await caller.call(get(url));
    assertEquals(!answer.ok && answer.fault.kind, "not_called");
  }
  assertEquals(called, false);
});

Deno.test("HttpCaller tries a service again after the pause, with one call", async () => {
  const clock = createManualClock();
  let healthy = false;
  let calls = 0;
  const caller = createHttpCaller({
    fetch() {
      calls++;
      return Promise.resolve(Response.json({}, { status: healthy ? 200 : 503 }));
    },
    clock,
    random: createSystemRandom(),
  });
  const call = () => caller.call(get("http://service.invalid/"));
  for (let at = 0; at < 5; at++) await call();
  assertEquals(caller.load().isOpen, true);
  assertEquals([(await call()).ok, calls], [false, 5]);
  healthy = true;
  clock.advance(5000);
  const [probe, beside] = await Promise.all([call(), call()]);
  assertEquals([probe?.ok, beside?.ok, calls], [true, false, 6]);
  assertEquals([(await call()).ok, caller.load().isOpen], [true, false]);
});

Deno.test("HttpCaller.close() lets calls in progress end, and starts no more calls", async () => {
  const server = startServer();
  const caller = createHttpCaller({
    fetch: singleUse.fetch,
    clock: systemClock,
    random: createSystemRandom(),
  });
  const release = server.hold();
  const underWay = caller.call(get(server.url));
  await until(() => server.underWay() === 1);
  const closing = caller.close();
  assertEquals((await caller.call(get(server.url))).ok, false);
  release();
  assertEquals((await underWay).ok, true);
  await closing;
  await server.close();
  await assertRejects(() => fetch(server.url));
});
