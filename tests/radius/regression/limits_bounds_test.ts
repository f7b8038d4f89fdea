// Limits during an endless attack: their records stay small, and invented names unlock no user.

import { assert, assertEquals } from "@std/assert";
import { startInProcess } from "../rows/in_process.ts";

Deno.test("countSend() stores no more times than the limit needs, however often it is called", async () => {
  await using world = await startInProcess();
  const { limits } = world.radius;
  const send = { user: "anna", number: "+4915112345678", client: "vpn" };
  let last = limits.countSend(send);
  for (let count = 0; count < 9000; count++) last = limits.countSend(send);
  const lengths = last.map((mutation) => mutation.type === "set" ? mutation.value : null).map(lengthOf);
  assertEquals(lengths, [5, 5, 1, 1]);
  assert((await world.store.commit({ mutations: last })).ok);
  assert(!limits.sendsLeft("anna", null));
});

Deno.test("countPush() with a limit beyond the size of a record can still be recorded", async () => {
  await using world = await startInProcess({ toml: "[factors.pushes]\nper_user = 6000" });
  const { limits } = world.radius;
  let last = limits.countPush("anna");
  for (let count = 0; count < 6000; count++) last = limits.countPush("anna");
  assert((await world.store.commit({ mutations: [last] })).ok);
  assert(!limits.pushesLeft("anna"));
});

Deno.test("fail() of two hundred thousand other users does not evict the count of one", async () => {
  await using world = await startInProcess();
  const { limits } = world.radius;
  for (let count = 0; count < 9; count++) limits.countFailure("anna");
  for (let count = 0; count < 200_100; count++) limits.countFailure(`user-${count}`);
  assertEquals(limits.failures("anna").inRow, 9);
  assert(limits.countFailure("anna").locked);
});

Deno.test("countPush() and countSend() for two hundred thousand other users evict no count", async () => {
  await using world = await startInProcess({
    toml: "[factors.sends]\ntotal_per_hour = 1000000\nper_client_per_hour = 1000000",
  });
  const { limits } = world.radius;
  const send = { user: "anna", number: "+4915112345678", client: "vpn" };
  for (let count = 0; count < 5; count++) limits.countPush("anna");
  for (let count = 0; count < 5; count++) limits.countSend(send);
  for (let count = 0; count < 200_100; count++) {
    limits.countPush(`user-${count}`);
    limits.countSend({ user: `user-${count}`, number: `+49151${1_000_000 + count}`, client: "vpn" });
  }
  assert(!limits.pushesLeft("anna"));
  assertEquals(limits.limitOf(send), "user_limit");
  assertEquals(limits.limitOf({ ...send, user: "bert" }), "number_limit");
});

Deno.test("Limits.countStrangerFailure() stores nothing, has a limit, and evicts no user", async () => {
  await using world = await startInProcess();
  const { limits } = world.radius;
  for (let count = 0; count < 9; count++) limits.countFailure("anna");
  for (let count = 0; count < 9; count++) limits.countStrangerFailure("ghost");
  for (let count = 0; count < 20_000; count++) limits.countStrangerFailure(`ghost-${count}`);
  assertEquals(limits.failures("ghost").total, 0);
  assertEquals(limits.failures("ghost-19999").total, 1);
  assertEquals(limits.failures("anna").inRow, 9);
  assertEquals(limits.figures().failures, 0);
});

Deno.test("Limits.countStrangerFailure() locks, and a name that becomes a user keeps its failures", async () => {
  await using world = await startInProcess();
  const { limits } = world.radius;
  for (let count = 0; count < 9; count++) limits.countStrangerFailure("ghost");
  assert(limits.countFailure("ghost").locked);
  for (let count = 0; count < 10; count++) limits.countStrangerFailure("spirit");
  assert(limits.isLocked("spirit"));
  // Newer invented names replace those that are not locked.
  for (let count = 0; count < 20_000; count++) limits.countStrangerFailure(`ghost-${count}`);
  assert(limits.isLocked("spirit") && limits.isLocked("ghost"));
});

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : -1;
}
