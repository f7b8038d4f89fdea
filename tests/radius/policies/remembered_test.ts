// Remembered devices: when a login needs no second factor because one was given before, and what ends that.

import { assertEquals } from "@std/assert";
import { type InProcess, saveSettings, startInProcess } from "../rows/in_process.ts";
import { appCode, give, register, SEED } from "../rows/people.ts";
import { whileTimePasses } from "../rows/passing_time.ts";
import { giveToken, tokenCode } from "../rows/tokens.ts";
import { startTwoNodes } from "../rows/two_nodes.ts";
import type { PolicyOutcome } from "../../../radius/policy/policy.ts";
import { CHALLENGE, type ShortPolicy, storePolicies } from "./policy_sample.ts";
import { commitChange } from "../../fakes/commit_change.ts";

const HOUR_MS = 3600_000;
const HOME = "203.0.113.9";
const TOML = `[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "a-secret-of-the-tests"
first_factor = "directory"
[[radius.client]]
name = "wifi"
address = ["127.0.0.1"]
nas_identifier = "wifi"
secret = "a-secret-of-the-tests"
first_factor = "directory"
`;
const OPTIONS = {
  toml: TOML,
  passwords: {
    hasPassword: () => Promise.resolve(true),
    directory: (_user: string, password: Uint8Array) =>
      Promise.resolve(new TextDecoder().decode(password) === "right" ? "right" as const : "wrong" as const),
    ldap: () => Promise.resolve("unavailable" as const),
  },
};
const remember = (rememberHours: number): PolicyOutcome => ({ kind: "challenge", rememberHours });

interface From {
  readonly place?: string | undefined;
  readonly wifi?: boolean;
  readonly password?: string;
}

/** The answer to the first packet of a login of anna. */
async function first(world: InProcess, { place = HOME, wifi = false, password = "right" }: From = {}) {
  const login = world.login({
    user: "anna",
    ...(place === "" ? {} : { callingStationId: place }),
    ...(wifi ? { more: [{ type: 32, value: new TextEncoder().encode("wifi") }] } : {}),
  });
  return { login, kind: (await login.start(password)).kind };
}

/** Signs anna in with her app; later codes are of later time steps. */
async function signIn(world: InProcess, from: From = {}): Promise<void> {
  world.clock.advance(60_000);
  const { login, kind } = await first(world, from);
  assertEquals(kind, "challenge");
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
}

/** What happens after the device was remembered, and the answer to the next login from there. */
const ROWS: Readonly<
  Record<
    string,
    {
      readonly policies?: readonly ShortPolicy[];
      readonly happens?: (world: InProcess) => Promise<unknown> | void;
      readonly from?: From;
      readonly kind: "accept" | "challenge" | "reject";
    }
  >
> = {
  "the same device": { kind: "accept" },
  "a wrong password": { from: { password: "wrong" }, kind: "reject" },
  "another Calling-Station-Id": { from: { place: "203.0.113.10" }, kind: "challenge" },
  "no Calling-Station-Id": { from: { place: "" }, kind: "challenge" },
  "another client": { from: { wifi: true }, kind: "challenge" },
  "the time is over": { happens: ({ clock }) => clock.advance(8 * HOUR_MS), kind: "challenge" },
  "just before the time is over": {
    happens: ({ clock }) => clock.advance(8 * HOUR_MS - 10_000),
    kind: "accept",
  },
  "the policy has a shorter time now": {
    async happens({ clock, radius }) {
      await storePolicies(radius.policies.registry, [[{}, remember(1)]]);
      clock.advance(2 * HOUR_MS);
    },
    kind: "challenge",
  },
  "the policy remembers nothing now": {
    happens: ({ radius }) => storePolicies(radius.policies.registry, [[{}, CHALLENGE]]),
    kind: "challenge",
  },
  "a policy for remembered devices": {
    happens: ({ radius }) =>
      storePolicies(radius.policies.registry, [[{ device: ["remembered"] }, { kind: "bypass" }]]),
    kind: "accept",
  },
  "a policy for remembered devices, and the settings do not offer the factor any more": {
    async happens({ radius, settings }) {
      await storePolicies(radius.policies.registry, [[{ device: ["remembered"] }, { kind: "bypass" }]]);
      await saveSettings(settings, { "factors.enabled": ["device", "sms"] });
    },
    kind: "challenge",
  },
  "the user has another factor now": {
    happens: (world) => give(world, "anna", { kind: "sms", number: "+4915112345678" }),
    kind: "challenge",
  },
  "the user lost a factor": {
    happens: (world) => world.radius.pairings.revoke(world.radius.pairings.of("anna")[0]?.id ?? ""),
    kind: "challenge",
  },
  "an administrator made the gateway forget": {
    happens: (world) => commitChange(world.store, world.radius.policies.remembered.prepareForget("anna")),
    kind: "challenge",
  },
  "the user was deactivated and is active again": {
    happens: async (world) => {
      await commitChange(world.store, world.radius.prepareOffboarding("anna"));
      await give(world, "anna", { kind: "totp", seed: SEED });
    },
    kind: "challenge",
  },
  "the user reported another login": {
    async happens(world) {
      const report = world.radius.prepareNotMeReport("anna");
      await world.store.commit({ mutations: report.mutations });
      report.done();
      world.clock.advance(2 * HOUR_MS);
    },
    kind: "challenge",
  },
};

