// Policies: how they are evaluated, and their records.

import { assert, assertEquals } from "@std/assert";
import { ipOctets } from "../../../platform/addresses.ts";
import { PolicyEvaluator, type PolicyMiss, type PolicySubject } from "../../../radius/policy/evaluator.ts";
import {
  POLICY_CONDITIONS,
  type PolicyConditions,
  type PolicyOutcome,
  type PolicyTime,
  type Weekday,
} from "../../../radius/policy/policy.ts";
import { readPolicies, readPolicy } from "../../../radius/policy/policy_registry.ts";
import {
  BYPASS,
  CHALLENGE,
  DENY,
  policiesOf,
  type ShortPolicy,
  storePolicies,
  TRUSTED,
} from "./policy_sample.ts";
import { decodeLoginRecord } from "../../../radius/conversation/login_record.ts";
import { type InProcess, startInProcess } from "../rows/in_process.ts";
import { stepName } from "../rows/login.ts";
import { appCode, decide, giveDevice, startWith } from "../rows/people.ts";

// The evaluator of policies: each condition, the local times of zones, networks, and the order.

const SUBJECT: PolicySubject = {
  user: "ada",
  isKnown: true,
  groups: ["Staff", "VPN Users"],
  client: "vpn",
  address: "10.1.2.3",
  atMs: Date.UTC(2027, 0, 15, 8),
  hasFactor: true,
  neverHadFactor: false,
  isRemembered: false,
};

function evaluatorOf(short: readonly ShortPolicy[]): PolicyEvaluator {
  return new PolicyEvaluator(policiesOf(short));
}

const UNKNOWN = { isKnown: false, groups: [], hasFactor: false };
const NEVER = { hasFactor: false, neverHadFactor: true };

/** Conditions, facts that differ from {@link SUBJECT}, and the first condition that fails. */
const ROWS: readonly (readonly [PolicyConditions, Partial<PolicySubject>, PolicyMiss | null])[] = [
  [{}, {}, null],
  [{ networks: ["192.0.2.0/24"] }, {}, "networks"],
  [{ exceptNetworks: ["10.0.0.0/8"] }, {}, "exceptNetworks"],
  [{ times: [{ days: ["mon"], from: "08:00", to: "18:00", zone: "UTC" }] }, {}, "times"],
  [{ groups: ["staff"] }, {}, null],
  [{ groups: ["ＳＴＡＦＦ"] }, {}, "groups"],
  [{ groups: ["Zoë"] }, { groups: ["ZOE\u0308"] }, null],
  [{ groups: ["guests", "vpn users"] }, {}, null],
  [{ groups: ["guests"] }, {}, "groups"],
  [{ groups: ["staff"] }, { groups: [] }, "groups"],
  [{ exceptGroups: ["STAFF"] }, {}, "exceptGroups"],
  [{ exceptGroups: ["guests"] }, {}, null],
  [{ users: ["Ada"], exceptUsers: ["ada"] }, {}, "exceptUsers"],
  [{ users: ["bob"] }, {}, "users"],
  [{ clients: ["VPN"] }, {}, "clients"],
  [{ clients: ["wifi", "vpn"] }, {}, null],
  [{ clients: ["wifi"], groups: ["guests"] }, {}, "clients"],
  [{ device: ["no_factor"] }, {}, "device"],
  [{ device: ["no_factor", "remembered"] }, { isRemembered: true }, null],
  [{ device: ["remembered"] }, {}, "device"],
  [{ device: ["no_factor"] }, { hasFactor: false }, "device"],
  [{ device: ["no_factor"] }, NEVER, null],
  [{ device: ["has_factor"] }, NEVER, "device"],
  [{ device: ["has_factor"] }, { hasFactor: false }, null],
  // A denial includes names that the directory does not know.
  [{ device: ["no_factor"] }, UNKNOWN, null],
  [{ device: ["has_factor"] }, UNKNOWN, "device"],
  [{}, UNKNOWN, null],
  [{ exceptUsers: ["bob"], exceptGroups: ["guests"] }, UNKNOWN, null],
];

const ANY_NAME: PolicyOutcome = { kind: "bypass", unknownUsers: true };

