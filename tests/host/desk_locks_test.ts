// The desk unlocks users and forgets clients.

import { assertEquals } from "@std/assert";
import { done, openDeskStage, refusal } from "./desk_stage.ts";

const CLIENT =
  '[[radius.client]]\nname = "vpn"\naddress = ["192.0.2.1"]\nsecret = "a secret of this length"\n';

Deno.test("desk unlock forgets failures and lock, in store and memory, with a record", async () => {
  await using stage = await openDeskStage("[factors.lockout]\nfailures = 2\nhard_limit = 3\n");
  for (let at = 0; at < 3; at++) {
    await stage.store.commit({ mutations: [stage.limits.fail("ann").mutation] });
  }
  const before = await done(stage, { op: "lock.show", user: "Ann" });
  assertEquals([before.lock?.locked, before.lock?.hardLocked, before.lock?.total, before.lock?.locks], [
    true,
    true,
    3,
    1,
  ]);
  await done(stage, { op: "unlock", user: "ANN" });
  assertEquals(stage.limits.isLocked("ann"), false);
  assertEquals((await stage.store.get(["limit", "failures", "ann"])).value, null);
  assertEquals(await stage.audits(), [{
    atMs: stage.clock.nowMs(),
    actor: "command",
    action: "user.unlock",
    object: "user:ANN",
    failures: 3,
    locks: 1,
  }]);
});

Deno.test("desk unlock of a user without failures changes and records nothing", async () => {
  await using stage = await openDeskStage();
  await done(stage, { op: "unlock", user: "ann" });
  assertEquals(await stage.dump(), "");
});

Deno.test("desk unlock says which limits it leaves", async () => {
  await using stage = await openDeskStage();
  for (let at = 0; at < 5; at++) await stage.store.commit({ mutations: [stage.limits.countPush("ann")] });
  const { notes } = await done(stage, { op: "unlock", user: "ann" });
  assertEquals(notes, [
    "The limit of factors.pushes is reached; it ends by itself. Unlocking leaves it; the user page of the console resets it.",
  ]);
});

Deno.test("desk lock.show changes nothing", async () => {
  await using stage = await openDeskStage();
  await stage.store.commit({ mutations: [stage.limits.fail("ann").mutation] });
  const before = await stage.dump();
  const { lock } = await done(stage, { op: "lock.show", user: "ann" });
  assertEquals([lock?.locked, lock?.inRow, lock?.pushesLeft, lock?.sendsLeft], [false, 1, true, true]);
  assertEquals(await stage.dump(), before);
});

Deno.test("desk client.forget unlearns a client in store and at the gate, with a record", async () => {
  await using stage = await openDeskStage(CLIENT);
  await stage.store.commit({ mutations: [{ type: "set", key: ["learnt", "vpn"], value: true }] });
  await stage.learnt.load();
  await done(stage, { op: "client.forget", name: "vpn" });
  assertEquals([[...stage.learnt.names], stage.forgotten], [[], ["vpn"]]);
  assertEquals((await stage.store.get(["learnt", "vpn"])).value, null);
  assertEquals((await stage.audits()).map(({ action, object }) => [action, object]), [[
    "client.forget",
    "client:vpn",
  ]]);
});

Deno.test("desk client.forget does nothing for a client of which nothing was learnt, and refuses an unknown one", async () => {
  await using stage = await openDeskStage(CLIENT);
  await done(stage, { op: "client.forget", name: "vpn" });
  assertEquals(await refusal(stage, { op: "client.forget", name: "nas" }), "unknown_client");
  assertEquals([await stage.dump(), stage.forgotten], ["", []]);
});
