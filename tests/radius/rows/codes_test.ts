// Recovery and bypass codes at a login. A recovery code replaces a device's passcode once; a bypass code replaces a second factor as often as it
// allows, until its time.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { openDisk } from "./disk.ts";
import { auditRecordsOf } from "../../fakes/audited.ts";
import { commitChange } from "../../fakes/commit_change.ts";
import { interceptCommits } from "../regression/failing_commits.ts";
import { bypassUsesLeft, giveBypass, withBypass, WRONG_BYPASS } from "./bypass.ts";
import { startFirstFactorServer } from "./first_factor_server.ts";
import { type InProcess, type InProcessOptions, startInProcess } from "./in_process.ts";
import { brief, type Login } from "./login.ts";
import { becomes, turn } from "./passing_time.ts";
import { pairPhone } from "./phone.ts";
import { appCode, give, giveDevice, lastRequest, SEED, startWith } from "./people.ts";

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const MISMATCH = ["reject", "The submitted passcode does not match."];
const MINUTE_MS = 60_000;
const APPEND = "[radius]\nappend_mode = true\n";

async function giveCodes({ radius, store }: InProcess, user: string): Promise<readonly string[]> {
  const made = radius.recoveryCodes.create(user);
  const done = await store.commit({ checks: made.checks, mutations: made.mutations });
  if (!done.ok) throw new Error("The codes were not kept");
  made.adopt(done.versionstamp);
  return made.codes;
}

const left = ({ radius }: InProcess, user = "anna") => radius.recoveryCodes.status(user).left;

async function askedForCode(world: InProcess): Promise<Login> {
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, CODE);
  return login;
}

/** A login that waits at the menu: the user has no other factor. */
async function atMenu(world: InProcess): Promise<Login> {
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, MENU);
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

interface Kind {
  readonly wrong: string;
  /** Logins that the codes of a user serve. */
  readonly uses: number;
  readonly tables: readonly string[];
  readonly writings: Readonly<Record<string, (code: string) => string>>;
  readonly open: (options?: InProcessOptions) => Promise<{ world: InProcess; codes: readonly string[] }>;
  /** Issues new codes. */
  readonly issue: (world: InProcess, user: string) => Promise<readonly string[]>;
  readonly left: (world: InProcess, user?: string) => number | null | undefined;
  readonly ask: (world: InProcess) => Promise<Login>;
}

const dashes = {
  "without its dash": (code: string) => code.replace("-", ""),
  "with blanks": (code: string) => ` ${code.replace("-", " ")} `,
};
const KINDS: Readonly<Record<string, Kind>> = {
  recovery: {
    wrong: "aaaaa-aaaaa",
    uses: 10,
    tables: ["recovery_code"],
    writings: { ...dashes, "in capitals": (code) => code.toUpperCase() },
    open: withCodes,
    issue: giveCodes,
    left,
    ask: askedForCode,
  },
  bypass: {
    wrong: WRONG_BYPASS,
    uses: 3,
    tables: ["bypass_code", "bypass_use"],
    writings: { ...dashes, "with another dash": (code) => code.replace("-", "\u2013") },
    async open(options) {
      const { world, code } = await withBypass({ uses: 3 }, options);
      return { world, codes: [code] };
    },
    issue: async (world, user) => [await giveBypass(world, user, { uses: 3 })],
    left: bypassUsesLeft,
    ask: atMenu,
  },
};

