// The HTTP application: answers, compression, and the listener.

import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { Hono } from "hono";
import { compress } from "../../console/build/output.ts";
import { assetResponse, loadDist } from "../../console/assets.ts";
import { consolePreload, preferredLanguage } from "../../console/html_shell.ts";
import { type ListenerDeps, type ProbeResult, serveHttp } from "../../platform/http/http_listener.ts";
import { systemClock } from "../../platform/runtime.ts";
import type { ScimEnv } from "../../scim/http/app.ts";
import { approval, conversation } from "../fakes/console_gateway.ts";
import { createManualClock, startConsole } from "../fakes/console_app.ts";
import { compressAnswers } from "../../console/app.ts";
import { PAGE_POLICY } from "../../console/request_gate.ts";
import {
  connectionLimit,
  countFreeDescriptors,
  createConnectionTable,
  PROBED_DESCRIPTORS,
} from "../../platform/http/connection_table.ts";
import type { HttpApp } from "../../platform/http/http_server.ts";
import { createLog } from "../../platform/log.ts";
import { INCOMPLETE_HEAD, openHalf, waitForHealth } from "../security/attack_world.ts";

// The HTTP application: security headers, static files, and monitoring.

const ANSWERS: readonly (readonly [path: string, method: string, status: number])[] = [
  ["/", "GET", 302],
  ["/live", "GET", 200],
  ["/setup", "GET", 200],
  ["/device", "GET", 308],
  ["/device/", "GET", 200],
  ["/device/sw.js", "GET", 200],
  ["/device/manifest.webmanifest", "GET", 404],
  ["/assets/web.js", "GET", 200],
  ["/assets/none.js", "GET", 404],
  ["/assets/..%2f..%2fdeno.json", "GET", 404],
  ["/healthz", "GET", 200],
  ["/readyz", "GET", 200],
  ["/metrics", "GET", 200],
  ["/nothing", "GET", 404],
  ["/nothing", "DELETE", 404],
  ["/console/api/live", "GET", 401],
  ["/console/api/nothing", "GET", 404],
  ["/console/api/session", "PATCH", 404],
  ["/device/api/nothing", "POST", 404],
  ["/live", "PUT", 404],
  ["/live", "HEAD", 200],
  ["/openapi.json", "GET", 500],
];
Deno.test("createHttpApp() puts the security headers on every answer", async (t) => {
  await using site = await startConsole({
    change: (deps) => ({
      ...deps,
      openApi: () => {
        throw new Error("planted detail");
      },
    }),
  });
  for (const [path, method, status] of ANSWERS) {
    await t.step(`${method} ${path}: ${status}`, async () => {
      const response = await site.call(path, { method, json: method === "POST" ? {} : undefined });
      const text = await response.text();
      assertEquals(response.status, status);
      const header = (name: string) => response.headers.get(name) ?? "";
      assertEquals(header("x-content-type-options"), "nosniff");
      assertEquals(header("x-frame-options"), "DENY");
      assertEquals(header("referrer-policy"), "no-referrer");
      assertEquals(header("cross-origin-opener-policy"), "same-origin");
      assertMatch(header("permissions-policy"), /camera=\(\)/);
      const policy = header("content-security-policy");
      for (
        const part of ["default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]
      ) {
        assertStringIncludes(policy, part);
      }
      assertEquals(/unsafe|\*|data:|https?:/.test(policy), false);
      if (path.includes("/api/")) assertEquals(header("cache-control"), "no-store");
      assertEquals(text.includes("planted detail") || text.includes("    at "), false);
    });
  }
});

Deno.test("createHttpApp() logs the cause of a failure under the id in the answer", async () => {
  await using site = await startConsole({
    change: (deps) => ({
      ...deps,
      ready: () => {
        throw new Error("planted detail");
      },
    }),
  });
  const response = await site.call("/readyz");
  const { error } = await response.json();
  assertEquals([response.status, error.code], [500, "internal"]);
  await site.log.flush();
  const line = site.lines.join("").split("\n").find((one) => one.includes("planted detail")) ?? "";
  assertStringIncludes(line, error.id);
});

Deno.test("createHttpApp() answers an unknown address with the console's page to browsers and with JSON to programs", async () => {
  await using site = await startConsole();
  const page = await site.call("/nothing", { headers: { accept: "text/html,*/*" } });
  assertEquals([page.status, page.headers.get("content-type")], [404, "text/html; charset=utf-8"]);
  assertStringIncludes(await page.text(), "<title>");
  const posted = await site.call("/nothing", { method: "POST", json: {}, headers: { accept: "text/html" } });
  assertEquals([posted.status, (await posted.json()).error.code], [404, "not_found"]);
  const program = await site.call("/nothing");
  assertEquals((await program.json()).error.code, "not_found");
});

Deno.test("assetResponse() lets browsers cache a file for ever, and answers 304 to its ETag", async () => {
  await using site = await startConsole();
  const first = await site.call("/assets/web.js");
  await first.body?.cancel();
  assertEquals(first.headers.get("cache-control"), "public, max-age=31536000, immutable");
  const etag = first.headers.get("etag") ?? "";
  for (const held of [etag, `W/${etag}`, `"other", ${etag}`]) {
    const again = await site.call("/assets/web.js", { headers: { "if-none-match": held } });
    assertEquals([again.status, await again.text()], [304, ""]);
  }
  const page = await site.call("/live");
  assertEquals(page.headers.get("cache-control"), "no-cache");
  const html = await page.text();
  assertStringIncludes(html, '<script type="module" src="/assets/web.js"></script>');
  assertEquals(/ style=| on\w+=|<script>|<style/.test(html), false);
});

Deno.test("assetResponse() uses a compression that the browser accepts, with an ETag of its own", async () => {
  const body = new TextEncoder().encode("export const words = {};\n".repeat(100));
  const asset = {
    body,
    type: "text/javascript; charset=utf-8",
    etag: '"e1"',
    packed: compress(body),
  };
  const ask = (headers: Record<string, string>) =>
    assetResponse(asset, new Request("http://x/", { headers }));
  for (
    const [accepts, encoding] of [["gzip, br", "br"], ["gzip", "gzip"], ["br;q=0, gzip", "gzip"], [
      "zstd",
      null,
    ]] as const
  ) {
    const answer = await ask({ "accept-encoding": accepts });
    const octets = new Uint8Array(await answer.arrayBuffer());
    assertEquals(answer.headers.get("content-encoding"), encoding);
    assertEquals(octets.length < body.length, encoding !== null);
    assertEquals(answer.headers.get("content-length"), String(octets.length));
    assertEquals(answer.headers.get("etag"), encoding === null ? '"e1"' : `"e1-${encoding}"`);
  }
  const packed = await ask({ "accept-encoding": "gzip" });
  const plain = new Response(packed.body?.pipeThrough(new DecompressionStream("gzip")));
  assertEquals(new Uint8Array(await plain.arrayBuffer()), body);
  assertEquals((await ask({ "accept-encoding": "gzip", "if-none-match": '"e1-gzip"' })).status, 304);
  assertEquals((await ask({ "accept-encoding": "gzip", "if-none-match": '"e1-br"' })).status, 200);
});

Deno.test("consolePreload() lists the files that an address needs, by session and language", () => {
  const of = (path: string, headers: Record<string, string> = {}) =>
    consolePreload(new Request(`http://x${path}`, { headers }));
  assertEquals(of("/live", { cookie: "a=1; countersign=x" }), {
    page: "live",
    language: "en",
    isSignedOut: false,
  });
  assertEquals(of("/live", { "accept-language": "fr, de-AT;q=0.9" }), {
    page: "sign_in",
    language: "de",
    isSignedOut: true,
  });
  assertEquals(of("/setup").page, "set_up");
  assertEquals(of("/nowhere").page, null);
});

const ACCEPTED_LANGUAGES = {
  "": "en",
  "de": "de",
  "de-AT,en;q=0.9": "de",
  "fr, de;q=0.4, en;q=0.8": "en",
  "DE;q=0.5, en;q=0": "de",
  "fr, es": "en",
  "__proto__, de;q=0.1": "de",
};
for (const [header, language] of Object.entries(ACCEPTED_LANGUAGES)) {
  Deno.test(`preferredLanguage() selects ${language} for "${header}"`, () => {
    const request = new Request("http://x", { headers: { "accept-language": header } });
    assertEquals(preferredLanguage(request), language);
  });
}

const METRIC_LINE =
  /^(# TYPE countersign_[a-z0-9_]+ (counter|gauge|histogram|summary)|countersign_[a-z0-9_]+(\{([a-z]+="[A-Za-z0-9_.+]+",?)+\})? \d+(\.\d+)?)$/;

Deno.test("createMonitoringRoutes() reports liveness, readiness and counts, without user names", async () => {
  let ok = true;
  await using site = await startConsole({
    change: (deps) => ({ ...deps, ready: () => ({ ok, parts: { store: ok ? "ok" : "does not answer" } }) }),
  });
  site.watch.put(conversation(1, { user: "planted-user", client: "planted-client" }));
  site.secondFactorAdmin.wait(approval("r1", { userName: "planted-user" }));
  assertEquals(await (await site.call("/healthz")).text(), "ok\n");
  const ready = await site.call("/readyz");
  assertEquals([ready.status, await ready.json()], [200, { ok: true, parts: { store: "ok" } }]);
  const metrics = await (await site.call("/metrics")).text();
  assertStringIncludes(metrics, "# TYPE countersign_requests_total counter\ncountersign_requests_total 1\n");
  assertStringIncludes(metrics, "\ncountersign_conversations_live 1\n");
  assertStringIncludes(metrics, "\ncountersign_approvals_pending 1\n");
  assertMatch(metrics, /\ncountersign_resident_memory_bytes [1-9]\d{6,}\n/);
  assertEquals(metrics.includes("planted"), false);
  for (const line of metrics.trimEnd().split("\n")) {
    assertMatch(line, METRIC_LINE);
  }
  ok = false;
  const not = await site.call("/readyz");
  assertEquals([not.status, (await not.json()).ok], [503, false]);
});

Deno.test("/metrics counts sign-ins by result and reason, and the time to their answers, also before the first one", async () => {
  const times = new Array<number>(44).fill(0).with(20, 2).with(22, 1);
  const rejectedBy = new Map([["first_factor_wrong", 2], ["code_wrong", 3], ["otp_wrong", 1], ["no_row", 4]]);
  const outcomes = { accepted: 5, rejected: 10, expired: 1, cancelled: 0, superseded: 0 };
  await using site = await startConsole({
    change: (deps) => ({
      ...deps,
      watch: { ...deps.watch, loginTotals: () => ({ outcomes, rejectedBy, times, answeredMs: 3500 }) },
    }),
  });
  const lines = (await (await site.call("/metrics")).text()).split("\n");
  for (
    const line of [
      'logins_total{result="accepted"} 5',
      'logins_total{result="cancelled"} 0',
      'logins_total{result="rejected",reason="password_wrong"} 2',
      'logins_total{result="rejected",reason="passcode_wrong"} 4',
      'logins_total{result="rejected",reason="other"} 4',
      'logins_total{result="rejected",reason="phone_silent"} 0',
      'login_answer_seconds_bucket{le="0.512"} 0',
      'login_answer_seconds_bucket{le="1.024"} 2',
      'login_answer_seconds_bucket{le="2.048"} 3',
      'login_answer_seconds_bucket{le="+Inf"} 3',
      "login_answer_seconds_sum 3.5",
      "login_answer_seconds_count 3",
      'queue_length{queue="mail"} 0',
    ]
  ) assert(lines.includes(`countersign_${line}`), `/metrics has no ${line}`);
});

Deno.test("createHttpApp() passes everything below the SCIM prefix to SCIM, with body and peer, and nothing else", async () => {
  const seen: string[] = [];
  await using site = await startConsole({
    change: (deps) => ({
      ...deps,
      scim: [{
        prefix: "/idm/scim",
        routes: new Hono<ScimEnv>().all("*", async (c) => {
          const text = new TextDecoder().decode(await c.var.body.read());
          seen.push(`${c.req.method} ${c.req.path} ${c.env.remoteAddress} ${text}`);
          return c.text("found", 200, { "cache-control": "private" });
        }),
        onError: () => Response.json({}, { status: 500 }),
      }],
    }),
  });
  const put = await site.call("/idm/scim/a/Users/b", { method: "PUT", json: { a: 1 } });
  assertEquals([await put.text(), put.headers.get("cache-control")], ["found", "private"]);
  const beside = await site.call("/idm/scimitar");
  await beside.body?.cancel();
  assertEquals(beside.status, 404);
  assertEquals(seen, ['PUT /idm/scim/a/Users/b 127.0.0.1 {"a":1}']);
});

Deno.test("serveHttp() names the setting to change when the port is in use", async () => {
  await using site = await startConsole();
  const port = Number(new URL(site.origin).port);
  await assertRejects(
    () =>
      serveHttp({
        listen: { hostname: "127.0.0.1", port },
        tls: null,
        app: site.app,
        log: site.log,
        clock: systemClock,
      }),
    Error,
    `Cannot listen for HTTP on 127.0.0.1:${port}: another program uses that port (http.listen)`,
  );
});

Deno.test("serveHttp() stops within its deadline although a stream is open", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  const { app, log } = site;
  // On this clock no deadline passes: the listener stops because the stream ends, or never.
  const clock = createManualClock();
  const listener = await serveHttp({
    listen: { hostname: "127.0.0.1", port: 0 },
    tls: null,
    app,
    log,
    clock,
  });
  const origin = `http://127.0.0.1:${listener.address.port}`;
  const stream = await fetch(`${origin}/console/api/live/stream`, { headers: { cookie } });
  assertEquals(stream.status, 200);
  await listener.stop({ deadlineMs: 500 });
  await stream.text();
  await assertRejects(() => fetch(`${origin}/healthz`));
});

Deno.test("loadDist() explains how to build when there is no build", async () => {
  const empty = await Deno.makeTempDir();
  await assertRejects(() => loadDist(empty), Error, "deno task build");
  await Deno.remove(empty);
});

// Compression of the console's pages and of the answers of its API.

const BODIES = {
  large: { "content-type": "application/json" },
  text: { "content-type": "text/plain" },
  download: { "content-type": "application/json", "content-disposition": "attachment" },
};
const LARGE = JSON.stringify(Array.from({ length: 500 }, (_, at) => `user-${at}`));

for (
  const [what, method, path, encodings, isCompressed] of [
    ["a large answer", "GET", "/large", "gzip, br", true],
    ["a large page for a browser that excludes gzip", "GET", "/large", "br, gzip;q=0", false],
    ["an answer without Accept-Encoding", "GET", "/large", "", false],
    ["a small answer", "GET", "/small", "gzip", false],
    ["an answer to a change: it may contain a secret", "POST", "/large", "gzip", false],
    ["an export", "GET", "/download", "gzip", false],
    ["plain text", "GET", "/text", "gzip", false],
  ] as const
) {
  Deno.test(`compressAnswers() ${isCompressed ? "compresses" : "leaves"} ${what}`, async () => {
    const app = new Hono().use(compressAnswers);
    for (const [name, headers] of Object.entries(BODIES)) {
      app.all(`/${name}`, (c) => c.body(LARGE, 200, headers));
    }
    app.get("/small", (c) => c.json({ ok: true }));
    const headers = { "accept-encoding": encodings };
    const answer = await app.request(path, { method, headers });
    assertEquals(answer.headers.get("content-encoding"), isCompressed ? "gzip" : null);
    const octets = await answer.bytes();
    assertEquals(octets.length < LARGE.length / 2, isCompressed || path === "/small");
    const text = isCompressed
      ? await new Response(new Blob([octets]).stream().pipeThrough(new DecompressionStream("gzip"))).text()
      : new TextDecoder().decode(octets);
    assertEquals(text, path === "/small" ? '{"ok":true}' : LARGE);
    assertEquals(
      answer.headers.get("vary"),
      method === "GET" && /large|small/.test(path) ? "accept-encoding" : null,
    );
  });
}

Deno.test("the console's pages and answers are compressed", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("owner");
  const headers = { "accept-encoding": "gzip" };
  const settings = await site.call("/console/api/settings", { cookie, headers });
  assertEquals([settings.status, settings.headers.get("content-encoding")], [200, "gzip"]);
  await settings.body?.cancel();
  const page = await site.call("/users", { cookie, headers });
  assertEquals([page.status, page.headers.get("vary")], [200, "accept-encoding"]);
  assertEquals(page.headers.get("content-security-policy"), PAGE_POLICY);
  await page.body?.cancel();
});

