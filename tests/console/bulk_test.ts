// Bulk jobs on users, imports and exports, through the API.

import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import type { BulkPreview, ImportView, JobItems, JobView } from "../../console/api/api_types.ts";
import type { UserView } from "../../console/api/users/user_types.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { createManualClock, PASSWORD } from "../fakes/console_app.ts";
import { RECENT_FACTOR_MS } from "../../console/api/auth/permissions.ts";

const BULK = "/console/api/bulk";
const JOBS = "/console/api/jobs";
const IMPORTS = "/console/api/imports";
const NO_FILTERS = { q: "", status: "", enrolled: "", backend: "", sync: "" };
type Ask = ReturnType<typeof apiCaller>;

/** Polls until the condition holds. Each poll is a request, so other requests can run. */
async function until<T>(ask: () => Promise<T>, isSo: (value: T) => boolean): Promise<T> {
  for (let tries = 0; tries < 500; tries += 1) {
    const value = await ask();
    if (isSo(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error("It never comes about");
}

function ended(ask: Ask, { id }: JobView): Promise<JobView> {
  return until(() => ask<JobView>(`${JOBS}/${id}`), ({ state }) => state !== "running");
}

async function isActive(ask: Ask, name: string): Promise<boolean | undefined> {
  return (await ask<UserView>(`/console/api/users/${name}`)).record?.active;
}

Deno.test("bulk: selected users are deactivated, one failure does not stop the others, and the job is undone", async () => {
  await using site = await startPeopleConsole();
  for (const name of ["ada", "bob"]) await site.put(name);
  await site.put("eve", { active: false });
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const choice = { names: ["ada", "ghost", "bob", "eve", "ADA"] };
  const begun = await ask<JobView>(BULK, { method: "POST", json: { choice, action: "deactivate" } });
  const done = await ended(ask, begun);
  assertEquals([done.total, done.changed, done.same, done.failed, done.state], [4, 2, 1, 1, "ended"]);
  assertEquals(done.failures.map(({ name }) => name), ["ghost"]);
  assertEquals(await isActive(ask, "ada"), false);
  const items = await ask<JobItems>(`${JOBS}/${begun.id}/items?did=same`);
  assertEquals(items.rows.map(({ name }) => name), ["eve"]);
  const undone = await ended(
    ask,
    await ask<JobView>(`${JOBS}/${begun.id}/undo`, { method: "POST", json: {} }),
  );
  assertEquals([undone.action, undone.changed], ["activate", 2]);
  assertEquals([await isActive(ask, "ada"), await isActive(ask, "eve")], [true, false]);
  const cookie = await site.signIn("user_manager");
  const again = await site.call(`${JOBS}/${begun.id}/undo`, { method: "POST", json: {}, cookie });
  assertEquals(await codeOf(again), "cannot_undo");
});

Deno.test("bulk: all matching users join a group in one change, as many as were counted before", async () => {
  await using site = await startPeopleConsole();
  for (const name of ["ada", "adam", "bob"]) await site.put(name, { displayName: name });
  await site.putGroup("ops", ["adam"]);
  const cookie = await site.signIn("user_manager");
  const ask = apiCaller(site, cookie);
  const json = (expected: number) => ({
    choice: { filters: { ...NO_FILTERS, status: "active" }, expected },
    action: "join",
    group: "ops",
  });
  const refused = await site.call(BULK, { method: "POST", json: json(2), cookie });
  assertEquals([refused.status, await codeOf(refused)], [409, "selection_changed"]);
  const done = await ended(ask, await ask<JobView>(BULK, { method: "POST", json: json(3) }));
  assertEquals([done.changed, done.same, done.canUndo], [2, 1, true]);
  const records = (await site.audits()).filter(({ actor }) => String(actor).includes("user_manager"));
  assertEquals(records.length, 1);
});

Deno.test("bulk: a stopped job ends after the current user, and all its changes are undone", async () => {
  await using site = await startPeopleConsole({ shape: { local: "store", ldap: "sync" } });
  const names = ["ada", "bob", "cy", "dot"];
  for (const name of names) await site.put(name);
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const { held, release } = site.backend("ldap").hold();
  const begun = await ask<JobView>(BULK, {
    method: "POST",
    json: { choice: { names }, action: "deactivate" },
  });
  const post = (what: string) => ask<JobView>(`${JOBS}/${begun.id}/${what}`, { method: "POST", json: {} });
  await held;
  const stopping = await post("stop");
  assertEquals([stopping.state, stopping.isStopping, stopping.canUndo], ["running", true, false]);
  release();
  const stopped = await ended(ask, begun);
  assertEquals([stopped.state, stopped.changed, stopped.canUndo], ["stopped", 1, true]);
  assertEquals((await ended(ask, await post("undo"))).changed, 1);
  for (const name of names) assertEquals(await isActive(ask, name), true, name);
});

Deno.test("bulk: undo of a deactivation requires a recent factor, undo of an activation does not", async () => {
  const now = createManualClock(Date.now());
  await using site = await startPeopleConsole({ clock: now });
  await site.put("ada");
  await site.put("eve", { active: false });
  const cookie = await site.signIn("user_manager");
  const ask = apiCaller(site, cookie);
  const begin = async (action: string, name: string) => {
    const json = { choice: { names: [name] }, action };
    return await ended(ask, await ask<JobView>(BULK, { method: "POST", json }));
  };
  const activation = await begin("activate", "eve");
  const deactivation = await begin("deactivate", "ada");
  now.advance(RECENT_FACTOR_MS + 1);
  const undo = ({ id }: JobView) => site.call(`${JOBS}/${id}/undo`, { method: "POST", json: {}, cookie });
  assertEquals(await codeOf(await undo(deactivation)), "step_up");
  assertEquals((await undo(activation)).status, 200);
  await site.call("/console/api/session/step-up", { method: "POST", json: { password: PASSWORD }, cookie });
  // The refused attempt does not use up the undo.
  assertEquals((await undo(deactivation)).status, 200);
});

Deno.test("bulk: undo restores memberships only of users who did not change after the job", async () => {
  await using site = await startPeopleConsole();
  for (const name of ["ada", "bob", "cy"]) await site.put(name);
  for (const name of ["ops", "dev"]) await site.putGroup(name);
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const json = { choice: { names: ["ada", "bob", "cy"] }, action: "join", group: "ops" };
  const job = await ended(ask, await ask<JobView>(BULK, { method: "POST", json }));
  assertEquals(job.changed, 3);
  const { rows } = await ask<JobItems>(`${JOBS}/${job.id}/items`);
  assertEquals(rows[0], { name: "ada", did: "changed", detail: null });
  await ask("/console/api/groups/dev/members", { method: "PUT", json: { add: ["bob"], remove: [] } });
  await ask("/console/api/groups/ops/members", { method: "PUT", json: { add: [], remove: ["cy"] } });
  const undone = await ended(
    ask,
    await ask<JobView>(`${JOBS}/${job.id}/undo`, { method: "POST", json: {} }),
  );
  assertEquals([undone.changed, undone.same, undone.failures.map(({ name }) => name)], [1, 1, ["bob"]]);
  const ops = await site.target.directory.read("group", "ops");
  assertEquals(ops?.content.kind === "group" && ops.content.members, ["bob"]);
});

Deno.test("bulk: the users of a deletion are counted first, and the deletion can be undone", async () => {
  await using site = await startPeopleConsole({ shape: { local: "store", ldap: "sync" } });
  for (const name of ["ada", "bob"]) await site.put(name);
  await site.putGroup("ops", ["ada", "bob"]);
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const choice = { names: ["ada", "bob"] };
  const preview = await ask<BulkPreview>(`${BULK}/preview`, { method: "POST", json: { choice } });
  assertEquals([preview.count, preview.memberships, preview.factors], [2, 2, 0]);
  assertEquals(preview.backends, [{ name: "local", count: 2 }, { name: "ldap", count: 2 }]);
  const done = await ended(
    ask,
    await ask<JobView>(BULK, { method: "POST", json: { choice, action: "delete" } }),
  );
  assertEquals([done.changed, done.canUndo], [2, true]);
  assertEquals(await site.target.directory.read("user", "ada"), null);
});

Deno.test("jobs and imports belong to the administrator who began them", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const json = { choice: { names: ["ada"] }, action: "deactivate" };
  const { id } = await ask<JobView>(BULK, { method: "POST", json });
  const begun = await ask<ImportView>(IMPORTS, { method: "POST", json: { file: "a.csv" } });
  const cookie = await site.signIn("owner");
  assertEquals(await codeOf(await site.call(`${JOBS}/${id}`, { cookie })), "unknown_job");
  assertEquals(await codeOf(await site.call(`${IMPORTS}/${begun.id}`, { cookie })), "unknown_import");
});

/** Begins an import of a text that is sent in two parts, and waits for the dry run. */
async function checked(ask: Ask, { file, text }: { file: string; text: string }): Promise<ImportView> {
  const { id } = await ask<ImportView>(IMPORTS, { method: "POST", json: { file } });
  const middle = Math.floor(text.length / 2);
  for (const piece of [text.slice(0, middle), text.slice(middle)]) {
    await ask(`${IMPORTS}/${id}/text`, { method: "POST", json: { text: piece } });
  }
  await ask(`${IMPORTS}/${id}/check`, { method: "POST", json: { mayUpdate: true } });
  return await seen(ask, id);
}

function seen(ask: Ask, id: string, query = ""): Promise<ImportView> {
  const isStill = ({ state }: ImportView) => state !== "checking" && state !== "applying";
  return until(() => ask<ImportView>(`${IMPORTS}/${id}${query}`), isStill);
}

const CSV = `userName,displayName,emails[type eq "work"].value,groups,password
ada,Ada,ada@example.org,staff,a long password
bob,Bob,bob@example.org,,
eve,Eve,eve@example.org,,
,Unnamed,,,
ADA,Twice,,,
`;

Deno.test("import: a dry run checks each row and writes nothing; one row is corrected, one is skipped, and the rest is applied", async () => {
  await using site = await startPeopleConsole();
  await site.put("eve", { displayName: "Eve", emails: [{ value: "eve@example.org", type: "work" }] });
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const text = CSV.replace('emails[type eq "work"].value', "title").replaceAll("@example.org", "");
  const dry = await checked(ask, { file: "people.csv", text });
  assertEquals([dry.state, dry.total, dry.problems], ["checked", 5, []]);
  assertEquals(dry.rows.map(({ verdict }) => verdict), ["create", "create", "update", "refused", "refused"]);
  assertNotMatch(JSON.stringify(dry), /a long password/);
  assertEquals(await site.target.directory.read("user", "ada"), null);
  const [unnamed, twice] = dry.rows.slice(3);
  const row = (line: number | undefined) => `${IMPORTS}/${dry.id}/rows/${line}`;
  await ask(row(unnamed?.line), { method: "PUT", json: { cells: ["grace", "Grace", null, null, null] } });
  await ask(row(twice?.line), { method: "PUT", json: { skip: true } });
  const ready = await seen(ask, dry.id);
  assertEquals(ready.verdicts, { create: 3, update: 1, same: 0, refused: 0, skipped: 1 });
  await ask(`${IMPORTS}/${dry.id}/apply`, { method: "POST", json: {} });
  const applied = await seen(ask, dry.id);
  assertEquals([applied.state, applied.created, applied.updated, applied.filledGroups], ["applied", 3, 1, 1]);
  assertEquals(applied.problems, []);
  const staff = await site.target.directory.read("group", "staff");
  assertEquals(staff?.content.kind === "group" && staff.content.members, ["ada"]);
  assert(await site.target.directory.readPassword("ada") !== null);
});

Deno.test("import: the preview shows old and new values of each update, and refuses updates unless they are wanted", async () => {
  await using site = await startPeopleConsole();
  await site.put("adler", {
    displayName: "Adler",
    name: { familyName: "Adler", givenName: "" },
    emails: [{ value: "a@example.org", type: "work" }],
    title: "Analyst",
  });
  await site.put("same", { displayName: "Same" });
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const text = `userName,displayName,name.familyName,email,title,groups,password
ADLER,X,Xaver,b@example.org,,staff,a long password
same,Same,,,,staff,
same2,New,,,,,
`;
  const { id } = await checked(ask, { file: "people.csv", text });
  await ask(`${IMPORTS}/${id}/check`, { method: "POST", json: { mayUpdate: false } });
  const without = await seen(ask, id);
  assertEquals([without.mayUpdate, without.rows.map(({ verdict }) => verdict)], [
    false,
    ["refused", "refused", "create"],
  ]);
  await ask(`${IMPORTS}/${id}/check`, { method: "POST", json: { mayUpdate: true } });
  const { mayUpdate, rows } = await seen(ask, id);
  const changesOf = (row: ImportView["rows"][number] | undefined) =>
    row?.changes.map(({ attribute, before, after }) => `${attribute}: ${before} > ${after}`).toSorted();
  assertEquals([mayUpdate, rows.map(({ verdict }) => verdict)], [true, ["update", "update", "create"]]);
  assertEquals(changesOf(rows[0]), [
    "displayName: Adler > X",
    "emails: a@example.org (work) > b@example.org",
    "groups:  > + staff",
    "name.familyName: Adler > Xaver",
    "password:  > ••••••",
    "title: Analyst > ",
  ]);
  assertEquals([changesOf(rows[1]), changesOf(rows[2])], [["groups:  > + staff"], []]);
});

Deno.test("import: a row that stays invalid is counted, and a bad address or number is reported with its line", async () => {
  await using site = await startPeopleConsole();
  await site.put("old", { emails: [{ value: "not-a-mail", type: "work" }] });
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const text = `userName,title,email,mobile
ada,Countess,ada@example.org,+49 151 12345678
bob,,not-a-mail,
eve,,,555-CALL-ME
old,Older,not-a-mail,
`;
  const dry = await checked(ask, { file: "people.csv", text });
  assertEquals(dry.problems, []);
  assertEquals(dry.rows.map(({ name, verdict }) => [name, verdict]), [
    ["ada", "create"],
    ["bob", "refused"],
    ["eve", "refused"],
    ["old", "update"],
  ]);
  assertMatch(dry.rows[1]?.reason ?? "", /"not-a-mail" is not an e-mail address/);
  assertMatch(dry.rows[2]?.reason ?? "", /"555-CALL-ME" is not a phone number/);
  await ask(`${IMPORTS}/${dry.id}/apply`, { method: "POST", json: {} });
  const applied = await seen(ask, dry.id);
  assertEquals([applied.created, applied.updated, applied.unchanged, applied.refused], [1, 1, 0, 2]);
});

Deno.test("import: a file that is no table or is too large is refused with the reason", async () => {
  await using site = await startPeopleConsole();
  const cookie = await site.signIn("user_manager");
  const ask = apiCaller(site, cookie);
  const { id } = await ask<ImportView>(IMPORTS, { method: "POST", json: { file: "x.csv" } });
  await ask(`${IMPORTS}/${id}/text`, { method: "POST", json: { text: "colour,size\nred,3\n" } });
  const json = { mayUpdate: true };
  const refused = await site.call(`${IMPORTS}/${id}/check`, { method: "POST", json, cookie });
  assertMatch(await refused.text(), /no userName/);
  const text = "a".repeat(500_000);
  const piece = (to: string) =>
    site.call(`${IMPORTS}/${to}/text`, { method: "POST", json: { text }, cookie });
  const other = await ask<ImportView>(IMPORTS, { method: "POST", json: { file: "y.csv" } });
  let last = await piece(other.id);
  for (let sent = 1; sent < 17; sent += 1) {
    await last.body?.cancel();
    last = await piece(other.id);
  }
  assertEquals(await codeOf(last), "import_too_large");
});

Deno.test("export: the filtered list as JSON and as a table that no spreadsheet calculates, with an audit record", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada", { displayName: "=HYPERLINK(1)" });
  await site.put("bob", { active: false });
  const cookie = await site.signIn("user_manager");
  const csv = await site.call("/console/api/export/users?status=active", { cookie });
  const table = await csv.text();
  assertMatch(table, /'=HYPERLINK\(1\)/);
  assertNotMatch(table, /bob/);
  assertMatch(csv.headers.get("content-disposition") ?? "", /users\.csv/);
  const json = await (await site.call("/console/api/export/users?format=json", { cookie })).json();
  assertEquals(json.map(({ userName }: { userName: string }) => userName), ["ada", "bob"]);
  const empty = await (await site.call("/console/api/export/groups?format=json", { cookie })).json();
  assertEquals(empty, []);
  assertEquals((await site.audits()).filter(({ action }) => action === "user.export").length, 2);
});
