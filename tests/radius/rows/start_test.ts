// The rows at the start of a login: which factor comes first, and who does not get that far.

import { assertEquals } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import { give, giveDevice, register, SEED } from "./people.ts";

const NUMBER = "+4915112345678";
const MENU = ["CHOOSE_WHICH_MULTIFACTOR", "Choose a second factor:"];

/** A factor, how a user gets it, and where a login with it begins. */
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
  Deno.test(`start: whose only factor is ${factor} begins with it`, async () => {
    await using world = await startInProcess();
    await get(world, "anna");
    assertEquals(brief(await world.login({ user: "anna" }).start()), [...begins]);
  });
}

Deno.test("start: of several factors device comes first, then sms, then voice, then totp", async () => {
  await using world = await startInProcess();
  for (const [at, { begins }] of FACTORS.entries()) {
    const user = `user${at}`;
    // The first to come is given last, so that the order is not that of the giving.
    for (const { get } of FACTORS.slice(at).toReversed()) await get(world, user);
    assertEquals(brief(await world.login({ user }).start()), [...begins]);
  }
});

Deno.test("start: the preferred factor comes before the others, and counts only while the user has it", async () => {
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

Deno.test("start: a factor that is not enabled is passed over", async () => {
  await using world = await startInProcess({ toml: `[factors]\nenabled = ["sms", "voice", "totp"]` });
  await giveDevice(world, "anna");
  await give(world, "anna", { kind: "sms", number: NUMBER });
  assertEquals((await world.login({ user: "anna" }).start()).step, "AWAIT_SMS_DELIVERED_PASSCODE");
  assertEquals(world.secondFactor.requests.length, 0);
});

Deno.test("start: an empty password leads to the menu, whatever the user has", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "anna");
  assertEquals(brief(await world.login({ user: "anna" }).start("")), MENU);
  assertEquals(world.secondFactor.requests.length, 0);
});

Deno.test("start: no User-Password at all counts as an empty one", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals(brief(await login.exchange(login.buildStart("", { password: undefined }))), MENU);
});

Deno.test("start: a user without a pairing gets the menu, also one with a registered number", async () => {
  await using world = await startInProcess();
  await register(world, "anna", { phoneNumbers: [NUMBER] });
  assertEquals(brief(await world.login({ user: "anna" }).start()), MENU);
  // Typing a name sends nothing to anybody.
  assertEquals(world.telephony.requests.length, 0);
});

Deno.test("start: a preferred text message that the service refuses leads to the menu and says so", async () => {
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

Deno.test("start: an approval that cannot be opened leaves the login at the device, where Cancel works", async () => {
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
