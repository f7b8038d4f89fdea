// Every route of the console API: its permission, and its answer to each role and to a caller without a session.

import { assertEquals } from "@std/assert";
import { Hono } from "hono";
import { createAuthMiddleware } from "../../console/api/auth/auth_middleware.ts";
import { CONSOLE_API_PATH } from "../../console/api/console_api.ts";
import type { HttpEnv } from "../../console/api/hono_env.ts";
import { isAllowed, ROLES } from "../../console/api/auth/admin_records.ts";
import { may, routePermissions } from "../../console/api/auth/permissions.ts";
import { Refusal } from "../../console/api/errors.ts";
import { auditRecordsOf } from "../fakes/audited.ts";
import { approval } from "../fakes/console_gateway.ts";
import { startConsole } from "../fakes/console_app.ts";
import { CONSOLE_ROUTES } from "../fakes/console_routes.ts";

/** The status that a permitted caller receives. The bodies are as small as possible. */
const ALLOWED_STATUS: Readonly<Record<string, number>> = {
  "GET /session": 200,
  "POST /session": 400,
  "DELETE /session": 200,
  "POST /session/stay": 200,
  "POST /session/passkey/options": 400,
  "POST /session/passkey": 400,
  "POST /session/step-up": 400,
  "POST /setup": 400,
  "POST /setup/link": 400,
  "POST /setup/passkey/options": 400,
  "POST /setup/passkey": 400,
  "POST /oidc/start": 400,
  // No provider is set up.
  "GET /oidc/callback": 404,
  "GET /factors": 200,
  "POST /factors/totp": 200,
  "POST /factors/totp/confirm": 400,
  "DELETE /factors/totp": 200,
  "POST /factors/recovery-codes": 409,
  "POST /factors/passkeys/options": 400,
  "POST /factors/passkeys": 400,
  "DELETE /factors/passkeys/:id": 404,
  "GET /sessions": 200,
  "DELETE /sessions/:id": 404,
  "GET /administrators": 200,
  "POST /administrators": 400,
  "PATCH /administrators/:id": 404,
  "DELETE /administrators/:id": 404,
  "POST /administrators/:id/link": 404,
  "GET /administrators/:id/sessions": 404,
  "DELETE /administrators/:id/sessions": 404,
  "DELETE /invitations/:id": 410,
  "GET /tokens": 200,
  "POST /tokens": 400,
  "DELETE /tokens/:id": 404,
  "GET /live": 200,
  "GET /first-steps": 200,
  "PUT /first-steps/:name": 415,
  "GET /live/stream": 200,
  "GET /live/picture": 200,
  "GET /live/strays": 200,
  "GET /live/logins/:id": 404,
  "GET /connected": 200,
  "GET /history": 200,
  "GET /history/export": 200,
  "GET /charts": 200,
  "GET /overview": 200,
  "GET /overview/factorless": 404,
  "GET /reports/breakdown": 200,
  "GET /reports/enrolment": 404,
  "GET /reports/export": 400,
  // Without a directory: the answer to a well-formed request is that there is no directory.
  "GET /group-names": 404,
  "GET /users": 404,
  "POST /users": 400,
  "GET /users/:id": 404,
  "PUT /users/:id": 415,
  "DELETE /users/:id": 415,
  "PUT /users/:id/active": 415,
  "PUT /users/:id/password": 415,
  "PUT /users/:id/groups": 415,
  "POST /users/:id/refresh": 404,
  "POST /users/:id/retry": 400,
  "GET /users/:id/backends": 404,
  "GET /users/:id/timeline": 404,
  "GET /users/:id/sign-ins": 404,
  "GET /users/:id/sessions": 200,
  "POST /users/:id/trial": 400,
  "POST /users/:id/invitation": 404,
  "POST /users/:id/pairings": 400,
  "PUT /users/:id/pairings/:pairing": 415,
  "DELETE /users/:id/pairings/:pairing": 415,
  "POST /users/:id/unconfirmed/:factor/keep": 404,
  "DELETE /users/:id/unconfirmed/:factor": 415,
  "POST /users/:id/totp": 404,
  "POST /users/:id/totp/confirm": 400,
  "PUT /users/:id/preference": 415,
  "POST /users/:id/unlock": 404,
  "DELETE /users/:id/remembered-devices": 415,
  "GET /policies": 404,
  "POST /policies": 400,
  "PUT /policies/order": 415,
  "POST /policies/evaluate": 400,
  "POST /policies/replay": 404,
  "PUT /policies/:id": 415,
  "DELETE /policies/:id": 415,
  "POST /users/:id/reset-limits": 404,
  "GET /groups": 404,
  "POST /groups": 400,
  "GET /groups/:id": 404,
  "DELETE /groups/:id": 415,
  "GET /groups/:id/members": 404,
  "PUT /groups/:id/members": 415,
  "GET /devices": 404,
  "GET /devices/:id": 404,
  "DELETE /devices/:id": 415,
  "POST /devices/revoke": 400,
  "POST /bulk": 400,
  "POST /bulk/preview": 400,
  "GET /jobs/:id": 404,
  "GET /jobs/:id/items": 404,
  "POST /jobs/:id/stop": 404,
  "POST /jobs/:id/undo": 404,
  "POST /imports": 400,
  "POST /imports/:id/text": 400,
  "POST /imports/:id/check": 400,
  "POST /imports/rows": 400,
  "GET /imports/:id": 404,
  "PUT /imports/:id/rows/:line": 415,
  "POST /imports/:id/apply": 404,
  "DELETE /imports/:id": 415,
  "GET /export/users": 404,
  "GET /export/groups": 404,
  "GET /trash": 404,
  "POST /trash/restore": 400,
  "POST /trash/purge": 400,
  "GET /clients": 404,
  "POST /clients": 400,
  "POST /clients/heard": 404,
  "GET /clients/:id": 404,
  "PUT /clients/:id": 415,
  "DELETE /clients/:id": 404,
  "POST /clients/:id/secret": 400,
  "DELETE /clients/:id/overlap": 404,
  "DELETE /clients/:id/signing": 404,
  "GET /targets": 404,
  "GET /targets/:id": 404,
  "POST /targets/:id/test": 400,
  "POST /targets/:id/retry": 400,
  "POST /targets/:id/refresh": 404,
  "GET /targets/:id/sample": 404,
  "POST /targets/:id/preview": 400,
  "GET /credentials": 404,
  "POST /credentials": 400,
  "DELETE /credentials/:id": 404,
  "GET /health": 404,
  "GET /nodes": 200,
  "POST /health/test": 400,
  "GET /audit": 200,
  "GET /audit/export": 200,
  "GET /settings": 200,
  "PUT /settings": 415,
  "GET /target-settings": 404,
  "GET /target-settings/:name": 404,
  "PUT /target-settings/:name": 415,
  "DELETE /target-settings/:name": 415,
  "POST /target-settings/:name/test": 400,
  "POST /target-settings/:name/preview": 400,
  "POST /settings/check": 400,
  "POST /settings/undo": 400,
  "POST /settings/test/second_factor": 400,
  "POST /settings/test/telephony": 400,
  "POST /settings/test/oidc": 400,
  "POST /users/:id/me-link": 404,
  "GET /saved-filters/:list": 404,
  "PUT /saved-filters/:list/:name": 415,
  "DELETE /saved-filters/:list/:name": 415,
  "GET /notices": 200,
  "DELETE /notices/:id": 415,
  "PUT /groups/:id/replies": 415,
  "POST /clients/first-factor": 400,
  "POST /approvals/:id/deny": 409,
  "POST /approvals/:id/cancel": 409,
  "GET /outbox": 200,
  "POST /outbox/:id/reveal": 410,
};

