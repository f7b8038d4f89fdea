// Administrators: invite, change, disable and remove them; the last owner stays; changes end sessions.

import { assertEquals, assertRejects } from "@std/assert";
import { isAdminName, type Role } from "../../console/api/auth/admin_records.ts";
import { AdminStore, createAdminPasswordHasher } from "../../console/api/auth/admin_store.ts";
import { Refusal } from "../../console/api/errors.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { createVault } from "../../platform/vault.ts";
import { auditRecordsOf } from "../fakes/audited.ts";
import { createManualClock, PASSWORD, startConsole, type TestConsole } from "../fakes/console_app.ts";

const API = "/console/api";
const ADMINISTRATORS = `${API}/administrators`;

async function ask(
  site: TestConsole,
  path: string,
  options: { method?: string; json?: unknown; cookie?: string } = {},
) {
  const response = await site.call(path, options);
  const body = await response.json();
  return { status: response.status, code: body.error?.code ?? null, body, cookie: cookieOf(response) };
}

const cookieOf = (response: Response) => (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";

/** Invites an administrator, who creates the account; returns their cookie. */
async function join(site: TestConsole, { by, name, role }: { by: string; name: string; role: Role }) {
  const invited = await ask(site, ADMINISTRATORS, { method: "POST", json: { name, role }, cookie: by });
  const token = String(invited.body.url).split("#")[1] ?? "";
  const made = await ask(site, `${API}/setup`, { method: "POST", json: { token, name, password: PASSWORD } });
  return { token, cookie: made.cookie, answer: made };
}

/** A console whose owner was created with the set-up link, so that owners can be changed. */
async function withOwner(site: TestConsole): Promise<string> {
  const token = (await site.admins.setupLink() ?? "").split("#")[1] ?? "";
  const made = await ask(site, `${API}/setup`, {
    method: "POST",
    json: { token, name: "Ada", password: PASSWORD },
  });
  return made.cookie;
}

Deno.test("createInvitations() creates a link for one name and role that works once, for a day", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ admins: [], clock });
  const by = await withOwner(site);
  const { token, answer } = await join(site, { by, name: "Grace", role: "operator" });
  assertEquals([answer.body.session.name, answer.body.session.role], ["Grace", "operator"]);
  const again = await ask(site, `${API}/setup`, {
    method: "POST",
    json: { token, name: "Eve", password: PASSWORD },
  });
  assertEquals(again.code, "bad_invitation");
  const late = await ask(site, ADMINISTRATORS, {
    method: "POST",
    json: { name: "Late", role: "viewer" },
    cookie: by,
  });
  clock.advance(24 * 3_600_000 + 1);
  const json = { token: String(late.body.url).split("#")[1] };
  assertEquals((await ask(site, `${API}/setup/link`, { method: "POST", json })).code, "bad_invitation");
});

Deno.test("createInvitations() accepts only the name and role of the link", async () => {
  await using site = await startConsole({ admins: [] });
  const by = await withOwner(site);
  const invited = await ask(site, ADMINISTRATORS, {
    method: "POST",
    json: { name: "Grace", role: "viewer" },
    cookie: by,
  });
  const token = String(invited.body.url).split("#")[1] ?? "";
  const made = await ask(site, `${API}/setup`, {
    method: "POST",
    json: { token, name: "Mallory", password: PASSWORD },
  });
  assertEquals([made.body.session.name, made.body.session.role], ["Grace", "viewer"]);
});

Deno.test("AdminStore refuses names that are taken, invited or in the settings file", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("owner");
  const invite = (name: string) =>
    ask(site, ADMINISTRATORS, { method: "POST", json: { name, role: "viewer" }, cookie }).then(({ code }) =>
      code
    );
  assertEquals(await invite(" VIEWER "), "name_taken");
  assertEquals(await invite("Grace"), null);
  assertEquals(await invite("grace"), "name_taken");
  assertEquals(await invite("token:ci"), "bad_name");
  assertEquals(await invite("a\u202eb"), "bad_name");
});

Deno.test("AdminStore changes a role, ends the sessions with the old role, and limits the account's tokens", async () => {
  await using site = await startConsole({ admins: [] });
  const by = await withOwner(site);
  const grace = await join(site, { by, name: "Grace", role: "owner" });
  const made = await ask(site, `${API}/tokens`, {
    method: "POST",
    json: { name: "ci", role: "owner", days: 1 },
    cookie: grace.cookie,
  });
  const stolen = grace.cookie;
  const changed = await ask(site, `${ADMINISTRATORS}/Grace`, {
    method: "PATCH",
    json: { role: "viewer" },
    cookie: by,
  });
  assertEquals([changed.status, changed.body.role], [200, "viewer"]);
  assertEquals((await ask(site, ADMINISTRATORS, { cookie: stolen })).code, "not_signed_in");
  const asToken = { headers: { authorization: `Bearer ${made.body.token}` } };
  const [list, live] = await Promise.all([
    site.call(`${API}/tokens`, asToken),
    site.call(`${API}/live`, asToken),
  ]);
  await Promise.all([list.body?.cancel(), live.body?.cancel()]);
  assertEquals([list.status, live.status], [403, 200]);
});