for (const [title, { happens, from, kind }] of Object.entries(ROWS)) {
  Deno.test(`a remembered device, and ${title}: ${kind}`, async () => {
    await using world = await startInProcess(OPTIONS);
    await register(world, "anna");
    await give(world, "anna", { kind: "totp", seed: SEED });
    await storePolicies(world.radius.policies.registry, [[{}, remember(8)]]);
    await signIn(world);
    await happens?.(world);
    assertEquals((await first(world, from)).kind, kind);
  });
}

const TOKEN_CHANGES = {
  "is disabled, because it was stolen": { isEnabled: false },
  "was given to another user": { user: "berta", shownUser: "berta" },
};
for (const [what, change] of Object.entries(TOKEN_CHANGES)) {
  Deno.test(`a device that was remembered with a token does not count if the token ${what}`, async () => {
    await using world = await startInProcess(OPTIONS);
    await register(world, "anna");
    await giveToken(world, "anna");
    await storePolicies(world.radius.policies.registry, [[{}, remember(8)]]);
    const { login } = await first(world);
    assertEquals((await login.answer(tokenCode(0))).kind, "accept");
    assertEquals((await first(world)).kind, "accept");
    const token = world.radius.hardwareTokens.of("anna")[0];
    if (token === undefined) throw new Error("The user has no token");
    const { hardwareTokens } = world.radius;
    await commitChange(world.store, hardwareTokens.prepareChange(token, { ...token.record, ...change }));
    assertEquals((await first(world)).kind, "challenge");
  });
}

for (
  const [title, place] of [["without a Calling-Station-Id", ""], ["if it is no text", "\ufffd"]] as const
) {
  Deno.test(`no device is remembered ${title}`, async () => {
    await using world = await startInProcess(OPTIONS);
    await give(world, "anna", { kind: "totp", seed: SEED });
    await storePolicies(world.radius.policies.registry, [[{}, remember(8)]]);
    await signIn(world, { place });
    assertEquals(world.radius.policies.remembered.count("anna"), 0);
  });
}

Deno.test("no device is remembered after an unsigned login", async () => {
  await using world = await startInProcess(OPTIONS);
  await give(world, "anna", { kind: "totp", seed: SEED });
  await storePolicies(world.radius.policies.registry, [[{}, remember(8)]]);
  const login = world.login({ user: "anna", callingStationId: HOME, messageAuthenticator: "none" });
  await login.start("right");
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
  assertEquals(world.radius.policies.remembered.count("anna"), 0);
});

Deno.test("no device is remembered after a recovery code", async () => {
  await using world = await startInProcess(OPTIONS);
  await give(world, "anna", { kind: "totp", seed: SEED });
  const codes = world.radius.recoveryCodes.create("anna");
  const done = await world.store.commit({ checks: codes.checks, mutations: codes.mutations });
  if (done.ok) codes.adopt(done.versionstamp);
  await storePolicies(world.radius.policies.registry, [[{}, remember(8)]]);
  const { login } = await first(world);
  assertEquals((await login.answer(codes.codes[0] ?? "")).kind, "accept");
  assertEquals(world.radius.policies.remembered.count("anna"), 0);
});

