// Bodies of requests, several requests on one connection, and TLS.

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Refusal } from "../../console/api/errors.ts";
import {
  createRequestBodies,
  createRequestLimit,
  MAX_ANONYMOUS_BODY_OCTETS,
  MAX_BODY_OCTETS,
  type RequestBodyDeps,
} from "../../console/request_gate.ts";
import { createManualClock, PASSWORD, startConsole } from "../fakes/console_app.ts";
import { createRequestQueue, type HttpApp } from "../../platform/http/http_server.ts";
import { serveHttp } from "../../platform/http/http_listener.ts";
import { createUnsentOctets } from "../../platform/http/connection_table.ts";
import type { RequestBody } from "../../platform/http_error.ts";
import { createLog } from "../../platform/log.ts";
import { type Clock, systemClock } from "../../platform/runtime.ts";
import { createManualClock as createHttpClock, eventually } from "../upstream/manual_clock.ts";

// Request bodies: limits of size, time and total memory, before and after authentication.

type Body = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

const post = (body: Body, headers: Record<string, string> = {}) =>
  new Request("http://localhost/", { method: "POST", headers, body });
const bodiesWith = (deps: Partial<RequestBodyDeps> = {}) =>
  createRequestBodies({ clock: createManualClock(), ...deps });
const codeOf = async (read: Promise<unknown>) => (await assertRejects(() => read, Refusal)).code;
/** A body that never ends. */
const stuck = () => new ReadableStream<Uint8Array>({ start: (to) => to.enqueue(new Uint8Array(3)) });
const nextTask = () => new Promise((resolve) => setTimeout(resolve, 0));

for (
  const [who, allow, maxOctets] of [
    ["an unauthenticated sender", () => undefined, MAX_ANONYMOUS_BODY_OCTETS],
    ["an authenticated sender", (body) => body.allowLarge(), MAX_BODY_OCTETS],
    ["a request that may be larger", (body) => body.allowLarge(3 * MAX_BODY_OCTETS), 3 * MAX_BODY_OCTETS],
  ] as const satisfies readonly [string, (body: RequestBody) => void, number][]
) {
  Deno.test(`createRequestBodies() reads exactly the limit of ${who} and refuses one octet more`, async () => {
    const open = (octets: number) => {
      const body = bodiesWith().open(post(new Blob([new Uint8Array(octets)]).stream()), "192.0.2.1");
      allow(body);
      return body;
    };
    assertEquals((await open(maxOctets).read()).length, maxOctets);
    assertEquals(await codeOf(open(maxOctets + 1).read()), "body_too_large");
  });
}

Deno.test("createRequestBodies() returns an empty body for a request without one", async () => {
  const body = bodiesWith().open(new Request("http://localhost/"), "192.0.2.1");
  assertEquals(await body.read(), new Uint8Array());
});

Deno.test("createRequestBodies() reads a body once, however often it is requested", async () => {
  const body = bodiesWith().open(post(new Uint8Array(3)), "192.0.2.1");
  assertEquals(await body.read(), new Uint8Array(3));
  assertEquals(await body.read(), new Uint8Array(3));
});

Deno.test("createRequestBodies() refuses a declared length that is too large without reading", async () => {
  let isRead = false;
  const stream = new ReadableStream<Uint8Array>({ pull: () => void (isRead = true) }, { highWaterMark: 0 });
  const request = post(stream, { "content-length": String(MAX_ANONYMOUS_BODY_OCTETS + 1) });
  assertEquals(await codeOf(bodiesWith().open(request, "192.0.2.1").read()), "body_too_large");
  assertEquals(isRead, false);
});

Deno.test("createRequestBodies() waits 3 s for a body, and 10 s once the sender is authenticated", async () => {
  for (const [isAuthenticated, deadlineMs] of [[false, 3000], [true, 10_000]] as const) {
    const clock = createManualClock();
    const body = bodiesWith({ clock }).open(post(stuck()), "192.0.2.1");
    if (isAuthenticated) body.allowLarge();
    let ended = false;
    const refused = codeOf(body.read()).finally(() => ended = true);
    await nextTask();
    clock.advance(deadlineMs - 1);
    await nextTask();
    assertEquals(ended, false);
    clock.advance(1);
    assertEquals(await refused, "body_too_slow");
  }
});

Deno.test("createRequestBodies() refuses a body that breaks off", async () => {
  const broken = new ReadableStream<Uint8Array>({ pull: (to) => to.error(new Error("reset")) });
  assertEquals(await codeOf(bodiesWith().open(post(broken), "192.0.2.1").read()), "body_broken");
});

