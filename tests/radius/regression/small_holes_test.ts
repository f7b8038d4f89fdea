// Findings of a review, one test each.

import { assert, assertEquals, assertRejects } from "@std/assert";
import type { SecondFactorService } from "../../../radius/ports.ts";
import { describeAttributes } from "../../../radius/protocol/attributes.ts";
import { buildRequest } from "../../support/radius_packets.ts";
import { startFirstFactorServer } from "../rows/first_factor_server.ts";
import { type InProcess, startInProcess } from "../rows/in_process.ts";
import { brief } from "../rows/login.ts";
import { jump, turn } from "../rows/passing_time.ts";
import { appCode, decide, give, giveDevice, SEED } from "../rows/people.ts";
import { pairPhone } from "../rows/phone.ts";
import { interceptCommits } from "./failing_commits.ts";

const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";

/** Confirms the latest pairing, like the user of the phone. */
function confirmPairing(world: InProcess): void {
  const asked = world.secondFactor.requests.findLast(({ target }) => target.startsWith("/v1/pairings/"));
  world.secondFactor.changePairing(asked?.target.split("/").at(-1) ?? "", { enabled: true, pending: false });
}

Deno.test("enrolment: a phone that is confirmed after the user enrolled another factor is not paired", async () => {
  await using world = await startInProcess({ toml: '[factors]\nenrol_at_login = "always"' });
  const stranger = world.login({ user: "anna" });
  await stranger.start();
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
  const login = world.login({ user: "anna" });
  await login.start();
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
  const login = world.login({ user: "anna" });
  await login.start("");
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
