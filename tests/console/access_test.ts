// Every route of the console API: its permission, its answer to each role, and when it asks for a recent factor.

import { assertEquals } from "@std/assert";
import { Hono } from "hono";
import { SignJWT, UnsecuredJWT } from "jose";
import { createAuthMiddleware } from "../../console/api/auth/auth_middleware.ts";
import { CONSOLE_API_PATH } from "../../console/api/console_api.ts";
import type { HttpEnv } from "../../console/api/hono_env.ts";
import { ROLES } from "../../console/api/auth/admin_records.ts";
import { isPermitted, may, RECENT_FACTOR_MS, routePermissions } from "../../console/api/auth/permissions.ts";
import { Refusal } from "../../console/api/errors.ts";
import { auditRecordsOf } from "../fakes/audited.ts";
import { approval } from "../fakes/console_gateway.ts";
import { createManualClock, PASSWORD, startConsole, type TestConsole } from "../fakes/console_app.ts";
import { ALLOWED_STATUS } from "./allowed_status.ts";
import { CONSOLE_ROUTES } from "../fakes/console_routes.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createVault } from "../../platform/vault.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";

// Every route of the console API: its permission, and its answer to each role and to a caller without a session.

Deno.test("every route of the console API declares the permission that the vector lists", async () => {
  const vector = await Deno.readTextFile(new URL("../vectors/console_permissions.txt", import.meta.url));
  const listed = vector.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const declared = CONSOLE_ROUTES.map(({ method, path, ...permission }) => {
    const { needs, helpDesk, countsAsUse, recentFactor, browserOnly, beforeSecondFactor } = permission;
    return [
      `${method} ${path}: ${needs}`,
      ...(helpDesk ? ["help desk"] : []),
      ...(countsAsUse || needs === "anyone" ? [] : ["does not count as use"]),
      ...(recentFactor ? ["step-up"] : []),
      ...(browserOnly ? ["browser only"] : []),
      ...(beforeSecondFactor ? ["before the second factor"] : []),
    ].join(", ");
  });
  assertEquals(declared.toSorted(), listed.toSorted());
  const routes = CONSOLE_ROUTES.map(({ method, path }) => `${method} ${path}`);
  assertEquals(routes.toSorted(), Object.keys(ALLOWED_STATUS).toSorted());
});

Deno.test("createAuthMiddleware() refuses a route whose first handler declares no permission", async () => {
  const unused = {} as Parameters<typeof createAuthMiddleware>[0];
  const app = new Hono<HttpEnv>()
    .use(createAuthMiddleware(unused))
    .get("/open", may("anyone"), (c) => c.text("open"))
    .get("/undeclared", (c) => c.text("secret"))
    .get("/late", (c, next) => c.req.query("answer") === undefined ? next() : c.text("secret"), may("anyone"))
    .all("/any", may("anyone"), (c) => c.text("secret"))
    .onError((fault) => new Response(fault instanceof Refusal ? fault.code : "fault"));
  const ask = async (path: string) => {
    const env = { remoteAddress: "", secure: false, viaControlSocket: true };
    return await (await app.request(path, {}, env)).text();
  };
  assertEquals(await ask("/open"), "open");
  for (const path of ["/undeclared", "/late?answer", "/late", "/any", "/none"]) {
    assertEquals(await ask(path), "not_found", path);
  }
  const undeclared = routePermissions(app).filter(({ permission }) => permission === null);
  assertEquals(undeclared.map(({ path }) => path), ["/undeclared", "/late"]);
});

Deno.test("createConsoleApi() allows each role what its permission includes, and refuses everything else", async (t) => {
  await using site = await startConsole();
  for (const who of [null, ...ROLES]) {
    let cookie: string | undefined;
    for (const row of CONSOLE_ROUTES) {
      const allowed = row.needs === "anyone" || (who !== null && isPermitted(who, row));
      const expected = allowed ? ALLOWED_STATUS[`${row.method} ${row.path}`] : who === null ? 401 : 403;
      await t.step(`${row.method} ${row.path} for ${who ?? "no session"}: ${expected}`, async () => {
        if (who !== null) cookie ??= await site.signIn(who);
        const response = await site.call(CONSOLE_API_PATH + row.path.replace(":id", "some-id"), {
          method: row.method,
          json: row.method === "POST" || row.method === "PATCH" ? {} : undefined,
          cookie,
        });
        await response.body?.cancel();
        assertEquals(response.status, expected);
      });
      // Some of these end the session.
      if (allowed && row.method !== "GET") cookie = undefined;
    }
  }
});

