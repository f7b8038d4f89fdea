// What a deletion leaves of each kind of key and value that contains the name of the user. The user has everything: phones, codes, tokens, notices,
// mails, an invitation, sessions and alerts.

import { assert, assertEquals } from "@std/assert";
import { keyPattern, nameKinds } from "./key_layout.ts";
import { openScenario, type Scenario, SCENARIO_NAMES } from "./scenario.ts";
import { SCENARIO } from "./store_scenario.ts";

/** What stays, by the first part of its key. All other keys and values with the name end with the user. */
const STAYS: ReadonlySet<string> = new Set([
  // Records of the past. Notices of administrators are such records.
  ...["alert", "audit", "audit_by", "audit_names", "history", "conversation", "journal", "accounting"],
  "console_notice",
  ...["enrolment_result", "enrolment_users", "scim_request", "session_disconnect", "session_report"],
  "shadow_user",
  // The deletion itself, and what can be restored.
  ...["gone", "renamed", "departure", "user_departure", "trash", "trash_part", "user_notice", "last_sign_in"],
  // Limits: otherwise a deletion and a new user of the name would end a lock.
  "limit",
  // They belong to the earlier record, so nothing accepts them for a later user of the name; they expire.
  ...["me_link", "me_link_of", "me_session", "me_session_of", "console_totp", "console_invitation"],
  "embedded",
  // Indexes, which their log replaces, and changes that the backends have not received yet.
  ...["fence", "value", "word", "index_log", "outbox", "owed", "awaited", "scim_adoption"],
]);

const OPTIONS = { actor: { name: "scim:hr", source: "192.0.2.50" } };

async function deleteAll({ gateway: { targets } }: Scenario): Promise<Set<string>> {
  const names = new Set<string>();
  for (const name of ["default", "crm", "partner"]) {
    const target = targets.get(name);
    if (target === null) throw new Error(`Cannot find ${name}`);
    for (const { content } of await Array.fromAsync(target.directory.all("user"))) {
      if (content.name.startsWith("member")) continue;
      await target.remove("user", content.name, OPTIONS);
      names.add(content.name);
    }
  }
  return names;
}

Deno.test("a deletion ends every key of the scenario but those of the past", async () => {
  await using scenario = await openScenario(() => undefined);
  for (const [name, step] of Object.entries(SCENARIO)) {
    if (!["a user who leaves", "an hour later"].includes(name)) await step(scenario);
  }
  await scenario.gateway.operator.send("POST", "/users/dora/me-link", {});
  await scenario.gateway.operator.send("POST", "/users/dora/invitation", {});
  await scenario.gateway.login("bert").start();
  const names = await deleteAll(scenario);
  assert(names.size > 5);
  const kinds = nameKinds(SCENARIO_NAMES);
  const left = new Set<string>();
  for await (const { key, value } of scenario.gateway.store.list<unknown>([])) {
    if (STAYS.has(String(key[0]))) continue;
    const text = JSON.stringify(value) ?? "";
    const isInKey = key.some((part) => typeof part === "string" && names.has(part));
    if (isInKey || names.values().some((name) => text.includes(`"${name}"`))) {
      left.add(keyPattern(key, kinds));
    }
  }
  assertEquals([...left], []);
});
