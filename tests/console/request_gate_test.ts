// Headers of answers, and what a request must have before a route runs.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { PAGE_ROUTES } from "../../console/web/app/routes.ts";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { startFullConsole } from "../fakes/console_full.ts";
import { CONSOLE_ROUTES } from "../fakes/console_routes.ts";
import { basic, openSite, WRITER } from "../scim/http/site.ts";
import {
  checkRequest,
  clientAddress,
  createHostCheck,
  createRequestLimit,
  MAX_BODY_OCTETS,
} from "../../console/request_gate.ts";
import { Refusal } from "../../console/api/errors.ts";
import { createRangeCheck } from "../../platform/addresses.ts";

// The headers of every HTTP answer: of each route, and of addresses without a route.

type Kind = "page" | "asset" | "answer";

/** The same on all answers. */
const ALWAYS: readonly (readonly [name: string, value: RegExp])[] = [
  ["x-content-type-options", /^nosniff$/],
  ["x-frame-options", /^DENY$/],
  ["referrer-policy", /^no-referrer$/],
  ["cross-origin-opener-policy", /^same-origin$/],
  ["cross-origin-resource-policy", /^same-origin$/],
  ["permissions-policy", /camera=\(\).*geolocation=\(\).*microphone=\(\)/],
  ["content-security-policy", /^default-src 'none'; /],
  ["content-security-policy", /frame-ancestors 'none'/],
  ["content-security-policy", /base-uri 'none'/],
  ["content-security-policy", /require-trusted-types-for 'script'/],
];
const NEVER = ["server", "x-powered-by", "access-control-allow-origin", "access-control-allow-credentials"];
/** The cache and content security policy of each kind of answer. */
const BY_KIND: Readonly<Record<Kind, { readonly cache: RegExp; readonly runs: boolean }>> = {
  page: { cache: /^no-cache$/, runs: true },
  asset: { cache: /^public, max-age=31536000, immutable$/, runs: false },
  answer: { cache: /^no-store$/, runs: false },
};
const ORIGIN = /unsafe|\*|data:|blob:|https?:/;

function problemsOf(headers: Headers, kind: Kind): string[] {
  const { cache, runs } = BY_KIND[kind];
  const policy = headers.get("content-security-policy") ?? "";
  const lacking = [...ALWAYS, ["cache-control", cache] as const].flatMap(([name, value]) =>
    value.test(headers.get(name) ?? "") ? [] : [`${name}: ${headers.get(name)}`]
  );
  const odd = NEVER.flatMap((name) => headers.has(name) ? [`has ${name}`] : []);
  const cookies = headers.getSetCookie().filter((cookie) =>
    !/; HttpOnly/i.test(cookie) || !/; SameSite=(Strict|Lax)/i.test(cookie)
  );
  const mayRun = policy.includes("script-src 'self'");
  return [
    ...lacking,
    ...odd,
    ...cookies.map((cookie) => `cookie ${cookie}`),
    ...(ORIGIN.test(policy) ? [`policy ${policy}`] : []),
    ...(mayRun === runs ? [] : [`script-src in ${policy}`]),
    ...(headers.has("strict-transport-security") ? ["strict-transport-security without TLS"] : []),
  ];
}

/** An address of a pattern: each named segment gets a value that does not exist. */
const filled = (pattern: string) => pattern.replace(/:\w+/g, "unknown");

