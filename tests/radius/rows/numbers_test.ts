// Flow rows of typed phone numbers: accepted numbers, refused ones, and refusals that reveal little.

import { assert, assertEquals } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief, type Login } from "./login.ts";
import { giveDevice, passcodeSentTo, register } from "./people.ts";

const NUMBER = "+4915112345678";
const STRANGERS = "+15005550123";
/** The number that the telephony provider documents as invalid. */
const REFUSED_BY_SERVICE = "+15005550001";
const ANY = `[factors]\nphone_numbers = "any"\n`;
const MENU = "CHOOSE_WHICH_MULTIFACTOR";

/** The two ways to enter a number, and their differences. */
const WAYS = [
  {
    letter: "T",
    at: "GET_SMS_PHONE_NUMBER",
    verify: "VERIFY_SMS_PHONE_NUMBER",
    asks: "Enter an SMS-capable phone number prefixed with + and the country code, with no dashes.",
    refusedNext: "GET_SMS_PHONE_NUMBER",
  },
  {
    letter: "P",
    at: "GET_VOICE_PHONE_NUMBER",
    verify: "VERIFY_VOICE_PHONE_NUMBER",
    asks: "Enter a phone number prefixed with + and the country code, with no dashes.",
    refusedNext: "VERIFY_VOICE_PHONE_NUMBER",
  },
] as const;

/** A login at the prompt for a number. */
async function askedForNumber(world: InProcess, letter: string, user = "anna"): Promise<Login> {
  const login = world.login({ user });
  await login.start("");
  await login.answer(letter);
  return login;
}

for (const { letter, at, verify, asks, refusedNext } of WAYS) {
  Deno.test(`${at}: if any number is allowed, a well-formed one is used and must be verified`, async () => {
    await using world = await startInProcess({ toml: ANY });
    const login = await askedForNumber(world, letter);
    assertEquals((await login.answer(STRANGERS)).step, verify);
    assertEquals((await login.answer(passcodeSentTo(world, STRANGERS))).kind, "accept");
  });

  Deno.test(`${at}: tel:, blanks, dots, dashes and brackets of a typed number are ignored`, async () => {
    await using world = await startInProcess({ toml: ANY });
    const login = await askedForNumber(world, letter);
    assertEquals((await login.answer("tel:+1 (500) 555-01.23")).step, verify);
    assertEquals(world.telephony.taken().map(({ form }) => form.get("To")), [STRANGERS]);
  });

  Deno.test(`${at}: an empty answer leads back to the menu`, async () => {
    await using world = await startInProcess();
    const login = await askedForNumber(world, letter);
    assertEquals((await login.answer(" ")).step, MENU);
  });

  for (
    const typed of [
      "500",
      "015112345678",
      "+0123456789",
      "+1234567",
      "+1234567890123456",
      "+49abc1234567",
      "?",
    ]
  ) {
    Deno.test(`${at}: "${typed}" is no number, so the prompt is repeated and no service is called`, async () => {
      await using world = await startInProcess({ toml: ANY });
      const login = await askedForNumber(world, letter);
      assertEquals(brief(await login.answer(typed)), [at, asks]);
      assertEquals(world.telephony.requests.length, 0);
    });
  }

  Deno.test(`${at}: an unregistered number is refused like one that the service refuses, and no service is called`, async () => {
    await using world = await startInProcess();
    await using open = await startInProcess({ toml: ANY });
    const refused = await (await askedForNumber(world, letter)).answer(STRANGERS);
    const refusedByService = await (await askedForNumber(open, letter)).answer(REFUSED_BY_SERVICE);
    assertEquals(refused.step, refusedNext);
    assertEquals(brief(refused), brief(refusedByService));
    assertEquals([world.telephony.requests.length, open.telephony.requests.length], [0, 1]);
  });

  Deno.test(`${at}: if any number is allowed, a user with a factor may still use only their own numbers`, async () => {
    await using world = await startInProcess({ toml: ANY });
    await giveDevice(world, "anna");
    const login = await askedForNumber(world, letter);
    assertEquals((await login.answer(STRANGERS)).step, refusedNext);
    assertEquals(world.telephony.requests.length, 0);
  });

  Deno.test(`${at}: a country code that is not in the list is refused without a call`, async () => {
    await using world = await startInProcess({ toml: `${ANY}country_codes = ["49"]` });
    const login = await askedForNumber(world, letter);
    assertEquals((await login.answer(STRANGERS)).step, refusedNext);
    assertEquals(world.telephony.requests.length, 0);
    const other = await askedForNumber(world, letter, "bert");
    assertEquals((await other.answer(NUMBER)).step, verify);
  });

  Deno.test(`${at}: a number that the telephony service refuses leads to ${refusedNext}`, async () => {
    await using world = await startInProcess({ toml: ANY });
    const login = await askedForNumber(world, letter);
    assertEquals((await login.answer(REFUSED_BY_SERVICE)).step, refusedNext);
    assertEquals(world.telephony.requests.length, 1);
  });
}