Deno.test("createRequestBodies() limits the total memory of all bodies, and frees it", async () => {
  const bodies = bodiesWith({ maxBufferedOctets: 100 });
  const send = () => bodies.open(post(new Uint8Array(60)), "192.0.2.1");
  const first = send();
  await first.read();
  assertEquals(await codeOf(send().read()), "overloaded");
  first.release();
  assertEquals((await send().read()).length, 60);
});

Deno.test("createRequestBodies() has room for a small body while large ones use their half of the memory", async () => {
  const bodies = bodiesWith({ maxBufferedOctets: 4 * MAX_BODY_OCTETS });
  const send = (octets: number) => {
    const body = bodies.open(post(new Uint8Array(octets)), "192.0.2.1");
    body.allowLarge(2 * MAX_BODY_OCTETS);
    return body;
  };
  const first = send(2 * MAX_BODY_OCTETS);
  await first.read();
  assertEquals(await codeOf(send(MAX_BODY_OCTETS + 1).read()), "overloaded");
  assertEquals((await send(MAX_BODY_OCTETS).read()).length, MAX_BODY_OCTETS);
  first.release();
  assertEquals((await send(MAX_BODY_OCTETS / 2).read()).length, MAX_BODY_OCTETS / 2);
});

Deno.test("createRequestBodies() limits the pending unauthenticated bodies of each source", async () => {
  const clock = createManualClock();
  const bodyWaits = createRequestLimit({ maxRequests: 10, maxPerSource: 1, isProxy: () => false });
  const bodies = bodiesWith({ clock, bodyWaits });
  const waiting = codeOf(bodies.open(post(stuck()), "192.0.2.1").read());
  const another = bodies.open(post(new Uint8Array(1)), "192.0.2.1");
  const fault = await assertRejects(() => another.read(), Refusal);
  assertEquals([fault.code, fault.headers["connection"]], ["overloaded", "close"]);
  assertEquals((await bodies.open(post(new Uint8Array(1)), "192.0.2.2").read()).length, 1);
  const authenticated = bodies.open(post(new Uint8Array(1)), "192.0.2.1");
  authenticated.allowLarge();
  assertEquals((await authenticated.read()).length, 1);
  clock.advance(3000);
  assertEquals(await waiting, "body_too_slow");
  assertEquals((await bodies.open(post(new Uint8Array(1)), "192.0.2.1").read()).length, 1);
});

// HTTP pipelining: one request of a connection at a time, and limits on unread responses.

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
  const listener = await start(new TextEncoder().encode("<body>"), createHttpClock());
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: listener.address.port });
  const head = "GET / HTTP/1.1\r\nHost: x\r\n";
  await connection.write(new TextEncoder().encode(`${head}\r\n${head}Connection: close\r\n\r\n`));
  const text = await new Response(connection.readable).text();
  assertEquals(text.split("<body>").length - 1, 2);
  await listener.stop({ deadlineMs: 200 });
});

