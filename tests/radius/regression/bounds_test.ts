// Bounds and costs: faults that were found once.

import { assert, assertEquals, assertRejects } from "@std/assert";
import type { SecondFactorService } from "../../../radius/ports.ts";
import { describeAttributes } from "../../../radius/protocol/attributes.ts";
import { buildRequest } from "../../support/radius_packets.ts";
import { startFirstFactorServer } from "../rows/first_factor_server.ts";
import { type InProcess, startInProcess } from "../rows/in_process.ts";
import { brief } from "../rows/login.ts";
import { jump, turn } from "../rows/passing_time.ts";
import { appCode, decide, give, giveDevice, lastRequest, SEED, startWith } from "../rows/people.ts";
import { pairPhone } from "../rows/phone.ts";
import { interceptCommits } from "./failing_commits.ts";
import { DuplicateCache } from "../../../radius/server/duplicate_cache.ts";

// Findings of a review, one test each.

const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";

/** Confirms the latest pairing, like the user of the phone. */
function confirmPairing(world: InProcess): void {
  const asked = world.secondFactor.requests.findLast(({ target }) => target.startsWith("/v1/pairings/"));
  world.secondFactor.changePairing(asked?.target.split("/").at(-1) ?? "", { enabled: true, pending: false });
}

Deno.test("enrolment: a phone that is confirmed after the user enrolled another factor is not paired", async () => {
  await using world = await startInProcess({ toml: '[factors]\nenrol_at_login = "always"' });
  const stranger = await world.begin({ user: "anna" });
  await stranger.answer("S");
  world.secondFactor.offerPhrase("maple river");
  await stranger.answer("maple river");
  await stranger.answer("");
  await give(world, "anna", { kind: "totp", seed: SEED });
  confirmPairing(world);
  const answer = await stranger.answer("");
  assertEquals(brief(answer), [MENU, "No device is paired with your name. Choose another factor:"]);
  assertEquals(world.radius.pairings.of("anna").map(({ kind }) => kind), ["totp"]);
  assertEquals(world.secondFactor.initiated().length, 0);
});

Deno.test("one approval that a service returns to two logins accepts one of them", async () => {
  const same = (service: SecondFactorService): SecondFactorService => {
    let first: ReturnType<SecondFactorService["initiate"]> | null = null;
    return { ...service, initiate: (request) => first ??= service.initiate(request) };
  };
  await using world = await startInProcess({ between: { secondFactor: same } });
  const device = await giveDevice(world, "anna");
  const one = world.login({ user: "anna" });
  const other = world.login({ user: "anna" });
  assertEquals((await one.start()).step, DEVICE);
  assertEquals((await other.start()).step, DEVICE);
  decide(world, device, true);
  assertEquals((await one.answer("")).kind, "accept");
  assertEquals(brief(await other.answer("")), ["reject", "Device approval was not given."]);
  assertEquals(world.radius.monitor.counters().accepts, 1);
  const outcomes = world.radius.monitor.conversations(9).map(({ outcome, moments }) => [
    outcome,
    moments.at(-1)?.row,
  ]);
  assertEquals(outcomes.toSorted(), [["accepted", "approved"], ["rejected", "not_approved"]]);
});

Deno.test("one approval that a service returns to two held logins accepts one and refuses the other", async () => {
  const same = (service: SecondFactorService): SecondFactorService => {
    let first: ReturnType<SecondFactorService["initiate"]> | null = null;
    return { ...service, initiate: (request) => first ??= service.initiate(request) };
  };
  const toml = '[radius]\ndevice = "hold"\nhold_s = 5';
  await using world = await startInProcess({ toml, between: { secondFactor: same } });
  const device = await giveDevice(world, "anna");
  world.clock.after(2000, () => decide(world, device, true));
  const logins = [world.login({ user: "anna" }), world.login({ user: "anna" })];
  const answers = await Promise.all(logins.map((login) => login.start()));
  assertEquals(answers.map(({ kind }) => kind).toSorted(), ["accept", "reject"]);
  assertEquals(world.radius.monitor.alive(), 0);
});

Deno.test("a pairing that is revoked while its code is accepted stays revoked after a restart", async () => {
  await using world = await startInProcess();
  const id = await give(world, "anna", { kind: "totp", seed: SEED });
  const login = await world.begin({ user: "anna" });
  const release = interceptCommits(world).hold();
  const revoked = world.radius.pairings.revoke(id);
  await world.client.sendRaw(login.build(appCode(world.clock.nowMs())).bytes);
  for (let count = 0; count < 20; count++) await turn();
  release();
  await revoked;
  for (let count = 0; count < 20; count++) await turn();
  const left = await Array.fromAsync(world.store.list(["pairing"]));
  assertEquals(left.length, 0);
});

