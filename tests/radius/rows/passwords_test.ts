// The first factor: passwords, and who checks them.

import { assert, assertEquals } from "@std/assert";
import type { AccountRefusal } from "../../../platform/account_refusals.ts";
import type { FirstFactorVerdict, Passwords } from "../../../radius/ports.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief, exchangeJudged } from "./login.ts";
import { becomes } from "./passing_time.ts";
import { appCode, decide, give, giveDevice, lastRequest, register, SEED, startWith } from "./people.ts";
import { startFirstFactorServer } from "./first_factor_server.ts";

// Flow rows of the first factors of the directory: its own passwords, and a bind at an LDAP backend.

const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const DENIED = ["reject", "Access denied."];
const DIRECTORY = '[radius]\nfirst_factor = "directory"\n';
const LDAP = '[radius]\nfirst_factor = "ldap"\nfirst_factor_backend = "corp"\n' +
  '[targets.default.backends.corp]\nkind = "ldap"\nurl = "ldap://127.0.0.1"\nusers_dn = "ou=people"\n';

interface Judge extends Passwords {
  readonly asked: string[];
  verdict: FirstFactorVerdict | Error | Promise<FirstFactorVerdict> | null;
}

/** Accepts "right" and refuses every other password, unless told otherwise. */
function createJudge(): Judge {
  const judge: Judge = {
    asked: [],
    verdict: null,
    hasPassword: (user) => Promise.resolve(!user.startsWith("ghost")),
    directory: (user, password) => answer(`directory ${user}`, password),
    ldap: (backend, user, password) => answer(`${backend} ${user}`, password),
  };
  const answer = (who: string, password: Uint8Array): Promise<FirstFactorVerdict> => {
    const text = new TextDecoder().decode(password);
    judge.asked.push(`${who} ${text}`);
    if (judge.verdict instanceof Error) return Promise.reject(judge.verdict);
    return Promise.resolve(judge.verdict ?? (text === "right" ? "right" : "wrong"));
  };
  return judge;
}

async function open(toml: string, passwords: Passwords): Promise<InProcess> {
  const world = await startInProcess({ toml, passwords });
  await give(world, "anna", { kind: "totp", seed: SEED });
  return world;
}

for (
  const [kind, toml, who] of [["directory", DIRECTORY, "directory anna"], [
    "ldap",
    LDAP,
    "corp Anna",
  ]] as const
) {
  Deno.test(`passwords: at "${kind}" the right password leads to the second factor`, async () => {
    const judge = createJudge();
    await using world = await open(toml, judge);
    const login = world.login({ user: "Anna" });
    assertEquals((await login.start("right")).step, CODE);
    assertEquals(judge.asked, [`${who} right`]);
    assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
    assertEquals(judge.asked.length, 1, "an answer is never taken for a password");
  });

  Deno.test(`passwords: at "${kind}" a wrong password is a Reject and a failure`, async () => {
    await using world = await open(toml, createJudge());
    assertEquals(brief(await world.login({ user: "anna" }).start("wrong")), DENIED);
    assertEquals(world.radius.limits.failures("anna").total, 1);
  });

  Deno.test(`passwords: at "${kind}" an empty password is refused without a check, and is no failure`, async () => {
    const judge = createJudge();
    await using world = await open(toml, judge);
    assertEquals(brief(await world.login({ user: "anna" }).start("")), DENIED);
    assertEquals([world.radius.limits.failures("anna").total, judge.asked.length], [0, 0]);
  });

  for (const verdict of ["unavailable", new Error("no route to it")] as const) {
    Deno.test(`passwords: at "${kind}" ${verdict} accepts no login and counts as no failure`, async () => {
      const judge = createJudge();
      judge.verdict = verdict;
      await using world = await open(toml, judge);
      assertEquals(brief(await world.login({ user: "anna" }).start("right")), DENIED);
      assertEquals(world.radius.limits.failures("anna").total, 0);
      assert(!(await world.logLines()).join().includes("right"));
    });
  }

  Deno.test(`passwords: at "${kind}" a refused user is refused before the password is checked`, async () => {
    const judge = createJudge();
    await using world = await open(toml, judge);
    await register(world, "anna", { active: false });
    assertEquals(brief(await world.login({ user: "anna" }).start("right")), DENIED);
    assertEquals(judge.asked, []);
  });

  Deno.test(`passwords: at "${kind}" a check without an answer ends after ten seconds`, async () => {
    const judge = createJudge();
    judge.verdict = new Promise(() => undefined);
    await using world = await open(toml, judge);
    const reply = await world.login({ user: "anna" }).start("right");
    assertEquals(brief(reply), DENIED);
    assert(reply.tookMs >= 10_000 && reply.tookMs < 12_500, `${reply.tookMs} ms`);
  });
}