/** The same for policies that accept without a second factor. */
const BYPASS_ROWS: readonly (readonly [
  PolicyConditions,
  Partial<PolicySubject>,
  PolicyMiss | null,
  PolicyOutcome?,
])[] = [
  [{}, {}, null],
  [{}, UNKNOWN, "unknownUser"],
  [{}, UNKNOWN, null, ANY_NAME],
  [{ users: ["ADA"] }, UNKNOWN, null],
  [{ users: ["bob"] }, UNKNOWN, "users"],
  [{ users: ["bob"] }, UNKNOWN, "users", ANY_NAME],
  [{ exceptUsers: ["bob"] }, UNKNOWN, "unknownUser"],
  [{ exceptGroups: ["guests"] }, UNKNOWN, "unknownUser"],
  [{ networks: ["10.0.0.0/8"] }, UNKNOWN, "unknownUser"],
  [{ device: ["no_factor"] }, UNKNOWN, "unknownUser"],
  [{ device: ["no_factor"] }, UNKNOWN, "device", ANY_NAME],
  [{ device: ["no_factor"] }, NEVER, null],
  [{ device: ["no_factor"] }, { hasFactor: false }, "device"],
  // A factor that was lost is none that is ready.
  [{ device: ["has_factor"] }, { hasFactor: false }, "device"],
  [{ device: ["has_factor"] }, {}, null],
];

/** Networks, an address, and whether it is inside. */
const NETWORKS: readonly (readonly [string, string, boolean])[] = [
  ["10.0.0.0/8", "10.255.255.255", true],
  ["10.0.0.0/8", "11.0.0.0", false],
  ["10.1.2.3", "10.1.2.3", true],
  ["10.1.2.3", "10.1.2.4", false],
  ["10.1.2.2/31", "10.1.2.3", true],
  ["0.0.0.0/0", "255.255.255.255", true],
  ["0.0.0.0/0", "::1", false],
  ["::/0", "10.1.2.3", false],
  ["::/0", "2001:db8::1", true],
  ["2001:db8::/32", "2001:db8:ffff::1", true],
  ["2001:db8::/32", "2001:db9::1", false],
  ["2001:db8::/33", "2001:db8:8000::1", false],
  ["2001:db8::1", "2001:DB8:0:0::0001", true],
  ["fe80::/10", "febf::1", true],
  ["fe80::/10", "fec0::1", false],
  ["::ffff:10.0.0.0/104", "10.9.9.9", true],
  ["10.0.0.0/8", "::ffff:10.9.9.9", true],
  ["10.0.0.0/8", "::ffff:a09:909", true],
  ["0.0.0.0/0", "", false],
  ["0.0.0.0/0", "00-11-22-33-44-55", false],
  ["::/0", "00:11:22:33:44:55", false],
  ["0.0.0.0/0", "010.1.2.3", false],
  ["0.0.0.0/0", "10.1.2", false],
  ["0.0.0.0/0", "10.1.2.3.4", false],
  ["0.0.0.0/0", "10.1.2.256", false],
  ["0.0.0.0/0", "10.1.2.3 ", false],
  ["0.0.0.0/0", "10.1.2.3:1812", false],
  ["0.0.0.0/0", "1.2.3.4.", false],
  ["0.0.0.0/0", "....", false],
  ["fe80::/10", "fe80::1%eth0", false],
];

