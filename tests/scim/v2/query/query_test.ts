// queryResources(): filters, orders and pages of small directories.

import { assertEquals } from "@std/assert";
import { drop, numbered, openWorld, putGroup, putUser, type UserGiven } from "../../directory/world.ts";
import { answered, ask, type Asked, evaluate, find, problemIn } from "./query_world.ts";

const USERS: readonly ({ readonly name: string } & UserGiven)[] = [
  {
    name: "Anna",
    attributes: { displayName: "Anna Smith", emails: [{ value: "A@example.com", type: "work" }] },
  },
  { name: "bert", attributes: { displayName: "bert", title: "Boss" }, active: false },
  {
    name: "Çelik",
    attributes: {
      emails: [{ value: "c@home.example", type: "home" }, { value: "a2@example.com", type: "work" }],
    },
  },
];

async function openPeople() {
  const world = await openWorld();
  for (const { name, ...given } of USERS) await putUser(world.directory, name, given);
  await putGroup(world.directory, "Staff", ["anna", "noone"]);
  return world;
}

/** Filters, and the names that they find. */
const FILTERS: readonly [filter: string, names: readonly string[]][] = [
  ['userName eq "ANNA"', ["Anna"]],
  ['userName eq "noone"', []],
  ['urn:ietf:params:scim:schemas:core:2.0:User:userName sw "a"', ["Anna"]],
  ['userName gt "anna"', ["bert", "Çelik"]],
  ['userName ne "anna"', ["bert", "Çelik"]],
  ["not (userName pr)", []],
  ['emails[type eq "work" and value sw "a"]', ["Anna", "Çelik"]],
  ['emails[type eq "home" and value sw "a"]', []],
  ['emails[type eq "work"].value eq "a2@example.com"', ["Çelik"]],
  ['emails co "example.com"', ["Anna", "Çelik"]],
  ["active eq true", ["Anna", "Çelik"]],
  ['active eq "False"', ["bert"]],
  ['groups.display eq "staff"', ["Anna"]],
  ['title eq "boss" or displayName eq "anna smith"', ["Anna", "bert"]],
  ["title eq Boss", ["bert"]],
  ['meta.lastModified gt "2020-01-01T00:00:00Z"', ["Anna", "bert", "Çelik"]],
  ["externalId pr", []],
];

for (const [filter, names] of FILTERS) {
  Deno.test(`queryResources() answers ${filter}`, async () => {
    await using world = await openPeople();
    const found = await find(world.directory, { kind: "user", filter });
    assertEquals([...found].sort(), [...names].sort());
    assertEquals((await evaluate(world.directory, { kind: "user", filter })).length, names.length);
  });
}

Deno.test("queryResources() finds users and groups by the ids of each other", async () => {
  await using world = await openPeople();
  const { directory } = world;
  const anna = (await directory.read("user", "anna"))?.id;
  const staff = (await directory.read("group", "staff"))?.id;
  const asked: readonly [Asked, readonly string[]][] = [
    [{ kind: "user", filter: `id eq "${anna}"` }, ["Anna"]],
    [{ kind: "user", filter: `id eq "${staff}"` }, []],
    [{ kind: "user", filter: `id eq "${anna}" and active eq false` }, []],
    [{ kind: "user", filter: `groups eq "${staff}"` }, ["Anna"]],
    [{ kind: "user", filter: `groups[value eq "${staff}"]` }, ["Anna"]],
    [{ kind: "group", filter: `members eq "${anna}"` }, ["Staff"]],
    [{ kind: "group", filter: `members[value eq "${anna}"]` }, ["Staff"]],
    [{ kind: "group", filter: `members.value eq "noone"` }, []],
    [{ kind: "group", filter: 'displayName eq "STAFF"' }, ["Staff"]],
  ];
  for (const [one, names] of asked) assertEquals(await find(directory, one), names, one.filter ?? "");
});

