// Policies over the wire: held logins, and users without a factor.

import { assert, assertEquals } from "@std/assert";
import { type InProcess, saveSettings, SECRET, startInProcess } from "../rows/in_process.ts";
import { type Answer, brief } from "../rows/login.ts";
import { appCode, decide, give, giveDevice, NUMBER, passcodeSentTo, register, SEED } from "../rows/people.ts";
import { CHALLENGE, DENY, type ShortPolicy, storePolicies, TRUSTED } from "./policy_sample.ts";
import { WIRE_ROWS, type WireRow } from "./wire_rows.ts";
import { openDisk } from "../rows/disk.ts";
import { afterStatus, createGate } from "../rows/gates.ts";
import { becomes } from "../rows/passing_time.ts";
import { openRecorder } from "../rows/recorder.ts";
import { giveToken } from "../rows/tokens.ts";

// Policies over the wire: real packets to a gateway that runs, one table row for each login.

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

// Policies and a held login: what was decided at its start holds for its Access-Accept, and a restart decides again.

const HOLD = `[radius]\ndevice = "hold"\n`;
const CLASS = 25;
const LIMITED: ShortPolicy = [{}, { kind: "challenge", attributes: { Class: "limited" } }];
const DENIED = ["reject", "Access denied."];

const classes = (attributes: readonly { readonly type: number; readonly value: Uint8Array }[]) =>
  attributes.flatMap(({ type, value }) => type === CLASS ? [new TextDecoder().decode(value)] : []);

Deno.test("held login: its Access-Accept has the attributes of a policy that was renamed meanwhile", async () => {
  await using world = await startInProcess({ toml: HOLD });
  const pairing = await giveDevice(world, "anna");
  const { registry } = world.radius.policies;
  await storePolicies(registry, [LIMITED]);
  const pending = world.login({ user: "anna" }).start();
  await becomes("a push", () => world.secondFactor.initiated().length === 1);
  await storePolicies(registry, [[LIMITED[0], LIMITED[1], { name: "another name" }]]);
  decide(world, pairing, true);
  const answer = await pending;
  assertEquals(answer.kind, "accept");
  assertEquals(classes(answer.attributes), ["limited"]);
});

const GUESTS: ShortPolicy = [{ groups: ["Guests"] }, DENY];

/** What makes a policy deny a login in progress. */
const DENIALS: Readonly<
  Record<string, readonly [before: readonly ShortPolicy[], change: (world: InProcess) => Promise<void>]>
> = {
  "a policy that was saved meanwhile": [
    [],
    (world) => storePolicies(world.radius.policies.registry, [[{}, DENY]]),
  ],
  "a policy that was moved up meanwhile": [
    [LIMITED, [{}, DENY]],
    (world) => storePolicies(world.radius.policies.registry, [[{}, DENY], LIMITED]),
  ],
  "a policy that allows no phone, saved meanwhile": [
    [LIMITED],
    (world) =>
      storePolicies(world.radius.policies.registry, [[{}, { kind: "challenge", requiredFactor: "totp" }]]),
  ],
  "a group that the user joined meanwhile": [
    [GUESTS],
    (world) => register(world, "anna", { groups: ["Guests"] }),
  ],
};

for (const [title, [before, change]] of Object.entries(DENIALS)) {
  for (const device of ["hold", "hold_then_challenge"] as const) {
    Deno.test(`a policy that denies holds for a held login (${device}): ${title}`, async () => {
      await using world = await startInProcess({ toml: `[radius]\ndevice = "${device}"\n` });
      const pairing = await giveDevice(world, "anna");
      await storePolicies(world.radius.policies.registry, before);
      const pending = world.login({ user: "anna" }).start();
      await becomes("a push", () => world.secondFactor.initiated().length === 1);
      await change(world);
      decide(world, pairing, true);
      assertEquals(brief(await pending), DENIED);
    });
  }

  Deno.test(`a policy that denies holds for a login whose approval is being asked: ${title}`, async () => {
    const gate = createGate();
    await using world = await startInProcess({ between: { secondFactor: afterStatus(gate) } });
    const pairing = await giveDevice(world, "anna");
    await storePolicies(world.radius.policies.registry, before);
    const login = await world.begin({ user: "anna" });
    decide(world, pairing, true);
    const pending = login.answer("");
    await gate.reached();
    await change(world);
    gate.open();
    assertEquals(brief(await pending), DENIED);
  });
}

