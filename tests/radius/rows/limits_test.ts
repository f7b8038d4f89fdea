// Limits and the lock of a user.

import { assert, assertEquals } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import { jump } from "./passing_time.ts";
import {
  appCode,
  decide,
  give,
  giveDevice,
  NUMBER,
  otherThan,
  passcodeSentTo,
  register,
  SEED,
  startWith,
} from "./people.ts";
import { startFirstFactorServer } from "./first_factor_server.ts";

// Limits on pushes to a device, and on texts and calls to numbers.

const OTHER = "+4915187654321";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const TOO_MANY = [MENU, "Too many approval requests were sent lately. Choose another factor:"];
const NOT_SENT = [MENU, "The text message could not be sent. Choose another factor:"];
const MINUTE_MS = 60_000;

Deno.test("pushes: a user has five in an hour, the sixth leads to the menu", async () => {
  await using world = await startWith("device");
  for (let count = 0; count < 5; count++) {
    assertEquals((await world.login({ user: "anna" }).start()).step, DEVICE);
  }
  assertEquals(brief(await world.login({ user: "anna" }).start()), TOO_MANY);
  assertEquals(world.secondFactor.initiated().length, 5);
});

Deno.test("pushes: they are available again after the hour", async () => {
  await using world = await startWith("device");
  for (let count = 0; count < 5; count++) await world.login({ user: "anna" }).start();
  await jump(world.clock, 59 * MINUTE_MS);
  assertEquals(brief(await world.login({ user: "anna" }).start()), TOO_MANY);
  await jump(world.clock, 2 * MINUTE_MS);
  assertEquals((await world.login({ user: "anna" }).start()).step, DEVICE);
});

Deno.test("pushes: the limit applies to S and D of the menu", async () => {
  await using world = await startWith("device", { toml: "[factors.pushes]\nper_user = 1" });
  await world.login({ user: "anna" }).start();
  for (const letter of ["S", "D"]) {
    const login = await world.begin({ user: "anna" }, "");
    assertEquals(brief(await login.answer(letter)), TOO_MANY, letter);
  }
  assertEquals(world.secondFactor.initiated().length, 1);
});

Deno.test("pushes: a push that the service refused counts too", async () => {
  await using world = await startWith("device", { toml: "[factors.pushes]\nper_user = 1" });
  world.secondFactor.failNext({ kind: "status", status: 409 });
  await world.login({ user: "anna" }).start();
  assertEquals(brief(await world.login({ user: "anna" }).start()), TOO_MANY);
});

Deno.test("pushes: a hundred simultaneous logins cause five", async () => {
  await using world = await startWith("device");
  await Promise.all(Array.from({ length: 100 }, () => world.login({ user: "anna" }).start()));
  assertEquals(world.secondFactor.initiated().length, 5);
});

Deno.test("pushes: those of another user are not counted", async () => {
  await using world = await startWith("device", { toml: "[factors.pushes]\nper_user = 1" });
  await giveDevice(world, "bert");
  await world.login({ user: "anna" }).start();
  assertEquals((await world.login({ user: "bert" }).start()).step, DEVICE);
});

Deno.test("sends: a user has five texts in ten minutes, the sixth is not sent", async () => {
  await using world = await startWith("text", { toml: "[factors.sends]\nper_number = 50" });
  for (let count = 0; count < 5; count++) await world.login({ user: "anna" }).start();
  assertEquals(brief(await world.login({ user: "anna" }).start()), NOT_SENT);
  assertEquals(world.telephony.requests.length, 5);
});

Deno.test("sends: they are available again ten minutes after the last one that was sent", async () => {
  await using world = await startWith("text", { toml: "[factors.sends]\nper_user = 1" });
  await world.login({ user: "anna" }).start();
  await jump(world.clock, 9 * MINUTE_MS);
  // An attempt at the limit does not extend it.
  assertEquals(brief(await world.login({ user: "anna" }).start()), NOT_SENT);
  await jump(world.clock, 2 * MINUTE_MS);
  assertEquals((await world.login({ user: "anna" }).start()).step, "AWAIT_SMS_DELIVERED_PASSCODE");
});

Deno.test("sends: texts and calls are counted together", async () => {
  await using world = await startInProcess({ toml: "[factors.sends]\nper_user = 2" });
  await register(world, "anna", { phoneNumbers: [NUMBER] });
  for (
    const [letter, next] of [
      ["T", "AWAIT_SMS_DELIVERED_PASSCODE"],
      ["P", "AWAIT_VOICE_DELIVERED_PASSCODE"],
      ["T", MENU],
    ]
  ) {
    const login = await world.begin({ user: "anna" }, "");
    assertEquals((await login.answer(letter ?? "")).step, next);
  }
  assertEquals(world.telephony.requests.length, 2);
});

Deno.test("sends: a call above the limit is not placed, and the next step is the same", async () => {
  await using world = await startInProcess({ toml: "[factors.sends]\nper_user = 1" });
  await give(world, "anna", { kind: "voice", number: NUMBER });
  await world.login({ user: "anna" }).start();
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, "AWAIT_VOICE_DELIVERED_PASSCODE");
  assertEquals(world.telephony.requests.length, 1);
  assertEquals((await login.answer("0000")).kind, "reject");
});

