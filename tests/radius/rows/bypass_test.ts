// Bypass codes.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { auditRecordsOf } from "../../fakes/audited.ts";
import { interceptCommits } from "../regression/failing_commits.ts";
import { bypassUsesLeft, giveBypass, withBypass, WRONG_BYPASS } from "./bypass.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief, type Login } from "./login.ts";
import { becomes, turn } from "./passing_time.ts";
import { pairPhone } from "./phone.ts";
import { appCode, give, giveDevice, lastRequest, SEED } from "./people.ts";
import { commitChange } from "../../fakes/commit_change.ts";
import { startFirstFactorServer } from "./first_factor_server.ts";

// Bypass codes at a login: each replaces a second factor as often as it allows, until its time.

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const MISMATCH = ["reject", "The submitted passcode does not match."];
const MINUTE_MS = 60_000;

/** A login that waits at the menu: the user has no other factor. */
async function atMenu(world: InProcess): Promise<Login> {
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, MENU);
  return login;
}

Deno.test("bypass: a code at the menu is an Accept, once, and the audit log names it", async () => {
  const { world, code } = await withBypass();
  await using _world = world;
  assertMatch(code, /^[0-9]{5}-[0-9]{5}$/);
  assertEquals((await (await atMenu(world)).answer(code)).kind, "accept");
  assertEquals(world.radius.monitor.conversations(1)[0]?.factor, "bypass");
  assertEquals(bypassUsesLeft(world), undefined);
  const used = (await auditRecordsOf(world.store)).map(({ value }) => value)
    .filter((record) => record?.action === "bypass.use");
  assertEquals(used.map((record) => [record?.object, record?.usesLeft]), [["user:anna", 0]]);
  // Used up: for the menu, the digits are no choice any more.
  assertEquals((await (await atMenu(world)).answer(code)).step, MENU);
});

for (
  const [how, write] of [
    ["without its dash", (code: string) => code.replace("-", "")],
    ["with blanks", (code: string) => ` ${code.replace("-", " ")} `],
    ["with another dash", (code: string) => code.replace("-", "\u2013")],
  ] as const
) {
  Deno.test(`bypass: a code typed ${how} is the same code`, async () => {
    const { world, code } = await withBypass();
    await using _world = world;
    assertEquals((await (await atMenu(world)).answer(write(code))).kind, "accept");
  });
}

Deno.test("bypass: a code is accepted at D, and a wrong one is a failure of the user", async () => {
  const { world, code } = await withBypass({ uses: 2 });
  await using _world = world;
  for (const [typed, expected] of [[WRONG_BYPASS, MISMATCH], [code, ["accept", ""]]] as const) {
    const login = await atMenu(world);
    assertEquals((await login.answer("D")).step, CODE);
    assertEquals(brief(await login.answer(typed)).slice(0, 2), expected);
  }
  assertEquals(bypassUsesLeft(world), 1);
  assertEquals(world.radius.limits.failures("anna").total, 0);
});

Deno.test("bypass: a wrong code at the menu is a failure, and another user's code is wrong", async () => {
  const { world } = await withBypass({}, { users: ["anna", "bert"] });
  await using _world = world;
  const ofBert = await giveBypass(world, "bert");
  for (const code of [WRONG_BYPASS, ofBert]) {
    assertEquals(brief(await (await atMenu(world)).answer(code)), MISMATCH);
  }
  assertEquals(world.radius.limits.failures("anna").total, 2);
  assertEquals([bypassUsesLeft(world), bypassUsesLeft(world, "bert")], [1, 1]);
});

Deno.test("bypass: a code at the approval prompt is an Accept, and the phone's request is cancelled", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const code = await giveBypass(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, DEVICE);
  assertEquals((await phone.requests()).length, 1);
  assertEquals((await login.answer(code)).kind, "accept");
  const { admin } = world.services.embedded ?? { admin: null };
  await becomes("the phone has nothing to decide", () => admin?.pendingCount() === 0);
});

