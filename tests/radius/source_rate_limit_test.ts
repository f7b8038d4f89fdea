// The token buckets of source addresses: limited in number, and independent of each other.

import { assertEquals } from "@std/assert";
import { SourceRateLimit } from "../../radius/server/unsigned_requests.ts";
import { createManualClock } from "../upstream/manual_clock.ts";

const taken = (limit: SourceRateLimit, source: string, times: number) => {
  let count = 0;
  for (let i = 0; i < times; i++) if (limit.take(source)) count++;
  return count;
};

Deno.test("SourceRateLimit allows a burst, then the rate, and never more than the burst again", () => {
  const clock = createManualClock();
  const limit = new SourceRateLimit(clock, { burst: 10, perSecond: 5 });
  assertEquals(taken(limit, "192.0.2.1", 50), 10);
  clock.advance(1000);
  assertEquals(taken(limit, "192.0.2.1", 50), 5);
  clock.advance(3_600_000);
  assertEquals(taken(limit, "192.0.2.1", 50), 10);
});

Deno.test("SourceRateLimit counts each source separately", () => {
  const limit = new SourceRateLimit(createManualClock(), { burst: 3, perSecond: 1 });
  assertEquals(taken(limit, "192.0.2.1", 1000), 3);
  assertEquals(taken(limit, "192.0.2.2", 2), 2);
});

Deno.test("SourceRateLimit counts an IPv6 network of 64 bits as one source", () => {
  const limit = new SourceRateLimit(createManualClock(), { burst: 3, perSecond: 1 });
  let count = 0;
  for (let i = 0; i < 100; i++) if (limit.take(`2001:db8:0:1::${i.toString(16)}`)) count++;
  assertEquals([count, limit.sources], [3, 1]);
  assertEquals([limit.take("2001:db8:0:2::1"), limit.sources], [true, 2]);
  assertEquals([limit.take("::1"), limit.take("fe80::1%eth0"), limit.sources], [true, true, 4]);
});

Deno.test("SourceRateLimit: invented sources beyond the table share one bucket, and the table is reused later", () => {
  const clock = createManualClock();
  const limit = new SourceRateLimit(clock, { burst: 2, perSecond: 1, maxSources: 100 });
  for (let i = 0; i < 100; i++) limit.take(`10.0.0.${i}`);
  let beyond = 0;
  for (let i = 0; i < 10_000; i++) if (limit.take(`10.1.${i >> 8}.${i & 255}`)) beyond++;
  assertEquals([beyond, limit.sources], [2, 100]);
  // A known source still has its own bucket.
  assertEquals(limit.take("10.0.0.7"), true);
  clock.advance(5000);
  assertEquals(taken(limit, "10.2.0.1", 9), 2);
  assertEquals(limit.sources, 1);
});

Deno.test("SourceRateLimit neither gains nor loses tokens when the clock is set back", () => {
  let nowMs = 1_000_000;
  const limit = new SourceRateLimit({ nowMs: () => nowMs }, { burst: 2, perSecond: 1 });
  assertEquals(taken(limit, "192.0.2.1", 9), 2);
  nowMs -= 500_000;
  assertEquals(taken(limit, "192.0.2.1", 9), 0);
  nowMs += 1000;
  assertEquals(taken(limit, "192.0.2.1", 9), 1);
});
