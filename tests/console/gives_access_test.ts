// Every route that writes users and groups, with every change that gives a person access: refused for API tokens, a recent factor for
// people. And the same routes with changes that give no access.

import { assertEquals } from "@std/assert";
import { RECENT_FACTOR_MS } from "../../console/api/auth/permissions.ts";
import type { JobView } from "../../console/api/api_types.ts";
import type { UserView } from "../../console/api/users/user_types.ts";
import type { TrashPage } from "../../console/api/trash/trash_types.ts";
import { createManualClock, PASSWORD } from "../fakes/console_app.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";
import { type PeopleConsole, SCIM_ACTOR, startPeopleConsole } from "../fakes/console_people.ts";

const API = "/console/api";
const NUMBER = "+14155550123";
const TOML =
  '[radius.reply.group.staff]\n"Filter-Id" = "vpn-staff"\n[radius.reply.user.fixed]\nClass = "fixed"\n' +
  '[radius.reply.from_directory]\nClass = "nickName"\n';

interface Change {
  readonly method: "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly json: unknown;
}

interface ChangeRow {
  readonly name: string;
  /** Prepares users and groups, and returns the change. */
  readonly change: (site: PeopleConsole) => Change | Promise<Change>;
}

const post = (path: string, json: unknown): Change => ({ method: "POST", path, json });
const put = (path: string, json: unknown): Change => ({ method: "PUT", path, json });
const remove = (path: string, json: unknown = {}): Change => ({ method: "DELETE", path, json });
const created = (attributes: object): Change => post("/users", { user: { userName: "new", ...attributes } });
const bulk = (action: string, names: readonly string[], group?: string): Change =>
  post("/bulk", { choice: { names }, action, ...(group === undefined ? {} : { group }) });

/** A replacement of ada, who has these attributes. */
async function replaced(
  site: PeopleConsole,
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): Promise<Change> {
  await site.put("ada", before);
  const stored = await site.target.directory.read("user", "ada");
  return put("/users/ada", { user: { userName: "ada", ...after }, version: stored?.version });
}

async function withPhone(site: PeopleConsole, user: string): Promise<void> {
  await site.put(user);
  await site.pairings.addDevice({ id: `phone of ${user}`, userName: user, totpLength: 6 });
}

/** Groups in the named group Admins. */
async function nested(site: PeopleConsole): Promise<void> {
  await site.putGroup("Admins", ["inner"]);
  await site.putGroup("Inner", ["innermost"]);
  await site.putGroup("innermost", ["bob"]);
}

/** The groups that a policy or a reply attribute names: a condition, an exception, a disabled policy, the settings. */
const NAMED = ["Admins", "Partners", "Later", "staff"];

async function namePolicies(site: PeopleConsole): Promise<void> {
  const policy = (id: string, conditions: Record<string, readonly string[]>, enabled = true) => ({
    ...{ id, name: id, enabled, conditions },
    outcome: { kind: "bypass" as const },
  });
  const { registry } = site.policies;
  const stored = await registry.replace([
    policy("row1", { groups: ["Admins"], exceptUsers: ["chief"] }),
    policy("row2", { groups: ["everyone"], exceptGroups: ["Partners"] }),
    policy("row3", { groups: ["Later"] }, false),
  ], { version: registry.list.version, audit: [] });
  assertEquals(stored.ok, true, JSON.stringify(stored));
}

