// The list of dropped packets: fetched again at most once a second, and not while it is in use.

import { assertEquals } from "@std/assert";
import { signal } from "@preact/signals";
import { droppedTotal } from "../../console/web/models/dropped_total.ts";
import { createFollower } from "../../console/web/models/follower.ts";

function setUp() {
  const newest = signal(0);
  let fetched = 0;
  let timers: (() => void)[] = [];
  const follower = createFollower({
    newest,
    fetch: () => fetched += 1,
    later(_delayMs, task) {
      timers.push(task);
      return () => timers = timers.filter((one) => one !== task);
    },
  });
  /** A second goes by. */
  const pass = () => timers.splice(0).forEach((task) => task());
  return { newest, follower, pass, fetched: () => fetched, timers: () => timers.length };
}

Deno.test("droppedTotal() adds up what was dropped and nothing else", () => {
  assertEquals(droppedTotal({ requests: 9, dropped_unknown_client: 2, dropped_malformed: 3 }), 5);
});

Deno.test("createFollower() fetches once for many changes, and not without one", () => {
  const { newest, pass, fetched, timers } = setUp();
  pass();
  assertEquals([fetched(), timers()], [0, 0]);
  for (let at = 1; at <= 100; at += 1) newest.value = at;
  assertEquals([fetched(), timers()], [0, 1]);
  pass();
  assertEquals([fetched(), timers()], [1, 0]);
  newest.value = 101;
  pass();
  assertEquals(fetched(), 2);
});

Deno.test("createFollower() held says that something waits, and fetches it when it is let go or asked", () => {
  const { newest, follower, pass, fetched } = setUp();
  follower.hold(true);
  newest.value = 1;
  pass();
  assertEquals([fetched(), follower.waiting.value], [0, true]);
  follower.showNewer();
  assertEquals([fetched(), follower.waiting.value], [1, false]);
  newest.value = 2;
  pass();
  follower.hold(false);
  assertEquals([fetched(), follower.waiting.value], [2, false]);
  follower.hold(true);
  follower.hold(false);
  assertEquals(fetched(), 2);
});

Deno.test("createFollower() stopped fetches nothing more", () => {
  const { newest, follower, pass, fetched, timers } = setUp();
  newest.value = 1;
  follower.stop();
  newest.value = 2;
  pass();
  assertEquals([fetched(), timers()], [0, 0]);
});
