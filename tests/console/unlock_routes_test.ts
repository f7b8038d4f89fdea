// Locks and limits of users: unlocking, and their display for the user, in metrics and in health; invitations,
// preferences.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { apiValue } from "../../cli/admin_connection.ts";
import type { LockView, UserView } from "../../console/api/users/user_types.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import type { HealthReport } from "../../console/api/targets/target_types.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";

const LOCKOUT = "[factors.lockout]\nfailures = 2\nhard_limit = 3\n";

async function fail({ store, radius: { limits } }: TestComposition, times: number): Promise<void> {
  for (let at = 0; at < times; at++) await store.commit({ mutations: [limits.countFailure("ann").mutation] });
}

async function lockOf({ api }: TestComposition, id: string): Promise<LockView> {
  const { login } = await apiValue(api.users[":id"].$get({ param: { id }, query: {} }));
  if (login === null) throw new Error("the users of this target do not log in");
  return login.lock;
}

const unlock = ({ api }: TestComposition, id: string) =>
  apiValue(api.users[":id"].unlock.$post({ param: { id }, json: {} }));

Deno.test("POST /users/:id/unlock clears failures and lock, in store and memory, with a record", async () => {
  await using gateway = await openComposition(LOCKOUT);
  await fail(gateway, 3);
  const { locked, hardLocked, failures, locks } = await lockOf(gateway, "Ann");
  assertEquals([locked, hardLocked, failures, locks], [true, true, 3, 1]);
  const { user: { login } } = await unlock(gateway, "ANN");
  assertEquals([login?.lock.locked, gateway.radius.limits.isLocked("ann")], [false, false]);
  assertEquals((await gateway.store.get(["limit", "failures", "ann"])).value, null);
  assertEquals(await gateway.audits(), [{
    atMs: gateway.clock.nowMs(),
    actor: "command",
    action: "user.unlock",
    object: "user:ANN",
    before: "locked",
    after: "unlocked",
    failures: 3,
    how: "command",
  }]);
});

Deno.test("POST /users/:id/unlock of a user without failures changes and records nothing", async () => {
  await using gateway = await openComposition();
  await unlock(gateway, "ann");
  assertEquals(await gateway.dump(), "");
});

Deno.test("POST /users/:id/unlock keeps the lock when the store fails", async () => {
  await using gateway = await openComposition(LOCKOUT);
  await fail(gateway, 3);
  gateway.breakStore();
  assertEquals((await gateway.ask("POST", "/users/ann/unlock", {})).code, "internal");
  assertEquals(gateway.radius.limits.isLocked("ann"), true);
});

Deno.test("GET /users/:id shows failures and limits, and changes nothing", async () => {
  await using gateway = await openComposition();
  await fail(gateway, 1);
  const before = await gateway.dump();
  const { locked, inRow, pushesBlockedUntilMs, sendsBlockedUntilMs } = await lockOf(gateway, "ann");
  assertEquals([locked, inRow, pushesBlockedUntilMs, sendsBlockedUntilMs], [false, 1, null, null]);
  assertEquals(await gateway.dump(), before);
});

const USERS = "/console/api/users";

Deno.test("users: the push and message limits of a user are shown with their time, and can be reset", async () => {
  await using site = await startPeopleConsole();
  const number = "+4915112345678";
  await site.put("ada", { phoneNumbers: [{ value: "+49 151 12345678" }] });
  for (let count = 0; count < 5; count++) {
    site.limits.countPush("ada");
    await site.store.commit({ mutations: site.limits.countSend({ user: "ada", number, client: "vpn" }) });
  }
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const lockOf = ({ login }: UserView) => login?.lock;
  const before = lockOf(await ask<UserView>(`${USERS}/ada`));
  assert((before?.pushesBlockedUntilMs ?? 0) > Date.now() + 3_500_000);
  assert((before?.sendsBlockedUntilMs ?? 0) > Date.now() + 500_000);
  const { user } = await ask<{ user: UserView }>(`${USERS}/ada/reset-limits`, { method: "POST", json: {} });
  assertEquals([lockOf(user)?.pushesBlockedUntilMs, lockOf(user)?.sendsBlockedUntilMs], [null, null]);
  assertEquals(site.limits.limitOf({ user: "ada", number, client: "vpn" }), null);
  assertEquals((await site.audits()).at(-1)?.action, "user.reset_limits");
  // The reset survives a restart.
  const kept = [];
  for await (const { key } of site.store.list(["limit"])) kept.push(key[1]);
  assertEquals(kept.sort(), ["client_sends", "sends"]);
});

