// The desk makes, lists and revokes credentials of the identity interface.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { done, openDeskStage, present, refusal, refused } from "./desk_stage.ts";

Deno.test("desk scim_credential.add tells the password once, and stores and records it nowhere", async () => {
  await using stage = await openDeskStage();
  const { did, made } = await done(stage, { op: "scim_credential.add", name: "saas", access: "write" });
  const { password, url } = present(made);
  assertEquals(did, 'Credential "saas" may write "default".');
  assertStringIncludes(url, "/idm/scim/default/Users");
  const found = await stage.credentials.check({ name: "saas", password: present(password) }, "192.0.2.1");
  assertEquals(found, { name: "saas", targets: ["default"], access: "write" });
  assertEquals((await stage.dump()).includes(present(password)), false);
  assertEquals((await stage.audits()).map(({ actor, action, objects }) => [actor, action, objects]), [
    ["command", "scim_credential.add", ["credential:default/saas"]],
  ]);
  const { credentials } = await done(stage, { op: "scim_credential.list" });
  assertEquals(present(credentials).map(({ name, access }) => [name, access]), [["saas", "write"]]);
});

Deno.test("desk scim_credential.revoke ends a credential, with a record", async () => {
  await using stage = await openDeskStage();
  const { made } = await done(stage, { op: "scim_credential.add", name: "saas" });
  const right = { name: "saas", password: present(present(made).password) };
  await stage.credentials.check(right, "192.0.2.1");
  await done(stage, { op: "scim_credential.revoke", name: "saas" });
  assertEquals(await stage.credentials.check(right, "192.0.2.1"), null);
  assertEquals((await stage.audits()).map(({ action }) => action), [
    "scim_credential.add",
    "scim_credential.revoke",
  ]);
});

const add = { op: "scim_credential.add", name: "saas" };
const REFUSED: readonly (readonly [request: Record<string, unknown>, reason: string])[] = [
  [{ ...add, name: "a b" }, "bad_input"],
  [{ ...add, name: "" }, "bad_input"],
  [{ ...add, name: 5 }, "bad_input"],
  [{ ...add, access: "admin" }, "bad_input"],
  [{ ...add, password: "short" }, "bad_input"],
  [{ ...add, password: "a line\nand another" }, "bad_input"],
  [{ ...add, targets: 5 }, "bad_input"],
  [{ ...add, targets: "elsewhere" }, "unknown_target"],
  [{ ...add, targets: "default,elsewhere" }, "unknown_target"],
  [{ ...add, targets: "," }, "unknown_target"],
  [{ ...add, owner: "x" }, "not_a_request"],
  [{ op: "scim_credential.revoke", name: "nobody" }, "unknown_credential"],
  [{ op: "scim_credential.list", name: "saas" }, "not_a_request"],
];
Deno.test("the desk refuses what is no sound credential, and changes and records nothing", async () => {
  await using stage = await openDeskStage();
  for (const [request, reason] of REFUSED) assertEquals(await refusal(stage, request), reason);
  assertEquals(await stage.dump(), "");
});

Deno.test("desk scim_credential.add quotes no password, and says failed when the store fails", async () => {
  await using stage = await openDeskStage();
  const { message } = await refused(stage, { ...add, password: "planted\tpassword" });
  assertEquals(message.includes("planted"), false);
  stage.breakStore();
  assertEquals((await refused(stage, { ...add, password: "planted password" })).reason, "failed");
});
