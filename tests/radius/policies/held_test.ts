// Policies and a held login: what was decided at its start holds for its Access-Accept, and a restart decides again.

import { assertEquals } from "@std/assert";
import { openDisk } from "../rows/disk.ts";
import { afterStatus, createGate } from "../rows/gates.ts";
import { type InProcess, saveSettings, SECRET, startInProcess } from "../rows/in_process.ts";
import { brief } from "../rows/login.ts";
import { becomes } from "../rows/passing_time.ts";
import { decide, giveDevice, register } from "../rows/people.ts";
import { openRecorder } from "../rows/recorder.ts";
import { CHALLENGE, DENY, type ShortPolicy, storePolicies } from "./policy_sample.ts";

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
    const login = world.login({ user: "anna" });
    await login.start();
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
