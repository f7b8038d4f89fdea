// The limits of connections: pause, requests per minute, deletions in 24 hours, and adoption of resources.

import { assert, assertEquals } from "@std/assert";
import { ScimRefusal } from "../../../../scim/http/refusals.ts";
import { type AuthenticatedConnection, RequestRates } from "../../../../scim/v2/connections/connections.ts";
import type { ConnectionChange } from "../../../../scim/v2/connections/connection_settings.ts";
import { allowedDeletions } from "../../../../scim/v2/connections/deletion_limit.ts";
import { createManualClock } from "../../../upstream/manual_clock.ts";
import {
  bearer,
  codeOf,
  type ConnectionStage,
  HERE,
  HOUR_MS,
  openConnectionStage,
  openTwoNodes,
  OWNER,
} from "./stage.ts";

const MINUTE_MS = 60_000;

/** The connection `okta` as a request has it. */
async function connect(
  stage: ConnectionStage,
  change: ConnectionChange = {},
): Promise<AuthenticatedConnection> {
  const { text } = await stage.create("okta", change);
  const connection = await stage.connections.authenticate(bearer(text), HERE);
  if (connection === null) throw new Error("the token was refused");
  return connection;
}

Deno.test("admit() answers a paused connection with 503 and Retry-After", async () => {
  const stage = await openConnectionStage();
  const connection = await connect(stage, { paused: true });
  try {
    stage.connections.admit(connection);
    throw new Error("it was admitted");
  } catch (fault) {
    if (!(fault instanceof ScimRefusal)) throw fault;
    assertEquals([fault.code, fault.status, fault.headers], ["paused", 503, { "retry-after": "300" }]);
  }
});

/** What happens at each moment: milliseconds, and the wait. */
const RATES: Readonly<Record<string, { perMinute: number; at: readonly (readonly [number, number])[] }>> = {
  "a burst of one minute's requests": {
    perMinute: 3,
    at: [[0, 0], [0, 0], [0, 0], [0, 20_000], [19_999, 1]],
  },
  "a steady stream at the limit": {
    perMinute: 60,
    at: Array.from({ length: 200 }, (_, at) => [at * 1000, 0]),
  },
  "one a minute": { perMinute: 1, at: [[0, 0], [1, 59_999], [59_999, 1], [60_000, 0], [60_000, 60_000]] },
  "a clock that was set back": { perMinute: 1, at: [[60_000, 0], [0, 60_000], [60_000, 0]] },
};

for (const [title, { perMinute, at }] of Object.entries(RATES)) {
  Deno.test(`RequestRates.take() limits ${title}`, () => {
    let nowMs = 0;
    const rates = new RequestRates({ clock: { nowMs: () => nowMs } });
    const waits = at.map(([atMs]) => {
      nowMs = 1_800_000_000_000 + atMs;
      return rates.take("okta", perMinute);
    });
    assertEquals(waits, at.map(([, waitMs]) => waitMs));
  });
}

Deno.test("RequestRates.take() counts each connection alone, and a lower limit holds at once", () => {
  const rates = new RequestRates({ clock: createManualClock() });
  for (let count = 0; count < 5; count++) assertEquals(rates.take("okta", 5), 0);
  assertEquals([rates.take("okta", 5), rates.take("entra", 5)], [12_000, 0]);
  assertEquals([rates.take("entra", 1), rates.take("entra", 1)], [0, MINUTE_MS]);
});

Deno.test("RequestRates.charge() counts every operation of a request, and refuses while earlier ones make requests wait", () => {
  const clock = createManualClock();
  const rates = new RequestRates({ clock });
  assertEquals([rates.take("okta", 60), rates.take("okta", 60)], [0, 0]);
  assertEquals([rates.charge("okta", 60, 999), rates.charge("okta", 60, 999)], [0, 942_000]);
  assertEquals(rates.take("okta", 60), 942_000);
  clock.advance(942_000);
  assertEquals([rates.take("okta", 60), rates.take("okta", 60)], [0, 1000]);
});

Deno.test("admit() answers requests beyond the limit with 429 and Retry-After, until the time passes", async () => {
  const stage = await openConnectionStage();
  const connection = await connect(stage, { requestsPerMinute: 2 });
  const admit = () => codeOf(() => stage.connections.admit(connection));
  assertEquals([await admit(), await admit(), await admit()], [undefined, undefined, "rate_limited"]);
  stage.clock.advance(30_000);
  assertEquals([await admit(), await admit()], [undefined, "rate_limited"]);
});

/** Percent, users of the directory, allowed deletions. */
const ALLOWED: readonly (readonly [number, number, number | null])[] = [
  [10, 1000, 100],
  [10, 1009, 100],
  [10, 99, 10],
  [10, 0, 10],
  [0, 1_000_000, 10],
  [1, 1_000_000, 10_000],
  [99, 100, 99],
  [100, 5, null],
];