for (const [name, kind] of Object.entries(KINDS)) {
  const { wrong, uses, tables, open, issue, ask } = kind;

  for (const [how, write] of Object.entries(kind.writings)) {
    Deno.test(`${name}: a code typed ${how} is the same code`, async () => {
      const { world, codes } = await open();
      await using _world = world;
      assertEquals((await (await ask(world)).answer(write(codes.at(-1) ?? ""))).kind, "accept");
    });
  }

  Deno.test(`${name}: a code at the approval prompt is an Accept, and the phone's request is cancelled`, async () => {
    await using world = await startInProcess({ embedded: true });
    const phone = await pairPhone(world, "anna");
    const [code = ""] = await issue(world, "anna");
    const login = world.login({ user: "anna" });
    assertEquals((await login.start()).step, DEVICE);
    assertEquals((await phone.requests()).length, 1);
    assertEquals((await login.answer(code)).kind, "accept");
    const { admin } = world.services.embedded ?? { admin: null };
    await becomes("the phone has nothing to decide", () => admin?.pendingCount() === 0);
  });

  Deno.test(`${name}: a retransmission gets the same answer and uses up nothing`, async () => {
    const { world, codes: [code = ""] } = await open();
    await using _world = world;
    const login = await ask(world);
    const packet = login.build(code);
    assertEquals((await login.exchange(packet)).kind, "accept");
    assertEquals((await login.exchange(packet)).kind, "accept");
    assertEquals(kind.left(world), uses - 1);
  });

  Deno.test(`${name}: a code whose Accept could not be recorded is valid for the next attempt`, async () => {
    const { world, codes: [code = ""] } = await open();
    await using _world = world;
    const login = await ask(world);
    const commits = interceptCommits(world);
    commits.failWhen((_transaction, before) => before === 0);
    const packet = login.build(code);
    await world.client.sendRaw(packet.bytes);
    await becomes("the commit fails", () => commits.failed() === 1);
    await turn();
    assertEquals(kind.left(world), uses);
    assertEquals((await login.exchange(packet)).kind, "accept");
    assertEquals(kind.left(world), uses - 1);
  });

  Deno.test(`${name}: a wrong code is a failure of the user, and so is another user's code`, async () => {
    const { world } = await open({ users: ["anna", "bert"] });
    await using _world = world;
    const [ofBert = ""] = await issue(world, "bert");
    for (const code of [wrong, ofBert]) assertEquals(brief(await (await ask(world)).answer(code)), MISMATCH);
    assertEquals(world.radius.limits.failures("anna").total, 2);
    assertEquals([kind.left(world), kind.left(world, "bert")], [uses, uses]);
  });

  Deno.test(`${name}: new codes void the old ones, also after a restart; uses that are left stay`, async () => {
    await using disk = await openDisk();
    const kvPath = disk.path;
    const { world: first, codes: old } = await open({ kvPath });
    await using _first = first;
    const codes = await issue(first, "anna");
    assertEquals(brief(await (await ask(first)).answer(old[0] ?? "")), MISMATCH);
    assertEquals((await (await ask(first)).answer(codes[0] ?? "")).kind, "accept");
    await first.stop();
    await using second = await startInProcess({ kvPath, after: first });
    assertEquals(kind.left(second), uses - 1);
    // A recovery code is used up by its login.
    for (const code of name === "recovery" ? [old[1] ?? "", codes[0] ?? ""] : old) {
      assertEquals(brief(await (await ask(second)).answer(code)), MISMATCH);
    }
    assertEquals((await (await ask(second)).answer(codes.at(-1) ?? "")).kind, "accept");
  });

  Deno.test(`${name}: neither the store nor the log contains a code in clear`, async () => {
    const { world, codes } = await open();
    await using _world = world;
    await (await ask(world)).answer(codes[0] ?? "");
    const stored: string[] = [];
    for await (const { key, value } of world.kv.list({ prefix: [] })) {
      stored.push(
        JSON.stringify([key, value instanceof Uint8Array ? new TextDecoder().decode(value) : value]),
      );
    }
    const all = [...stored, ...await world.logLines()].join("\n");
    for (const table of tables) assert(all.includes(table));
    for (const text of codes.flatMap((code) => [code, code.replace("-", "")])) assert(!all.includes(text));
  });

  Deno.test(`${name}: the codes of a user who leaves are removed, and restored by undo()`, async () => {
    const { world } = await open();
    await using _world = world;
    const none = name === "recovery" ? 0 : undefined;
    const undone = world.radius.prepareOffboarding("anna");
    assertEquals(kind.left(world), none);
    undone.undo();
    assertEquals(kind.left(world), uses);
    await commitChange(world.store, world.radius.prepareOffboarding("anna"));
    assertEquals(kind.left(world), none);
    for (const table of tables) {
      for await (const { key } of world.kv.list({ prefix: [table] })) throw new Error(String(key));
    }
  });
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

Deno.test("recovery: without recovery codes such a text is no code, and the phone is still polled", async () => {
  await using world = await startInProcess();
  const device = await giveDevice(world, "anna");
  const login = await world.begin({ user: "anna" });
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
  const { world, codes } = await withCodes({ toml: APPEND });
  await using _world = world;
  assertEquals((await world.login({ user: "anna" }).start(`pw,${codes[0]}`)).step, CODE);
  assertEquals(left(world), 10);
});

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

Deno.test("bypass: without a bypass code, ten digits mean what they meant before, at each step", async () => {
  await using world = await startInProcess({ users: ["anna", "bert"] });
  const device = await giveDevice(world, "anna");
  const login = await world.begin({ user: "anna" });
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
    await using world = await startWith("app");
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
    const login = await world.begin({ user: "anna" });
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
  await world.begin({ user: "anna" });
  world.clock.advance(60 * MINUTE_MS);
  assertEquals((await (await atMenu(world)).answer(code)).step, MENU);
  assertEquals(bypassUsesLeft(world), undefined);
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
