// How failures are counted, by where they come from.

import { assertEquals } from "@std/assert";
import { createSourceLimit, sourceNetwork } from "../../../scim/http/source_limit.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";

const SOURCES: readonly (readonly [address: string, network: string])[] = [
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:2::9", "2001:db8:1:2::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
];
for (const [address, network] of SOURCES) {
  Deno.test(`sourceNetwork() counts ${address} under ${network}`, () => {
    assertEquals(sourceNetwork(address), network);
  });
}

Deno.test("createSourceLimit() lets five failures pass in any minute, of each source", () => {
  const clock = createManualClock();
  const limit = createSourceLimit({ clock });
  for (let failure = 0; failure < 5; failure++) {
    assertEquals(limit.waitMs("192.0.2.1"), 0);
    limit.fail("192.0.2.1");
    clock.advance(1000);
  }
  assertEquals([limit.waitMs("192.0.2.1"), limit.waitMs("192.0.2.2")], [55_000, 0]);
  clock.advance(54_999);
  assertEquals(limit.waitMs("::ffff:192.0.2.1"), 1);
  clock.advance(1);
  assertEquals(limit.waitMs("192.0.2.1"), 0);
  limit.fail("192.0.2.1");
  assertEquals(limit.waitMs("192.0.2.1"), 1000);
});

Deno.test("createSourceLimit() remembers 10,000 sources, and forgets the one not seen for longest", () => {
  const limit = createSourceLimit({ clock: createManualClock() });
  const failFive = (source: string) => {
    for (let failure = 0; failure < 5; failure++) limit.fail(source);
  };
  failFive("first");
  failFive("second");
  for (let at = 0; at < 9_999; at++) limit.fail(`source ${at}`);
  assertEquals([limit.waitMs("first") > 0, limit.waitMs("second") > 0], [false, true]);
});

Deno.test("createSourceLimit() runs the work of one source in turn, of others beside it, and 64 may wait", async () => {
  const limit = createSourceLimit({ clock: createManualClock() });
  const running: string[] = [];
  const gate = Promise.withResolvers<void>();
  const work = (name: string) => async () => {
    running.push(name);
    await gate.promise;
    if (name === "a0") throw new Error("failed");
    return name;
  };
  const started = Array.from({ length: 64 }, (_, at) => limit.inTurn("a", work(`a${at}`)));
  assertEquals([limit.inTurn("a", work("one too many")), started.includes(null)], [null, false]);
  const beside = limit.inTurn("b", work("b"));
  await Promise.resolve();
  assertEquals(running, ["a0", "b"]);
  gate.resolve();
  const outcomes = await Promise.allSettled(started);
  assertEquals(outcomes.map(({ status }) => status).slice(0, 3), ["rejected", "fulfilled", "fulfilled"]);
  assertEquals(
    running.filter((name) => name.startsWith("a")),
    Array.from({ length: 64 }, (_, at) => `a${at}`),
  );
  await beside;
  assertEquals(await limit.inTurn("a", () => Promise.resolve("room again")), "room again");
});