/** Changes that give access, by the route. */
const GIVES: readonly ChangeRow[] = [
  { name: "a reply attribute", change: (site) => replaced(site, { nickName: "a" }, { nickName: "b" }) },
  { name: "a new user whose name a reply attribute names", change: () => created({ userName: "fixed" }) },
  { name: "a new user with a password", change: () => created({ password: "secret" }) },
  { name: "a new user with a phone number", change: () => created({ phoneNumbers: [{ value: NUMBER }] }) },
  {
    name: "a new user with a mail address",
    change: () => created({ emails: [{ value: "m@evil.example" }] }),
  },
  {
    name: "a new user under the name of a deleted one",
    async change(site) {
      await site.put("bob");
      await site.target.remove("user", "bob", { actor: SCIM_ACTOR });
      return post("/users", { user: { userName: "BOB" } });
    },
  },
  {
    name: "a new user under a name that has a factor",
    async change(site) {
      await site.pairings.addDevice({ id: "p", userName: "bob", totpLength: 6 });
      return post("/users", { user: { userName: "Bob" } });
    },
  },
  {
    name: "a new user under a name that a named group lists",
    async change(site) {
      await site.putGroup("Admins", ["bob"]);
      return post("/users", { user: { userName: "bob" } });
    },
  },
  {
    name: "a new user under a name that a policy names",
    change: () => post("/users", { user: { userName: "Chief" } }),
  },
  {
    name: "a replacement with a password",
    change: (site) => replaced(site, {}, { password: "secret" }),
  },
  {
    name: "a replacement with another number",
    change: (site) =>
      replaced(site, { phoneNumbers: [{ value: "+14155550199" }] }, { phoneNumbers: [{ value: NUMBER }] }),
  },
  {
    name: "a replacement without the number, which is a factor",
    change: (site) => replaced(site, { phoneNumbers: [{ value: NUMBER }] }, {}),
  },
  {
    name: "a replacement with another mail address",
    change: (site) =>
      replaced(site, { emails: [{ value: "ada@corp.example" }] }, { emails: [{ value: "m@evil.example" }] }),
  },
  {
    name: "a replacement with a further mail address",
    change: (site) => replaced(site, {}, { emails: ["m@evil.example"] }),
  },
  {
    name: "a replacement with another primary mail address",
    change: (site) =>
      replaced(site, { emails: [{ value: "a@corp.example" }, { value: "b@corp.example" }] }, {
        emails: [{ value: "a@corp.example" }, { value: "b@corp.example", primary: true }],
      }),
  },
  {
    name: "a replacement without the mail address that mails go to",
    change: (site) =>
      replaced(site, { emails: [{ value: "a@corp.example" }, { value: "b@corp.example" }] }, {
        emails: [{ value: "b@corp.example" }],
      }),
  },
  {
    name: "a replacement that activates",
    change: (site) => replaced(site, { active: false }, { active: true }),
  },
  {
    name: "an activation",
    async change(site) {
      await site.put("ada", { active: false });
      return put("/users/ada/active", { active: true });
    },
  },
  {
    name: "a password",
    async change(site) {
      await site.put("ada");
      return put("/users/ada/password", { password: "secret" });
    },
  },
  {
    name: "the deletion of a user with a phone",
    async change(site) {
      await withPhone(site, "ada");
      return remove("/users/Ada");
    },
  },
  {
    name: "the deletion of a user who had a phone",
    async change(site) {
      await withPhone(site, "ada");
      await site.pairings.revoke("phone of ada");
      return remove("/users/ada");
    },
  },
  {
    name: "the deletion of a user with a number",
    async change(site) {
      await site.put("ada", { phoneNumbers: [{ value: NUMBER }] });
      return remove("/users/ada");
    },
  },
  ...NAMED.flatMap((group): ChangeRow[] => [
    {
      name: `a user who joins ${group}`,
      async change(site) {
        await site.put("ada");
        await site.putGroup(group);
        return put("/users/ada/groups", { add: [group.toUpperCase()], remove: [] });
      },
    },
    {
      name: `a user who leaves ${group}`,
      async change(site) {
        await site.put("ada");
        await site.putGroup(group, ["ada"]);
        return put("/users/ada/groups", { add: [], remove: [group] });
      },
    },
    {
      name: `the new group ${group} with a member`,
      async change(site) {
        await site.put("ada");
        return post("/groups", { name: group, members: ["ada"] });
      },
    },
    {
      name: `a new member of ${group}`,
      async change(site) {
        await site.put("ada");
        await site.putGroup(group);
        return put(`/groups/${group.toLowerCase()}/members`, { add: ["ada"], remove: [] });
      },
    },
    {
      name: `a member less in ${group}`,
      async change(site) {
        await site.put("ada");
        await site.putGroup(group, ["ada"]);
        return put(`/groups/${group}/members`, { add: [], remove: ["ADA"] });
      },
    },
    {
      name: `the deletion of ${group}`,
      async change(site) {
        await site.putGroup(group);
        return remove(`/groups/${group}`);
      },
    },
    {
      name: `many users who join ${group}`,
      async change(site) {
        await site.put("ada");
        await site.putGroup(group, ["ada"]);
        await site.put("bob");
        return bulk("join", ["ada", "bob"], group);
      },
    },
    {
      name: `many users who leave ${group}`,
      async change(site) {
        await site.put("ada");
        await site.putGroup(group, ["ada"]);
        return bulk("leave", ["ada"], group);
      },
    },
  ]),
  {
    name: "a user who joins a group in a named group",
    async change(site) {
      await site.put("ada");
      await nested(site);
      return put("/users/ada/groups", { add: ["Inner"], remove: [] });
    },
  },
  {
    name: "a new member of a group in a group in a named group",
    async change(site) {
      await site.put("ada");
      await nested(site);
      return put("/groups/innermost/members", { add: ["ada"], remove: [] });
    },
  },
  {
    name: "a group more in a group in a named group",
    async change(site) {
      await nested(site);
      await site.putGroup("ops", ["ada"]);
      return put("/groups/inner/members", { add: ["ops"], remove: [] });
    },
  },
  {
    name: "the deletion of a group in a named group",
    async change(site) {
      await nested(site);
      return remove("/groups/inner");
    },
  },
  {
    name: "a new group with members under a name that a named group lists",
    async change(site) {
      await site.putGroup("Admins", ["inner"]);
      return post("/groups", { name: "inner", members: ["ada"] });
    },
  },
  {
    name: "many users who join a group in a named group",
    async change(site) {
      await site.put("ada");
      await nested(site);
      return bulk("join", ["ada"], "inner");
    },
  },
  {
    name: "a bulk activation",
    async change(site) {
      await site.put("ada", { active: false });
      return bulk("activate", ["ada"]);
    },
  },
  {
    name: "a bulk deletion with one user who has a factor",
    async change(site) {
      await site.put("ada");
      await withPhone(site, "bob");
      return bulk("delete", ["ada", "bob"]);
    },
  },
  {
    name: "an import",
    change: () =>
      post("/imports/rows", {
        target: "default",
        rows: [{ kind: "user", body: { userName: "new", password: "secret" } }],
      }),
  },
  {
    name: "a restore from the trash",
    async change(site) {
      await site.put("bob");
      await site.target.remove("user", "bob", { actor: SCIM_ACTOR });
      const owner = apiCaller(site, await site.signIn("owner"));
      const { rows } = await owner<TrashPage>(`${API}/trash`);
      return post("/trash/restore", { ids: rows.map(({ id }) => id) });
    },
  },
];