/** Days, from, to, zone, the moment in UTC, and whether it is inside. */
const TIMES: readonly (readonly [Weekday, string, string, string, string, boolean])[] = [
  ["fri", "08:00", "18:00", "UTC", "2027-01-15T08:00", true],
  ["fri", "08:00", "18:00", "UTC", "2027-01-15T17:59", true],
  ["fri", "08:00", "18:00", "UTC", "2027-01-15T18:00", false],
  ["fri", "00:00", "24:00", "UTC", "2027-01-15T23:59", true],
  ["fri", "00:00", "24:00", "UTC", "2027-01-16T00:00", false],
  ["fri", "22:00", "06:00", "UTC", "2027-01-15T23:00", true],
  ["fri", "22:00", "06:00", "UTC", "2027-01-16T05:59", true],
  ["fri", "22:00", "06:00", "UTC", "2027-01-16T06:00", false],
  ["fri", "22:00", "06:00", "UTC", "2027-01-15T05:00", false],
  ["sun", "22:00", "06:00", "UTC", "2027-01-18T01:00", true],
  ["fri", "09:00", "09:00", "UTC", "2027-01-16T08:59", true],
  ["fri", "09:00", "09:00", "UTC", "2027-01-15T08:59", false],
  ["fri", "09:00", "10:00", "Europe/Berlin", "2027-01-15T08:30", true],
  ["thu", "23:00", "24:00", "America/New_York", "2027-01-15T04:30", true],
  ["sat", "00:00", "01:00", "Asia/Kolkata", "2027-01-15T18:45", true],
  ["sat", "05:00", "06:00", "Asia/Kathmandu", "2027-01-15T23:30", true],
  // Europe/Berlin, 28 March 2027: 02:00 to 03:00 does not exist; 01:30 UTC is 03:30.
  ["sun", "02:00", "03:00", "Europe/Berlin", "2027-03-28T00:59", false],
  ["sun", "02:00", "03:00", "Europe/Berlin", "2027-03-28T01:00", false],
  ["sun", "03:00", "04:00", "Europe/Berlin", "2027-03-28T01:30", true],
  // 31 October 2027: 02:30 exists twice.
  ["sun", "02:00", "03:00", "Europe/Berlin", "2027-10-31T00:30", true],
  ["sun", "02:00", "03:00", "Europe/Berlin", "2027-10-31T01:30", true],
  ["sun", "02:00", "03:00", "Europe/Berlin", "2027-10-31T02:00", false],
  // Summer time moves the period by an hour of UTC.
  ["thu", "08:00", "09:00", "Europe/Berlin", "2027-07-15T06:30", true],
  ["thu", "08:00", "09:00", "Europe/Berlin", "2027-07-15T07:30", false],
];

for (const [conditions, facts, miss] of ROWS) {
  Deno.test(`explain() of ${JSON.stringify(conditions)} with ${JSON.stringify(facts)}: ${miss}`, () => {
    const evaluator = evaluatorOf([[conditions, DENY]]);
    const subject = { ...SUBJECT, ...facts };
    assertEquals(evaluator.explain(subject).misses, [miss]);
    assertEquals(evaluator.decide(subject) === null, miss !== null);
  });
}

Deno.test("the rows have a login that misses each condition", () => {
  const missed = new Set(ROWS.map(([, , miss]) => miss));
  assertEquals(POLICY_CONDITIONS.filter((name) => !missed.has(name)), []);
});

for (const [conditions, facts, miss, outcome = BYPASS] of BYPASS_ROWS) {
  const title = JSON.stringify([conditions, facts, outcome]);
  Deno.test(`a bypass does not follow from not knowing: ${title}: ${miss}`, () => {
    const evaluator = evaluatorOf([[conditions, outcome]]);
    const subject = { ...SUBJECT, ...facts };
    assertEquals(evaluator.explain(subject).misses, [miss]);
    assertEquals(evaluator.decide(subject) === null, miss !== null);
  });
}

for (const [network, address, inside] of NETWORKS) {
  Deno.test(`networks: "${address}" is ${inside ? "" : "not "}in ${network}`, () => {
    const read = readPolicy({
      ...policiesOf([[{}, DENY]])[0],
      conditions: { networks: [network] },
    });
    if (!read.ok) throw new Error(read.problem);
    const evaluator = new PolicyEvaluator([read.value]);
    assertEquals(evaluator.decide({ ...SUBJECT, address }) !== null, inside);
    const exceptNetworks = read.value.conditions.networks ?? [];
    const except = evaluatorOf([[{ exceptNetworks }, DENY]]);
    assertEquals(except.decide({ ...SUBJECT, address }) === null, inside);
    // A login from an unknown address may be in the excluded network.
    const bypass = evaluatorOf([[{ exceptNetworks }, BYPASS]]);
    const isUnknown = ipOctets(address) === null;
    assertEquals(bypass.decide({ ...SUBJECT, address }) === null, inside || isUnknown);
  });
}

for (const [day, from, to, zone, moment, inside] of TIMES) {
  Deno.test(`times: ${moment} UTC is ${inside ? "" : "not "}in ${day} ${from}–${to} ${zone}`, () => {
    const time: PolicyTime = { days: [day], from, to, zone };
    const evaluator = evaluatorOf([[{ times: [time] }, DENY]]);
    const atMs = Date.parse(`${moment}:00Z`);
    assertEquals(evaluator.decide({ ...SUBJECT, atMs }) !== null, inside);
  });
}

