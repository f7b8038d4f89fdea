// A restart in the middle: what was asked is answered by the next run, and nothing is sent twice.

import { assertEquals } from "@std/assert";
import type { BuiltRequest } from "../../support/radius_packets.ts";
import { afterSend, beforeInitiate, createGate, type Gate } from "./gates.ts";
import { type InProcess, type InProcessOptions, SECRET, startInProcess } from "./in_process.ts";
import { brief, type Login, stepName } from "./login.ts";
import { appCode, decide, give, giveDevice, otherThan, passcodeSentTo, register, SEED } from "./people.ts";
import { jump } from "./passing_time.ts";
import { pairPhone } from "./phone.ts";
import { openRecorder } from "./recorder.ts";

const NUMBER = "+4915112345678";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";

/** A directory for stores that outlive a gateway. */
interface Disk extends AsyncDisposable {
  readonly path: string;
  /** A copy of the store as it is now, as a crash would leave it. */
  copy(): Promise<string>;
}

async function openDisk(): Promise<Disk> {
  const home = await Deno.makeTempDir({ prefix: "countersign-rows-" });
  let copies = 0;
  return {
    path: `${home}/store`,
    async copy() {
      const to = `${home}/copy${++copies}`;
      for await (const { name } of Deno.readDir(home)) {
        if (name.startsWith("store")) await Deno.copyFile(`${home}/${name}`, to + name.slice("store".length));
      }
      return to;
    },
    [Symbol.asyncDispose]: () => Deno.remove(home, { recursive: true }),
  };
}

/** Stops a gateway and starts the next one on the same store. */
async function restarted(first: InProcess, options: InProcessOptions): Promise<InProcess> {
  await first.stop();
  return await startInProcess({ ...options, after: first });
}

Deno.test("restart: an approval that was asked for before counts afterwards", async () => {
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

Deno.test("restart: a passcode that was sent before is right afterwards, once", async () => {
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

Deno.test("restart: a login deep in the menu goes on at its step", async () => {
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

Deno.test("restart: an Accept that was lost is repeated to its own packet and to no other", async () => {
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

Deno.test("restart: a re-issued login never joins the one of the earlier run", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path });
  await giveDevice(first, "anna");
  const login = first.login({ user: "anna" });
  await login.start("pw");
  await using second = await restarted(first, { kvPath: disk.path });
  login.moveTo(second);
  assertEquals(stepName(await login.start("pw")), DEVICE);
  assertEquals(second.secondFactor.initiated().length, 2);
  const outcomes = second.radius.watch.conversations(9).map(({ outcome }) => outcome);
  assertEquals(outcomes, [null, "superseded"]);
});

Deno.test("restart: failures, locks, pushes and sends are not forgiven", async () => {
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

Deno.test("restart: a TOTP step that was used before is refused afterwards", async () => {
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

Deno.test("restart: a user who was deactivated meanwhile is refused", async () => {
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

Deno.test("restart: a login whose time is over is gone", async () => {
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
  assertEquals(second.radius.watch.alive(), 1);
});

Deno.test("restart: the embedded service knows its request, its number and its phone", async () => {
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

/** Sends the first packet of a login to a gateway that stands inside an effect for ever, and starts another on what the store held then. */
async function crashedInside(
  prepare: (world: InProcess) => Promise<unknown>,
  between: (gate: Gate) => InProcessOptions["between"],
): Promise<{ second: InProcess; login: Login; packet: BuiltRequest } & AsyncDisposable> {
  const disk = await openDisk();
  const gate = createGate();
  const first = await startInProcess({ kvPath: disk.path, between: between(gate) });
  await prepare(first);
  const login = first.login({ user: "anna" });
  const packet = login.buildStart("pw");
  using recorder = openRecorder(first, SECRET);
  await recorder.send(packet);
  await gate.reached();
  const second = await startInProcess({ kvPath: await disk.copy(), after: first });
  login.moveTo(second);
  return {
    second,
    login,
    packet,
    async [Symbol.asyncDispose]() {
      gate.open();
      await second[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
      await disk[Symbol.asyncDispose]();
    },
  };
}

for (
  const { kind, at } of [
    { kind: "sms", at: "AWAIT_SMS_DELIVERED_PASSCODE" },
    { kind: "voice", at: "AWAIT_VOICE_DELIVERED_PASSCODE" },
  ] as const
) {
  Deno.test(`crash: after a passcode (${kind}) was sent and before it was noted, nothing is sent twice and it is right`, async () => {
    await using crash = await crashedInside(
      (world) => give(world, "anna", { kind, number: NUMBER }),
      (gate) => ({ telephony: afterSend(gate) }),
    );
    const { second, login, packet } = crash;
    // The client sends its packet again, and then answers.
    assertEquals((await login.exchange(packet)).step, at);
    assertEquals((await login.answer(passcodeSentTo(second, NUMBER))).kind, "accept");
    assertEquals(second.telephony.requests.length, 1);
  });
}

Deno.test("crash: a push that was claimed and not made is not made afterwards; Cancel goes on", async () => {
  await using crash = await crashedInside(
    (world) => giveDevice(world, "anna"),
    (gate) => ({ secondFactor: beforeInitiate(gate) }),
  );
  const { second, login, packet } = crash;
  assertEquals((await login.exchange(packet)).step, DEVICE);
  assertEquals(second.secondFactor.initiated().length, 0);
  assertEquals((await login.answer("cancel")).step, "CHOOSE_WHICH_MULTIFACTOR");
  assertEquals((await login.answer("S")).step, DEVICE);
  assertEquals(second.secondFactor.initiated().length, 1);
});

Deno.test("crash: a push that was claimed counts against the limit", async () => {
  await using crash = await crashedInside(
    (world) => giveDevice(world, "anna"),
    (gate) => ({ secondFactor: beforeInitiate(gate) }),
  );
  const { limits } = crash.second.radius;
  for (let count = 0; count < 4; count++) {
    assertEquals(limits.pushesLeft("anna"), true);
    await crash.second.login({ user: "anna" }).start();
  }
  assertEquals(limits.pushesLeft("anna"), false);
});

Deno.test("restart: a request that is under way when the gateway stops is finished first", async () => {
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
