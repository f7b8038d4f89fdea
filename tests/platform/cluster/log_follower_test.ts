// LogFollower: reads changes at once if the store can be watched, asks for them if it cannot, and does nothing under load.

import { assertEquals } from "@std/assert";
import { LogFollower } from "../../../platform/cluster/cluster.ts";
import { createLog } from "../../../platform/log.ts";
import type { WatchingKv } from "../../../platform/watching_kv.ts";
import { createManualClock, settle } from "../../upstream/manual_clock.ts";

function follow({ peers = ["b"], canWatch = true }: { peers?: readonly string[]; canWatch?: boolean } = {}) {
  const clock = createManualClock();
  const log = createLog({ format: "json", level: "error", clock, write: () => Promise.resolve() });
  let reads = 0;
  let caughtUpMs = 0;
  let isBroken = false;
  const watched: string[][] = [];
  let change = (): void => undefined;
  const kv: WatchingKv = {
    async waitForChange(keys, { onReady }) {
      watched.push(keys.map((key) => key.join(" ")));
      if (isBroken) throw new Error("HTTP 404");
      onReady();
      await new Promise<void>((resolve) => change = resolve);
    },
  };
  const follower = new LogFollower({
    ...{ clock, log, kv: canWatch ? kv : null, peers: () => peers, caughtUpMs: () => caughtUpMs },
    catchUp: () => Promise.resolve(void reads++),
  });
  const ended = follower.run();
  return {
    watched,
    reads: () => reads,
    load: () => void (caughtUpMs = clock.nowMs() + 1_000_000),
    breakWatch: () => void (isBroken = true),
    async change() {
      change();
      await settle();
    },
    async pass(forMs: number) {
      for (let passed = 0; passed < forMs; passed += 100) {
        clock.advance(100);
        await settle();
      }
    },
    async [Symbol.asyncDispose]() {
      follower.close();
      change();
      await ended;
      assertEquals(clock.timers(), 0);
    },
  };
}

Deno.test("run() watches the logs of the other nodes, and reads when the watch begins and after each change", async () => {
  await using at = follow();
  await at.pass(5000);
  assertEquals([at.watched, at.reads()], [[["change_head b.any", "change_head b.journal"]], 1]);
  await at.change();
  assertEquals(at.reads(), 2);
  // The next watch begins a moment later, so that a busy store is not watched all the time.
  assertEquals(at.watched.length, 1);
  await at.pass(100);
  assertEquals([at.watched.length, at.reads()], [2, 3]);
});

for (
  const [what, options] of [
    ["that cannot be watched", { canWatch: false }],
    ["of more nodes than one watch has room for", { peers: ["b", "c", "d", "e", "f", "g"] }],
  ] as const
) {
  Deno.test(`run() asks ten times a second for the changes of a store ${what}`, async () => {
    await using at = follow(options);
    await at.pass(1000);
    assertEquals([at.watched.length, at.reads()], [0, 10]);
  });
}

Deno.test("run() asks for ten seconds after a watch that could not begin", async () => {
  await using at = follow();
  at.breakWatch();
  await at.pass(10_000);
  assertEquals([at.watched.length, at.reads()], [1, 100]);
  await at.pass(200);
  assertEquals(at.watched.length, 2);
});

Deno.test("run() reads nothing while packets read the changes, and once a second without other nodes", async () => {
  await using busy = follow();
  busy.load();
  await busy.pass(1000);
  assertEquals([busy.watched.length, busy.reads()], [0, 0]);
  await using alone = follow({ peers: [] });
  await alone.pass(11_000);
  assertEquals(alone.reads(), 10);
});
