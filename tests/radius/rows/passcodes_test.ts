// Flow rows of delivered passcodes: their length, their validity, and their single use.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief, type Login, stepName } from "./login.ts";
import { jump } from "./passing_time.ts";
import { give, otherThan, passcodeSentTo, register } from "./people.ts";

const NUMBER = "+4915112345678";
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

  Deno.test(`${at}: blanks and dashes inside the passcode are removed`, async () => {
    for (const between of [" ", "-"]) {
      await using world = await startInProcess();
      const { login, passcode } = await awaiting(world, way);
      assertEquals((await login.answer(passcode.split("").join(between))).kind, "accept");
    }
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
    const second = world.login({ user: "anna" });
    await second.start();
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

  Deno.test(`${at}: the length follows the settings`, async () => {
    await using world = await startInProcess({ toml: `[factors.passcode]\n${kind}_digits = 8` });
    const { login, passcode } = await awaiting(world, way);
    assertEquals(passcode.length, 8);
    assertEquals((await login.answer(passcode)).kind, "accept");
  });

  Deno.test(`${at}: the passcode is nowhere in the store, neither in clear nor as an unkeyed hash`, async () => {
    // Eight digits do not occur by chance in ids and times.
    await using world = await startInProcess({ toml: `[factors.passcode]\n${kind}_digits = 8` });
    const { passcode } = await awaiting(world, way);
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
  const login = world.login({ user: "anna" });
  await login.start("");
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
  await using world = await startInProcess({ toml: "[factors.sends]\nper_user = 50\nper_number = 50" });
  await give(world, "anna", { kind: "sms", number: NUMBER });
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
