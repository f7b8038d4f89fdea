// Limits under somebody who tries without end: their records stay small, and made-up names unlock nobody.

import { assert, assertEquals } from "@std/assert";
import { startInProcess } from "../rows/in_process.ts";

Deno.test("countSend() keeps no more times than the limit needs, however often a number is refused", async () => {
  await using world = await startInProcess();
  const { limits } = world.radius;
  let last = limits.countSend("anna", "+4915112345678");
  for (let count = 0; count < 9000; count++) last = limits.countSend("anna", "+4915112345678");
  assertEquals(last.map((mutation) => mutation.type === "set" ? mutation.value : null).map(lengthOf), [5, 5]);
  assert((await world.store.commit({ mutations: last })).ok);
  assert(!limits.sendsLeft("anna", null));
});

Deno.test("countPush() under a limit beyond what a record holds can still be recorded", async () => {
  await using world = await startInProcess({ toml: "[factors.pushes]\nper_user = 6000" });
  const { limits } = world.radius;
  let last = limits.countPush("anna");
  for (let count = 0; count < 6000; count++) last = limits.countPush("anna");
  assert((await world.store.commit({ mutations: [last] })).ok);
  assert(!limits.pushesLeft("anna"));
});

Deno.test("fail() of two hundred thousand other names does not unlock a user", async () => {
  await using world = await startInProcess();
  const { limits } = world.radius;
  for (let count = 0; count < 10; count++) limits.fail("anna");
  for (let count = 0; count < 200_100; count++) limits.fail(`made-up-${count}`);
  assert(limits.isLocked("anna"));
  assertEquals(limits.failures("made-up-0").total, 0);
});

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : -1;
}
