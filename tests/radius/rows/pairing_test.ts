// The flow rows of enrolment at login: who may pair a phone, and how pairing works.

import { assertEquals } from "@std/assert";
import { type FirstFactorServer, startFirstFactorServer } from "./first_factor_server.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief, type Login } from "./login.ts";
import { jump } from "./passing_time.ts";
import { give, giveDevice, register } from "./people.ts";

const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const PHRASE = "SECONDFACTOR_GET_PAIRING_PHRASE";
const PAIRING = "SECONDFACTOR_AWAIT_PAIRING_APPROVAL";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const ALWAYS = `[factors]\nenrol_at_login = "always"\n`;
const NONE_PAIRED = [MENU, "No device is paired with your name. Choose another factor:"];

async function askedForPhrase(world: InProcess): Promise<Login> {
  const login = await world.begin({ user: "anna" });
  assertEquals((await login.answer("S")).step, PHRASE);
  return login;
}

/** A login whose phrase was accepted; the phone has not confirmed yet. */
async function confirming(world: InProcess): Promise<{ login: Login; pairingId: string }> {
  const login = await askedForPhrase(world);
  world.secondFactor.offerPhrase("maple river");
  assertEquals((await login.answer("maple river")).step, PAIRING);
  // The fake returns the identifier of the new pairing only where the gateway requests it.
  await login.answer("");
  const asked = world.secondFactor.requests.findLast(({ target }) => target.startsWith("/v1/pairings/"));
  return { login, pairingId: asked?.target.split("/").at(-1) ?? "" };
}

Deno.test("pairing: an empty phrase leads to the menu", async () => {
  await using world = await startInProcess({ toml: ALWAYS });
  const login = await askedForPhrase(world);
  assertEquals((await login.answer("")).step, MENU);
  assertEquals(world.secondFactor.requests.length, 0);
});

Deno.test("pairing: an unknown phrase is asked for again", async () => {
  await using world = await startInProcess({ toml: ALWAYS });
  const login = await askedForPhrase(world);
  assertEquals(brief(await login.answer("no such phrase")), [
    PHRASE,
    "That pairing phrase is not known. Enter the phrase that your phone shows.",
  ]);
});

Deno.test("pairing: a known phrase is sent with the user's name, and the phone must confirm", async () => {
  await using world = await startInProcess({ toml: ALWAYS });
  const login = await askedForPhrase(world);
  world.secondFactor.offerPhrase("maple river");
  assertEquals(brief(await login.answer("maple river")), [
    PAIRING,
    "Confirm the pairing on your phone, then press continue or type ok.",
  ]);
  const [created] = world.secondFactor.requests;
  assertEquals([created?.method, created?.target], ["POST", "/v1/pairings/create"]);
  assertEquals([...created?.form ?? []], [["pairing_phrase", "maple river"], ["user_name", "anna"]]);
});

Deno.test("pairing: the step stays until the phone has confirmed", async () => {
  await using world = await startInProcess({ toml: ALWAYS });
  const { login } = await confirming(world);
  assertEquals(brief(await login.answer("")), [
    PAIRING,
    "The pairing is not confirmed yet. Confirm it on your phone, then press continue or type ok.",
  ]);
  assertEquals([...world.radius.pairings.all()].length, 0);
});

Deno.test("pairing: an enabled pairing is stored, and the approval is requested at once", async () => {
  await using world = await startInProcess({ toml: ALWAYS });
  const { login, pairingId } = await confirming(world);
  world.secondFactor.changePairing(pairingId, { enabled: true, pending: false });
  assertEquals((await login.answer("")).step, DEVICE);
  assertEquals(world.radius.pairings.of("anna").map(({ kind, id }) => [kind, id]), [["device", pairingId]]);
  assertEquals(world.secondFactor.initiated().map((request) => request.pairingId), [pairingId]);
  world.secondFactor.decide(world.secondFactor.initiated()[0]?.id ?? "", { granted: true });
  assertEquals((await login.answer("")).kind, "accept");
});

Deno.test("pairing: a stored pairing survives a restart and is used for the next login", async () => {
  await using world = await startInProcess({ toml: ALWAYS });
  const { login, pairingId } = await confirming(world);
  world.secondFactor.changePairing(pairingId, { enabled: true, pending: false });
  await login.answer("");
  const kept = await world.kv.get(["pairing", "default", "anna", "device", pairingId]);
  assertEquals(kept.versionstamp !== null, true);
  assertEquals((await world.login({ user: "anna" }).start()).step, DEVICE);
});

Deno.test("pairing: a denied pairing is a Reject and is not stored", async () => {
  await using world = await startInProcess({ toml: ALWAYS });
  const { login, pairingId } = await confirming(world);
  world.secondFactor.changePairing(pairingId, { enabled: false, pending: false });
  assertEquals(brief(await login.answer("")), ["reject", "The pairing was not confirmed."]);
  assertEquals([...world.radius.pairings.all()].length, 0);
});

Deno.test("pairing: a deactivated pairing is a Reject, although it is also reported as enabled", async () => {
  await using world = await startInProcess({ toml: ALWAYS });
  const { login, pairingId } = await confirming(world);
  world.secondFactor.changePairing(pairingId, { enabled: true, pending: false, deactivated: true });
  assertEquals((await login.answer("")).kind, "reject");
});

