// What happens to the hardware tokens of a user who leaves, and who gets another name; policies, lists of factors, and a restart.

import { assert, assertEquals } from "@std/assert";
import type { InProcess } from "./in_process.ts";
import { startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import { giveToken, tokenCode } from "./tokens.ts";
import { startTwoNodes } from "./two_nodes.ts";
import { register } from "./people.ts";
import { commitChange } from "../../fakes/commit_change.ts";

const APPEND = "[radius]\nappend_mode = true\n";
const DENIED = ["reject", "Access denied."];
const MISMATCH = ["reject", "The submitted passcode does not match."];

async function auditsOf({ store }: InProcess): Promise<{ action: string; object: string; token?: string }[]> {
  const entries = await Array.fromAsync(
    store.list<{ action: string; object: string; token?: string }>(["audit"]),
  );
  return entries.flatMap(({ value }) => value ?? []);
}

Deno.test("token: the tokens of a user who leaves become free with their positions, each with a record", async () => {
  await using world = await startInProcess({ toml: APPEND });
  const { radius, store } = world;
  await giveToken(world, "anna");
  assertEquals((await world.login({ user: "anna" }).start(`pw,${tokenCode(4)}`)).kind, "accept");
  const leaving = radius.prepareOffboarding("anna");
  assertEquals(radius.hardwareTokens.of("anna").length, 0, "no login finds it before the commit");
  await commitChange(store, leaving);
  const token = radius.hardwareTokens.get("T-1");
  assertEquals([token?.record.user, token?.use.next], [null, 5]);
  const record = (await auditsOf(world)).find(({ action }) => action === "hardware_token.unassign");
  assertEquals([record?.object, record?.token], ["user:anna", "T-1"]);
});

Deno.test("token: after a failed removal of the user, the token is still the user's", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await giveToken(world, "anna");
  world.radius.prepareOffboarding("anna").undo();
  assertEquals((await world.login({ user: "anna" }).start(`pw,${tokenCode(0)}`)).kind, "accept");
});

Deno.test("token: a rename moves the tokens; those of the new name become free", async () => {
  await using world = await startInProcess({ toml: APPEND });
  const { radius, store } = world;
  await register(world, "berta");
  await giveToken(world, "anna");
  await giveToken(world, "berta", { serial: "T-2" });
  const rename = { kind: "user", from: "anna", to: "berta", name: "Berta", isLeaving: false } as const;
  const moved = await radius.prepareRename(rename);
  const done = await store.commit({ checks: moved.checks ?? [], mutations: moved.mutations });
  if (!done.ok) throw new Error("raced");
  moved.done(done.versionstamp);
  const owners = ["T-1", "T-2"].map((id) => radius.hardwareTokens.get(id)?.record.shownUser);
  assertEquals(owners, ["Berta", null]);
  assertEquals(brief(await world.login({ user: "anna" }).start(`pw,${tokenCode(0)}`)), DENIED);
  assertEquals((await world.login({ user: "berta" }).start(`pw,${tokenCode(0)}`)).kind, "accept");
});

Deno.test("token: positions survive a restart", async () => {
  const path = await Deno.makeTempFile({ suffix: ".kv" });
  try {
    await using before = await startInProcess({ toml: APPEND, kvPath: path });
    await giveToken(before, "anna");
    assertEquals((await before.login({ user: "anna" }).start(`pw,${tokenCode(0)}`)).kind, "accept");
    await before.stop();
    await using after = await startInProcess({ toml: APPEND, kvPath: path, after: before });
    assertEquals(brief(await after.login({ user: "anna" }).start(`pw,${tokenCode(0)}`)), MISMATCH);
    assertEquals((await after.login({ user: "anna" }).start(`pw,${tokenCode(1)}`)).kind, "accept");
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("token: another node that adds the same serial number first keeps its token", async () => {
  await using nodes = await startTwoNodes();
  const { a, b } = nodes;
  await giveToken(a, "anna");
  let refused = false;
  await giveToken(b, null, { seed: new Uint8Array(20).fill(9) }).catch(() => refused = true);
  assert(refused);
  await b.store.reread([["token", "default", "T-1"]]);
  assertEquals(b.radius.hardwareTokens.get("T-1")?.record.user, "anna");
});

Deno.test("token: without the factor totp, a token is not asked for", async () => {
  await using world = await startInProcess({ toml: `${APPEND}[factors]\nenabled = ["device", "sms"]` });
  await giveToken(world, "anna");
  assertEquals(brief(await world.login({ user: "anna" }).start(`pw,${tokenCode(0)}`)), DENIED);
  assertEquals((await world.login({ user: "anna" }).start("pw")).step, "CHOOSE_WHICH_MULTIFACTOR");
});