/** Changes by the same routes that give no access. */
const GIVES_NONE: readonly ChangeRow[] = [
  { name: "a new user", change: () => post("/users", { user: { userName: "new", displayName: "N" } }) },
  {
    name: "a replacement with another title",
    change(site) {
      const kept = { phoneNumbers: [{ value: NUMBER }], emails: [{ value: "ada@corp.example" }] };
      return replaced(site, { ...kept, groups: [] }, { ...kept, title: "Dr" });
    },
  },
  {
    name: "a replacement without the only mail address",
    change: (site) => replaced(site, { emails: [{ value: "ada@corp.example" }] }, {}),
  },
  {
    name: "a deactivation",
    async change(site) {
      await withPhone(site, "ada");
      return put("/users/ada/active", { active: false });
    },
  },
  {
    name: "the deletion of a user without a factor",
    async change(site) {
      await site.put("ada", { emails: [{ value: "ada@corp.example" }] });
      return remove("/users/ada");
    },
  },
  {
    name: "other groups of a user",
    async change(site) {
      await site.put("ada");
      await site.putGroup("old", ["ada"]);
      await site.putGroup("new");
      return put("/users/ada/groups", { add: ["new"], remove: ["old"] });
    },
  },
  {
    name: "a member who joins a named group again",
    async change(site) {
      await site.put("ada");
      await site.putGroup("Admins", ["ada"]);
      return put("/users/ada/groups", { add: ["Admins"], remove: [] });
    },
  },
  { name: "a new group", change: () => post("/groups", { name: "ops", members: ["ada"] }) },
  { name: "a named group without members", change: () => post("/groups", { name: "Admins" }) },
  {
    name: "the deletion of a group",
    async change(site) {
      await site.putGroup("ops", ["ada"]);
      return remove("/groups/ops");
    },
  },
  {
    name: "members of a group",
    async change(site) {
      await site.putGroup("ops", ["ada"]);
      return put("/groups/ops/members", { add: ["bob"], remove: ["ada"] });
    },
  },
  {
    name: "many users who join a group",
    async change(site) {
      await site.put("ada");
      await site.putGroup("ops");
      return bulk("join", ["ada"], "ops");
    },
  },
  {
    name: "a bulk deactivation",
    async change(site) {
      await withPhone(site, "ada");
      return bulk("deactivate", ["ada"]);
    },
  },
  {
    name: "a bulk deletion of users without factors",
    async change(site) {
      await site.put("ada");
      return bulk("delete", ["ada"]);
    },
  },
];

