// Hardware tokens in a login, and who owns them.

import { assert, assertEquals } from "@std/assert";
import { openDisk } from "./disk.ts";
import { decodeLoginRecord } from "../../../radius/conversation/login_record.ts";
import { auditRecordsOf } from "../../fakes/audited.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import { jump } from "./passing_time.ts";
import { give, otherThan, register } from "./people.ts";
import { giveToken, tokenCode } from "./tokens.ts";
import { startTwoNodes } from "./two_nodes.ts";
import { commitChange } from "../../fakes/commit_change.ts";

// Hardware tokens at the passcode step and in append mode: their windows, the single use of codes, the lock, and what a policy requires.

const CODE_STEP = "GET_DEVICE_GENERATED_PASSCODE";
const APPEND = "[radius]\nappend_mode = true\n";
const MISMATCH = ["reject", "The submitted passcode does not match."];
const DENIED = ["reject", "Access denied."];
const START_STEP = (nowMs: number, periodS = 30) => Math.floor(nowMs / (periodS * 1000));

Deno.test("token: a login of a user with a token asks for a passcode, and its code is an Accept", async () => {
  await using world = await startInProcess();
  await giveToken(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals((await login.start("pw")).step, CODE_STEP);
  assertEquals((await login.answer(tokenCode(0))).kind, "accept");
});

Deno.test("token: the history, the audit log and the live view name the token that was used", async () => {
  await using world = await startInProcess();
  await giveToken(world, "anna", { serial: "S-17" });
  const login = await world.begin({ user: "anna" }, "pw");
  await login.answer(tokenCode(0));
  const [view] = world.radius.monitor.conversations(1);
  assertEquals([view?.factor, view?.token], ["totp", "S-17"]);
  const history = await Array.fromAsync(world.store.list(["history"]));
  assertEquals(history.map(({ value }) => decodeLoginRecord(value)?.token), ["S-17"]);
  const accepted = (await auditRecordsOf(world.store)).filter(({ value }) =>
    value?.action === "login.accepted"
  );
  assertEquals(accepted.map(({ value }) => value?.token), ["S-17"]);
});

Deno.test("token: D in the menu asks for a passcode of the token", async () => {
  await using world = await startInProcess();
  await giveToken(world, "anna");
  const login = await world.begin({ user: "anna" }, "");
  assertEquals((await login.answer("D")).step, CODE_STEP);
  assertEquals((await login.answer(tokenCode(3))).kind, "accept");
});

Deno.test("token: each HOTP code is accepted once, and none before it (RFC 4226 §7.2)", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await giveToken(world, "anna");
  const tries = [4, 4, 3, 0, 5].map((at) => `pw,${tokenCode(at)}`);
  const kinds = [];
  for (const password of tries) kinds.push((await world.login({ user: "anna" }).start(password)).kind);
  assertEquals(kinds, ["accept", "reject", "reject", "reject", "accept"]);
});

Deno.test("token: HOTP accepts ten skipped codes and not eleven", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await giveToken(world, "anna");
  assertEquals(brief(await world.login({ user: "anna" }).start(`pw,${tokenCode(11)}`)), MISMATCH);
  assertEquals((await world.login({ user: "anna" }).start(`pw,${tokenCode(10)}`)).kind, "accept");
});

for (
  const [algorithm, digits, periodS] of [["SHA1", 6, 30], ["SHA1", 8, 60], ["SHA256", 7, 60], [
    "SHA512",
    8,
    30,
  ]] as const
) {
  Deno.test(`token: TOTP with ${algorithm}, ${digits} digits and ${periodS} s is accepted, each time step once`, async () => {
    await using world = await startInProcess({ toml: APPEND });
    await giveToken(world, "anna", { kind: "totp", algorithm, digits, periodS });
    const now = START_STEP(world.clock.nowMs(), periodS);
    const code = (at: number) => `pw,${tokenCode(at, { digits, algorithm: algorithm.toLowerCase() })}`;
    assertEquals(brief(await world.login({ user: "anna" }).start(code(now - 2))), MISMATCH);
    assertEquals((await world.login({ user: "anna" }).start(code(now))).kind, "accept");
    assertEquals(brief(await world.login({ user: "anna" }).start(code(now))), MISMATCH);
    assertEquals((await world.login({ user: "anna" }).start(code(now + 1))).kind, "accept");
  });
}