Deno.test("bypass: without a bypass code, ten digits mean what they meant before, at each step", async () => {
  await using world = await startInProcess({ users: ["anna", "bert"] });
  const device = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  assertEquals((await login.answer("12345-67890")).step, DEVICE);
  assertEquals(lastRequest(world, device).pairingId, device.id);
  const other = world.login({ user: "bert" });
  assertEquals((await other.start()).step, MENU);
  assertEquals((await other.answer("1234567890")).step, MENU);
  assertEquals((await other.answer("D")).step, MENU);
  for (const user of ["anna", "bert"]) assertEquals(world.radius.limits.failures(user).total, 0);
});

Deno.test("bypass: a code changes no prompt of a user with another factor", async () => {
  const prompts = async (withCode: boolean) => {
    await using world = await startInProcess();
    await give(world, "anna", { kind: "totp", seed: SEED });
    if (withCode) await giveBypass(world, "anna");
    const login = world.login({ user: "anna" });
    const first = await login.start();
    const menu = await login.answer("cancel");
    const asked = await login.answer("D");
    return [first, menu, asked].map((reply) => [reply.step, reply.message]);
  };
  assertEquals(await prompts(true), await prompts(false));
});

Deno.test("bypass: a code for three logins is accepted three times, also in simultaneous logins", async () => {
  const { world, code } = await withBypass({ uses: 3 });
  await using _world = world;
  const logins = await Promise.all([1, 2, 3, 4].map(async () => {
    const login = world.login({ user: "anna" });
    await login.start();
    assertEquals((await login.answer("D")).step, CODE);
    return login;
  }));
  const replies = await Promise.all(logins.map((login) => login.answer(code)));
  assertEquals(replies.map(({ kind }) => kind).sort(), ["accept", "accept", "accept", "reject"]);
  assertEquals(bypassUsesLeft(world), undefined);
});

Deno.test("bypass: a code without a limit is accepted until it expires", async () => {
  const { world, code } = await withBypass({ uses: null, minutes: 60 });
  await using _world = world;
  for (let count = 0; count < 3; count++) {
    assertEquals((await (await atMenu(world)).answer(code)).kind, "accept");
  }
  const waiting = world.login({ user: "anna" });
  await waiting.start();
  world.clock.advance(60 * MINUTE_MS);
  assertEquals((await (await atMenu(world)).answer(code)).step, MENU);
  assertEquals(bypassUsesLeft(world), undefined);
});

Deno.test("bypass: a retransmission gets the same answer and uses up nothing", async () => {
  const { world, code } = await withBypass({ uses: 2 });
  await using _world = world;
  const packet = (await atMenu(world)).build(code);
  const login = await atMenu(world);
  const again = login.build(code);
  assertEquals((await login.exchange(again)).kind, "accept");
  assertEquals((await login.exchange(again)).kind, "accept");
  assertEquals(bypassUsesLeft(world), 1);
  assert(packet.bytes.length > 0);
});

Deno.test("bypass: a code whose Accept could not be recorded is valid for the next attempt", async () => {
  const { world, code } = await withBypass();
  await using _world = world;
  const login = await atMenu(world);
  const commits = interceptCommits(world);
  commits.failWhen((_transaction, before) => before === 0);
  const packet = login.build(code);
  await world.client.sendRaw(packet.bytes);
  await becomes("the commit fails", () => commits.failed() === 1);
  await turn();
  assertEquals(bypassUsesLeft(world), 1);
  assertEquals((await login.exchange(packet)).kind, "accept");
});

Deno.test("bypass: a locked user cannot use a code; a lock until an administrator unlocks ends it", async () => {
  const { world, code } = await withBypass({ uses: 5 }, {
    toml: "[factors.lockout]\nfailures = 2\nhard_limit = 3\n",
  });
  await using _world = world;
  for (let count = 0; count < 2; count++) {
    assertEquals(brief(await (await atMenu(world)).answer(WRONG_BYPASS)), MISMATCH);
  }
  const refused = world.login({ user: "anna" });
  assertEquals(brief(await refused.start()), ["reject", "Access denied."]);
  assertEquals(bypassUsesLeft(world), 5);
  world.clock.advance(16 * MINUTE_MS);
  assertEquals(brief(await (await atMenu(world)).answer(WRONG_BYPASS)), MISMATCH);
  assertEquals([bypassUsesLeft(world), world.radius.limits.failures("anna").hardLocked], [undefined, true]);
  const ended = (await auditRecordsOf(world.store)).filter(({ value }) => value?.action === "bypass.revoke");
  assertEquals(ended.map(({ value }) => value?.because), ["locked"]);
  const cleared = world.radius.limits.unlock("anna");
  if (cleared !== null) await world.store.commit({ mutations: [cleared] });
  assertEquals((await (await atMenu(world)).answer(code)).step, MENU);
});

