// Packets that wait until the directory has loaded their user.

import { assert, assertEquals } from "@std/assert";
import { ACCEPT_PATHS } from "./accept_paths.ts";
import { createGate } from "./gates.ts";
import { type InProcess, SECRET, startInProcess } from "./in_process.ts";
import { type Answer, exchangeJudged } from "./login.ts";
import { becomes, jump, turn, whileTimePasses } from "./passing_time.ts";
import { appCode, decide, give, giveDevice, register, SEED, startWith } from "./people.ts";
import { openRecorder } from "./recorder.ts";

const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const dropped = ({ radius }: InProcess, reason: string) => radius.monitor.counters()[`dropped_${reason}`];
const step = (octets: Uint8Array | null) => new TextDecoder().decode(octets ?? new Uint8Array());

/** Whole logins, each packet and each lookup after a wait with a user who is not in memory. */
const LOGINS: Readonly<Record<string, (world: InProcess) => Promise<Answer>>> = {
  ...ACCEPT_PATHS,
  async "Cancel and a code"(world) {
    await give(world, "anna", { kind: "totp", seed: SEED });
    const login = await world.begin({ user: "anna" });
    await login.answer("cancel");
    await login.answer("D");
    return await login.answer(appCode(world.clock.nowMs()));
  },
};

for (const [title, play] of Object.entries(LOGINS)) {
  Deno.test(`prepare: ${title} ends in Accept when the user must be loaded each time`, async () => {
    await using world = await startInProcess({
      toml: '[radius]\nappend_mode = true\n[radius.reply.group."staff"]\nClass = "staff"\n',
    });
    world.people.onPrepare(() => Promise.resolve());
    assertEquals((await play(world)).kind, "accept");
    assert(world.people.prepared > 0);
  });
}

Deno.test("prepare: a packet waits for its user, and its retransmissions meanwhile are not handled", async () => {
  await using world = await startWith("app");
  const gate = createGate();
  world.people.onPrepare(() => gate.wait());
  using recorder = openRecorder(world, SECRET);
  const packet = world.login({ user: "anna" }).buildStart("pw");
  await recorder.send(packet, packet, packet);
  assertEquals([await recorder.replies(), gate.calls()], [[], 1]);
  assertEquals([dropped(world, "duplicate_in_progress"), world.radius.server.working], [2, 1]);
  gate.open();
  assertEquals((await recorder.replies(1)).length, 1);
  assertEquals([world.radius.monitor.alive(), world.radius.server.working], [1, 0]);
});

Deno.test("prepare: a datagram that arrives meanwhile does not change the waiting packet", async () => {
  await using world = await startWith("app");
  const gate = createGate();
  world.people.onPrepare((name) => name === "anna" ? gate.wait() : Promise.resolve());
  const waiting = exchangeJudged(world, world.login({ user: "anna" }).buildStart("pw"));
  await gate.reached();
  const other = await world.login({ user: "somebody-else-with-a-longer-name" }).start("");
  assertEquals(other.step, "CHOOSE_WHICH_MULTIFACTOR");
  gate.open();
  assertEquals((await waiting).step, CODE);
});

Deno.test("prepare: packets of one name keep their order, also a packet that arrives after the user was loaded", async () => {
  await using world = await startWith("app", { toml: '[radius]\nstate = "token"' });
  const gate = createGate();
  world.people.onPrepare(() => gate.wait());
  const login = world.login({ user: "anna" });
  const older = exchangeJudged(world, login.buildStart("one"));
  await gate.reached();
  const newer = exchangeJudged(world, login.buildStart("two"));
  await becomes("two wait", () => world.radius.server.working === 2);
  gate.open();
  const [second] = await Promise.all([newer, older.catch(() => null)]);
  // The newer login superseded the older one, not the reverse.
  const answer = login.build(appCode(world.clock.nowMs()), { state: second.state ?? new Uint8Array() });
  assertEquals((await login.exchange(answer)).kind, "accept");
  assertEquals(gate.calls() >= 1, true);
});

