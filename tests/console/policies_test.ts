// The API of policies: changes and conflicts, the protection from lockouts, and evaluation.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { EvaluationAnswer, PolicyPage } from "../../console/api/policies/policy_types.ts";
import type { GroupView } from "../../console/api/groups/group_types.ts";
import {
  GUESTS,
  NO_ONE,
  OFFICE,
  openPolicyConsole,
  PHONES,
  POLICIES,
  policy,
  policyNames,
} from "./policy_console.ts";

Deno.test("policies: they are added at a position, changed, reordered and removed, and take effect at once", async () => {
  await using desk = await openPolicyConsole();
  const { add, call, get } = desk;
  assertEquals((await get()).policies, []);
  await add(GUESTS);
  const page = await add(OFFICE, { position: 0 });
  assertEquals([page.version, policyNames(page)], [2, ["Office", "Guests"]]);
  const [office, guests] = page.policies;
  const ids = [guests?.id, office?.id];
  const ordered = await call<PolicyPage>(`${POLICIES}/order`, { method: "PUT", json: { version: 2, ids } });
  assertEquals(policyNames(ordered), ["Guests", "Office"]);
  const changed = await call<PolicyPage>(`${POLICIES}/${guests?.id}`, {
    method: "PUT",
    json: { version: 3, policy: { ...GUESTS, enabled: false } },
  });
  assertEquals(changed.policies[0]?.enabled, false);
  const left = await call<PolicyPage>(`${POLICIES}/${office?.id}`, {
    method: "DELETE",
    json: { version: 4 },
  });
  assertEquals(policyNames(left), ["Guests"]);
  assertEquals(desk.site.people.policies.registry.list.policies, left.policies);
});

Deno.test("policies: a change that is based on an older list is refused", async () => {
  await using desk = await openPolicyConsole();
  const { add } = desk;
  const codeOf = async (...call: Parameters<typeof desk.refusal>) => (await desk.refusal(...call)).code;
  const { policies: [first] } = await add(GUESTS);
  const stale = { version: 0, policy: OFFICE };
  assertEquals(await codeOf(POLICIES, { method: "POST", json: stale }), "changed_meanwhile");
  const path = `${POLICIES}/${first?.id}`;
  assertEquals(await codeOf(path, { method: "PUT", json: stale }), "changed_meanwhile");
  assertEquals(
    await codeOf(path, { method: "DELETE", json: { version: 0 } }),
    "changed_meanwhile",
  );
  for (const ids of [[], [first?.id, first?.id], ["unknown"]]) {
    const json = { version: 1, ids };
    assertEquals(await codeOf(`${POLICIES}/order`, { method: "PUT", json }), "changed_meanwhile");
  }
  assertEquals(
    await codeOf(`${POLICIES}/nosuchid`, { method: "DELETE", json: { version: 1 } }),
    "unknown_policy",
  );
});

Deno.test("policies: a refused change names the author and the time of the change before it", async () => {
  await using desk = await openPolicyConsole();
  const { policies: [first] } = await desk.add(GUESTS);
  const stale = { method: "DELETE", json: { version: 0 } };
  const lastChange = async () => (await desk.refusal(`${POLICIES}/${first?.id}`, stale)).lastChange;
  const own = await lastChange();
  assertEquals([own?.actor, own?.isOwn], ["owner", true]);
  assert(Math.abs(Date.now() - (own?.atMs ?? 0)) < 60_000, String(own?.atMs));
  const { registry } = desk.site.people.policies;
  await registry.replace([], { version: 1, audit: [], changed: { by: "grace", atMs: 5000 } });
  // The other administrator removed the policy, which is a conflict too.
  assertEquals(await lastChange(), { actor: "grace", atMs: 5000, isOwn: false });
});

Deno.test("policies: a list that is not valid is refused with a sentence", async () => {
  await using desk = await openPolicyConsole();
  const { add, refusal } = desk;
  await add(GUESTS);
  const refused: readonly (readonly [object, RegExp])[] = [
    [{ ...GUESTS, name: "guests" }, /Two policies have the name/],
    [{ ...OFFICE, conditions: { networks: ["office"] } }, /"office" is not an IP address/],
    [{ ...OFFICE, outcome: { kind: "allow" } }, /outcome must be one of challenge, bypass, deny/],
  ];
  for (const [content, sentence] of refused) {
    const { message } = await refusal(POLICIES, { method: "POST", json: { version: 1, policy: content } });
    assertMatch(message, sentence);
  }
});