Deno.test("bypass: the report `this was not me` ends the code", async () => {
  const { world } = await withBypass();
  await using _world = world;
  const report = world.radius.prepareNotMeReport("anna");
  assertEquals(bypassUsesLeft(world), undefined);
  report.undo();
  assertEquals(bypassUsesLeft(world), 1);
  const again = world.radius.prepareNotMeReport("anna");
  await world.store.commit({ mutations: again.mutations });
  again.done();
  assertEquals(bypassUsesLeft(world), undefined);
});

Deno.test("bypass: a user with a code and no factor cannot pair a phone at the login", async () => {
  const { world, code } = await withBypass({}, { toml: '[factors]\nenrol_at_login = "always"\n' });
  await using _world = world;
  const login = await atMenu(world);
  assertEquals((await login.answer("S")).step, MENU);
  assertEquals((await login.answer(code)).kind, "accept");
});

Deno.test("bypass: a new code ends the old one, also after a restart; uses that are left stay", async () => {
  const home = await Deno.makeTempDir({ prefix: "countersign-bypass-" });
  try {
    const kvPath = `${home}/store`;
    const { world: first, code: old } = await withBypass({ uses: 3 }, { kvPath });
    await using _first = first;
    const code = await giveBypass(first, "anna", { uses: 3 });
    assertEquals(brief(await (await atMenu(first)).answer(old)), MISMATCH);
    assertEquals((await (await atMenu(first)).answer(code)).kind, "accept");
    await first.stop();
    await using second = await startInProcess({ kvPath, after: first });
    assertEquals(bypassUsesLeft(second), 2);
    assertEquals(brief(await (await atMenu(second)).answer(old)), MISMATCH);
    assertEquals((await (await atMenu(second)).answer(code)).kind, "accept");
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});

Deno.test("bypass: neither the store nor the log contains a code in clear", async () => {
  const { world, code } = await withBypass();
  await using _world = world;
  const stored: string[] = [];
  for await (const { key, value } of world.kv.list({ prefix: [] })) {
    stored.push(JSON.stringify([key, value instanceof Uint8Array ? new TextDecoder().decode(value) : value]));
  }
  await (await atMenu(world)).answer(code);
  const all = [...stored, ...await world.logLines()].join("\n");
  assert(all.includes("bypass_code"));
  for (const text of [code, code.replace("-", "")]) assert(!all.includes(text));
});

Deno.test("bypass: the code of a user who leaves is removed, and restored by undo()", async () => {
  const { world } = await withBypass({ uses: 4 });
  await using _world = world;
  const undone = world.radius.prepareOffboarding("anna");
  assertEquals(bypassUsesLeft(world), undefined);
  undone.undo();
  assertEquals(bypassUsesLeft(world), 4);
  const leaving = world.radius.prepareOffboarding("anna");
  await commitChange(world.store, leaving);
  for (const table of ["bypass_code", "bypass_use"]) {
    for await (const { key } of world.kv.list({ prefix: [table] })) throw new Error(String(key));
  }
});

Deno.test("bypass: an authenticator app still works, and a code is no code of it", async () => {
  const { world, code } = await withBypass({ uses: 2 });
  await using _world = world;
  await give(world, "anna", { kind: "totp", seed: SEED });
  for (const typed of [code, appCode(world.clock.nowMs())]) {
    const login = world.login({ user: "anna" });
    assertEquals((await login.start()).step, CODE);
    assertEquals((await login.answer(typed)).kind, "accept");
  }
  assertEquals(bypassUsesLeft(world), 1);
});

// Bypass codes in append mode: after the password, only for a user who has one.

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
