// Parts of lists: filters, saved filters, columns, rows in view, and the search on a page.

import { assert, assertEquals } from "@std/assert";
import { clearFilters, type ListFilter, pageNumber, toFilterQuery } from "../../console/web/app/filters.ts";
import { FILTER_LISTS, type SavedFilterList } from "../../console/api/saved_filters/saved_filters.ts";
import { PASSWORD, startConsole } from "../fakes/console_app.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";
import { cardColumns, type ColumnWidth, layOutColumns } from "../../console/web/components/data_table.tsx";
import { assignSlots, type NextSlots } from "../../console/web/components/virtual_list.tsx";
import { NameCounters } from "../../console/web/pages/live/live_counts.ts";
import type { FoundList } from "../../console/api/find/find_routes.ts";
import { DENIED_LOGIN, startWorkingDay } from "../screenshots/working_day.ts";

// Filters of lists: their place in the address, the API query that they make, and how they are cleared.

const FILTERS: readonly ListFilter[] = [
  { name: "user", label: "User", control: "search" },
  { name: "outcome", label: "Outcome", control: "choice", options: ["accepted"], allLabel: "Every outcome" },
  { name: "from", label: "From", control: "moment" },
];

/** An address, and the query that it gives. */
function routerOf(address: string) {
  const given = new URLSearchParams(address);
  const put: Readonly<Record<string, string>>[] = [];
  const router = {
    param: (name: string) => given.get(name) ?? "",
    setParams: (changes: Readonly<Record<string, string>>) => void put.push(changes),
  };
  return { models: { router } as unknown as Parameters<typeof toFilterQuery>[0], put };
}

const QUERIES: readonly (readonly [address: string, query: Readonly<Record<string, string>>])[] = [
  ["", {}],
  ["user=ada&page=3&other=x", { user: "ada" }],
  ["user=&outcome=accepted", { outcome: "accepted" }],
  ["from=2026-01-02T03:04:05Z", { from: "1767323045000" }],
  ["from=yesterday&user=ada", { user: "ada" }],
];

for (const [address, query] of QUERIES) {
  Deno.test(`queryOf() of "${address}" is ${JSON.stringify(query)}`, () => {
    assertEquals(toFilterQuery(routerOf(address).models, FILTERS), query);
  });
}

const RANGE: readonly ListFilter[] = [
  { name: "range", label: "Time", control: "range" },
  ...["from", "to"].map((name): ListFilter => ({
    name,
    label: name,
    control: "moment",
    isPartOfRange: true,
  })),
];
const NOW_MS = new Date(2026, 10, 28, 14, 7, 39).getTime();
const localMs = (day: number, hour = 0) => new Date(2026, 10, day, hour).getTime();
const RANGES: readonly (readonly [address: string, from: number | null, to: number | null])[] = [
  ["", null, null],
  ["range=hour", NOW_MS - 3_600_000, null],
  ["range=today", localMs(28), null],
  ["range=yesterday", localMs(27), localMs(28) - 1],
  ["range=week", NOW_MS - 7 * 86_400_000, null],
  ["range=someday", null, null],
  ["range=hour&from=2026-01-02T03:04:05Z", 1_767_323_045_000, null],
];
for (const [address, from, to] of RANGES) {
  Deno.test(`toFilterQuery() of the range "${address}" has the times of the browser's zone`, () => {
    const query = toFilterQuery(routerOf(address).models, RANGE, NOW_MS);
    const expected = Object.entries({ from, to }).filter(([, value]) => value !== null);
    assertEquals(query, Object.fromEntries(expected.map(([name, value]) => [name, String(value)])));
  });
}

Deno.test("clearFilters() removes the given filters and returns to the first page", () => {
  const { models, put } = routerOf("user=ada&outcome=accepted&page=2");
  clearFilters(models, FILTERS.slice(0, 1));
  assertEquals(put, [{ page: "", user: "" }]);
});

const PAGES: readonly (readonly [address: string, page: number])[] = [
  ["", 1],
  ["page=7", 7],
  ["page=0", 1],
  ["page=-2", 1],
  ["page=1.5", 1],
  ["page=x", 1],
];

for (const [address, page] of PAGES) {
  Deno.test(`pageOf() of "${address}" is ${page}`, () => {
    assertEquals(pageNumber(routerOf(address).models), page);
  });
}

// Saved filters: each administrator has their own, with limits, and a deleted account leaves none.

const SAVED_FILTERS = "/console/api/saved-filters";