Deno.test("createConsoleApi() serves no path that only resembles a route", async () => {
  await using site = await startConsole();
  const ask = async (path: string, method = "GET") => {
    const response = await site.call(CONSOLE_API_PATH + path, { method });
    await response.body?.cancel();
    return response.status;
  };
  for (const path of ["/live/", "/live/stream/x", "/approvals//deny", "/Live", "/session/../approvals", ""]) {
    assertEquals(await ask(path), 404, path);
  }
  assertEquals(await ask("/approvals//deny", "POST"), 404);
  assertEquals(await ask("/live", "HEAD"), 401);
});

Deno.test("createApprovalRoutes() denies and cancels a login once, and records the actor", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("operator");
  site.secondFactorAdmin.wait(approval("r1"));
  site.secondFactorAdmin.wait(approval("r2", { userName: "grace" }));
  for (const [id, verb] of [["r1", "deny"], ["r2", "cancel"]] as const) {
    const path = `/console/api/approvals/${id}/${verb}`;
    const first = await site.call(path, { method: "POST", json: {}, cookie });
    assertEquals([first.status, await first.json()], [200, { done: true }]);
    const again = await site.call(path, { method: "POST", json: {}, cookie });
    assertEquals([again.status, (await again.json()).error.code], [409, "already_decided"]);
  }
  assertEquals(site.secondFactorAdmin.decided, [{ id: "r1", verb: "deny" }, { id: "r2", verb: "cancel" }]);
  const records = await auditRecordsOf(site.store);
  assertEquals(records.map(({ value }) => [value?.actor, value?.action, value?.object, value?.client]), [
    ["operator", "approval.deny", "user:ada", "vpn-1"],
    ["operator", "approval.cancel", "user:grace", "vpn-1"],
  ]);
});

Deno.test("createOutboxRoutes() shows a text message to owners only, records the view, and never logs the text", async () => {
  await using site = await startConsole();
  site.outbox.put(
    { id: "m1", kind: "text", to: "+15550100", createdMs: 0, deadlineMs: 1e15 },
    "Passcode 482913",
  );
  const listed = await (await site.call("/console/api/outbox", { cookie: await site.signIn("viewer") }))
    .text();
  assertEquals(listed.includes("482913"), false);
  assertEquals(listed.includes("+1****100"), true);
  const cookie = await site.signIn("owner");
  const shown = await site.call("/console/api/outbox/m1/reveal", { method: "POST", json: {}, cookie });
  assertEquals(await shown.json(), { body: "Passcode 482913" });
  const records = await auditRecordsOf(site.store);
  assertEquals(records.map(({ value }) => [value?.actor, value?.action]), [["owner", "outbox.reveal"]]);
  await site.log.flush();
  assertEquals(site.lines.join("").includes("an owner read a message"), true);
  assertEquals(site.lines.join("").includes("482913"), false);
  assertEquals(JSON.stringify(records).includes("482913"), false);
});

// Authentication middleware: which calls require a recent factor, and which API tokens are accepted.

const API = "/console/api";
const code = async (response: Response): Promise<string> => {
  const body = await response.json();
  return body.error?.code ?? "let in";
};

async function makeToken(site: TestConsole, { cookie, role = "viewer", days = 30, name = "ci" }: {
  cookie?: string;
  role?: string;
  days?: number;
  name?: string;
} = {}) {
  const response = await site.call(`${API}/tokens`, {
    method: "POST",
    json: { name, role, days },
    cookie: cookie ?? await site.signIn("owner"),
  });
  return await response.json() as { token: string; item: { id: string } };
}

const asToken = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

Deno.test("createAuthMiddleware() requires a recent factor after five minutes, on the rows that declare it and on no other", async (t) => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  for (const row of CONSOLE_ROUTES.filter(({ needs }) => needs !== "anyone")) {
    if (row.path === "/live/stream") continue;
    await t.step(`${row.method} ${row.path}: ${row.recentFactor ? "asks" : "does not ask"}`, async () => {
      const cookie = await site.signIn("owner");
      clock.advance(RECENT_FACTOR_MS + 1);
      const path = API + row.path.replaceAll(/:\w+/g, "some-id");
      const withBody = ["POST", "PUT", "PATCH"].includes(row.method);
      const response = await site.call(path, { method: row.method, json: withBody ? {} : undefined, cookie });
      const text = await response.text();
      assertEquals(text.includes('"step_up"'), row.recentFactor === true, text.slice(0, 200));
    });
  }
});

