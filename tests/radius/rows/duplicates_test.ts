// Repeated packets, and answers that are sent again.

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { afterStatus, beforeInitiate, createGate } from "./gates.ts";
import { type InProcess, SECRET, startInProcess } from "./in_process.ts";
import { brief, type Login, stepName } from "./login.ts";
import { becomes, jump, pass } from "./passing_time.ts";
import { answered, openRecorder, sent } from "./recorder.ts";
import { appCode, decide, giveDevice, lastRequest, NUMBER, passcodeSentTo, startWith } from "./people.ts";
import { pairPhone } from "./phone.ts";
import { interceptCommits } from "../regression/failing_commits.ts";

// Duplicates (RFC 5080 §2.2.2), and a login or answer that is re-issued with another identifier.

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";

Deno.test("duplicates: the same packet again while it is in progress gets no answer", async () => {
  const gate = createGate();
  await using world = await startInProcess({ between: { secondFactor: beforeInitiate(gate) } });
  using recorder = openRecorder(world, SECRET);
  await giveDevice(world, "anna");
  const packet = world.login({ user: "anna" }).buildStart("pw");
  await recorder.send(packet);
  await gate.reached();
  await recorder.send(packet, packet, packet, packet);
  assertEquals(await recorder.replies(), []);
  gate.open();
  assertEquals(answered(await recorder.replies(1)), { [packet.identifier]: 1 });
  assertEquals([gate.calls(), world.secondFactor.initiated().length], [1, 1]);
  assertEquals(world.radius.monitor.counters()["dropped_duplicate_in_progress"], 4);
});

Deno.test("duplicates: the same packet again after its answer gets the same octets, and nothing runs twice", async () => {
  await using world = await startWith("device");
  const login = world.login({ user: "anna" });
  const packet = login.buildStart("pw");
  const first = await login.exchange(packet);
  const again = await login.exchange(packet);
  assertEquals(again.bytes, first.bytes);
  assertEquals(world.secondFactor.initiated().length, 1);
});

Deno.test("duplicates: a delayed Reject is sent once, and repeated octet for octet", async () => {
  await using world = await startWith("text");
  const login = await world.begin({ user: "anna" });
  const packet = login.build("000");
  const replies = await sent(world, [packet, packet, packet], 1500);
  assertEquals(replies.length, 1);
  assertEquals((await login.exchange(packet)).bytes, replies[0]);
  assertEquals(world.radius.limits.failures("anna").total, 1);
});

Deno.test("duplicates: a lost Accept is sent again, octet for octet", async () => {
  await using world = await startWith("text");
  const login = await world.begin({ user: "anna" });
  const packet = login.build(passcodeSentTo(world, NUMBER));
  const first = await login.exchange(packet);
  assertEquals(first.kind, "accept");
  assertEquals((await login.exchange(packet)).bytes, first.bytes);
});

Deno.test("duplicates: a login without State after a challenge is another session, with its own push and State", async () => {
  await using world = await startWith("device");
  const first = world.login({ user: "anna", nasPort: 9 });
  const second = world.login({ user: "anna", nasPort: 9 });
  assertEquals((await first.start("pw")).step, DEVICE);
  const { step } = await second.start("pw");
  assertMatch(step, /^SECONDFACTOR_AWAIT_DEVICE_APPROVAL\.[A-Za-z0-9_-]{22}$/);
  assertEquals([world.secondFactor.initiated().length, world.radius.monitor.alive()], [2, 1]);
  const [, own] = world.secondFactor.initiated();
  world.secondFactor.decide(own?.id ?? "", { granted: true });
  // The first session was replaced: it has the bare name, which selects nothing now.
  assertEquals(brief(await first.answer("")), ["reject", "Device approval was not given."]);
  assertEquals((await second.answer("")).kind, "accept");
  assertEquals(world.radius.monitor.counters().logins_joined, 0);
});

Deno.test("duplicates: a second login is another session with its own text", async () => {
  await using world = await startWith("text");
  const login = await world.begin({ user: "anna" }, "pw");
  const again = await login.start("pw");
  assertEquals(stepName(again), "AWAIT_SMS_DELIVERED_PASSCODE");
  assertEquals(world.telephony.requests.length, 2);
});

Deno.test("duplicates: a login does not join with an empty password, with another one, or from another tuple", async () => {
  const gate = createGate();
  const toml = "[radius]\nappend_mode = true";
  await using world = await startWith("device", { toml, between: { secondFactor: beforeInitiate(gate) } });
  using recorder = openRecorder(world, SECRET);
  const login = world.login({ user: "anna" });
  const packets = [login.buildStart(",push"), login.buildStart(",push"), login.buildStart("pw,push")];
  const other = world.login({ user: "anna" }).buildStart("pw,push");
  for (const [count, packet] of [...packets, other].entries()) {
    await recorder.send(packet);
    await gate.reached(count + 1);
  }
  gate.open();
  assertEquals(world.radius.monitor.counters().logins_joined, 0);
});