Deno.test("every route of the console API declares the permission that the vector lists", async () => {
  const vector = await Deno.readTextFile(new URL("../vectors/console_permissions.txt", import.meta.url));
  const listed = vector.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const declared = CONSOLE_ROUTES.map(({ method, path, needs, countsAsUse, recentFactor, browserOnly }) =>
    [
      `${method} ${path}: ${needs}`,
      ...(countsAsUse || needs === "anyone" ? [] : ["does not count as use"]),
      ...(recentFactor ? ["step-up"] : []),
      ...(browserOnly ? ["browser only"] : []),
    ].join(", ")
  );
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
  for (const row of CONSOLE_ROUTES) {
    await using site = await startConsole();
    for (const who of [null, ...ROLES]) {
      const allowed = row.needs === "anyone" || (who !== null && isAllowed(who, row.needs));
      const expected = allowed ? ALLOWED_STATUS[`${row.method} ${row.path}`] : who === null ? 401 : 403;
      await t.step(`${row.method} ${row.path} for ${who ?? "no session"}: ${expected}`, async () => {
        const cookie = who === null ? undefined : await site.signIn(who);
        const response = await site.call(CONSOLE_API_PATH + row.path.replace(":id", "some-id"), {
          method: row.method,
          json: row.method === "POST" || row.method === "PATCH" ? {} : undefined,
          cookie,
        });
        await response.body?.cancel();
        assertEquals(response.status, expected);
      });
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
