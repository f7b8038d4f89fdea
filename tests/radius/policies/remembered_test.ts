// Remembered devices, and the preview of a policy.

import { assertEquals } from "@std/assert";
import { type InProcess, saveSettings, startInProcess } from "../rows/in_process.ts";
import { appCode, give, giveDevice, register, SEED, startWith } from "../rows/people.ts";
import { whileTimePasses } from "../rows/passing_time.ts";
import { giveToken, tokenCode } from "../rows/tokens.ts";
import { startTwoNodes } from "../rows/two_nodes.ts";
import {
  DEVICE_STATES,
  ENROLMENT_RULES,
  type Policy,
  POLICY_FACTORS,
  type PolicyConditions,
  type PolicyOutcome,
  WEEKDAYS,
} from "../../../radius/policy/policy.ts";
import { CHALLENGE, type ShortPolicy, storePolicies } from "./policy_sample.ts";
import { commitChange } from "../../fakes/commit_change.ts";
import fc from "../../packages/fast_check.ts";
import { FACTOR_ORDER } from "../../../radius/flow/context.ts";
import { stepName } from "../rows/login.ts";

// Remembered devices: when a login needs no second factor because one was given before, and what ends that.

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
    await using world = await startWith("app", OPTIONS);
    await storePolicies(world.radius.policies.registry, [[{}, remember(8)]]);
    await signIn(world, { place });
    assertEquals(world.radius.policies.remembered.count("anna"), 0);
  });
}

Deno.test("no device is remembered after an unsigned login", async () => {
  await using world = await startWith("app", OPTIONS);
  await storePolicies(world.radius.policies.registry, [[{}, remember(8)]]);
  const login = await world.begin(
    { user: "anna", callingStationId: HOME, messageAuthenticator: "none" },
    "right",
  );
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
  assertEquals(world.radius.policies.remembered.count("anna"), 0);
});

