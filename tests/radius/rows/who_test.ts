// Who may log in: comparison of names, the state of the directory at every packet, unknown users.

import { assertEquals } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import { decide, give, giveDevice, lastRequest, passcodeSentTo, register } from "./people.ts";
import { turn } from "./passing_time.ts";

const DENIED = ["reject", "Access denied."];
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const NUMBER = "+4915112345678";

Deno.test("who: an active user of the directory continues", async () => {
  await using world = await startInProcess();
  await register(world, "anna");
  assertEquals((await world.login({ user: "anna" }).start()).kind, "challenge");
});

Deno.test("who: an inactive user is refused, and no service is called", async () => {
  await using world = await startInProcess();
  await register(world, "anna", { active: false });
  await giveDevice(world, "anna");
  assertEquals(brief(await world.login({ user: "anna" }).start()), DENIED);
  assertEquals(world.secondFactor.requests.length, 0);
});

Deno.test("who: the log contains the reason of a refusal, the reply does not", async () => {
  await using world = await startInProcess({ toml: `[radius]\nunknown_users = "reject"` });
  await register(world, "inactive", { active: false });
  await register(world, "deleted");
  await world.people.remove("deleted");
  for (const user of ["inactive", "deleted", "unknown"]) {
    assertEquals(brief(await world.login({ user }).start()), DENIED);
    const line = (await world.logLines()).find((line) =>
      line.includes("Access-Reject") && line.includes(`user=${user}`)
    );
    assertEquals(/ because=(\S+)/.exec(line ?? "")?.[1], user);
  }
});

Deno.test("who: a deleted user is refused until created again", async () => {
  await using world = await startInProcess();
  await register(world, "anna");
  await world.people.remove("anna");
  assertEquals(brief(await world.login({ user: "anna" }).start()), DENIED);
  await register(world, "anna");
  assertEquals((await world.login({ user: "anna" }).start()).kind, "challenge");
});

Deno.test("who: with unknown_users allow an unknown user reaches the menu, and no further step", async () => {
  await using world = await startInProcess();
  const login = world.login({ user: "nobody" });
  assertEquals((await login.start()).step, "CHOOSE_WHICH_MULTIFACTOR");
  for (const letter of ["S", "D"]) {
    assertEquals((await login.answer(letter)).step, "CHOOSE_WHICH_MULTIFACTOR");
  }
  await login.answer("T");
  assertEquals((await login.answer(NUMBER)).step, "GET_SMS_PHONE_NUMBER");
  assertEquals([world.secondFactor.requests.length, world.telephony.requests.length], [0, 0]);
});

Deno.test("who: with unknown_users reject an unknown user is refused at once", async () => {
  await using world = await startInProcess({ toml: `[radius]\nunknown_users = "reject"` });
  await register(world, "anna");
  assertEquals(brief(await world.login({ user: "nobody" }).start()), DENIED);
  assertEquals((await world.login({ user: "anna" }).start()).kind, "challenge");
});

Deno.test("who: unknown, inactive and deleted users receive the same message", async () => {
  await using world = await startInProcess({ toml: `[radius]\nunknown_users = "reject"` });
  await register(world, "inactive", { active: false });
  await register(world, "deleted");
  await world.people.remove("deleted");
  const replies = await Promise.all(
    ["inactive", "deleted", "unknown"].map((user) => world.login({ user }).start()),
  );
  const shapes = replies.map(({ attributes }) => attributes.slice(1));
  assertEquals(shapes[1], shapes[0]);
  assertEquals(shapes[2], shapes[0]);
});

for (
  const [title, kept, typed] of [
    ["case", "Anna.Muster", "aNNA.mUSTER"],
    ["the form of its accents (NFC)", "Zoe\u0308", "zo\u00eb"],
    ["case beyond ASCII", "ÄRZTIN", "ärztin"],
  ] as const
) {
  Deno.test(`who: a name is found whatever ${title}`, async () => {
    await using world = await startInProcess({ toml: `[radius]\nunknown_users = "reject"` });
    await register(world, kept);
    assertEquals((await world.login({ user: typed }).start()).kind, "challenge");
  });
}

Deno.test("who: another spelling of the name is the same login, pairing and count", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "ANNA", nasPort: 42 });
  const { state } = await login.start();
  decide(world, pairing, true);
  const other = world.login({ user: "Anna", nasPort: 42 });
  assertEquals((await other.answer("", { state: state ?? undefined })).kind, "accept");
});

/** The possible states of the directory while a login waits. */
const CHANGES: readonly [string, (world: InProcess) => Promise<unknown>][] = [
  ["deactivated", (world) => register(world, "anna", { active: false })],
  ["deleted", (world) => world.people.remove("anna")],
];

for (const [title, change] of CHANGES) {
  Deno.test(`who: a user who is ${title} while the device is awaited is refused, although it approved`, async () => {
    await using world = await startInProcess();
    await register(world, "anna");
    const pairing = await giveDevice(world, "anna");
    const login = world.login({ user: "anna" });
    await login.start();
    decide(world, pairing, true);
    await change(world);
    assertEquals(brief(await login.answer("")), DENIED);
  });

  Deno.test(`who: a user who is ${title} during a call to the service is refused, although the device approved`, async () => {
    const held: { release: () => void } = { release: () => {} };
    const released = new Promise<void>((resolve) => held.release = resolve);
    await using world = await startInProcess({
      between: {
        secondFactor: (service) => ({
          ...service,
          async status(id) {
            const answer = await service.status(id);
            await released;
            return answer;
          },
        }),
      },
    });
    await register(world, "anna");
    const pairing = await giveDevice(world, "anna");
    const login = world.login({ user: "anna" });
    await login.start();
    decide(world, pairing, true);
    const reply = login.answer("");
    while (!world.secondFactor.requests.some(({ method }) => method === "GET")) await turn();
    await change(world);
    held.release();
    assertEquals(brief(await reply), DENIED);
  });

  Deno.test(`who: a user who is ${title} while a passcode is awaited is refused, although it is right`, async () => {
    await using world = await startInProcess();
    await register(world, "anna");
    await give(world, "anna", { kind: "sms", number: NUMBER });
    const login = world.login({ user: "anna" });
    await login.start();
    await change(world);
    assertEquals(brief(await login.answer(passcodeSentTo(world, NUMBER))), DENIED);
  });
}

Deno.test("who: Cancel does not bypass a refusal", async () => {
  await using world = await startInProcess();
  await register(world, "anna");
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, DEVICE);
  assertEquals(lastRequest(world, pairing).pending, true);
  await register(world, "anna", { active: false });
  assertEquals(brief(await login.answer("cancel")), DENIED);
});
