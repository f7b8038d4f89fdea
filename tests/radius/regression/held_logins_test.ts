// Held and repeated logins: faults that were found once.

import { assertEquals } from "@std/assert";
import { openDisk } from "../rows/disk.ts";
import { type InProcess, startInProcess } from "../rows/in_process.ts";
import { brief, exchangeJudged, type Login, stepName } from "../rows/login.ts";
import { becomes, turn, whileTimePasses } from "../rows/passing_time.ts";
import { eventually } from "../../upstream/manual_clock.ts";
import { appCode, decide, giveDevice, NUMBER, register, startWith } from "../rows/people.ts";
import { interceptCommits } from "./failing_commits.ts";
import type { BuiltRequest } from "../../support/radius_packets.ts";
import type { FakePairing } from "../../fakes/second_factor_records.ts";

// A login that another password supersedes during its own commits: it stays over, also after a restart.

const TOKEN = '[radius]\nstate = "token"';
const CODE = "GET_DEVICE_GENERATED_PASSCODE";

/** Waits until the gateway handles so many packets. Datagrams that are sent at once may arrive in another order. */
function inProgress({ radius }: InProcess, packets: number): Promise<void> {
  return eventually(`${packets} in progress`, () => radius.server.working === packets);
}

Deno.test("a login that is superseded during its first commit does not come back", async () => {
  await using world = await startWith("app", { toml: TOKEN });
  const login = world.login({ user: "anna" });
  const older = login.buildStart("one");
  const newer = login.buildStart("two");
  const release = interceptCommits(world).hold();
  const first = exchangeJudged(world, older);
  await inProgress(world, 1);
  const second = exchangeJudged(world, newer);
  await inProgress(world, 2);
  release();
  const [challenge] = await Promise.all([first, second]);
  assertEquals(world.radius.monitor.alive(), 1);
  const state = challenge.state ?? new Uint8Array();
  const answer = await login.exchange(login.build(appCode(world.clock.nowMs()), { state }));
  assertEquals(answer.kind, "reject");
  assertEquals(world.radius.monitor.alive(), 1);
});

Deno.test("a login that was superseded during its commit is also over after a restart", async () => {
  await using disk = await openDisk();
  const kvPath = disk.path;
  await using world = await startWith("app", { toml: TOKEN, kvPath });
  const login = world.login({ user: "anna" });
  const release = interceptCommits(world).hold();
  const first = exchangeJudged(world, login.buildStart("one"));
  await inProgress(world, 1);
  const second = exchangeJudged(world, login.buildStart("two"));
  await inProgress(world, 2);
  release();
  const [challenge] = await Promise.all([first, second]);
  await world.stop();
  await using next = await startInProcess({ toml: TOKEN, kvPath, after: world });
  assertEquals(next.radius.monitor.alive(), 1);
  login.moveTo(next);
  const state = challenge.state ?? new Uint8Array();
  const late = login.build(appCode(next.clock.nowMs()), { state });
  assertEquals((await login.exchange(late)).kind, "reject");
});

Deno.test("a login that supersedes another one during a later commit is answered at once", async () => {
  await using world = await startWith("app");
  const login = world.login({ user: "anna" });
  assertEquals((await login.start("one")).step, CODE);
  assertEquals((await login.answer("cancel")).step, "CHOOSE_WHICH_MULTIFACTOR");
  const release = interceptCommits(world).hold();
  const menu = exchangeJudged(world, login.build("x"));
  await inProgress(world, 1);
  const newer = exchangeJudged(world, login.buildStart("two"));
  await inProgress(world, 2);
  release();
  assertEquals(stepName(await newer), CODE);
  await whileTimePasses(world.clock, menu);
  assertEquals(world.radius.monitor.alive(), 1);
});

Deno.test("a login that is superseded before its push is sent sends none", async () => {
  await using world = await startWith("device");
  const login = world.login({ user: "anna" });
  const release = interceptCommits(world).hold();
  await world.client.sendRaw(login.buildStart("one").bytes);
  await inProgress(world, 1);
  const newer = exchangeJudged(world, login.buildStart("two"));
  await inProgress(world, 2);
  release();
  await newer;
  assertEquals(world.secondFactor.initiated().length, 1);
});

// When the store refuses a commit, memory must match the store: no effect happens twice, and nothing is lost or left
// over.