Deno.test("a revocation that cannot be recorded leaves the pairing in use", async () => {
  await using world = await startInProcess();
  const id = await give(world, "anna", { kind: "totp", seed: SEED });
  interceptCommits(world).failWhen(() => true);
  await assertRejects(() => world.radius.pairings.revoke(id), Error, "the disk is full");
  assertEquals(world.radius.pairings.of("anna").length, 1);
});

Deno.test("a User-Name of 253 octets that are not UTF-8 is rejected by the first factor, not ignored", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: server.toml });
  const login = world.login({ user: "anna" });
  const answer = await login.start("right", { userName: new Uint8Array(253).fill(0xff) });
  assertEquals(brief(answer), ["reject", "Access denied."]);
  assertEquals(server.asked, []);
});

Deno.test("a request does not stay on the phone when its login timed out", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = await world.begin({ user: "anna" }, "");
  await jump(world.clock, 200_000);
  assertEquals((await login.answer("S")).step, DEVICE);
  await jump(world.clock, 110_000);
  await phone.untilRequests(0);
  assertEquals(world.radius.monitor.alive(), 0);
});

Deno.test("a request does not stay on the phone when its login was completed by a TOTP code", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  await give(world, "anna", { kind: "totp", seed: SEED });
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, DEVICE);
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
  await phone.untilRequests(0);
});

Deno.test("describeAttributes() shows neither EAP-Message nor the MS-CHAP attributes of vendor 311", () => {
  const secret = new TextEncoder().encode("response");
  const { bytes } = buildRequest("secret", {
    more: [
      { type: 26, value: Uint8Array.of(0, 0, 1, 55, 25, secret.length + 2, ...secret) },
      { type: 79, value: secret },
      { type: 26, value: Uint8Array.of(0, 0, 0, 9, 1, 4, 0x61, 0x62) },
    ],
  });
  const { shown } = describeAttributes(bytes, bytes.length);
  assert(!shown.includes(secret.toHex()), shown);
  assert(shown.includes("Vendor-Specific=0x0000000901046162"), shown);
});

Deno.test("reply attributes that are too large for an Access-Accept prevent the start", async () => {
  const lines = Array.from(
    { length: 16 },
    (_, count) => `"Tunnel-Assignment-ID:${count + 1}" = "${"x".repeat(250)}"`,
  );
  const toml = `[radius.reply.default]\n${lines.join("\n")}`;
  await assertRejects(() => startInProcess({ toml }), Error, "an Access-Accept has room for 3500");
});

// Costs of very many logins: memory and lists stay bounded, so that packets never wait for a page or a scrape.

Deno.test("DuplicateCache keeps at most 24 MiB of packets, including the newest", () => {
  const duplicates = new DuplicateCache();
  const largest = (number: number) => ({
    socket: 0,
    hostname: "192.0.2.1",
    port: 1 + (number >> 8),
    octets: new Uint8Array(4096).fill(number & 0xff, 1, 2),
  });
  for (let number = 0; number < 7000; number++) duplicates.add(largest(number), 0);
  assertEquals(duplicates.size, 6144);
  assert(duplicates.find(largest(6999), 0) !== null);
  assertEquals(duplicates.find(largest(0), 0), null);
});

Deno.test("standing() returns the steps of live logins, newest first, and omits ended ones", async () => {
  await using world = await startWith("app");
  const ended = await world.begin({ user: "anna" });
  const [anna, bert] = [world.login({ user: "anna" }), world.login({ user: "bert" })];
  await anna.start();
  await bert.start();
  assertEquals((await ended.answer(appCode(world.clock.nowMs()))).kind, "accept");
  const steps = (limit: number) => [...world.radius.monitor.liveSteps(limit)].map(({ step }) => step);
  assertEquals(steps(10), [MENU, "GET_DEVICE_GENERATED_PASSCODE"]);
  assertEquals(steps(1), [MENU]);
  const ids = [...world.radius.monitor.liveSteps(10)].map(({ id }) => id);
  const alive = world.radius.monitor.conversations(10).filter(({ outcome }) => outcome === null);
  assertEquals(ids, alive.map(({ id }) => id));
});

Deno.test("pendingApprovals() returns the newest ones, and pendingCount() counts all", async () => {
  await using world = await startInProcess({ embedded: true });
  for (const user of ["anna", "bert", "carl"]) {
    await pairPhone(world, user);
    await world.login({ user }).start();
  }
  const secondFactorAdmin = world.services.embedded?.admin;
  assertEquals(secondFactorAdmin?.pendingApprovals(2).map(({ userName }) => userName), ["bert", "carl"]);
  assertEquals([secondFactorAdmin?.pendingApprovals().length, secondFactorAdmin?.pendingCount()], [3, 3]);
});

