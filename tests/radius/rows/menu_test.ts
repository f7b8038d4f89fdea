// The choice of a factor, and codes of apps.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief, type Login } from "./login.ts";
import { appCode, give, giveDevice, NUMBER, passcodeSentTo, register, SEED, startWith } from "./people.ts";
import { hotpAt } from "../../../radius/factors/totp.ts";
import type { Passwords } from "../../../radius/ports.ts";
import { jump } from "./passing_time.ts";

// The flow rows of the menu: the result of each letter.

const OTHER = "+4915187654321";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";

/** A login that is at the menu, because its password was empty. */
async function atMenu(world: InProcess, user = "anna"): Promise<Login> {
  const login = world.login({ user });
  assertEquals((await login.start("")).step, MENU);
  return login;
}

Deno.test("menu: it lists the four choices and ends with the way to start over", async () => {
  await using world = await startInProcess();
  const { message } = await world.login({ user: "anna" }).start("");
  assertEquals(message.split("\n"), [
    "Choose a second factor:",
    "S - Smart-phone responder",
    "T - Text-message delivered passcode",
    "P - Phone-call delivered passcode",
    "D - Device-generated passcode",
    "Type cancel to start over. ",
  ]);
});

Deno.test("menu: a factor that is not enabled is not listed, and its letter selects nothing", async () => {
  await using world = await startInProcess({ toml: `[factors]\nenabled = ["device", "sms"]` });
  await register(world, "anna", { phoneNumbers: [NUMBER] });
  const login = world.login({ user: "anna" });
  const { message } = await login.start("");
  assertEquals(message.includes("P - "), false);
  assertEquals(brief(await login.answer("P")), [MENU, "Choose a second factor:"]);
  assertEquals(world.telephony.requests.length, 0);
});

Deno.test("menu S: with a device pairing it requests an approval", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna");
  const login = await atMenu(world);
  assertEquals((await login.answer("S")).step, DEVICE);
  assertEquals(world.secondFactor.initiated().map(({ pairingId }) => pairingId), [pairing.id]);
});

Deno.test("menu: letters are read without case and without the blanks around them", async () => {
  await using world = await startWith("device");
  for (const answer of ["s", " S", "s \t"]) {
    const login = await atMenu(world);
    assertEquals((await login.answer(answer)).step, DEVICE, JSON.stringify(answer));
  }
});

Deno.test("menu S: without a pairing, if enrolment is not allowed, it reports that no device is paired", async () => {
  await using world = await startInProcess();
  const login = await atMenu(world);
  const reply = await login.answer("S");
  assertEquals(brief(reply), [MENU, "No device is paired with your name. Choose another factor:"]);
  assertEquals(world.secondFactor.requests.length, 0);
});

Deno.test("menu S: without a pairing, if enrolment is allowed, it asks for the pairing phrase", async () => {
  await using world = await startInProcess({ toml: `[factors]\nenrol_at_login = "always"` });
  const login = await atMenu(world);
  assertEquals(brief(await login.answer("S")), [
    "SECONDFACTOR_GET_PAIRING_PHRASE",
    "Enter the pairing phrase that your phone shows.",
  ]);
});

