// A policy that changes during a login, and where a login names its policy: log, history, audit log and live view.

import { assert, assertEquals } from "@std/assert";
import { decodeLoginRecord } from "../../../radius/conversation/login_record.ts";
import { type InProcess, startInProcess } from "../rows/in_process.ts";
import { stepName } from "../rows/login.ts";
import { appCode, decide, give, giveDevice, SEED } from "../rows/people.ts";
import {
  BYPASS,
  CHALLENGE,
  DENY,
  policiesOf,
  type ShortPolicy,
  storePolicies,
  TRUSTED,
} from "./policy_sample.ts";

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
    await using world = await startInProcess({ toml: TOML });
    await give(world, "anna", { kind: "totp", seed: SEED });
    await storePolicies(world.radius.policies.registry, before);
    const login = world.login({ user: "anna" });
    await login.start();
    await storePolicies(world.radius.policies.registry, after);
    const answer = await login.answer(appCode(world.clock.nowMs()));
    assertEquals(answer.kind === "challenge" ? stepName(answer) : answer.kind, expected);
  });
}

Deno.test("a push that a changed policy forbids is cancelled, and its approval does not count", async () => {
  await using world = await startInProcess({ toml: TOML });
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  decide(world, pairing, true);
  await storePolicies(world.radius.policies.registry, [[{}, { kind: "challenge", factors: ["totp"] }]]);
  assertEquals(stepName(await login.answer("ok")), MENU);
  assertEquals(stepName(await login.answer("ok")), MENU);
});

Deno.test("a push that a bypass replaces is no factor of the login", async () => {
  await using world = await startInProcess({ toml: TOML });
  await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  await storePolicies(world.radius.policies.registry, [[{}, TRUSTED]]);
  assertEquals((await login.answer("ok")).kind, "accept");
  const { history } = await storedRecords(world);
  assertEquals(history.map((one) => [one?.outcome, one?.factor]), [["accepted", null]]);
});

Deno.test("a login that began unsigned is not accepted without a second factor, even if its answer is signed", async () => {
  await using world = await startInProcess({ toml: TOML.replace('"require"', '"auto"') });
  await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start("open sesame", { messageAuthenticator: "none" });
  await storePolicies(world.radius.policies.registry, [[{}, TRUSTED]]);
  assertEquals(stepName(await login.answer("ok")), "SECONDFACTOR_AWAIT_DEVICE_APPROVAL");
});

Deno.test("a period holds for a login that began in it, until its end", async () => {
  await using world = await startInProcess({ toml: TOML });
  await give(world, "anna", { kind: "totp", seed: SEED });
  const minute = new Date(world.clock.nowMs() + 60_000).toISOString().slice(11, 16);
  const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
  const time = { days, from: minute, to: "24:00", zone: "UTC" };
  await storePolicies(world.radius.policies.registry, [[{ times: [time] }, DENY]]);
  const login = world.login({ user: "anna" });
  await login.start();
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
  await using world = await startInProcess({ toml: TOML });
  await give(world, "anna", { kind: "totp", seed: SEED });
  await storePolicies(world.radius.policies.registry, [[{ users: ["bob"] }, DENY]]);
  const login = world.login({ user: "anna" });
  await login.start();
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
