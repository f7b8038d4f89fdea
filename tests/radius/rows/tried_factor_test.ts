// A rejection belongs to the factor that was tried, in the history and so in the reports. "No factor" is only for logins that tried none.

import { assertEquals } from "@std/assert";
import { decodeLoginRecord } from "../../../radius/conversation/login_record.ts";
import { giveBypass, WRONG_BYPASS } from "./bypass.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { becomes, jump } from "./passing_time.ts";
import { give, giveDevice, register, SEED } from "./people.ts";

const NUMBER = "+4915112345678";

interface Row {
  readonly toml?: string;
  /** Gives anna her factors. */
  readonly has?: (world: InProcess) => Promise<unknown> | void;
  /** The password and the answers. */
  readonly types: readonly string[];
  readonly factor: string | null;
}

const giveTotp = (world: InProcess) => give(world, "anna", { kind: "totp", seed: SEED });
const giveRecovery = async ({ radius, store }: InProcess) => {
  const made = radius.recoveryCodes.create("anna");
  const done = await store.commit({ checks: made.checks, mutations: made.mutations });
  if (done.ok) made.adopt(done.versionstamp);
};
const APPEND = "[radius]\nappend_mode = true";

const ROWS: Readonly<Record<string, Row>> = {
  "a wrong code of an authenticator app": { has: giveTotp, types: ["pw", "000000"], factor: "totp" },
  "a wrong code after D": { has: giveTotp, types: ["", "D", "000000"], factor: "totp" },
  "a wrong appended code": { toml: APPEND, has: giveTotp, types: ["pw,000000"], factor: "totp" },
  "a wrong code while a push waits": {
    has: async (world) => {
      await giveTotp(world);
      await giveDevice(world, "anna");
    },
    types: ["pw", "000000"],
    factor: "device",
  },
  "a wrong passcode of the phone": {
    has: (world) => giveDevice(world, "anna"),
    types: ["", "D", "000000"],
    factor: "device",
  },
  "a wrong passcode of a text message": {
    has: (world) => give(world, "anna", { kind: "sms", number: NUMBER }),
    types: ["pw", "000000"],
    factor: "sms",
  },
  "a wrong passcode of a call": {
    has: (world) => give(world, "anna", { kind: "voice", number: NUMBER }),
    types: ["pw", "000000"],
    factor: "voice",
  },
  "a passcode for a number that got no call": {
    has: (world) => register(world, "anna", { phoneNumbers: [] }),
    toml: '[factors]\nphone_numbers = "registered"',
    types: ["", "P", "+4915198765432", "000000"],
    factor: "voice",
  },
  "a wrong recovery code": { has: giveRecovery, types: ["", "D", "abcde-fghij"], factor: "recovery" },
  "a wrong bypass code": {
    has: (world) => giveBypass(world, "anna"),
    types: ["", "D", WRONG_BYPASS],
    factor: "bypass",
  },
  "a user who is refused": { toml: '[radius]\nunknown_users = "reject"', types: ["pw"], factor: null },
};

async function rejected(world: InProcess) {
  for await (const { value } of world.store.list<unknown>(["history"])) {
    const login = decodeLoginRecord(value);
    if (login !== null) return [login.outcome, login.factor];
  }
  return [];
}

for (const [name, { toml = "", has, types, factor }] of Object.entries(ROWS)) {
  Deno.test(`the factor that was tried: ${name}`, async () => {
    await using world = await startInProcess({ toml });
    await has?.(world);
    const login = world.login({ user: factor === null ? "stranger" : "anna" });
    const [password = "", ...answers] = types;
    await login.start(password);
    for (const answer of answers) await login.answer(answer);
    assertEquals(await rejected(world), ["rejected", factor]);
  });
}

Deno.test("the factor that was tried: a code that was asked for and not typed", async () => {
  await using world = await startInProcess();
  await giveTotp(world);
  await world.login({ user: "anna" }).start();
  await jump(world.clock, 301_000);
  await becomes("the login ends", async () => (await rejected(world)).length > 0);
  assertEquals(await rejected(world), ["expired", "totp"]);
});
