// A restart during a login: the next run answers, and no message is sent twice.

import { assertEquals } from "@std/assert";
import { openDisk } from "./disk.ts";
import { afterSend, createGate } from "./gates.ts";
import { type InProcess, type InProcessOptions, startInProcess } from "./in_process.ts";
import { brief, stepName } from "./login.ts";
import { appCode, decide, give, giveDevice, otherThan, passcodeSentTo, register, SEED } from "./people.ts";
import { jump } from "./passing_time.ts";
import { pairPhone } from "./phone.ts";

const NUMBER = "+4915112345678";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";

/** Stops a gateway and starts the next one on the same store. */
async function restarted(first: InProcess, options: InProcessOptions): Promise<InProcess> {
  await first.stop();
  return await startInProcess({ ...options, after: first });
}

Deno.test("restart: an approval request from before the restart can be approved afterwards", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path });
  const pairing = await giveDevice(first, "anna");
  const login = first.login({ user: "anna" });
  assertEquals((await login.start()).step, DEVICE);
  await using second = await restarted(first, { kvPath: disk.path });
  decide(second, pairing, true);
  login.moveTo(second);
  assertEquals((await login.answer("")).kind, "accept");
  assertEquals(second.secondFactor.initiated().length, 1);
});

Deno.test("restart: a passcode from before the restart is right afterwards, once", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path });
  await give(first, "anna", { kind: "sms", number: NUMBER });
  const login = first.login({ user: "anna", nasPort: undefined });
  await login.start();
  await using second = await restarted(first, { kvPath: disk.path });
  login.moveTo(second);
  const passcode = passcodeSentTo(second, NUMBER);
  assertEquals((await login.answer(passcode)).kind, "accept");
  assertEquals((await login.answer(passcode)).kind, "reject");
  assertEquals(second.telephony.requests.length, 1);
});

Deno.test("restart: a login at the menu continues at its step", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path });
  await register(first, "anna", { phoneNumbers: [NUMBER, "+4915187654321"] });
  const login = first.login({ user: "anna" });
  await login.start("");
  await login.answer("T");
  await using second = await restarted(first, { kvPath: disk.path });
  login.moveTo(second);
  assertEquals((await login.answer("1")).step, "VERIFY_SMS_PHONE_NUMBER");
  assertEquals((await login.answer(passcodeSentTo(second, NUMBER))).kind, "accept");
});

Deno.test("restart: a packet that was answered before gets the same answer, and nothing runs again", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path });
  await giveDevice(first, "anna");
  const login = first.login({ user: "anna" });
  const packet = login.buildStart("pw");
  const before = await login.exchange(packet);
  await using second = await restarted(first, { kvPath: disk.path });
  login.moveTo(second);
  const after = await login.exchange(packet);
  assertEquals(after.bytes, before.bytes);
  assertEquals(second.secondFactor.initiated().length, 1);
});

Deno.test("restart: a lost Accept is repeated for its own packet and for no other", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path });
  await give(first, "anna", { kind: "sms", number: NUMBER });
  const login = first.login({ user: "anna" });
  await login.start();
  const passcode = passcodeSentTo(first, NUMBER);
  const packet = login.build(passcode);
  const before = await login.exchange(packet);
  assertEquals(before.kind, "accept");
  await using second = await restarted(first, { kvPath: disk.path });
  login.moveTo(second);
  assertEquals((await login.exchange(packet)).bytes, before.bytes);
  assertEquals((await login.answer(passcode)).kind, "reject");
});

Deno.test("restart: a re-issued login never joins a login of the earlier run", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path });
  await giveDevice(first, "anna");
  const login = first.login({ user: "anna" });
  await login.start("pw");
  await using second = await restarted(first, { kvPath: disk.path });
  login.moveTo(second);
  assertEquals(stepName(await login.start("pw")), DEVICE);
  assertEquals(second.secondFactor.initiated().length, 2);
  const outcomes = second.radius.monitor.conversations(9).map(({ outcome }) => outcome);
  assertEquals(outcomes, [null, "superseded"]);
});

