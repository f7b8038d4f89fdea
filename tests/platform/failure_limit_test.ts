// Rate limits of failed sign-ins: for each name and source, and for each source.

import { assertEquals } from "@std/assert";
import { ProvenDigests, SharedFailureLimit } from "../../platform/failure_limit.ts";
import { createManualClock, type ManualClock } from "../upstream/manual_clock.ts";

/** The limit of one node. */
const openLimit = (clock: ManualClock) => new SharedFailureLimit({ clock }, { name: "test" });
const ANN = { source: "192.0.2.1", name: "ann" };

Deno.test("SharedFailureLimit allows five failures in any minute, for each name and source", async () => {
  const clock = createManualClock();
  const limit = openLimit(clock);
  for (let failure = 0; failure < 5; failure++) {
    assertEquals(limit.waitMs(ANN), 0);
    await limit.take(ANN);
    clock.advance(1000);
  }
  const others = [{ ...ANN, name: "ben" }, { ...ANN, source: "192.0.2.2" }, { source: null, name: "ann" }];
  assertEquals([ANN, ...others].map((key) => limit.waitMs(key)), [55_000, 0, 0, 0]);
  assertEquals(limit.waitMs({ source: "::ffff:192.0.2.1", name: "ANN" }), 55_000);
  clock.advance(55_000);
  assertEquals(limit.waitMs(ANN), 0);
  await limit.take(ANN);
  assertEquals(limit.waitMs(ANN), 1000);
});

Deno.test("SharedFailureLimit counts all addresses of an IPv6 /64 as one source, over all names", async () => {
  const limit = openLimit(createManualClock());
  for (let at = 0; at < 30; at++) await limit.take({ source: `2001:db8::${at + 1}`, name: `name ${at}` });
  assertEquals(limit.waitMs({ source: "2001:db8::ffff", name: "new" }) > 0, true);
  assertEquals(limit.waitMs({ source: "2001:db8:0:1::1", name: "new" }), 0);
});

Deno.test("SharedFailureLimit can forgive a failure", async () => {
  const limit = openLimit(createManualClock());
  for (let at = 0; at < 4; at++) await limit.take(ANN);
  const taken = await limit.take(ANN);
  if ("forgive" in taken) await taken.forgive();
  assertEquals(limit.waitMs(ANN), 0);
  await limit.take(ANN);
  assertEquals(limit.waitMs(ANN) > 0, true);
});

Deno.test("SharedFailureLimit removes the key with the oldest failure when it has 20,000", async () => {
  const limit = openLimit(createManualClock());
  const failFive = async (name: string) => {
    for (let at = 0; at < 5; at++) await limit.take({ source: null, name });
  };
  await failFive("first");
  await failFive("second");
  for (let at = 0; at < 19_999; at++) await limit.take({ source: null, name: `name ${at}` });
  const isLimited = (name: string) => limit.waitMs({ source: null, name }) > 0;
  assertEquals([isLimited("first"), isLimited("second")], [false, true]);
});

Deno.test("ProvenDigests remembers a credential for a day, and at most 1,000", () => {
  const clock = createManualClock();
  const proven = new ProvenDigests({ clock });
  proven.add("a");
  assertEquals([proven.has("a"), proven.has("b")], [true, false]);
  clock.advance(24 * 3_600_000);
  assertEquals(proven.has("a"), false);
  for (let at = 0; at < 1001; at++) proven.add(`digest ${at}`);
  assertEquals([proven.has("digest 0"), proven.has("digest 1")], [false, true]);
});
