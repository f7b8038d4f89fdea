// The counts of the Overview page: each is that of the list behind its tile, on every node, and stays cheap.

import { assertEquals } from "@std/assert";
import { apiValue } from "../../cli/admin_connection.ts";
import { auditEntry } from "../../platform/audit.ts";
import { countPending } from "../../console/api/overview/overview_routes.ts";
import type { FactorlessAnswer, OverviewCounts } from "../../console/api/overview/overview_types.ts";
import type { TargetList } from "../../console/api/targets/target_types.ts";
import type { UserSignIns } from "../../console/api/users/user_routes.ts";
import { encodeLoginRecord, historyKey, historyKeyAt } from "../../radius/conversation/login_record.ts";
import type { UserPage } from "../../console/api/users/user_types.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { type OpenPeople, type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";
import { createManualClock } from "../fakes/console_app.ts";
import { approval } from "../fakes/console_gateway.ts";

const API = "/console/api";
const OVERVIEW = `${API}/overview`;
const FACTORLESS_LIST = `${API}/users?status=active&enrolled=no`;
const LOCKED_LIST = `${API}/users?status=locked`;

async function pair(
  { pairings, store }: Pick<OpenPeople, "pairings" | "store">,
  user: string,
): Promise<void> {
  const prepared = pairings.prepare({ canonical: user.toLowerCase(), shown: user }, {
    kind: "device",
    id: `phone of ${user}`,
    totpLength: 6,
  });
  await store.commit({ mutations: [prepared.mutation] });
  pairings.adopt(prepared.pairing);
}

async function lock({ limits, store }: Pick<OpenPeople, "limits" | "store">, user: string): Promise<void> {
  while (!limits.isLocked(user)) await store.commit({ mutations: [limits.countFailure(user).mutation] });
}

type Change = (site: PeopleConsole) => Promise<unknown>;

/** Changes one after another, and the counts after each. */
const STEPS: readonly { name: string; change: Change; factorless: number; locked: number }[] = [
  { name: "no user", change: () => Promise.resolve(), factorless: 0, locked: 0 },
  { name: "a user", change: (site) => site.put("Ada"), factorless: 1, locked: 0 },
  { name: "a paired user", change: (site) => pair(site, "Ada"), factorless: 0, locked: 0 },
  { name: "a second user", change: (site) => site.put("bob"), factorless: 1, locked: 0 },
  {
    name: "a user with a number of the directory",
    change: (site) => site.put("cleo", { phoneNumbers: [{ value: "+4915112345678" }] }),
    factorless: 1,
    locked: 0,
  },
  {
    name: "a deactivated user",
    change: (site) => site.put("dora", { active: false }),
    factorless: 1,
    locked: 0,
  },
  {
    name: "a paired name outside the directory",
    change: (site) => pair(site, "eve"),
    factorless: 1,
    locked: 0,
  },
  { name: "a locked user", change: (site) => lock(site, "bob"), factorless: 1, locked: 1 },
  {
    name: "a locked name outside the directory",
    change: (site) => lock(site, "eve"),
    factorless: 1,
    locked: 1,
  },
  {
    name: "an unlocked user",
    change: (site) => site.store.commit({ mutations: [site.limits.unlock("bob") ?? []].flat() }),
    factorless: 1,
    locked: 0,
  },
  {
    name: "a revoked phone",
    change: (site) => site.pairings.revoke("phone of Ada", []),
    factorless: 2,
    locked: 0,
  },
];

Deno.test("GET /overview counts what the lists behind the tiles show, after each change", async () => {
  // A changed count begins after twenty times as long as the last one took. By this clock, a count takes no time.
  await using site = await startPeopleConsole({ clock: createManualClock(Date.now()) });
  const ask = apiCaller(site, await site.signIn("viewer"));
  for (const { name, change, factorless, locked } of STEPS) {
    await change(site);
    const counts = await ask<OverviewCounts>(OVERVIEW);
    const listed = await ask<UserPage>(LOCKED_LIST);
    assertEquals([counts.locked?.count, listed.total], [locked, locked], `${name}: locked`);
    assertEquals(counts.locked?.names, listed.rows.map((row) => row.name), `${name}: names`);
    const { count } = await ask<FactorlessAnswer>(`${OVERVIEW}/factorless`);
    const { total } = await ask<UserPage>(FACTORLESS_LIST);
    assertEquals([count, total], [factorless, factorless], `${name}: without a factor`);
  }
});

Deno.test("GET /overview counts pending approvals", async () => {
  await using site = await startPeopleConsole();
  const ask = apiCaller(site, await site.signIn("viewer"));
  site.secondFactorAdmin.wait(approval("1"));
  site.secondFactorAdmin.wait(approval("2", { userName: "bob" }));
  assertEquals((await ask<OverviewCounts>(OVERVIEW)).pending, { count: 2, isEmbedded: true });
});

Deno.test("with an external service, sign-ins that wait for a phone are counted", () => {
  const steps = ["SECONDFACTOR_AWAIT_DEVICE_APPROVAL", "holding", "CHOOSE_WHICH_MULTIFACTOR"];
  const watch = { liveSteps: () => steps.map((step, at) => ({ id: String(at), step })) };
  assertEquals(countPending({ watch, secondFactorAdmin: () => null }), { count: 2, isEmbedded: false });
});

