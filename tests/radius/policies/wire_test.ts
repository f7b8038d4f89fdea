// Policies over the wire: real packets to a gateway that runs, one table row for each login.

import { assert, assertEquals } from "@std/assert";
import { type InProcess, startInProcess } from "../rows/in_process.ts";
import type { Answer } from "../rows/login.ts";
import { appCode, give, giveDevice, register, SEED } from "../rows/people.ts";
import { storePolicies } from "./policy_sample.ts";
import { WIRE_ROWS, type WireRow } from "./wire_rows.ts";

const PASSWORD = "open sesame";
const TOML = `[radius.reply.default]
Class = "staff"
[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "a-secret-of-the-tests"
message_authenticator = "require"
[[radius.client]]
name = "old"
address = ["127.0.0.1"]
nas_identifier = "old"
secret = "a-secret-of-the-tests"
message_authenticator = "off"
[[radius.client]]
name = "inside"
address = ["127.0.0.1"]
nas_identifier = "inside"
secret = "a-secret-of-the-tests"
message_authenticator = "require"
first_factor = "directory"
[[radius.client]]
name = "old-inside"
address = ["127.0.0.1"]
nas_identifier = "old-inside"
secret = "a-secret-of-the-tests"
message_authenticator = "off"
first_factor = "directory"
`;
const NAS_IDENTIFIER = 32;
const SHORT: Readonly<Record<string, string>> = {
  CHOOSE_WHICH_MULTIFACTOR: "MENU",
  SECONDFACTOR_AWAIT_DEVICE_APPROVAL: "DEVICE",
  SECONDFACTOR_GET_PAIRING_PHRASE: "PHRASE",
  GET_DEVICE_GENERATED_PASSCODE: "CODE",
  AWAIT_SMS_DELIVERED_PASSCODE: "TEXT",
  AWAIT_VOICE_DELIVERED_PASSCODE: "CALL",
  GET_SMS_PHONE_NUMBER: "GET_SMS",
};

function short({ kind, step, message }: Answer): string {
  if (kind === "accept") return "accept";
  if (kind === "reject") return `reject ${message}`;
  const name = SHORT[step.split(".")[0] ?? ""] ?? step;
  if (name !== "MENU") return name;
  if (message.startsWith("No device")) return "MENU no device";
  return `MENU ${message.split("\n").flatMap((line) => /^([STPD]) - /.exec(line)?.[1] ?? []).join("")}`;
}

async function prepareUser(world: InProcess, name: string, { user = {} }: WireRow): Promise<string> {
  const { groups = [], numbers = [], has = [], isUnknown, recoveryCode } = user;
  if (isUnknown !== true) await register(world, name, { groups, phoneNumbers: numbers });
  if (has.includes("device")) await giveDevice(world, name);
  if (has.includes("totp")) await give(world, name, { kind: "totp", seed: SEED });
  if (recoveryCode !== true) return "";
  const codes = world.radius.recoveryCodes.create(name.toLowerCase());
  const done = await world.store.commit({ checks: codes.checks, mutations: codes.mutations });
  if (done.ok) codes.adopt(done.versionstamp);
  return codes.codes[0] ?? "";
}

async function run(world: InProcess, row: WireRow, number: number): Promise<void> {
  const name = row.name ?? `user${number}`;
  const recovery = await prepareUser(world, name, row);
  await storePolicies(world.radius.policies.registry, row.policies);
  const login = world.login({
    user: name,
    ...(row.place === undefined ? {} : { callingStationId: row.place }),
    ...(row.unsigned ? { messageAuthenticator: "none" } : {}),
    ...(row.client === undefined
      ? {}
      : { more: [{ type: NAS_IDENTIFIER, value: new TextEncoder().encode(row.client) }] }),
  });
  let answer = await login.start(row.password ?? PASSWORD);
  const given = [short(answer)];
  for (let at = 1; at < row.gives.length; at += 2) {
    const typed = row.gives[at] as string;
    const text = typed.replace("{code}", appCode(world.clock.nowMs())).replace("{recovery}", recovery);
    answer = await login.answer(text);
    given.push(typed, short(answer));
  }
  assertEquals(given, [...row.gives]);
  if (row.attributes === undefined) return;
  const text = new TextDecoder();
  assertEquals(
    answer.attributes.slice(1).map(({ type, value }) => [type, text.decode(value)]),
    row.attributes.map((one) => [...one]),
  );
}

assert(Object.keys(WIRE_ROWS).length >= 60);

Deno.test("policies decide about logins", async (test) => {
  await using world = await startInProcess({
    toml: TOML,
    users: [],
    passwords: {
      hasPassword: () => Promise.resolve(true),
      directory: (_user, password) =>
        Promise.resolve(new TextDecoder().decode(password) === PASSWORD ? "right" : "wrong"),
      ldap: () => Promise.resolve("unavailable"),
    },
  });
  let number = 0;
  for (const [title, row] of Object.entries(WIRE_ROWS)) {
    await test.step(title, () => run(world, row, number++));
  }
});
