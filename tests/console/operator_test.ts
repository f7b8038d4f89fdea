// Requests of the operator through the control socket: which are answered, under which name, and which are refused.

import { assert, assertEquals } from "@std/assert";
import { apiValue } from "../../cli/admin_connection.ts";
import { MAX_BODY_OCTETS } from "../../console/request_gate.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";
import { CONSOLE_ROUTES, type ConsoleRoute } from "../fakes/console_routes.ts";

/** How the authentication middleware refuses a request. */
const GATE_REFUSALS = new Set([
  "role",
  "step_up",
  "not_signed_in",
  "not_same_origin",
  "not_for_tokens",
  "bad_api_token",
  "browser_only",
]);
/** Starts a response that never ends. */
const STREAM = "/live/stream";
const ASKED = CONSOLE_ROUTES.filter(({ needs, path }) => needs !== "anyone" && path !== STREAM);

const ask = ({ ask }: TestComposition, { method, path }: ConsoleRoute) =>
  ask(method, path.replaceAll(/:\w+/g, "some-id"), method === "GET" ? undefined : {});

Deno.test("answerControlSocket() allows the operator everything without a session and a recent factor, except browser-only routes", async (t) => {
  await using gateway = await openComposition();
  for (const row of ASKED) {
    const expected = row.browserOnly ? "browser_only" : "answered";
    await t.step(`${row.method} ${row.path}: ${expected}`, async () => {
      const { code } = await ask(gateway, row);
      assertEquals(code !== null && GATE_REFUSALS.has(code) ? code : "answered", expected);
    });
  }
});

Deno.test("may() marks every route about the browser's own session and factors as browserOnly", () => {
  const own = CONSOLE_ROUTES.filter(({ path, needs }) =>
    needs !== "anyone" && /^\/(session|sessions|factors)\b/.test(path)
  );
  assertEquals(own.filter(({ browserOnly }) => browserOnly !== true), []);
  assertEquals(CONSOLE_ROUTES.filter(({ browserOnly }) => browserOnly === true), own);
});

/** Other paths of the listeners, which do not exist on the socket. */
const UNREACHABLE = [
  "/",
  "/users",
  "/me",
  "/me/api/session",
  "/device",
  "/device/api/session",
  "/metrics",
  "/healthz",
  "/readyz",
  "/openapi.json",
  "/assets/web.js",
  "/idm/scim/default/Users",
  "/console/api",
  "/console/apis/users",
  "/console/api/../../metrics",
];
for (const path of UNREACHABLE) {
  Deno.test(`answerControlSocket() answers ${path} with 404`, async () => {
    await using gateway = await openComposition();
    const response = await gateway.app.answerControlSocket(new Request(`http://localhost${path}`));
    assertEquals([response.status, (await response.json()).error.code], [404, "not_found"]);
  });
}

/** Requests that an operator never sends, and how they are refused. */
const REFUSED: readonly (readonly [what: string, path: string, init: RequestInit, code: string])[] = [
  ["an unknown method", "/users", { method: "OPTIONS" }, "method"],
  ["an unknown route", "/user", {}, "not_found"],
  ["a body that is no JSON", "/users", { method: "POST", body: "userName=ann" }, "not_json"],
  ["a very long address", `/users?q=${"x".repeat(9000)}`, {}, "target_too_long"],
];
for (const [what, path, init, code] of REFUSED) {
  Deno.test(`answerControlSocket() refuses ${what} as ${code}`, async () => {
    await using gateway = await openComposition();
    const request = new Request(`http://localhost/console/api${path}`, init);
    assertEquals((await (await gateway.app.answerControlSocket(request)).json()).error.code, code);
  });
}

Deno.test("answerControlSocket() accepts a body of 1 MiB and no larger one", async () => {
  await using gateway = await openComposition();
  const post = (displayName: string) =>
    gateway.ask("POST", "/users", { user: { userName: "ann", displayName } });
  assertEquals((await post("x".repeat(MAX_BODY_OCTETS))).code, "body_too_large");
  assertEquals((await post("x".repeat(100_000))).code, null);
});

Deno.test("answerControlSocket() ignores the Host header, because the socket has no name", async () => {
  await using gateway = await openComposition();
  const url = "http://elsewhere.example/console/api/live";
  const response = await gateway.app.answerControlSocket(new Request(url));
  await response.body?.cancel();
  assertEquals(response.status, 200);
});

Deno.test("a request of the HTTP listener is never treated as the operator's, whatever its headers are", async () => {
  await using gateway = await openComposition();
  const headers = { origin: "http://127.0.0.1:8080", host: "127.0.0.1:8080", cookie: "console=command" };
  const known = { remoteAddress: "127.0.0.1", viaControlSocket: true, secure: true };
  for (const row of ASKED) {
    const path = row.path.replaceAll(/:\w+/g, "some-id");
    const { method } = row;
    const request = new Request(`http://127.0.0.1:8080/console/api${path}`, { method, headers });
    const response = await gateway.app(request, known);
    assertEquals((await response.json()).error.code, "not_signed_in", `${method} ${path}`);
  }
});

Deno.test("the audit log names the operator `command`, also in the records of the directory", async () => {
  await using gateway = await openComposition();
  const { api } = gateway;
  await apiValue(api.users.$post({ json: { user: { userName: "ann" } }, query: {} }));
  await apiValue(api.groups.$post({ json: { name: "staff", members: ["ann"] }, query: {} }));
  const json = { name: "saas", targets: ["default"], access: "read" as const };
  await apiValue(api.credentials.$post({ json }));
  const records = await gateway.audits();
  assertEquals(records.map(({ actor, action }) => [actor, action]), [
    ["command", "user.created"],
    ["command", "group.created"],
    ["command", "scim_credential.add"],
  ]);
  assert(records.every(({ source, browser }) => source === undefined && browser === undefined));
});
