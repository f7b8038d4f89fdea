// Limits on pushes to a device, and on texts and calls to numbers.

import { assertEquals } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import { jump } from "./passing_time.ts";
import { give, giveDevice, register } from "./people.ts";

const NUMBER = "+4915112345678";
const OTHER = "+4915187654321";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const TOO_MANY = [MENU, "Too many approval requests were sent lately. Choose another factor:"];
const NOT_SENT = [MENU, "The text message could not be sent. Choose another factor:"];
const MINUTE_MS = 60_000;

Deno.test("pushes: a user has five in an hour, the sixth leads to the menu", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "anna");
  for (let count = 0; count < 5; count++) {
    assertEquals((await world.login({ user: "anna" }).start()).step, DEVICE);
  }
  assertEquals(brief(await world.login({ user: "anna" }).start()), TOO_MANY);
  assertEquals(world.secondFactor.initiated().length, 5);
});

Deno.test("pushes: they are available again after the hour", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "anna");
  for (let count = 0; count < 5; count++) await world.login({ user: "anna" }).start();
  await jump(world.clock, 59 * MINUTE_MS);
  assertEquals(brief(await world.login({ user: "anna" }).start()), TOO_MANY);
  await jump(world.clock, 2 * MINUTE_MS);
  assertEquals((await world.login({ user: "anna" }).start()).step, DEVICE);
});

Deno.test("pushes: the limit applies to S and D of the menu", async () => {
  await using world = await startInProcess({ toml: "[factors.pushes]\nper_user = 1" });
  await giveDevice(world, "anna");
  await world.login({ user: "anna" }).start();
  for (const letter of ["S", "D"]) {
    const login = world.login({ user: "anna" });
    await login.start("");
    assertEquals(brief(await login.answer(letter)), TOO_MANY, letter);
  }
  assertEquals(world.secondFactor.initiated().length, 1);
});

Deno.test("pushes: a push that the service refused counts too", async () => {
  await using world = await startInProcess({ toml: "[factors.pushes]\nper_user = 1" });
  await giveDevice(world, "anna");
  world.secondFactor.failNext({ kind: "status", status: 409 });
  await world.login({ user: "anna" }).start();
  assertEquals(brief(await world.login({ user: "anna" }).start()), TOO_MANY);
});

Deno.test("pushes: a hundred simultaneous logins cause five", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "anna");
  await Promise.all(Array.from({ length: 100 }, () => world.login({ user: "anna" }).start()));
  assertEquals(world.secondFactor.initiated().length, 5);
});

Deno.test("pushes: those of another user are not counted", async () => {
  await using world = await startInProcess({ toml: "[factors.pushes]\nper_user = 1" });
  await giveDevice(world, "anna");
  await giveDevice(world, "bert");
  await world.login({ user: "anna" }).start();
  assertEquals((await world.login({ user: "bert" }).start()).step, DEVICE);
});

Deno.test("sends: a user has five texts in ten minutes, the sixth is not sent", async () => {
  await using world = await startInProcess({ toml: "[factors.sends]\nper_number = 50" });
  await give(world, "anna", { kind: "sms", number: NUMBER });
  for (let count = 0; count < 5; count++) await world.login({ user: "anna" }).start();
  assertEquals(brief(await world.login({ user: "anna" }).start()), NOT_SENT);
  assertEquals(world.telephony.requests.length, 5);
});

Deno.test("sends: they are available again ten minutes after the last one that was sent", async () => {
  await using world = await startInProcess({ toml: "[factors.sends]\nper_user = 1" });
  await give(world, "anna", { kind: "sms", number: NUMBER });
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
    const login = world.login({ user: "anna" });
    await login.start("");
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
  const login = world.login({ user: "anna" });
  await login.start("");
  await login.answer("T");
  for (let count = 0; count < 5; count++) await login.answer("+15005550123");
  assertEquals((await login.answer("1")).step, "GET_SMS_PHONE_NUMBER");
  assertEquals(world.telephony.requests.length, 0);
});

Deno.test("sends: a thousand attempts with disallowed numbers send nothing", async () => {
  await using world = await startInProcess();
  await Promise.all(Array.from({ length: 100 }, () => tryNumbers(world)));
  assertEquals(world.telephony.requests.length, 0);
});

Deno.test("sends: a hundred simultaneous logins send five", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "sms", number: NUMBER });
  await Promise.all(Array.from({ length: 100 }, () => world.login({ user: "anna" }).start()));
  assertEquals(world.telephony.requests.length, 5);
});

async function tryNumbers(world: InProcess): Promise<void> {
  const login = world.login({ user: "nobody" });
  await login.start("");
  await login.answer("T");
  for (let count = 0; count < 10; count++) {
    assertEquals((await login.answer(`+1900555${1000 + count}`)).step, "GET_SMS_PHONE_NUMBER");
  }
}
