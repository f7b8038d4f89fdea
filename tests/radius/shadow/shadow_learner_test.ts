// What shadow mode learns: sums of several nodes, restarts, lost writes, and bounds.

import { assertEquals, assertRejects } from "@std/assert";
import { DAY_MS } from "../../../platform/durations.ts";
import { createLog } from "../../../platform/log.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import {
  addCounts,
  SHADOW_DAYS,
  SHADOW_USERS,
  shadowKind,
  ShadowLearner,
  traitsOf,
} from "../../../radius/shadow/shadow_learner.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { openNode } from "../../fakes/shared_store.ts";

const START_MS = 1_800_000_000_000;

async function open(store: Store, { maxUsers }: { maxUsers?: number } = {}) {
  const clock = createManualClock(START_MS);
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const learner = new ShadowLearner({ store, clock, log, ...maxUsers === undefined ? {} : { maxUsers } });
  await learner.load();
  return { learner, clock };
}

const userOf = (user: string, kind = "PAP", lastMs = START_MS) => ({
  ...{ client: "vpn", user, shown: user, firstMs: lastMs, lastMs },
  kinds: { [kind]: 1 },
});
const memoryStore = async () => createStore(await Deno.openKv(":memory:"), { nowMs: () => START_MS });

Deno.test("ShadowLearner adds up what is stored and what waits, also after a restart", async () => {
  const store = await memoryStore();
  const { learner } = await open(store);
  learner.addDay("vpn", { accepted: 1, kinds: { PAP: 1 }, maxMs: 300, gaps: { 5: 1 }, tries: 2 });
  learner.addUser(userOf("ada"));
  await learner.flush();
  learner.addDay("vpn", { accepted: 1, rejected: 2, kinds: { CHAP: 1 }, maxMs: 200, gaps: { 5: 2 } });
  learner.addUser(userOf("ada", "CHAP", START_MS + 5));
  const figures = (of: ShadowLearner) => {
    const { accepted, rejected, kinds, maxMs, gaps, tries } = of.total("vpn", START_MS) ?? {};
    return { accepted, rejected, kinds, maxMs, gaps, tries };
  };
  const expected = {
    ...{ accepted: 2, rejected: 2, kinds: { PAP: 1, CHAP: 1 }, maxMs: 300, gaps: { 5: 3 }, tries: 2 },
  };
  assertEquals(figures(learner), expected);
  await learner.flush();
  const { learner: next } = await open(store);
  assertEquals(figures(next), expected);
  assertEquals(next.users("vpn", START_MS), [
    { ...userOf("ada"), lastMs: START_MS + 5, kinds: { PAP: 1, CHAP: 1 } },
  ]);
  assertEquals([...next.clients()], ["vpn"]);
  await store.close();
});

Deno.test("ShadowLearner: two nodes add to the same rows, and none is lost", async () => {
  const kv = await Deno.openKv(":memory:");
  const nodes = [await openNode(kv, "a"), await openNode(kv, "b")];
  const learners = await Promise.all(nodes.map(async ({ store }) => (await open(store)).learner));
  for (let round = 0; round < 3; round++) {
    for (const learner of learners) {
      learner.addDay("vpn", { accepted: 1 });
      learner.addUser(userOf("ada"));
    }
    await Promise.all(learners.map((learner) => learner.flush()));
  }
  for (const [at, { store }] of nodes.entries()) {
    await store.catchUp();
    const learner = learners[at];
    assertEquals(learner?.total("vpn", START_MS)?.accepted, 6);
    assertEquals(learner?.users("vpn", START_MS)[0]?.kinds, { PAP: 6 });
  }
  kv.close();
});

Deno.test("ShadowLearner writes again what the store refused", async () => {
  const opened = await memoryStore();
  let isDown = true;
  const store: Store = {
    ...opened,
    commit: (transaction) => isDown ? Promise.reject(new Error("down")) : opened.commit(transaction),
  };
  const { learner } = await open(store);
  learner.addDay("vpn", { accepted: 1 });
  learner.addUser(userOf("ada"));
  await assertRejects(() => learner.flush(), Error, "down");
  learner.addDay("vpn", { accepted: 1 });
  isDown = false;
  await learner.flush();
  const { learner: next } = await open(opened);
  assertEquals([next.total("vpn", START_MS)?.accepted, next.users("vpn", START_MS).length], [2, 1]);
  await opened.close();
});

