// Costs of very many logins: memory and lists stay bounded, so that packets never wait for a page or a scrape.

import { assert, assertEquals } from "@std/assert";
import { DuplicateCache } from "../../../radius/server/duplicate_cache.ts";
import { startInProcess } from "../rows/in_process.ts";
import { appCode, decide, give, giveDevice, lastRequest, SEED } from "../rows/people.ts";
import { pairPhone } from "../rows/phone.ts";

const MENU = "CHOOSE_WHICH_MULTIFACTOR";

Deno.test("DuplicateCache keeps at most 24 MiB of packets, including the newest", () => {
  const duplicates = new DuplicateCache();
  const largest = (number: number) => ({
    socket: 0,
    hostname: "192.0.2.1",
    port: 1 + (number >> 8),
    octets: new Uint8Array(4096).fill(number & 0xff, 1, 2),
  });
  for (let number = 0; number < 7000; number++) duplicates.add(largest(number), 0);
  assertEquals(duplicates.size, 6144);
  assert(duplicates.find(largest(6999)) !== null);
  assertEquals(duplicates.find(largest(0)), null);
});

Deno.test("standing() returns the steps of live logins, newest first, and omits ended ones", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "totp", seed: SEED });
  const ended = world.login({ user: "anna" });
  await ended.start();
  const [anna, bert] = [world.login({ user: "anna" }), world.login({ user: "bert" })];
  await anna.start();
  await bert.start();
  assertEquals((await ended.answer(appCode(world.clock.nowMs()))).kind, "accept");
  const steps = (limit: number) => [...world.radius.monitor.liveSteps(limit)].map(({ step }) => step);
  assertEquals(steps(10), [MENU, "GET_DEVICE_GENERATED_PASSCODE"]);
  assertEquals(steps(1), [MENU]);
  const ids = [...world.radius.monitor.liveSteps(10)].map(({ id }) => id);
  const alive = world.radius.monitor.conversations(10).filter(({ outcome }) => outcome === null);
  assertEquals(ids, alive.map(({ id }) => id));
});

Deno.test("pendingApprovals() returns the newest ones, and pendingCount() counts all", async () => {
  await using world = await startInProcess({ embedded: true });
  for (const user of ["anna", "bert", "carl"]) {
    await pairPhone(world, user);
    await world.login({ user }).start();
  }
  const secondFactorAdmin = world.services.embedded?.admin;
  assertEquals(secondFactorAdmin?.pendingApprovals(2).map(({ userName }) => userName), ["bert", "carl"]);
  assertEquals([secondFactorAdmin?.pendingApprovals().length, secondFactorAdmin?.pendingCount()], [3, 3]);
});

Deno.test("D uses the device that generates passcodes, not the one that was paired first", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "anna", { totpLength: 0 });
  world.clock.advance(1000);
  const second = await giveDevice(world, "anna", { totpLength: 6 });
  const login = world.login({ user: "anna" });
  await login.start("");
  assertEquals((await login.answer("D")).step, "GET_DEVICE_GENERATED_PASSCODE");
  assertEquals(world.secondFactor.initiated().map(({ pairingId }) => pairingId), [second.id]);
  decide(world, second, true);
  assertEquals(lastRequest(world, second).granted, true);
});
