// The trash through the API: list, restore and purge, with the roles, and undo of a bulk deletion.

import { assertEquals, assertMatch } from "@std/assert";
import type { JobItems, JobView } from "../../console/api/api_types.ts";
import type { RestoreItem, TrashPage } from "../../console/api/trash/trash_types.ts";
import type { UserChange, UserView } from "../../console/api/users/user_types.ts";
import { RECENT_FACTOR_MS } from "../../console/api/auth/permissions.ts";
import { createManualClock } from "../fakes/console_app.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";

const TRASH = "/console/api/trash";
type Site = Awaited<ReturnType<typeof startPeopleConsole>>;
type Ask = ReturnType<typeof apiCaller>;

/** Creates users in the group "ops", deletes them one after the other, and returns their ids. */
async function deleted(site: Site, ask: Ask, names: readonly string[]): Promise<string[]> {
  for (const name of names) await site.put(name, { displayName: `The ${name}` });
  await site.putGroup("ops", names);
  const ids: string[] = [];
  for (const name of names) {
    const { trashed } = await ask<UserChange>(`/console/api/users/${name}`, { method: "DELETE", json: {} });
    ids.push(trashed ?? "");
  }
  return ids;
}

function restore(ask: Ask, ids: readonly string[]): Promise<{ items: RestoreItem[] }> {
  return ask(`${TRASH}/restore`, { method: "POST", json: { ids } });
}

