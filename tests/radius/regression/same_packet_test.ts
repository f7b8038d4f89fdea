// What counts as the same packet: more than the Authenticator, which some clients use twice.

import { assertEquals } from "@std/assert";
import { startInProcess } from "../rows/in_process.ts";
import { appCode, give, SEED } from "../rows/people.ts";

const APPEND = "[radius]\nappend_mode = true";
const authenticator = new Uint8Array(16).fill(7);

Deno.test("a wrong password under an Authenticator used before is not answered with that login's Accept", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await give(world, "anna", { kind: "totp", seed: SEED });
  const login = world.login({ user: "anna" });
  const right = await login.start(`pw,${appCode(world.clock.nowMs())}`, { authenticator, identifier: 1 });
  assertEquals(right.kind, "accept");
  const wrong = await login.start("pw,000000", { authenticator, identifier: 2 });
  assertEquals(wrong.kind, "reject");
});

Deno.test("a wrong answer under the Authenticator of the right one is not answered with its Accept", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "totp", seed: SEED });
  const login = world.login({ user: "anna" });
  await login.start();
  const right = await login.answer(appCode(world.clock.nowMs()), { authenticator, identifier: 1 });
  assertEquals(right.kind, "accept");
  assertEquals((await login.answer("000000", { authenticator, identifier: 2 })).kind, "reject");
});

Deno.test("the same packet from another port gets the same final reply", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "totp", seed: SEED });
  const login = world.login({ user: "anna" });
  await login.start();
  const packet = login.build(appCode(world.clock.nowMs()));
  assertEquals((await login.exchange(packet)).kind, "accept");
  using other = world.newClient();
  login.moveTo({ client: other, clock: world.clock });
  assertEquals((await login.exchange(packet)).kind, "accept");
});
