// The list of dropped packets: fetched at most once a second, and not while the user works with it.

import { signal } from "@preact/signals";
import { assertEquals } from "@std/assert";
import { createAutoRefresh } from "../../console/web/app/resource.ts";
import { droppedTotal } from "../../console/web/pages/live/live_context.tsx";

function setUp() {
  const newest = signal(0);
  let fetched = 0;
  let timers: (() => void)[] = [];
  let answer: Promise<unknown> = Promise.resolve();
  const follower = createAutoRefresh({
    newest,
    fetch: () => {
      fetched += 1;
      return answer;
    },
    later(_delayMs, task) {
      timers.push(task);
      return () => timers = timers.filter((one) => one !== task);
    },
  });
  /** Lets one second pass. */
  const pass = async () => {
    timers.splice(0).forEach((task) => task());
    await Promise.resolve();
  };
  return {
    newest,
    follower,
    pass,
    fetched: () => fetched,
    timers: () => timers.length,
    answers: (next: Promise<unknown>) => answer = next,
  };
}

Deno.test("droppedTotal() adds up the dropped packets and nothing else", () => {
  assertEquals(droppedTotal({ requests: 9, dropped_unknown_client: 2, dropped_malformed: 3 }), 5);
});

Deno.test("createAutoRefresh() fetches once for many changes, and never without a change", async () => {
  const { newest, pass, fetched, timers } = setUp();
  await pass();
  assertEquals([fetched(), timers()], [0, 0]);
  for (let at = 1; at <= 100; at += 1) newest.value = at;
  assertEquals([fetched(), timers()], [0, 1]);
  await pass();
  assertEquals([fetched(), timers()], [1, 0]);
  newest.value = 101;
  await pass();
  assertEquals(fetched(), 2);
});

Deno.test("createAutoRefresh() reports a waiting change while it is held, and fetches it on release or on request", async () => {
  const { newest, follower, pass, fetched } = setUp();
  follower.pause(true);
  newest.value = 1;
  await pass();
  assertEquals([fetched(), follower.waiting.value], [0, true]);
  follower.showNewer();
  assertEquals([fetched(), follower.waiting.value], [1, false]);
  await Promise.resolve();
  newest.value = 2;
  await pass();
  follower.pause(false);
  assertEquals([fetched(), follower.waiting.value], [2, false]);
  follower.pause(true);
  follower.pause(false);
  assertEquals(fetched(), 2);
});

Deno.test("createAutoRefresh() fetches nothing after stop()", async () => {
  const { newest, follower, pass, fetched, timers } = setUp();
  newest.value = 1;
  follower.stop();
  newest.value = 2;
  await pass();
  assertEquals([fetched(), timers()], [0, 0]);
});

Deno.test("createAutoRefresh() does not fetch while a request is pending, and fetches soon after it", async () => {
  const { newest, pass, fetched, answers } = setUp();
  const late = Promise.withResolvers<void>();
  answers(late.promise);
  newest.value = 1;
  await pass();
  newest.value = 2;
  await pass();
  await pass();
  assertEquals(fetched(), 1);
  late.resolve();
  await pass();
  await pass();
  assertEquals(fetched(), 2);
});