Deno.test("token: the drift of a TOTP token is learned, step by step, and not beyond its limit (RFC 6238 §6)", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await giveToken(world, "anna", { kind: "totp", periodS: 30 });
  const kinds = [];
  for (let drift = 1; drift <= 13; drift++) {
    const step = START_STEP(world.clock.nowMs()) + drift;
    kinds.push((await world.login({ user: "anna" }).start(`pw,${tokenCode(step)}`)).kind);
    await jump(world.clock, 60_000);
  }
  assertEquals(kinds, [...Array(11).fill("accept"), "reject", "reject"]);
});

Deno.test("token: a wrong code counts as a failure and locks the user like any other code", async () => {
  await using world = await startInProcess({ toml: `${APPEND}[factors.lockout]\nfailures = 2` });
  await giveToken(world, "anna");
  const wrong = otherThan(otherThan(otherThan(tokenCode(0))));
  for (const failures of [1, 2]) {
    assertEquals(brief(await world.login({ user: "anna" }).start(`pw,${wrong}`)), MISMATCH);
    assertEquals(world.radius.limits.failures("anna").total, failures);
  }
  assertEquals(brief(await world.login({ user: "anna" }).start(`pw,${tokenCode(0)}`)), DENIED);
});

Deno.test("token: a right code clears the failures of the user", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await giveToken(world, "anna");
  await world.login({ user: "anna" }).start(`pw,${otherThan(otherThan(tokenCode(0)))}`);
  assertEquals((await world.login({ user: "anna" }).start(`pw,${tokenCode(1)}`)).kind, "accept");
  assertEquals(world.radius.limits.failures("anna").total, 0);
});

Deno.test("token: of several tokens and an app, the one that shows the code is used", async () => {
  await using world = await startInProcess({ toml: APPEND });
  const seeds = [1, 2, 3].map((value) => new Uint8Array(20).fill(value));
  for (const [at, seed] of seeds.entries()) await giveToken(world, "anna", { serial: `T-${at}`, seed });
  await give(world, "anna", { kind: "totp", seed: new Uint8Array(20).fill(9) });
  const last = seeds[2] as Uint8Array;
  assertEquals(
    (await world.login({ user: "anna" }).start(`pw,${tokenCode(2, { seed: last })}`)).kind,
    "accept",
  );
  assertEquals(world.radius.hardwareTokens.of("anna").map(({ use }) => use.next), [0, 0, 3]);
});

Deno.test("token: a free token, a disabled one and an expired one accept nothing", async () => {
  await using world = await startInProcess({ toml: APPEND });
  const { hardwareTokens } = world.radius;
  await giveToken(world, null);
  await giveToken(world, "anna", { serial: "T-2", validToMs: world.clock.nowMs() - 1 });
  await giveToken(world, "anna", { serial: "T-3" });
  const token = hardwareTokens.get("T-3");
  if (token === null) throw new Error("no token");
  const disabled = hardwareTokens.prepareChange(token, { ...token.record, isEnabled: false });
  await world.store.commit(disabled);
  const reply = await world.login({ user: "anna" }).start(`pw,${tokenCode(0)}`);
  assertEquals([brief(reply), world.radius.limits.failures("anna").total], [DENIED, 0]);
});

Deno.test("token: a user with a disabled token cannot enrol another factor at a login", async () => {
  await using world = await startInProcess({ toml: '[factors]\nenrol_at_login = "always"' });
  await giveToken(world, "anna", { validToMs: 1 });
  const login = await world.begin({ user: "anna" }, "");
  const reply = await login.answer("S");
  assertEquals(reply.step, "CHOOSE_WHICH_MULTIFACTOR");
});

Deno.test("token: of two simultaneous logins with the same code one is accepted", async () => {
  await using world = await startInProcess();
  await giveToken(world, "anna");
  const logins = [world.login({ user: "anna" }), world.login({ user: "anna" })];
  for (const login of logins) await login.start("pw");
  const replies = await Promise.all(logins.map((login) => login.answer(tokenCode(0))));
  assertEquals(replies.map(({ kind }) => kind).sort(), ["accept", "reject"]);
});

