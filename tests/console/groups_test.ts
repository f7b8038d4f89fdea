// The API of groups and devices: lists, members, reply attributes, backend results, audit records and permissions.

import { assert, assertEquals } from "@std/assert";
import type {
  GroupChangeResult,
  GroupPage,
  GroupView,
  MemberPage,
} from "../../console/api/groups/group_types.ts";
import { toResultMessage } from "../../console/web/app/action.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";

const GROUPS = "/console/api/groups";
const HOSTILE = `"><img src=x onerror=alert(1)>`;
const REPLIES = '[radius.reply.group.staff]\n"Filter-Id" = "vpn-staff"\n';

async function staffOf(site: PeopleConsole, size: number): Promise<void> {
  const names = Array.from({ length: size }, (_, at) => `user${String(at).padStart(3, "0")}`);
  for (const name of names) await site.put(name, { displayName: `The ${name}` });
  await site.putGroup("staff", names);
}

Deno.test("groups: the list has pages, a search, member counts, and reply attributes of the settings", async () => {
  await using site = await startPeopleConsole({ toml: REPLIES });
  await staffOf(site, 3);
  await site.putGroup(HOSTILE);
  const get = apiCaller(site, await site.signIn("viewer"));
  const page = await get<GroupPage>(`${GROUPS}?size=1&page=2`);
  assertEquals([page.total, page.rows[0]?.name, page.rows[0]?.members, page.rows[0]?.replies], [
    2,
    "staff",
    3,
    1,
  ]);
  assertEquals((await get<GroupPage>(`${GROUPS}?q=staff`)).rows.map(({ name }) => name), ["staff"]);
  const hostile = await get<GroupView>(`${GROUPS}/${encodeURIComponent(HOSTILE)}`);
  assertEquals([hostile.name, hostile.members], [HOSTILE, 0]);
  assertEquals((await get<GroupView>(`${GROUPS}/staff`)).replies, [{
    name: "Filter-Id",
    value: "vpn-staff",
  }]);
});

Deno.test("groups: members have pages and a search, and show whether the directory knows them", async () => {
  await using site = await startPeopleConsole();
  await staffOf(site, 25);
  await site.target.changeMembers("staff", { add: ["nobody"], remove: [] }, {
    actor: { name: "test", source: "" },
  });
  const get = apiCaller(site, await site.signIn("viewer"));
  const second = await get<MemberPage>(`${GROUPS}/staff/members?size=20&page=2`);
  assertEquals([second.total, second.rows.length], [26, 6]);
  const found = await get<MemberPage>(`${GROUPS}/staff/members?q=NOB`);
  assertEquals(found.rows.map(({ name, known }) => [name, known]), [["nobody", false]]);
  const [user] = (await get<MemberPage>(`${GROUPS}/staff/members?q=user007`)).rows;
  assertEquals(user?.displayName, "The user007");
});

Deno.test("groups: create, fill, empty and delete a group; each change has its results and its record", async () => {
  await using site = await startPeopleConsole({ shape: { local: "store", ldap: "sync" } });
  await site.put("ada");
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const made = await ask<GroupChangeResult>(GROUPS, { method: "POST", json: { name: "ops" } });
  assertEquals(made.receipt.entries.map(({ outcome }) => outcome), ["done", "done"]);
  const change = (json: unknown) => ask<GroupChangeResult>(`${GROUPS}/ops/members`, { method: "PUT", json });
  assertEquals((await change({ add: ["ada", "bob"], remove: [] })).group?.members, 2);
  assertEquals((await change({ add: [], remove: ["bob"] })).group?.members, 1);
  const gone = await ask<GroupChangeResult>(`${GROUPS}/ops`, { method: "DELETE", json: {} });
  assertEquals([gone.group, gone.receipt.entries.length], [null, 2]);
  const records = (await site.audits()).filter(({ group, object }) =>
    group === "ops" || object === "group:ops"
  );
  assertEquals(records.length, 4);
  assert(records.every(({ actor }) => String(actor).includes("user_manager")));
});

