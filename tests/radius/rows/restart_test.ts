// Starts and restarts of the gateway, and crashes.

import { assertEquals } from "@std/assert";
import { openDisk } from "./disk.ts";
import { afterSend, beforeInitiate, createGate, type Gate } from "./gates.ts";
import { startFirstFactorServer } from "./first_factor_server.ts";
import { type InProcess, type InProcessOptions, SECRET, startInProcess } from "./in_process.ts";
import { brief, type Login, stepName } from "./login.ts";
import {
  appCode,
  decide,
  give,
  giveDevice,
  NUMBER,
  otherThan,
  passcodeSentTo,
  register,
  SEED,
  startWith,
} from "./people.ts";
import { jump } from "./passing_time.ts";
import { pairPhone } from "./phone.ts";
import { readStore } from "../../../platform/backup/read_store.ts";
import { openRestoreTarget } from "../../../platform/backup/restore_target.ts";
import type { BuiltRequest } from "../../support/radius_packets.ts";
import { openRecorder } from "./recorder.ts";

// A restart during a login: the next run answers, and no message is sent twice.

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
  await using first = await startWith("text", { kvPath: disk.path });
  const login = await first.begin({ user: "anna", nasPort: undefined });
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
  const login = await first.begin({ user: "anna" }, "");
  await login.answer("T");
  await using second = await restarted(first, { kvPath: disk.path });
  login.moveTo(second);
  assertEquals((await login.answer("1")).step, "VERIFY_SMS_PHONE_NUMBER");
  assertEquals((await login.answer(passcodeSentTo(second, NUMBER))).kind, "accept");
});

Deno.test("restart: a packet that was answered before gets the same answer, and nothing runs again", async () => {
  await using disk = await openDisk();
  await using first = await startWith("device", { kvPath: disk.path });
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
  await using first = await startWith("text", { kvPath: disk.path });
  const login = await first.begin({ user: "anna" });
  const passcode = passcodeSentTo(first, NUMBER);
  const packet = login.build(passcode);
  const before = await login.exchange(packet);
  assertEquals(before.kind, "accept");
  await using second = await restarted(first, { kvPath: disk.path });
  login.moveTo(second);
  assertEquals((await login.exchange(packet)).bytes, before.bytes);
  assertEquals((await login.answer(passcode)).kind, "reject");
});

/** An Accept by a code of an authenticator app, and the packet that got it. */
async function acceptByApp(world: InProcess, code: string) {
  await give(world, "anna", { kind: "totp", seed: SEED });
  const login = await world.begin({ user: "anna" });
  const packet = login.build(code);
  const reply = await login.exchange(packet);
  assertEquals(reply.kind, "accept");
  return { login, packet, reply };
}

/** The answer to a code in a new login. */
async function tryCode(world: InProcess, code: string): Promise<string> {
  const login = await world.begin({ user: "anna" });
  return (await login.answer(code)).kind;
}

Deno.test("restart: a code that was used before a crash is refused after it, and a lost Accept is repeated", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path });
  const code = appCode(first.clock.nowMs());
  const { login, packet, reply } = await acceptByApp(first, code);
  await using second = await startInProcess({ kvPath: await disk.copy(), after: first });
  login.moveTo(second);
  assertEquals((await login.exchange(packet)).bytes, reply.bytes);
  assertEquals((await login.answer(code)).kind, "reject");
  assertEquals(await tryCode(second, code), "reject");
  await jump(second.clock, 30_000);
  assertEquals(await tryCode(second, appCode(second.clock.nowMs())), "accept");
});

Deno.test("restart: a backup contains the codes that were used, and the restored store refuses them", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path });
  const code = appCode(first.clock.nowMs());
  await acceptByApp(first, code);
  const { nowMs } = first.clock;
  const settings = { auditRetentionMs: 1e9, conversationTtlMs: 30_000 };
  const path = `${disk.path}.restored`;
  const target = await openRestoreTarget(path, { open: Deno.openKv, nowMs });
  for await (const batch of readStore(first.kv, { nowMs, settings })) {
    for (const record of batch) await target.writer.add(record);
  }
  await target.finish();
  await using second = await startInProcess({ kvPath: path, after: first });
  assertEquals(await tryCode(second, code), "reject");
});

