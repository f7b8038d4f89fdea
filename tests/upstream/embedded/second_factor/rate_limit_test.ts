// The rate limit per key: its window, and its behaviour with more keys than its table holds.

import { assert, assertEquals } from "@std/assert";
import { createRateLimit } from "../../../../upstream/embedded/second_factor/pairing_phrases.ts";

const WINDOW_MS = 60_000;

Deno.test("take() allows a limited number in a window, per key", () => {
  let now = 0;
  const limit = createRateLimit(() => now, { count: 2, windowMs: WINDOW_MS });
  assertEquals([limit.take("a"), limit.take("a"), limit.take("a"), limit.take("b")], [
    true,
    true,
    false,
    true,
  ]);
  assert(limit.isUsedUp("a") && !limit.isUsedUp("b"));
  assertEquals(limit.waitMs("a"), WINDOW_MS);
  now = WINDOW_MS;
  assertEquals([limit.isUsedUp("a"), limit.waitMs("a"), limit.take("a")], [false, 0, true]);
});

Deno.test("take() with too many keys ends the window of no key, and still limits new keys", () => {
  let now = 0;
  const limit = createRateLimit(() => now, { count: 2, windowMs: WINDOW_MS, maxKeys: 10 });
  limit.take("victim");
  limit.take("victim");
  for (let key = 0; key < 10_000; key++) limit.take(`key ${key}`);
  assert(limit.isUsedUp("victim"));
  assert(!limit.take("victim"));
  assert(!limit.take("another key"));
  now = WINDOW_MS;
  assert(limit.take("victim") && limit.take("another key"));
});