Deno.test("groups: members that a backend does not store appear in the results, the sync status and the list", async () => {
  await using site = await startPeopleConsole({
    shape: { local: "store", ldap: "sync" },
    knownMembersOnly: true,
  });
  const ask = apiCaller(site, await site.signIn("user_manager"));
  await ask<GroupChangeResult>(GROUPS, { method: "POST", json: { name: "ops" } });
  const change = (json: unknown) => ask<GroupChangeResult>(`${GROUPS}/ops/members`, { method: "PUT", json });
  const notStored = { count: 2, names: ["bob", "eve"] };
  const { receipt } = await change({ add: ["bob", "eve"], remove: [] });
  assertEquals(receipt.entries[1], { backend: "ldap", outcome: "done", notStored });
  assertEquals(toResultMessage("Saved", receipt).tone, "wait");
  const view = await ask<GroupView>(`${GROUPS}/ops`);
  assertEquals(view.backends.map(({ state }) => state?.notStored), [undefined, notStored]);
  const marks = async () =>
    (await ask<GroupPage>(GROUPS)).rows[0]?.backends.map(({ notStored }) => notStored);
  assertEquals(await marks(), [undefined, 2]);
  const whole = await change({ add: [], remove: ["bob", "eve"] });
  assertEquals([toResultMessage("Saved", whole.receipt).tone, await marks()], ["ok", [undefined, undefined]]);
});

Deno.test("groups: a backend that fails is named, and no group is created", async () => {
  await using site = await startPeopleConsole({ shape: { local: "store", ldap: "sync" } });
  site.backend("ldap").trouble({ operation: "put", how: "before", fault: { kind: "refused", retry: false } });
  const cookie = await site.signIn("user_manager");
  const refused = await site.call(GROUPS, { method: "POST", json: { name: "ops" }, cookie });
  const body: { error: { code: string; receipt: { entries: { backend: string; outcome: string }[] } } } =
    await refused.json();
  assertEquals([refused.status, body.error.code], [502, "backend_failed"]);
  assert(
    body.error.receipt.entries.some(({ backend, outcome }) => backend === "ldap" && outcome === "failed"),
  );
  assertEquals(await site.target.directory.read("group", "ops"), null);
});

Deno.test("groups: a new name that resembles another one is refused; a group with such a name can be read, changed and deleted", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  await site.putGroup("v\u200bpn");
  const cookie = await site.signIn("user_manager");
  const create = (name: string) =>
    site.call("/console/api/groups", { method: "POST", json: { name }, cookie });
  const refused = await create("s\u200btaff");
  assertEquals([refused.status, await codeOf(refused)], [400, "bad_value"]);
  const path = `/console/api/groups/${encodeURIComponent("v\u200bpn")}`;
  const ask = apiCaller(site, cookie);
  assertEquals((await ask<GroupView>(path)).name, "v\u200bpn");
  await ask(`${path}/members`, { method: "PUT", json: { add: ["ada"], remove: [] } });
  await ask(path, { method: "DELETE", json: {} });
  assertEquals(await site.target.directory.read("group", "v\u200bpn"), null);
});