for (
  const { letter, kind, asks, at, awaits } of [
    {
      letter: "T",
      kind: "sms",
      asks: "Enter an SMS-capable phone number prefixed with + and the country code, with no dashes.",
      at: "GET_SMS_PHONE_NUMBER",
      awaits: "AWAIT_SMS_DELIVERED_PASSCODE",
    },
    {
      letter: "P",
      kind: "voice",
      asks: "Enter a phone number prefixed with + and the country code, with no dashes.",
      at: "GET_VOICE_PHONE_NUMBER",
      awaits: "AWAIT_VOICE_DELIVERED_PASSCODE",
    },
  ] as const
) {
  Deno.test(`menu ${letter}: without a known number it asks for one`, async () => {
    await using world = await startInProcess();
    const login = await atMenu(world);
    assertEquals(brief(await login.answer(letter)), [at, asks]);
    assertEquals(world.telephony.requests.length, 0);
  });

  Deno.test(`menu ${letter}: a verified number is used at once`, async () => {
    await using world = await startInProcess();
    await give(world, "anna", { kind, number: NUMBER });
    const login = await atMenu(world);
    assertEquals((await login.answer(letter)).step, awaits);
    assertEquals(world.telephony.taken().map(({ form }) => form.get("To")), [NUMBER]);
  });

  Deno.test(`menu ${letter}: a registered number is used at once, although it was never verified`, async () => {
    await using world = await startInProcess();
    await register(world, "anna", { phoneNumbers: ["tel:+49 (151) 1234-5678"] });
    const login = await atMenu(world);
    assertEquals((await login.answer(letter)).step, awaits);
    assertEquals(world.telephony.taken().map(({ form }) => form.get("To")), [NUMBER]);
  });

  Deno.test(`menu ${letter}: several numbers are shown masked, and a line number selects one`, async () => {
    await using world = await startInProcess();
    await register(world, "anna", { phoneNumbers: [NUMBER, OTHER] });
    const login = await atMenu(world);
    const which = await login.answer(letter);
    assertEquals(which.step, at);
    assertStringIncludes(which.message, "1: +4*********678\n2: +4*********321\n");
    assertEquals(which.message.includes("1234567"), false);
    await login.answer("2");
    assertEquals(world.telephony.taken().map(({ form }) => form.get("To")), [OTHER]);
    assertEquals((await login.answer(passcodeSentTo(world, OTHER))).kind, "accept");
  });

  Deno.test(`menu ${letter}: a line number that was not shown sends nothing and asks again`, async () => {
    await using world = await startInProcess();
    await register(world, "anna", { phoneNumbers: [NUMBER, OTHER] });
    const login = await atMenu(world);
    await login.answer(letter);
    assertEquals((await login.answer("3")).step, at);
    assertEquals(world.telephony.requests.length, 0);
  });
}

Deno.test("menu D: with TOTP it asks for the device's passcode and calls no service", async () => {
  await using world = await startWith("app");
  const login = await atMenu(world);
  assertEquals((await login.answer("D")).step, "GET_DEVICE_GENERATED_PASSCODE");
  assertEquals(world.secondFactor.requests.length, 0);
});

Deno.test("menu D: with a device that generates passcodes a request is opened for it", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna", { totpLength: 6 });
  const login = await atMenu(world);
  assertEquals((await login.answer("D")).step, "GET_DEVICE_GENERATED_PASSCODE");
  assertEquals(world.secondFactor.initiated().map(({ pairingId }) => pairingId), [pairing.id]);
});

Deno.test("menu D: the user's own TOTP has precedence over the device's", async () => {
  await using world = await startWith("device");
  await give(world, "anna", { kind: "totp", seed: SEED });
  const login = await atMenu(world);
  await login.answer("D");
  assertEquals(world.secondFactor.requests.length, 0);
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
});

Deno.test("menu D: without both, or with a device that generates no passcodes, it reports that", async () => {
  await using world = await startInProcess();
  await giveDevice(world, "bert", { totpLength: 0 });
  for (const user of ["anna", "bert"]) {
    const login = await atMenu(world, user);
    assertEquals(brief(await login.answer("D")), [
      MENU,
      "No device of yours generates passcodes. Choose another factor:",
    ]);
  }
  assertEquals(world.secondFactor.requests.length, 0);
});

Deno.test("menu D: when the request for the passcode cannot be opened, the menu reports that", async () => {
  await using world = await startWith("device");
  world.secondFactor.failNext({ kind: "status", status: 503 });
  const login = await atMenu(world);
  assertEquals(brief(await login.answer("D")), [
    MENU,
    "A device passcode cannot be checked right now. Choose another factor:",
  ]);
});

Deno.test("menu: any other text shows the menu again", async () => {
  await using world = await startWith("device");
  const login = await atMenu(world);
  for (const answer of ["", "X", "SS", "S,T", "1", "smart-phone", "é"]) {
    assertEquals(brief(await login.answer(answer)), [MENU, "Choose a second factor:"], answer);
  }
  assertEquals(world.secondFactor.requests.length, 0);
});

// Flow rows of authenticator apps: the drift of a clock, codes of another time, other parameters, and digits of other scripts.

const MISMATCH = ["reject", "The submitted passcode does not match."];
const STEP_MS = 30_000;

async function withApp(more: { toml?: string; passwords?: Passwords } = {}): Promise<InProcess> {
  const world = await startInProcess(more);
  await give(world, "anna", { kind: "totp", seed: SEED });
  return world;
}

/** Enters the code of a clock that is `aheadMs` ahead. */
async function enter(world: InProcess, aheadMs: number) {
  const login = await world.begin({ user: "anna" });
  return await login.answer(appCode(world.clock.nowMs() + aheadMs));
}

