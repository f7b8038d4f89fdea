// Passcodes by text message and call, and the numbers that they go to.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief, type Login, stepName } from "./login.ts";
import { jump } from "./passing_time.ts";
import { give, NUMBER, otherThan, passcodeSentTo, register, startWith } from "./people.ts";

// Flow rows of delivered passcodes: their length, their validity, and their single use.

const MISMATCH = ["reject", "The submitted passcode does not match."];

const WAYS = [
  { kind: "sms", at: "AWAIT_SMS_DELIVERED_PASSCODE", digits: 6 },
  { kind: "voice", at: "AWAIT_VOICE_DELIVERED_PASSCODE", digits: 4 },
] as const;

async function awaiting(
  world: InProcess,
  { kind, at }: { kind: "sms" | "voice"; at: string },
): Promise<{ login: Login; passcode: string }> {
  await give(world, "anna", { kind, number: NUMBER });
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, at);
  return { login, passcode: passcodeSentTo(world, NUMBER) };
}

for (const way of WAYS) {
  const { at, kind, digits } = way;

  Deno.test(`${at}: the passcode has ${digits} digits and is right once`, async () => {
    await using world = await startInProcess();
    const { login, passcode } = await awaiting(world, way);
    assertEquals(passcode.length, digits);
    assertEquals((await login.answer(` ${passcode} `)).kind, "accept");
    assertEquals(brief(await login.answer(passcode)), ["reject", "This login is over. Start a new one."]);
  });

  Deno.test(`${at}: a wrong passcode is a Reject and ends the login`, async () => {
    await using world = await startInProcess();
    const { login, passcode } = await awaiting(world, way);
    assertEquals(brief(await login.answer(otherThan(passcode))), MISMATCH);
    assertEquals((await login.answer(passcode)).kind, "reject");
  });

  Deno.test(`${at}: an empty answer leads to the menu`, async () => {
    await using world = await startInProcess();
    const { login } = await awaiting(world, way);
    assertEquals((await login.answer("")).step, "CHOOSE_WHICH_MULTIFACTOR");
  });

  Deno.test(`${at}: a passcode is valid for 300 s and no longer`, async () => {
    await using world = await startInProcess({ toml: "[radius]\nconversation_ttl_s = 600" });
    const early = await awaiting(world, way);
    await jump(world.clock, 295_000);
    assertEquals((await early.login.answer(early.passcode)).kind, "accept");
    const late = await awaiting(world, way);
    await jump(world.clock, 301_000);
    assertEquals(brief(await late.login.answer(late.passcode)), MISMATCH);
  });

  Deno.test(`${at}: the passcode of another login of the same user is wrong`, async () => {
    await using world = await startInProcess();
    const first = await awaiting(world, way);
    const second = await world.begin({ user: "anna" });
    const own = passcodeSentTo(world, NUMBER);
    const foreign = first.passcode === own ? otherThan(own) : first.passcode;
    assertEquals(brief(await second.answer(foreign)), MISMATCH);
    assertEquals((await first.login.answer(first.passcode)).kind, "accept");
  });

  Deno.test(`${at}: the passcode of another user's login is wrong`, async () => {
    // Two passcodes of eight digits are never equal by chance.
    await using world = await startInProcess({ toml: `[factors.passcode]\n${kind}_digits = 8` });
    const { login } = await awaiting(world, way);
    await give(world, "bert", { kind, number: "+4915187654321" });
    await world.login({ user: "bert" }).start();
    assertEquals(brief(await login.answer(passcodeSentTo(world, "+4915187654321"))), MISMATCH);
  });

  Deno.test(`${at}: the passcode is nowhere in the store, neither in clear nor as an unkeyed hash`, async () => {
    // Eight digits do not occur by chance in ids and times.
    await using world = await startInProcess({ toml: `[factors.passcode]\n${kind}_digits = 8` });
    const { passcode } = await awaiting(world, way);
    assertEquals(passcode.length, 8);
    const dump = await everythingStored(world);
    assert(dump.length > 200, "there is something in the store");
    const plain = new TextEncoder().encode(passcode);
    const hashes = await Promise.all(["SHA-1", "SHA-256", "SHA-512"].map(async (name) => {
      return new Uint8Array(await crypto.subtle.digest(name, plain));
    }));
    for (const trace of [passcode, ...hashes.flatMap((hash) => [hash.toHex(), hash.toBase64()])]) {
      assertEquals(dump.includes(trace), false, trace);
    }
  });
}

