// When the store refuses a commit, memory must match the store: no effect happens twice, and nothing is lost or left
// over.

import { assertEquals } from "@std/assert";
import { startInProcess } from "../rows/in_process.ts";
import { becomes, turn } from "../rows/passing_time.ts";
import { appCode, decide, give, giveDevice, register, SEED } from "../rows/people.ts";
import { interceptCommits } from "./failing_commits.ts";

const NUMBER = "+4915112345678";

Deno.test("a text whose challenge could not be recorded is not sent again for a retransmission", async () => {
  await using world = await startInProcess();
  await register(world, "anna", { phoneNumbers: [NUMBER] });
  const login = world.login({ user: "anna" });
  await login.start("");
  const commits = interceptCommits(world);
  commits.failWhen((_transaction, before) => before === 1);
  const packet = login.build("T");
  await world.client.sendRaw(packet.bytes);
  await becomes("the second commit fails", () => commits.failed() === 1);
  await turn();
  const answer = await login.exchange(packet);
  assertEquals(answer.step, "AWAIT_SMS_DELIVERED_PASSCODE");
  assertEquals(world.telephony.requests.length, 1);
  assertEquals((await login.answer(world.telephony.lastPasscode(NUMBER) ?? "")).kind, "accept");
});

Deno.test("an approval request whose challenge could not be recorded is not opened again", async () => {
  await using world = await startInProcess();
  const device = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start("");
  const commits = interceptCommits(world);
  commits.failWhen((_transaction, before) => before === 1);
  const packet = login.build("S");
  await world.client.sendRaw(packet.bytes);
  await becomes("the second commit fails", () => commits.failed() === 1);
  await turn();
  assertEquals((await login.exchange(packet)).step, "SECONDFACTOR_AWAIT_DEVICE_APPROVAL");
  assertEquals(world.secondFactor.initiated().length, 1);
  decide(world, device, true);
  assertEquals((await login.answer("")).kind, "accept");
});

Deno.test("failures are not cleared by an Accept that could not be recorded", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "totp", seed: SEED });
  for (let count = 0; count < 9; count++) world.radius.limits.countFailure("anna");
  const login = world.login({ user: "anna" });
  await login.start();
  const commits = interceptCommits(world);
  commits.failWhen(() => true);
  await world.client.sendRaw(login.build(appCode(world.clock.nowMs())).bytes);
  await becomes("the commit fails", () => commits.failed() === 1);
  await turn();
  commits.heal();
  const { inRow, total } = world.radius.limits.failures("anna");
  assertEquals([inRow, total], [9, 9]);
  assertEquals(world.radius.limits.countFailure("anna").locked, true);
});

Deno.test("a Cancel that could not be recorded leaves one conversation, the one in which it was typed", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "totp", seed: SEED });
  const login = world.login({ user: "anna" });
  await login.start();
  const commits = interceptCommits(world);
  commits.failWhen(() => true);
  await world.client.sendRaw(login.build("cancel").bytes);
  await becomes("the commit fails", () => commits.failed() === 1);
  await turn();
  commits.heal();
  assertEquals(world.radius.monitor.alive(), 1);
  assertEquals(world.radius.monitor.conversations(10).map(({ step }) => step), [
    "GET_DEVICE_GENERATED_PASSCODE",
  ]);
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
});