Deno.test("an Accept by an app writes its history and audit records, and no key of its login or its pairing", async () => {
  await using world = await startInProcess();
  const { commit } = world.store;
  const keys: Deno.KvKey[] = [];
  const lines: number[] = [];
  world.store.commit = (transaction) => {
    for (const mutation of transaction.mutations) {
      keys.push(mutation.type === "audit" ? ["audit"] : mutation.key.slice(0, 1));
    }
    lines.push(transaction.journal?.length ?? 0);
    assertEquals(transaction.checks ?? [], []);
    return commit(transaction);
  };
  await give(world, "anna", { kind: "totp", seed: SEED });
  const login = await world.begin({ user: "anna" });
  keys.length = lines.length = 0;
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
  assertEquals([keys, lines], [[["history"], ["audit"]], [2]]);
});

Deno.test("restart: with state = name, a wrong password in another login does not take the State of the login before it", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using disk = await openDisk();
  const options = { kvPath: disk.path, toml: `${server.toml}state = "name"` };
  await using first = await startWith("app", options);
  const login = await first.begin({ user: "anna", nasPort: 7 }, "right");
  assertEquals((await first.login({ user: "anna", nasPort: 7 }).start("wrong")).kind, "reject");
  await using second = await restarted(first, options);
  login.moveTo(second);
  assertEquals((await login.answer(appCode(second.clock.nowMs()))).kind, "accept");
});

