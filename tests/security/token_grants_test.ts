// Finding 11: an API token set a user's password, confirmed a TOTP secret for the user, and signed in to the VPN as
// that user.

import { assertEquals } from "@std/assert";
import { fromBase32, totpCode } from "../support/totp.ts";
import { CODES } from "../support/radius_packets.ts";
import type { JobView } from "../../console/api/api_types.ts";
import type { UserView } from "../../console/api/users/user_types.ts";
import { type ApiCaller, CONSOLE, startSecured } from "./console_caller.ts";

/** Waits for the end of a job. */
async function jobEnd(caller: ApiCaller, id: string): Promise<JobView> {
  for (;;) {
    const view = await caller.take<JobView>(`${CONSOLE}/jobs/${id}`);
    if (view.state !== "running") return view;
  }
}

interface BegunTotp {
  readonly id: string;
  readonly secret: string;
}

/**
 * Every change that gives a person a way to sign in, as a request with an owner's API token. A user without a factor
 * can enrol at login.
 */
const GRANTS: readonly (readonly [method: string, path: string, json: unknown])[] = [
  ["PUT", "/users/ceo/password", { password: "chosen by the thief" }],
  ["POST", "/users/ceo/totp", {}],
  ["POST", "/users/ceo/totp/confirm", { id: "0".repeat(32), code: "123456" }],
  ["POST", "/users/ceo/pairings", { kind: "sms", number: "+14155550123" }],
  ["DELETE", "/users/ceo/pairings/any", {}],
  ["DELETE", "/devices/any", {}],
  ["POST", "/hardware-tokens/any/resynchronize", { codes: ["123456", "654321"] }],
  // It says when a guessed code will be valid.
  ["POST", "/hardware-tokens/any/test", { code: "123456" }],
  ["POST", "/users/ceo/invitation", {}],
  ["POST", "/users/ceo/me-link", {}],
  ["POST", "/users/ceo/unlock", {}],
  ["PUT", "/users/ceo/active", { active: true }],
  ["PUT", "/groups/admins/replies", { attributes: { "Filter-Id": "admins" } }],
  ["POST", "/users", { user: { userName: "thief", password: "chosen by the thief" } }],
  ["POST", "/users", { user: { userName: "thief", phoneNumbers: [{ value: "+14155550123" }] } }],
  ["POST", "/imports/any/apply", {}],
  ["POST", "/bulk", { choice: { names: ["ceo"] }, action: "activate" }],
];

Deno.test("an API token gives no user a password, a factor, a link or an unlock, and removes no factor", async (t) => {
  await using site = await startSecured(`
[radius]
first_factor = "directory"
`);
  await site.createUser("ceo", { password: "only the ceo knows it" });
  const thief = await site.tokenCaller("owner");
  assertEquals((await thief.call(`${CONSOLE}/users/ceo`)).status, 200);
  for (const [method, path, json] of GRANTS) {
    await t.step(`${method} ${path} ${JSON.stringify(json)}`, async () => {
      const answer = await thief.call(CONSOLE + path, { method, json });
      assertEquals([answer.status, answer.code], [403, "not_for_tokens"]);
    });
  }
  await t.step("PUT /users/ceo with a phone number of the attacker", async () => {
    const { record } = await thief.take<UserView>(`${CONSOLE}/users/ceo`);
    const { version, attributes } = record ?? { version: "", attributes: {} };
    const user = { ...attributes, userName: "ceo", phoneNumbers: [{ value: "+1 415 555 0123" }] };
    const answer = await thief.call(`${CONSOLE}/users/ceo`, { method: "PUT", json: { user, version } });
    assertEquals([answer.status, answer.code], [403, "not_for_tokens"]);
    const renamed = { ...attributes, userName: "ceo", title: "Chief" };
    assertEquals(
      (await thief.call(`${CONSOLE}/users/ceo`, { method: "PUT", json: { user: renamed, version } })).status,
      200,
    );
  });
  await t.step("the login with the attacker's password is rejected", async () => {
    using client = site.gateway.client();
    const reply = await client.ask({ userName: "ceo", password: "chosen by the thief", nasPort: 1 });
    assertEquals(reply.code, CODES.accessReject);
  });
  await t.step("the owner, with a recent sign-in, can do it", async () => {
    const { secret, id } = await site.owner.take<BegunTotp>(`${CONSOLE}/users/ceo/totp`, { json: {} });
    const code = totpCode(fromBase32(secret), Date.now());
    await site.owner.take(`${CONSOLE}/users/ceo/totp/confirm`, { json: { id, code } });
  });
});

Deno.test("an API token can deactivate users, but cannot activate them by an undo", async () => {
  await using site = await startSecured();
  await site.createUser("bob");
  const thief = await site.tokenCaller("user_manager");
  const json = { choice: { names: ["bob"] }, action: "deactivate" };
  const { id } = await thief.take<JobView>(`${CONSOLE}/bulk`, { json });
  assertEquals((await jobEnd(thief, id)).changed, 1);
  const undo = await thief.call(`${CONSOLE}/jobs/${id}/undo`, { json: {} });
  assertEquals([undo.status, undo.code], [403, "not_for_tokens"]);
  assertEquals((await site.owner.take<UserView>(`${CONSOLE}/users/bob`)).record?.active, false);
});

Deno.test("undo does not change a user whom SCIM deactivated again after the job", async () => {
  await using site = await startSecured(`
[[scim.credential]]
name = "hr"
password = "a password of HR"
targets = ["default"]
access = "write"
`);
  for (const name of ["bob", "eve"]) await site.createUser(name);
  const json = { choice: { names: ["bob", "eve"] }, action: "deactivate" };
  const { id } = await site.owner.take<JobView>(`${CONSOLE}/bulk`, { json });
  assertEquals((await jobEnd(site.owner, id)).changed, 2);
  const written = await fetch(`${site.gateway.httpUrl}/idm/scim/default/Users/bob`, {
    method: "PUT",
    headers: {
      authorization: `Basic ${btoa("hr:a password of HR")}`,
      "content-type": "application/scim+json",
    },
    body: JSON.stringify({ userName: "bob", active: false }),
  });
  await written.body?.cancel();
  assertEquals(written.status, 200);
  const undo = await site.owner.take<JobView>(`${CONSOLE}/jobs/${id}/undo`, { json: {} });
  const { changed, failures } = await jobEnd(site.owner, undo.id);
  assertEquals([changed, failures.map(({ name }) => name)], [1, ["bob"]]);
  const active = (name: string) => site.owner.take<UserView>(`${CONSOLE}/users/${name}`);
  assertEquals((await active("bob")).record?.active, false);
  assertEquals((await active("eve")).record?.active, true);
});

Deno.test("an API token cannot remove a factor of a user, the owner can", async () => {
  await using site = await startSecured();
  await site.createUser("ceo");
  await site.gateway.pair("ceo", "--totp", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
  const thief = await site.tokenCaller("user_manager");
  const { login } = await thief.take<UserView>(`${CONSOLE}/users/ceo`);
  const [totp] = login?.pairings ?? [];
  const paths = [`/users/ceo/pairings/${totp?.id}`, `/devices/${totp?.id}`];
  for (const path of paths) {
    const { status, code } = await thief.call(CONSOLE + path, { method: "DELETE", json: {} });
    assertEquals([status, code], [403, "not_for_tokens"]);
  }
  assertEquals((await site.owner.take<UserView>(`${CONSOLE}/users/ceo`)).login?.pairings.length, 1);
  await site.owner.take(`${CONSOLE}${paths[0]}`, { method: "DELETE", json: {} });
});