Deno.test("saved filters: an administrator saves, replaces and removes one, and another one does not see it", async () => {
  await using site = await startConsole();
  const viewer = apiCaller(site, await site.signIn("viewer"));
  const owner = apiCaller(site, await site.signIn("owner"));
  const save = (name: string, query: string) =>
    viewer<SavedFilterList>(`${SAVED_FILTERS}/users/${encodeURIComponent(name)}`, {
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
  assertEquals((await viewer<SavedFilterList>(`${SAVED_FILTERS}/users`)).items, items);
  assertEquals((await viewer<SavedFilterList>(`${SAVED_FILTERS}/audit`)).items, []);
  assertEquals((await owner<SavedFilterList>(`${SAVED_FILTERS}/users`)).items, []);
  const removed = await viewer<SavedFilterList>(`${SAVED_FILTERS}/users/Locked`, {
    method: "DELETE",
    json: {},
  });
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
      assertEquals(
        await codeOf(await site.call(SAVED_FILTERS + path, { method, json, cookie })),
        code,
      );
    });
  }
  for (let at = 0; at < 20; at++) {
    const answer = await site.call(`${SAVED_FILTERS}/users/f${at}`, {
      method: "PUT",
      json: { query: "q=a" },
      cookie,
    });
    assertEquals([answer.status, (await answer.json()).items.length], [200, at + 1]);
  }
  const over = await site.call(`${SAVED_FILTERS}/users/f20`, {
    method: "PUT",
    json: { query: "q=a" },
    cookie,
  });
  assertEquals(await codeOf(over), "too_many_filters");
  // One of the twenty can still be replaced.
  const replaced = await site.call(`${SAVED_FILTERS}/users/f3`, {
    method: "PUT",
    json: { query: "q=b" },
    cookie,
  });
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
    await grace(`${SAVED_FILTERS}/${list}/mine`, { method: "PUT", json: { query: "q=a" } });
  }
  const count = async () => (await Array.fromAsync(site.store.list(["saved_filters"]))).length;
  assertEquals(await count(), FILTER_LISTS.length);
  await owner("/console/api/administrators/grace", { method: "DELETE", json: {} });
  assertEquals(await count(), 0);
});

// The columns of a table at every width: names stay readable, columns of low priority disappear first, and long contents get the room.

/** The list of users, with the menu of the row. */
const USERS: readonly ColumnWidth[] = [
  { min: 160 },
  { min: 150 },
  { width: "128px" },
  { width: "140px", priority: 2 },
  { min: 150, priority: 2 },
  { min: 180, priority: 3 },
  { width: "84px", priority: 3 },
  { width: "130px", priority: 3 },
  { width: "52px", isPinned: true },
];

/** The longest content of each column; the usual one, if it is different. */
type Need = number | readonly [longestPx: number, usualPx: number];
const at = (widthPx: number, columns = USERS, needs: readonly Need[] = []) =>
  layOutColumns(columns, {
    widthPx,
    needs: needs.map((need) => typeof need === "number" ? [need, need] : need),
  });

Deno.test("layOutColumns() never makes a name narrower than 140 px, from a tablet to a wide screen", () => {
  for (let widthPx = 220; widthPx < 2000; widthPx += 7) {
    const { shown, widthsPx } = at(widthPx);
    for (const [place, index] of shown.entries()) {
      const { width = "" } = USERS[index] ?? {};
      if (!width.endsWith("px")) assert((widthsPx[place] ?? 0) >= 140, `${widthPx}: column ${index}`);
    }
    const sumPx = widthsPx.reduce((sum, width) => sum + width, 0);
    assert(Math.abs(sumPx - widthPx) < 1, `${widthPx}: the columns are ${sumPx} wide`);
  }
});

Deno.test("layOutColumns() hides columns by priority, the last one first, but never the first one and the menu", () => {
  const rows: readonly (readonly [number, readonly number[]])[] = [
    [1180, [0, 1, 2, 3, 4, 5, 6, 7, 8]],
    [1100, [0, 1, 2, 3, 4, 5, 6, 8]],
    [1000, [0, 1, 2, 3, 4, 5, 8]],
    [800, [0, 1, 2, 3, 4, 8]],
    [640, [0, 1, 2, 3, 8]],
    [500, [0, 1, 2, 8]],
    [400, [0, 1, 8]],
    [220, [0, 8]],
  ];
  for (const [widthPx, shown] of rows) assertEquals(at(widthPx).shown, shown, `${widthPx} px`);
});

Deno.test("layOutColumns() gives long contents the room before it distributes the rest", () => {
  const columns: readonly ColumnWidth[] = [{}, {}, { width: "100px" }];
  assertEquals(at(780, columns, [400, 0]).widthsPx, [400 + 70, 140 + 70, 100]);
  // Not enough room: both get the same part of what they need.
  assertEquals(at(580, columns, [340, 340]).widthsPx, [140 + 100, 140 + 100, 100]);
  const mixed: readonly ColumnWidth[] = [{}, { priority: 3 }, { width: "100px" }];
  // One long name does not cut the usual contents of the other columns.
  assertEquals(at(580, mixed, [[480, 200], 240]).widthsPx, [200 + 40, 240, 100]);
  assertEquals(at(580, mixed, [[480, 200], [240, 150]]).widthsPx, [200 + 130, 150, 100]);
  // A column of low priority leaves what its contents do not need.
  assertEquals(at(400, mixed, [200, 60]).widthsPx, [140 + 60 + 5, 90 + 5, 100]);
});