Deno.test("ShadowLearner commits no more rows at once than denokv has checks for", async () => {
  const opened = await memoryStore();
  const checks: number[] = [];
  const store: Store = {
    ...opened,
    commit(transaction) {
      checks.push(transaction.checks?.length ?? 0);
      return opened.commit(transaction);
    },
  };
  const { learner } = await open(store);
  const users = Array.from({ length: 30 }, (_, at) => `user${at}`);
  for (const user of users) learner.addUser(userOf(user));
  learner.addDay("vpn", { accepted: users.length });
  await learner.flush();
  assertEquals(checks.reduce((sum, count) => sum + count, 0), users.length + 1);
  // One more is that of the change log.
  assertEquals(checks.filter((count) => count > 9), []);
  await opened.close();
});

Deno.test("ShadowLearner counts the logins of users for whom there is no room", async () => {
  const store = await memoryStore();
  const { learner } = await open(store, { maxUsers: 2 });
  for (const user of ["ada", "bert", "carl", "ada"]) learner.addUser(userOf(user));
  assertEquals(learner.users("vpn", START_MS).map(({ user }) => user), ["ada", "bert"]);
  assertEquals(learner.total("vpn", START_MS)?.unrecorded, 1);
  await store.close();
});

Deno.test("ShadowLearner leaves out days and users before the range, and other clients", async () => {
  const store = await memoryStore();
  const { learner, clock } = await open(store);
  learner.addDay("vpn", { accepted: 1 });
  learner.addUser(userOf("ada"));
  // Its timer would run each half minute of three days.
  learner.stop();
  clock.advance(3 * DAY_MS);
  learner.addDay("vpn", { accepted: 1 });
  learner.addDay("wifi", { accepted: 1 });
  assertEquals(learner.total("vpn", clock.nowMs() - DAY_MS)?.accepted, 1);
  assertEquals(learner.total("vpn", START_MS)?.accepted, 2);
  assertEquals(learner.users("vpn", clock.nowMs() - DAY_MS), []);
  assertEquals(learner.total("other", 0), null);
  await store.close();
});

Deno.test("ShadowLearner replaces a stored row that cannot be read", async () => {
  const store = await memoryStore();
  await store.commit({
    mutations: [{
      type: "set",
      key: [...SHADOW_USERS.prefix, "vpn", "ada"],
      value: { of: "another version" },
    }],
  });
  const { learner } = await open(store);
  learner.addUser(userOf("ada"));
  await learner.flush();
  assertEquals((await open(store)).learner.users("vpn", START_MS).length, 1);
  await store.close();
});

Deno.test("rows of shadow mode expire 90 days after their day, or after the last login", () => {
  const day = Math.floor(START_MS / DAY_MS);
  assertEquals(
    SHADOW_DAYS.expiresMs?.({ day } as Parameters<typeof SHADOW_DAYS.expiresMs>[0]),
    (day + 91) * DAY_MS,
  );
  assertEquals(SHADOW_USERS.expiresMs?.(userOf("ada")), START_MS + 90 * DAY_MS);
});

Deno.test("traitsOf() reads what shadowKind() writes, for every combination", () => {
  for (const method of ["PAP", "EAP-MSCHAPv2", "EAP type 99"]) {
    for (let bits = 0; bits < 8; bits++) {
      const traits = {
        ...{ method, isPrompted: (bits & 1) > 0, isSigned: (bits & 2) > 0, isNamed: (bits & 4) > 0 },
      };
      assertEquals(traitsOf(shadowKind(traits)), traits);
    }
  }
});

Deno.test("addCounts() counts at most 64 names", () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`kind${at}`, 1]));
  assertEquals(Object.keys(addCounts({}, many)).length, 64);
  assertEquals(addCounts({ kind0: 1 }, many).kind0, 2);
});
