// Append mode: the text after the last comma of a login's password.

import { assertEquals } from "@std/assert";
import { startFirstFactorServer } from "./first_factor_server.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import {
  appCode,
  decide,
  give,
  giveDevice,
  lastRequest,
  otherThan,
  passcodeSentTo,
  register,
  SEED,
} from "./people.ts";
import { pairPhone } from "./phone.ts";

const NUMBER = "+4915112345678";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const APPEND = "[radius]\nappend_mode = true\nhold_s = 5\n";
const DENIED = ["reject", "Access denied."];
const MISMATCH = ["reject", "The submitted passcode does not match."];

function started(world: InProcess, password: string) {
  return world.login({ user: "anna" }).start(password);
}

Deno.test("append: password,code with the user's TOTP is an Accept in one round trip", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await give(world, "anna", { kind: "totp", seed: SEED });
  assertEquals((await started(world, `pw,${appCode(world.clock.nowMs())}`)).kind, "accept");
});

Deno.test("append: a wrong code is a Reject and counts as a failure", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await give(world, "anna", { kind: "totp", seed: SEED });
  const wrong = otherThan(otherThan(appCode(world.clock.nowMs())));
  assertEquals(brief(await started(world, `pw,${wrong}`)), MISMATCH);
  assertEquals(world.radius.limits.failures("anna").total, 1);
});

Deno.test("append: a code follows the last comma, so a password may contain commas and digits", async () => {
  using server = startFirstFactorServer({ password: "pass,123456,word" });
  await using world = await startInProcess({ toml: `${server.toml}append_mode = true` });
  await give(world, "anna", { kind: "totp", seed: SEED });
  const reply = await started(world, `pass,123456,word,${appCode(world.clock.nowMs())}`);
  assertEquals(reply.kind, "accept");
});

Deno.test("append: the first factor checks the password without the appended text", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: `${server.toml}append_mode = true` });
  await give(world, "anna", { kind: "totp", seed: SEED });
  const code = () => appCode(world.clock.nowMs());
  assertEquals(brief(await started(world, `wrong,${code()}`)), DENIED);
  // The wrong password used up no time step.
  assertEquals((await started(world, `right,${code()}`)).kind, "accept");
});

Deno.test("append: a code for the device is checked with the service, with a request that was opened for it", async () => {
  await using world = await startInProcess({ toml: APPEND });
  const pairing = await giveDevice(world, "anna");
  world.secondFactor.setOtp(pairing.id, "246801");
  assertEquals((await started(world, "pw,246801")).kind, "accept");
  assertEquals(brief(await started(world, "pw,246802")), MISMATCH);
});

Deno.test("append: a code for a device whose service is unavailable is a Reject and no failure", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await giveDevice(world, "anna");
  world.secondFactor.failAlways({ kind: "status", status: 500 });
  assertEquals(brief(await started(world, "pw,246801")), DENIED);
  assertEquals(world.radius.limits.failures("anna").total, 0);
});

Deno.test("append: a code of a user without TOTP or device is a Reject and no failure: nothing was checked", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await give(world, "anna", { kind: "sms", number: NUMBER });
  assertEquals(brief(await started(world, "pw,123456")), DENIED);
  assertEquals(world.radius.limits.failures("anna").total, 0);
  assertEquals(world.telephony.requests.length, 0);
});

Deno.test("append: password,push is held until the user decides on the device", async () => {
  await using world = await startInProcess({ toml: APPEND });
  const pairing = await giveDevice(world, "anna");
  world.clock.after(2000, () => decide(world, pairing, true));
  assertEquals((await started(world, "pw,push")).kind, "accept");
  world.clock.after(2000, () => decide(world, pairing, false));
  assertEquals(brief(await started(world, "pw,push")), ["reject", "Device approval was not given."]);
});

Deno.test("append: password,push without a decision is a Reject at the end of the wait", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await giveDevice(world, "anna");
  const reply = await started(world, "pw,push");
  assertEquals(brief(reply), ["reject", "Device approval was not given."]);
  assertEquals(reply.tookMs >= 5000, true);
});

Deno.test("append: password,push selects the device instead of a preferred factor", async () => {
  await using world = await startInProcess({ toml: APPEND });
  const pairing = await giveDevice(world, "anna");
  await give(world, "anna", { kind: "sms", number: NUMBER });
  world.radius.pairings.adoptPreference("anna", "sms");
  world.clock.after(1000, () => decide(world, pairing, true));
  assertEquals((await started(world, "pw,push")).kind, "accept");
  assertEquals(world.telephony.requests.length, 0);
});

for (
  const { word, kind, at } of [
    { word: "sms", kind: "sms", at: "AWAIT_SMS_DELIVERED_PASSCODE" },
    { word: "call", kind: "voice", at: "AWAIT_VOICE_DELIVERED_PASSCODE" },
  ] as const
) {
  Deno.test(`append: password,${word} sends to the verified number, and the login asks for the passcode`, async () => {
    await using world = await startInProcess({ toml: APPEND });
    await giveDevice(world, "anna");
    await give(world, "anna", { kind, number: NUMBER });
    const login = world.login({ user: "anna" });
    assertEquals((await login.start(`pw,${word}`)).step, at);
    assertEquals(world.secondFactor.requests.length, 0);
    assertEquals((await login.answer(passcodeSentTo(world, NUMBER))).kind, "accept");
  });

  Deno.test(`append: password,${word} sends nothing to a number that is registered and not verified`, async () => {
    await using world = await startInProcess({ toml: APPEND });
    await register(world, "anna", { phoneNumbers: [NUMBER] });
    assertEquals(brief(await started(world, `pw,${word}`)), DENIED);
    assertEquals(world.telephony.requests.length, 0);
    assertEquals(world.radius.limits.failures("anna").total, 0);
  });
}