/** The callers of one console: an API token of an owner, a person whose sign-in is old, and one who just signed in. */
async function openCallers() {
  const clock = createManualClock(Date.now());
  const site = await startPeopleConsole({ clock, toml: TOML });
  await namePolicies(site);
  const cookie = await site.signIn("owner");
  const json = { name: "ci", role: "owner", days: 30 };
  const { token } = await apiCaller(site, cookie)<{ token: string }>(`${API}/tokens`, {
    method: "POST",
    json,
  });
  clock.advance(RECENT_FACTOR_MS + 1);
  const ask = async ({ method, path, json }: Change, as: { cookie: string } | { token: string }) => {
    const caller = "token" in as ? { headers: { authorization: `Bearer ${as.token}` } } : as;
    const response = await site.call(API + path, { method, json, ...caller });
    return response.ok ? (await response.body?.cancel(), "done") : await codeOf(response);
  };
  return {
    site,
    token: (change: Change) => ask(change, { token }),
    earlier: (change: Change) => ask(change, { cookie }),
    recent: async (change: Change) => ask(change, { cookie: await site.signIn("user_manager") }),
  };
}

for (const { name, change } of GIVES) {
  Deno.test(`${name} gives access: never by an API token, and by a person with a recent factor`, async () => {
    const { site, token, earlier, recent } = await openCallers();
    await using _site = site;
    const asked = await change(site);
    assertEquals(await token(asked), "not_for_tokens");
    assertEquals(await earlier(asked), "step_up");
    assertEquals(await recent(asked), "done");
  });
}

for (const { name, change } of GIVES_NONE) {
  Deno.test(`${name} gives no access: an API token and a person without a recent factor make the change`, async () => {
    for (const by of ["token", "earlier"] as const) {
      const callers = await openCallers();
      await using site = callers.site;
      assertEquals(await callers[by](await change(site)), "done", by);
    }
  });
}

/** Jobs whose undo gives access. The groups are named after the job. */
type Undone = readonly [action: string, group?: string];
const UNDONE: readonly Undone[] = [["deactivate"], ["delete"], ["join", "Admins"], ["leave", "Admins"]];
for (const [action, group] of UNDONE) {
  Deno.test(`the undo of the job "${action}" gives access`, async () => {
    const clock = createManualClock(Date.now());
    await using site = await startPeopleConsole({ clock });
    await site.put("ada");
    if (group !== undefined) await site.putGroup(group, action === "leave" ? ["ada"] : []);
    const cookie = await site.signIn("owner");
    const ask = apiCaller(site, cookie);
    const { json } = bulk(action, ["ada"], group);
    let job = await ask<JobView>(`${API}/bulk`, { method: "POST", json });
    while (job.state === "running") job = await ask<JobView>(`${API}/jobs/${job.id}`);
    assertEquals(job.changed, 1);
    await namePolicies(site);
    clock.advance(RECENT_FACTOR_MS + 1);
    const undo = () => site.call(`${API}/jobs/${job.id}/undo`, { method: "POST", json: {}, cookie });
    assertEquals(await codeOf(await undo()), "step_up");
    await site.call(`${API}/session/step-up`, { method: "POST", json: { password: PASSWORD }, cookie });
    assertEquals((await undo()).status, 200);
  });
}

Deno.test("a bulk job is judged as a whole: a refused one changes no user", async () => {
  const { site, token } = await openCallers();
  await using _site = site;
  await site.put("ada");
  await withPhone(site, "bob");
  assertEquals(await token(bulk("delete", ["ada", "bob"])), "not_for_tokens");
  const owner = apiCaller(site, await site.signIn("owner"));
  assertEquals((await owner<UserView>(`${API}/users/ada`)).record?.active, true);
});
