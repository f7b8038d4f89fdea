// Finding 2: a second login with a stolen password, or with the name alone, got the State, the number and the approval
// of the first one.

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import type { RequestParts } from "../support/radius_packets.ts";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";
import { addUser, SCIM_TOML } from "./attack_world.ts";
import { openSession } from "./gateway_sessions.ts";
import { eventually } from "../upstream/manual_clock.ts";

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const pairings = ["alice", "bob"].map((user) =>
  [user, { kind: "device", id: `pairing-of-${user}`, totpLength: 6 }] as const
);

const open = (toml = "") => startProgramWithServices({ toml, pairings });

/** Approves the push at that position, counted from 0. */
function approve({ secondFactor }: ProgramWithServices, at: number, granted = true): void {
  const request = secondFactor.initiated()[at];
  if (request === undefined) throw new Error(`Only ${secondFactor.initiated().length} pushes were sent`);
  secondFactor.decide(request.id, { granted });
}

/** Requests without attributes that distinguish two logins, and requests of one port. */
const PLACES: Readonly<Record<string, RequestParts>> = {
  "without a port": { userName: "alice" },
  "at one port": { userName: "alice", nasPort: 7, callingStationId: "portal" },
};

for (const [place, parts] of Object.entries(PLACES)) {
  Deno.test(`02 ${place}: a second login with the same password gets its own State, push and approval`, async () => {
    await using world = await open();
    using victim = openSession(world.gateway, parts);
    using attacker = openSession(world.gateway, parts);
    assertEquals((await attacker.login()).step, DEVICE);
    const own = await victim.login();
    assertEquals(own.step, DEVICE);
    assertMatch(own.token, /^[A-Za-z0-9_-]{22}$/);
    assertEquals(world.secondFactor.initiated().length, 2);
    approve(world, 1);
    assertNotEquals((await attacker.answer("")).kind, "accept");
    assertNotEquals((await attacker.forge(DEVICE)).kind, "accept");
    assertEquals((await victim.answer("")).kind, "accept");
  });

  Deno.test(`02c ${place}: Cancel leaves no open login that a later one joins`, async () => {
    await using world = await open();
    using attacker = openSession(world.gateway, parts);
    using victim = openSession(world.gateway, parts);
    const first = await attacker.login();
    const menu = await attacker.answer("cancel");
    assertEquals(menu.step, MENU);
    assertEquals((await victim.login()).step, DEVICE);
    assertEquals(world.secondFactor.initiated().length, 2);
    approve(world, 1);
    for (const { token } of [first, menu]) {
      assertEquals((await attacker.forge(token === "" ? DEVICE : `${DEVICE}.${token}`)).kind, "reject");
    }
    assertNotEquals((await attacker.answer("")).kind, "accept");
    assertEquals((await victim.answer("")).kind, "accept");
  });

  Deno.test(`02b ${place}: a login with only the name joins no other one, and its token is valid for no later step`, async () => {
    await using world = await open();
    using attacker = openSession(world.gateway, parts);
    using victim = openSession(world.gateway, parts);
    const menu = await attacker.login("");
    assertEquals(menu.step, MENU);
    assertEquals((await victim.login("")).step, MENU);
    assertEquals((await victim.answer("S")).step, DEVICE);
    approve(world, 0);
    const forged = menu.token === "" ? DEVICE : `${DEVICE}.${menu.token}`;
    assertEquals((await attacker.forge(forged)).kind, "reject");
    assertNotEquals((await attacker.answer("")).kind, "accept");
    assertEquals((await victim.answer("")).kind, "accept");
  });
}

Deno.test("02: a newer login with a wrong password does not change the older one on the same port", async () => {
  await using world = await open(`[radius]\nfirst_factor = "directory"\n${SCIM_TOML}`);
  await addUser(world.gateway, { userName: "alice", active: true, password: "a long password" });
  const parts = { userName: "alice", nasPort: 7, callingStationId: "198.51.100.7" };
  using victim = openSession(world.gateway, parts);
  using attacker = openSession(world.gateway, parts);
  assertEquals((await victim.login("a long password")).step, DEVICE);
  assertEquals((await attacker.login("a wrong password")).kind, "reject");
  assertEquals(world.secondFactor.initiated().length, 1);
  approve(world, 0);
  assertEquals((await victim.answer("")).kind, "accept");
});