Deno.test("append: password,push of a user without a device is a Reject and no failure", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await give(world, "anna", { kind: "sms", number: NUMBER });
  assertEquals(brief(await started(world, "pw,push")), DENIED);
  assertEquals(world.radius.limits.failures("anna").total, 0);
});

Deno.test("append: words are read in any case and without blanks", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await give(world, "anna", { kind: "sms", number: NUMBER });
  assertEquals((await started(world, "pw, SMS ")).step, "AWAIT_SMS_DELIVERED_PASSCODE");
});

Deno.test("append: blanks and dashes inside a code are removed", async () => {
  await using world = await startInProcess({ toml: APPEND });
  const pairing = await giveDevice(world, "anna");
  world.secondFactor.setOtp(pairing.id, "246801");
  for (const password of ["pw,246 801", "pw,246-801", "pw, 24-68 01 ", "pw,246\u00a0801"]) {
    assertEquals((await started(world, password)).kind, "accept", password);
  }
});

Deno.test("append: a code without a password is a code if no first factor is checked", async () => {
  await using world = await startInProcess({ toml: APPEND });
  const pairing = await giveDevice(world, "anna");
  world.secondFactor.setOtp(pairing.id, "246801");
  assertEquals((await started(world, "246801")).kind, "accept");
  assertEquals((await started(world, "246 801")).kind, "accept");
  assertEquals(brief(await started(world, "246802")), MISMATCH);
});

Deno.test("append: a code without a password is the password if a first factor is checked", async () => {
  using server = startFirstFactorServer({ password: "246801" });
  await using world = await startInProcess({ toml: `${server.toml}append_mode = true` });
  await giveDevice(world, "anna");
  assertEquals((await started(world, "246801")).step, DEVICE);
  assertEquals(brief(await started(world, "246802")), DENIED);
});

Deno.test("append: password,phone means password,call", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await give(world, "anna", { kind: "voice", number: NUMBER });
  assertEquals((await started(world, "pw,phone")).step, "AWAIT_VOICE_DELIVERED_PASSCODE");
});

Deno.test("append: password,auto selects the same factor as a login without it, also with an empty password", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: `${server.toml}append_mode = true` });
  await giveDevice(world, "anna");
  assertEquals((await started(world, "right,auto")).step, DEVICE);
  assertEquals(brief(await started(world, "wrong,auto")), DENIED);
  await using open = await startInProcess({ toml: APPEND });
  await giveDevice(open, "anna");
  assertEquals((await started(open, ",auto")).step, DEVICE);
  assertEquals((await started(open, "pw,auto")).step, DEVICE);
});

Deno.test("append: another separator replaces the comma", async () => {
  using server = startFirstFactorServer({ password: "pass,123456" });
  const toml = `${server.toml}append_mode = true\nappend_separator = "#"\n`;
  await using world = await startInProcess({ toml });
  await give(world, "anna", { kind: "totp", seed: SEED });
  assertEquals((await started(world, `pass,123456#${appCode(world.clock.nowMs())}`)).kind, "accept");
  assertEquals((await started(world, "pass,123456")).step, "GET_DEVICE_GENERATED_PASSCODE");
});

for (
  const password of [
    "pw",
    "pw,",
    "pw,12345",
    "pw,123456789",
    "pw,pushy",
    "push",
    "auto",
    "12345",
    "pw;123456",
  ]
) {
  Deno.test(`append: "${password}" is a password and nothing else`, async () => {
    await using world = await startInProcess({ toml: APPEND });
    const pairing = await giveDevice(world, "anna");
    assertEquals((await started(world, password)).step, DEVICE);
    assertEquals(lastRequest(world, pairing).pending, true);
  });
}

Deno.test("append: if append mode is off, a comma is part of the password", async () => {
  using server = startFirstFactorServer({ password: "right,push" });
  await using world = await startInProcess({ toml: server.toml });
  await giveDevice(world, "anna");
  assertEquals((await started(world, "right,push")).step, DEVICE);
});

Deno.test("append: an answer to a challenge is never split", async () => {
  await using world = await startInProcess({ toml: APPEND });
  const pairing = await giveDevice(world, "anna");
  world.secondFactor.setOtp(pairing.id, "246801");
  const login = world.login({ user: "anna" });
  await login.start("pw");
  assertEquals((await login.answer("pw,246801")).step, DEVICE);
});

Deno.test("append: the limit of pushes applies", async () => {
  await using world = await startInProcess({ toml: `${APPEND}[factors.pushes]\nper_user = 1` });
  await giveDevice(world, "anna");
  await started(world, "pw,push");
  assertEquals(brief(await started(world, "pw,push")), DENIED);
  assertEquals(world.secondFactor.initiated().length, 1);
});

Deno.test("append: for an appended push, the phone shows client and location instead of a number", async () => {
  await using world = await startInProcess({ toml: APPEND, embedded: true });
  const phone = await pairPhone(world, "anna");
  world.clock.after(1000, () => void phone.approve(null));
  assertEquals((await started(world, "pw,push")).kind, "accept");
});