Deno.test("passwords: no login is accepted without a password check", async () => {
  await using world = await startInProcess({ toml: DIRECTORY });
  assertEquals(brief(await world.login({ user: "anna" }).start("right")), DENIED);
});

Deno.test("passwords: an empty password never reaches an LDAP server, where its bind would succeed", async () => {
  const judge = createJudge();
  judge.verdict = "right";
  await using world = await open(LDAP, judge);
  assertEquals(brief(await world.login({ user: "anna" }).start("")), DENIED);
  assertEquals(judge.asked, []);
});

Deno.test("passwords: a right password of the directory is checked once a minute for the same user and the same octets", async () => {
  const judge = createJudge();
  await using world = await open(DIRECTORY, judge);
  await register(world, "bert");
  const start = async (password: string, user = "anna") => (await world.login({ user }).start(password)).kind;
  assertEquals([await start("right"), await start("right")], ["challenge", "challenge"]);
  assertEquals(judge.asked.length, 1);
  assertEquals([await start("wrong"), await start("wrong")], ["reject", "reject"]);
  assertEquals(judge.asked.length, 3);
  assertEquals(await start("right", "bert"), "challenge");
  assertEquals(judge.asked.at(-1), "directory bert right");
  world.clock.advance(60_000);
  assertEquals(await start("right"), "challenge");
  assertEquals(judge.asked.at(-1), "directory anna right");
});

Deno.test("passwords: a password of an LDAP server is checked every time, because its changes are not announced", async () => {
  const judge = createJudge();
  await using world = await open(LDAP, judge);
  await world.login({ user: "anna" }).start("right");
  await world.login({ user: "anna" }).start("right");
  assertEquals(judge.asked.length, 2);
});

Deno.test("passwords: a cached result is removed when the user's record changes", async () => {
  const judge = createJudge();
  await using world = await open(DIRECTORY, judge);
  await world.login({ user: "anna" }).start("right");
  judge.verdict = "wrong";
  world.radius.forgetPassword("bert");
  assertEquals((await world.login({ user: "anna" }).start("right")).step, CODE);
  world.radius.forgetPassword("anna");
  assertEquals((await world.login({ user: "anna" }).start("right")).kind, "reject");
});

Deno.test("passwords: a result is not cached if the record changed during the check", async () => {
  const judge = createJudge();
  const { promise, resolve } = Promise.withResolvers<FirstFactorVerdict>();
  judge.verdict = promise;
  await using world = await open(DIRECTORY, judge);
  const first = exchangeJudged(world, world.login({ user: "anna" }).buildStart("right"));
  await becomes("it is asked", () => judge.asked.length === 1);
  world.radius.forgetPassword("anna");
  resolve("right");
  assertEquals((await first).step, CODE);
  judge.verdict = "wrong";
  assertEquals((await world.login({ user: "anna" }).start("right")).kind, "reject");
});

Deno.test("passwords: two checks run at once and 48 of one client wait; the next request gets no answer and may be repeated", async () => {
  const judge = createJudge();
  const { promise, resolve } = Promise.withResolvers<FirstFactorVerdict>();
  judge.verdict = promise;
  const users = [...Array.from({ length: 50 }, (_, at) => `user${at}`), "late"];
  await using world = await startInProcess({ toml: DIRECTORY, passwords: judge, users });
  const starts = users.slice(0, 50).map((user) => world.login({ user }).buildStart("right"));
  for (const { bytes } of starts) await world.client.sendRaw(bytes);
  await becomes("they are worked on", () => world.radius.server.working === 50);
  assertEquals(judge.asked.length, 2);
  const late = world.login({ user: "late" }).buildStart("right");
  await world.client.sendRaw(late.bytes);
  const drops = () => world.radius.monitor.counters().dropped_first_factor_busy;
  await becomes("the last one is dropped", () => drops() === 1);
  assertEquals(world.radius.limits.failures("late").total, 0);
  resolve("right");
  await becomes("all were checked", () => world.radius.server.working === 0);
  assertEquals(judge.asked.length, 50);
  // Its retransmission is handled.
  assertEquals((await exchangeJudged(world, late)).step, MENU);
});

