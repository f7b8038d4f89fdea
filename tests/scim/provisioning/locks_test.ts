// The locks of a target: their order, limits and deadlines.

import { assert, assertEquals } from "@std/assert";
import { type Lockable, SOLE_WRITER, WriteLocks } from "../../../scim/locks.ts";
import fc from "../../packages/fast_check.ts";
import { settle } from "../../support/settle.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { refusalOf } from "./stage.ts";

const user = (name: string, backend?: string): Lockable => ({
  ...{ kind: "user", name },
  ...(backend === undefined ? {} : { backend }),
});
const group = (name: string, backend?: string): Lockable => ({ ...user(name, backend), kind: "group" });

function openLocks(
  options: Partial<ConstructorParameters<typeof WriteLocks>[0]> = {},
): WriteLocks {
  return new WriteLocks({ clock: createManualClock(), lease: SOLE_WRITER, ...options });
}

Deno.test("WriteLocks.run() runs tasks of one resource in order, and tasks of two resources in parallel", async () => {
  const locks = openLocks();
  const order: string[] = [];
  const task = (key: string, name: string) =>
    locks.run([user(key)], async () => {
      order.push(`${name} in`);
      await settle();
      order.push(`${name} out`);
    });
  await Promise.all([task("a", "1"), task("A", "2"), task("b", "3")]);
  assertEquals(order, ["1 in", "3 in", "1 out", "2 in", "3 out", "2 out"]);
});

Deno.test("WriteLocks.hold() refuses a caller when the queue is full, and stops waiting at the deadline", async () => {
  const clock = createManualClock();
  const locks = openLocks({ clock, maxEach: 1, waitMs: 1000 });
  const held = await locks.hold([user("a")]);
  const waiting = refusalOf(locks.hold([user("a")]));
  await settle();
  assertEquals((await refusalOf(locks.hold([user("a")]))).code, "busy");
  assertEquals(locks.tryHold(user("a")), null);
  clock.advance(1000);
  assertEquals((await waiting).code, "busy");
  held.release();
  held.release();
  const again = locks.tryHold(user("a"));
  assert(again !== null, "who gave up waiting is not given the lock");
  assertEquals(clock.timers(), 0);
});

Deno.test("WriteLocks.run() releases after a task that throws", async () => {
  const locks = openLocks();
  const failed = await locks.run([user("a")], () => Promise.reject(new Error("no"))).catch((fault: Error) =>
    fault.message
  );
  assertEquals(failed, "no");
  assertEquals(await locks.run([user("a")], () => Promise.resolve("yes")), "yes");
});

/** Every lock of these comes before the next one. */
const IN_ORDER = [
  ...[user("a"), user("z"), user("a", "crm"), user("z", "crm"), user("a", "erp")],
  ...[group("a"), group("z"), group("a", "crm"), group("z", "crm"), group("a", "erp")],
];

Deno.test("WriteLocks.hold() takes a lock after every lock that comes before it, and after no other", async () => {
  const locks = openLocks();
  for (const [at, first] of IN_ORDER.entries()) {
    for (const [place, second] of IN_ORDER.entries()) {
      const held = await locks.hold([first]);
      const outcome = await locks.hold([second], held).then((more) => {
        more.release();
        return "taken";
      }, (fault: Error) => fault.message.split(":")[0]?.replace(/lock .*/, "lock"));
      held.release();
      assertEquals(outcome, place > at ? "taken" : "Cannot take the lock", `${place} after ${at}`);
    }
  }
});

Deno.test("law: writers that take several locks in any order, and more of them later, all end", async () => {
  const users = fc.subarray(IN_ORDER.slice(0, 5));
  const groups = fc.subarray(IN_ORDER.slice(5));
  const check = async (writers: readonly [Lockable[], Lockable[]][]) => {
    const locks = openLocks();
    const running = new Set<Lockable>();
    await Promise.all(writers.map(([first, then]) =>
      locks.run(first.toReversed(), async (held) => {
        await settle();
        await locks.run(then.toReversed(), async () => {
          const all = [...first, ...then];
          assert(all.every((one) => !running.has(one)), "two writers have one lock");
          for (const one of all) running.add(one);
          await settle();
          for (const one of all) running.delete(one);
        }, held);
      })
    ));
  };
  await fc.assert(fc.asyncProperty(fc.array(fc.tuple(users, groups), { maxLength: 12 }), check), {
    numRuns: 20,
  });
});