interface Asked {
  readonly what: string;
  readonly path: string;
  readonly method?: string;
  readonly kind?: Kind;
  readonly status?: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const JSON_HEADERS = { "content-type": "application/json" };
const API: readonly Asked[] = CONSOLE_ROUTES.map(({ method, path }) => ({
  what: `${method} ${path}`,
  method,
  path: `/console/api${filled(path)}`,
  ...(method === "GET" ? {} : { body: "{}", headers: JSON_HEADERS }),
}));
const PAGES: readonly Asked[] = [
  "/device/",
  ...Object.values(PAGE_ROUTES).map(({ pattern }) => filled(pattern)),
].map((path) => ({ what: `page ${path}`, path, kind: "page", status: 200 }));
const DEVICE: readonly Asked[] = ([
  ["GET", "/view"],
  ["GET", "/stream"],
  ["POST", "/invitation/look"],
  ["POST", "/invitation/accept"],
  ["POST", "/phrase"],
  ["POST", "/pairings/unknown"],
  ["DELETE", "/pairings/unknown"],
  ["POST", "/pairings/unknown/passcode"],
  ["POST", "/pairings/unknown/passcode-seed"],
  ["POST", "/name"],
  ["POST", "/requests/unknown"],
] as const).map(([method, path]) => ({
  what: `${method} /device/api${path}`,
  method,
  path: `/device/api${path}`,
  ...(method === "GET" ? {} : { body: "{}", headers: JSON_HEADERS }),
}));
const AUTHORIZED = { authorization: basic(WRITER) };
const SCIM_TYPE = { "content-type": "application/scim+json" };
const OVER = " ".repeat(1024 * 1024 + 1);
const OTHERS: readonly Asked[] = [
  { what: "a page's head", path: "/live", method: "HEAD", kind: "page", status: 200 },
  { what: "the root", path: "/?q=ada", status: 302 },
  { what: "the phone page without its folder", path: "/device", status: 308 },
  { what: "another name of a page", path: "/directories/hq", status: 302 },
  { what: "an asset", path: "/assets/web.js", kind: "asset", status: 200 },
  {
    what: "an asset that is held already",
    path: "/assets/web.js",
    headers: { "if-none-match": '"e1"' },
    kind: "asset",
    status: 304,
  },
  { what: "an asset that is none", path: "/assets/none.js", status: 404 },
  { what: "an asset outside", path: "/assets/..%2f..%2fdeno.json", status: 404 },
  { what: "alive", path: "/healthz", status: 200 },
  { what: "ready", path: "/readyz", status: 200 },
  { what: "metrics", path: "/metrics", status: 200 },
  { what: "the description", path: "/openapi.json", status: 200 },
  { what: "no page", path: "/nothing/at/all", headers: { accept: "text/html" }, kind: "page", status: 404 },
  { what: "no address", path: "/nothing/at/all", status: 404 },
  { what: "no route", path: "/console/api/nothing", status: 404 },
  { what: "no route of the phone", path: "/device/api/nothing", status: 404 },
  { what: "a page written to", path: "/live", method: "PUT", body: "{}", status: 404 },
  { what: "an unknown method", path: "/console/api/live", method: "PURGE", status: 405 },
  { what: "a preflight", path: "/console/api/live", method: "OPTIONS", status: 405 },
  {
    what: "a body that is too large",
    path: "/console/api/session",
    method: "POST",
    body: OVER,
    headers: JSON_HEADERS,
    status: 413,
  },
  { what: "a target that is too long", path: `/${"a".repeat(9000)}`, status: 414 },
  {
    what: "another site's call",
    path: "/console/api/session",
    method: "POST",
    body: "{}",
    headers: { ...JSON_HEADERS, origin: "https://evil.test" },
    status: 403,
  },
  {
    what: "a body of another type",
    path: "/console/api/session",
    method: "POST",
    body: "a=b",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    status: 415,
  },
  { what: "users by SCIM", path: "/idm/scim/default/Users", headers: AUTHORIZED, status: 200 },
  {
    what: "a user created by SCIM",
    path: "/idm/scim/default/Users",
    method: "POST",
    headers: { ...AUTHORIZED, ...SCIM_TYPE },
    body: JSON.stringify({ userName: "ada" }),
    status: 201,
  },
  {
    what: "an unknown user by SCIM",
    path: "/idm/scim/default/Users/unknown",
    headers: AUTHORIZED,
    status: 404,
  },
  { what: "SCIM without a credential", path: "/idm/scim/default/Users", status: 401 },
  { what: "an unknown target of SCIM", path: "/idm/scim/nothing/Users", headers: AUTHORIZED },
  { what: "an unknown method at SCIM", path: "/idm/scim/default/Users", method: "PURGE", status: 405 },
  {
    what: "a body that SCIM finds too large",
    path: "/idm/scim/default/Users",
    method: "POST",
    headers: { ...AUTHORIZED, ...SCIM_TYPE },
    body: OVER,
    status: 413,
  },
];

async function look(
  site: Pick<TestConsole, "origin">,
  asked: Asked,
  cookie = "",
): Promise<{ status: number; problems: string[] }> {
  const { path, method = "GET", headers = {}, body, kind = "answer" } = asked;
  const response = await fetch(site.origin + path, {
    method,
    redirect: "manual",
    headers: {
      ...(method === "GET" || method === "HEAD" ? {} : { origin: site.origin }),
      ...(cookie === "" ? {} : { cookie }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  // A stream does not end by itself.
  await response.body?.cancel();
  return { status: response.status, problems: problemsOf(response.headers, kind) };
}

Deno.test("the HTTP application sets its headers on every answer to an unknown client", async (t) => {
  await using site = await openSite();
  for (const asked of [...API, ...PAGES, ...DEVICE, ...OTHERS]) {
    await t.step(asked.what, async () => {
      const { status, problems } = await look(site.console, asked);
      assertEquals(problems, []);
      assert(status < 500, `${status}`);
      if (asked.status !== undefined) assertEquals(status, asked.status);
    });
  }
});

Deno.test("the HTTP application sets its headers on every answer to an owner", async (t) => {
  await using site = await startFullConsole();
  // Calls that end the session come last.
  const calls = API.toSorted((a, b) => Number(endsIt(a)) - Number(endsIt(b)));
  const cookie = await site.signIn("owner");
  let answered = 0;
  for (const asked of calls) {
    await t.step(asked.what, async () => {
      const { status, problems } = await look(site, asked, cookie);
      assertEquals(problems, []);
      assert(status !== 401 && status < 500, `${status}`);
      answered += Number(status === 200);
    });
  }
  assert(answered > 25, `${answered} were answered with something`);
});

const endsIt = ({ path, method }: Asked) => path === "/console/api/session" && method !== "GET";

Deno.test("the HTTP application sets its headers on an answer that failed", async () => {
  await using site = await startConsole({
    change: (deps) => ({
      ...deps,
      ready: () => {
        throw new Error("planted detail");
      },
    }),
  });
  assertEquals(await look(site, { what: "broken", path: "/readyz" }), { status: 500, problems: [] });
});

Deno.test("the HTTP application sends HSTS over TLS, and only over TLS", async () => {
  await using site = await startConsole();
  for (const path of ["/live", "/console/api/session", "/nothing", "/assets/web.js", "/metrics"]) {
    const response = await site.app(
      new Request(`https://localhost${path}`, { headers: { host: "localhost" } }),
      { remoteAddress: "192.0.2.1" },
    );
    await response.body?.cancel();
    assertEquals(response.headers.get("strict-transport-security"), "max-age=31536000", path);
  }
});

Deno.test("problemsOf() finds a missing header, an extra header, a weak policy and a weak cookie", () => {
  const seen = problemsOf(
    new Headers([
      ["access-control-allow-origin", "*"],
      ["content-security-policy", "default-src 'none'; script-src 'self' 'unsafe-inline'"],
      ["set-cookie", "a=b"],
    ]),
    "answer",
  ).join("\n");
  for (
    const part of [
      "x-frame-options",
      "access-control",
      "unsafe-inline",
      "cookie a=b",
      "cache-control",
      "script-src in",
    ]
  ) {
    assert(seen.includes(part), `${part} in ${seen}`);
  }
});

// Requests that never reach a route: unusual methods, foreign hosts, absolute targets, large or slow bodies.

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

// The address of a client behind reverse proxies.

const PROXIES = ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"];

const CASES: readonly (readonly [peer: string, forwarded: string | null, client: string])[] = [
  ["192.0.2.1", "198.51.100.7", "192.0.2.1"],
  ["127.0.0.1", null, "127.0.0.1"],
  ["127.0.0.1", "198.51.100.7", "198.51.100.7"],
  ["::ffff:127.0.0.1", "198.51.100.7", "198.51.100.7"],
  // The entry of the client itself is to the left of the entry that the proxy added.
  ["127.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"],
  ["127.0.0.1", "203.0.113.9, 198.51.100.7, 10.1.2.3", "198.51.100.7"],
  ["2001:db8::5", "2001:db9::1", "2001:db9::1"],
  ["127.0.0.1", "10.1.2.3", "10.1.2.3"],
  ["127.0.0.1", "[2001:db9::1]:4711", "2001:db9::1"],
  ["127.0.0.1", "198.51.100.7:4711", "198.51.100.7"],
  ["127.0.0.1", "198.51.100.7, evil", "127.0.0.1"],
  ["127.0.0.1", "198.51.100.7, 999.1.1.1", "127.0.0.1"],
  ["127.0.0.1", "", "127.0.0.1"],
  ["127.0.0.1", "198.51.100.7,", "127.0.0.1"],
];
for (const [peer, forwarded, client] of CASES) {
  Deno.test(`clientAddress() of ${peer} with ${JSON.stringify(forwarded)} is ${client}`, () => {
    assertEquals(clientAddress(peer, { forwarded, isProxy: createRangeCheck(PROXIES) }), client);
  });
}