Deno.test("passwords: users without a password are refused while the queue is full, and take no place in it", async () => {
  const judge = createJudge();
  const { promise, resolve } = Promise.withResolvers<FirstFactorVerdict>();
  judge.verdict = promise;
  await using world = await startInProcess({
    toml: `${DIRECTORY}unknown_users = "allow"\n`,
    passwords: judge,
  });
  const users = Array.from({ length: 50 }, (_, at) => world.login({ user: `user${at}` }).buildStart("right"));
  for (const { bytes } of users) await world.client.sendRaw(bytes);
  await becomes("the queue is full", () => world.radius.server.working === 50);
  const ghosts = Array.from({ length: 100 }, (_, at) => world.login({ user: `ghost${at}` }).buildStart("pw"));
  const replies = await Promise.all(ghosts.map((request) => exchangeJudged(world, request)));
  assertEquals(new Set(replies.map((reply) => brief(reply).join())), new Set([DENIED.join()]));
  assertEquals(world.radius.monitor.counters().dropped_first_factor_busy, 0);
  assertEquals([judge.asked.length, world.radius.limits.figures().failures], [2, 0]);
  resolve("right");
  await becomes("the users were checked", () => judge.asked.length === 50);
});

Deno.test("passwords: one check of a user runs at a time, 16 wait, and a lock ends the waiting ones", async () => {
  const judge = createJudge();
  let open = 0;
  let most = 0;
  await using world = await startInProcess({
    toml: DIRECTORY,
    passwords: {
      ...judge,
      async directory(user, password) {
        most = Math.max(most, ++open);
        const verdict = await judge.directory(user, password);
        await new Promise((resolve) => setTimeout(resolve, 0));
        open--;
        return verdict;
      },
    },
  });
  const starts = Array.from(
    { length: 17 },
    (_, at) => world.login({ user: "anna" }).buildStart(`wrong${at}`),
  );
  const replies = await Promise.all(starts.map((request) => exchangeJudged(world, request)));
  assertEquals(new Set(replies.map((reply) => brief(reply).join())), new Set([DENIED.join()]));
  assertEquals(most, 1);
  assert(judge.asked.length <= 11, `${judge.asked.length} were checked`);
  assertEquals(world.radius.limits.failures("anna").locks, 1);
});

Deno.test("passwords: a login that is repeated during its password check needs no second check", async () => {
  const judge = createJudge();
  const { promise, resolve } = Promise.withResolvers<FirstFactorVerdict>();
  judge.verdict = promise;
  await using world = await open(DIRECTORY, judge);
  const [one, two] = [world.login({ user: "anna" }), world.login({ user: "anna" })];
  const replies = [one, two].map((login) => exchangeJudged(world, login.buildStart("right")));
  await becomes("both are worked on", () => world.radius.server.working === 2);
  resolve("right");
  assertEquals((await Promise.all(replies)).map(({ step }) => step), [CODE, CODE]);
  assertEquals(judge.asked.length, 1);
});

Deno.test("passwords: in append mode the part before the comma is checked", async () => {
  const judge = createJudge();
  await using world = await open(DIRECTORY.replace("\n", "\nappend_mode = true\n"), judge);
  const reply = await world.login({ user: "anna" }).start(`right,${appCode(world.clock.nowMs())}`);
  assertEquals([reply.kind, judge.asked], ["accept", ["directory anna right"]]);
});

Deno.test("passwords: a user without a factor reaches the menu, and may enrol there", async () => {
  await using world = await startInProcess({ toml: DIRECTORY, passwords: createJudge(), users: ["bert"] });
  const login = world.login({ user: "bert" });
  assertEquals((await login.start("right")).step, MENU);
  assertEquals((await login.answer("S")).step, "SECONDFACTOR_GET_PAIRING_PHRASE");
});

const REFUSALS = {
  password_expired: ["password_over", "Your password has expired. Change it, then sign in again."],
  password_must_change: ["password_over", "Your password has expired. Change it, then sign in again."],
  account_disabled: ["account_refused", "Access denied."],
  account_expired: ["account_refused", "Access denied."],
  account_locked: ["account_refused", "Access denied."],
  sign_in_hours: ["account_refused", "Access denied."],
  sign_in_place: ["account_refused", "Access denied."],
} as const satisfies Record<AccountRefusal, readonly [row: string, text: string]>;

