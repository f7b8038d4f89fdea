// Recovery codes at a login: each replaces a device's passcode once.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { interceptCommits } from "../regression/failing_commits.ts";
import { type InProcess, type InProcessOptions, startInProcess } from "./in_process.ts";
import { brief, type Login } from "./login.ts";
import { becomes, turn } from "./passing_time.ts";
import { pairPhone } from "./phone.ts";
import { appCode, give, giveDevice, lastRequest, SEED } from "./people.ts";
import { commitChange } from "../../fakes/commit_change.ts";

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const MISMATCH = ["reject", "The submitted passcode does not match."];

async function giveCodes({ radius, store }: InProcess, user: string): Promise<readonly string[]> {
  const made = radius.recoveryCodes.create(user);
  const done = await store.commit({ checks: made.checks, mutations: made.mutations });
  if (!done.ok) throw new Error("The codes were not kept");
  made.adopt(done.versionstamp);
  return made.codes;
}

const left = ({ radius }: InProcess) => radius.recoveryCodes.status("anna").left;

async function askedForCode(world: InProcess): Promise<Login> {
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, CODE);
  return login;
}

/** A user with an authenticator app and codes. */
async function withCodes(
  options: InProcessOptions = {},
): Promise<{ world: InProcess; codes: readonly string[] }> {
  const world = await startInProcess(options);
  await give(world, "anna", { kind: "totp", seed: SEED });
  return { world, codes: await giveCodes(world, "anna") };
}

Deno.test("recovery: a recovery code instead of an app's code is an Accept, once, and the login names it", async () => {
  const { world, codes } = await withCodes();
  await using _world = world;
  const [code = ""] = codes;
  assertMatch(code, /^[a-z2-7]{5}-[a-z2-7]{5}$/);
  const login = await askedForCode(world);
  assertEquals((await login.answer(code)).kind, "accept");
  assertEquals(left(world), 9);
  assertEquals(world.radius.monitor.conversations(1)[0]?.factor, "recovery");
  assertEquals(brief(await (await askedForCode(world)).answer(code)), MISMATCH);
  const other = await askedForCode(world);
  assertEquals((await other.answer(appCode(world.clock.nowMs()))).kind, "accept");
});

for (
  const [how, write] of [
    ["in capitals", (code: string) => code.toUpperCase()],
    ["without its dash", (code: string) => code.replace("-", "")],
    ["with blanks", (code: string) => ` ${code.replace("-", " ")} `],
  ] as const
) {
  Deno.test(`recovery: a code typed ${how} is the same code`, async () => {
    const { world, codes } = await withCodes();
    await using _world = world;
    assertEquals((await (await askedForCode(world)).answer(write(codes[3] ?? ""))).kind, "accept");
  });
}

Deno.test("recovery: a code at the approval prompt is an Accept, and the phone's request is cancelled", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const [code = ""] = await giveCodes(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, DEVICE);
  assertEquals((await phone.requests()).length, 1);
  assertEquals((await login.answer(code)).kind, "accept");
  const { admin } = world.services.embedded ?? { admin: null };
  await becomes("the phone has nothing to decide", () => admin?.pendingCount() === 0);
});

Deno.test("recovery: without recovery codes such a text is no code, and the phone is still polled", async () => {
  await using world = await startInProcess();
  const device = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  assertEquals((await login.answer("abcde-fghij")).step, DEVICE);
  assertEquals(lastRequest(world, device).pairingId, device.id);
  assertEquals(world.radius.limits.failures("anna").total, 0);
});

Deno.test("recovery: of the same code in three simultaneous logins one is accepted", async () => {
  const { world, codes } = await withCodes();
  await using _world = world;
  const logins = [await askedForCode(world), await askedForCode(world), await askedForCode(world)];
  const replies = await Promise.all(logins.map((login) => login.answer(codes[0] ?? "")));
  assertEquals(replies.map(({ kind }) => kind).sort(), ["accept", "reject", "reject"]);
  assertEquals(left(world), 9);
});

Deno.test("recovery: two codes in two simultaneous logins are both accepted", async () => {
  const { world, codes } = await withCodes();
  await using _world = world;
  const logins = [await askedForCode(world), await askedForCode(world)];
  const replies = await Promise.all(logins.map((login, at) => login.answer(codes[at] ?? "")));
  assertEquals([replies.map(({ kind }) => kind), left(world)], [["accept", "accept"], 8]);
});

Deno.test("recovery: a retransmission gets the same answer and uses up nothing", async () => {
  const { world, codes } = await withCodes();
  await using _world = world;
  const login = await askedForCode(world);
  const packet = login.build(codes[0] ?? "");
  assertEquals((await login.exchange(packet)).kind, "accept");
  assertEquals((await login.exchange(packet)).kind, "accept");
  assertEquals(left(world), 9);
});

