// Locks by key: order, limits and deadlines.

import { assert, assertEquals } from "@std/assert";
import { createKeyedLocks } from "../../../scim/provisioning/keyed_locks.ts";
import { createSingleFlight } from "../../../platform/semaphore.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { settle } from "../../support/settle.ts";
import { refusalOf } from "./stage.ts";

Deno.test("createKeyedLocks() runs tasks of one key in order, and tasks of two keys in parallel", async () => {
  const locks = createKeyedLocks(createManualClock());
  const order: string[] = [];
  const task = (key: string, name: string) =>
    locks.run(key, async () => {
      order.push(`${name} in`);
      await settle();
      order.push(`${name} out`);
    });
  await Promise.all([task("a", "1"), task("a", "2"), task("b", "3")]);
  assertEquals(order, ["1 in", "3 in", "1 out", "2 in", "3 out", "2 out"]);
});

Deno.test("createKeyedLocks() refuses a caller when the queue is full, and stops waiting at the deadline", async () => {
  const clock = createManualClock();
  const locks = createKeyedLocks(clock, { each: 1, waitMs: 1000 });
  const release = await locks.hold("a");
  const waiting = refusalOf(locks.hold("a"));
  assertEquals((await refusalOf(locks.hold("a"))).code, "busy");
  assertEquals(locks.tryHold("a"), null);
  clock.advance(1000);
  assertEquals((await waiting).code, "busy");
  release();
  release();
  const again = locks.tryHold("a");
  assert(again !== null, "who gave up waiting is not given the lock");
  assertEquals(clock.timers(), 0);
});

Deno.test("createKeyedLocks() releases after a task that throws", async () => {
  const locks = createKeyedLocks(createManualClock());
  const failed = await locks.run("a", () => Promise.reject(new Error("no"))).catch((fault: Error) =>
    fault.message
  );
  assertEquals(failed, "no");
  assertEquals(await locks.run("a", () => Promise.resolve("yes")), "yes");
});

Deno.test("createSingleFlight() continues after a run that fails", async () => {
  const turn = createSingleFlight<string>();
  const first = turn(() => Promise.reject(new Error("no"))).catch((fault: Error) => fault.message);
  const second = turn(() => Promise.resolve("second"));
  const third = turn(() => Promise.resolve("third"));
  assertEquals(await Promise.all([first, second, third]), ["no", "second", "second"]);
  assertEquals(await turn(() => Promise.resolve("fourth")), "fourth");
});
