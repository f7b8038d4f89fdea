// Queries: plans, ranges of keys and pages.

import { assert, assertEquals } from "@std/assert";
import { drop, numbered, openWorld, putGroup, putUser, type UserGiven } from "../../directory/world.ts";
import { answered, ask, type Asked, evaluate, find, problemIn } from "./query_world.ts";
import fc from "../../../packages/fast_check.ts";
import { compareText } from "../../../../scim/directory/keys.ts";
import { indexText, markedText, NO_VALUE } from "../../../../scim/directory/index_keys.ts";
import type { KeyRange } from "../../../../scim/ports.ts";
import {
  complementRanges,
  intersectRanges,
  type KeyRanges,
  nameRanges,
  uniteRanges,
  valueRanges,
} from "../../../../scim/v2/query/query_plan.ts";
import { startV2World, USER_SCHEMA } from "../http/v2_world.ts";

// queryResources(): filters, orders and pages of small directories.

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

// Keys of the value index: their order is that of the values, and the ranges of a comparison have exactly the keys of the values that match.

const RARE = [
  "\0",
  "\u0001",
  "\u0002",
  "a",
  "b",
  "ﬀ",
  "😀",
  "\uffff",
  "\u{10fffb}",
  "\u{10fffc}",
  "\u{10fffd}",
  "\u{10fffe}",
  "\u{10ffff}",
];
const text = fc.array(fc.constantFrom(...RARE), { maxLength: 4 }).map((parts) => parts.join(""));
const plain = fc.array(fc.constantFrom("a", "b", "ﬀ", "😀"), { maxLength: 3 }).map((parts) => parts.join(""));
const has = (ranges: KeyRanges, key: string): boolean =>
  ranges.some(({ from, to }) => compareText(from, key) <= 0 && compareText(key, to) < 0);

/** What each operator means for two texts. */
const MEANINGS = {
  eq: (actual: string, wanted: string) => actual === wanted,
  ne: (actual: string, wanted: string) => actual !== wanted,
  sw: (actual: string, wanted: string) => actual.startsWith(wanted),
  gt: (actual: string, wanted: string) => compareText(actual, wanted) > 0,
  ge: (actual: string, wanted: string) => compareText(actual, wanted) >= 0,
  lt: (actual: string, wanted: string) => compareText(actual, wanted) < 0,
  le: (actual: string, wanted: string) => compareText(actual, wanted) <= 0,
} as const;

for (const [operator, matches] of Object.entries(MEANINGS)) {
  Deno.test(`valueRanges() and nameRanges() of ${operator} have the keys of the values that match`, () => {
    const isOperator = operator as keyof typeof MEANINGS;
    fc.assert(
      fc.property(text, text, plain, (actual, wanted, name) => {
        const ranges = valueRanges(isOperator, indexText(wanted).text) ?? [];
        assertEquals(has(ranges, `${indexText(actual).text}\0${name}`), matches(actual, wanted));
        assertEquals(has(ranges, `${NO_VALUE}\0${name}`), operator === "ne");
      }),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(plain, plain, (actual, wanted) => {
        assertEquals(has(nameRanges(isOperator, wanted) ?? [], actual), matches(actual, wanted));
      }),
      { numRuns: 500 },
    );
  });
}

Deno.test("valueRanges() and nameRanges() leave co and ew to a comparison", () => {
  for (const operator of ["co", "ew"] as const) {
    assertEquals([valueRanges(operator, "a"), nameRanges(operator, "a")], [null, null]);
  }
});

Deno.test("indexText() cuts long texts and texts that are not well formed, and keeps whole characters", () => {
  const long = "x".repeat(200);
  assertEquals(indexText(long), { text: long, isCut: false });
  assertEquals(indexText(`${long}y`), { text: long, isCut: true });
  assertEquals(indexText(`${"x".repeat(199)}😀`), { text: "x".repeat(199), isCut: true });
  assertEquals(indexText("a\ud800b"), { text: "a", isCut: true });
  assertEquals(markedText(indexText("a\ud800b")), "a\u{10fffd}");
  assertEquals(indexText("\0").text, "\u0001\u0001");
});

const range = fc.tuple(plain, plain).map(([a, b]): KeyRange =>
  compareText(a, b) <= 0 ? { from: a, to: b } : { from: b, to: a }
);
const ranges = fc.array(range, { maxLength: 4 }).map((all) =>
  uniteRanges(all.filter(({ from, to }) => from !== to), [])
);

Deno.test("ranges are a Boolean algebra of keys", () => {
  fc.assert(
    fc.property(ranges, ranges, plain, (one, other, key) => {
      assertEquals(has(intersectRanges(one, other), key), has(one, key) && has(other, key));
      assertEquals(has(uniteRanges(one, other), key), has(one, key) || has(other, key));
      assertEquals(has(complementRanges(one), key), !has(one, key));
    }),
    { numRuns: 2000 },
  );
});

// Pages of large resources end early, and the next page continues there.

const GROUPS = 12;
const MEMBERS = ["a", "b", "c"];
const NAMES = Array.from({ length: GROUPS }, (_, at) => `g${String(at).padStart(2, "0")}`);

async function openGroups() {
  const world = await startV2World();
  const value = (id: string) => ({ value: id });
  const members: object[] = [];
  for (const name of MEMBERS) {
    members.push(value(await world.add("/Users", { schemas: [USER_SCHEMA], userName: name })));
  }
  for (const displayName of NAMES) await world.add("/Groups", { displayName, members });
  const directory = world.gateway.identity.targets.get("default")?.directory;
  if (directory === undefined) throw new Error("no directory");
  return { directory, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

/** A page ends after five groups. */
const LIMIT = { maxPageOctets: 1000 };

Deno.test("pages by index end early, and startIndex continues after the resources that were returned", async () => {
  await using world = await openGroups();
  const names: string[] = [];
  for (let pages = 0; names.length < GROUPS; pages++) {
    assert(pages < GROUPS, "the pages have an end");
    const asked = { kind: "group", startIndex: names.length + 1 } as const;
    const { resources, total } = answered(await ask(world.directory, asked, LIMIT));
    assertEquals(total, GROUPS);
    assertEquals(resources.length, Math.min(5, GROUPS - names.length));
    names.push(...resources.map(({ content }) => content.name));
  }
  assertEquals(names, NAMES);
});

Deno.test("pages by cursor that end early lead to all resources, forwards and backwards", async () => {
  await using world = await openGroups();
  const names: string[] = [];
  let back: string | null = null;
  for (let cursor: string | null = ""; cursor !== null;) {
    const page = answered(await ask(world.directory, { kind: "group", cursor }, LIMIT));
    names.push(...page.resources.map(({ content }) => content.name));
    [cursor, back] = [page.nextCursor, page.previousCursor];
    assert(names.length <= GROUPS, "no resource is repeated");
  }
  assertEquals(names, NAMES);
  const earlier: string[] = [];
  for (let cursor = back; cursor !== null;) {
    const page = answered(await ask(world.directory, { kind: "group", cursor }, LIMIT));
    earlier.unshift(...page.resources.map(({ content }) => content.name));
    cursor = page.previousCursor;
    assert(earlier.length <= GROUPS, "no resource is repeated");
  }
  assertEquals(earlier, NAMES.slice(0, 10));
});