Deno.test("recovery: a code whose Accept could not be recorded is valid for the next attempt", async () => {
  const { world, codes } = await withCodes();
  await using _world = world;
  const login = await askedForCode(world);
  const commits = interceptCommits(world);
  commits.failWhen((_transaction, before) => before === 0);
  const packet = login.build(codes[0] ?? "");
  await world.client.sendRaw(packet.bytes);
  await becomes("the commit fails", () => commits.failed() === 1);
  await turn();
  assertEquals(left(world), 10);
  assertEquals((await login.exchange(packet)).kind, "accept");
  assertEquals(left(world), 9);
});

Deno.test("recovery: a wrong code is a failure of the user, and so is another user's code", async () => {
  const { world } = await withCodes();
  await using _world = world;
  const [ofBert = ""] = await giveCodes(world, "bert");
  for (const code of ["aaaaa-aaaaa", ofBert]) {
    assertEquals(brief(await (await askedForCode(world)).answer(code)), MISMATCH);
  }
  assertEquals(world.radius.limits.failures("anna").total, 2);
  assertEquals(world.radius.recoveryCodes.status("bert").left, 10);
});

Deno.test("recovery: a locked user cannot use a code, and the code stays valid", async () => {
  const { world, codes } = await withCodes();
  await using _world = world;
  const login = await askedForCode(world);
  world.radius.limits.lockFor("anna", 60_000);
  assertEquals(brief(await login.answer(codes[0] ?? "")), ["reject", "Access denied."]);
  assertEquals(left(world), 10);
});

Deno.test("recovery: a user with only recovery codes uses them at D, and cannot enrol a phone", async () => {
  await using world = await startInProcess({ toml: '[factors]\nenrol_at_login = "always"\n' });
  const [code = ""] = await giveCodes(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, MENU);
  assertEquals((await login.answer("S")).step, MENU);
  assertEquals((await login.answer("D")).step, CODE);
  assertEquals((await login.answer(code)).kind, "accept");
});

Deno.test("recovery: in append mode ten letters after the comma are part of the password", async () => {
  const { world, codes } = await withCodes({ toml: "[radius]\nappend_mode = true\n" });
  await using _world = world;
  assertEquals((await world.login({ user: "anna" }).start(`pw,${codes[0]}`)).step, CODE);
  assertEquals(left(world), 10);
});

Deno.test("recovery: new codes void the old ones, also after a restart; a used one stays used", async () => {
  const home = await Deno.makeTempDir({ prefix: "countersign-recovery-" });
  try {
    const kvPath = `${home}/store`;
    const { world: first, codes: old } = await withCodes({ kvPath });
    await using _first = first;
    const codes = await giveCodes(first, "anna");
    assertEquals(brief(await (await askedForCode(first)).answer(old[0] ?? "")), MISMATCH);
    assertEquals((await (await askedForCode(first)).answer(codes[0] ?? "")).kind, "accept");
    await first.stop();
    await using second = await startInProcess({ kvPath, after: first });
    assertEquals(left(second), 9);
    for (const code of [old[1] ?? "", codes[0] ?? ""]) {
      assertEquals(brief(await (await askedForCode(second)).answer(code)), MISMATCH);
    }
    assertEquals((await (await askedForCode(second)).answer(codes[1] ?? "")).kind, "accept");
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});

Deno.test("recovery: neither the store nor the log contains a code in clear", async () => {
  const { world, codes } = await withCodes();
  await using _world = world;
  await (await askedForCode(world)).answer(codes[0] ?? "");
  const kept: string[] = [];
  for await (const { key, value } of world.kv.list({ prefix: [] })) {
    kept.push(JSON.stringify([key, value instanceof Uint8Array ? new TextDecoder().decode(value) : value]));
  }
  const all = [...kept, ...await world.logLines()].join("\n");
  for (const code of codes) {
    assert(!all.includes(code), "as it is shown");
    assert(!all.includes(code.replace("-", "")), "without its dash");
  }
});

Deno.test("recovery: the codes of a user who leaves are removed, and restored by undo()", async () => {
  const { world } = await withCodes();
  await using _world = world;
  const undone = world.radius.prepareOffboarding("anna");
  assertEquals(left(world), 0);
  undone.undo();
  assertEquals(left(world), 10);
  const leaving = world.radius.prepareOffboarding("anna");
  await commitChange(world.store, leaving);
  assertEquals(left(world), 0);
  for await (const { key } of world.kv.list({ prefix: ["recovery_code"] })) throw new Error(String(key));
});