/** Queries that are refused. */
const REFUSED: readonly [Asked, string][] = [
  [{ kind: "user", filter: 'nothing eq "x"' }, "invalidFilter"],
  [{ kind: "user", filter: "userName eq" }, "invalidFilter"],
  [{ kind: "user", filter: 'password eq "x"' }, "invalidFilter"],
  [{ kind: "user", filter: 'name eq "x"' }, "invalidFilter"],
  [{ kind: "user", filter: "active gt true" }, "invalidFilter"],
  [{ kind: "user", filter: 'userName[value eq "x"]' }, "invalidFilter"],
  [{ kind: "user", filter: 'emails[nothing eq "x"]' }, "invalidFilter"],
  [{ kind: "user", filter: '__proto__ eq "x"' }, "invalidFilter"],
  [{ kind: "user", filter: 'emails.constructor eq "x"' }, "invalidFilter"],
  [{ kind: "group", filter: 'userName eq "x"' }, "invalidFilter"],
  [{ kind: "user", filter: `${"(".repeat(5000)}a pr` }, "invalidFilter"],
  [{ kind: "user", filter: `${"(".repeat(20)}userName pr${")".repeat(20)}` }, "invalidFilter"],
  [{ kind: "user", filter: Array(51).fill('title eq "x"').join(" or ") }, "invalidFilter"],
  [{ kind: "user", filter: 'meta.created gt "yesterday"' }, "invalidFilter"],
  [{ kind: "user", sortBy: "nothing" }, "invalidPath"],
  [{ kind: "user", sortBy: "name" }, "invalidPath"],
  [{ kind: "user", sortBy: "password" }, "invalidPath"],
  [{ kind: "user", cursor: "x" }, "invalidCursor"],
  [{ kind: "user", cursor: "A".repeat(100_000) }, "invalidCursor"],
];

for (const [asked, problem] of REFUSED) {
  Deno.test(`queryResources() refuses ${JSON.stringify(asked).slice(0, 120)}`, async () => {
    await using world = await openWorld();
    assertEquals(problemIn(await ask(world.directory, asked)), problem);
  });
}

Deno.test("queryResources() pages by index and by cursor, and cursors follow what changes between pages", async () => {
  await using world = await openWorld();
  const { directory } = world;
  for (const name of numbered("u", 25)) await putUser(directory, name);
  const page = answered(await ask(directory, { kind: "user", startIndex: 11, count: 10 }));
  assertEquals([page.total, page.startIndex, page.nextCursor], [25, 11, null]);
  assertEquals(page.resources.map(({ content }) => content.name), numbered("u", 20).slice(10));
  const first = answered(await ask(directory, { kind: "user", count: 10, cursor: "" }));
  assertEquals(first.previousCursor, null);
  await drop(directory, { kind: "user", name: "u00003" });
  await drop(directory, { kind: "user", name: "u00010" });
  await putUser(directory, "u00012b");
  const second = answered(await ask(directory, { kind: "user", count: 10, cursor: first.nextCursor ?? "" }));
  assertEquals(second.resources.map(({ content }) => content.name), [
    ...["u00011", "u00012", "u00012b", "u00013", "u00014", "u00015", "u00016", "u00017", "u00018", "u00019"],
  ]);
  assertEquals([second.total, second.startIndex], [24, 10]);
  const back = answered(
    await ask(directory, { kind: "user", count: 4, cursor: second.previousCursor ?? "" }),
  );
  assertEquals(back.resources.map(({ content }) => content.name), ["u00006", "u00007", "u00008", "u00009"]);
  const last = answered(await ask(directory, { kind: "user", count: 10, cursor: second.nextCursor ?? "" }));
  assertEquals([last.resources.length, last.nextCursor], [5, null]);
  const cursor = first.nextCursor ?? "";
  assertEquals(problemIn(await ask(directory, { kind: "group", cursor })), "invalidCursor");
  assertEquals(
    problemIn(await ask(directory, { kind: "user", sortBy: "userName", cursor })),
    "invalidCursor",
  );
  assertEquals(
    problemIn(await ask(directory, { kind: "user", cursor }, { nowMs: 1_800_003_600_001 })),
    "expiredCursor",
  );
});

Deno.test("queryResources() refuses to compare more resources than its limit, and names it", async () => {
  await using world = await openPeople();
  const outcome = await ask(world.directory, { kind: "user", filter: 'title co "x"' }, { maxCompared: 2 });
  assertEquals(problemIn(outcome), "tooMany");
  assertEquals(!outcome.ok && outcome.detail.includes("the limit is 2"), true);
});
