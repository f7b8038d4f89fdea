// The deadline of the enrolment: who is refused, with which message, and that others do not notice it. Real packets on a loopback port.

import { assertEquals } from "@std/assert";
import type { Passwords } from "../../../radius/ports.ts";
import { type InProcess, saveSettings, startInProcess } from "./in_process.ts";
import { markInvited } from "./invited.ts";
import { brief } from "./login.ts";
import { give, giveDevice, register, SEED } from "./people.ts";
import { commitChange } from "../../fakes/commit_change.ts";

const HOUR_MS = 3600_000;
const REFUSED = [
  "reject",
  "Set up a second factor first: open the link in your invitation. " +
  "If you need help or a new link, ask your administrator.",
];
const MENU = "CHOOSE_WHICH_MULTIFACTOR";

async function shownTo(world: InProcess, user: string, password = "open sesame"): Promise<unknown[]> {
  const { kind, step, message } = await world.login({ user }).start(password);
  return [step === "" ? kind : step, message];
}

Deno.test("deadline: a user without a factor is refused from the deadline on, with what to do", async () => {
  await using world = await startInProcess({ users: ["anna", "ben"] });
  const before = await shownTo(world, "ben");
  await markInvited(world, "anna", HOUR_MS);
  assertEquals(await shownTo(world, "anna"), before, "before the deadline nothing changes");
  world.clock.advance(HOUR_MS);
  assertEquals(await shownTo(world, "anna"), REFUSED);
  assertEquals(await shownTo(world, "anna", ""), REFUSED, "also with an empty password");
  assertEquals(await shownTo(world, "ben"), before, "others do not notice it");
});

Deno.test("deadline: the message names whom to ask, as the settings say now", async () => {
  await using world = await startInProcess();
  await markInvited(world, "anna", 0);
  await saveSettings(world.settings, { "enrolment.help_text": "Call 5555." });
  assertEquals(
    (await shownTo(world, "anna"))[1],
    "Set up a second factor first: open the link in your invitation. Call 5555.",
  );
  await saveSettings(world.settings, { "enrolment.help_text": "" });
  assertEquals(
    (await shownTo(world, "anna"))[1],
    "Set up a second factor first: open the link in your invitation.",
  );
});

for (
  const [what, enrol] of [
    ["an authenticator app", (world: InProcess) => give(world, "anna", { kind: "totp", seed: SEED })],
    ["a phone", (world: InProcess) => giveDevice(world, "anna")],
    [
      "a verified number",
      (world: InProcess) => give(world, "anna", { kind: "sms", number: "+4915112345678" }),
    ],
    ["recovery codes", async (world: InProcess) => {
      const { recoveryCodes } = world.radius;
      const made = recoveryCodes.create("anna");
      const done = await world.store.commit({ mutations: made.mutations });
      if (done.ok) made.adopt(done.versionstamp);
    }],
    ["a bypass code", async (world: InProcess) => {
      const { bypassCodes } = world.radius;
      const terms = { uses: 1, expiresMs: world.clock.nowMs() + HOUR_MS, by: "hanna" };
      const made = await bypassCodes.create("anna", terms);
      const done = await world.store.commit({ mutations: made.mutations });
      if (done.ok) made.adopt(done.versionstamp);
    }],
    [
      "a number of the directory",
      (world: InProcess) => register(world, "anna", { phoneNumbers: ["+4915112345678"] }),
    ],
  ] as const
) {
  Deno.test(`deadline: a user with ${what} signs in as before`, async () => {
    await using world = await startInProcess();
    await enrol(world);
    const before = await shownTo(world, "anna");
    await markInvited(world, "anna", 0);
    assertEquals(await shownTo(world, "anna"), before);
  });
}

Deno.test("deadline: a login at the menu is refused when the deadline passes", async () => {
  await using world = await startInProcess();
  await markInvited(world, "anna", 60_000);
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, MENU);
  world.clock.advance(60_000);
  const { kind, message } = await login.answer("T");
  assertEquals([kind, message], REFUSED);
});

Deno.test("deadline: a wrong password is refused without the message", async () => {
  const toml = `[radius]\nfirst_factor = "directory"`;
  const passwords: Passwords = {
    hasPassword: () => Promise.resolve(true),
    directory: (_user, password) =>
      Promise.resolve(new TextDecoder().decode(password) === "right" ? "right" : "wrong"),
    ldap: () => Promise.resolve("wrong"),
  };
  await using world = await startInProcess({ toml, passwords });
  await markInvited(world, "anna", 0);
  assertEquals(brief(await world.login({ user: "anna" }).start("wrong"))[1], "Access denied.");
  assertEquals(await shownTo(world, "anna", "right"), REFUSED);
});

Deno.test("deadline: a mark that the offboarding removes does not refuse the next user of the name", async () => {
  await using world = await startInProcess();
  await markInvited(world, "anna", 0);
  const leaving = world.radius.prepareOffboarding("anna");
  await commitChange(world.store, leaving);
  assertEquals(world.radius.enrolment.of("anna"), null);
  assertEquals((await world.store.get(["enrolment", "default", "anna"])).value, null);
});
