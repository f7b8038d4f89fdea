// Requests that never reach a route: unusual methods, foreign hosts, absolute targets, large or slow bodies.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { checkRequest, createHostCheck, MAX_BODY_OCTETS } from "../../console/request_gate.ts";
import { createRequestLimit } from "../../platform/http/request_limit.ts";
import { Refusal } from "../../console/api/errors.ts";
import { startConsole } from "../fakes/console_app.ts";

const settings = { listen: { hostname: "127.0.0.1", port: 8080 }, publicUrl: "https://gate.example.org" };

const HOSTS: readonly (readonly [hostname: string, host: string, ours: boolean])[] = [
  ["127.0.0.1", "127.0.0.1:8080", true],
  ["127.0.0.1", "localhost:9999", true],
  ["127.0.0.1", "[::1]:8080", true],
  ["127.0.0.1", "gate.example.org", true],
  ["127.0.0.1", "evil.test", false],
  ["127.0.0.1", "gate.example.org.evil.test", false],
  ["127.0.0.1", "192.0.2.1:8080", false],
  ["192.0.2.7", "192.0.2.7:8080", true],
  ["0.0.0.0", "192.0.2.1:8080", true],
  ["::", "[2001:db8::1]:8080", true],
  ["2001:db8::7", "[2001:db8::7]:8080", true],
  ["0.0.0.0", "rebound.evil.test:8080", false],
];
for (const [hostname, host, ours] of HOSTS) {
  Deno.test(`createHostCheck() ${ours ? "takes" : "refuses"} ${host} when listening on ${hostname}`, () => {
    const isOurs = createHostCheck({ ...settings, listen: { hostname, port: 8080 } });
    assertEquals(isOurs(host), ours);
  });
}

const RAW: readonly (readonly [what: string, request: string, status: number])[] = [
  ["TRACE", "TRACE / HTTP/1.1\r\nHost: HERE\r\n", 405],
  ["CONNECT", "CONNECT HERE HTTP/1.1\r\nHost: HERE\r\n", 405],
  ["OPTIONS", "OPTIONS /console/api/live HTTP/1.1\r\nHost: HERE\r\n", 405],
  ["a missing Host", "GET /healthz HTTP/1.1\r\n", 400],
  ["a Host with a space", "GET /healthz HTTP/1.1\r\nHost: a b\r\n", 400],
  ["another site's Host", "GET /healthz HTTP/1.1\r\nHost: evil.test\r\n", 421],
  ["an absolute-form target elsewhere", "GET http://evil.test/healthz HTTP/1.1\r\nHost: HERE\r\n", 400],
  ["an over-long target", `GET /${"a".repeat(9000)} HTTP/1.1\r\nHost: HERE\r\n`, 414],
  ["an unknown path", "GET /../etc/passwd HTTP/1.1\r\nHost: HERE\r\n", 404],
  ["a known path", "GET /healthz HTTP/1.1\r\nHost: HERE\r\n", 200],
];
Deno.test("createHttpApp() answers unusual requests on the wire with a status and the security headers", async (t) => {
  await using site = await startConsole();
  const here = new URL(site.origin);
  for (const [what, request, status] of RAW) {
    await t.step(`${what}: ${status}`, async () => {
      const connection = await Deno.connect({ hostname: here.hostname, port: Number(here.port) });
      const text = `${request.replaceAll("HERE", here.host)}Connection: close\r\n\r\n`;
      await connection.write(new TextEncoder().encode(text));
      const answer = (await new Response(connection.readable).text()).toLowerCase();
      assertEquals(answer.split(" ")[1], String(status));
      assertEquals(answer.includes("\r\nx-content-type-options: nosniff\r\n"), true);
      assertEquals(answer.includes("frame-ancestors 'none'"), true);
    });
  }
});

Deno.test("createHttpApp() refuses a body over 64 KiB before a sign-in, also without a declared length", async () => {
  await using site = await startConsole();
  const chunk = new Uint8Array(64 * 1024).fill(32);
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += chunk.length;
      controller.enqueue(chunk);
      if (sent > 3 * MAX_BODY_OCTETS) controller.close();
    },
  });
  const response = await fetch(`${site.origin}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: site.origin },
    body,
  });
  assertEquals(response.status, 413);
  assertEquals((await response.json()).error.code, "body_too_large");
});

Deno.test("createHttpApp() refuses an unauthenticated request and an unknown path before it reads the body", async () => {
  await using site = await startConsole();
  for (const [path, status] of [["/console/api/users", 401], ["/nothing", 404]] as const) {
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(64 * 1024));
        // The sender never ends its body, so the server must answer without it.
        return new Promise((resolve) => setTimeout(resolve, 50));
      },
    });
    const response = await fetch(site.origin + path, {
      method: "POST",
      headers: { "content-type": "application/json", origin: site.origin },
      body,
    });
    assertEquals([path, response.status], [path, status]);
    assert(pulled < 1000);
    await response.body?.cancel();
  }
});

Deno.test("checkRequest() refuses credentials in the address", () => {
  const isOurs = createHostCheck(settings);
  // The fetch API refuses to build such a request, but a listener could receive one.
  const request = {
    method: "GET",
    url: "http://a:b@127.0.0.1/",
    headers: new Headers({ host: "127.0.0.1" }),
    body: null,
  };
  const refuse = () => checkRequest(request as unknown as Request, { isOurs, viaControlSocket: false });
  assertEquals(assertThrows(refuse, Refusal).code, "bad_host");
});

Deno.test("createRequestLimit() reserves room for other sources, but a proxy may use all", () => {
  const limits = { maxRequests: 4, maxPerSource: 2, isProxy: (address: string) => address === "10.0.0.1" };
  const limit = createRequestLimit(limits);
  const ends = ["2001:db8::1", "2001:db8::2"].map((address) => limit.begin(address));
  assertEquals(limit.begin("2001:db8::3"), null);
  assert(limit.begin("10.0.0.1") !== null && limit.begin("10.0.0.1") !== null);
  assertEquals([limit.begin("192.0.2.1"), limit.begin("10.0.0.1")], [null, null]);
  ends[0]?.();
  ends[0]?.();
  assert(limit.begin("2001:db8::3") !== null);
  assertEquals(limit.begin("192.0.2.1"), null);
});
