// The flow rows of Cancel: it starts a new conversation, and the old one counts for nothing.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief, type Login } from "./login.ts";
import {
  decide,
  give,
  giveDevice,
  lastRequest,
  otherThan,
  passcodeSentTo,
  register,
  SEED,
} from "./people.ts";
import { pairPhone } from "./phone.ts";

const NUMBER = "+4915112345678";
const MENU = ["CHOOSE_WHICH_MULTIFACTOR", "Choose a second factor:"];

/** Every step, and how a login reaches it. */
const STEPS: Readonly<Record<string, (world: InProcess) => Promise<Login>>> = {
  CHOOSE_WHICH_MULTIFACTOR: (world) => played(world, "", []),
  SECONDFACTOR_GET_PAIRING_PHRASE: (world) => played(world, "", ["S"]),
  async SECONDFACTOR_AWAIT_PAIRING_APPROVAL(world) {
    world.secondFactor.offerPhrase("maple river");
    return await played(world, "", ["S", "maple river"]);
  },
  async SECONDFACTOR_AWAIT_DEVICE_APPROVAL(world) {
    await giveDevice(world, "anna");
    return await played(world, "pw", []);
  },
  GET_SMS_PHONE_NUMBER: (world) => played(world, "", ["T"]),
  GET_VOICE_PHONE_NUMBER: (world) => played(world, "", ["P"]),
  VERIFY_SMS_PHONE_NUMBER: (world) => played(world, "", ["T", NUMBER]),
  VERIFY_VOICE_PHONE_NUMBER: (world) => played(world, "", ["P", NUMBER]),
  async AWAIT_SMS_DELIVERED_PASSCODE(world) {
    await give(world, "anna", { kind: "sms", number: NUMBER });
    return await played(world, "pw", []);
  },
  async AWAIT_VOICE_DELIVERED_PASSCODE(world) {
    await give(world, "anna", { kind: "voice", number: NUMBER });
    return await played(world, "pw", []);
  },
  async GET_DEVICE_GENERATED_PASSCODE(world) {
    await give(world, "anna", { kind: "totp", seed: SEED });
    return await played(world, "pw", []);
  },
};

async function played(world: InProcess, password: string, answers: readonly string[]): Promise<Login> {
  const login = world.login({ user: "anna" });
  await login.start(password);
  for (const answer of answers) await login.answer(answer);
  return login;
}

const OPEN = `[factors]\nphone_numbers = "any"\nenrol_at_login = "always"`;

for (const [step, get] of Object.entries(STEPS)) {
  Deno.test(`cancel at ${step} leads to the menu under a new conversation`, async () => {
    await using world = await startInProcess({ toml: OPEN });
    const login = await get(world);
    const [before] = world.radius.monitor.conversations(1);
    assertEquals(before?.step, step);
    assertEquals(brief(await login.answer("Cancel")), MENU);
    const [after, old] = world.radius.monitor.conversations(2);
    assertNotEquals(after?.id, before?.id);
    assertEquals([old?.id, old?.outcome], [before?.id, "cancelled"]);
  });
}

for (const word of ["cancel", "CANCEL", "Cancel", " cAnCeL "]) {
  Deno.test(`cancel: "${word}" is read as Cancel`, async () => {
    await using world = await startInProcess();
    await giveDevice(world, "anna");
    const login = await played(world, "pw", []);
    assertEquals(brief(await login.answer(word)), MENU);
  });
}

Deno.test("cancel: at the start of a login the word is an ordinary password", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "anna");
  const reply = await world.login({ user: "anna" }).start("cancel");
  assertEquals(reply.step, "SECONDFACTOR_AWAIT_DEVICE_APPROVAL");
});

Deno.test("cancel: a late approval of the old request counts for nothing", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = await played(world, "pw", []);
  await login.answer("cancel");
  decide(world, pairing, true);
  assertEquals(brief(await login.answer("")), MENU);
  // A new request is a different one, which is not approved.
  await login.answer("S");
  assertEquals((await login.answer("")).step, "SECONDFACTOR_AWAIT_DEVICE_APPROVAL");
  assertEquals(world.secondFactor.initiated().length, 2);
});

Deno.test("cancel: it makes no further calls to an external service", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "anna");
  const login = await played(world, "pw", []);
  const before = world.secondFactor.requests.length;
  await login.answer("cancel");
  assertEquals(world.secondFactor.requests.length, before);
});

Deno.test("cancel: an embedded request becomes cancelled and disappears from the phone", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = await played(world, "pw", []);
  assertEquals((await phone.requests()).length, 1);
  await login.answer("cancel");
  await phone.untilRequests(0);
  assertEquals(world.services.embedded?.admin.pendingApprovals(), []);
});

Deno.test("cancel: the old passcode is no longer valid, also at the prompt for the next one", async () => {
  await using world = await startInProcess();
  await give(world, "anna", { kind: "sms", number: NUMBER });
  const login = await played(world, "pw", []);
  const old = passcodeSentTo(world, NUMBER);
  await login.answer("cancel");
  await login.answer("T");
  const fresh = passcodeSentTo(world, NUMBER);
  assertEquals((await login.answer(old === fresh ? otherThan(fresh) : old)).kind, "reject");
});

Deno.test("cancel: it does not reset the counts of pushes and sends", async () => {
  await using world = await startInProcess({ toml: "[factors.pushes]\nper_user = 2" });
  await giveDevice(world, "anna");
  const login = await played(world, "pw", ["cancel", "S", "cancel"]);
  assertEquals(brief(await login.answer("S")), [
    "CHOOSE_WHICH_MULTIFACTOR",
    "Too many approval requests were sent lately. Choose another factor:",
  ]);
  assertEquals(world.secondFactor.initiated().length, 2);
});

Deno.test("cancel: it does not reset the count of failures", async () => {
  await using world = await startInProcess();
  await register(world, "anna", { phoneNumbers: [NUMBER] });
  const failing = await played(world, "", ["T"]);
  await failing.answer("000");
  assertEquals(world.radius.limits.failures("anna").total, 1);
  await played(world, "", ["cancel", "cancel"]);
  assertEquals(world.radius.limits.failures("anna").total, 1);
});

Deno.test("cancel: where State has a token, the new conversation has a new one", async () => {
  await using world = await startInProcess();
  const login = world.login({ user: "anna", nasPort: undefined });
  const first = await login.start("");
  const second = await login.answer("cancel");
  assertNotEquals(first.step, second.step);
  // The State of the old token belongs to no live conversation.
  assertEquals((await login.answer("T", { state: first.state ?? undefined })).kind, "reject");
  assert(
    (await login.answer("T", { state: second.state ?? undefined })).step.startsWith("GET_SMS_PHONE_NUMBER."),
  );
});

Deno.test("cancel: an approval in progress during Cancel accepts no login", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = await played(world, "pw", []);
  const first = lastRequest(world, pairing);
  const asking = login.build("");
  const cancelling = login.build("cancel");
  const [asked, cancelled] = await Promise.all([
    login.exchange(asking).catch((fault: unknown) => fault),
    login.exchange(cancelling),
  ]);
  world.secondFactor.decide(first.id, { granted: true });
  assertEquals(brief(cancelled), MENU);
  assertEquals((asked as { kind?: string }).kind, "challenge");
  assertEquals(brief(await login.answer("")), MENU);
});
