// A change that is refused because its version is outdated: the answer has the actor and time of the newest change.

import { assert, assertEquals } from "@std/assert";
import type { GroupView } from "../../console/api/groups/group_types.ts";
import type { UserView } from "../../console/api/users/user_types.ts";
import type { LastChange, RefusalBody } from "../../console/api/errors.ts";
import { CLIENT_RULES } from "../fakes/client_rules.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { auditObjectHref } from "../../console/web/app/audit_links.ts";
import { auditHref } from "../../console/web/components/page_layout.tsx";
import { changeRows } from "../../console/web/pages/audit/change_text.tsx";

const API = "/console/api";

/** The newest change in a refused answer, without its time, which must be within this test. */
async function lastChangeOf(
  site: Pick<PeopleConsole, "call">,
  path: string,
  { role, ...call }: {
    role: string;
    method: string;
    json: unknown;
    cookies: Readonly<Record<string, string>>;
  },
): Promise<Omit<LastChange, "atMs"> | null> {
  const { cookies, ...rest } = call;
  const response = await site.call(API + path, { ...rest, cookie: cookies[role] ?? "" });
  const { error }: RefusalBody = await response.json();
  assertEquals([response.status, error.code], [409, "changed_meanwhile"]);
  if (error.lastChange === undefined) return null;
  const { atMs, ...change } = error.lastChange;
  assert(Math.abs(Date.now() - atMs) < 60_000, String(atMs));
  return change;
}

async function cookiesOf(site: Pick<PeopleConsole, "signIn">): Promise<Record<string, string>> {
  return { owner: await site.signIn("owner"), user_manager: await site.signIn("user_manager") };
}

Deno.test("PUT and DELETE /users/:id name the actor of the newest change of the user, and whether that is the caller", async () => {
  await using site = await startPeopleConsole();
  await site.put("Ada");
  const cookies = await cookiesOf(site);
  const ask = apiCaller(site, cookies.owner ?? "");
  const version = (await ask<UserView>(`${API}/users/ada`)).record?.version;
  await ask(`${API}/users/ada`, { method: "PUT", json: { user: { title: "first" }, version } });
  // A later event of the user that is not a change.
  await ask(`${API}/users/ada/unlock`, { method: "POST", json: {} });
  const json = { user: { title: "second" }, version };
  const put = { method: "PUT", json, cookies };
  const byOther = await lastChangeOf(site, "/users/ada", { ...put, role: "user_manager" });
  assertEquals(byOther, { actor: "owner", isOwn: false });
  const byMe = await lastChangeOf(site, "/users/ada", { ...put, role: "owner" });
  assertEquals(byMe, { actor: "owner", isOwn: true });
  await site.target.replace(
    { kind: "user", name: "Ada", active: true, attributes: { title: "third" } },
    { actor: { name: "scim:hr", source: "192.0.2.7" } },
  );
  const remove = { method: "DELETE", json: { version }, cookies };
  const byScim = await lastChangeOf(site, "/users/ada", { ...remove, role: "owner" });
  assertEquals(byScim, { actor: "scim:hr", isOwn: false });
});

Deno.test("PUT /users/:id does not name a change that the audit log no longer has", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  for await (const { key } of site.store.list(["audit_by"])) {
    await site.store.commit({ mutations: [{ type: "delete", key }] });
  }
  const cookies = { owner: await site.signIn("owner") };
  const put = { method: "PUT", json: { user: {}, version: "1.0" }, cookies, role: "owner" };
  assertEquals(await lastChangeOf(site, "/users/ada", put), null);
});

Deno.test("DELETE /groups/:id and PUT /groups/:id/replies name the actor of the newest change of the group", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  await site.putGroup("ops");
  const cookies = await cookiesOf(site);
  const manager = apiCaller(site, cookies.user_manager ?? "");
  const { version } = await manager<GroupView>(`${API}/groups/ops`);
  await manager(`${API}/groups/ops/members`, { method: "PUT", json: { add: ["ada"], remove: [] } });
  const remove = { method: "DELETE", json: { version }, cookies };
  const members = await lastChangeOf(site, "/groups/ops", { ...remove, role: "owner" });
  assertEquals(members, { actor: "user_manager", isOwn: false });
  const replies = { attributes: [{ name: "Class", value: "x" }], version: 0 };
  await apiCaller(site, cookies.owner ?? "")(`${API}/groups/ops/replies`, { method: "PUT", json: replies });
  await manager(`${API}/groups/ops/members`, { method: "PUT", json: { add: [], remove: ["ada"] } });
  const put = { method: "PUT", json: replies, cookies };
  const attributes = await lastChangeOf(site, "/groups/ops/replies", { ...put, role: "owner" });
  assertEquals(attributes, { actor: "owner", isOwn: true }, "members are no reply attributes");
});

Deno.test("PUT /clients/:id names the actor of the newest change of the client", async () => {
  await using site = await startConnectConsole();
  const cookies = await cookiesOf(site);
  const call = async (path: string, method: string, json: unknown) => {
    const response = await site.call(API + path, { method, json, cookie: cookies.owner ?? "" });
    assertEquals(response.status, 200, await response.text());
  };
  await call("/clients", "POST", { ...CLIENT_RULES, name: "vpn-1", secret: "a-secret-of-16-octets" });
  await call("/clients/vpn-1/secret", "POST", { secret: "another-secret-of-it", overlapMs: 0 });
  const put = { method: "PUT", json: { ...CLIENT_RULES, version: 1 }, cookies, role: "owner" };
  assertEquals(await lastChangeOf(site, "/clients/vpn-1", put), { actor: "owner", isOwn: true });
});

const json = (value: unknown) => JSON.stringify(value);
const CHANGES = {
  "nothing": { before: "", after: "", rows: [] },
  "two texts": { before: "a", after: "b", rows: [{ name: "", before: "a", after: "b" }] },
  "parts": {
    before: json({ address: ["10.0.0.1"], device: "hold", off: false }),
    after: json({ address: ["10.0.0.1", "10.0.0.2"], device: "hold", off: true, more: { a: 1 } }),
    rows: [
      { name: "address", before: "10.0.0.1", after: "10.0.0.1, 10.0.0.2" },
      { name: "off", before: "false", after: "true" },
      { name: "more", before: "", after: '{"a":1}' },
    ],
  },
  "a new value with several parts": {
    before: "",
    after: json({ device: "hold", nas: "" }),
    rows: [{ name: "device", before: "", after: "hold" }],
  },
  "a truncated value": { before: "", after: '{"a":', rows: [{ name: "", before: "", after: '{"a":' }] },
};

for (const [name, { before, after, rows }] of Object.entries(CHANGES)) {
  Deno.test(`changeRows() of ${name}`, () => assertEquals(changeRows({ before, after }), rows));
}

Deno.test("auditObjectHref() links to the page of the object if it has one", () => {
  assertEquals(auditObjectHref("user:a/b?c"), "/users/a%2Fb%3Fc");
  assertEquals(auditObjectHref("credential:default/saas"), "/credentials");
  for (const none of ["audit", "message:1", "user:", "javascript:alert(1)", "toString:x", "constructor:x"]) {
    assertEquals(auditObjectHref(none), null, none);
  }
  assertEquals(auditHref('user:"><img>'), "/audit?object=user%3A%22%3E%3Cimg%3E");
});