Deno.test("groups: an owner sets reply attributes; the view shows the effective ones, and the record the values before and after", async () => {
  await using site = await startPeopleConsole({ toml: '[radius.reply.default]\n"Session-Timeout" = 600\n' });
  await site.putGroup("ops");
  const ask = apiCaller(site, await site.signIn("owner"));
  const json = { attributes: [{ name: "Filter-Id", value: "ops" }], version: 0 };
  const given = await ask<GroupView>(`${GROUPS}/ops/replies`, { method: "PUT", json });
  assertEquals([given.repliesFrom, given.repliesVersion, given.replies], [
    "console",
    1,
    [{ name: "Filter-Id", value: "ops" }],
  ]);
  assertEquals(given.effective, [
    { name: "Session-Timeout", value: "600", from: "default" },
    { name: "Filter-Id", value: "ops", from: "group" },
  ]);
  const record = (await site.audits()).find(({ action }) => action === "group.replies");
  assertEquals([record?.before, record?.after, record?.object], [{}, { "Filter-Id": "ops" }, "group:ops"]);
  const several = [{ name: "Class", value: "a" }, { name: "Class", value: "b" }];
  const changed = await ask<GroupView>(`${GROUPS}/ops/replies`, {
    method: "PUT",
    json: { attributes: several, groups: "all", version: 1 },
  });
  assertEquals([changed.replies, changed.repliesGroups], [several, "all"]);
  await ask(`${GROUPS}/ops`, { method: "DELETE", json: {} });
  await site.putGroup("ops");
  assertEquals((await ask<GroupView>(`${GROUPS}/ops`)).replies, []);
});

Deno.test("groups: a deleted group loses its reply attributes in the same commit, whichever way it is deleted", async () => {
  await using site = await startPeopleConsole();
  const ask = apiCaller(site, await site.signIn("owner"));
  const target = site.target;
  for (const members of [[], Array.from({ length: 300 }, (_, at) => `user${at}`)]) {
    await site.putGroup("ops", members);
    const json = { attributes: [{ name: "Filter-Id", value: "ops" }], version: 0 };
    await ask(`${GROUPS}/ops/replies`, { method: "PUT", json });
    const actor = { name: "scim:provisioner", source: "192.0.2.9" };
    const removed = await target.remove("group", "OPS", { actor });
    assertEquals(removed.stored, null);
    assertEquals(await Array.fromAsync(site.store.list(["reply_group"])), []);
    await site.putGroup("Ops", []);
    const { replies, repliesVersion } = await ask<GroupView>(`${GROUPS}/ops`);
    assertEquals([replies, repliesVersion], [[], 0]);
    await target.remove("group", "ops", { actor });
  }
});

Deno.test("groups: a new group does not inherit reply attributes that a crash or an older version left", async () => {
  await using site = await startPeopleConsole();
  const value = { group: "ops", attributes: { Class: "left over" }, version: 3 };
  await site.store.commit({ mutations: [{ type: "set", key: ["reply_group", "ops"], value }] });
  await site.putGroup("ops");
  assertEquals(await Array.fromAsync(site.store.list(["reply_group"])), []);
});

for (
  const [what, attributes, version, role, code] of [
    ["an older version", [{ name: "Class", value: "x" }], 3, "owner", "changed_meanwhile"],
    ["a value that does not fit", [{ name: "Session-Timeout", value: "soon" }], 0, "owner", "bad_value"],
    [
      "several values of an attribute that an Access-Accept has once",
      [{ name: "Session-Timeout", value: "1" }, { name: "Session-Timeout", value: "2" }],
      0,
      "owner",
      "bad_value",
    ],
    ["a caller who is not an owner", [], 0, "user_manager", "role"],
  ] as const
) {
  Deno.test(`groups: reply attributes are refused for ${what} as ${code}`, async () => {
    await using site = await startPeopleConsole();
    await site.putGroup("ops");
    const json = { attributes, version };
    const cookie = await site.signIn(role);
    const refused = await site.call(`${GROUPS}/ops/replies`, { method: "PUT", json, cookie });
    assertEquals(await codeOf(refused), code);
  });
}

Deno.test("groups: reply attributes of the settings file can only be changed there", async () => {
  await using site = await startPeopleConsole({ toml: REPLIES });
  await site.putGroup("staff");
  const cookie = await site.signIn("owner");
  const json = { attributes: [], version: 0 };
  const refused = await site.call(`${GROUPS}/staff/replies`, { method: "PUT", json, cookie });
  assertEquals(await codeOf(refused), "settings_replies");
});