Deno.test("token: two nodes that get the same code at the same time accept it once", async () => {
  await using nodes = await startTwoNodes();
  const { a, b } = nodes;
  await giveToken(a, "anna");
  await b.store.catchUp();
  const [first, second] = [a.login({ user: "anna" }), a.login({ user: "anna" })];
  await first.start("pw");
  await second.start("pw");
  await b.store.catchUp();
  second.moveTo(b);
  const replies = await Promise.all([first.answer(tokenCode(0)), second.answer(tokenCode(0))]);
  assertEquals(replies.map(({ kind }) => kind).sort(), ["accept", "reject"]);
});

Deno.test("token: a code that one node accepted is refused by the other, and after a restart", async () => {
  await using nodes = await startTwoNodes({ toml: APPEND });
  const { a, b } = nodes;
  await giveToken(a, "anna");
  assertEquals((await a.login({ user: "anna" }).start(`pw,${tokenCode(0)}`)).kind, "accept");
  await b.store.catchUp();
  assertEquals(b.radius.hardwareTokens.of("anna").map(({ use }) => use.next), [1]);
  assertEquals(brief(await b.login({ user: "anna" }).start(`pw,${tokenCode(0)}`)), MISMATCH);
  assertEquals((await b.login({ user: "anna" }).start(`pw,${tokenCode(1)}`)).kind, "accept");
});

Deno.test("token: a node that does not know yet that the other one took the token away accepts no code of it", async () => {
  await using nodes = await startTwoNodes();
  const { a, b } = nodes;
  await giveToken(a, "anna");
  await b.store.catchUp();
  const login = await a.begin({ user: "anna" }, "pw");
  const token = b.radius.hardwareTokens.get("T-1");
  if (token === null) throw new Error("no token");
  const disabled = b.radius.hardwareTokens.prepareChange(token, { ...token.record, isEnabled: false });
  assertEquals((await b.store.commit(disabled)).ok, true);
  assertEquals((await login.answer(tokenCode(0))).kind, "reject");
});

Deno.test("token: the seed is in no log line and not in clear text in the store", async () => {
  await using world = await startInProcess({ toml: APPEND });
  await giveToken(world, "anna");
  await world.login({ user: "anna" }).start(`pw,${tokenCode(0)}`);
  const entries = await Array.fromAsync(world.store.list(["token"]));
  const shown = JSON.stringify([entries, await world.logLines()]);
  const text = new TextDecoder("latin1").decode(
    (entries[0]?.value as { seed: Uint8Array }).seed,
  );
  assertEquals([shown.includes("1234567890123"), text.includes("1234567890123")], [false, false]);
});

Deno.test("token: the log names a code that was used, a last step in the future, and a clock that is ahead", async () => {
  await using world = await startInProcess();
  await giveToken(world, "anna");
  await giveToken(world, "bert", { serial: "T-2", kind: "totp", periodS: 30 });
  await giveToken(world, "cleo", { serial: "T-3", kind: "totp", periodS: 30 });
  const now = START_STEP(world.clock.nowMs());
  const enter = async (user: string, code: string) => {
    const login = await world.begin({ user }, "pw");
    return (await login.answer(code)).kind;
  };
  assertEquals([await enter("anna", tokenCode(0)), await enter("anna", tokenCode(0))], ["accept", "reject"]);
  assertEquals(await enter("bert", tokenCode(now + 20)), "reject");
  const cleos = world.radius.hardwareTokens.get("T-3");
  if (cleos === null) throw new Error("There is no token");
  world.radius.hardwareTokens.prepareUse(cleos, { ...cleos.use, next: now + 50 });
  assertEquals(await enter("cleo", tokenCode(now)), "reject");
  const log = (await world.logLines()).join("\n");
  for (const row of ["code_used", "code_of_fast_clock", "code_before_last_step"]) {
    assertEquals(log.includes(row), true, row);
  }
  assertEquals(log.includes("10 minutes ahead"), true);
});

// What happens to the hardware tokens of a user who leaves, and who gets another name; policies, lists of factors, and a restart.

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
  await using disk = await openDisk();
  await using before = await startInProcess({ toml: APPEND, kvPath: disk.path });
  await giveToken(before, "anna");
  assertEquals((await before.login({ user: "anna" }).start(`pw,${tokenCode(0)}`)).kind, "accept");
  await before.stop();
  await using after = await startInProcess({ toml: APPEND, kvPath: disk.path, after: before });
  assertEquals(brief(await after.login({ user: "anna" }).start(`pw,${tokenCode(0)}`)), MISMATCH);
  assertEquals((await after.login({ user: "anna" }).start(`pw,${tokenCode(1)}`)).kind, "accept");
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
