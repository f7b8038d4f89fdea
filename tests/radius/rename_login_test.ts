// Logins before, during and after a rename of their user, with the whole program: the factors follow at once.

import { assert, assertEquals } from "@std/assert";
import { openScenario, type Scenario } from "../contract/scenario.ts";
import { SCENARIO } from "../contract/store_scenario.ts";
import type { Content } from "../../scim/schema/resource.ts";
import { fromBase32, totpCode } from "../support/totp.ts";

const OPTIONS = { actor: { name: "scim:hr", source: "192.0.2.50" } };

async function rename(
  { gateway }: Scenario,
  { kind = "user", from, to, active = true }: {
    kind?: "user" | "group";
    from: string;
    to: string;
    active?: boolean;
  },
): Promise<void> {
  const target = gateway.targets.get("default");
  const stored = await target?.directory.read(kind, from);
  if (target === null || stored === null || stored === undefined) throw new Error(`Cannot find ${from}`);
  const { attributes } = stored.content;
  await target.rename(kind, from, { ...stored.content, attributes, name: to, active } as Content, OPTIONS);
}

async function openWithFactors(): Promise<Scenario> {
  const scenario = await openScenario(() => undefined);
  for (const step of ["users and groups by SCIM", "clients and replies", "factors of users"]) {
    await SCENARIO[step]?.(scenario);
  }
  return scenario;
}

const codeOf = ({ gateway, app }: Scenario) => totpCode(fromBase32(app.secret), gateway.clock.nowMs());

Deno.test("after a rename, the user signs in with the new name and the same factor; the earlier name is refused", async () => {
  await using scenario = await openWithFactors();
  const { gateway } = scenario;
  await rename(scenario, { from: "dora", to: "Dorothea" });
  const login = gateway.login("dorothea");
  assertEquals((await login.start()).kind, "challenge");
  assertEquals((await login.answer(codeOf(scenario))).kind, "accept");
  assertEquals((await gateway.login("dora").start()).kind, "reject");
  const { factors } = await gateway.operator.send<{ factors?: unknown }>("GET", "/users/dorothea");
  assert(JSON.stringify(factors ?? null) !== "[]");
});

Deno.test("a login that began before the rename ends, under both names", async () => {
  await using scenario = await openWithFactors();
  const { gateway } = scenario;
  const [earlier, other] = [gateway.login("dora"), gateway.login("dorothea")];
  assertEquals([(await earlier.start()).kind, (await other.start()).kind], ["challenge", "challenge"]);
  await rename(scenario, { from: "dora", to: "dorothea" });
  assertEquals((await earlier.answer(codeOf(scenario))).kind, "reject");
  assertEquals((await other.answer(codeOf(scenario))).kind, "reject");
  gateway.clock.advance(60_000);
  const later = gateway.login("dorothea");
  assertEquals((await later.start()).kind, "challenge");
  assertEquals((await later.answer(codeOf(scenario))).kind, "accept");
});

Deno.test("factors that a stranger enrolled with the new name end with the rename", async () => {
  await using scenario = await openWithFactors();
  const { gateway } = scenario;
  await gateway.operator.send("POST", "/users/stranger/pairings", { kind: "sms", number: "+4915112345699" });
  await rename(scenario, { from: "dora", to: "stranger" });
  const pairings = await Array.fromAsync(gateway.store.list(["pairing", "default", "stranger"]));
  assertEquals(pairings.map(({ key }) => key[3]), ["totp"]);
});

Deno.test("recovery codes, a session of the account page and a link follow a user who is renamed twice", async () => {
  await using scenario = await openWithFactors();
  const { gateway } = scenario;
  const { operator, clock } = gateway;
  const { url } = await operator.send<{ url: string }>("POST", "/users/dora/me-link", {});
  const browser = gateway.browser();
  await browser.send("POST", "/me/api/session", { link: url.slice(url.indexOf("#") + 1) });
  const { codes } = await browser.send<{ codes: string[] }>("POST", "/me/api/recovery-codes", {});
  const another = await operator.send<{ url: string }>("POST", "/users/dora/me-link", {});
  const [first = "", second = ""] = codes;
  const login = gateway.login("dora");
  await login.start();
  assertEquals((await login.answer(first)).kind, "accept");
  clock.advance(60_000);
  await rename(scenario, { from: "dora", to: "d2" });
  await rename(scenario, { from: "d2", to: "d3" });
  const next = gateway.login("d3");
  await next.start();
  assertEquals((await next.answer(first)).kind === "accept", false);
  const last = gateway.login("d3");
  await last.start();
  assertEquals((await last.answer(second)).kind, "accept");
  assert(JSON.stringify(await browser.send("GET", "/me/api/session")).includes('"d3"'));
  const link = another.url.slice(another.url.indexOf("#") + 1);
  await gateway.browser().send("POST", "/me/api/session", { link });
});

Deno.test("a policy that names a user or group names it as it is called after the rename", async () => {
  await using scenario = await openWithFactors();
  const { gateway: { operator, store }, gateway } = scenario;
  const policy = (name: string, conditions: object) => ({
    ...{ name, enabled: true, conditions, outcome: { kind: "deny" } },
  });
  const list = await operator.send<{ version: number }>("GET", "/policies");
  await operator.send("POST", "/policies", {
    ...{ version: list.version, confirm: true },
    policy: policy("no dora", { users: ["dora"], exceptGroups: ["staff"] }),
  });
  const [before] = await Array.fromAsync(store.list<Uint8Array>(["policy"]));
  if (before === undefined) throw new Error("The policy was not stored");
  await rename(scenario, { from: "dora", to: "dorothea" });
  await rename(scenario, { kind: "group", from: "staff", to: "workforce" });
  const [after] = await Array.fromAsync(store.list<Uint8Array>(["policy"]));
  const { policies } = JSON.parse(new TextDecoder().decode(after?.value ?? new Uint8Array()));
  assertEquals(policies[0].conditions, { users: ["dorothea"], exceptGroups: ["workforce"] });
  assertEquals((await gateway.login("dorothea").start()).kind, "reject");
});
