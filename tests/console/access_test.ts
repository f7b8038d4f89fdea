// Every route of the console API: its permission, and its answer to each role and to a caller without a session.

import { assertEquals } from "@std/assert";
import { Hono } from "hono";
import { createAuthMiddleware } from "../../console/api/auth/auth_middleware.ts";
import { CONSOLE_API_PATH } from "../../console/api/console_api.ts";
import type { HttpEnv } from "../../console/api/hono_env.ts";
import { ROLES } from "../../console/api/auth/admin_records.ts";
import { isPermitted, may, routePermissions } from "../../console/api/auth/permissions.ts";
import { Refusal } from "../../console/api/errors.ts";
import { auditRecordsOf } from "../fakes/audited.ts";
import { approval } from "../fakes/console_gateway.ts";
import { startConsole } from "../fakes/console_app.ts";
import { ALLOWED_STATUS } from "./allowed_status.ts";
import { CONSOLE_ROUTES } from "../fakes/console_routes.ts";

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