Deno.test("02, hold: the approval applies to the login that requested it, not to the newest one", async () => {
  await using world = await open('[radius]\ndevice = "hold"\nhold_s = 20');
  using victim = openSession(world.gateway, { userName: "alice" });
  using attacker = openSession(world.gateway, { userName: "alice" });
  const pushes = () => world.secondFactor.initiated().length;
  const first = victim.login();
  await eventually("the victim's push is sent", () => pushes() === 1);
  const second = attacker.login();
  await eventually("the attacker's push is sent", () => pushes() === 2);
  approve(world, 0);
  assertEquals((await first).kind, "accept");
  approve(world, 1, false);
  assertEquals((await second).kind, "reject");
});

Deno.test("02, hold: a request that a proxy re-issues waits for the same decision, and both get it", async () => {
  await using world = await open('[radius]\ndevice = "hold"\nhold_s = 20');
  const parts = { userName: "alice", nasPort: 7, callingStationId: "198.51.100.7" };
  using first = openSession(world.gateway, parts);
  using again = openSession(world.gateway, parts);
  const answers = [first.login()];
  await eventually("the push is sent", () => world.secondFactor.initiated().length === 1);
  answers.push(again.login());
  const line = await world.gateway.logged("login joined");
  assert(line.includes("source=127.0.0.1") && line.includes("firstSource=127.0.0.1"), line);
  approve(world, 0);
  assertEquals((await Promise.all(answers)).map(({ kind }) => kind), ["accept", "accept"]);
  assertEquals(world.secondFactor.initiated().length, 1);
});

Deno.test("02, hold: a login with another password on the same port never gets the decision of the first one", async () => {
  await using world = await open('[radius]\ndevice = "hold"\nhold_s = 20');
  const parts = { userName: "alice", nasPort: 7, callingStationId: "198.51.100.7" };
  using victim = world.gateway.client();
  using attacker = openSession(world.gateway, parts);
  const pushes = () => world.secondFactor.initiated().length;
  const first = victim.ask({ ...parts, password: "the right password" }, { timeoutMs: 3000, tries: 1 });
  const firstCode = first.then(({ code }) => code, () => null);
  await eventually("the victim's push is sent", () => pushes() === 1);
  const second = attacker.login("another password");
  await eventually("the attacker's push is sent", () => pushes() === 2);
  approve(world, 0);
  approve(world, 1, false);
  assertEquals((await second).kind, "reject");
  // Without a first factor the newer login supersedes the first one, so the first one gets no answer.
  assertEquals(await firstCode, null);
});

Deno.test("02d: where all users share one port, the bare name of a step selects nothing", async () => {
  await using world = await open();
  const portal = { nasPort: 1, callingStationId: "203.0.113.1" };
  using bob = openSession(world.gateway, { userName: "bob", ...portal });
  using attacker = openSession(world.gateway, { userName: "alice", ...portal });
  using victim = openSession(world.gateway, { userName: "alice", ...portal });
  assertEquals((await bob.login()).step, DEVICE);
  const [stolen, own] = [await attacker.login(), await victim.login()];
  assertMatch(stolen.token, /^[A-Za-z0-9_-]{22}$/);
  assertMatch(own.token, /^[A-Za-z0-9_-]{22}$/);
  assertNotEquals(stolen.token, own.token);
  approve(world, 2);
  assertEquals((await attacker.forge(DEVICE)).kind, "reject");
  assertEquals((await attacker.answer("")).step, DEVICE);
  assertEquals((await victim.answer("")).kind, "accept");
  // Bob's login was there before, so it continues.
  approve(world, 0);
  assertEquals((await bob.answer("")).kind, "accept");
});

Deno.test("02d: a bare name that was issued before a restart selects no login after it", async () => {
  await using world = await open();
  const portal = { userName: "alice", nasPort: 1, callingStationId: "203.0.113.1" };
  using attacker = openSession(world.gateway, portal);
  assertEquals((await attacker.login()).token, "");
  await world.gateway.restart();
  using victim = openSession(world.gateway, portal);
  using late = openSession(world.gateway, portal);
  assertMatch((await victim.login()).token, /^[A-Za-z0-9_-]{22}$/);
  assertEquals(world.secondFactor.initiated().length, 2);
  approve(world, 1);
  assertEquals((await late.forge(DEVICE)).kind, "reject");
  assertEquals((await victim.answer("")).kind, "accept");
});