Deno.test("a text whose challenge could not be recorded is not sent again for a retransmission", async () => {
  await using world = await startInProcess();
  await register(world, "anna", { phoneNumbers: [NUMBER] });
  const login = await world.begin({ user: "anna" }, "");
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
  const login = await world.begin({ user: "anna" }, "");
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
  await using world = await startWith("app");
  for (let count = 0; count < 9; count++) world.radius.limits.countFailure("anna");
  const login = await world.begin({ user: "anna" });
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
  await using world = await startWith("app");
  const login = await world.begin({ user: "anna" });
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

// A held login when the server crashes: a client that cannot show a challenge is held again, with the same push.

const HOLD = '[radius]\ndevice = "hold"\nhold_s = 20';
const HOLD_THEN = '[radius]\ndevice = "hold_then_challenge"\nhold_s = 20';
const APPEND = "[radius]\nappend_mode = true\nhold_s = 20";

interface CutOff extends AsyncDisposable {
  readonly next: InProcess;
  readonly login: Login;
  readonly packet: BuiltRequest;
  readonly device: FakePairing;
}

/** A server that crashed while it held a login, and the next one. */
async function cutOff(toml: string, password: string): Promise<CutOff> {
  const dir = await Deno.makeTempDir();
  const kvPath = `${dir}/store`;
  const world = await startInProcess({ toml, kvPath });
  const device = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  const packet = login.buildStart(password);
  await world.client.sendRaw(packet.bytes);
  await becomes("the decision is asked for", () => world.secondFactor.requests.length >= 2);
  for (let count = 0; count < 20; count++) await turn();
  await world.stop();
  const next = await startInProcess({ toml, kvPath, after: world });
  login.moveTo(next);
  return {
    next,
    login,
    packet,
    device,
    async [Symbol.asyncDispose]() {
      await next.stop();
      await world[Symbol.asyncDispose]();
      await Deno.remove(dir, { recursive: true });
    },
  };
}

for (const [name, toml, password] of [["hold", HOLD, "pw"], ["append mode", APPEND, "pw,push"]] as const) {
  Deno.test(`${name}: a login sent again after a restart is held with the same push until its Accept`, async () => {
    await using at = await cutOff(toml, password);
    const { next } = at;
    const before = next.secondFactor.requests.length;
    const pending = exchangeJudged(next, at.packet);
    await becomes("it is held again", () => next.secondFactor.requests.length > before);
    decide(next, at.device, true);
    assertEquals((await whileTimePasses(next.clock, pending)).kind, "accept");
    assertEquals(next.secondFactor.initiated().length, 1);
  });
}

Deno.test("hold: a login sent again after a restart is rejected at the end of the wait without a decision", async () => {
  await using at = await cutOff(HOLD, "pw");
  const answer = await at.login.exchange(at.packet);
  assertEquals(brief(answer), ["reject", "Device approval was not given."]);
  assertEquals(at.next.secondFactor.initiated().length, 1);
});

Deno.test("hold: a login re-issued after a restart is a new login with its own push", async () => {
  await using at = await cutOff(HOLD, "pw");
  const pending = exchangeJudged(at.next, at.login.buildStart("pw"));
  await becomes("the push is sent", () => at.next.secondFactor.initiated().length === 2);
  const [first, second] = at.next.secondFactor.initiated();
  at.next.secondFactor.decide(first?.id ?? "", { granted: true });
  for (let count = 0; count < 20; count++) await turn();
  at.next.secondFactor.decide(second?.id ?? "", { granted: false });
  assertEquals((await whileTimePasses(at.next.clock, pending)).kind, "reject");
});

Deno.test("hold_then_challenge: a login sent again after a restart gets its challenge", async () => {
  await using at = await cutOff(HOLD_THEN, "pw");
  assertEquals((await at.login.exchange(at.packet)).step, "SECONDFACTOR_AWAIT_DEVICE_APPROVAL");
});

// What counts as the same packet: more than the Authenticator, which some clients use twice.

const APPEND_AT_ONCE = "[radius]\nappend_mode = true";
const authenticator = new Uint8Array(16).fill(7);

Deno.test("a wrong password under an Authenticator used before is not answered with that login's Accept", async () => {
  await using world = await startWith("app", { toml: APPEND_AT_ONCE });
  const login = world.login({ user: "anna" });
  const right = await login.start(`pw,${appCode(world.clock.nowMs())}`, { authenticator, identifier: 1 });
  assertEquals(right.kind, "accept");
  const wrong = await login.start("pw,000000", { authenticator, identifier: 2 });
  assertEquals(wrong.kind, "reject");
});

Deno.test("a wrong answer under the Authenticator of the right one is not answered with its Accept", async () => {
  await using world = await startWith("app");
  const login = await world.begin({ user: "anna" });
  const right = await login.answer(appCode(world.clock.nowMs()), { authenticator, identifier: 1 });
  assertEquals(right.kind, "accept");
  assertEquals((await login.answer("000000", { authenticator, identifier: 2 })).kind, "reject");
});

Deno.test("the same packet from another port gets the same final reply", async () => {
  await using world = await startWith("app");
  const login = await world.begin({ user: "anna" });
  const packet = login.build(appCode(world.clock.nowMs()));
  assertEquals((await login.exchange(packet)).kind, "accept");
  using other = world.newClient();
  login.moveTo({ client: other, clock: world.clock });
  assertEquals((await login.exchange(packet)).kind, "accept");
});