Deno.test("AdminStore disables an account: no sign-in, no session and no token until it is enabled again", async () => {
  await using site = await startConsole({ admins: [] });
  const by = await withOwner(site);
  const grace = await join(site, { by, name: "Grace", role: "owner" });
  const made = await ask(site, `${API}/tokens`, {
    method: "POST",
    json: { name: "ci", role: "viewer", days: 1 },
    cookie: grace.cookie,
  });
  const put = (disabled: boolean) =>
    ask(site, `${ADMINISTRATORS}/Grace`, { method: "PATCH", json: { disabled }, cookie: by });
  const signIn = () =>
    ask(site, `${API}/session`, { method: "POST", json: { name: "Grace", password: PASSWORD } });
  assertEquals((await put(true)).body.disabled, true);
  assertEquals((await signIn()).code, "wrong_sign_in");
  assertEquals((await ask(site, ADMINISTRATORS, { cookie: grace.cookie })).code, "not_signed_in");
  const refused = await site.call(`${API}/live`, { headers: { authorization: `Bearer ${made.body.token}` } });
  assertEquals((await refused.json()).error.code, "bad_api_token");
  assertEquals((await put(false)).body.disabled, false);
  assertEquals((await signIn()).status, 200);
});

Deno.test("AdminStore keeps the last owner, also when two changes run at once", async () => {
  await using site = await startConsole({ admins: [] });
  const ada = await withOwner(site);
  const change = (name: string, json: unknown, cookie: string) =>
    ask(site, `${ADMINISTRATORS}/${name}`, { method: "PATCH", json, cookie });
  assertEquals((await change("Ada", { role: "viewer" }, ada)).code, "last_owner");
  assertEquals((await change("Ada", { disabled: true }, ada)).code, "last_owner");
  assertEquals(
    (await ask(site, `${ADMINISTRATORS}/Ada`, { method: "DELETE", cookie: ada })).code,
    "last_owner",
  );
  const grace = await join(site, { by: ada, name: "Grace", role: "owner" });
  const both = await Promise.all([
    change("Grace", { role: "viewer" }, ada),
    change("Ada", { role: "viewer" }, grace.cookie),
  ]);
  assertEquals(both.filter(({ status }) => status === 200).length, 1);
  const { items } = (await ask(site, ADMINISTRATORS, {
    cookie: both[0]?.status === 200 ? ada : grace.cookie,
  })).body;
  assertEquals(items.filter(({ role }: { role: Role }) => role === "owner").length, 1);
});

Deno.test("AdminStore removes an account for good: a new account of the same name inherits nothing", async () => {
  await using site = await startConsole({ admins: [] });
  const by = await withOwner(site);
  const first = await join(site, { by, name: "Grace", role: "viewer" });
  const removed = await ask(site, `${ADMINISTRATORS}/grace`, { method: "DELETE", cookie: by });
  assertEquals(removed.status, 200);
  await join(site, { by, name: "Grace", role: "viewer" });
  assertEquals((await ask(site, ADMINISTRATORS, { cookie: first.cookie })).code, "not_signed_in");
});

Deno.test("AdminStore replaces sign-in methods by a link, and the old ones work until the link is used", async () => {
  await using site = await startConsole({ admins: [] });
  const by = await withOwner(site);
  const grace = await join(site, { by, name: "Grace", role: "operator" });
  const renewed = await ask(site, `${ADMINISTRATORS}/Grace/link`, { method: "POST", json: {}, cookie: by });
  assertEquals((await ask(site, ADMINISTRATORS, { cookie: grace.cookie })).status, 200);
  const token = String(renewed.body.url).split("#")[1] ?? "";
  const password = "another long password";
  const used = await ask(site, `${API}/setup`, { method: "POST", json: { token, name: "", password } });
  assertEquals(used.body.session.role, "operator");
  assertEquals((await ask(site, ADMINISTRATORS, { cookie: grace.cookie })).code, "not_signed_in");
  const old = await ask(site, `${API}/session`, {
    method: "POST",
    json: { name: "Grace", password: PASSWORD },
  });
  assertEquals(old.code, "wrong_sign_in");
});