Deno.test("passcodes: a new one replaces the old one within a login", async () => {
  await using world = await startInProcess();
  await register(world, "anna", { phoneNumbers: [NUMBER] });
  const login = await world.begin({ user: "anna" }, "");
  await login.answer("T");
  const first = passcodeSentTo(world, NUMBER);
  await login.answer("");
  await login.answer("T");
  const second = passcodeSentTo(world, NUMBER);
  assertEquals(
    (await login.answer(first === second ? otherThan(second) : first)).message,
    "The submitted passcode does not match.",
  );
});

Deno.test("passcodes: they differ from login to login", async () => {
  await using world = await startWith("text", { toml: "[factors.sends]\nper_user = 50\nper_number = 50" });
  const seen = new Set<string>();
  for (let count = 0; count < 5; count++) {
    await world.login({ user: "anna" }).start();
    seen.add(passcodeSentTo(world, NUMBER));
  }
  assertNotEquals(seen.size, 1);
});

/** Keys and values of the whole store, octets as text. */
async function everythingStored({ kv }: InProcess): Promise<string> {
  const latin1 = new TextDecoder("latin1");
  let text = "";
  for await (const { key, value } of kv.list({ prefix: [] })) {
    text += JSON.stringify(key);
    text += value instanceof Uint8Array ? latin1.decode(value) : Deno.inspect(value, { depth: 20 });
  }
  return text;
}

/** What takes a number away whose passcode is on its way. */
const LOST_NUMBERS: Readonly<Record<string, readonly [gain: Change, lose: Change]>> = {
  "a verified number that was revoked": [
    (world) => give(world, "anna", { kind: "sms", number: NUMBER }),
    ({ radius: { pairings } }) => pairings.revoke(pairings.of("anna")[0]?.id ?? ""),
  ],
  "a number of the directory that was replaced": [
    (world) => register(world, "anna", { phoneNumbers: [NUMBER] }),
    (world) => register(world, "anna", { phoneNumbers: ["+4915187654321"] }),
  ],
};
type Change = (world: InProcess) => Promise<unknown>;

for (const [what, [gain, lose]] of Object.entries(LOST_NUMBERS)) {
  Deno.test(`a passcode does not count that was sent to ${what}`, async () => {
    for (const isLost of [false, true]) {
      await using world = await startInProcess();
      await gain(world);
      const login = world.login({ user: "anna" });
      if (stepName(await login.start()) === "CHOOSE_WHICH_MULTIFACTOR") await login.answer("T");
      const passcode = passcodeSentTo(world, NUMBER);
      if (isLost) await lose(world);
      assertEquals((await login.answer(passcode)).kind, isLost ? "reject" : "accept");
    }
  });
}

// Flow rows of typed phone numbers: accepted numbers, refused ones, and refusals that reveal little.

const STRANGERS = "+15005550123";
/** The number that the telephony provider documents as invalid. */
const REFUSED_BY_SERVICE = "+15005550001";
const ANY = `[factors]\nphone_numbers = "any"\n`;
const MENU = "CHOOSE_WHICH_MULTIFACTOR";

/** The two ways to enter a number, and their differences. */
const NUMBERS = [
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
  const login = await world.begin({ user }, "");
  await login.answer(letter);
  return login;
}

for (const { letter, at, verify, asks, refusedNext } of NUMBERS) {
  Deno.test(`${at}: if any number is allowed, a well-formed one is used and must be verified`, async () => {
    await using world = await startInProcess({ toml: ANY });
    const login = await askedForNumber(world, letter);
    assertEquals((await login.answer(STRANGERS)).step, verify);
    assertEquals((await login.answer(passcodeSentTo(world, STRANGERS))).kind, "accept");
  });

  Deno.test(`${at}: an empty answer leads back to the menu`, async () => {
    await using world = await startInProcess();
    const login = await askedForNumber(world, letter);
    assertEquals((await login.answer(" ")).step, MENU);
  });

  Deno.test(`${at}: for a text that is no number the prompt is repeated, and no service is called`, async () => {
    await using world = await startInProcess({ toml: ANY });
    const login = await askedForNumber(world, letter);
    assertEquals(brief(await login.answer("015112345678")), [at, asks]);
    assertEquals(world.telephony.requests.length, 0);
  });

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
    await using world = await startWith("device", { toml: ANY });
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

for (const { letter, verify } of NUMBERS) {
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
  for await (const { value } of world.store.list<{ action: string }>(["audit"])) {
    audit.push(value?.action);
  }
  assert(audit.includes("pairing.add"), JSON.stringify(audit));
});