/** Requests of routes without `recentFactor`, and whether their change requires a recent factor. */
const GRANTS: readonly (readonly [method: string, path: string, json: unknown, asks: boolean])[] = [
  ["POST", "/users", { user: { userName: "new" } }, false],
  ["POST", "/users", { user: { userName: "new2", phoneNumbers: [] } }, false],
  ["POST", "/users", { user: { userName: "new3", password: "secret" } }, true],
  ["POST", "/users", { user: { userName: "new4", phoneNumbers: [{ value: "+14155550199" }] } }, true],
  ["PUT", "/users/ada", { user: { userName: "ada", phoneNumbers: [{ value: "+1 415 555 0123" }] } }, false],
  ["PUT", "/users/ada", { user: { userName: "ada", phoneNumbers: [{ value: "+14155550199" }] } }, true],
  ["PUT", "/users/ada", { user: { userName: "ada", phoneNumbers: [{ value: "0199" }] } }, true],
  ["PUT", "/users/ada", { user: { userName: "ada", password: "secret" } }, true],
  ["PUT", "/users/ada", { user: { userName: "ada", active: false } }, false],
  ["PUT", "/users/gone", { user: { userName: "gone", active: true } }, true],
  ["PUT", "/users/gone", { user: { userName: "gone", active: false, title: "Dr" } }, false],
  ["PUT", "/users/gone/active", { active: true }, true],
  ["PUT", "/users/ada/active", { active: false }, false],
  ["POST", "/bulk", { choice: { names: ["gone"] }, action: "activate" }, true],
  ["POST", "/bulk", { choice: { names: ["gone"] }, action: "deactivate" }, false],
];

Deno.test("a request that gives a user a sign-in method requires a recent factor, on every route", async (t) => {
  const now = createManualClock(Date.now());
  await using site = await startPeopleConsole({ clock: now });
  await site.put("ada", { phoneNumbers: [{ value: "+14155550123" }] });
  await site.put("gone", { active: false });
  const cookie = await site.signIn("owner");
  now.advance(RECENT_FACTOR_MS + 1);
  for (const [method, path, json, asks] of GRANTS) {
    await t.step(`${method} ${path} ${JSON.stringify(json)}: ${asks ? "asks" : "does not ask"}`, async () => {
      const view = await (await site.call(`${API}${path}`, { cookie })).json();
      const version = method === "PUT" && view.record?.version;
      const body = method === "PUT" && path.split("/").length === 3 ? { ...json as object, version } : json;
      const response = await site.call(API + path, { method, json: body, cookie });
      assertEquals(await code(response), asks ? "step_up" : "let in");
    });
  }
});

Deno.test("createSessionRoutes() makes a factor fresh only for the same user, and only with the right password", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const cookie = await site.signIn("owner");
  clock.advance(RECENT_FACTOR_MS + 1);
  const ask = () => site.call(`${API}/invitations/x`, { method: "DELETE", cookie }).then(code);
  const show = (password: string) =>
    site.call(`${API}/session/step-up`, { method: "POST", json: { password }, cookie }).then(code);
  assertEquals(await ask(), "step_up");
  assertEquals(await show("wrong"), "wrong_sign_in");
  assertEquals(await ask(), "step_up");
  assertEquals(await show(PASSWORD), "let in");
  assertEquals(await ask(), "bad_invitation");
  clock.advance(RECENT_FACTOR_MS + 1);
  assertEquals(await ask(), "step_up");
});

Deno.test("createSessionRoutes() counts wrong factors like failed sign-ins", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  const show = () =>
    site.call(`${API}/session/step-up`, { method: "POST", json: { password: "wrong" }, cookie }).then(code);
  const said: string[] = [];
  for (let round = 0; round < 6; round += 1) said.push(await show());
  assertEquals(said, [...Array<string>(5).fill("wrong_sign_in"), "too_many_attempts"]);
});