Deno.test("policies: session attributes need room in the Access-Accept beside those of all groups", async () => {
  await using desk = await openPolicyConsole();
  const { site, call, refusal } = desk;
  const long = (count: number) => ({
    attributes: Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`26.9.${at + 1}`, "x".repeat(240)]),
    ),
  });
  const { attributes } = long(10);
  const wide = policy("Wide", {}, { kind: "challenge", attributes });
  assertEquals(policyNames(await desk.add(wide)), ["Wide"]);
  await site.people.putGroup("staff");
  await call("/console/api/groups/staff/replies", {
    method: "PUT",
    json: {
      version: 0,
      attributes: Object.entries(long(9).attributes).map(([name, value]) => ({ name, value })),
    },
  });
  const json = { version: 1, policy: { ...wide, name: "Wider" } };
  assertMatch((await refusal(POLICIES, { method: "POST", json })).message, /and those of all groups have/);
});

Deno.test("policies: the view of a group names the policies whose conditions name it", async () => {
  await using desk = await openPolicyConsole();
  const { site, call, add } = desk;
  await site.people.putGroup("guests");
  await site.people.putGroup("staff");
  await add(GUESTS);
  await add(policy("All but guests", { exceptGroups: ["GUESTS"] }, { kind: "challenge" }));
  const policiesOf = async (group: string) =>
    (await call<GroupView>(`/console/api/groups/${group}`)).policies;
  assertEquals(await policiesOf("guests"), ["Guests", "All but guests"]);
  assertEquals(await policiesOf("staff"), []);
});

Deno.test("policies: the list has the groups and clients of conditions that do not exist", async () => {
  await using desk = await openPolicyConsole();
  const { site, get, add } = desk;
  await site.people.putGroup("guests");
  await add(policy("Guests", { groups: ["GUESTS"], clients: ["vpn"] }, { kind: "deny" }));
  assertEquals((await get()).missing, { groups: [], clients: [] });
  await add(
    policy("Others", { exceptGroups: ["Guests", "Contractors"], clients: ["VPN"] }, { kind: "bypass" }),
  );
  assertEquals((await get()).missing, { groups: ["Contractors"], clients: ["VPN"] });
});

Deno.test("policies: an evaluation names the policy, and for each other one the condition that fails", async () => {
  await using desk = await openPolicyConsole("user_manager");
  const { site, call } = desk;
  await site.people.put("bob");
  await site.people.putGroup("guests", ["bob"]);
  const draft = [OFFICE, PHONES, { ...GUESTS, enabled: false }, NO_ONE].map((one, at) => ({
    ...one,
    id: `draft${at}`,
  }));
  const ask = (address: string) =>
    call<EvaluationAnswer>(`${POLICIES}/evaluate`, {
      method: "POST",
      json: { user: "Bob", client: "vpn", address, draft },
    });
  const inside = await ask("10.1.2.3");
  assertEquals([inside.policy, inside.effect.kind, inside.groups], ["Office", "accept", ["guests"]]);
  const outside = await ask("203.0.113.9");
  assertEquals([outside.policy, outside.effect.kind, outside.effect.required], [
    "Phones",
    "challenge",
    "device",
  ]);
  assertEquals(outside.verdicts.map(({ name, miss, applies }) => [name, miss, applies]), [
    ["Office", "networks", false],
    ["Phones", null, true],
    ["Guests", "disabled", false],
    ["No one", null, false],
  ]);
  assertEquals(outside.verdicts.map(({ reason }) => reason), [
    "The address is in none of the networks, or the sign-in has no IP address.",
    "This policy applies.",
    "The policy is turned off.",
    "An earlier policy applies.",
  ]);
  assertEquals((await ask("00-11-22-33-44-55")).isAddress, false);
});

Deno.test("policies: a bypass challenges at a client whose password is not checked", async () => {
  await using desk = await openPolicyConsole();
  await desk.site.people.put("bob");
  const ask = async (client: string) => {
    const json = { user: "bob", client, draft: [{ ...OFFICE, id: "draft", conditions: {} }] };
    const { effect } = await desk.call<EvaluationAnswer>(`${POLICIES}/evaluate`, { method: "POST", json });
    return effect.kind;
  };
  assertEquals([await ask("vpn"), await ask("wifi")], ["accept", "challenge"]);
});
