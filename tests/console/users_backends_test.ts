// The API of users in several backends: refused writes, pending writes, and read-only attributes.

import { assertEquals, assertMatch } from "@std/assert";
import type { UserChange, UserView } from "../../console/api/users/user_types.ts";
import { CONSOLE_ROUTES } from "../fakes/console_routes.ts";
import { SCIM_ACTOR, startPeopleConsole } from "../fakes/console_people.ts";
import { apiCaller, whenDelivered } from "../fakes/console_caller.ts";

const USERS = "/console/api/users";

Deno.test("users: a backend that fails undoes the write, and each backend reports its result", async () => {
  await using site = await startPeopleConsole({ shape: { local: "store", ldap: "sync", scim: "async" } });
  await site.put("ada");
  const cookie = await site.signIn("user_manager");
  const fault = { kind: "refused", detail: "the attribute is not allowed", retry: false } as const;
  site.backend("ldap").trouble({ operation: "put", how: "before", fault });
  // A delivery of the outbox changes the version of the resource, so the test waits for it.
  const version = (await whenDelivered(() => apiCaller(site, cookie)<UserView>(`${USERS}/ada`))).record
    ?.version;
  const response = await site.call(`${USERS}/ada`, {
    method: "PUT",
    json: { user: { title: "Countess" }, version },
    cookie,
  });
  const { error } = await response.json();
  assertEquals([response.status, error.code], [502, "backend_failed"]);
  assertMatch(error.message, /the attribute is not allowed/);
  const outcomes = error.receipt.entries.map((entry: { backend: string; outcome: string }) =>
    `${entry.backend} ${entry.outcome}`
  );
  assertEquals(outcomes.includes("ldap failed"), true, outcomes.join());
  site.backend("ldap").heal();
  const there = await apiCaller(site, cookie)<UserChange>(`${USERS}/ada`, {
    method: "PUT",
    json: { user: { title: "Countess" }, version, backends: ["local", "scim"] },
  });
  assertEquals(there.receipt.entries.map(({ backend, outcome }) => [backend, outcome]), [
    ["local", "done"],
    ["scim", "queued"],
  ]);
  const ldap = there.user?.backends.find(({ name }) => name === "ldap");
  assertEquals([ldap?.state?.differs, ldap?.holds?.attributes.title], [true, undefined]);
  await whenDelivered(() => apiCaller(site, cookie)<UserView>(`${USERS}/ada`));
  const agreed = await apiCaller(site, cookie)<UserChange>(`${USERS}/ada/retry`, {
    method: "POST",
    json: { backend: "ldap" },
  });
  assertEquals(agreed.user?.backends.find(({ name }) => name === "ldap")?.holds, null);
});

Deno.test("users: a read of pending writes is a request of its own, and does not extend the session", async () => {
  await using site = await startPeopleConsole({ shape: { local: "store", scim: "async" } });
  await site.put("ada");
  const cookie = await site.signIn("viewer");
  const view = await whenDelivered(() => apiCaller(site, cookie)<UserView>(`${USERS}/ada`));
  const now = await apiCaller(site, cookie)<Pick<UserView, "backends">>(`${USERS}/ada/backends`);
  assertEquals(now, { backends: view.backends });
  const unknown = await apiCaller(site, cookie)<Pick<UserView, "backends">>(`${USERS}/unknown/backends`);
  assertEquals(unknown.backends.map(({ state }) => state), [null, null]);
  const route = CONSOLE_ROUTES.find(({ method, path }) => `${method} ${path}` === "GET /users/:id/backends");
  assertEquals(route?.countsAsUse, false);
});

Deno.test("users: attributes that are read-only in every backend are ignored in a change, and the view lists them by backend", async () => {
  const readOnly = { ldap: ["title", "name.givenName"] };
  await using site = await startPeopleConsole({ shape: { local: "store", ldap: "sync" }, readOnly });
  await site.put("ada", { title: "ours" });
  const cookie = await site.signIn("user_manager");
  const view = await apiCaller(site, cookie)<UserView>(`${USERS}/ada`);
  assertEquals([view.readOnly, view.record?.attributes.title], [["title", "name.givenName"], undefined]);
  assertEquals(view.backends.map(({ keeps }) => keeps), [undefined, ["title", "name.givenName"]]);
  const user = { userName: "ada", title: "Countess", displayName: "Ada L" };
  const { user: after, receipt } = await apiCaller(site, cookie)<UserChange>(`${USERS}/ada`, {
    method: "PUT",
    json: { user, version: view.record?.version },
  });
  assertEquals(receipt.entries.map(({ outcome }) => outcome), ["done", "done"]);
  assertEquals([after?.record?.attributes.title, after?.record?.attributes.displayName], [
    undefined,
    "Ada L",
  ]);
});

Deno.test("users: a name before a rename leads to the user", async () => {
  await using site = await startPeopleConsole();
  await site.put("Ada");
  const cookie = await site.signIn("viewer");
  const read = (name: string) => apiCaller(site, cookie)<UserView>(`${USERS}/${name}`);
  const content = (await site.target.directory.read("user", "ada"))?.content;
  if (content === undefined) throw new Error("The user is absent");
  await site.target.rename("user", "Ada", { ...content, name: "Augusta" }, { actor: SCIM_ACTOR });
  const old = await read("ada");
  assertEquals([old.record, old.renamedTo], [null, "Augusta"]);
  assertEquals((await read("augusta")).renamedTo, null);
  assertEquals((await read("unknown")).renamedTo, null);
});