Deno.test("app codes: the drift of a clock is learned, and a clock that is right is accepted again", async () => {
  await using world = await withApp();
  for (let steps = 1; steps <= 4; steps++) {
    assertEquals((await enter(world, steps * STEP_MS)).kind, "accept", `${steps} steps`);
    await jump(world.clock, 10 * STEP_MS);
  }
  assertEquals((await enter(world, 7 * STEP_MS)).kind, "reject");
  assertEquals((await enter(world, 0)).kind, "accept");
});

const REFUSED = [
  { aheadMs: 240_000, row: "code_of_fast_clock", because: "4 minutes ahead" },
  { aheadMs: -600_000, row: "code_of_slow_clock", because: "10 minutes behind" },
] as const;
for (const { aheadMs, row, because } of REFUSED) {
  Deno.test(`app codes: the log names a clock that is ${because}, and the code is refused`, async () => {
    await using world = await withApp();
    assertEquals(brief(await enter(world, aheadMs)), MISMATCH);
    assertEquals(world.radius.limits.failures("anna").total, 1);
    const lines = (await world.logLines()).filter((line) => line.includes(`row=${row}`));
    assert(lines.some((line) => line.includes(because)), lines.join());
  });
}

Deno.test("app codes: the log names a code that was used, and a last step that lies in the future", async () => {
  await using world = await withApp();
  assertEquals((await enter(world, 0)).kind, "accept");
  assertEquals(brief(await enter(world, 0)), MISMATCH);
  assert((await world.logLines()).some((line) => line.includes("row=code_used")));
  await give(world, "bert", {
    kind: "totp",
    seed: SEED,
    lastStep: Math.floor(world.clock.nowMs() / STEP_MS) + 40,
  });
  const login = await world.begin({ user: "bert" });
  assertEquals(brief(await login.answer(appCode(world.clock.nowMs()))), MISMATCH);
  assert((await world.logLines()).some((line) => line.includes("row=code_before_last_step")));
});

const OTHER_KIND = { algorithm: "SHA256", digits: 8, periodS: 60 } as const;
const otherCode = (world: InProcess) =>
  hotpAt(SEED, Math.floor(world.clock.nowMs() / (OTHER_KIND.periodS * 1000)), OTHER_KIND);

Deno.test("app codes: SHA-256, eight digits and 60 seconds are accepted once, at a prompt and in append mode", async () => {
  const passwords: Passwords = {
    hasPassword: () => Promise.resolve(true),
    directory: (_user, password) =>
      Promise.resolve(new TextDecoder().decode(password) === "right" ? "right" : "wrong"),
    ldap: () => Promise.resolve("wrong"),
  };
  for (
    const [position, typed] of [
      ["separated", (code: string) => `right,${code}`],
      ["behind", (code: string) => `right${code}`],
      ["front", (code: string) => `${code}right`],
    ] as const
  ) {
    const toml = '[radius]\nfirst_factor = "directory"\nappend_mode = true\n' +
      `code_position = "${position}"\n`;
    await using world = await startInProcess({ toml, passwords });
    await give(world, "anna", { kind: "totp", seed: SEED, ...OTHER_KIND });
    const enterAppended = async () =>
      (await world.login({ user: "anna" }).start(typed(otherCode(world)))).kind;
    assertEquals([await enterAppended(), await enterAppended()], ["accept", "reject"], position);
  }
  await using world = await startInProcess();
  await give(world, "anna", { kind: "totp", seed: SEED, ...OTHER_KIND });
  const login = await world.begin({ user: "anna" });
  assertEquals((await login.answer(otherCode(world))).kind, "accept");
});

const SCRIPTS = { "full-width": 0xff10, "Arabic-Indic": 0x660, Devanagari: 0x966 } as const;
for (const [script, zero] of Object.entries(SCRIPTS)) {
  Deno.test(`app codes: ${script} digits are accepted at a prompt and in append mode`, async () => {
    const written = (code: string) =>
      code.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));
    for (const position of ["prompt", "separated", "behind"]) {
      const toml = position === "prompt"
        ? ""
        : `[radius]\nappend_mode = true\ncode_position = "${position}"\n`;
      await using world = await withApp({ toml });
      const code = written(appCode(world.clock.nowMs()));
      const login = world.login({ user: "anna" });
      const typed = position === "separated" ? `right,${code}` : `right${code}`;
      const first = await (position === "prompt" ? login.start() : login.start(typed));
      const last = position === "prompt"
        ? await login.answer(`\u200e${code.slice(0, 3)}\u2011${code.slice(3)}`)
        : first;
      assertEquals(last.kind, "accept", position);
    }
  });
}