Deno.test("prepare: a user who is not loaded within five seconds gets no answer, and the packet sent again is handled", async () => {
  await using world = await startWith("app");
  const gate = createGate();
  world.people.onPrepare(() => gate.wait());
  using recorder = openRecorder(world, SECRET);
  const packet = world.login({ user: "anna" }).buildStart("pw");
  await recorder.send(packet);
  await jump(world.clock, 4999);
  assertEquals(dropped(world, "store_failed"), 0);
  await jump(world.clock, 1);
  assertEquals([dropped(world, "store_failed"), world.radius.server.working], [1, 0]);
  // The late answer belongs to no request.
  gate.open();
  await turn();
  assertEquals(await recorder.replies(), []);
  world.people.onPrepare(null);
  await recorder.send(packet);
  assertEquals((await recorder.replies(1)).length, 1);
});

Deno.test("prepare: if a user cannot be read there is no answer, and the packet sent again is handled", async () => {
  await using world = await startWith("app");
  world.people.onPrepare(() => Promise.reject(new Error("the disk is gone")));
  using recorder = openRecorder(world, SECRET);
  const packet = world.login({ user: "anna" }).buildStart("pw");
  await recorder.send(packet);
  await becomes("it is dropped", () => dropped(world, "store_failed") === 1);
  assertEquals(await recorder.replies(), []);
  world.people.onPrepare(() => Promise.resolve());
  await recorder.send(packet);
  assertEquals((await recorder.replies(1)).length, 1);
});

Deno.test("prepare: at most 4,096 packets wait; the next one is not handled", async () => {
  await using world = await startInProcess({ toml: '[server]\nlog_level = "error"' });
  const gate = createGate();
  world.people.onPrepare(() => gate.wait());
  using recorder = openRecorder(world, SECRET);
  for (let sent = 0; sent < 4096; sent += 128) {
    const packets = Array.from(
      { length: 128 },
      (_, at) => world.login({ user: `user${sent + at}`, identifier: at }).buildStart(""),
    );
    await recorder.send(...packets);
  }
  assertEquals(world.radius.server.working, 4096);
  await recorder.send(world.login({ user: "one-more", identifier: 130 }).buildStart(""));
  assertEquals([dropped(world, "too_busy"), world.radius.server.working], [1, 4096]);
  await jump(world.clock, 5000);
  assertEquals(world.radius.server.working, 0);
  gate.open();
});

Deno.test("prepare: a user who was deactivated while the packet waited is refused", async () => {
  await using world = await startWith("app");
  await register(world, "anna");
  const gate = createGate();
  world.people.onPrepare(() => gate.wait());
  const waiting = exchangeJudged(world, world.login({ user: "anna" }).buildStart("pw"));
  await gate.reached();
  await register(world, "anna", { active: false });
  gate.open();
  assertEquals((await waiting).kind, "reject");
});

Deno.test("prepare: a user who cannot be read after an approval is not accepted", async () => {
  await using world = await startInProcess({ toml: '[radius]\ndevice = "hold"' });
  const pairing = await giveDevice(world, "anna");
  using recorder = openRecorder(world, SECRET);
  await recorder.send(world.login({ user: "anna" }).buildStart("pw"));
  await becomes("the push is out", () => world.secondFactor.initiated().length === 1);
  world.people.onPrepare(() => new Promise(() => undefined));
  decide(world, pairing, true);
  await whileTimePasses(world.clock, becomes("it is dropped", () => dropped(world, "store_failed") === 1));
  assertEquals(world.radius.monitor.counters().accepts, 0);
});

Deno.test("prepare: a user in memory causes no wait", async () => {
  await using world = await startWith("app");
  const login = world.login({ user: "anna" });
  assertEquals(step((await login.start()).state), CODE);
  assertEquals(world.people.prepared, 0);
});
