// An answer that is re-issued with another identifier, because the first reply was lost or is late.

import { assertEquals, assertNotEquals } from "@std/assert";
import { afterStatus, createGate } from "./gates.ts";
import { type InProcess, SECRET, startInProcess } from "./in_process.ts";
import { brief, type Login } from "./login.ts";
import { jump, pass } from "./passing_time.ts";
import { answered, openRecorder, sent } from "./recorder.ts";
import { decide, give, giveDevice, passcodeSentTo } from "./people.ts";

const NUMBER = "+4915112345678";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const GONE = ["reject", "This login is over. Start a new one."];

/** A login at the menu. */
async function menuOf(world: InProcess): Promise<Login> {
  const login = world.login({ user: "anna" });
  await login.start("");
  return login;
}

Deno.test("duplicates: a re-issued answer gets the stored challenge, rebuilt for its identifier", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = await menuOf(world);
  const menu = new TextEncoder().encode("CHOOSE_WHICH_MULTIFACTOR");
  const first = await login.answer("S", { state: menu });
  const again = await login.answer("S", { state: menu });
  assertEquals(brief(again), brief(first));
  assertNotEquals(again.bytes, first.bytes);
  assertEquals(world.secondFactor.initiated().map(({ pairingId }) => pairingId), [pairing.id]);
});

Deno.test("duplicates: a re-issued answer is recognised only within the window", async () => {
  await using world = await startInProcess({ toml: "[radius]\nlogin_join_window_s = 10" });
  await giveDevice(world, "anna");
  const login = await menuOf(world);
  const menu = new TextEncoder().encode("CHOOSE_WHICH_MULTIFACTOR");
  await login.answer("S", { state: menu });
  await jump(world.clock, 11_000);
  assertEquals(brief(await login.answer("S", { state: menu })), GONE);
  // The live conversation continues.
  assertEquals((await login.answer("", { state: new TextEncoder().encode(DEVICE) })).step, DEVICE);
});

Deno.test("duplicates: a different answer to the same challenge is not a re-issued one", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "anna");
  const login = await menuOf(world);
  const menu = new TextEncoder().encode("CHOOSE_WHICH_MULTIFACTOR");
  await login.answer("S", { state: menu });
  assertEquals(brief(await login.answer("T", { state: menu })), GONE);
});

Deno.test("duplicates: a re-issued answer after an Accept is a Reject", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "sms", number: NUMBER });
  const login = world.login({ user: "anna" });
  await login.start();
  const passcode = passcodeSentTo(world, NUMBER);
  assertEquals((await login.answer(passcode)).kind, "accept");
  assertEquals(brief(await login.answer(passcode)), GONE);
  assertEquals(world.radius.monitor.counters()["accepts"], 1);
});

Deno.test("duplicates: ten simultaneous packets with the right passcode yield one Accept", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "sms", number: NUMBER });
  const login = world.login({ user: "anna" });
  await login.start();
  const passcode = passcodeSentTo(world, NUMBER);
  const packets = Array.from({ length: 10 }, () => login.build(passcode));
  const replies = await sent(world, packets, 1500);
  assertEquals(replies.filter(([code]) => code === 2).length, 1);
  assertEquals(world.radius.monitor.counters()["accepts"], 1);
});

Deno.test("duplicates: an answer that is re-issued during a call to the service gets the only reply", async () => {
  const gate = createGate();
  await using world = await startInProcess({ between: { secondFactor: afterStatus(gate) } });
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  decide(world, pairing, true);
  const packets = [login.build(""), login.build("")];
  using recorder = openRecorder(world, SECRET);
  await recorder.send(...packets);
  await gate.reached();
  await pass(world.clock, 200);
  gate.open();
  const replies = await recorder.replies(1);
  assertEquals(answered(replies), { [packets[1]?.identifier ?? -1]: 1 });
  assertEquals(replies[0]?.[0], 2);
});
