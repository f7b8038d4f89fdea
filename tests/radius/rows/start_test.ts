// Flow rows at the start of a login: the order of factors, and who is refused.

import { assertEquals } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import { give, giveDevice, register, SEED } from "./people.ts";

const NUMBER = "+4915112345678";
const MENU = ["CHOOSE_WHICH_MULTIFACTOR", "Choose a second factor:"];

/** A factor, how a user enrols it, and the first step of a login with it. */
const FACTORS = [
  {
    factor: "device",
    get: (world: InProcess, user: string) => giveDevice(world, user),
    begins: [
      "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
      "Authorize this login on your device, then press continue or type ok.",
    ],
  },
  {
    factor: "sms",
    get: (world: InProcess, user: string) => give(world, user, { kind: "sms", number: NUMBER }),
    begins: ["AWAIT_SMS_DELIVERED_PASSCODE", "Enter the passcode from the text message."],
  },
  {
    factor: "voice",
    get: (world: InProcess, user: string) => give(world, user, { kind: "voice", number: NUMBER }),
    begins: ["AWAIT_VOICE_DELIVERED_PASSCODE", "Enter the passcode conveyed by voice."],
  },
  {
    factor: "totp",
    get: (world: InProcess, user: string) => give(world, user, { kind: "totp", seed: SEED }),
    begins: ["GET_DEVICE_GENERATED_PASSCODE", "Enter the passcode that your device generates."],
  },
] as const;

for (const { factor, get, begins } of FACTORS) {
  Deno.test(`start: a login of a user whose only factor is ${factor} begins with it`, async () => {
    await using world = await startInProcess();
    await get(world, "anna");
    assertEquals(brief(await world.login({ user: "anna" }).start()), [...begins]);
  });
}

Deno.test("start: with several factors, device comes first, then sms, then voice, then totp", async () => {
  await using world = await startInProcess();
  for (const [at, { begins }] of FACTORS.entries()) {
    const user = `user${at}`;
    // The factors are added in reverse, so that the result does not depend on their order.
    for (const { get } of FACTORS.slice(at).toReversed()) await get(world, user);
    assertEquals(brief(await world.login({ user }).start()), [...begins]);
  }
});

Deno.test("start: the preferred factor comes first, and only while the user has it", async () => {
  await using world = await startInProcess();
  const { pairings } = world.radius;
  for (const { get } of FACTORS) await get(world, "anna");
  pairings.adoptPreference("anna", "voice");
  assertEquals(
    (await world.login({ user: "anna" }).start()).step,
    "AWAIT_VOICE_DELIVERED_PASSCODE",
  );
  for (const { id, kind } of [...pairings.of("anna")]) if (kind === "voice") await pairings.revoke(id);
  assertEquals(
    (await world.login({ user: "anna" }).start()).step,
    "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
  );
});

Deno.test("start: a factor that is not enabled is skipped", async () => {
  await using world = await startInProcess({ toml: `[factors]\nenabled = ["sms", "voice", "totp"]` });
  await giveDevice(world, "anna");
  await give(world, "anna", { kind: "sms", number: NUMBER });
  assertEquals((await world.login({ user: "anna" }).start()).step, "AWAIT_SMS_DELIVERED_PASSCODE");
  assertEquals(world.secondFactor.requests.length, 0);
});

Deno.test("start: an empty password leads to the menu, whatever factors the user has", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "anna");
  assertEquals(brief(await world.login({ user: "anna" }).start("")), MENU);
  assertEquals(world.secondFactor.requests.length, 0);
});

Deno.test("start: an absent User-Password counts as an empty one", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals(brief(await login.exchange(login.buildStart("", { password: undefined }))), MENU);
});

Deno.test("start: a user without a pairing reaches the menu, also with a registered number", async () => {
  await using world = await startInProcess();
  await register(world, "anna", { phoneNumbers: [NUMBER] });
  assertEquals(brief(await world.login({ user: "anna" }).start()), MENU);
  // A login with only a user name sends no message.
  assertEquals(world.telephony.requests.length, 0);
});

Deno.test("start: a preferred text message that the service refuses leads to the menu with a message", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "sms", number: NUMBER });
  world.telephony.failNext({ kind: "status", status: 400 });
  assertEquals(brief(await world.login({ user: "anna" }).start()), [
    "CHOOSE_WHICH_MULTIFACTOR",
    "The text message could not be sent. Choose another factor:",
  ]);
});

Deno.test("start: a preferred call that the service refuses continues at the passcode", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "voice", number: NUMBER });
  world.telephony.failNext({ kind: "status", status: 400 });
  assertEquals((await world.login({ user: "anna" }).start()).step, "AWAIT_VOICE_DELIVERED_PASSCODE");
});

Deno.test("start: if an approval request cannot be opened, the login stays at the device step, where Cancel works", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "anna");
  world.secondFactor.failNext({ kind: "status", status: 500 });
  const login = world.login({ user: "anna" });
  assertEquals(brief(await login.start()), [
    "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
    "The approval request could not be sent to your device. Type cancel to choose another factor.",
  ]);
  assertEquals(brief(await login.answer("cancel")), MENU);
});
