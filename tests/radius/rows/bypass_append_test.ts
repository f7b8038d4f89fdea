// Bypass codes in append mode: after the password, only for a user who has one.

import { assertEquals } from "@std/assert";
import { bypassUsesLeft, withBypass, WRONG_BYPASS } from "./bypass.ts";
import { startFirstFactorServer } from "./first_factor_server.ts";
import { startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";

const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const MISMATCH = ["reject", "The submitted passcode does not match."];
const APPEND = "[radius]\nappend_mode = true\n";

Deno.test("bypass: password,code in append mode is an Accept in one round trip, once; a wrong one is a failure", async () => {
  const { world, code } = await withBypass({ uses: 2 }, { toml: APPEND });
  await using _world = world;
  const start = (password: string) => world.login({ user: "anna" }).start(password);
  assertEquals(brief(await start(`pw,${WRONG_BYPASS}`)), MISMATCH);
  assertEquals([bypassUsesLeft(world), world.radius.limits.failures("anna").total], [2, 1]);
  assertEquals((await start(`pw,${code}`)).kind, "accept");
  assertEquals((await start(code.replace("-", ""))).kind, "accept");
  assertEquals(bypassUsesLeft(world), undefined);
  // Used up: the digits are a part of the password again.
  assertEquals((await start(`pw,${code}`)).step, MENU);
});

Deno.test("bypass: in append mode the first factor checks the password without the code, and first", async () => {
  using server = startFirstFactorServer({ password: "right" });
  const { world, code } = await withBypass({}, { toml: `${server.toml}append_mode = true` });
  await using _world = world;
  const start = (password: string) => world.login({ user: "anna" }).start(password);
  assertEquals(brief(await start(`wrong,${code}`)), ["reject", "Access denied."]);
  assertEquals(bypassUsesLeft(world), 1);
  assertEquals((await start(`right,${code}`)).kind, "accept");
});

Deno.test("bypass: for a user without a bypass code, a password that ends with ten digits is a password", async () => {
  using server = startFirstFactorServer({ password: "right,1234567890" });
  await using world = await startInProcess({ toml: `${server.toml}append_mode = true` });
  assertEquals((await world.login({ user: "anna" }).start("right,1234567890")).step, MENU);
});
