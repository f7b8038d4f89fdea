// What the preview says about a login is what the gateway does: random policies, users and logins, over the wire.

import { assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import type { Policy, PolicyConditions, PolicyOutcome } from "../../../radius/policy/policy.ts";
import { DEVICE_STATES, ENROLMENT_RULES, POLICY_FACTORS, WEEKDAYS } from "../../../radius/policy/policy.ts";
import { FACTOR_ORDER } from "../../../radius/flow/context.ts";
import { type InProcess, startInProcess } from "../rows/in_process.ts";
import { stepName } from "../rows/login.ts";
import { give, giveDevice, register, SEED } from "../rows/people.ts";
import { storePolicies } from "./policy_sample.ts";

const client = (name: string, more: string) =>
  `[[radius.client]]
name = "${name}"
address = ["127.0.0.1"]
nas_identifier = "${name}"
secret = "a-secret-of-the-tests"
${more}
`;
const TOML = client("vpn", 'message_authenticator = "require"') +
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
    toml: TOML,
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