// The HTTP listener: connection limits, deadlines for silent connections, and reopening after a failure.

const log = createLog({ format: "text", level: "error", clock: systemClock, write: () => undefined });
const answer = () => Promise.resolve(new Response("ok"));
const app: HttpApp = Object.assign(answer, { answerControlSocket: answer, close: () => undefined });
const start = (more: Partial<ListenerDeps>) =>
  serveHttp({
    listen: { hostname: "127.0.0.1", port: 0 },
    tls: null,
    app,
    log,
    clock: systemClock,
    maxConnections: 100,
    ...more,
  });

for (const [what, text] of [["a silent connection", ""], ["an incomplete head", INCOMPLETE_HEAD]] as const) {
  Deno.test(`serveHttp() closes ${what} after the deadline`, async () => {
    const listener = await start({ silenceMs: 300 });
    using held = await openHalf(listener.address.port, { count: 5, text });
    assertEquals(await held.closedByServer(30_000), 5);
    await listener.stop({ deadlineMs: 500 });
  });
}

Deno.test("serveHttp() opens the listener again on the same port when it accepts no connections", async () => {
  let dead = true;
  const listener = await start({
    // A listener whose accept loop ended looks like this: clients connect, and are never accepted.
    probe: () =>
      Promise.resolve<ProbeResult>(
        dead ? { outcome: "connected", port: -1, close: () => undefined } : { outcome: "unknown" },
      ),
  });
  const { port } = listener.address;
  const lost = new Promise<void>((resolve) => {
    const look = setInterval(() => {
      if (listener.isServing()) return;
      clearInterval(look);
      resolve();
    }, 20);
  });
  await lost;
  dead = false;
  assertEquals(await waitForHealth(`http://127.0.0.1:${port}`), 200);
  assertEquals(listener.address.port, port);
  await listener.stop({ deadlineMs: 500 });
});

