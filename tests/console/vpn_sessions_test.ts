// VPN sessions in the console API: what a viewer reads, of all users and of one, and the metric.

import { assertEquals, assertStringIncludes } from "@std/assert";
import type {
  ConnectedAnswer,
  UserSessionsAnswer,
} from "../../console/api/accounting_sessions/session_routes.ts";
import type { AccountingReport } from "../../radius/accounting/session.ts";
import { SessionTable } from "../../radius/accounting/session_table.ts";
import { createManualClock, startConsole, type TestConsole } from "../fakes/console_app.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";

/** A table that stores nothing, because the console only reads it. */
function createTable() {
  const clock = createManualClock();
  let ids = 0;
  const table = new SessionTable({
    store: {
      async *list() {},
      follow: () => undefined,
      commit: () => Promise.resolve({ ok: true, versionstamp: "1" }),
    },
    nowMs: clock.nowMs,
    orderedId: () => String(++ids).padStart(4, "0"),
  });
  const report = (change: AccountingReport["change"], shownUser: string, client = "vpn-1") => {
    clock.advance(1000);
    table.apply({
      ...{ change, shownUser, user: shownUser.toLowerCase(), sessionId: shownUser, sessionHex: "6131" },
      ...{ nas: "edge", framedAddress: "10.8.0.2", callingStation: "198.51.100.7" },
      ...{ inputOctets: 1, outputOctets: 2, sessionSeconds: null, delaySeconds: 0, terminateCause: 1 },
    }, { client, source: "192.0.2.1", receivedMs: clock.nowMs(), authenticator: `${ids} ${change}` });
  };
  return { table, report };
}

async function viewerOf(site: TestConsole) {
  return apiCaller(site, await site.signIn("viewer"));
}

Deno.test("a viewer reads the connected users, newest first, of all clients or of one", async () => {
  const { table, report } = createTable();
  await using site = await startConsole({ change: (deps) => ({ ...deps, vpnSessions: table }) });
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
  const { table, report } = createTable();
  await using site = await startConsole({ change: (deps) => ({ ...deps, vpnSessions: table }) });
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