Deno.test("duplicates: a login that is re-issued while the push is created gets the answer, and the older packet none", async () => {
  const gate = createGate();
  await using world = await startWith("device", { between: { secondFactor: beforeInitiate(gate) } });
  const login = world.login({ user: "anna" });
  const packets = [login.buildStart("pw"), login.buildStart("pw"), login.buildStart("pw")];
  using recorder = openRecorder(world, SECRET);
  await recorder.send(...packets);
  await gate.reached();
  await pass(world.clock, 400);
  gate.open();
  assertEquals(answered(await recorder.replies(1)), { [packets[2]?.identifier ?? -1]: 1 });
  assertEquals(gate.calls(), 1);
});

Deno.test("duplicates: a login that is re-issued after the window does not join, although the first one still waits", async () => {
  await using world = await startInProcess({
    toml: '[radius]\nlogin_join_window_s = 10\ndevice = "hold"\nhold_s = 60',
  });
  await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  const pushes = () => world.secondFactor.initiated().length;
  const joined = () => world.radius.monitor.counters().logins_joined;
  await world.client.sendRaw(login.buildStart("pw").bytes);
  await becomes("the decision is asked for", () => world.secondFactor.requests.length >= 2);
  await pass(world.clock, 9000);
  await world.client.sendRaw(login.buildStart("pw").bytes);
  await becomes("it joins", () => joined() === 1);
  await pass(world.clock, 2000);
  assertEquals(pushes(), 1);
  await world.client.sendRaw(login.buildStart("pw").bytes);
  await becomes("another push is sent", () => pushes() === 2);
  assertEquals(joined(), 1);
});

Deno.test("duplicates: a join is in the audit log and in the log, with both sources", async () => {
  const gate = createGate();
  await using world = await startWith("device", { between: { secondFactor: beforeInitiate(gate) } });
  const login = world.login({ user: "anna" });
  using recorder = openRecorder(world, SECRET);
  await recorder.send(login.buildStart("pw"), login.buildStart("pw"));
  await gate.reached();
  gate.open();
  await recorder.replies(1);
  const joined: Record<string, unknown>[] = [];
  for await (const { value } of world.store.list<Record<string, unknown>>(["audit"])) {
    if (value?.action === "login.joined") joined.push(value);
  }
  assertEquals(joined.map(({ object, sources }) => [object, sources]), [
    ["user:anna", ["127.0.0.1", "127.0.0.1"]],
  ]);
  const lines = (await world.logLines()).filter((line) => line.includes("login joined"));
  assertEquals(lines.length, 1);
  assert(lines[0]?.includes("source=127.0.0.1") && lines[0].includes("firstSource=127.0.0.1"), lines[0]);
});

Deno.test("duplicates: with another password it is a new login, and the approval of the old one counts for no login", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = await world.begin({ user: "anna" }, "guess");
  const old = lastRequest(world, pairing);
  await login.start("right");
  assertNotEquals(lastRequest(world, pairing).id, old.id);
  world.secondFactor.decide(old.id, { granted: true });
  assertEquals(stepName(await login.answer("")), DEVICE);
  const [, ended] = world.radius.monitor.conversations(2);
  assertEquals(ended?.outcome, "superseded");
});

Deno.test("duplicates: an embedded request is cancelled when another password supersedes its login", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = await world.begin({ user: "anna" }, "guess");
  await login.start("right");
  await phone.untilRequests(1);
});

Deno.test("duplicates: a password that supersedes a login while its push is created gets the only answer", async () => {
  const gate = createGate();
  await using world = await startWith("device", { between: { secondFactor: beforeInitiate(gate) } });
  const login = world.login({ user: "anna" });
  const old = login.buildStart("guess");
  const fresh = login.buildStart("right");
  using recorder = openRecorder(world, SECRET);
  await recorder.send(old);
  await gate.reached(1);
  await recorder.send(fresh);
  await gate.reached(2);
  gate.open();
  await pass(world.clock, 400);
  assertEquals(answered(await recorder.replies(1)), { [fresh.identifier]: 1 });
  assertEquals(world.radius.monitor.alive(), 1);
});

Deno.test("duplicates: an older packet whose login was joined gets no answer, also when it is sent again", async () => {
  const gate = createGate();
  await using world = await startWith("device", { between: { secondFactor: beforeInitiate(gate) } });
  const login = world.login({ user: "anna" });
  const [old, fresh] = [login.buildStart("pw"), login.buildStart("pw")];
  using recorder = openRecorder(world, SECRET);
  await recorder.send(old);
  await gate.reached();
  await recorder.send(fresh);
  await pass(world.clock, 200);
  gate.open();
  await pass(world.clock, 400);
  await recorder.send(old);
  assertEquals(answered(await recorder.replies(1)), { [fresh.identifier]: 1 });
});