Deno.test("decide() forgets the facts of the last login", () => {
  const evaluator = evaluatorOf([[{ groups: ["staff"], networks: ["10.0.0.0/8"] }, DENY]]);
  assert(evaluator.decide(SUBJECT) !== null);
  assertEquals(evaluator.decide({ ...SUBJECT, groups: [] }), null);
  assertEquals(evaluator.decide({ ...SUBJECT, address: "192.0.2.1" }), null);
  assertEquals(evaluator.decide({ ...SUBJECT, address: "" }), null);
  assert(evaluator.decide(SUBJECT) !== null);
});

Deno.test("decide() distinguishes more groups than a word has bits", () => {
  const groups = Array.from({ length: 70 }, (_, at) => `group ${at}`);
  const evaluator = evaluatorOf(groups.map((group): ShortPolicy => [{ groups: [group] }, DENY]));
  for (const [at, group] of groups.entries()) {
    assertEquals(evaluator.decide({ ...SUBJECT, groups: [group] })?.name, `policy ${at}`);
  }
});

Deno.test("decide() reads no fact that no condition needs", () => {
  const refuse = () => {
    throw new Error("a fact was read");
  };
  const subject: PolicySubject = {
    user: "ada",
    client: "vpn",
    get isKnown() {
      return refuse();
    },
    get groups() {
      return refuse();
    },
    get address() {
      return refuse();
    },
    get atMs() {
      return refuse();
    },
    get hasFactor() {
      return refuse();
    },
    get neverHadFactor() {
      return refuse();
    },
    get isRemembered() {
      return refuse();
    },
  };
  assertEquals(evaluatorOf([[{ users: ["bob"], groups: ["x"] }, DENY]]).decide(subject), null);
  assertEquals(evaluatorOf([[{ clients: ["vpn"] }, DENY]]).decide(subject)?.name, "policy 0");
});

const GOOD = { id: "abcd", name: "n", enabled: true, conditions: {}, outcome: { kind: "deny" } };
const TIME = { days: ["mon"], from: "08:00", to: "18:00", zone: "UTC" };
const challenge = (fields: object) => ({ outcome: { kind: "challenge", ...fields } });
const times = (fields: object) => ({ conditions: { times: [{ ...TIME, ...fields }] } });

/** Changes of a policy that readPolicy() refuses. */
const BAD: readonly object[] = [
  { id: "A" },
  { id: 7 },
  ...POLICY_CONDITIONS.map((name) => ({ conditions: { [name]: [] } })),
  { name: "" },
  { name: " n" },
  { name: "n\u200b" },
  { name: "x".repeat(101) },
  { enabled: 1 },
  { more: 1 },
  { conditions: null },
  { conditions: [] },
  { conditions: { group: ["x"] } },
  { conditions: { groups: "x" } },
  { conditions: { groups: [1] } },
  { conditions: { groups: [""] } },
  { conditions: { groups: Array.from({ length: 201 }, (_, at) => `${at}`) } },
  { conditions: { networks: ["10.0.0.0/33"] } },
  { conditions: { networks: ["office"] } },
  { conditions: { device: ["lost"] } },
  times({ days: [] }),
  times({ days: ["monday"] }),
  times({ from: "8:00" }),
  times({ from: "24:00" }),
  times({ to: "24:01" }),
  times({ to: "25:00" }),
  times({ zone: "Mars/Base" }),
  times({ zone: "+01:00" }),
  times({ zone: "" }),
  { outcome: null },
  { outcome: { kind: "allow" } },
  { outcome: { kind: "deny", factors: ["totp"] } },
  { outcome: { kind: "bypass", factors: ["totp"] } },
  challenge({ factors: [] }),
  challenge({ factors: ["fax"] }),
  challenge({ factors: ["totp"], requiredFactor: "totp" }),
  challenge({ requiredFactor: "recovery" }),
  challenge({ enrolment: "sometimes" }),
  challenge({ rememberHours: 0 }),
  challenge({ rememberHours: 1.5 }),
  challenge({ rememberHours: 2161 }),
  challenge({ clientChecksPassword: "yes" }),
  challenge({ attributes: { "No-Such-Attribute": "x" } }),
  challenge({ attributes: { Class: {} } }),
  challenge({ attributes: ["Class"] }),
];

