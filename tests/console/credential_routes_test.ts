// POST, GET and DELETE /credentials, as the CLI command uses them.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { apiValue } from "../../cli/admin_connection.ts";
import { openComposition } from "../fakes/composition.ts";

const IN_SETTINGS = `[[scim.credential]]
name = "configured"
password = "planted password of the settings"
targets = ["default"]
access = "write"
`;
const ADDED = { name: "saas", targets: ["default"], access: "write" as const };
const SOURCE = "192.0.2.1";

Deno.test("POST /credentials returns the generated password once, and neither stores nor records it", async () => {
  await using gateway = await openComposition();
  const { api, identity: { credentials } } = gateway;
  const { password, url } = await apiValue(api.credentials.$post({ json: ADDED }));
  assertMatch(password, /^[\w-]{32}$/);
  assertStringIncludes(url, "/idm/scim/default/Users");
  assertEquals(await credentials.check({ name: "saas", password }, SOURCE), ADDED);
  assertEquals((await gateway.dump()).includes(password), false);
  assertEquals((await gateway.audits()).map(({ actor, action, objects }) => [actor, action, objects]), [
    ["command", "scim_credential.add", ["credential:default/saas"]],
  ]);
  const listed = await gateway.ask("GET", "/credentials");
  assertEquals(JSON.parse(listed.text).items.map(({ name }: { name: string }) => name), ["saas"]);
  assertEquals(listed.text.includes(password), false);
});

Deno.test("POST /credentials accepts a password, which works and is not stored in clear", async () => {
  await using gateway = await openComposition();
  const password = "a password of this length";
  await apiValue(gateway.api.credentials.$post({ json: { ...ADDED, password } }));
  assertEquals(await gateway.identity.credentials.check({ name: "saas", password }, SOURCE), ADDED);
  assertEquals((await gateway.dump()).includes(password), false);
});

Deno.test("DELETE /credentials/:id ends a credential at once, with an audit record", async () => {
  await using gateway = await openComposition();
  const { api, identity: { credentials } } = gateway;
  const { password } = await apiValue(api.credentials.$post({ json: ADDED }));
  await credentials.check({ name: "saas", password }, SOURCE);
  await apiValue(api.credentials[":id"].$delete({ param: { id: "saas" } }));
  assertEquals(await credentials.check({ name: "saas", password }, SOURCE), null);
  assertEquals((await gateway.audits()).map(({ actor, action }) => [actor, action]), [
    ["command", "scim_credential.add"],
    ["command", "scim_credential.revoke"],
  ]);
});

const POST = ["POST", "/credentials"] as const;
/** Requests that are refused, and the code of each refusal. */
const REFUSED: readonly (readonly [code: string, method: string, path: string, json?: unknown])[] = [
  ["bad_credential_name", ...POST, { ...ADDED, name: "a b" }],
  ["bad_credential_name", ...POST, { ...ADDED, name: "" }],
  ["malformed", ...POST, { ...ADDED, name: 5 }],
  ["malformed", ...POST, { ...ADDED, access: "admin" }],
  ["malformed", ...POST, { ...ADDED, targets: 5 }],
  ["malformed", ...POST, { ...ADDED, targets: [] }],
  ["malformed", ...POST, { ...ADDED, owner: "x" }],
  ["malformed", ...POST, { ...ADDED, password: "x".repeat(1025) }],
  ["bad_credential_password", ...POST, { ...ADDED, password: "short" }],
  ["bad_credential_password", ...POST, { ...ADDED, password: "a line\nand another" }],
  ["unknown_target", ...POST, { ...ADDED, targets: ["elsewhere"] }],
  ["unknown_target", ...POST, { ...ADDED, targets: ["default", "elsewhere"] }],
  ["settings_credential", ...POST, { ...ADDED, name: "configured" }],
  ["settings_credential", "DELETE", "/credentials/configured"],
  ["unknown_credential", "DELETE", "/credentials/missing"],
];
for (const [code, method, path, json] of REFUSED) {
  const what = `${method} ${path} ${JSON.stringify(json) ?? ""}`.slice(0, 120);
  Deno.test(`${what} is refused as ${code} and stores nothing`, async () => {
    await using gateway = await openComposition(IN_SETTINGS);
    assertEquals((await gateway.ask(method, path, json)).code, code);
    assertEquals(await gateway.dump(), "");
  });
}

Deno.test("POST /credentials quotes no password in a refusal, and creates nothing when the store fails", async () => {
  await using gateway = await openComposition();
  const bad = await gateway.ask(...POST, { ...ADDED, password: "planted\tpassword" });
  assertEquals([bad.code, bad.text.includes("planted")], ["bad_credential_password", false]);
  gateway.breakStore();
  const failed = await gateway.ask(...POST, { ...ADDED, password: "planted password" });
  assertEquals([failed.code, failed.text.includes("planted")], ["internal", false]);
  assertEquals(await gateway.identity.credentials.list(), []);
});
