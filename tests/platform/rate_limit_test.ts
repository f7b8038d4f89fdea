// The rate limit per key: its window, and its behaviour with more keys than its table holds.

import { assert, assertEquals } from "@std/assert";
import { createRateLimit } from "../../platform/rate_limit.ts";

const WINDOW_MS = 60_000;

Deno.test("take() allows a limited number in a window, per key", async () => {
  let now = 0;
  const limit = createRateLimit({ clock: { nowMs: () => now } }, {
    name: "n",
    count: 2,
    windowMs: WINDOW_MS,
  });
  const taken = await Promise.all(["a", "a", "a", "b"].map((key) => limit.take(key)));
  assertEquals(taken, [true, true, false, true]);
  assertEquals([await limit.waitMs("a"), await limit.waitMs("b")], [WINDOW_MS, 0]);
  now = WINDOW_MS;
  assertEquals([await limit.waitMs("a"), await limit.take("a")], [0, true]);
});

Deno.test("take() with too many keys ends the window of no key, and still limits new keys", async () => {
  let now = 0;
  const options = { name: "n", count: 2, windowMs: WINDOW_MS, maxKeys: 10 };
  const limit = createRateLimit({ clock: { nowMs: () => now } }, options);
  await limit.take("victim");
  await limit.take("victim");
  for (let key = 0; key < 10_000; key++) await limit.take(`key ${key}`);
  assert(await limit.waitMs("victim") > 0);
  assert(!await limit.take("victim"));
  assert(!await limit.take("another key"));
  now = WINDOW_MS;
  assert(await limit.take("victim") && await limit.take("another key"));
});
