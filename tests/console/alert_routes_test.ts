// The API of receivers of alerts: checks, and secrets that stay secret.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { apiValue } from "../../cli/admin_connection.ts";
import { openComposition } from "../fakes/composition.ts";

const CHAT = { name: "chat", kind: "webhook", url: "https://hooks.example.com/services/planted-token" };
const TEAM = { name: "team", kind: "mail", addresses: ["ops@example.com"] };
const PATH = "/alerts/receivers";

Deno.test("the address and the key of a webhook are not in the list, the audit log and the store", async () => {
  await using gateway = await openComposition();
  const made = await gateway.ask("POST", PATH, CHAT);
  const { item, webhookSecret } = JSON.parse(made.text);
  assertMatch(webhookSecret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assertEquals([item.address, item.version, item.waiting], ["https://hooks.example.com/…", 1, 0]);
  const renewed = await gateway.ask("POST", `${PATH}/chat/secret`, { version: 1 });
  assert(JSON.parse(renewed.text).webhookSecret !== webhookSecret);
  const changed = await gateway.ask("PATCH", `${PATH}/chat`, {
    version: 2,
    change: { minSeverity: "critical" },
  });
  assertEquals(changed.status, 200);
  const texts = [
    (await gateway.ask("GET", PATH)).text,
    JSON.stringify(await gateway.audits()),
    await gateway.dump(),
  ];
  for (const text of texts) {
    for (const secret of ["planted-token", webhookSecret, webhookSecret.slice(6)]) {
      assertEquals(text.includes(secret), false);
    }
  }
  assertEquals((await gateway.ask("POST", `${PATH}/chat/secret`, { version: 1 })).code, "changed_meanwhile");
});

Deno.test("at most ten receivers exist; a name is used once, and is free after the removal", async () => {
  await using gateway = await openComposition();
  for (let number = 0; number < 10; number++) {
    assertEquals((await gateway.ask("POST", PATH, { ...TEAM, name: `team-${number}` })).status, 200);
  }
  assertEquals((await gateway.ask("POST", PATH, TEAM)).code, "too_many_receivers");
  assertEquals((await gateway.ask("DELETE", `${PATH}/team-0`)).status, 200);
  assertEquals((await gateway.ask("DELETE", `${PATH}/team-0`)).code, "unknown_receiver");
  assertEquals((await gateway.ask("POST", PATH, { ...TEAM, name: "team-1" })).code, "receiver_taken");
  assertEquals((await gateway.ask("POST", PATH, TEAM)).status, 200);
  assertEquals((await gateway.ask("POST", `${PATH}/team/secret`, { version: 1 })).code, "malformed");
});

Deno.test("GET /alerts of a new gateway is empty, and refuses a page that is no id", async () => {
  await using gateway = await openComposition();
  const { open, items, next, isEnabled } = await apiValue(gateway.api.alerts.$get());
  assertEquals([open, items, next, isEnabled], [[], [], null, true]);
  assertEquals((await gateway.ask("GET", `/alerts?after=${"x".repeat(100)}`)).code, "bad_query");
});