Deno.test("sends: five to one number in ten minutes, over all users", async () => {
  await using world = await startInProcess();
  for (let count = 0; count < 6; count++) {
    const user = `user${count}`;
    await give(world, user, { kind: "sms", number: NUMBER });
    const reply = await world.login({ user }).start();
    assertEquals(reply.step, count < 5 ? "AWAIT_SMS_DELIVERED_PASSCODE" : MENU);
  }
  assertEquals(world.telephony.requests.length, 5);
});

Deno.test("sends: a typed number that is refused counts for the user", async () => {
  await using world = await startInProcess();
  await register(world, "anna", { phoneNumbers: [NUMBER] });
  await give(world, "anna", { kind: "sms", number: OTHER });
  const tryAfter = async (refused: number) => {
    const login = await world.begin({ user: "anna" }, "");
    await login.answer("T");
    for (let count = 0; count < refused; count++) await login.answer("+15005550123");
    return (await login.answer(NUMBER)).step;
  };
  assertEquals(await tryAfter(4), "VERIFY_SMS_PHONE_NUMBER");
  assertEquals(await tryAfter(0), "GET_SMS_PHONE_NUMBER");
  assertEquals(world.telephony.requests.length, 1);
});

Deno.test("sends: a thousand attempts with disallowed numbers send nothing", async () => {
  await using world = await startInProcess();
  await Promise.all(Array.from({ length: 100 }, () => tryNumbers(world)));
  assertEquals(world.telephony.requests.length, 0);
});

Deno.test("sends: a hundred simultaneous logins send five", async () => {
  await using world = await startWith("text");
  await Promise.all(Array.from({ length: 100 }, () => world.login({ user: "anna" }).start()));
  assertEquals(world.telephony.requests.length, 5);
});

async function tryNumbers(world: InProcess): Promise<void> {
  const login = await world.begin({ user: "nobody" }, "");
  await login.answer("T");
  for (let count = 0; count < 10; count++) {
    assertEquals((await login.answer(`+1900555${1000 + count}`)).step, "GET_SMS_PHONE_NUMBER");
  }
}

// Lockout: what counts, when a user is locked, for how long, and what ends the lock.

const DENIED = ["reject", "Access denied."];
const MISMATCH = ["reject", "The submitted passcode does not match."];

/** Fails `count` times at once, with wrong codes. */
async function fail(world: InProcess, count: number): Promise<void> {
  const wrong = otherThan(appCode(world.clock.nowMs()));
  const logins = Array.from({ length: count }, () => world.login({ user: "anna" }));
  await Promise.all(logins.map((login) => login.start()));
  const replies = await Promise.all(logins.map((login) => login.answer(wrong)));
  assert(replies.every(({ kind }) => kind === "reject"));
}

/** Whether the right code is accepted now. */
async function rightCode(world: InProcess): Promise<string> {
  const login = world.login({ user: "anna" });
  const first = await login.start();
  if (first.kind !== "challenge") return first.message;
  return (await login.answer(appCode(world.clock.nowMs()))).kind;
}

async function withTotp(toml = ""): Promise<InProcess> {
  const world = await startInProcess({ toml });
  await give(world, "anna", { kind: "totp", seed: SEED });
  return world;
}

Deno.test("lockout: nine failures lock no user, the tenth does", async () => {
  await using world = await withTotp();
  await fail(world, 9);
  assertEquals(world.radius.limits.isLocked("anna"), false);
  await fail(world, 1);
  assertEquals(world.radius.limits.isLocked("anna"), true);
  assertEquals(await rightCode(world), "Access denied.");
});

Deno.test("lockout: a lock ends after 15 minutes, and the right code is accepted", async () => {
  await using world = await withTotp();
  await fail(world, 10);
  await jump(world.clock, 14 * MINUTE_MS);
  assertEquals(await rightCode(world), "Access denied.");
  await jump(world.clock, MINUTE_MS);
  assertEquals(await rightCode(world), "accept");
});

Deno.test("lockout: each further lock lasts twice as long", async () => {
  await using world = await withTotp();
  for (const minutes of [15, 30, 60]) {
    await fail(world, 10);
    await jump(world.clock, (minutes - 1) * MINUTE_MS);
    assertEquals(world.radius.limits.isLocked("anna"), true, `${minutes - 1} min`);
    await jump(world.clock, 2 * MINUTE_MS);
    assertEquals(world.radius.limits.isLocked("anna"), false, `${minutes + 1} min`);
  }
});

Deno.test("lockout: a lock lasts at most 24 hours", async () => {
  await using world = await withTotp("[factors.lockout]\nfailures = 1\nminutes = 1000");
  await fail(world, 1);
  await jump(world.clock, 1001 * MINUTE_MS);
  await fail(world, 1);
  await jump(world.clock, 24 * 60 * MINUTE_MS);
  assertEquals(await rightCode(world), "accept");
});

