// The flow rows of the first factor at another RADIUS server.

import { assert, assertEquals } from "@std/assert";
import { startFirstFactorServer } from "./first_factor_server.ts";
import { startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import { decide, giveDevice, lastRequest, register } from "./people.ts";

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const DENIED = ["reject", "Access denied."];

Deno.test("first factor: the right password leads to the second factor", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: server.toml });
  const pairing = await giveDevice(world, "Anna");
  const login = world.login({ user: "Anna" });
  assertEquals((await login.start("right")).step, DEVICE);
  assertEquals([...new Set(server.asked)], ["Anna"]);
  decide(world, pairing, true);
  assertEquals((await login.answer("")).kind, "accept");
});

Deno.test("first factor: a wrong password is a Reject, and no second factor is requested", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: server.toml });
  await giveDevice(world, "anna");
  assertEquals(brief(await world.login({ user: "anna" }).start("wrong")), DENIED);
  assertEquals(world.secondFactor.requests.length, 0);
  assertEquals(world.radius.limits.failures("anna").total, 1);
});

Deno.test("first factor: an empty password is checked as well", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: server.toml });
  assertEquals(brief(await world.login({ user: "anna" }).start("")), DENIED);
  assert(server.asked.length > 0);
});

for (const conduct of ["silent", "challenge", "wrong_secret"] as const) {
  Deno.test(`first factor: a server with the conduct "${conduct}" accepts no login and counts as no failure`, async () => {
    using server = startFirstFactorServer({ password: "right", conduct });
    await using world = await startInProcess({ toml: server.toml });
    await giveDevice(world, "anna");
    const reply = await world.login({ user: "anna" }).start("right");
    assertEquals(brief(reply), DENIED);
    assert(reply.tookMs < 3000, `${reply.tookMs} ms`);
    assertEquals(world.secondFactor.requests.length, 0);
    assertEquals(world.radius.limits.failures("anna").total, 0);
  });
}

Deno.test("first factor: an unanswered request is sent three times in total", async () => {
  using server = startFirstFactorServer({ password: "right", conduct: "silent" });
  await using world = await startInProcess({ toml: server.toml });
  await world.login({ user: "anna" }).start("right");
  assertEquals(server.asked.length, 3);
});

Deno.test("first factor: a refused user is refused before the server is asked", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: server.toml });
  await register(world, "anna", { active: false });
  assertEquals(brief(await world.login({ user: "anna" }).start("right")), DENIED);
  assertEquals(server.asked.length, 0);
});

Deno.test("first factor: an answer to a challenge is never sent to the server", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: server.toml });
  await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start("right");
  const asked = server.asked.length;
  await login.answer("some answer");
  assertEquals(server.asked.length, asked);
});

Deno.test("first factor: after Cancel it stays verified and is not asked again", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: server.toml });
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start("right");
  // The fake clock advances fast, so the one request may have been repeated before its answer came.
  const asked = server.asked.length;
  const first = lastRequest(world, pairing).id;
  await login.answer("cancel");
  assertEquals((await login.answer("S")).step, DEVICE);
  assert(lastRequest(world, pairing).id !== first);
  decide(world, pairing, true);
  assertEquals((await login.answer("")).kind, "accept");
  assertEquals(server.asked.length, asked);
});

Deno.test("first factor: a State does not bypass it", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: server.toml });
  await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  const state = new TextEncoder().encode("CHOOSE_WHICH_MULTIFACTOR");
  assertEquals((await login.answer("S", { state })).kind, "reject");
  assertEquals([server.asked.length, world.secondFactor.requests.length], [0, 0]);
});

Deno.test("first factor: an answer without Message-Authenticator is ignored, and the log says which setting allows it", async () => {
  using server = startFirstFactorServer({ password: "right", conduct: "unsigned" });
  await using world = await startInProcess({ toml: server.toml });
  await giveDevice(world, "anna");
  for (let tries = 0; tries < 2; tries++) {
    assertEquals(brief(await world.login({ user: "anna" }).start("right")), DENIED);
  }
  assertEquals(world.secondFactor.requests.length, 0);
  assertEquals(world.radius.limits.failures("anna").total, 0);
  const warnings = (await world.logLines()).filter((line) =>
    line.includes("has no Message-Authenticator and is ignored")
  );
  assertEquals(warnings.length, 1);
  server.conduct = "judge";
  assertEquals((await world.login({ user: "anna" }).start("right")).step, DEVICE);
});

Deno.test("first factor auto: a server may leave its answers unsigned until it once signed one", async () => {
  using server = startFirstFactorServer({ password: "right", conduct: "unsigned" });
  const toml = `${server.toml}first_factor_server.message_authenticator = "auto"\n`;
  await using world = await startInProcess({ toml });
  await giveDevice(world, "anna");
  const start = () => world.login({ user: "anna" }).start("right");
  assertEquals((await start()).step, DEVICE);
  server.conduct = "judge";
  assertEquals((await start()).step, DEVICE);
  server.conduct = "unsigned";
  assertEquals(brief(await start()), DENIED);
});

Deno.test("first factor: Cancel does not extend the validity of a right password", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: server.toml });
  await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start("right");
  for (let cancelled = 0; cancelled < 2; cancelled++) {
    world.clock.advance(140_000);
    assertEquals((await login.answer("cancel")).kind, "challenge");
  }
  world.clock.advance(30_000);
  assertEquals((await login.answer("S")).kind, "reject");
  assertEquals(world.secondFactor.requests.length, 1);
});

for (
  const [conduct, why] of [
    ["silent", "no answer within 900 ms"],
    ["challenge", "challenge"],
    ["wrong_secret", "not signed with this shared secret"],
    ["unsigned", "no Message-Authenticator"],
  ] as const
) {
  Deno.test(`first factor: the conduct "${conduct}" is one log line with its reason, and its end is one`, async () => {
    using server = startFirstFactorServer({ password: "right" });
    await using world = await startInProcess({ toml: server.toml });
    await giveDevice(world, "anna");
    // A server that signed once must sign from then on.
    await world.login({ user: "anna" }).start("right");
    server.conduct = conduct;
    for (let tries = 0; tries < 3; tries++) await world.login({ user: "anna" }).start("right");
    const lines = async () =>
      (await world.logLines()).filter((line) => line.includes("the first factor can"));
    assertEquals((await lines()).length, 1);
    assert((await lines())[0]?.includes(why), (await lines())[0]);
    server.conduct = "judge";
    for (let tries = 0; tries < 2; tries++) await world.login({ user: "anna" }).start("right");
    assertEquals((await lines()).length, 2);
  });
}
