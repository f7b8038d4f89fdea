// HTTP pipelining: one request of a connection at a time, and limits on unread responses.

import { assert, assertEquals } from "@std/assert";
import { createRequestQueue, type HttpApp } from "../../platform/http/http_server.ts";
import { serveHttp } from "../../platform/http/http_listener.ts";
import { createUnsentOctets } from "../../platform/http/connection_table.ts";
import { createLog } from "../../platform/log.ts";
import { type Clock, systemClock } from "../../platform/runtime.ts";
import { createManualClock, eventually } from "../upstream/manual_clock.ts";

const log = createLog({ format: "text", level: "error", clock: systemClock, write: () => undefined });

const gate = () => Promise.withResolvers<void>();

Deno.test("createRequestQueue() lets one request wait, and closes a connection that sends more", async () => {
  const queue = createRequestQueue();
  const connection = { destroyed: false, destroy: () => connection.destroyed = true };
  const order: string[] = [];
  const add = (name: string, until: Promise<void>) =>
    queue.add(connection, () => until.then(() => void order.push(name)));
  const [first, second, third] = [gate(), gate(), gate()];
  const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
  assert(add("one", first.promise) && add("two", second.promise));
  second.resolve();
  await settled();
  assertEquals(order, []);
  first.resolve();
  await settled();
  assertEquals(order, ["one", "two"]);

  assert(add("three", third.promise) && add("four", third.promise));
  assertEquals([add("five", third.promise), connection.destroyed], [false, true]);
  third.resolve();
  await settled();
  assertEquals([order, add("six", third.promise)], [["one", "two", "three"], false]);
});

Deno.test("createUnsentOctets() closes the response that made no progress for the longest time", () => {
  const unsent = createUnsentOctets({ maxOctets: 100 });
  const closed: string[] = [];
  const add = (name: string, octets: number) => unsent.add(octets, () => void closed.push(name));
  const first = add("first", 40);
  add("second", 40);
  first.progress();
  const third = add("third", 40);
  assertEquals([closed, unsent.total()], [["second"], 80]);
  first.release();
  first.release();
  third.release();
  assertEquals(unsent.total(), 0);
  add("large", 500);
  assertEquals([closed, unsent.total()], [["second"], 500]);
});

/** A reader that reads nothing for this time is disconnected. */
const STALLED_MS = 300;

const start = (body: Uint8Array<ArrayBuffer>, clock: Clock) => {
  const answer = () => Promise.resolve(new Response(body));
  const app: HttpApp = Object.assign(answer, { answerControlSocket: answer, close: () => undefined });
  return serveHttp({
    listen: { hostname: "127.0.0.1", port: 0 },
    tls: null,
    app,
    log,
    clock,
    maxConnections: 10,
    stalledMs: STALLED_MS,
    // Real connections do not follow a clock that a test moves.
    probe: () => Promise.resolve({ outcome: "unknown" }),
  });
};

Deno.test("serveHttp() answers two requests that arrive together, one after the other", async () => {
  const listener = await start(new TextEncoder().encode("<body>"), createManualClock());
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: listener.address.port });
  const head = "GET / HTTP/1.1\r\nHost: x\r\n";
  await connection.write(new TextEncoder().encode(`${head}\r\n${head}Connection: close\r\n\r\n`));
  const text = await new Response(connection.readable).text();
  assertEquals(text.split("<body>").length - 1, 2);
  await listener.stop({ deadlineMs: 200 });
});

/** A listener with one large response; the kernel buffers some MB of it. */
async function startLarge() {
  const clock = createManualClock();
  /** How often the response waited for its reader. */
  let waits = 0;
  const counting: Clock = {
    ...clock,
    after(delayMs, task) {
      if (delayMs === STALLED_MS) waits++;
      return clock.after(delayMs, task);
    },
  };
  const body = new Uint8Array(48_000_000).fill(65);
  const listener = await start(body, counting);
  const idleTimers = clock.timers();
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: listener.address.port });
  await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  return {
    clock,
    connection,
    waits: () => waits,
    untilItWaits: () => eventually("the response waits", () => clock.timers() > idleTimers),
    async readAll(afterEach: () => void = () => undefined): Promise<number> {
      let octets = 0;
      const buffer = new Uint8Array(1_000_000);
      try {
        for (let read = await connection.read(buffer); read !== null; read = await connection.read(buffer)) {
          octets += read;
          afterEach();
        }
      } catch (_reset) {
        // A reset also counts as a close.
      }
      return octets;
    },
    bodyOctets: body.length,
    async [Symbol.asyncDispose]() {
      connection.close();
      await listener.stop({ deadlineMs: 200 });
    },
  };
}

Deno.test("writeResponse() disconnects a client that reads nothing of a response that is sent at once", async () => {
  await using site = await startLarge();
  await site.untilItWaits();
  site.clock.advance(STALLED_MS);
  const octets = await site.readAll();
  assert(octets < site.bodyOctets, `${octets} octets were sent`);
});

Deno.test("writeResponse() sends everything to a client that reads slowly", async () => {
  await using site = await startLarge();
  let seen = 0;
  let passedMs = 0;
  const octets = await site.readAll(() => {
    // The reader read some data since the last time, so its deadline starts again.
    if (site.waits() === seen) return;
    seen = site.waits();
    site.clock.advance(STALLED_MS - 1);
    passedMs += STALLED_MS - 1;
  });
  assert(octets > site.bodyOctets, `only ${octets} octets were sent`);
  // How often the writer waits depends on the buffers of the host.
  assert(passedMs > 3 * STALLED_MS, `only ${passedMs} ms passed`);
});