Deno.test("duplicates: two users on one port are two logins", async () => {
  await using world = await startInProcess();
  const anna = await giveDevice(world, "anna");
  await giveDevice(world, "bert");
  const first = world.login({ user: "anna", nasPort: 5 });
  const second = world.login({ user: "bert", nasPort: 5 });
  await first.start("pw");
  await second.start("pw");
  decide(world, anna, true);
  // Two user names share the port, so it does not distinguish logins: from then on State carries a token.
  assertMatch((await second.answer("")).step, /^SECONDFACTOR_AWAIT_DEVICE_APPROVAL\.[A-Za-z0-9_-]{22}$/);
  assertEquals((await first.answer("")).kind, "accept");
  assert(world.secondFactor.initiated().length === 2);
});

Deno.test("duplicates: a push that was being created when its login was superseded disappears from the phone", async () => {
  const gate = createGate();
  await using world = await startInProcess({
    embedded: true,
    between: { secondFactor: beforeInitiate(gate) },
  });
  const phone = await pairPhone(world, "anna");
  const login = world.login({ user: "anna" });
  using recorder = openRecorder(world, SECRET);
  await recorder.send(login.buildStart("guess"));
  await gate.reached(1);
  const fresh = login.exchange(login.buildStart("right"));
  await gate.reached(2);
  gate.open();
  await fresh;
  await pass(world.clock, 200);
  await phone.untilRequests(1);
});

// An answer that is re-issued with another identifier, because the first reply was lost or is late.

const GONE = ["reject", "This login is over. Start a new one."];

/** A login at the menu. */
async function menuOf(world: InProcess): Promise<Login> {
  const login = await world.begin({ user: "anna" }, "");
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
  await using world = await startWith("device", { toml: "[radius]\nlogin_join_window_s = 10" });
  const login = await menuOf(world);
  const menu = new TextEncoder().encode("CHOOSE_WHICH_MULTIFACTOR");
  await login.answer("S", { state: menu });
  await jump(world.clock, 11_000);
  assertEquals(brief(await login.answer("S", { state: menu })), GONE);
  // The live conversation continues.
  assertEquals((await login.answer("", { state: new TextEncoder().encode(DEVICE) })).step, DEVICE);
});

Deno.test("duplicates: a different answer to the same challenge is not a re-issued one", async () => {
  await using world = await startWith("device");
  const login = await menuOf(world);
  const menu = new TextEncoder().encode("CHOOSE_WHICH_MULTIFACTOR");
  await login.answer("S", { state: menu });
  assertEquals(brief(await login.answer("T", { state: menu })), GONE);
});

Deno.test("duplicates: a re-issued answer after an Accept is a Reject", async () => {
  await using world = await startWith("text");
  const login = await world.begin({ user: "anna" });
  const passcode = passcodeSentTo(world, NUMBER);
  assertEquals((await login.answer(passcode)).kind, "accept");
  assertEquals(brief(await login.answer(passcode)), GONE);
  assertEquals(world.radius.monitor.counters()["accepts"], 1);
});

Deno.test("duplicates: ten simultaneous packets with the right passcode yield one Accept", async () => {
  await using world = await startWith("text");
  const login = await world.begin({ user: "anna" });
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
  const login = await world.begin({ user: "anna" });
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

for (const state of ["name", "token"]) {
  Deno.test(`duplicates: a copy of a Cancel by another socket waits for its commit, and later gets the same answer (state = ${state})`, async () => {
    await using world = await startWith("app", { toml: `[radius]\nstate = "${state}"` });
    const login = await world.begin({ user: "anna" }, "pw");
    const packet = login.build("cancel");
    const release = interceptCommits(world).hold();
    await world.client.sendRaw(packet.bytes);
    await becomes("the first copy is handled", () => world.radius.monitor.counters().requests === 2);
    using recorder = openRecorder(world, SECRET);
    await recorder.send(packet);
    assertEquals(await recorder.replies(), []);
    release();
    const [reply] = await recorder.replies(1);
    using late = world.newClient();
    login.moveTo({ client: late, clock: world.clock });
    const again = await login.exchange(packet);
    assertEquals(again.bytes, reply);
    assertEquals(stepName(await login.answer("D")), "GET_DEVICE_GENERATED_PASSCODE");
    assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
  });
}

Deno.test("duplicates: a login that begins during the commit of a Cancel replaces the login of the Cancel", async () => {
  await using world = await startWith("app", { toml: '[radius]\nstate = "name"' });
  const login = await world.begin({ user: "anna", nasPort: 7 }, "pw");
  const release = interceptCommits(world).hold();
  await world.client.sendRaw(login.build("cancel").bytes);
  await becomes("the Cancel is handled", () => world.radius.monitor.counters().requests === 2);
  using other = world.newClient();
  const next = world.login({ user: "anna", nasPort: 7 });
  next.moveTo({ client: other, clock: world.clock });
  const started = next.start("pw");
  await becomes("the login is handled", () => world.radius.monitor.counters().requests === 3);
  release();
  await started;
  assertEquals((await next.answer(appCode(world.clock.nowMs()))).kind, "accept");
  assertEquals(world.radius.monitor.alive(), 0);
});