Deno.test("GET /health shows the messages, failures and locks of the last hour, and which limit is reached", async () => {
  await using site = await startConnectConsole();
  const parts = async () => {
    const response = await site.call("/console/api/health", { cookie: await site.signIn("viewer") });
    const report: HealthReport = await response.json();
    return report.parts.filter(({ limit }) => limit !== undefined)
      .map(({ id, state, figure, limit }) => [id, state, figure, limit]);
  };
  assertEquals(await parts(), [
    ["sends", "ok", 0, 500],
    ["failures", "ok", 0, 500],
    ["locks", "ok", 0, 20],
  ]);
  const { limits } = site.people;
  for (let at = 0; at < 21 * 10; at++) limits.noteFailure(limits.countFailure(`user${at % 21}`));
  for (let at = 0; at < 200; at++) {
    limits.countSend({ user: `user${at}`, number: `+4915112${at}`, client: "vpn" });
  }
  assertEquals(await parts(), [
    ["sends", "ok", 200, 500],
    ["failures", "ok", 210, 500],
    ["locks", "warning", 21, 20],
    ["client_sends:vpn", "bad", 200, 200],
  ]);
  const metrics = await (await site.call("/metrics")).text();
  assertStringIncludes(metrics, "\ncountersign_sends_last_hour 200\n");
  assertStringIncludes(metrics, "\ncountersign_locks_last_hour 21\n");
  assertStringIncludes(metrics, "\ncountersign_failures_last_hour 210\n");
});

const HOUR_MS = 3_600_000;

Deno.test("POST /users/:id/invitation returns a link for the phone page and its expiry, and records no part of the link", async () => {
  await using gateway = await openComposition('[http]\npublic_url = "https://vpn.example.com"\n');
  const invited = gateway.api.users[":id"].invitation.$post({ param: { id: "ann" }, json: {} });
  const { link, deadlineMs } = await apiValue(invited);
  assertMatch(link, /^https:\/\/vpn\.example\.com\/device#invite=[\w-]{22}$/);
  assertEquals(deadlineMs, gateway.clock.nowMs() + 24 * HOUR_MS);
  const [record] = await gateway.audits();
  assertEquals([record?.action, record?.object, record?.how], ["invitation.make", "user:ann", "command"]);
  assert(!(await gateway.dump()).includes(link.split("=")[1] ?? "missing"));
});

Deno.test("PUT /users/:id/preference sets and clears the preferred factor, also after a restart", async () => {
  await using gateway = await openComposition();
  const prefer = (id: string, factor: "voice" | null) =>
    apiValue(gateway.api.users[":id"].preference.$put({ param: { id }, json: { factor } }));
  const preferred = async () => [
    gateway.radius.pairings.preferred("ann"),
    (await gateway.reload()).preferred("ann"),
  ];
  await prefer("Ann", "voice");
  assertEquals(await preferred(), ["voice", "voice"]);
  await prefer("ann", null);
  assertEquals(await preferred(), [null, null]);
  assertEquals((await gateway.audits()).map(({ action, before, after }) => [action, before, after]), [
    ["preference.set", undefined, "voice"],
    ["preference.set", "voice", undefined],
  ]);
});