for (const [percent, users, allowed] of ALLOWED) {
  Deno.test(`allowedDeletions() allows ${allowed ?? "all"} of ${users} users at ${percent} %`, () => {
    assertEquals(allowedDeletions(percent, users), allowed);
  });
}

/** Counts deletions one by one until the limit. */
async function deleteUsers(
  stage: ConnectionStage,
  connection: AuthenticatedConnection,
  users: number,
): Promise<number> {
  for (let count = 0; count < users; count++) {
    const done = await codeOf(() => stage.connections.countDeletion(connection, 1));
    if (done === "deletion_limit") return count;
  }
  return users;
}

Deno.test("countDeletion() allows ten percent of the users in 24 hours, also while their number falls", async () => {
  const stage = await openConnectionStage();
  const connection = await connect(stage);
  stage.users = 200;
  assertEquals(await deleteUsers(stage, connection, 15), 15);
  stage.users = 185;
  assertEquals(await deleteUsers(stage, connection, 15), 5);
  stage.clock.advance(23 * HOUR_MS);
  assertEquals(await deleteUsers(stage, connection, 1), 0);
  stage.clock.advance(2 * HOUR_MS);
  assertEquals(await deleteUsers(stage, connection, 100), 18);
});

Deno.test("countDeletion() still counts what was deleted before the clock was set back", async () => {
  const stage = await openConnectionStage();
  const connection = await connect(stage);
  stage.users = 200;
  assertEquals(await deleteUsers(stage, connection, 20), 20);
  stage.clock.advance(-2 * HOUR_MS);
  assertEquals(await deleteUsers(stage, connection, 1), 0);
});

Deno.test("countDeletion() counts all users of a request or none, and a failed write gives them back", async () => {
  const stage = await openConnectionStage();
  const connection = await connect(stage);
  stage.users = 200;
  const undo = await stage.connections.countDeletion(connection, 20);
  assertEquals(await codeOf(() => stage.connections.countDeletion(connection, 1)), "deletion_limit");
  await undo();
  assertEquals(await codeOf(() => stage.connections.countDeletion(connection, 21)), "deletion_limit");
  const { settings } = connection;
  assertEquals(await stage.connections.administration.deletions(settings), { counted: 0, allowed: 20 });
  assertEquals(typeof await codeOf(() => stage.connections.countDeletion(connection, 20)), "function");
});

Deno.test("a new process continues the count", async () => {
  const stage = await openConnectionStage();
  const connection = await connect(stage);
  assertEquals(await deleteUsers(stage, connection, 60), 60);
  await stage.connections.close();
  const next = await openConnectionStage({ store: stage.store, clock: stage.clock });
  assertEquals(await deleteUsers(next, connection, 60), 40);
});

Deno.test("a raised limit, no limit and a dry run let deletions pass", async () => {
  const stage = await openConnectionStage();
  const connection = await connect(stage);
  assertEquals(await deleteUsers(stage, connection, 101), 100);
  const withSettings = (change: ConnectionChange) => ({
    ...connection,
    settings: { ...connection.settings, ...change },
  });
  assertEquals(await deleteUsers(stage, withSettings({ dryRun: true }), 5), 5);
  assertEquals(await deleteUsers(stage, withSettings({ deletionPercent: 11 }), 20), 10);
  assertEquals(await deleteUsers(stage, withSettings({ deletionPercent: 100 }), 20), 20);
});

Deno.test("the audit log has one entry of stopped deletions an hour", async () => {
  const stage = await openConnectionStage();
  const connection = await connect(stage);
  const stops = async () => {
    await deleteUsers(stage, connection, 200);
    return (await stage.audits()).filter(({ action }) => action === "connection.deletions_stopped");
  };
  await stops();
  assertEquals((await stops()).map(({ actor, object, count }) => [actor, object, count]), [
    ["scim:okta", "connection:okta", 100],
  ]);
  stage.clock.advance(HOUR_MS);
  assertEquals((await stops()).length, 2);
});

Deno.test("deletions on two nodes at the same time count together", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = await openTwoNodes(kv);
  const connection = await connect(a);
  a.users = b.users = 200;
  const counts = await Promise.all(
    Array.from({ length: 15 }).flatMap(() => [a, b]).map((node) => deleteUsers(node, connection, 1)),
  );
  assertEquals(counts.reduce((sum, count) => sum + count), 20);
  const state = await b.connections.administration.deletions(connection.settings);
  assertEquals(state, { counted: 20, allowed: 20 });
});

const ADA = { kind: "user", id: "0b1c", name: "Ada", externalId: "00u1" } as const;

Deno.test("isAdopted() asks an administrator for a resource of another origin, and for no other", async () => {
  const stage = await openConnectionStage();
  const connection = await connect(stage);
  const { connections } = stage;
  assertEquals(await connections.isAdopted(connection, { ...ADA, managedBy: "okta" }), true);
  assertEquals(await connections.isAdopted(connection, { ...ADA, managedBy: "entra" }), false);
  assertEquals(await connections.isAdopted(connection, ADA), false);
  const automatic = { ...connection, settings: { ...connection.settings, adoption: "automatic" as const } };
  assertEquals(await connections.isAdopted(automatic, ADA), true);
});