Deno.test("restart: a re-issued login never joins a login of the earlier run", async () => {
  await using disk = await openDisk();
  await using first = await startWith("device", { kvPath: disk.path });
  const login = await first.begin({ user: "anna" }, "pw");
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
  await using first = await startWith("device", { kvPath: disk.path, toml });
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

Deno.test("restart: a user who was deactivated during the restart is refused", async () => {
  await using disk = await openDisk();
  await using first = await startInProcess({ kvPath: disk.path });
  await register(first, "anna");
  const pairing = await giveDevice(first, "anna");
  const login = await first.begin({ user: "anna" });
  await register(first, "anna", { active: false });
  await using second = await restarted(first, { kvPath: disk.path });
  decide(second, pairing, true);
  login.moveTo(second);
  assertEquals(brief(await login.answer("")), ["reject", "Access denied."]);
});

Deno.test("restart: an expired login is gone", async () => {
  await using disk = await openDisk();
  await using first = await startWith("text", { kvPath: disk.path });
  const login = await first.begin({ user: "anna" });
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
  await using first = await startWith("text", { kvPath: disk.path });
  const login = await first.begin({ user: "anna" });
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

// Flow rows at the start of a login: the order of factors, and who is refused.

const MENU = ["CHOOSE_WHICH_MULTIFACTOR", "Choose a second factor:"];

/** A factor, how a user enrols it, and the first step of a login with it. */
const FACTORS = [
  {
    factor: "device",
    get: (world: InProcess, user: string) => giveDevice(world, user),
    begins: [
      "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
      "Authorize this login on your device, then press continue or type ok.",
    ],
  },
  {
    factor: "sms",
    get: (world: InProcess, user: string) => give(world, user, { kind: "sms", number: NUMBER }),
    begins: ["AWAIT_SMS_DELIVERED_PASSCODE", "Enter the passcode from the text message."],
  },
  {
    factor: "voice",
    get: (world: InProcess, user: string) => give(world, user, { kind: "voice", number: NUMBER }),
    begins: ["AWAIT_VOICE_DELIVERED_PASSCODE", "Enter the passcode conveyed by voice."],
  },
  {
    factor: "totp",
    get: (world: InProcess, user: string) => give(world, user, { kind: "totp", seed: SEED }),
    begins: ["GET_DEVICE_GENERATED_PASSCODE", "Enter the passcode that your device generates."],
  },
] as const;

for (const { factor, get, begins } of FACTORS) {
  Deno.test(`start: a login of a user whose only factor is ${factor} begins with it`, async () => {
    await using world = await startInProcess();
    await get(world, "anna");
    assertEquals(brief(await world.login({ user: "anna" }).start()), [...begins]);
  });
}

Deno.test("start: with several factors, device comes first, then sms, then voice, then totp", async () => {
  await using world = await startInProcess();
  for (const [at, { begins }] of FACTORS.entries()) {
    const user = `user${at}`;
    // The factors are added in reverse, so that the result does not depend on their order.
    for (const { get } of FACTORS.slice(at).toReversed()) await get(world, user);
    assertEquals(brief(await world.login({ user }).start()), [...begins]);
  }
});

Deno.test("start: the preferred factor comes first, and only while the user has it", async () => {
  await using world = await startInProcess();
  const { pairings } = world.radius;
  for (const { get } of FACTORS) await get(world, "anna");
  pairings.adoptPreference("anna", "voice");
  assertEquals(
    (await world.login({ user: "anna" }).start()).step,
    "AWAIT_VOICE_DELIVERED_PASSCODE",
  );
  for (const { id, kind } of [...pairings.of("anna")]) if (kind === "voice") await pairings.revoke(id);
  assertEquals(
    (await world.login({ user: "anna" }).start()).step,
    "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
  );
});

Deno.test("start: a factor that is not enabled is skipped", async () => {
  await using world = await startWith("device", { toml: `[factors]\nenabled = ["sms", "voice", "totp"]` });
  await give(world, "anna", { kind: "sms", number: NUMBER });
  assertEquals((await world.login({ user: "anna" }).start()).step, "AWAIT_SMS_DELIVERED_PASSCODE");
  assertEquals(world.secondFactor.requests.length, 0);
});

Deno.test("start: an empty password, or none, leads to the menu, whatever factors the user has", async () => {
  await using world = await startWith("device");
  const login = world.login({ user: "anna" });
  assertEquals(brief(await login.exchange(login.buildStart("", { password: undefined }))), MENU);
  assertEquals(brief(await world.login({ user: "anna" }).start("")), MENU);
  assertEquals(world.secondFactor.requests.length, 0);
});

Deno.test("start: a user without a pairing reaches the menu, also with a registered number", async () => {
  await using world = await startInProcess();
  await register(world, "anna", { phoneNumbers: [NUMBER] });
  assertEquals(brief(await world.login({ user: "anna" }).start()), MENU);
  // A login with only a user name sends no message.
  assertEquals(world.telephony.requests.length, 0);
});

Deno.test("start: a preferred text message that the service refuses leads to the menu with a message", async () => {
  await using world = await startWith("text");
  world.telephony.failNext({ kind: "status", status: 400 });
  assertEquals(brief(await world.login({ user: "anna" }).start()), [
    "CHOOSE_WHICH_MULTIFACTOR",
    "The text message could not be sent. Choose another factor:",
  ]);
});

Deno.test("start: a preferred call that the service refuses continues at the passcode", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "voice", number: NUMBER });
  world.telephony.failNext({ kind: "status", status: 400 });
  assertEquals((await world.login({ user: "anna" }).start()).step, "AWAIT_VOICE_DELIVERED_PASSCODE");
});

Deno.test("start: if an approval request cannot be opened, the login stays at the device step, where Cancel works", async () => {
  await using world = await startWith("device");
  world.secondFactor.failNext({ kind: "status", status: 500 });
  const login = world.login({ user: "anna" });
  assertEquals(brief(await login.start()), [
    "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
    "The approval request could not be sent to your device. Type cancel to choose another factor.",
  ]);
  assertEquals(brief(await login.answer("cancel")), MENU);
});

// A crash during an effect: the next run continues the login, and repeats no effect.

/**
 * Sends the first packet of a login to a gateway that never finishes an effect. Then starts another gateway on a copy
 * of its store.
 */
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
  Deno.test(`crash: after a crash between sending a passcode (${kind}) and recording it, it is not sent again and is right`, async () => {
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

Deno.test("crash: a push that was claimed and not sent is not sent later; Cancel works", async () => {
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
