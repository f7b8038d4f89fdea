// Saved filters: each administrator has their own, with limits, and a deleted account leaves none.

import { assertEquals } from "@std/assert";
import { FILTER_LISTS, type SavedFilterList } from "../../console/api/saved_filters/saved_filters.ts";
import { PASSWORD, startConsole } from "../fakes/console_app.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";

const FILTERS = "/console/api/saved-filters";

Deno.test("saved filters: an administrator saves, replaces and removes one, and another one does not see it", async () => {
  await using site = await startConsole();
  const viewer = apiCaller(site, await site.signIn("viewer"));
  const owner = apiCaller(site, await site.signIn("owner"));
  const save = (name: string, query: string) =>
    viewer<SavedFilterList>(`${FILTERS}/users/${encodeURIComponent(name)}`, {
      method: "PUT",
      json: { query },
    });
  await save("Locked", "status=locked");
  await save("Ohne Faktor ü", "enrolled=no&sort=-name");
  const { items } = await save("Locked", "status=locked&sort=name");
  assertEquals(items, [
    { name: "Ohne Faktor ü", query: "enrolled=no&sort=-name" },
    { name: "Locked", query: "status=locked&sort=name" },
  ]);
  assertEquals((await viewer<SavedFilterList>(`${FILTERS}/users`)).items, items);
  assertEquals((await viewer<SavedFilterList>(`${FILTERS}/audit`)).items, []);
  assertEquals((await owner<SavedFilterList>(`${FILTERS}/users`)).items, []);
  const removed = await viewer<SavedFilterList>(`${FILTERS}/users/Locked`, { method: "DELETE", json: {} });
  assertEquals(removed.items.map(({ name }) => name), ["Ohne Faktor ü"]);
});

const LONG = "x".repeat(65);
const REFUSED:
  readonly (readonly [what: string, method: string, path: string, json: unknown, code: string])[] = [
    ["an unknown list", "PUT", "/nodes/A", { query: "a=b" }, "not_found"],
    ["a list of the prototype", "PUT", "/constructor/A", { query: "a=b" }, "not_found"],
    ["a long name", "PUT", `/users/${LONG}`, { query: "a=b" }, "bad_filter_name"],
    [
      "an invisible name",
      "PUT",
      `/users/${encodeURIComponent("a\u202eb")}`,
      { query: "a=b" },
      "bad_filter_name",
    ],
    ["a name of spaces", "PUT", "/users/%20%20", { query: "a=b" }, "bad_filter_name"],
    ["an empty query", "PUT", "/users/A", { query: "" }, "malformed"],
    ["a long query", "PUT", "/users/A", { query: "a".repeat(1001) }, "malformed"],
    ["a query with a space", "PUT", "/users/A", { query: "a= b" }, "malformed"],
    ["further fields", "PUT", "/users/A", { query: "a=b", by: "owner" }, "malformed"],
    ["an unknown name", "DELETE", "/users/A", {}, "unknown_filter"],
  ];

Deno.test("saved filters: the API refuses hostile names, lists and queries, and a 21st filter", async (t) => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  for (const [what, method, path, json, code] of REFUSED) {
    await t.step(what, async () => {
      assertEquals(await codeOf(await site.call(FILTERS + path, { method, json, cookie })), code);
    });
  }
  for (let at = 0; at < 20; at++) {
    const answer = await site.call(`${FILTERS}/users/f${at}`, {
      method: "PUT",
      json: { query: "q=a" },
      cookie,
    });
    assertEquals([answer.status, (await answer.json()).items.length], [200, at + 1]);
  }
  const over = await site.call(`${FILTERS}/users/f20`, { method: "PUT", json: { query: "q=a" }, cookie });
  assertEquals(await codeOf(over), "too_many_filters");
  // One of the twenty can still be replaced.
  const replaced = await site.call(`${FILTERS}/users/f3`, { method: "PUT", json: { query: "q=b" }, cookie });
  assertEquals((await replaced.json()).items.length, 20);
});

Deno.test("saved filters: a removed administrator leaves none", async () => {
  await using site = await startConsole();
  const owner = apiCaller(site, await site.signIn("owner"));
  const json = { name: "grace", role: "viewer" };
  const { url } = await owner<{ url: string }>("/console/api/administrators", { method: "POST", json });
  const joined = { token: new URL(url).hash.slice(1), name: "grace", password: PASSWORD };
  await (await site.call("/console/api/setup", { method: "POST", json: joined })).body?.cancel();
  const grace = apiCaller(site, await site.signIn("grace"));
  for (const list of FILTER_LISTS) {
    await grace(`${FILTERS}/${list}/mine`, { method: "PUT", json: { query: "q=a" } });
  }
  const count = async () => (await Array.fromAsync(site.store.list(["saved_filters"]))).length;
  assertEquals(await count(), FILTER_LISTS.length);
  await owner("/console/api/administrators/grace", { method: "DELETE", json: {} });
  assertEquals(await count(), 0);
});
