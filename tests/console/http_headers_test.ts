// The headers of every HTTP answer: of each route, and of addresses without a route.

import { assert, assertEquals } from "@std/assert";
import { PAGE_ROUTES } from "../../console/web/app/routes.ts";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { startFullConsole } from "../fakes/console_full.ts";
import { CONSOLE_ROUTES } from "../fakes/console_routes.ts";
import { basic, openSite, WRITER } from "../scim/http/site.ts";

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