Deno.test("restart: failures, locks, pushes and sends are not reset", async () => {
  await using disk = await openDisk();
  const toml = "[factors.pushes]\nper_user = 1\n[factors.sends]\nper_user = 1";
  await using first = await startInProcess({ kvPath: disk.path, toml });
  await giveDevice(first, "anna");
  await give(first, "bert", { kind: "sms", number: NUMBER });
  await give(first, "carl", { kind: "totp", seed: SEED });
  await first.login({ user: "anna" }).start();
  await first.login({ user: "bert" }).start();
  const failing = Array.from({ length: 10 }, () => first.login({ user: "carl" }));
  for (const login of failing) await login.start();
  await Promise.all(failing.map((login) => login.answer("letmein")));
  await using second = await restarted(first, { kvPath: disk.path, toml });
  const answers = [];
  for (const user of ["anna", "bert", "carl"]) {
    const login = second.login({ user });
    answers.push(brief(await login.start())[1]);
  }
  assertEquals(answers, [
    "Too many approval requests were sent lately. Choose another factor:",
    "The text message could not be sent. Choose another factor:",
    "Access denied.",
  ]);
});

Deno.test("restart: a TOTP time step that was used before is refused afterwards", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path });
  await give(first, "anna", { kind: "totp", seed: SEED });
  const login = first.login({ user: "anna" });
  await login.start();
  const code = appCode(first.clock.nowMs());
  assertEquals((await login.answer(code)).kind, "accept");
  await using second = await restarted(first, { kvPath: disk.path });
  const again = second.login({ user: "anna" });
  await again.start();
  assertEquals((await again.answer(code)).kind, "reject");
});

Deno.test("restart: a user who was deactivated during the restart is refused", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path });
  await register(first, "anna");
  const pairing = await giveDevice(first, "anna");
  const login = first.login({ user: "anna" });
  await login.start();
  await register(first, "anna", { active: false });
  await using second = await restarted(first, { kvPath: disk.path });
  decide(second, pairing, true);
  login.moveTo(second);
  assertEquals(brief(await login.answer("")), ["reject", "Access denied."]);
});

Deno.test("restart: an expired login is gone", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path });
  await give(first, "anna", { kind: "sms", number: NUMBER });
  const login = first.login({ user: "anna" });
  await login.start();
  await first.stop();
  await jump(first.clock, 301_000);
  await using second = await startInProcess({ kvPath: disk.path, after: first });
  login.moveTo(second);
  assertEquals(
    brief(await login.answer(passcodeSentTo(second, NUMBER)))[1],
    "This login is over. Start a new one.",
  );
});

Deno.test("restart: a cancelled login stays cancelled, and its passcode is wrong", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path });
  await give(first, "anna", { kind: "sms", number: NUMBER });
  const login = first.login({ user: "anna" });
  await login.start();
  const old = passcodeSentTo(first, NUMBER);
  await login.answer("cancel");
  await using second = await restarted(first, { kvPath: disk.path });
  login.moveTo(second);
  assertEquals((await login.answer(old)).step, "CHOOSE_WHICH_MULTIFACTOR");
  assertEquals(second.radius.monitor.alive(), 1);
});

Deno.test("restart: the embedded service keeps its request, its number and its phone", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path, embedded: true });
  await pairPhone(first, "anna");
  const login = first.login({ user: "anna" });
  const number = /number (\d\d)/.exec((await login.start()).message)?.[1];
  await using second = await restarted(first, { kvPath: disk.path, embedded: true });
  login.moveTo(second);
  assertEquals(second.services.embedded?.admin.pendingApprovals().length, 1);
  assertEquals(/number (\d\d)/.exec((await login.answer("")).message)?.[1], number);
});

Deno.test("restart: a request in progress is finished before the gateway stops", async () => {
  await using disk = await openDisk();
  const gate = createGate();
  await using first = await startInProcess({
    kvPath: disk.path,
    between: { telephony: afterSend(gate) },
  });
  await give(first, "anna", { kind: "sms", number: NUMBER });
  const login = first.login({ user: "anna" });
  const reply = login.start();
  await gate.reached();
  const stopping = first.stop(60_000);
  gate.open();
  assertEquals((await reply).step, "AWAIT_SMS_DELIVERED_PASSCODE");
  await stopping;
  const other = otherThan(passcodeSentTo(first, NUMBER));
  await using second = await restarted(first, { kvPath: disk.path });
  login.moveTo(second);
  assertEquals((await login.answer(other)).kind, "reject");
});
