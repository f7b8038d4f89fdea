// Append mode: the text after the last comma of a login's password.

import { assertEquals, assertNotEquals } from "@std/assert";
import { startFirstFactorServer } from "./first_factor_server.ts";
import { type InProcess, SECRET, startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import {
  appCode,
  decide,
  give,
  giveDevice,
  NUMBER,
  otherThan,
  passcodeSentTo,
  register,
  startWith,
} from "./people.ts";
import { becomes, jump } from "./passing_time.ts";
import { pairPhone } from "./phone.ts";
import { openDisk } from "./disk.ts";
import { interceptCommits } from "../regression/failing_commits.ts";

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const APPEND = "[radius]\nappend_mode = true\nhold_s = 5\n";
const DENIED = ["reject", "Access denied."];
const SENT = ["reject", "A passcode was sent. Sign in again with your password,passcode."];
const MISMATCH = ["reject", "The submitted passcode does not match."];

function started(world: InProcess, password: string) {
  return world.login({ user: "anna" }).start(password);
}

Deno.test("append: a wrong code is a Reject and counts as a failure", async () => {
  await using world = await startWith("app", { toml: APPEND });
  const wrong = otherThan(otherThan(appCode(world.clock.nowMs())));
  assertEquals(brief(await started(world, `pw,${wrong}`)), MISMATCH);
  assertEquals(world.radius.limits.failures("anna").total, 1);
});

Deno.test("append: the first factor checks the password without the appended text", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startWith("app", { toml: `${server.toml}append_mode = true` });
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
  await using world = await startWith("device", { toml: APPEND });
  world.secondFactor.failAlways({ kind: "status", status: 500 });
  assertEquals(brief(await started(world, "pw,246801")), DENIED);
  assertEquals(world.radius.limits.failures("anna").total, 0);
});