for (const [verdict, [row, text]] of Object.entries(REFUSALS) as [AccountRefusal, readonly string[]][]) {
  Deno.test(`passwords: ten logins with ${verdict} are named in the log, and lock no user`, async () => {
    const judge = createJudge();
    judge.verdict = verdict;
    await using world = await open(LDAP, judge);
    for (let tries = 0; tries < 10; tries++) {
      assertEquals(brief(await world.login({ user: "anna" }).start("right")), ["reject", text]);
    }
    assertEquals(world.radius.limits.failures("anna").total, 0);
    const named = (await world.logLines()).filter((line) =>
      line.includes(`row=${row}`) && line.includes(`because=${verdict}`)
    );
    assertEquals(named.length, 10);
    judge.verdict = "right";
    assertEquals((await world.login({ user: "anna" }).start("renewed")).step, CODE);
  });
}

for (const [kind, toml] of [["directory", DIRECTORY], ["ldap", LDAP]] as const) {
  Deno.test(`passwords: at "${kind}" an outage is one log line with its reason, and its end is one`, async () => {
    const judge = createJudge();
    await using world = await open(toml, judge);
    const lines = async () =>
      (await world.logLines()).filter((line) => line.includes("the first factor can"));
    const start = (password: string) => world.login({ user: "anna" }).start(password);
    await start("right");
    assertEquals(await lines(), []);
    judge.verdict = new Error("the connection failed (ECONNREFUSED)");
    for (const password of ["one", "two", "three"]) await start(password);
    const [first, ...others] = await lines();
    assert(first?.includes("ECONNREFUSED") && first.includes(`first_factor=${kind}`), first);
    assertEquals(others, []);
    judge.verdict = null;
    for (const password of ["four", "five"]) await start(password);
    assertEquals((await lines()).length, 2);
    assert((await lines())[1]?.includes("failedChecks=3"));
    judge.verdict = new Error("another outage");
    await start("six");
    assertEquals((await lines()).length, 3);
  });
}

// The flow rows of the first factor at another RADIUS server.

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";

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
  await using world = await startWith("device", { toml: server.toml });
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

for (const conduct of ["silent", "wrong_secret"] as const) {
  Deno.test(`first factor: a server with the conduct "${conduct}" accepts no login and counts as no failure`, async () => {
    using server = startFirstFactorServer({ password: "right", conduct });
    await using world = await startWith("device", { toml: server.toml });
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

Deno.test("first factor: without an answer of the first server, the second one checks the password", async () => {
  using silent = startFirstFactorServer({ password: "right", conduct: "silent" });
  using server = startFirstFactorServer({ password: "right" });
  const both = `["127.0.0.1:${silent.port}", "127.0.0.1:${server.port}"]`;
  await using world = await startWith("device", {
    toml: server.toml.replace(`"127.0.0.1:${server.port}"`, both),
  });
  assertEquals((await world.login({ user: "anna" }).start("right")).step, DEVICE);
  assertEquals([silent.asked.length, new Set(server.asked)], [3, new Set(["anna"])]);
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
  await using world = await startWith("device", { toml: server.toml });
  const login = await world.begin({ user: "anna" }, "right");
  const asked = server.asked.length;
  await login.answer("some answer");
  assertEquals(server.asked.length, asked);
});

Deno.test("first factor: after Cancel it stays verified and is not asked again", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: server.toml });
  const pairing = await giveDevice(world, "anna");
  const login = await world.begin({ user: "anna" }, "right");
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
  await using world = await startWith("device", { toml: server.toml });
  const login = world.login({ user: "anna" });
  const state = new TextEncoder().encode("CHOOSE_WHICH_MULTIFACTOR");
  assertEquals((await login.answer("S", { state })).kind, "reject");
  assertEquals([server.asked.length, world.secondFactor.requests.length], [0, 0]);
});

Deno.test("first factor: an answer without Message-Authenticator is ignored, and the log says which setting allows it", async () => {
  using server = startFirstFactorServer({ password: "right", conduct: "unsigned" });
  await using world = await startWith("device", { toml: server.toml });
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
  await using world = await startWith("device", { toml });
  const start = () => world.login({ user: "anna" }).start("right");
  assertEquals((await start()).step, DEVICE);
  server.conduct = "judge";
  assertEquals((await start()).step, DEVICE);
  server.conduct = "unsigned";
  assertEquals(brief(await start()), DENIED);
});

Deno.test("first factor: Cancel does not extend the validity of a right password", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startWith("device", { toml: server.toml });
  const login = await world.begin({ user: "anna" }, "right");
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
    ["wrong_secret", "not signed with this shared secret"],
    ["unsigned", "no Message-Authenticator"],
  ] as const
) {
  Deno.test(`first factor: the conduct "${conduct}" is one log line with its reason, and its end is one`, async () => {
    using server = startFirstFactorServer({ password: "right" });
    await using world = await startWith("device", { toml: server.toml });
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
