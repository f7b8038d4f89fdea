// What a rename does with each kind of key that contains the name of a user or group. A new kind fails until it is decided here.

import { assert, assertEquals } from "@std/assert";
import type { Content } from "../../scim/schema/resource.ts";
import { keyPattern, nameKinds } from "./key_layout.ts";
import { openScenario, type Scenario, SCENARIO_NAMES } from "./scenario.ts";
import { SCENARIO } from "./store_scenario.ts";

/**
 * `moved`: the key has the new name afterwards. `ended`: neither name has one. `index`: entries of an index, which its log replaces. `kept`: it keeps the
 * earlier name on purpose. `written`: the rename itself writes it under the earlier name.
 */
type Decision = "moved" | "ended" | "index" | "kept" | "written";

const DECISIONS: Readonly<Record<string, Decision>> = {
  // Records of the past. Links find the new name by "renamed".
  "audit_by / actor / user:<user> / <ordered id>": "kept",
  "audit_by / object / group:<group> / <ordered id>": "kept",
  "audit_by / object / user:<user> / <ordered id>": "kept",
  "bypass_code / <target> / <user>": "moved",
  "bypass_use / <target> / <user> / <16 hex digits> / <number>": "moved",
  // A deleted group leaves its groups. Its name is free.
  "chore / <target> / leave <group>": "kept",
  "console_notice / <user>": "moved",
  "console_notice / <user> / caller": "moved",
  // A rename writes all backends, so that none differs afterwards.
  "copy / <target> / <backend> / user / <user>": "ended",
  "enrolment / <target> / <user>": "moved",
  "fence / <target> / user / <user>": "index",
  "fence / <target> / user words / <user> / <user>": "index",
  "fence / <target> / user words / example.org / <user>": "index",
  "fence / <target> / user words / family / <user>": "index",
  "fence / <target> / user words / given / <user>": "index",
  "fence / <target> / user values / c / <value> / <user>": "index",
  "fence / <target> / user values / d / <value> / <user>": "index",
  "fence / <target> / user values / e / <value> / <user>": "index",
  "fence / <target> / user values / m / <value> / <user>": "index",
  "fence / <target> / user values / x / <value> / <user>": "index",
  // A deleted user, and an earlier name: a login with it is refused.
  "gone / <target> / <user>": "written",
  "group / <target> / <group>": "moved",
  "last_sign_in / <target> / <user>": "moved",
  "limit / failures / <user>": "moved",
  "limit / push / <user>": "moved",
  "limit / user_send / <user>": "moved",
  "mail / content / user / <user> / <32 hex digits>": "moved",
  "mail / failed / user / <user> / <32 hex digits>": "moved",
  "mail / waiting / user / <user> / <32 hex digits>": "moved",
  "me_link_of / <user>": "moved",
  "me_session_of / <user>": "moved",
  "member / <target> / <set id> / <user>": "moved",
  "memberof / <target> / <user> / <set id>": "moved",
  "owed / <target> / <backend> / group / <group>": "moved",
  "owed / <target> / <backend> / user / <user>": "moved",
  "pairing / <target> / <user> / device / <uuid>": "moved",
  "pairing / <target> / <user> / sms / <factor>-<16 hex digits>": "moved",
  "pairing / <target> / <user> / totp / <factor>-<16 hex digits>": "moved",
  "pairing / <target> / <user> / voice / <factor>-<16 hex digits>": "moved",
  "part / <target> / user / <user> / <16 hex digits> / <number>": "moved",
  "password / <target> / <user>": "moved",
  "preference / <target> / <user>": "moved",
  "recovery_code / <target> / <user> / <16 hex digits> / <64 hex digits>": "moved",
  "recovery_set / <target> / <user>": "moved",
  "renamed / <target> / group / <group>": "written",
  "renamed / <target> / user / <user>": "written",
  "reply_group / <group>": "moved",
  // It expires within two minutes, and the locked user has no login with the new name before.
  "session_report / <user>": "kept",
  // The name that the present server knows.
  "shadow_user / <client> / <user>": "kept",
  "user / <target> / <user>": "moved",
  // The end of the logins in progress. The identity of the user's links moves with it.
  "user_departure / <target> / <user>": "written",
  "user_notice / <user> / <time><8 hex digits>": "moved",
  "user_notice / <user> / <time><uuid>": "moved",
  "value / <target> / user / a / <value> / <user>": "index",
  "value / <target> / user / c / <value> / <user>": "index",
  "value / <target> / user / d / <value> / <user>": "index",
  "value / <target> / user / e / <value> / <user>": "index",
  "value / <target> / user / m / <value> / <user>": "index",
  "value / <target> / user / x / <value> / <user>": "index",
  "word / <target> / user / <word> / <user>": "index",
};

/** Values that may contain the earlier name, by the first part of their key. */
const KEPT_VALUES = [
  // Records of the past.
  ...[
    "alert",
    "audit",
    "history",
    "conversation",
    "journal",
    "accounting",
    "session_disconnect",
    "trash",
    "trash_part",
    "console_invitation",
    "enrolment_result",
    "enrolment_users",
    "scim_request",
    "shadow_user",
  ],
  // Written by the rename.
  ...["gone", "renamed", "departure", "index_log"],
  // Ended: they do not belong to the new name, and expire within 15 minutes.
  ...["console_totp", "embedded request", "embedded invitation used"],
  // A proposal belongs to the id. The console shows the current name.
  "scim_adoption",
  // The name that a backend still has, and the name in the digests of recovery and bypass codes.
  ...["outbox", "recovery_set", "bypass_code"],
];