Deno.test("append: a code of a user without TOTP or device is a Reject and no failure: nothing was checked", async () => {
  await using world = await startWith("text", { toml: APPEND });
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
  await using world = await startWith("device", { toml: APPEND });
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
  const { word, kind } of [
    { word: "sms", kind: "sms" },
    { word: "call", kind: "voice" },
    { word: "phone", kind: "voice" },
  ] as const
) {
  Deno.test(`append: password,${word} sends to the verified number; a Reject asks for password,passcode, which is accepted once`, async () => {
    await using world = await startWith("device", { toml: APPEND });
    await give(world, "anna", { kind, number: NUMBER });
    assertEquals(brief(await started(world, `pw,${word}`)), SENT);
    assertEquals(world.secondFactor.requests.length, 0);
    const passcode = passcodeSentTo(world, NUMBER);
    assertEquals((await started(world, `pw,${passcode}`)).kind, "accept");
    assertEquals(world.radius.limits.failures("anna").total, 0);
    assertNotEquals((await started(world, `pw,${passcode}`)).kind, "accept");
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
  await using world = await startWith("text", { toml: APPEND });
  assertEquals(brief(await started(world, "pw,push")), DENIED);
  assertEquals(world.radius.limits.failures("anna").total, 0);
});

Deno.test("append: password,auto selects the same factor as a login without it, also with an empty password", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startWith("device", { toml: `${server.toml}append_mode = true` });
  assertEquals((await started(world, "right,auto")).step, DEVICE);
  assertEquals(brief(await started(world, "wrong,auto")), DENIED);
  await using open = await startWith("device", { toml: APPEND });
  assertEquals((await started(open, ",auto")).step, DEVICE);
  assertEquals((await started(open, "pw,auto")).step, DEVICE);
});

Deno.test("append: another separator replaces the comma", async () => {
  using server = startFirstFactorServer({ password: "pass,123456" });
  const toml = `${server.toml}append_mode = true\nappend_separator = "#"\n`;
  await using world = await startWith("app", { toml });
  assertEquals((await started(world, `pass,123456#${appCode(world.clock.nowMs())}`)).kind, "accept");
  assertEquals((await started(world, "pass,123456")).step, "GET_DEVICE_GENERATED_PASSCODE");
});

Deno.test("append: if append mode is off, a comma is part of the password", async () => {
  using server = startFirstFactorServer({ password: "right,push" });
  await using world = await startWith("device", { toml: server.toml });
  assertEquals((await started(world, "right,push")).step, DEVICE);
});

Deno.test("append: an answer to a challenge is never split", async () => {
  await using world = await startInProcess({ toml: APPEND });
  const pairing = await giveDevice(world, "anna");
  world.secondFactor.setOtp(pairing.id, "246801");
  const login = await world.begin({ user: "anna" }, "pw");
  assertEquals((await login.answer("pw,246801")).step, DEVICE);
});

Deno.test("append: the limit of pushes applies", async () => {
  await using world = await startWith("device", { toml: `${APPEND}[factors.pushes]\nper_user = 1` });
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

for (const [word, nth] of [["push", null], ["push1", 0], ["push2", 1], ["PUSH2", 1]] as const) {
  Deno.test(
    `append: ${word} alone asks ${
      nth === null ? "a phone" : `phone ${nth + 1} of the account page`
    } if no first factor is checked`,
    async () => {
      await using world = await startWith("device", { toml: APPEND });
      await giveDevice(world, "anna");
      const page = world.radius.pairings.of("anna").map(({ id }) => id);
      world.clock.after(1000, () => {
        for (const { id } of world.secondFactor.initiated()) world.secondFactor.decide(id, { granted: true });
      });
      assertEquals((await started(world, word)).kind, "accept");
      const asked = world.secondFactor.initiated().map(({ pairingId }) => pairingId);
      assertEquals(asked.length, 1);
      if (nth !== null) assertEquals(asked, [page[nth]]);
    },
  );
}

for (const text of ["pw,push2", "pw,sms2", "pw,phone2", "sms9"]) {
  Deno.test(`append: "${text}" of a user without such a phone or number is a Reject, and nothing is sent`, async () => {
    await using world = await startWith("device", { toml: APPEND });
    await give(world, "anna", { kind: "sms", number: NUMBER });
    await give(world, "anna", { kind: "voice", number: NUMBER });
    assertEquals(brief(await started(world, text)), DENIED);
    assertEquals([world.secondFactor.initiated().length, world.telephony.requests.length], [0, 0]);
    assertEquals(world.radius.limits.failures("anna").total, 0);
  });
}

Deno.test("append: a number behind sms and phone selects the number in the order of the account page", async () => {
  await using world = await startInProcess({ toml: APPEND });
  const numbers = [NUMBER, "+4915112345679"];
  for (const number of numbers) {
    await give(world, "anna", { kind: "sms", number });
    await give(world, "anna", { kind: "voice", number });
  }
  const page = (wanted: "sms" | "voice") =>
    world.radius.pairings.of("anna").flatMap((one) =>
      (one.kind === "sms" || one.kind === "voice") && one.kind === wanted ? [one.number] : []
    );
  for (const [word, kind] of [["sms", "sms"], ["phone", "voice"]] as const) {
    for (const nth of [1, 2]) {
      const { length } = world.telephony.requests;
      assertEquals(brief(await started(world, `${word}${nth}`)), SENT);
      const passcode = passcodeSentTo(world, page(kind)[nth - 1] ?? "");
      assertEquals(world.telephony.requests.length, length + 1);
      assertEquals((await started(world, passcode)).kind, "accept");
    }
  }
});

Deno.test("append: auto and a code alone need no password if no first factor is checked; with one, they are the password", async () => {
  await using open = await startWith("device", { toml: APPEND });
  assertEquals((await started(open, "auto")).step, DEVICE);
  using server = startFirstFactorServer({ password: "push" });
  await using world = await startWith("device", { toml: `${server.toml}append_mode = true` });
  assertEquals((await started(world, "push")).step, DEVICE);
  assertEquals(brief(await started(world, "sms")), DENIED);
});

for (
  const [title, user, client, more, kind] of [
    ["of the same user at the same client", "anna", "one", {}, "accept"],
    ["of another user", "bert", "one", {}, "reject"],
    ["at another client", "anna", "two", {}, "reject"],
    ["after its end", "anna", "one", { laterMs: 301_000 }, "reject"],
    ["after a restart", "anna", "one", { restarts: true }, "accept"],
    ["after the number was removed", "anna", "one", { removes: true }, "reject"],
  ] as const
) {
  Deno.test(`append: the passcode of a Reject ${title}: ${kind}`, async () => {
    const toml = ["one", "two"].map((name) =>
      `[[radius.client]]\nname = "${name}"\naddress = ["127.0.0.1"]\nsecret = "${SECRET}"\n` +
      `nas_identifier = "${name}"\nappend_mode = true\n`
    ).join("");
    const kvPath = await Deno.makeTempFile();
    const options = {
      toml: `${toml}[factors.passcode]\nlifetime_s = 300\n`,
      kvPath,
      users: ["anna", "bert"],
    };
    let world = await startInProcess(options);
    try {
      const pairing = await give(world, "anna", { kind: "sms", number: NUMBER });
      await give(world, "bert", { kind: "sms", number: "+4915112345670" });
      const at = (name: string) => ({ more: [{ type: 32, value: new TextEncoder().encode(name) }] });
      const sent = await world.login({ user: "anna" }).start("pw,sms", at("one"));
      assertEquals(brief(sent), SENT);
      const passcode = passcodeSentTo(world, NUMBER);
      if ("laterMs" in more) await jump(world.clock, more.laterMs);
      if ("removes" in more) await world.radius.pairings.revoke(pairing);
      if ("restarts" in more) {
        await world.stop();
        world = await startInProcess({ ...options, after: world });
      }
      assertEquals((await world.login({ user }).start(`pw,${passcode}`, at(client))).kind, kind);
    } finally {
      await world[Symbol.asyncDispose]();
      await Deno.remove(kvPath);
    }
  });
}

for (const password of ["pw", "pw,auto"]) {
  Deno.test(`append: a text that "${password}" sent is answered to the challenge or appended to the next login, and counts once`, async () => {
    await using world = await startWith("text", { toml: APPEND });
    const first = world.login({ user: "anna" });
    assertEquals((await first.start(password)).step, "AWAIT_SMS_DELIVERED_PASSCODE");
    const appended = `pw,${passcodeSentTo(world, NUMBER)}`;
    assertEquals((await started(world, appended)).kind, "accept");
    assertEquals((await started(world, appended)).kind, "reject");
    const second = world.login({ user: "anna" });
    await second.start(password);
    const passcode = passcodeSentTo(world, NUMBER);
    assertEquals((await second.answer(passcode)).kind, "accept");
    assertEquals((await started(world, `pw,${passcode}`)).kind, "reject");
  });
}

Deno.test("append: a passcode that the next login used answers no challenge any more, also not from another place", async () => {
  await using world = await startWith("text", { toml: APPEND });
  const first = world.login({ user: "anna", nasPort: 1 });
  await first.start("pw");
  const passcode = passcodeSentTo(world, NUMBER);
  const second = world.login({ user: "anna", nasPort: 2 });
  assertEquals((await second.start(`pw,${passcode}`)).kind, "accept");
  assertEquals((await first.answer(passcode)).kind, "reject");
  assertEquals(world.radius.monitor.alive(), 0);
});

Deno.test("append: a next login that could not be recorded ends no challenge, and with the next try it does, also after a restart", async () => {
  await using disk = await openDisk();
  const options = { kvPath: disk.path, toml: APPEND };
  await using world = await startWith("text", options);
  const first = world.login({ user: "anna", nasPort: 1 });
  await first.start("pw");
  const passcode = passcodeSentTo(world, NUMBER);
  const second = world.login({ user: "anna", nasPort: 2 });
  const packet = second.buildStart(`pw,${passcode}`);
  const commits = interceptCommits(world);
  commits.failWhen(() => true);
  await world.client.sendRaw(packet.bytes);
  await becomes("it is dropped", () => world.radius.monitor.counters()["dropped_store_failed"] === 1);
  commits.heal();
  assertEquals(world.radius.monitor.alive(), 1);
  assertEquals((await second.exchange(packet)).kind, "accept");
  await world.stop();
  await using restarted = await startInProcess({ ...options, after: world });
  first.moveTo(restarted);
  assertEquals((await first.answer(passcode)).kind, "reject");
});

Deno.test("append: wrong codes for a passcode of a Reject count, and lock the user", async () => {
  await using world = await startWith("text", { toml: APPEND });
  await started(world, "pw,sms");
  const passcode = passcodeSentTo(world, NUMBER);
  assertEquals(brief(await started(world, `pw,${otherThan(passcode)}`)), MISMATCH);
  assertEquals(world.radius.limits.failures("anna").total, 1);
  assertEquals((await started(world, `pw,${passcode}`)).kind, "accept");
});

Deno.test("append: the passcode of a Reject does not replace the first factor, and the message has the separator", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({
    toml: `${server.toml}append_mode = true\nappend_separator = "#"`,
  });
  await give(world, "anna", { kind: "sms", number: NUMBER });
  assertEquals(brief(await started(world, "right#sms")), [
    "reject",
    "A passcode was sent. Sign in again with your password#passcode.",
  ]);
  const passcode = passcodeSentTo(world, NUMBER);
  assertEquals(brief(await started(world, `wrong#${passcode}`)), DENIED);
  assertEquals(brief(await started(world, passcode)), DENIED);
  assertEquals((await started(world, `right#${passcode}`)).kind, "accept");
});

Deno.test("append: a text that cannot be sent is a Reject, not a challenge", async () => {
  await using world = await startWith("text", { toml: `${APPEND}[factors.sends]\nper_user = 1` });
  assertEquals(brief(await started(world, "pw,sms")), SENT);
  assertEquals(brief(await started(world, "pw,sms")), DENIED);
  assertEquals(world.telephony.requests.length, 1);
});

const scrv1 = (password: string, code: string) => `SCRV1:${btoa(password)}:${btoa(code)}`;
for (const appendMode of ["append_mode = true\n", ""]) {
  Deno.test(`SCRV1: password and code of OpenVPN${appendMode === "" ? ", also without append mode" : ""}`, async () => {
    using server = startFirstFactorServer({ password: "right,\u00e9" });
    await using world = await startWith("app", { toml: server.toml + appendMode });
    const code = () => appCode(world.clock.nowMs());
    assertEquals(brief(await started(world, scrv1("wrong", code()))), DENIED);
    assertEquals((await started(world, scrv1("right,\u00c3\u00a9", code()))).kind, "accept");
    assertEquals((await started(world, scrv1("right,\u00e9", ""))).step, "GET_DEVICE_GENERATED_PASSCODE");
    assertEquals(brief(await started(world, scrv1("right,\u00e9", otherThan(otherThan(code()))))), MISMATCH);
    assertEquals(brief(await started(world, scrv1("right,\u00e9", "12"))), MISMATCH);
    assertEquals(world.radius.limits.failures("anna").total, 2);
  });
}

Deno.test("SCRV1: a word in the place of the code", async () => {
  await using world = await startInProcess({ toml: APPEND });
  const pairing = await giveDevice(world, "anna");
  world.clock.after(1000, () => decide(world, pairing, true));
  assertEquals((await started(world, scrv1("pw", "push"))).kind, "accept");
});

for (const position of ["behind", "front"] as const) {
  const joined = (password: string, code: string) => position === "front" ? code + password : password + code;
  Deno.test(`code_position ${position}: a code without a separator, and one failure for a wrong password or code`, async () => {
    using server = startFirstFactorServer({ password: "r1ght" });
    const toml = `${server.toml}append_mode = true\ncode_position = "${position}"\n`;
    await using world = await startWith("app", { toml });
    const code = () => appCode(world.clock.nowMs());
    const failures = () => world.radius.limits.failures("anna").total;
    assertEquals((await started(world, joined("r1ght", code()))).kind, "accept");
    assertEquals(brief(await started(world, joined("r1ght", otherThan(otherThan(code()))))), MISMATCH);
    assertEquals(failures(), 1);
    assertEquals(brief(await started(world, joined("wrong", "111111"))), DENIED);
    assertEquals(failures(), 2);
    assertEquals((await started(world, "r1ght")).step, "GET_DEVICE_GENERATED_PASSCODE");
  });

  Deno.test(`code_position ${position}: eight digits of a phone, a passcode of a Reject, and a password with digits`, async () => {
    using server = startFirstFactorServer({ password: "77right77" });
    const toml = `${server.toml}append_mode = true\ncode_position = "${position}"\n`;
    await using world = await startInProcess({ toml, users: ["anna", "bert"] });
    const pairing = await giveDevice(world, "anna", { totpLength: 8 });
    world.secondFactor.setOtp(pairing.id, "24680135");
    assertEquals((await started(world, joined("77right77", "24680135"))).kind, "accept");
    await give(world, "anna", { kind: "sms", number: NUMBER });
    assertEquals(brief(await started(world, "77right77,sms")), SENT);
    assertEquals((await started(world, joined("77right77", passcodeSentTo(world, NUMBER)))).kind, "accept");
    server.password = "123456right123456";
    await give(world, "bert", { kind: "sms", number: "+4915112345670" });
    const login = world.login({ user: "bert" });
    assertEquals((await login.start("123456right123456")).step, "AWAIT_SMS_DELIVERED_PASSCODE");
  });
}