Deno.test("lockout: a success resets the failures and the doubling", async () => {
  await using world = await withTotp();
  await fail(world, 10);
  await jump(world.clock, 15 * MINUTE_MS);
  assertEquals(await rightCode(world), "accept");
  assertEquals(world.radius.limits.failures("anna").total, 0);
  await jump(world.clock, MINUTE_MS);
  await fail(world, 10);
  await jump(world.clock, 15 * MINUTE_MS);
  assertEquals(await rightCode(world), "accept");
});

Deno.test("lockout: after a hundred failures the lock does not expire", async () => {
  await using world = await withTotp("[factors.lockout]\nfailures = 1000");
  for (let round = 0; round < 4; round++) await fail(world, 25);
  await jump(world.clock, 3 * 24 * 60 * MINUTE_MS);
  assertEquals(await rightCode(world), "Access denied.");
  // An administrator ends the lock.
  world.radius.limits.clear("anna");
  assertEquals(await rightCode(world), "accept");
});

Deno.test("lockout: expired locks do not reset the count to a hundred", async () => {
  await using world = await withTotp("[factors.lockout]\nfailures = 2\nhard_limit = 6\nminutes = 1");
  for (const minutes of [1, 2, 4]) {
    await fail(world, 2);
    await jump(world.clock, minutes * MINUTE_MS);
  }
  assertEquals(await rightCode(world), "Access denied.");
  assertEquals(world.radius.limits.failures("anna").hardLocked, true);
});

Deno.test("lockout: logins in progress are refused as well", async () => {
  await using world = await withTotp();
  const waiting = await world.begin({ user: "anna" });
  await fail(world, 10);
  assertEquals(brief(await waiting.answer(appCode(world.clock.nowMs()))), DENIED);
});

Deno.test("lockout: of many simultaneous codes no more are checked than the limit", async () => {
  await using world = await withTotp();
  const wrong = otherThan(appCode(world.clock.nowMs()));
  const logins = Array.from({ length: 30 }, () => world.login({ user: "anna" }));
  await Promise.all(logins.map((login) => login.start()));
  const replies = await Promise.all(logins.map((login) => login.answer(wrong)));
  const looked = replies.filter(({ message }) => message === MISMATCH[1]).length;
  assertEquals([looked, replies.length - looked], [10, 20]);
});

Deno.test("lockout: a locked user is refused even if the device approves", async () => {
  await using world = await withTotp();
  const pairing = await giveDevice(world, "anna");
  const login = await world.begin({ user: "anna" });
  decide(world, pairing, true);
  for (let count = 0; count < 10; count++) world.radius.limits.countFailure("anna");
  assertEquals(brief(await login.answer("")), DENIED);
});

Deno.test("lockout: a refused login counts no further failure", async () => {
  await using world = await withTotp();
  await fail(world, 10);
  await rightCode(world);
  await rightCode(world);
  assertEquals(world.radius.limits.failures("anna").total, 10);
});

Deno.test("lockout: a denied approval, Cancel and an unknown State count as no failure", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = await world.begin({ user: "anna" });
  await login.answer("cancel");
  await login.answer("S");
  decide(world, pairing, false);
  await login.answer("");
  await login.answer("x", { state: new TextEncoder().encode("NO_SUCH_STATE") });
  assertEquals(world.radius.limits.failures("anna").total, 0);
});

Deno.test("lockout: a new passcode does not reset the count", async () => {
  await using world = await startWith("text", { toml: "[factors.sends]\nper_user = 20\nper_number = 20" });
  for (let count = 1; count <= 10; count++) {
    const login = await world.begin({ user: "anna" });
    assertEquals(brief(await login.answer(otherThan(passcodeSentTo(world, NUMBER)))), MISMATCH);
    assertEquals(world.radius.limits.failures("anna").total, count);
  }
  assertEquals(brief(await world.login({ user: "anna" }).start()), DENIED);
});

Deno.test("lockout: wrong passwords of the first factor lock too", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: server.toml });
  await Promise.all(Array.from({ length: 10 }, () => world.login({ user: "anna" }).start("wrong")));
  assertEquals(brief(await world.login({ user: "anna" }).start("right")), DENIED);
  assertEquals(server.asked.length, 10);
});

Deno.test("lockout: failures count for one user only", async () => {
  await using world = await withTotp();
  await give(world, "bert", { kind: "totp", seed: SEED });
  await fail(world, 10);
  const login = await world.begin({ user: "bert" });
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
});

Deno.test("lockout: a lock is logged and audited", async () => {
  await using world = await withTotp();
  await fail(world, 10);
  const lines = await world.logLines();
  assertEquals(lines.filter((line) => line.includes("user locked after too many failures")).length, 1);
  const actions: unknown[] = [];
  for await (const { value } of world.store.list<{ action: string }>(["audit"])) actions.push(value?.action);
  assertEquals(actions.filter((action) => action === "user.locked").length, 1);
  assertEquals(actions.filter((action) => action === "login.rejected").length, 10);
});
