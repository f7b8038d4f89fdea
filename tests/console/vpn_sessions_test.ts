// VPN sessions in the console API: what a viewer reads, of all users and of one, and the metric.

import { assertEquals, assertStringIncludes } from "@std/assert";
import type {
  ConnectedAnswer,
  UserSessionsAnswer,
} from "../../console/api/accounting_sessions/session_routes.ts";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { createConsoleSessions } from "../fakes/console_sessions.ts";
import { auditRecordsOf } from "../fakes/audited.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";

async function viewerOf(site: TestConsole) {
  return apiCaller(site, await site.signIn("viewer"));
}

Deno.test("a viewer reads the connected users, newest first, of all clients or of one", async () => {
  const { vpnSessions, report } = createConsoleSessions();
  await using site = await startConsole({ change: (deps) => ({ ...deps, vpnSessions }) });
  const call = await viewerOf(site);
  assertEquals(await call<ConnectedAnswer>("/console/api/connected"), { sessions: [], total: 0, stale: 0 });
  report("start", "Ada");
  report("start", "bob", "vpn-2");
  report("start", "cleo");
  report("stop", "cleo");
  const all = await call<ConnectedAnswer>("/console/api/connected");
  assertEquals(all.sessions.map(({ user }) => user), ["bob", "Ada"]);
  assertEquals([all.total, all.stale], [2, 0]);
  const ofClient = await call<ConnectedAnswer>("/console/api/connected?client=vpn-1");
  assertEquals(ofClient.sessions.map(({ user, framedAddress }) => [user, framedAddress]), [[
    "Ada",
    "10.8.0.2",
  ]]);
  const metrics = await (await site.call("/metrics")).text();
  assertStringIncludes(metrics, "countersign_accounting_sessions_connected 2\n");
});

Deno.test("a viewer reads the sessions of one user, by any form of the name, connected ones before ended ones", async () => {
  const { vpnSessions, report } = createConsoleSessions();
  await using site = await startConsole({ change: (deps) => ({ ...deps, vpnSessions }) });
  const call = await viewerOf(site);
  report("start", "Ada");
  report("stop", "Ada");
  report("start", "Ada");
  const { sessions } = await call<UserSessionsAnswer>("/console/api/users/ADA/sessions");
  assertEquals(sessions.map(({ end, terminateCause }) => [end, terminateCause]), [
    [null, ""],
    ["stop", "User-Request"],
  ]);
  const none = await call<UserSessionsAnswer>("/console/api/users/nobody/sessions");
  assertEquals(none.sessions, []);
});

Deno.test("VPN sessions are not shown without a console session", async () => {
  await using site = await startConsole();
  for (const path of ["/connected", "/users/ada/sessions"]) {
    assertEquals(await codeOf(await site.call(`/console/api${path}`)), "not_signed_in", path);
  }
});

Deno.test("an operator ends one session, or all connected ones of a user, with an audit record; an ended session is unknown", async () => {
  const { vpnSessions, report, ordered } = createConsoleSessions();
  await using site = await startConsole({ change: (deps) => ({ ...deps, vpnSessions }) });
  const call = apiCaller(site, await site.signIn("operator"));
  const post = { method: "POST", json: {} };
  report("start", "Ada");
  report("start", "bob", "vpn-2");
  assertEquals(await call("/console/api/connected/0001/disconnect", post), { ordered: 1 });
  assertEquals(await call("/console/api/users/BOB/sessions/disconnect", post), { ordered: 1 });
  assertEquals(await call("/console/api/users/cleo/sessions/disconnect", post), { ordered: 0 });
  report("stop", "Ada");
  const cookie = await site.signIn("operator");
  const ended = await site.call("/console/api/connected/0001/disconnect", { ...post, cookie });
  assertEquals([ended.status, await codeOf(ended)], [404, "unknown_vpn_session"]);
  assertEquals(ordered, [["Ada"], ["bob"]]);
  const records = await auditRecordsOf(site.store);
  assertEquals(
    records.map(({ value }) => [value?.actor, value?.action, value?.object, value?.client, value?.session]),
    [
      ["operator", "vpn_session.disconnect", "user:Ada", "vpn-1", "Ada"],
      ["operator", "vpn_session.disconnect", "user:bob", "vpn-2", "bob"],
    ],
  );
});
