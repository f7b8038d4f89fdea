// The last sign-in of each user: grouped writes, several nodes, and what a process did not write before it ended.

import { assertEquals } from "@std/assert";
import { createLog } from "../../platform/log.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { LastSignIns } from "../../radius/factors/last_sign_ins.ts";
import { createManualClock } from "../fakes/console_app.ts";
import { pastLogin } from "../fakes/console_reports.ts";
import { openNode } from "../fakes/shared_store.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const START_MS = 1_800_000_000_000;

function open(store: Store, clock = createManualClock(START_MS)) {
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const signIns = new LastSignIns({ store, clock, log, target: () => "default", longestLoginMs: 300_000 });
  return { signIns, clock };
}

const memoryStore = async () => createStore(await Deno.openKv(":memory:"), { nowMs: () => START_MS });

async function marksIn(store: Store): Promise<number[]> {
  const marks: number[] = [];
  for await (const { value } of store.list<number>(["last_sign_in_mark"])) marks.push(value ?? 0);
  return marks;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!await condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

Deno.test("LastSignIns returns the newest use of each factor, written or not", async () => {
  const store = await memoryStore();
  const { signIns } = open(store);
  signIns.note({ user: "ada", factor: "totp", updatedMs: 1000 });
  await signIns.flush();
  signIns.note({ user: "ada", factor: "device", updatedMs: 3000 });
  signIns.note({ user: "ada", factor: "totp", updatedMs: 2000 });
  // The history has logins in the order in which they began.
  signIns.note({ user: "ada", factor: "device", updatedMs: 1500 });
  signIns.note({ user: "grace", factor: null, updatedMs: 500 });
  const expected = { atMs: 3000, factors: { totp: 2000, device: 3000 } };
  assertEquals([...await signIns.of(["ada", "grace", "linus"])], [
    ["ada", expected],
    ["grace", { atMs: 500, factors: {} }],
  ]);
  await signIns.flush();
  assertEquals((await open(store).signIns.of(["ada"])).get("ada"), expected, "after a restart");
  await store.close();
});

Deno.test("LastSignIns writes many logins in few commits, and writes again what the store refused", async () => {
  const opened = await memoryStore();
  let commits = 0;
  let isDown = false;
  const store: Store = {
    ...opened,
    commit(transaction) {
      commits++;
      return isDown ? Promise.reject(new Error("down")) : opened.commit(transaction);
    },
  };
  const { signIns } = open(store);
  const users = Array.from({ length: 1000 }, (_, at) => `user-${at}`);
  for (const [at, user] of users.entries()) signIns.note({ user, factor: "totp", updatedMs: at });
  isDown = true;
  await signIns.flush().catch(() => undefined);
  isDown = false;
  signIns.note({ user: "user-7", factor: "totp", updatedMs: 5000 });
  commits = 0;
  await signIns.flush();
  assertEquals(commits, 10);
  const found = await open(store).signIns.of(users);
  assertEquals([found.size, found.get("user-7")?.atMs, found.get("user-8")?.atMs], [1000, 5000, 8]);
  await opened.close();
});

Deno.test("LastSignIns reads after a start what a process did not write before it ended", async () => {
  const kv = await Deno.openKv(":memory:");
  const first = await openNode(kv, "a");
  const clock = createManualClock(START_MS);
  const one = open(first.store, clock);
  await first.store.commit({
    mutations: [
      pastLogin({ endedMs: START_MS - 80 * DAY_MS, user: "Early", factor: "sms" }),
      pastLogin({ endedMs: START_MS - DAY_MS, user: "rejected", outcome: "rejected" }, 1),
      pastLogin({ endedMs: START_MS - DAY_MS, user: "other", target: "guests" }, 2),
    ],
  });
  one.signIns.start();
  await until(async () => (await marksIn(first.store)).length === 1);
  const names = ["early", "rejected", "other", "late"];
  assertEquals([...(await one.signIns.of(names)).keys()], ["early"], "the history before the first mark");
  // Another node writes on, and this one ends without writing.
  clock.advance(10 * MINUTE_MS);
  const endedMs = clock.nowMs();
  await first.store.commit({ mutations: [pastLogin({ endedMs, user: "late", factor: "device" }, 3)] });
  const second = await openNode(kv, "b");
  clock.advance(20 * MINUTE_MS);
  const two = open(second.store, clock);
  assertEquals([...(await two.signIns.of(["late"])).keys()], []);
  two.signIns.start();
  await until(async () => (await two.signIns.of(["late"])).size === 1);
  await until(async () => (await marksIn(second.store)).length === 1);
  assertEquals(
    await marksIn(second.store),
    [clock.nowMs() - 2 * MINUTE_MS],
    "the mark of the ended node is gone",
  );
  assertEquals((await two.signIns.of(["late"])).get("late"), { atMs: endedMs, factors: { device: endedMs } });
  for (const { signIns } of [one, two]) signIns.stop();
  await first.store.close();
});