Deno.test("GET /overview and the filter of the directories show a connector that fails, until it works", async () => {
  await using site = await startConnectConsole({ shape: { local: "store", ldap: "sync" } });
  const ask = apiCaller(site, await site.signIn("operator"));
  const test = () => ask(`${API}/targets/default/test`, { method: "POST", json: { backend: "ldap" } });
  const seen = async () => {
    const { sync } = await ask<OverviewCounts>(OVERVIEW);
    const { items } = await ask<TargetList>(`${API}/targets?sync=problem`);
    return [sync?.count, sync?.items.map(({ backend, detail }) => [backend, detail]), items.length];
  };
  assertEquals(await seen(), [0, [], 0]);
  const fault = { kind: "unavailable", detail: "connection refused", retry: true } as never;
  site.people.backend("ldap").trouble({ how: "before", fault });
  await test();
  assertEquals(await seen(), [1, [["ldap", "connection refused"]], 1]);
  site.people.backend("ldap").heal();
  await test();
  assertEquals(await seen(), [0, [], 0]);
});

async function factorlessAt({ api }: TestComposition): Promise<FactorlessAnswer> {
  return await apiValue(api.overview.factorless.$get());
}

Deno.test("the counts are the same on every node, after a lock and a pairing of another one", async () => {
  using kv = await Deno.openKv(":memory:");
  await using a = await openComposition("", { joins: { kv, node: "aaaaaaaa" } });
  await using b = await openComposition("", { joins: { kv, node: "bbbbbbbb" } });
  await apiValue(a.api.users.$post({ query: {}, json: { user: { userName: "ada" } } }));
  await apiValue(a.api.users.$post({ query: {}, json: { user: { userName: "bob" } } }));
  await b.store.catchUp();
  for (const node of [a, b]) assertEquals((await factorlessAt(node)).count, 2, "two users");
  const { limits } = a.radius;
  while (!limits.isLocked("ada")) await a.store.commit({ mutations: [limits.countFailure("ada").mutation] });
  const param = { id: "bob" };
  await apiValue(
    a.api.users[":id"].pairings.$post({ param, json: { kind: "sms", number: "+4915112345678" } }),
  );
  await b.store.catchUp();
  for (const node of [a, b]) {
    // A count of 0 ms may follow at once.
    node.clock.advance(1);
    assertEquals((await factorlessAt(node)).count, 1, "one of them has a number");
    const { locked, isShared } = await apiValue(node.api.overview.$get());
    assertEquals([locked?.names, isShared], [["ada"], true]);
  }
  await apiValue(b.api.users[":id"].unlock.$post({ param: { id: "ada" }, json: {} }));
  await a.store.catchUp();
  assertEquals((await apiValue(a.api.overview.$get())).locked?.count, 0);
});

/** Writes finished logins as the gateway does: a history record, and an audit record of the user. */
async function finish(
  { store }: Pick<PeopleConsole, "store">,
  logins: readonly { user: string; outcome: string; row: string; refusedFor?: string }[],
): Promise<void> {
  for (const [at, { user, outcome, row, refusedFor = null }] of logins.entries()) {
    const [startedMs, endedMs] = [START_MS + at * 10_000, START_MS + at * 10_000 + 5000];
    const login = {
      user,
      client: "vpn-1",
      source: "192.0.2.7",
      place: "198.51.100.7",
      factor: "device",
      outcome,
    };
    const value = encodeLoginRecord({
      ...{ ...login, startedMs, endedMs, refusedFor, passwordRight: true },
      moments: [{ atMs: endedMs, step: outcome, row }],
    });
    const id = `${historyKeyAt(startedMs)}000001`;
    await store.commit({
      mutations: [
        { type: "set", key: historyKey(id), value },
        auditEntry({
          ...{ action: `login.${outcome}` as "login.accepted", actor: "radius", object: `user:${user}` },
          conversation: id,
        }),
      ],
    });
  }
}

const START_MS = 1_800_000_000_000;

Deno.test("GET /users/:id/sign-ins shows the latest sign-ins of this user only, newest first, with reasons", async () => {
  await using site = await startPeopleConsole();
  const ask = apiCaller(site, await site.signIn("viewer"));
  await site.put("ada");
  const read = () => ask<UserSignIns>(`${API}/users/ada/sign-ins`);
  assertEquals(await read(), { items: [], lastMs: null });
  await finish(site, [
    { user: "ada", outcome: "accepted", row: "approved" },
    { user: "ada", outcome: "rejected", row: "first_factor_wrong" },
    { user: "adam", outcome: "accepted", row: "approved" },
    { user: "ADA", outcome: "rejected", row: "refused", refusedFor: "locked" },
    { user: "ada", outcome: "expired", row: "expired" },
    { user: "ada", outcome: "rejected", row: "otp_wrong" },
    { user: "ada", outcome: "rejected", row: "otp_wrong" },
  ]);
  const { items } = await read();
  assertEquals(items.map(({ outcome, reason }) => [outcome, reason?.code]), [
    ["rejected", "passcode_wrong"],
    ["rejected", "passcode_wrong"],
    ["expired", "expired"],
    ["rejected", "user_locked"],
    ["rejected", "password_wrong"],
  ]);
  const createdMs = (await site.target.directory.read("user", "ada"))?.createdMs ?? 0;
  for (const [afterMs, lastMs] of [[-1, null], [5000, createdMs + 5000]] as const) {
    site.lastSignIns.note({ user: "ada", factor: "totp", updatedMs: createdMs + afterMs });
    assertEquals((await read()).lastMs, lastMs, `${afterMs} ms after the user was created`);
  }
  const adam = await ask<UserSignIns>(`${API}/users/adam/sign-ins`);
  assertEquals([adam.items.length, adam.lastMs], [1, START_MS + 25_000], "not written by the other node yet");
});
