// User names: how they are read, compared, and followed after a rename.

import { assert, assertEquals } from "@std/assert";
import {
  isRefusedUserName,
  rejectsUnknownUsers,
  similarNames,
  stripUserName,
} from "../../radius/protocol/login_input.ts";
import fc from "../packages/fast_check.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { PacketView } from "../../radius/protocol/packet.ts";
import { UserNames } from "../../radius/server/request.ts";
import { configOf } from "../platform/config/samples.ts";
import { openScenario, type Scenario } from "../contract/scenario.ts";
import { SCENARIO } from "../contract/store_scenario.ts";
import type { Content } from "../../scim/schema/resource.ts";
import { fromBase32, totpCode } from "../support/totp.ts";

// User names of Access-Requests: stripping, refusal, and names that resemble an unknown one.

const LISTED = { stripDomains: ["CORP"], stripRealms: ["corp.example", "Ä.example"] };
const NOTHING = { stripDomains: [], stripRealms: [] };

for (
  const [name, stripped] of [
    ["alice", "alice"],
    ["CORP\\alice", "alice"],
    ["corp\\Alice", "Alice"],
    ["alice@corp.example", "alice"],
    ["alice@CORP.EXAMPLE", "alice"],
    ["alice@a\u0308.example", "alice"],
    ["CORP\\alice@corp.example", "alice"],
    ["OTHER\\alice", "OTHER\\alice"],
    ["alice@other.example", "alice@other.example"],
    ["alice@corp.example.other", "alice@corp.example.other"],
    ["CORP\\CORP\\alice", "CORP\\alice"],
    ["alice@corp.example@corp.example", "alice@corp.example"],
    ["CORP/alice", "CORP/alice"],
    ["CORP\\", ""],
    ["@corp.example", ""],
    [" CORP\\alice", " CORP\\alice"],
    ["CORP \\alice", "CORP \\alice"],
    ["alice@corp.example ", "alice@corp.example "],
    ["\\alice", "\\alice"],
    ["alice@", "alice@"],
  ] as const
) {
  Deno.test(`stripUserName(${JSON.stringify(name)}) is ${JSON.stringify(stripped)}`, () => {
    assertEquals(stripUserName(name, LISTED), stripped);
    assertEquals(stripUserName(name, NOTHING), name);
  });
}

Deno.test("isRefusedUserName() refuses blanks at either end, format characters and NUL", () => {
  const refused = ["", " ", " alice", "alice ", "alice\t", "\u00a0alice", "alice\u3000", "alice\n"];
  const invisible = [
    "al\u200bice",
    "al\u00adice",
    "\ufeffalice",
    "alice\u202e",
    "alice\u2066",
    "alice\0",
    "a\0b",
  ];
  for (const name of [...refused, ...invisible]) {
    assertEquals(isRefusedUserName(name), true, JSON.stringify(name));
  }
  for (
    const name of ["alice", "a b", "Zoë", "CORP\\alice", "alice@corp.example", "李", "🙂", "a\u0301", "-"]
  ) {
    assertEquals(isRefusedUserName(name), false, name);
  }
});

Deno.test("rejectsUnknownUsers() with auto rejects if a first factor is checked", () => {
  for (const firstFactor of ["directory", "ldap", "radius"] as const) {
    assertEquals(rejectsUnknownUsers({ unknownUsers: "auto", firstFactor }), true);
    assertEquals(rejectsUnknownUsers({ unknownUsers: "allow", firstFactor }), false);
  }
  assertEquals(rejectsUnknownUsers({ unknownUsers: "auto", firstFactor: "none" }), false);
  assertEquals(rejectsUnknownUsers({ unknownUsers: "reject", firstFactor: "none" }), true);
});

Deno.test("similarNames() returns each simpler form once, and how the name differs from it", () => {
  assertEquals(similarNames("alice"), []);
  assertEquals(similarNames("ALICE"), []);
  assertEquals(similarNames("CORP\\alice"), [{ name: "alice", but: "domain", affix: "CORP" }]);
  assertEquals(similarNames("alice@corp.example"), [{ name: "alice", but: "realm", affix: "corp.example" }]);
  assertEquals(similarNames("alice "), [{ name: "alice", but: "blanks", affix: "" }]);
  assertEquals(similarNames("al\u200bice"), [{ name: "alice", but: "invisible", affix: "" }]);
  assertEquals(similarNames("\ufeffalice"), [{ name: "alice", but: "invisible", affix: "" }]);
  assertEquals(similarNames("\uff41lice"), [{ name: "alice", but: "letters", affix: "" }]);
  assertEquals(similarNames("stra\u00dfe"), [{ name: "strasse", but: "letters", affix: "" }]);
  assertEquals(similarNames("CORP\\alice@corp.example"), [
    { name: "alice@corp.example", but: "domain", affix: "CORP" },
    { name: "CORP\\alice", but: "realm", affix: "corp.example" },
  ]);
  for (const name of ["@", "\\", " ", ""]) assertEquals(similarNames(name), []);
});

// User-Names of packets: the remembered result is always that of the packet.

const plain = configOf("").radius.anyClient;
const stripping = { ...plain, stripDomains: ["CORP"], stripRealms: ["corp.example"] };

function viewOf(name: Uint8Array): PacketView {
  const view = new PacketView();
  const length = 20 + (name.length === 0 ? 0 : 2 + name.length);
  const octets = new Uint8Array(length);
  octets.set([1, 1, length >> 8, length & 255]);
  if (name.length > 0) octets.set([1, name.length + 2, ...name], 20);
  assertEquals(view.read(octets, octets.length), null);
  return view;
}

Deno.test("UserNames read() returns the same for a remembered name, and for each policy its own result", () => {
  const name = fc.oneof(
    fc.constantFrom("ada", "Ada", "CORP\\ada", "ada@corp.example", " ada", "a\u200bda", "", "Ádám"),
    fc.string({ unit: "binary", maxLength: 60 }),
  );
  const names = new UserNames();
  fc.assert(fc.property(fc.array(name, { maxLength: 20 }), fc.boolean(), (list, isStripping) => {
    const policy = isStripping ? stripping : plain;
    for (const one of [...list, ...list]) {
      const octets = new TextEncoder().encode(one).subarray(0, 200);
      const shown = stripUserName(new TextDecoder("utf-8", { ignoreBOM: true }).decode(octets), policy);
      const read = names.read(viewOf(octets), policy);
      assertEquals([read.shown, read.canonical, read.isRefused], [
        shown,
        canonicalName(shown),
        isRefusedUserName(shown),
      ]);
    }
  }));
});

Deno.test("UserNames read() reads a remembered name without decoding it again", () => {
  const names = new UserNames();
  const view = viewOf(new TextEncoder().encode("ada"));
  const first = names.read(view, plain);
  assert(first === names.read(view, plain));
});

// Logins before, during and after a rename of their user, with the whole program: the factors follow at once.

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