Deno.test("createConnectionTable() closes the oldest idle connection when it is full, and never a busy one", () => {
  const closed: number[] = [];
  const table = createConnectionTable({ maxConnections: 2 });
  const of = (port: number) => ({ address: `192.0.2.${port}`, port, close: () => void closed.push(port) });
  assert(table.add(of(1)) && table.add(of(2)));
  table.begin(of(1));
  assert(table.add(of(3)));
  assertEquals(closed, [2]);
  table.begin(of(3));
  assertEquals([table.add(of(4)), closed], [false, [2]]);
  table.end(of(1));
  assert(table.add(of(4)));
  assertEquals([closed, table.size()], [[2, 1], 2]);
});

Deno.test("createConnectionTable() reserves half of the connections for other sources, but a proxy may use all", () => {
  const closed: number[] = [];
  const table = createConnectionTable({ maxConnections: 4, isProxy: (address) => address === "10.0.0.1" });
  const of = (address: string, port: number) => ({ address, port, close: () => void closed.push(port) });
  for (const port of [1, 2, 3]) table.add(of(`2001:db8:0:1::${port}`, port));
  assertEquals([closed, table.size()], [[1], 2]);
  table.close("all");
  closed.length = 0;
  for (const port of [1, 2, 3, 4]) table.add(of("10.0.0.1", port));
  assertEquals([closed, table.size()], [[], 4]);
});

Deno.test("connectionLimit() leaves file descriptors for the other parts", () => {
  let open = 0;
  const descriptor = () => {
    if (open === 230) throw new Error("Too many open files");
    open += 1;
    return { [Symbol.dispose]: () => void (open -= 1) };
  };
  assertEquals([countFreeDescriptors(descriptor), open], [230, 0]);
  assertEquals([connectionLimit(230), connectionLimit(PROBED_DESCRIPTORS)], [130, 2400]);
});

Deno.test("serveHttp() refuses connections after stop()", async () => {
  const listener = await start({});
  await listener.stop({ deadlineMs: 500 });
  await assertRejects(() => Deno.connect({ hostname: "127.0.0.1", port: listener.address.port }));
});
