// Counting of failures by source.

import { assertEquals } from "@std/assert";
import { SourceLimit } from "../../../scim/http/source_limit.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";

Deno.test("SourceLimit() allows a limited source one check a second", async () => {
  const clock = createManualClock();
  const limit = new SourceLimit({ clock });
  assertEquals([await limit.takeLimitedCheck("2001:db8::1"), await limit.takeLimitedCheck("2001:db8::2")], [
    true,
    false,
  ]);
  assertEquals(await limit.takeLimitedCheck("192.0.2.1"), true);
  clock.advance(1000);
  assertEquals(await limit.takeLimitedCheck("2001:db8::1"), true);
});

Deno.test("SourceLimit() runs the work of one source in order and of others in parallel, and 64 may wait", async () => {
  const limit = new SourceLimit({ clock: createManualClock() });
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