Deno.test("setUp() does not restore a role that was removed while the new password was hashed", async () => {
  await using site = await startConsole({ admins: [] });
  const by = await withOwner(site);
  await join(site, { by, name: "Grace", role: "owner" });
  const renewed = await ask(site, `${ADMINISTRATORS}/Grace/link`, { method: "POST", json: {}, cookie: by });
  const token = String(renewed.body.url).split("#")[1] ?? "";
  const random = createSystemRandom();
  const hasher = createAdminPasswordHasher({ random, cost: { costLog2: 4 } });
  const demote = { method: "PATCH", json: { role: "viewer" }, cookie: by };
  const admins = new AdminStore({
    store: site.store,
    vault: createVault(new Uint8Array(32).fill(7), random),
    clock: systemClock,
    random,
    log: createLog({ format: "text", level: "error", clock: systemClock, write: () => undefined }),
    http: { publicUrl: site.origin },
    configAdmins: [],
    hasher: {
      ...hasher,
      async make(password) {
        assertEquals((await ask(site, `${ADMINISTRATORS}/Grace`, demote)).status, 200);
        return await hasher.make(password);
      },
    },
  });
  const claim = { token, name: "", password: "another long password", source: "" };
  const fault = await assertRejects(() => admins.setUp(claim), Refusal);
  assertEquals([fault.code, (await admins.find("Grace"))?.role], ["changed_meanwhile", "viewer"]);
});

Deno.test("isAdminName() refuses the names of other actors", () => {
  const refused = ["token:x", "user:ada", "Scim:hr", "console:Ada", "RADIUS", "command", "refresh"];
  assertEquals(refused.filter(isAdminName), []);
  assertEquals(["Ada", "radius admin", "a:b"].filter(isAdminName).length, 3);
});

Deno.test("AdminStore does not change administrators of the settings file, and records every other change", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("owner");
  const call = (path: string, method: string, json?: unknown) => ask(site, path, { method, json, cookie });
  assertEquals((await call(`${ADMINISTRATORS}/viewer`, "PATCH", { role: "owner" })).code, "settings_admin");
  assertEquals((await call(`${ADMINISTRATORS}/viewer`, "DELETE")).code, "settings_admin");
  assertEquals((await call(`${ADMINISTRATORS}/viewer/link`, "POST", {})).code, "settings_admin");
  const invited = await call(ADMINISTRATORS, "POST", { name: "Grace", role: "viewer" });
  await call(`${API}/invitations/${invited.body.invitation.id}`, "DELETE");
  await join(site, { by: cookie, name: "Grace", role: "viewer" });
  await call(`${ADMINISTRATORS}/Grace`, "PATCH", { role: "operator" });
  await call(`${ADMINISTRATORS}/Grace/sessions`, "DELETE");
  await call(`${ADMINISTRATORS}/Grace`, "DELETE");
  const records = await auditRecordsOf(site.store);
  assertEquals(
    records.map(({ value }) => [value?.actor, value?.action, value?.before ?? "", value?.after ?? ""]),
    [
      ["owner", "administrator.invite", "", { role: "viewer" }],
      ["owner", "administrator.invite_withdraw", { role: "viewer" }, ""],
      ["owner", "administrator.invite", "", { role: "viewer" }],
      ["Grace", "administrator.create", "", { role: "viewer" }],
      ["owner", "administrator.change", { role: "viewer", disabled: false }, {
        role: "operator",
        disabled: false,
      }],
      ["owner", "session.end_all", "", "0"],
      ["owner", "administrator.remove", { role: "operator", disabled: false }, ""],
    ],
  );
  assertEquals(new Set(records.map(({ value }) => value?.object)), new Set(["administrator:Grace"]));
});

Deno.test("createSessionListRoutes() lists only the caller's own sessions, and ends no other ones", async () => {
  await using site = await startConsole();
  const [mine, alsoMine, theirs] = await Promise.all([
    site.signIn("viewer"),
    site.signIn("viewer"),
    site.signIn("owner"),
  ]);
  const list = async (cookie: string) => (await ask(site, `${API}/sessions`, { cookie })).body.items;
  const rows = await list(mine ?? "");
  assertEquals(rows.map(({ current }: { current: boolean }) => current).toSorted(), [false, true]);
  const [foreign] = await list(theirs ?? "");
  const end = (id: string) => ask(site, `${API}/sessions/${id}`, { method: "DELETE", cookie: mine });
  assertEquals((await end(foreign.id)).code, "unknown_session");
  const other = rows.find(({ current }: { current: boolean }) => !current);
  assertEquals((await end(other.id)).status, 200);
  assertEquals((await ask(site, `${API}/sessions`, { cookie: alsoMine })).code, "not_signed_in");
  assertEquals((await ask(site, `${API}/sessions`, { cookie: theirs })).status, 200);
});