Deno.test("a user has at most 20 remembered devices; a further one replaces the oldest", async () => {
  await using world = await startInProcess(OPTIONS);
  await storePolicies(world.radius.policies.registry, [[{}, remember(8)]]);
  const { remembered } = world.radius.policies;
  const device = (at: number) => ({ user: "anna", client: "vpn", place: `203.0.113.${at}` });
  for (let at = 0; at < 25; at++) {
    world.clock.advance(1000);
    const change = remembered.prepareRemember(device(at), { hours: 8, used: "totp" });
    if (change !== null) await commitChange(world.store, change);
  }
  assertEquals(remembered.count("anna"), 20);
  assertEquals([remembered.isRemembered(device(4)), remembered.isRemembered(device(5))], [false, true]);
  const stored = await Array.fromAsync(world.store.list(["remembered_device"]));
  assertEquals(stored.length, 20);
  assertEquals(JSON.stringify(stored).includes("203.0.113"), false);
});

Deno.test("two nodes share policies and remembered devices, also after a restart", async () => {
  await using nodes = await startTwoNodes(OPTIONS);
  const { a, b } = nodes;
  await give(a, "anna", { kind: "totp", seed: SEED });
  await storePolicies(a.radius.policies.registry, [[{}, remember(8)]]);
  await signIn(a);
  await b.store.catchUp();
  assertEquals((await first(b)).kind, "accept");
  await commitChange(b.store, b.radius.policies.remembered.prepareForget("anna"));
  await a.store.catchUp();
  assertEquals((await first(a)).kind, "challenge");
  await storePolicies(b.radius.policies.registry, [[{ users: ["anna"] }, { kind: "deny" }]]);
  await a.store.catchUp();
  assertEquals((await first(a)).kind, "reject");
  await using later = await startInProcess({
    ...OPTIONS,
    after: a,
    between: { store: () => ({ ...a.store, close: () => Promise.resolve() }) },
  });
  assertEquals((await first(later)).kind, "reject");
  await whileTimePasses(a.clock, later.stop());
});

/** Anna's device was remembered with her app. */
const OTHER_RULES = {
  "any sign-in method": { outcome: {}, kind: "accept" },
  "the app among others": { outcome: { factors: ["totp", "sms"] }, kind: "accept" },
  "the app alone": { outcome: { requiredFactor: "totp" }, kind: "accept" },
  "other sign-in methods": { outcome: { factors: ["device", "recovery"] }, kind: "challenge" },
  "an approval on the phone": { outcome: { requiredFactor: "device" }, kind: "reject" },
} as const;
for (const [what, { outcome, kind }] of Object.entries(OTHER_RULES)) {
  Deno.test(`a device that was remembered with an app, under a policy that allows ${what}: ${kind}`, async () => {
    await using world = await startInProcess(OPTIONS);
    await register(world, "anna", {});
    await give(world, "anna", { kind: "totp", seed: SEED });
    await storePolicies(world.radius.policies.registry, [[{}, remember(8)]]);
    await signIn(world);
    await storePolicies(world.radius.policies.registry, [[
      {},
      { ...remember(8), enrolment: "never", ...outcome } as PolicyOutcome,
    ]]);
    assertEquals((await first(world)).kind, kind);
  });
}

const USED_RULES = [
  { used: "device_code", rules: { enabled: ["device"], deviceCodes: true }, expected: true },
  { used: "device_code", rules: { enabled: ["device"], deviceCodes: false }, expected: false },
  { used: "device", rules: { enabled: ["device"], deviceCodes: false }, expected: true },
  { used: "sms", rules: { enabled: ["voice"], deviceCodes: true }, expected: false },
] as const;
for (const { used, rules: { enabled, deviceCodes }, expected } of USED_RULES) {
  Deno.test(`isRemembered() with ${used} and the factors ${enabled}, passcodes ${deviceCodes}: ${expected}`, async () => {
    await using world = await startInProcess(OPTIONS);
    const device = { user: "anna", client: "vpn", place: HOME };
    await storePolicies(world.radius.policies.registry, [[{}, remember(8)]]);
    const { remembered } = world.radius.policies;
    const change = remembered.prepareRemember(device, { hours: 8, used });
    if (change !== null) await commitChange(world.store, change);
    const rules = { enabled: new Set(enabled), deviceCodes };
    assertEquals(remembered.isRemembered(device, { rules }), expected);
  });
}