Deno.test("an approval does not count for a held login if the settings offer no phones any more", async () => {
  await using world = await startInProcess({ toml: HOLD, stored: true });
  const pairing = await giveDevice(world, "anna");
  const pending = world.login({ user: "anna" }).start();
  await becomes("a push", () => world.secondFactor.initiated().length === 1);
  await saveSettings(world.settings, { "factors.enabled": ["sms", "totp"] });
  decide(world, pairing, true);
  assertEquals(brief(await pending), ["reject", "Device approval was not given."]);
});

/** The policies after the restart, and the answer to the packet that the client sends again. */
const AFTER_RESTART: Readonly<
  Record<string, readonly [ShortPolicy, answer: readonly string[], classes: readonly string[]]>
> = {
  "the same policy": [LIMITED, ["accept", ""], ["limited"]],
  "a policy that denies": [[{}, DENY], DENIED, []],
  "a policy without attributes": [[{}, CHALLENGE], ["accept", ""], []],
  "a policy that allows no phone": [
    [{}, { kind: "challenge", factors: ["sms"] }],
    ["CHOOSE_WHICH_MULTIFACTOR", "Choose a second factor:"],
    [],
  ],
};

for (const [title, [policy, expected, expectedClasses]] of Object.entries(AFTER_RESTART)) {
  Deno.test(`held login that a restart cut off: ${title}`, async () => {
    await using disk = await openDisk();
    const gate = createGate();
    await using first = await startInProcess({
      kvPath: disk.path,
      toml: HOLD,
      between: { secondFactor: afterStatus(gate) },
    });
    const pairing = await giveDevice(first, "anna");
    await storePolicies(first.radius.policies.registry, [LIMITED]);
    const login = first.login({ user: "anna" });
    const packet = login.buildStart("pw");
    using recorder = openRecorder(first, SECRET);
    await recorder.send(packet);
    await gate.reached();
    await using second = await startInProcess({ kvPath: await disk.copy(), toml: HOLD, after: first });
    await storePolicies(second.radius.policies.registry, [policy]);
    login.moveTo(second);
    const pending = login.exchange(packet);
    decide(second, pairing, true);
    const answer = await pending;
    assertEquals(brief(answer), expected);
    assertEquals(classes(answer.attributes), expectedClasses);
    gate.open();
  });
}

// A user who lost a factor is not one without a factor: no bypass follows from the loss, and no login adds another factor.

const PASSWORDS = {
  hasPassword: () => Promise.resolve(true),
  directory: () => Promise.resolve("right" as const),
  ldap: () => Promise.resolve("unavailable" as const),
};
const NO_FACTOR_TOML = `[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "a-secret-of-the-tests"
[[radius.client]]
name = "inside"
address = ["127.0.0.1"]
nas_identifier = "inside"
secret = "a-secret-of-the-tests"
first_factor = "directory"
`;
const INSIDE = { more: [{ type: 32, value: new TextEncoder().encode("inside") }] };

async function commitAll(world: InProcess, { mutations }: { readonly mutations: readonly unknown[] }) {
  const done = await world.store.commit({ mutations: mutations as never });
  if (!done.ok) throw new Error("The test could not store a change");
  return done.versionstamp;
}

/** Gives a factor, and takes it away again. */
const LOSSES: Readonly<
  Record<string, readonly [gain: (world: InProcess) => Promise<unknown>, lose: Loss]>
> = {
  "an app that was revoked": [
    (world) => give(world, "anna", { kind: "totp", seed: SEED }),
    revokeAll,
  ],
  "a verified number that was revoked": [
    (world) => give(world, "anna", { kind: "sms", number: NUMBER }),
    revokeAll,
  ],
  "an app, while the settings do not offer apps": [
    (world) => give(world, "anna", { kind: "totp", seed: SEED }),
    (world) => saveSettings(world.settings, { "factors.enabled": ["device", "sms"] }),
  ],
  "recovery codes that are gone": [
    async (world) => {
      const made = world.radius.recoveryCodes.create("anna");
      made.adopt(await commitAll(world, made));
    },
    ({ radius: { recoveryCodes } }) => Promise.resolve(recoveryCodes.removeUser("anna")),
  ],
  "a bypass code that expired": [
    async (world) => {
      const terms = { uses: 1, expiresMs: world.clock.nowMs() + 60_000, by: "hanna" };
      const made = await world.radius.bypassCodes.create("anna", terms);
      made.adopt(await commitAll(world, made));
    },
    (world) => Promise.resolve(world.clock.advance(60_001)),
  ],
  "a token that is disabled": [
    (world) => giveToken(world, "anna"),
    (world) => changeToken(world, { isEnabled: false }),
  ],
  "a token that was taken away": [
    (world) => giveToken(world, "anna"),
    (world) => changeToken(world, { user: null, shownUser: null, assignedMs: null }),
  ],
  "a number of the directory that was used and removed": [
    async (world) => {
      await register(world, "anna", { phoneNumbers: [NUMBER] });
      const login = await world.begin({ user: "anna" });
      await login.answer("T");
      assertEquals((await login.answer(passcodeSentTo(world, NUMBER))).kind, "accept");
    },
    (world) => register(world, "anna", { phoneNumbers: [] }),
  ],
};
type Loss = (world: InProcess) => Promise<unknown>;