for (const bad of BAD) {
  Deno.test(`readPolicy() refuses ${JSON.stringify(bad).slice(0, 90)}`, () => {
    const read = readPolicy({ ...GOOD, ...bad });
    if (read.ok) throw new Error("The policy is read");
    assert(read.problem.endsWith("."), read.problem);
  });
}

Deno.test("readPolicy() leaves out empty lists, and makes networks canonical", () => {
  const read = readPolicy({
    ...GOOD,
    conditions: { networks: [" 10.1.2.3/8", "10.0.0.0/8"], times: [TIME] },
  });
  if (!read.ok) throw new Error(read.problem);
  assertEquals(read.value.conditions, { networks: ["10.0.0.0/8"], times: [TIME] } as PolicyConditions);
});

Deno.test("readPolicies() refuses two policies with one id, one name, and more than 200", () => {
  const many = Array.from({ length: 201 }, (_, at) => ({ ...GOOD, id: `id${at}xx`, name: `n${at}` }));
  assertEquals(readPolicies(many.slice(0, 200)).ok, true);
  assertEquals(readPolicies(many).ok, false);
  assertEquals(readPolicies([GOOD, { ...GOOD, name: "m" }]).ok, false);
  assertEquals(readPolicies([GOOD, { ...GOOD, id: "efgh", name: "N" }]).ok, false);
  assertEquals(readPolicies("x").ok, false);
});

// A policy that changes during a login, and where a login names its policy: log, history, audit log and live view.

const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const TOML = `[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "a-secret-of-the-tests"
message_authenticator = "require"
`;

async function storedRecords({ store }: InProcess) {
  const history = await Array.fromAsync(store.list<Uint8Array>(["history"]));
  const audit = await Array.fromAsync(store.list<{ action: string; policy?: string }>(["audit"]));
  return {
    history: history.map(({ value }) => decodeLoginRecord(value)),
    audit: audit.flatMap(({ value }) => value?.action.startsWith("login.") ? [value] : []),
  };
}

/** The policies at the start and from the second packet on; the answer to the second packet, which is the right code. */
const CHANGES: Readonly<Record<string, readonly [readonly ShortPolicy[], readonly ShortPolicy[], string]>> = {
  "nothing changes": [[[{}, CHALLENGE]], [[{}, CHALLENGE]], "accept"],
  "the login is denied": [[], [[{}, DENY]], "reject"],
  "the factor is not allowed any more": [[], [[{}, { kind: "challenge", factors: ["sms"] }]], MENU],
  "another factor is required": [[], [[{}, { kind: "challenge", requiredFactor: "device" }]], MENU],
  "the factor is allowed by another policy": [
    [[{}, CHALLENGE]],
    [[{}, { kind: "challenge", requiredFactor: "totp" }]],
    "accept",
  ],
  "the login needs no second factor": [[], [[{}, TRUSTED]], "accept"],
  "the login of a client that checks no password needs one": [[], [[{}, BYPASS]], "accept"],
};

for (const [title, [before, after, expected]] of Object.entries(CHANGES)) {
  Deno.test(`a changed policy holds for the next packet: ${title}`, async () => {
    await using world = await startWith("app", { toml: TOML });
    await storePolicies(world.radius.policies.registry, before);
    const login = await world.begin({ user: "anna" });
    await storePolicies(world.radius.policies.registry, after);
    const answer = await login.answer(appCode(world.clock.nowMs()));
    assertEquals(answer.kind === "challenge" ? stepName(answer) : answer.kind, expected);
  });
}

Deno.test("a push that a changed policy forbids is cancelled, and its approval does not count", async () => {
  await using world = await startInProcess({ toml: TOML });
  const pairing = await giveDevice(world, "anna");
  const login = await world.begin({ user: "anna" });
  decide(world, pairing, true);
  await storePolicies(world.radius.policies.registry, [[{}, { kind: "challenge", factors: ["totp"] }]]);
  assertEquals(stepName(await login.answer("ok")), MENU);
  assertEquals(stepName(await login.answer("ok")), MENU);
});

