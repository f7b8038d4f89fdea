// The API of targets, credentials and health.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { ask } from "../fakes/connect_calls.ts";

Deno.test("GET /targets/:id shows the settings without their secrets, and pending writes", async () => {
  await using site = await startConnectConsole({
    toml: `[targets.default.backends.ldap]
kind = "ldap"
url = "ldap://127.0.0.1:1"
bind_dn = "cn=admin"
bind_password = "a-bind-password"
users_dn = "ou=people"
`,
  });
  const { body, text } = await ask(site, "/targets/default", { role: "viewer" });
  assert(body.settings.some(({ name }) => name === "ldap.url"));
  assert(!text.includes("a-bind-password"));
  assertEquals((await ask(site, "/targets/unknown")).body.error.code, "unknown_target");
});

Deno.test("GET /targets lists the read-only attributes of each backend, spelled as in the mapping", async () => {
  const toml = `[targets.default.backends.ldap]\nkind = "ldap"\nurl = "ldap://127.0.0.1:1"\n` +
    `users_dn = "ou=people"\nread_only = ["title", "emails"]\n`;
  await using site = await startConnectConsole({ toml });
  const { body } = await ask(site, "/targets/default", { role: "viewer" });
  assertEquals(body.backends.map(({ name, readOnly }) => [name, readOnly]), [
    ["local", []],
    ["ldap", ["title", "emails[].value"]],
  ]);
  assertEquals(body.settings.find(({ name }) => name === "ldap.read_only")?.value, "title, emails");
});

Deno.test("POST /targets/:id/preview shows a mapping for a real user and writes nothing", async () => {
  await using site = await startConnectConsole();
  await site.people.put("ada", { title: "Countess" });
  const before = await site.people.target.directory.read("user", "ada");
  const json = { user: "ada", rows: { title: "jobTitle" } };
  const { body } = await ask(site, "/targets/default/preview", { role: "viewer", method: "POST", json });
  const row = body.rows.find(({ name }) => name === "jobTitle");
  assertEquals([row?.now, row?.then], [[], ["Countess"]]);
  assertEquals(await site.people.target.directory.read("user", "ada"), before);
  assertEquals((await site.audits()).filter(({ actor }) => actor === "viewer"), []);
  const unknown = { ...json, user: "unknown" };
  const refused = await ask(site, "/targets/default/preview", { method: "POST", json: unknown });
  assertEquals(refused.body.error.code, "unknown_object");
});

Deno.test("POST /targets/:id/refresh runs in the background, and its report can be read later", async () => {
  await using site = await startConnectConsole();
  await ask(site, "/targets/default/refresh", { role: "user_manager", method: "POST", json: {} });
  for (let tries = 0; tries < 100; tries += 1) {
    const { body } = await ask(site, "/targets/default", { role: "viewer" });
    if (!body.refresh.running) {
      assertEquals(body.refresh.report?.faults, []);
      return;
    }
  }
  throw new Error("the refresh did not end");
});

Deno.test("POST /credentials returns a new password once, refuses the same name again, and DELETE ends it", async () => {
  await using site = await startConnectConsole();
  const json = { name: "hr", targets: ["default"], access: "read" };
  const made = await ask(site, "/credentials", { method: "POST", json });
  assertMatch(made.body.url, /\/idm\/scim\/default\/Users$/);
  const list = await ask(site, "/credentials");
  assert(!list.text.includes(made.body.password));
  assertEquals(
    (await ask(site, "/credentials", { method: "POST", json })).body.error.code,
    "credential_taken",
  );
  assertEquals((await ask(site, "/credentials/hr", { method: "DELETE" })).status, 200);
  assertEquals(
    (await ask(site, "/credentials/hr", { method: "DELETE" })).body.error.code,
    "unknown_credential",
  );
  const unknown = { ...json, targets: ["unknown"] };
  const refused = await ask(site, "/credentials", { method: "POST", json: unknown });
  assertEquals(refused.body.error.code, "unknown_target");
});

Deno.test("GET /health reports a failing backend and the time of its last success, and a test checks it again", async () => {
  await using site = await startConnectConsole();
  const backend = async () => {
    const { body } = await ask(site, "/health", { role: "viewer" });
    return body.parts.find(({ id }) => id === "backend:default/ldap");
  };
  assertEquals((await backend())?.state, "unknown");
  const test = () =>
    ask(site, "/health/test", { role: "operator", method: "POST", json: { id: "backend:default/ldap" } });
  assertEquals((await test()).body.part.state, "ok");
  const good = (await backend())?.lastGoodMs;
  site.people.backend("ldap").trouble({ operation: "probe", how: "before" });
  const failed = (await test()).body.part;
  assertEquals([failed.state, failed.lastGoodMs], ["bad", good]);
  const none = await ask(site, "/health/test", { role: "operator", method: "POST", json: { id: "http" } });
  assertEquals(none.body.error.code, "unknown_part");
});

Deno.test("GET /health warns that phones cannot reach a loopback address, and that the outbox sends nothing", async () => {
  const partsOf = async (toml: string) => {
    await using site = await startConnectConsole({ toml });
    const { body } = await ask(site, "/health", { role: "viewer" });
    return Object.fromEntries(body.parts.map(({ id, state, note }) => [id, [state, note]]));
  };
  const first = await partsOf('[http]\npublic_url = "http://localhost:8080"');
  assertEquals([first.second_factor, first.telephony], [["warning", "loopback_url"], ["off", "not_sent"]]);
  const named = await partsOf('[http]\npublic_url = "https://login.example.org"');
  assertEquals(named.second_factor, ["ok", undefined]);
});