Deno.test("ApiTokens gives a token the rights of its role, without an Origin, and no others", async () => {
  await using site = await startConsole();
  const { token } = await makeToken(site, { role: "operator" });
  assertEquals(
    await site.call(`${API}/live`, asToken(token)).then(({ status, body }) => (body?.cancel(), status)),
    200,
  );
  const deny = await fetch(`${site.origin}${API}/approvals/none/deny`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: "{}",
  });
  assertEquals(await code(deny), "already_decided");
  assertEquals(await site.call(`${API}/tokens`, asToken(token)).then(code), "role");
});

Deno.test("ApiTokens refuses tokens, also an owner's, where a recent factor or a browser is required", async () => {
  await using site = await startConsole();
  const { token } = await makeToken(site, { role: "owner" });
  for (const row of CONSOLE_ROUTES.filter(({ recentFactor, browserOnly }) => recentFactor || browserOnly)) {
    const withBody = ["POST", "PUT", "PATCH"].includes(row.method);
    const response = await site.call(API + row.path.replaceAll(/:\w+/g, "x"), {
      method: row.method,
      json: withBody ? {} : undefined,
      ...asToken(token),
    });
    assertEquals(await code(response), "not_for_tokens", row.path);
  }
});

Deno.test("ApiTokens refuses tokens with no algorithm, or another key, type, audience or issuer", async () => {
  await using site = await startConsole();
  const { item, token } = await makeToken(site, { role: "owner" });
  const key = createVault(new Uint8Array(32).fill(7), createSystemRandom()).deriveKey(
    "console api tokens",
    32,
  );
  const claims = () =>
    new SignJWT({ role: "owner" }).setJti(item.id).setSubject("ci").setExpirationTime("1h").setIssuedAt();
  const sound = (header: { alg?: string; typ?: string } = {}) =>
    claims().setIssuer("countersign").setAudience("countersign:console")
      .setProtectedHeader({ alg: "HS256", typ: "at+jwt", ...header });
  const [head = "", body = "", signature = ""] = token.split(".");
  const { privateKey } = await crypto.subtle.generateKey("Ed25519", true, [
    "sign",
    "verify",
  ]) as CryptoKeyPair;
  const forged: Readonly<Record<string, string>> = {
    "alg none": new UnsecuredJWT({ role: "owner" }).setJti(item.id).setSubject("ci").setIssuer("countersign")
      .setAudience("countersign:console").setExpirationTime("1h").encode(),
    "another key": await sound().sign(new Uint8Array(32)),
    "HS512 with the right key": await sound({ alg: "HS512" }).sign(
      new Uint8Array(64).fill(1),
    ),
    "EdDSA": await sound({ alg: "EdDSA" }).sign(privateKey),
    "another type": await sound({ typ: "JWT" }).sign(key),
    "another audience": await sound().setAudience("else").sign(key),
    "another issuer": await sound().setIssuer("else").sign(key),
    "expired": await sound().setExpirationTime(1).sign(key),
    "an unknown jti": await sound().setJti("unknown").sign(key),
    "no signature": `${head}.${body}.`,
    "half a signature": `${head}.${body}.${signature.slice(0, 20)}`,
    "nothing": "",
    "no JWT": "abc",
    "endless": "a".repeat(7000),
  };
  assertEquals(await site.call(`${API}/live`, asToken(await sound().sign(key))).then(code), "let in");
  for (const [what, one] of Object.entries(forged)) {
    assertEquals(await site.call(`${API}/live`, asToken(one)).then(code), "bad_api_token", what);
  }
});

Deno.test("ApiTokens refuses a token that is revoked or expired, or whose creator lost the account", async () => {
  const clock = createManualClock(Date.now());
  await using site = await startConsole({ clock });
  const cookie = await site.signIn("owner");
  const ask = (token: string) => site.call(`${API}/live`, asToken(token)).then(code);
  const revoked = await makeToken(site, { cookie });
  assertEquals(await ask(revoked.token), "let in");
  await (await site.call(`${API}/tokens/${revoked.item.id}`, { method: "DELETE", cookie })).body?.cancel();
  assertEquals(await ask(revoked.token), "bad_api_token");
  const short = await makeToken(site, { cookie, days: 1 });
  clock.advance(24 * 3_600_000 + 1000);
  assertEquals(await ask(short.token), "bad_api_token");
});

Deno.test("createAuthMiddleware() ignores an Authorization header of another scheme, which a proxy may add", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  const response = await site.call(`${API}/live`, { cookie, headers: { authorization: "Basic eDp5" } });
  assertEquals(await code(response), "let in");
});