Deno.test("a push that a bypass replaces is no factor of the login", async () => {
  await using world = await startWith("device", { toml: TOML });
  const login = await world.begin({ user: "anna" });
  await storePolicies(world.radius.policies.registry, [[{}, TRUSTED]]);
  assertEquals((await login.answer("ok")).kind, "accept");
  const { history } = await storedRecords(world);
  assertEquals(history.map((one) => [one?.outcome, one?.factor]), [["accepted", null]]);
});

Deno.test("a login that began unsigned is not accepted without a second factor, even if its answer is signed", async () => {
  await using world = await startWith("device", { toml: TOML.replace('"require"', '"auto"') });
  const login = world.login({ user: "anna" });
  await login.start("open sesame", { messageAuthenticator: "none" });
  await storePolicies(world.radius.policies.registry, [[{}, TRUSTED]]);
  assertEquals(stepName(await login.answer("ok")), "SECONDFACTOR_AWAIT_DEVICE_APPROVAL");
});

Deno.test("a period holds for a login that began in it, until its end", async () => {
  await using world = await startWith("app", { toml: TOML });
  const minute = new Date(world.clock.nowMs() + 60_000).toISOString().slice(11, 16);
  const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
  const time = { days, from: minute, to: "24:00", zone: "UTC" };
  await storePolicies(world.radius.policies.registry, [[{ times: [time] }, DENY]]);
  const login = await world.begin({ user: "anna" });
  world.clock.advance(60_000);
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
  assertEquals((await world.login({ user: "anna" }).start()).kind, "reject");
});

for (const [kind, outcome] of [["accepted", TRUSTED], ["rejected", DENY]] as const) {
  Deno.test(`a login that a policy ended names it in log, history, audit log and live view: ${kind}`, async () => {
    await using world = await startInProcess({ toml: TOML });
    await storePolicies(world.radius.policies.registry, [[{}, outcome, { name: "Office only" }]]);
    await world.login({ user: "anna" }).start();
    const { history, audit } = await storedRecords(world);
    assertEquals(history.map((one) => [one?.outcome, one?.policy]), [[kind, "Office only"]]);
    assertEquals(audit.map(({ action, policy }) => [action, policy]), [[`login.${kind}`, "Office only"]]);
    assertEquals(world.radius.monitor.conversations(10).map(({ policy }) => policy), ["Office only"]);
    assert((await world.logLines()).some((line) => line.includes('policy="Office only"')));
  });
}

Deno.test("a list that only a newer version can read is not replaced", async () => {
  await using world = await startInProcess({ toml: TOML });
  const { registry } = world.radius.policies;
  const newer = { version: 1, policies: [{ ...policiesOf([[{}, DENY]])[0], conditions: { moonPhase: [] } }] };
  const value = new TextEncoder().encode(JSON.stringify(newer));
  await world.store.commit({ mutations: [{ type: "set", key: ["policy", "list"], value }] });
  assertEquals(await registry.replace([], { version: 0, audit: [] }), { ok: false, reason: "changed" });
  assertEquals((await world.store.get(["policy", "list"])).value, value);
});

Deno.test("a login without a policy names none", async () => {
  await using world = await startWith("app", { toml: TOML });
  await storePolicies(world.radius.policies.registry, [[{ users: ["bob"] }, DENY]]);
  const login = await world.begin({ user: "anna" });
  await login.answer(appCode(world.clock.nowMs()));
  const { history, audit } = await storedRecords(world);
  assertEquals([history[0]?.outcome, history[0]?.policy], ["accepted", undefined]);
  assertEquals("policy" in (audit[0] ?? {}), false);
});

Deno.test("a repeated packet gets the session attributes of the policy again", async () => {
  await using world = await startInProcess({ toml: TOML });
  const attributes = { "Filter-Id": "office" };
  const outcome = { kind: "bypass", clientChecksPassword: true, attributes } as const;
  await storePolicies(world.radius.policies.registry, [[{}, outcome]]);
  const login = world.login({ user: "anna" });
  const packet = login.buildStart("open sesame");
  const first = await login.exchange(packet);
  const reopened = world.newClient();
  const again = await login.exchange(packet);
  reopened.close();
  assertEquals(again.bytes, first.bytes);
  assertEquals(first.attributes.some(({ type }) => type === 11), true);
});