Deno.test("a proposal is decided once, audited, and can be decided otherwise later", async () => {
  const stage = await openConnectionStage();
  const connection = await connect(stage);
  const { connections } = stage;
  const { administration } = connections;
  await connections.proposeAdoption(connection, ADA);
  const decide = (state: "accepted" | "refused", ids: readonly string[] | "all" = ["user:0b1c"]) =>
    administration.decide("okta", { ids, state }, OWNER);
  assertEquals(await administration.countWaiting("okta", 10), 1);
  assertEquals(await decide("accepted", ["user:0b1d", "0b1c", "user:", "group:0b1c"]), 0);
  assertEquals([await decide("refused"), await connections.isAdopted(connection, ADA)], [1, false]);
  assertEquals([await decide("accepted"), await connections.isAdopted(connection, ADA)], [1, true]);
  assertEquals([await decide("accepted"), await decide("accepted", "all")], [0, 0]);
  const { proposals } = await administration.proposals("okta", { state: null, cursor: null, size: 10 });
  const nowMs = stage.clock.nowMs();
  assertEquals(proposals, [{
    ...ADA,
    ...{ state: "accepted", firstMs: nowMs, lastMs: nowMs, decidedBy: "owner", decidedMs: nowMs },
  }]);
  const audits = (await stage.audits()).map(({ action, objects }) => [action, objects]);
  assertEquals(audits.slice(-2), [
    ["connection.match_refuse", ["connection:okta", "user:Ada"]],
    ["connection.match_accept", ["connection:okta", "user:Ada"]],
  ]);
});

Deno.test("an accepted match has no end, and a later connection with the name does not inherit it", async () => {
  const ends: unknown[] = [];
  const stage = await openConnectionStage({
    wrap: (store) =>
      Object.assign(Object.create(store), {
        commit: (change: Parameters<typeof store.commit>[0]) => {
          for (const one of change.mutations) {
            if (one.type === "set" && one.key[0] === "scim_adoption") ends.push(one.expireInMs);
          }
          return store.commit(change);
        },
      }),
  });
  const connection = await connect(stage);
  const { connections } = stage;
  await connections.proposeAdoption(connection, ADA);
  await connections.administration.decide("okta", { ids: "all", state: "accepted" }, OWNER);
  assertEquals(ends, [90 * 24 * HOUR_MS, undefined]);
  await connections.administration.remove("okta", OWNER);
  stage.clock.advance(31 * 24 * HOUR_MS);
  assertEquals(await connections.isAdopted(await connect(stage), ADA), false);
});

Deno.test("a repeated proposal keeps the decision and the first time, and follows a new name", async () => {
  const stage = await openConnectionStage();
  const connection = await connect(stage);
  const firstMs = stage.clock.nowMs();
  await stage.connections.proposeAdoption(connection, ADA);
  await stage.connections.administration.decide("okta", { ids: "all", state: "refused" }, OWNER);
  stage.clock.advance(1000);
  await stage.connections.proposeAdoption(connection, {
    ...ADA,
    name: "Ada Lovelace",
    externalId: "x".repeat(5000),
  });
  const options = { state: null, cursor: null, size: 10 };
  const { proposals: [one] } = await stage.connections.administration.proposals("okta", options);
  assertEquals([one?.state, one?.name, one?.firstMs, one?.lastMs, one?.externalId?.length], [
    "refused",
    "Ada Lovelace",
    firstMs,
    firstMs + 1000,
    256,
  ]);
});

Deno.test("proposals are listed by state in pages, and decided all at once", async () => {
  const stage = await openConnectionStage();
  const connection = await connect(stage);
  const { administration } = stage.connections;
  for (let at = 0; at < 120; at++) {
    const id = String(at).padStart(4, "0");
    await stage.connections.proposeAdoption(connection, { ...ADA, id, name: `user ${id}` });
  }
  await administration.decide("okta", { ids: ["user:0007"], state: "refused" }, OWNER);
  const names: string[] = [];
  for (let cursor: string | null = null, pages = 0; pages === 0 || cursor !== null; pages++) {
    const page = await administration.proposals("okta", { state: "waiting", cursor, size: 50 });
    names.push(...page.proposals.map(({ id }) => id));
    cursor = page.cursor;
    assert(pages < 5, "the pages have an end");
  }
  assertEquals([names.length, new Set(names).size, names.includes("0007")], [119, 119, false]);
  assertEquals(await administration.decide("okta", { ids: "all", state: "accepted" }, OWNER), 119);
  assertEquals(await administration.countWaiting("okta", 10), 0);
  assertEquals(await administration.countWaiting("entra", 10), 0);
});