async function revokeAll({ radius: { pairings } }: InProcess): Promise<void> {
  for (const { id } of pairings.of("anna")) await pairings.revoke(id);
}

async function changeToken(world: InProcess, change: object): Promise<void> {
  const { hardwareTokens } = world.radius;
  const [token] = hardwareTokens.of("anna");
  if (token === undefined) throw new Error("The user has no token");
  await commitAll(world, hardwareTokens.prepareChange(token, { ...token.record, ...change }));
}

async function startOf(world: InProcess, options: object = {}): Promise<string> {
  const { kind, step } = await world.login({ user: "anna", ...options }).start();
  return step === "" ? kind : step.split(".")[0] ?? "";
}

/** Whether a login after the password may pair a phone. */
async function mayPair(world: InProcess): Promise<boolean> {
  const login = await world.begin({ user: "anna", ...INSIDE }, "right");
  return (await login.answer("S")).step.startsWith("SECONDFACTOR_GET_PAIRING_PHRASE");
}

for (const [title, [gain, lose]] of Object.entries(LOSSES)) {
  Deno.test(`a user who had ${title}: no bypass, and no enrolment at login`, async () => {
    await using world = await startInProcess({ toml: NO_FACTOR_TOML, passwords: PASSWORDS });
    await register(world, "anna");
    const { registry } = world.radius.policies;
    assertEquals(await mayPair(world), true, "before");
    await gain(world);
    await lose(world);
    assertEquals(await mayPair(world), false);
    await storePolicies(registry, [[{ device: ["no_factor"] }, TRUSTED]]);
    assertEquals(await startOf(world) === "accept", false);
    await register(world, "berta");
    assertEquals(await startOf(world, { user: "berta" }), "accept", "a user who never had one");
    const { misses } = await world.radius.policies.preview.explain(registry.current, {
      ...{ user: "anna", client: "vpn", address: "", atMs: world.clock.nowMs() },
    });
    assertEquals(misses, ["device"], "the preview agrees");
  });
}

Deno.test("a policy for users with a factor holds for one who lost it, so that no later bypass follows", async () => {
  await using world = await startInProcess({ toml: NO_FACTOR_TOML });
  await register(world, "anna");
  await storePolicies(world.radius.policies.registry, [
    [{ device: ["has_factor"] }, { kind: "challenge" }],
    [{}, TRUSTED],
  ]);
  assertEquals(await startOf(world), "accept");
  await give(world, "anna", { kind: "totp", seed: SEED });
  await revokeAll(world);
  assertEquals(await startOf(world), "CHOOSE_WHICH_MULTIFACTOR");
});

Deno.test("the mark is of the record: it survives a restart and a rename, and a new record has none", async () => {
  await using disk = await openDisk();
  const first = await startInProcess({ kvPath: disk.path, toml: NO_FACTOR_TOML });
  await register(first, "anna", { id: "id of anna" });
  await give(first, "anna", { kind: "totp", seed: SEED });
  await revokeAll(first);
  await using world = await startInProcess({
    kvPath: await disk.copy(),
    toml: NO_FACTOR_TOML,
    passwords: PASSWORDS,
  });
  await first[Symbol.asyncDispose]();
  await register(world, "anna", { id: "id of anna" });
  assertEquals(await mayPair(world), false, "after a restart");
  await register(world, "anna", { id: "another record" });
  assertEquals(await mayPair(world), true, "another record");
  await register(world, "anna", { id: "id of anna", userName: "Anna Renamed" });
  assertEquals(await mayPair(world), false, "the record with another name");
});