Deno.test("pairing: an unavailable service keeps the step and the phrase", async () => {
  await using world = await startInProcess({ toml: ALWAYS });
  const { login, pairingId } = await confirming(world);
  world.secondFactor.failAlways({ kind: "close" });
  assertEquals(brief(await login.answer("")), [
    PAIRING,
    "The pairing cannot be checked right now. Press continue or type ok to try again.",
  ]);
  world.secondFactor.failAlways(null);
  await jump(world.clock, 60_000);
  world.secondFactor.changePairing(pairingId, { enabled: true, pending: false });
  assertEquals((await login.answer("")).step, DEVICE);
});

Deno.test("pairing: a phrase that cannot be checked is asked for again", async () => {
  await using world = await startInProcess({ toml: ALWAYS });
  const login = await askedForPhrase(world);
  world.secondFactor.failNext({ kind: "status", status: 503 });
  assertEquals(brief(await login.answer("maple river")), [
    PHRASE,
    "The phrase cannot be checked right now. Enter the pairing phrase again.",
  ]);
});

Deno.test("enrolment never: S reports that no device is paired, though the first factor was right", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: `${server.toml}\n[factors]\nenrol_at_login = "never"` });
  assertEquals(brief(await menuThenS(world)), NONE_PAIRED);
});

Deno.test("enrolment after_first_factor: without a verified first factor S reports that no device is paired", async () => {
  await using world = await startInProcess();
  assertEquals(brief(await menuThenS(world)), NONE_PAIRED);
});

Deno.test("enrolment after_first_factor: with a verified first factor S asks for the phrase", async () => {
  using server: FirstFactorServer = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: server.toml });
  assertEquals((await menuThenS(world)).step, PHRASE);
});

for (const enrol of ["after_first_factor", "always"]) {
  Deno.test(`enrolment ${enrol}: a user with a factor of any kind cannot pair a phone at login`, async () => {
    using server = startFirstFactorServer({ password: "right" });
    const toml = `${server.toml}\n[factors]\nenrol_at_login = "${enrol}"\nphone_numbers = "any"`;
    await using world = await startInProcess({ toml });
    await give(world, "anna", { kind: "voice", number: "+4915112345678" });
    const login = await world.begin({ user: "anna" }, "right");
    await login.answer("cancel");
    assertEquals(brief(await login.answer("S")), NONE_PAIRED);
    await login.answer("T");
    // They cannot enrol a new number either.
    assertEquals((await login.answer("+15005550123")).step, "GET_SMS_PHONE_NUMBER");
  });
}

Deno.test("enrolment after_first_factor: a number of the directory is a factor: no phone is paired, no other number taken", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: `${server.toml}\n[factors]\nphone_numbers = "any"` });
  await register(world, "anna", { phoneNumbers: ["+4915112345678", "+4915112345679"] });
  const login = await world.begin({ user: "anna" }, "right");
  assertEquals(brief(await login.answer("S")), NONE_PAIRED);
  await login.answer("T");
  assertEquals((await login.answer("+15005550123")).step, "GET_SMS_PHONE_NUMBER");
});

for (
  const [why, factors, numbers] of [
    ["a number to which messages are not allowed", 'country_codes = ["49"]', ["+15005550123"]],
    ["no number", "", []],
  ] as const
) {
  Deno.test(`enrolment after_first_factor: ${why} is no factor, so a phone may be paired`, async () => {
    using server = startFirstFactorServer({ password: "right" });
    await using world = await startInProcess({ toml: `${server.toml}\n[factors]\n${factors}` });
    await register(world, "anna", { phoneNumbers: numbers });
    const login = await world.begin({ user: "anna" }, "right");
    assertEquals((await login.answer("S")).step, PHRASE);
  });
}

Deno.test("enrolment: a user who gets a factor at the phrase prompt can no longer pair", async () => {
  await using world = await startInProcess({ toml: ALWAYS });
  const login = await askedForPhrase(world);
  await giveDevice(world, "anna");
  world.secondFactor.offerPhrase("maple river");
  assertEquals(brief(await login.answer("maple river")), NONE_PAIRED);
  assertEquals(world.secondFactor.requests.length, 0);
});

Deno.test("enrolment: with a right first factor, a verified registered number is stored as verified", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using world = await startInProcess({ toml: server.toml });
  await register(world, "anna", { phoneNumbers: ["+4915112345678"] });
  const login = await world.begin({ user: "anna" }, "right");
  assertEquals((await login.answer("T")).step, "AWAIT_SMS_DELIVERED_PASSCODE");
  const passcode = world.telephony.lastPasscode("+4915112345678") ?? "";
  assertEquals((await login.answer(passcode)).kind, "accept");
  assertEquals(world.radius.pairings.of("anna").map(({ kind }) => kind), ["sms"]);
});

Deno.test("enrolment: pairing a phone is audited with the user and the pairing", async () => {
  await using world = await startInProcess({ toml: ALWAYS });
  const { login, pairingId } = await confirming(world);
  world.secondFactor.changePairing(pairingId, { enabled: true, pending: false });
  await login.answer("");
  const found: unknown[] = [];
  for await (const { value } of world.store.list<Record<string, unknown>>(["audit"])) {
    if (value?.action === "pairing.add") found.push([value.object, value.factor, value.pairing]);
  }
  assertEquals(found, [["user:anna", "device", pairingId]]);
});

async function menuThenS(world: InProcess) {
  const login = await world.begin({ user: "anna" }, "right");
  return await login.answer("S");
}