Deno.test("no device is remembered after a recovery code", async () => {
  await using world = await startWith("app", OPTIONS);
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

// What the preview says about a login is what the gateway does: random policies, users and logins, over the wire.

const client = (name: string, more: string) =>
  `[[radius.client]]
name = "${name}"
address = ["127.0.0.1"]
nas_identifier = "${name}"
secret = "a-secret-of-the-tests"
${more}
`;
const PREVIEWED_TOML = client("vpn", 'message_authenticator = "require"') +
  client("inside", 'message_authenticator = "require"\nfirst_factor = "directory"') +
  client("old", 'message_authenticator = "off"\nfirst_factor = "directory"');
const CLIENTS = ["vpn", "inside", "old"];
const NAS_IDENTIFIER = 32;
const RUNS = 150;

const some = <T>(...values: T[]) => fc.constantFrom(...values);
const list = <T>(...values: T[]) => fc.uniqueArray(some(...values), { minLength: 1, maxLength: 2 });
const conditions: fc.Arbitrary<PolicyConditions> = fc.record({
  groups: list("Staff", "GUESTS", "gone"),
  exceptGroups: list("staff", "guests", "gone"),
  clients: list(...CLIENTS),
  networks: list("10.0.0.0/8", "0.0.0.0/0", "::/0", "2001:db8::/32"),
  exceptNetworks: list("10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32"),
  times: fc.array(
    fc.record({
      days: list(...WEEKDAYS),
      from: some("00:00", "07:30", "22:00"),
      to: some("08:00", "07:30", "24:00"),
      zone: some("UTC", "Europe/Berlin", "Pacific/Kiritimati"),
    }),
    { minLength: 1, maxLength: 2 },
  ),
  device: list(...DEVICE_STATES),
}, { requiredKeys: [] });
const challenge: fc.Arbitrary<PolicyOutcome> = fc.tuple(
  fc.record({
    enrolment: some(...ENROLMENT_RULES),
    rememberHours: some(1, 8),
    clientChecksPassword: some(true),
  }, { requiredKeys: [] }),
  fc.oneof(
    some({}),
    fc.record({ factors: list(...POLICY_FACTORS) }),
    fc.record({ requiredFactor: some(...FACTOR_ORDER) }),
  ),
).map(([fields, factors]) => ({ kind: "challenge", ...fields, ...factors }));
const outcome: fc.Arbitrary<PolicyOutcome> = fc.oneof(
  { weight: 4, arbitrary: challenge },
  some<PolicyOutcome>({ kind: "deny" }),
  some<PolicyOutcome>({ kind: "bypass" }, { kind: "bypass", clientChecksPassword: true }),
);
const policies: fc.Arbitrary<Policy[]> = fc.array(fc.record({ conditions, outcome, enabled: fc.boolean() }), {
  minLength: 1,
  maxLength: 4,
}).map((all) => all.map((one, at) => ({ ...one, id: `policy${at}`, name: `policy ${at}` })));
const logins = fc.record({
  groups: fc.uniqueArray(some("staff", "Guests")),
  numbers: some<string[]>([], ["+4915112345678"]),
  has: fc.uniqueArray(some(...FACTOR_ORDER)),
  status: some("active", "active", "active", "inactive", "unknown"),
  hasCodes: fc.boolean(),
  client: some(...CLIENTS),
  place: some(
    "",
    "10.1.2.3",
    "203.0.113.9",
    "2001:db8::1",
    "::ffff:10.1.2.3",
    "00-11-22-33-44-55",
    "h.example",
  ),
});
type Login = typeof logins extends fc.Arbitrary<infer T> ? T : never;

async function addUser(world: InProcess, name: string, { groups, numbers, has, hasCodes, status }: Login) {
  if (status !== "unknown") {
    await register(world, name, { groups, phoneNumbers: numbers, active: status === "active" });
  }
  if (has.includes("device")) await giveDevice(world, name);
  if (has.includes("sms")) await give(world, name, { kind: "sms", number: "+4915112345678" });
  if (has.includes("voice")) await give(world, name, { kind: "voice", number: "+4915112345678" });
  if (has.includes("totp")) await give(world, name, { kind: "totp", seed: SEED });
  if (!hasCodes) return;
  const codes = world.radius.recoveryCodes.create(name);
  const done = await world.store.commit({ checks: codes.checks, mutations: codes.mutations });
  if (done.ok) codes.adopt(done.versionstamp);
}

Deno.test("preview: it says what the gateway does", async () => {
  await using world = await startInProcess({
    toml: PREVIEWED_TOML,
    users: [],
    passwords: {
      hasPassword: () => Promise.resolve(true),
      directory: () => Promise.resolve("right"),
      ldap: () => Promise.resolve("unavailable"),
    },
  });
  let count = 0;
  const { registry, preview } = world.radius.policies;
  await fc.assert(
    fc.asyncProperty(policies, logins, async (stored, given) => {
      const user = `user${count++}`;
      await addUser(world, user, given);
      await storePolicies(registry, stored.map((one) => [one.conditions, one.outcome, one]));
      const [said] = await preview.decide([preview.stored], {
        ...{ user, client: given.client, address: given.place, atMs: world.clock.nowMs() },
      });
      const login = world.login({
        user,
        ...(given.place === "" ? {} : { callingStationId: given.place }),
        more: [{ type: NAS_IDENTIFIER, value: new TextEncoder().encode(given.client) }],
      });
      const answer = await login.start();
      assertEquals(said?.effect.kind, answer.kind, `${answer.message} ${stepName(answer)}`);
      if (answer.kind !== "challenge" || said === undefined) return;
      const menu = (await login.answer("cancel")).message;
      const shown = menu.split("\n").flatMap((line) => /^([STPD]) - /.exec(line)?.[1] ?? []);
      const letters = { device: "S", sms: "T", voice: "P", totp: "D" };
      assertEquals([...said.effect.factors].map((factor) => letters[factor]).sort(), shown.sort());
    }),
    { numRuns: RUNS },
  );
});