Deno.test("layOutColumns() hides a column before more important ones cut their usual contents", () => {
  const columns: readonly ColumnWidth[] = [{}, { priority: 2 }, { priority: 3 }];
  assertEquals(at(500, columns, [200, 150, 150]).shown, [0, 1, 2]);
  assertEquals(at(480, columns, [200, 150, 150]).shown, [0, 1], "the third one has no room for its contents");
  assertEquals(at(330, columns, [200, 150, 150]).shown, [0], "the name has the room that it needs");
  assertEquals(at(345, columns, [[400, 200], 150, 150]).shown, [0, 1], "one long name hides nothing");
});

Deno.test("layOutColumns() distributes the remaining width by the percentages", () => {
  assertEquals(at(780, [{}, { width: "60%" }, { width: "100px" }]).widthsPx, [140 + 100, 140 + 300, 100]);
});

Deno.test("cardColumns() leaves out the columns of low priority", () => {
  assertEquals(cardColumns(USERS), [0, 1, 2, 3, 4, 8]);
});

// Which element draws which row of a list: rows keep their elements, and free elements are reused unless they have the
// focus.

const NONE: NextSlots = { slots: new Map(), free: 0 };

for (
  const { what, then, reuse, slots } of [
    { what: "keeps the elements of rows that stay", then: ["b", "a"], reuse: true, slots: [1, 0] },
    {
      what: "reuses the elements of removed rows, in their order",
      then: ["x", "y"],
      reuse: true,
      slots: [0, 1],
    },
    {
      what: "creates an element for a new row if reuse is forbidden",
      then: ["x", "b"],
      reuse: false,
      slots: [2, 1],
    },
    { what: "adds elements for more rows", then: ["x", "a", "b"], reuse: true, slots: [2, 0, 1] },
    { what: "removes elements for fewer rows", then: ["b"], reuse: true, slots: [1] },
  ]
) {
  Deno.test(`assignSlots() ${what}`, () => {
    const before = assignSlots(NONE, ["a", "b"], { reuse: true });
    const after = assignSlots(before, then, { reuse });
    assertEquals(then.map((key) => after.slots.get(key)), slots);
    assertEquals(new Set(after.slots.values()).size, then.length);
  });
}

Deno.test("NameCounters returns its counts on request, and the same array for the same names", () => {
  const tally = new NameCounters();
  tally.add("vpn-2", 1);
  tally.add("vpn-1", 2);
  assertEquals([tally.counts.value, tally.names.value], [{}, []]);
  tally.show();
  assertEquals([tally.counts.value, tally.names.value], [{ "vpn-2": 1, "vpn-1": 2 }, ["vpn-1", "vpn-2"]]);
  const names = tally.names.value;
  tally.add("vpn-1", -1);
  tally.show();
  assertEquals([tally.counts.value["vpn-1"], tally.names.value === names], [1, true]);
  tally.add("vpn-1", -1);
  tally.show();
  assertEquals(tally.names.value, ["vpn-2"]);
});

// Find: objects of the gateway by name and address, within the permissions of the caller.

const ROWS: readonly (readonly [q: string, role: string, expected: readonly string[]])[] = [
  ["vpn-2", "viewer", ["client vpn-2 203.0.113.0/24"]],
  ["203.0.113.27", "viewer", ["client vpn-2 203.0.113.0/24", "caller 203.0.113.27 "]],
  ["203.0.113", "viewer", ["client vpn-2 203.0.113.0/24"]],
  ["::ffff:203.0.113.27", "viewer", ["client vpn-2 203.0.113.0/24", "caller 203.0.113.27 "]],
  ["remot", "viewer", ["group remote default"]],
  ["default", "viewer", ["directory default "]],
  ["LDAP", "viewer", ["connector ldap default"]],
  ["deny", "user_manager", ["policy block-contractors deny"]],
  ["block", "user_manager", ["policy block-contractors deny"]],
  // Policies need a role.
  ["deny", "viewer", []],
  ["no-such-name", "owner", []],
];

Deno.test("GET /find finds clients, addresses, groups, directories, connectors, policies and sign-ins", async () => {
  await using site = await startWorkingDay();
  const owner = apiCaller(site, await site.signIn("owner"));
  const { version } = await owner<{ version: number }>("/console/api/policies");
  const policy = {
    ...{ name: "block-contractors", enabled: true, conditions: { groups: ["remote"] } },
    outcome: { kind: "deny" },
  };
  await owner("/console/api/policies", { method: "POST", json: { policy, position: 0, version } });
  for (const [q, role, expected] of ROWS) {
    const caller = apiCaller(site, await site.signIn(role));
    const { items } = await caller<FoundList>(`/console/api/find?q=${encodeURIComponent(q)}`);
    assertEquals(
      items.map(({ kind, name, detail }) => `${kind} ${name} ${detail}`),
      expected,
      `${q} as ${role}`,
    );
  }
  const { items } = await owner<FoundList>(`/console/api/find?q=${DENIED_LOGIN}`);
  assertEquals(items.map(({ kind, name }) => [kind, name]), [["sign_in", DENIED_LOGIN]]);
  const refused = await site.call("/console/api/find?q=vpn");
  await refused.body?.cancel();
  assertEquals(refused.status, 401);
});