async function ended(ask: Ask, { id }: JobView): Promise<JobView> {
  for (let tries = 0; tries < 500; tries += 1) {
    const job = await ask<JobView>(`/console/api/jobs/${id}`);
    if (job.state !== "running") return job;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error("The job never ends");
}

Deno.test("GET /trash lists deleted users, newest first, with who deleted them and whether the name is taken", async () => {
  await using site = await startPeopleConsole();
  const ask = apiCaller(site, await site.signIn("user_manager"));
  await deleted(site, ask, ["ada", "bob", "cy"]);
  await site.put("bob");
  const page = await ask<TrashPage>(TRASH);
  assertEquals([page.total, page.days, page.most], [3, 30, 10_000]);
  assertEquals(
    page.rows.map((
      { name, displayName, groups, isTaken, cause, active },
    ) => [name, displayName, groups, isTaken, cause, active]),
    [
      ["cy", "The cy", 1, false, "deleted", true],
      ["bob", "The bob", 1, true, "deleted", true],
      ["ada", "The ada", 1, false, "deleted", true],
    ],
  );
  assertEquals(
    page.rows.map(({ actor, source, expiresMs, deletedMs }) => [actor, source, expiresMs - deletedMs]),
    Array(3).fill(["user_manager", "127.0.0.1", 30 * 24 * 3_600_000]),
  );
  const second = await ask<TrashPage>(`${TRASH}?page=2&size=2`);
  assertEquals([second.total, second.rows.map(({ name }) => name)], [3, ["ada"]]);
  const found = await ask<TrashPage>(`${TRASH}?q=THE%20C`);
  assertEquals([found.total, found.rows.map(({ name }) => name)], [1, ["cy"]]);
});

Deno.test("POST /trash/restore restores each user with its groups; one failure does not stop the others", async () => {
  await using site = await startPeopleConsole();
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const [ada = "", bob = "", cy = ""] = await deleted(site, ask, ["ada", "bob", "cy"]);
  await site.put("bob");
  const { items } = await restore(ask, [ada, bob, "0-0", cy, cy]);
  assertEquals(items.map(({ name, did, groups }) => [name, did, groups]), [
    ["ada", "restored", ["ops"]],
    ["bob", "failed", []],
    ["", "failed", []],
    ["cy", "restored", ["ops"]],
  ]);
  assertMatch(items[1]?.problem ?? "", /Another user has this name now/);
  assertMatch(items[2]?.problem ?? "", /not in the trash/);
  assertEquals((await site.membersOf("ops")).toSorted(), ["ada", "cy"]);
  const { record } = await ask<UserView>("/console/api/users/ada");
  assertEquals([record?.active, record?.groups], [true, ["ops"]]);
  assertEquals((await ask<TrashPage>(TRASH)).rows.map(({ name }) => name), ["bob"]);
});

Deno.test("POST /trash/restore says which users have no password", async () => {
  await using site = await startPeopleConsole();
  const ask = apiCaller(site, await site.signIn("user_manager"));
  for (const name of ["ada", "bob"]) await site.put(name);
  const json = { password: "a long password" };
  await ask("/console/api/users/ada/password", { method: "PUT", json });
  const ids: string[] = [];
  for (const name of ["ada", "bob"]) {
    const { trashed } = await ask<UserChange>(`/console/api/users/${name}`, { method: "DELETE", json: {} });
    ids.push(trashed ?? "");
  }
  const { items } = await restore(ask, ids);
  assertEquals(items.map(({ name, did, lacksPassword }) => [name, did, lacksPassword]), [
    ["ada", "restored", false],
    ["bob", "restored", true],
  ]);
});

Deno.test("a connector that fails leaves the user in the trash, with the result of each connector", async () => {
  await using site = await startPeopleConsole({ shape: { local: "store", ldap: "sync" } });
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const ids = await deleted(site, ask, ["ada"]);
  // Until it is healed: the cleanup of the deletion may write there, too.
  site.backend("ldap").trouble({ operation: "put", how: "before" });
  const [failed] = (await restore(ask, ids)).items;
  assertEquals([failed?.did, failed?.receipt?.entries.map(({ outcome }) => outcome)], [
    "failed",
    ["untried", "failed"],
  ]);
  assertEquals((await ask<TrashPage>(TRASH)).total, 1);
  site.backend("ldap").heal();
  assertEquals((await restore(ask, ids)).items[0]?.did, "restored");
});

Deno.test("POST /trash/purge removes entries for ever", async () => {
  await using site = await startPeopleConsole();
  const ask = apiCaller(site, await site.signIn("owner"));
  const ids = await deleted(site, ask, ["ada", "bob"]);
  const json = { ids: [...ids, "0-0"] };
  assertEquals(await ask(`${TRASH}/purge`, { method: "POST", json }), { purged: 2 });
  assertEquals((await ask<TrashPage>(TRASH)).total, 0);
  assertEquals((await restore(ask, ids)).items.map(({ did }) => did), ["failed", "failed"]);
});

Deno.test("the trash needs a user manager to restore, an owner to purge, and a recent factor for both", async () => {
  const clock = createManualClock();
  await using site = await startPeopleConsole({ clock });
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const ids = await deleted(site, ask, ["ada"]);
  const rows = [
    { role: "operator", path: "restore", code: "role" },
    { role: "user_manager", path: "purge", code: "role" },
    { role: "user_manager", path: "restore", code: "step_up", isLate: true },
    { role: "owner", path: "purge", code: "step_up", isLate: true },
  ] as const;
  for (const { role, path, code, ...row } of rows) {
    const cookie = await site.signIn(role);
    if ("isLate" in row) clock.advance(RECENT_FACTOR_MS + 1000);
    const answer = await site.call(`${TRASH}/${path}`, { method: "POST", json: { ids }, cookie });
    assertEquals([role, path, await codeOf(answer)], [role, path, code]);
  }
});

Deno.test("a bulk deletion is undone: the users come back with their groups", async () => {
  await using site = await startPeopleConsole();
  const ask = apiCaller(site, await site.signIn("user_manager"));
  for (const name of ["ada", "bob"]) await site.put(name);
  await site.putGroup("ops", ["ada", "bob"]);
  const json = { choice: { names: ["ada", "bob"] }, action: "delete" };
  const done = await ended(ask, await ask<JobView>("/console/api/bulk", { method: "POST", json }));
  assertEquals([done.changed, done.canUndo], [2, true]);
  const { rows } = await ask<JobItems>(`/console/api/jobs/${done.id}/items`);
  assertEquals(rows.map((row) => Object.keys(row).toSorted()), Array(2).fill(["detail", "did", "name"]));
  await site.put("bob");
  const undone = await ended(
    ask,
    await ask<JobView>(`/console/api/jobs/${done.id}/undo`, { method: "POST", json: {} }),
  );
  assertEquals([undone.action, undone.changed, undone.failed], ["restore", 1, 1]);
  assertEquals(await site.membersOf("ops"), ["ada"]);
});
