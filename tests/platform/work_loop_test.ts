// The loop of background work, and the pauses after failures, with a clock that only the test moves.

import { assertEquals } from "@std/assert";
import { backoffMs } from "../../platform/backoff.ts";
import { WorkLoop, type WorkLoopDeps } from "../../platform/work_loop.ts";
import { createManualClock, settle } from "../upstream/manual_clock.ts";

const START_MS = 1000;

/** A loop that records the times of its passes. */
function openLoop(
  { pass = () => Promise.resolve(), ...deps }: Partial<Omit<WorkLoopDeps, "clock">> = {},
) {
  const clock = createManualClock(START_MS);
  const passesMs: number[] = [];
  const faults: unknown[] = [];
  const loop = new WorkLoop({
    ...{ clock, intervalMs: 30_000, onFault: (fault) => void faults.push(fault), ...deps },
    pass() {
      passesMs.push(clock.nowMs() - START_MS);
      return pass();
    },
  });
  const advance = async (byMs: number): Promise<void> => {
    clock.advance(byMs);
    await settle();
  };
  return { clock, loop, passesMs, faults, advance };
}

Deno.test("a pass follows after the interval, or at the earliest time that the pass named", async () => {
  const times = [50, 20];
  const { loop, passesMs, advance, clock } = openLoop({
    pass() {
      for (const afterMs of times.splice(0)) loop.dueAt(clock.nowMs() + afterMs);
      return Promise.resolve();
    },
  });
  loop.wake();
  await advance(0);
  await advance(19);
  await advance(1);
  await advance(30_000);
  assertEquals(passesMs, [0, 20, 30_020]);
});

Deno.test("wake-ups at once make one pass, and those during a pass make one more", async () => {
  const held = Promise.withResolvers<void>();
  const { loop, passesMs, advance } = openLoop({ pass: () => held.promise });
  loop.wake();
  loop.wake();
  await advance(0);
  assertEquals(passesMs.length, 1);
  loop.wake();
  loop.wake();
  held.resolve();
  await advance(0);
  assertEquals(passesMs.length, 2);
});

Deno.test("wake-ups that wait for others make one pass, which later ones do not postpone", async () => {
  const { loop, passesMs, advance } = openLoop({ wakeDelayMs: 50 });
  loop.wake();
  await advance(40);
  loop.wake();
  await advance(10);
  assertEquals(passesMs, [50]);
  await advance(40);
  assertEquals(passesMs, [50]);
});

Deno.test("a pass that fails is reported and repeated; a pause delays it, and a wake-up does not wait for it", async () => {
  const { loop, passesMs, faults, advance } = openLoop({
    pass: () => Promise.reject(new Error("The store is away")),
    pausedUntilMs: () => START_MS + 8000,
  });
  loop.wake();
  await advance(0);
  await advance(7999);
  assertEquals([passesMs, faults.length], [[0], 1]);
  await advance(1);
  await advance(5000);
  assertEquals(passesMs, [0, 8000, 13_000]);
  loop.wake();
  await advance(0);
  assertEquals(passesMs, [0, 8000, 13_000, 13_000]);
});

Deno.test("the end of a task wakes the loop; after close() no pass begins, and close() waits for the tasks", async () => {
  const { loop, passesMs, advance } = openLoop();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  loop.wake();
  await advance(0);
  loop.track("first", first.promise);
  loop.track("second", second.promise);
  first.resolve();
  await advance(0);
  assertEquals([passesMs.length, [...loop.active.keys()]], [2, ["second"]]);
  let isClosed = false;
  const closing = loop.close().then(() => isClosed = true);
  await advance(60_000);
  assertEquals(isClosed, false);
  second.resolve();
  await closing;
  loop.wake();
  await advance(60_000);
  assertEquals(passesMs.length, 2);
});

for (
  const { failures, octet, factors = [0.75, 1], expectedMs } of [
    { failures: 1, octet: 0, expectedMs: 750 },
    { failures: 1, octet: 255, expectedMs: 1000 },
    { failures: 4, octet: 255, expectedMs: 8000 },
    { failures: 7, octet: 255, expectedMs: 60_000 },
    { failures: 5000, octet: 0, expectedMs: 45_000 },
    { failures: 1, octet: 255, factors: [1, 0.5], expectedMs: 500 },
  ] as const
) {
  Deno.test(`backoffMs() after ${failures} failures, with the octet ${octet} and ${factors}`, () => {
    const random = { bytes: () => new Uint8Array([octet]) };
    const backoff = { firstMs: 1000, longestMs: 60_000, factors: [factors[0], factors[1]] as const };
    assertEquals(backoffMs(backoff, failures, random), expectedMs);
  });
}