const RENAMED_NAMES = (name: string) => `${name}.new`;
const OPTIONS = { actor: { name: "scim:hr", source: "192.0.2.50" } };

Deno.test("every kind of key with the name of a user or group has a decision about renames", async () => {
  const snapshot = await Deno.readTextFile(new URL("snapshots/store_keys.txt", import.meta.url));
  const patterns = snapshot.split("\n").map((line) => line.split(" = ")[0] ?? "")
    .filter((pattern) => /<(user|group)>/.test(pattern));
  assertEquals(patterns.filter((pattern) => DECISIONS[pattern] === undefined), []);
  assertEquals(Object.keys(DECISIONS).filter((pattern) => !patterns.includes(pattern)), []);
});

interface StoredKey {
  readonly key: Deno.KvKey;
  readonly value: unknown;
}

async function allOf({ gateway: { store } }: Scenario): Promise<StoredKey[]> {
  return await Array.fromAsync(store.list([]));
}

/** More data than the scenario leaves: a link, an invitation, a login in progress, and the data that expired. */
async function prepare({ gateway, app }: Scenario): Promise<void> {
  await gateway.operator.send("POST", "/users/dora/me-link", {});
  await gateway.operator.send("POST", "/users/dora/invitation", {});
  await gateway.login("bert").start();
  assert(app.secret !== "");
}

async function renameAll({ gateway: { targets } }: Scenario): Promise<Map<string, string>> {
  const renamed = new Map<string, string>();
  for (const name of ["default", "crm", "partner"]) {
    const target = targets.get(name);
    if (target === null) throw new Error(`Cannot find ${name}`);
    for (const kind of ["user", "group"] as const) {
      const all = (await Array.fromAsync(target.directory.all(kind))).map(({ content }) => content)
        .filter((content) => !content.name.startsWith("member"));
      for (const content of all) {
        const next = { ...content, attributes: content.attributes, name: RENAMED_NAMES(content.name) };
        await target.rename(kind, content.name, next as Content, OPTIONS);
        renamed.set(content.name, next.name);
      }
    }
  }
  return renamed;
}

Deno.test("a rename moves every key of the scenario as decided", async () => {
  await using scenario = await openScenario(() => undefined);
  for (const [name, step] of Object.entries(SCENARIO)) {
    if (!["a user who leaves", "an hour later"].includes(name)) await step(scenario);
  }
  await prepare(scenario);
  const oldEntries = await allOf(scenario);
  const names = await renameAll(scenario);
  const after = await allOf(scenario);
  const kinds = nameKinds(SCENARIO_NAMES);
  const textOf = (key: Deno.KvKey) =>
    JSON.stringify(key.map((part) => part instanceof Uint8Array ? [...part] : String(part)));
  const keysAfter = new Set(after.map(({ key }) => textOf(key)));
  const checked = new Set<string>();
  for (const { key } of oldEntries) {
    if (!key.some((part) => typeof part === "string" && names.has(part))) continue;
    const pattern = keyPattern(key, kinds);
    const decision = DECISIONS[pattern];
    if (decision === "index" || decision === "kept" || decision === "written") continue;
    const moved = key.map((part) => typeof part === "string" ? names.get(part) ?? part : part);
    // The parts of a large record get another name with each write.
    if (key[0] === "part") moved[4] = String(after.find((one) => one.key[0] === "part")?.key[4]);
    assertEquals([pattern, keysAfter.has(textOf(key))], [pattern, false]);
    assertEquals([pattern, textOf(moved), keysAfter.has(textOf(moved))], [
      pattern,
      textOf(moved),
      decision === "moved",
    ]);
    checked.add(pattern);
  }
  const unchecked = Object.keys(DECISIONS).filter((pattern) =>
    DECISIONS[pattern] === "moved" && !checked.has(pattern)
  );
  assertEquals(unchecked, []);
  const stale = after.flatMap(({ key, value }) => {
    const root = rootOf({ key, value });
    return !KEPT_VALUES.includes(root) && contains(value, names) ? [`${root}: ${JSON.stringify(key)}`] : [];
  });
  assertEquals(stale, []);
});

function rootOf({ key: [root, table], value }: StoredKey): string {
  if (root !== "embedded") return String(root);
  const isUsed = table === "invitation" && (value as { usedMs: number | null }).usedMs !== null;
  return `embedded ${String(table)}${isUsed ? " used" : ""}`;
}

/** Whether a value contains one of the names as a whole text. */
function contains(value: unknown, names: ReadonlyMap<string, string>): boolean {
  if (typeof value === "string") {
    if (names.has(value)) return true;
    if (!value.startsWith("{") && !value.startsWith("[")) return false;
    try {
      return contains(JSON.parse(value), names);
    } catch (_noJson) {
      return false;
    }
  }
  if (value instanceof Uint8Array || typeof value !== "object" || value === null) return false;
  return Object.values(value).some((one) => contains(one, names));
}