Deno.test("GET_SMS_PHONE_NUMBER: the same refused number three times in a row gets the same prompt three times", async () => {
  await using world = await startInProcess();
  const login = await askedForNumber(world, "T");
  for (let count = 0; count < 3; count++) {
    assertEquals(brief(await login.answer(STRANGERS)), [WAYS[0].at, WAYS[0].asks]);
  }
});

Deno.test("GET_SMS_PHONE_NUMBER: after a refusal the user may try another number", async () => {
  await using world = await startInProcess({ toml: ANY });
  const login = await askedForNumber(world, "T");
  await login.answer("+15005550001");
  assertEquals((await login.answer(STRANGERS)).step, "VERIFY_SMS_PHONE_NUMBER");
});

Deno.test("GET_VOICE_PHONE_NUMBER: after a refusal no passcode is right", async () => {
  await using world = await startInProcess();
  const login = await askedForNumber(world, "P");
  await login.answer(STRANGERS);
  assertEquals((await login.answer("0000")).kind, "reject");
  assertEquals(world.telephony.requests.length, 0);
});

Deno.test("GET_VOICE_PHONE_NUMBER: a call that a hung service may have placed is not repeated, and its passcode counts", async () => {
  await using world = await startInProcess({ toml: ANY });
  world.telephony.failNext({ kind: "hang" });
  const login = await askedForNumber(world, "P");
  assertEquals((await login.answer(STRANGERS)).step, "VERIFY_VOICE_PHONE_NUMBER");
  assertEquals(world.telephony.requests.length, 1);
  assertEquals((await login.answer(passcodeSentTo(world, STRANGERS))).kind, "accept");
});

Deno.test("numbers: a registered number that is typed at the menu is compared in reduced form", async () => {
  await using world = await startInProcess();
  await register(world, "anna", { phoneNumbers: ["tel:+49-151-1234.5678", "+49 30 (123) 45678", "broken"] });
  const login = await askedForNumber(world, "T");
  assertEquals((await login.answer("+49 151 12345678")).step, "VERIFY_SMS_PHONE_NUMBER");
  assertEquals((await login.answer(passcodeSentTo(world, NUMBER))).kind, "accept");
});

Deno.test("numbers: another user's registered number is refused", async () => {
  await using world = await startInProcess();
  await register(world, "bert", { phoneNumbers: [NUMBER] });
  await register(world, "anna");
  const login = await askedForNumber(world, "T");
  assertEquals((await login.answer(NUMBER)).step, "GET_SMS_PHONE_NUMBER");
  assertEquals(world.telephony.requests.length, 0);
});

for (const { letter, verify } of WAYS) {
  const storing = { enrol: "always", stored: true } as const;
  const notStoring = { enrol: "never", stored: false } as const;
  const withoutFirst = { enrol: "after_first_factor", stored: false } as const;
  for (const { enrol, stored } of [storing, notStoring, withoutFirst]) {
    Deno.test(`${verify}: a verified number is ${stored ? "" : "not "}stored with enrolment "${enrol}" and no first factor`, async () => {
      await using world = await startInProcess({ toml: `${ANY}enrol_at_login = "${enrol}"` });
      const login = await askedForNumber(world, letter);
      assertEquals((await login.answer(STRANGERS)).step, verify);
      assertEquals((await login.answer(passcodeSentTo(world, STRANGERS))).kind, "accept");
      const numbers = world.radius.pairings.of("anna").map((pairing) =>
        pairing.kind === "sms" || pairing.kind === "voice" ? pairing.number : pairing.kind
      );
      assertEquals(numbers, stored ? [STRANGERS] : []);
    });
  }

  Deno.test(`${verify}: an empty answer leads to the menu, and the earlier passcode is no longer right`, async () => {
    await using world = await startInProcess({ toml: ANY });
    const login = await askedForNumber(world, letter);
    await login.answer(STRANGERS);
    const passcode = passcodeSentTo(world, STRANGERS);
    assertEquals((await login.answer("")).step, MENU);
    assertEquals((await login.answer(passcode)).step, MENU);
  });
}

Deno.test("numbers: an enrolled number is used for the next login, and the enrolment is audited", async () => {
  await using world = await startInProcess({ toml: `${ANY}enrol_at_login = "always"` });
  const login = await askedForNumber(world, "T");
  await login.answer(STRANGERS);
  await login.answer(passcodeSentTo(world, STRANGERS));
  assertEquals((await world.login({ user: "anna" }).start()).step, "AWAIT_SMS_DELIVERED_PASSCODE");
  const audit: unknown[] = [];
  for await (const { value } of world.kv.list<{ action: string }>({ prefix: ["audit"] })) {
    audit.push(value.action);
  }
  assert(audit.includes("pairing.add"), JSON.stringify(audit));
});