Deno.test("D uses the device that generates passcodes, not the one that was paired first", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "anna", { totpLength: 0 });
  world.clock.advance(1000);
  const second = await giveDevice(world, "anna", { totpLength: 6 });
  const login = await world.begin({ user: "anna" }, "");
  assertEquals((await login.answer("D")).step, "GET_DEVICE_GENERATED_PASSCODE");
  assertEquals(world.secondFactor.initiated().map(({ pairingId }) => pairingId), [second.id]);
  decide(world, second, true);
  assertEquals(lastRequest(world, second).granted, true);
});

// Limits during an endless attack: their records stay small, and invented names unlock no user.

Deno.test("countSend() stores no more times than the limit needs, however often it is called", async () => {
  await using world = await startInProcess();
  const { limits } = world.radius;
  const send = { user: "anna", number: "+4915112345678", client: "vpn" };
  let last = limits.countSend(send);
  for (let count = 0; count < 9000; count++) last = limits.countSend(send);
  const lengths = last.map((mutation) => mutation.type === "set" ? mutation.value : null).map(lengthOf);
  assertEquals(lengths, [5, 5, 1, 1]);
  assert((await world.store.commit({ mutations: last })).ok);
  assert(!limits.sendsLeft("anna", null));
});

Deno.test("countPush() with a limit beyond the size of a record can still be recorded", async () => {
  await using world = await startInProcess({ toml: "[factors.pushes]\nper_user = 6000" });
  const { limits } = world.radius;
  let last = limits.countPush("anna");
  for (let count = 0; count < 6000; count++) last = limits.countPush("anna");
  assert((await world.store.commit({ mutations: [last] })).ok);
  assert(!limits.pushesLeft("anna"));
});

Deno.test("fail() of two hundred thousand other users does not evict the count of one", async () => {
  await using world = await startInProcess();
  const { limits } = world.radius;
  for (let count = 0; count < 9; count++) limits.countFailure("anna");
  for (let count = 0; count < 200_100; count++) limits.countFailure(`user-${count}`);
  assertEquals(limits.failures("anna").inRow, 9);
  assert(limits.countFailure("anna").locked);
});

Deno.test("countPush() and countSend() for two hundred thousand other users evict no count", async () => {
  await using world = await startInProcess({
    toml: "[factors.sends]\ntotal_per_hour = 1000000\nper_client_per_hour = 1000000",
  });
  const { limits } = world.radius;
  const send = { user: "anna", number: "+4915112345678", client: "vpn" };
  for (let count = 0; count < 5; count++) limits.countPush("anna");
  for (let count = 0; count < 5; count++) limits.countSend(send);
  for (let count = 0; count < 200_100; count++) {
    limits.countPush(`user-${count}`);
    limits.countSend({ user: `user-${count}`, number: `+49151${1_000_000 + count}`, client: "vpn" });
  }
  assert(!limits.pushesLeft("anna"));
  assertEquals(limits.limitOf(send), "user_limit");
  assertEquals(limits.limitOf({ ...send, user: "bert" }), "number_limit");
});

Deno.test("Limits.countStrangerFailure() stores nothing, has a limit, and evicts no user", async () => {
  await using world = await startInProcess();
  const { limits } = world.radius;
  for (let count = 0; count < 9; count++) limits.countFailure("anna");
  for (let count = 0; count < 9; count++) limits.countStrangerFailure("ghost");
  for (let count = 0; count < 20_000; count++) limits.countStrangerFailure(`ghost-${count}`);
  assertEquals(limits.failures("ghost").total, 0);
  assertEquals(limits.failures("ghost-19999").total, 1);
  assertEquals(limits.failures("anna").inRow, 9);
  assertEquals(limits.figures().failures, 0);
});

Deno.test("Limits.countStrangerFailure() locks, and a name that becomes a user keeps its failures", async () => {
  await using world = await startInProcess();
  const { limits } = world.radius;
  for (let count = 0; count < 9; count++) limits.countStrangerFailure("ghost");
  assert(limits.countFailure("ghost").locked);
  for (let count = 0; count < 10; count++) limits.countStrangerFailure("spirit");
  assert(limits.isLocked("spirit"));
  // Newer invented names replace those that are not locked.
  for (let count = 0; count < 20_000; count++) limits.countStrangerFailure(`ghost-${count}`);
  assert(limits.isLocked("spirit") && limits.isLocked("ghost"));
});

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : -1;
}