/** A listener with one large response; the kernel buffers some MB of it. */
async function startLarge() {
  const clock = createHttpClock();
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

// The listener with a certificate: Secure cookies with the __Host- prefix, and request bodies over TLS.

/** A certificate for localhost, made for this run, or `null` where openssl is not installed. */
async function makeCertificate(): Promise<{ certPem: string; keyPem: string } | null> {
  const directory = await Deno.makeTempDir();
  const [cert, key] = [`${directory}/cert.pem`, `${directory}/key.pem`];
  const args = [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-days",
    "2",
  ];
  const names = [
    "-subj",
    "/CN=localhost",
    "-addext",
    "subjectAltName=DNS:localhost,IP:127.0.0.1",
    "-addext",
    "basicConstraints=critical,CA:FALSE",
  ];
  try {
    const command = new Deno.Command("openssl", { args: [...args, ...names, "-out", cert, "-keyout", key] });
    const { success } = await command.output();
    if (!success) return null;
    return { certPem: await Deno.readTextFile(cert), keyPem: await Deno.readTextFile(key) };
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return null;
    throw fault;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

const tls = await makeCertificate();
const reasonOf = (made: typeof tls): string =>
  made === null ? " (missing here: apt-get install openssl)" : "";

Deno.test(
  { name: `the listener uses another certificate at once${reasonOf(tls)}`, ignore: tls === null },
  async () => {
    const next = await makeCertificate();
    if (tls === null || next === null) return;
    await using site = await startConsole();
    const listener = await serveHttp({
      ...{ listen: { hostname: "127.0.0.1", port: 0 }, tls, app: site.app, log: site.log },
      clock: createManualClock(),
    });
    const trusts = async ({ certPem }: { certPem: string }): Promise<boolean> => {
      try {
        const to = { hostname: "localhost", port: listener.address.port };
        const connection = await Deno.connectTls({ ...to, caCerts: [certPem] });
        await connection.handshake();
        connection.close();
        return true;
      } catch (_untrusted) {
        return false;
      }
    };
    assertEquals([await trusts(tls), await trusts(next)], [true, false]);
    assertMatch(
      listener.useCertificate({ ...next, keyPem: tls.keyPem }) ?? "",
      /is not the key of the certificate/,
    );
    assertMatch(listener.useCertificate({ ...next, certPem: "x" }) ?? "", /./);
    assertEquals([await trusts(tls), await trusts(next)], [true, false]);
    assertEquals(listener.useCertificate(next), null);
    assertEquals([await trusts(tls), await trusts(next)], [false, true]);
    await listener.stop({ deadlineMs: 0 });
  },
);

const NAME = "serveHttp() with TLS sets __Host- cookies";
const reason = reasonOf(tls);

Deno.test({ name: NAME + reason, ignore: tls === null }, async () => {
  if (tls === null) return;
  await using site = await startConsole();
  const listener = await serveHttp({
    listen: { hostname: "127.0.0.1", port: 0 },
    tls,
    app: site.app,
    log: site.log,
    // The server waits for the rest of a refused body, on this clock for as long as the body takes.
    clock: createManualClock(),
  });
  const origin = `https://localhost:${listener.address.port}`;
  const client = Deno.createHttpClient({ caCerts: [tls.certPem], http1: true, http2: false });
  // Named first, because the browser types, which the console needs, do not know Deno's `client`.
  const signIn: RequestInit & { client: Deno.HttpClient } = {
    client,
    method: "POST",
    headers: { origin, "content-type": "application/json" },
    body: JSON.stringify({ name: "owner", password: PASSWORD }),
  };
  const signedIn = await fetch(`${origin}/console/api/session`, signIn);
  assertEquals((await signedIn.json()).session.name, "owner");
  const cookie = signedIn.headers.get("set-cookie") ?? "";
  assertMatch(cookie, /^__Host-countersign=[^;]{22}; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
  assertMatch(signedIn.headers.get("strict-transport-security") ?? "", /^max-age=/);
  const look: typeof signIn = { client, headers: { cookie: cookie.split(";")[0] ?? "" } };
  const live = await fetch(`${origin}/console/api/live`, look);
  assertEquals(live.status, 200);
  await live.body?.cancel();
  const large: typeof signIn = { ...signIn, body: " ".repeat(2 * 1024 * 1024) };
  const refused = await fetch(`${origin}/console/api/session`, large);
  assertEquals([refused.status, (await refused.json()).error.code], [413, "body_too_large"]);
  const stopped = listener.stop({ deadlineMs: 500 });
  client.close();
  await stopped;
});

// Attack: a client sends a large body, and the answer needs time. What was not read must stay with the client.

const UNREAD_BODY_OCTETS = 64_000_000;
/** What the kernels of both ends buffer, and some pieces. */
const MAX_UNREAD_OCTETS = 24_000_000;

for (const [how, certificate] of [["without TLS", null], ["with TLS", tls]] as const) {
  const name = `serveHttp() ${how} does not read a body before it is needed, and then all of it`;
  Deno.test({ name, ignore: how === "with TLS" && tls === null }, async () => {
    const isNeeded = gate();
    const app = async (request: Request) => {
      await isNeeded.promise;
      return new Response(String((await request.bytes()).length));
    };
    const listener = await serveHttp({
      ...{ listen: { hostname: "127.0.0.1", port: 0 }, tls: certificate, log, clock: systemClock },
      app: Object.assign(app, { answerControlSocket: app, close: () => undefined }),
    });
    const to = { hostname: "localhost", port: listener.address.port };
    const connection = certificate === null
      ? await Deno.connect(to)
      : await Deno.connectTls({ ...to, caCerts: [certificate.certPem] });
    const head = `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${UNREAD_BODY_OCTETS}`;
    await connection.write(new TextEncoder().encode(`${head}\r\n\r\n`));
    let sent = 0;
    const piece = new Uint8Array(64_000);
    const sending = (async () => {
      while (sent < UNREAD_BODY_OCTETS) {
        sent += await connection.write(piece.subarray(0, UNREAD_BODY_OCTETS - sent));
      }
    })();
    // Until the client cannot send any more for two seconds. A busy machine may need long for a piece.
    for (
      let before = -1, turns = 0;
      turns < 8 && sent < MAX_UNREAD_OCTETS;
      turns = before === sent ? turns + 1 : 0
    ) {
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    assert(sent < MAX_UNREAD_OCTETS, `${sent} octets were taken`);
    isNeeded.resolve();
    await sending;
    const answer = await new Response(connection.readable).text();
    assertEquals(answer.split("\r\n\r\n")[1], String(UNREAD_BODY_OCTETS));
    await listener.stop({ deadlineMs: 200 });
  });
}
