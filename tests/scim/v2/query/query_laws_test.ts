// Queries: laws, and how much they read.

import { assert, assertEquals } from "@std/assert";
import fc from "../../../packages/fast_check.ts";
import type { DirectoryWrite, TargetDirectory } from "../../../../scim/ports.ts";
import type { JsonObject } from "../../../../scim/schema/resource.ts";
import { canonicals } from "../../directory/acts.ts";
import { drop, NAME, numbered, openWorld, putGroup, putUser, type World } from "../../directory/world.ts";
import { answered, ask, type Asked, evaluate, find, problemIn } from "./query_world.ts";
import type { Store } from "../../../../platform/store.ts";
import { openScimNodes } from "../../../fakes/scim_nodes.ts";
import { assertIndexed } from "../../directory/value_model.ts";

// Random queries compared with a naive evaluation of all resources: the same resources, totals, orders and pages, by index and by cursor.

/** Texts whose order and case differ between code units and code points, with reserved characters, and too long for a key. */
const TEXTS = [
  ...[
    "",
    "a",
    "A",
    "ab",
    "abc",
    "b",
    "bß",
    "Ä",
    "ä",
    "ﬀ",
    "😀",
    "\u{ffff}",
    "\u{10ffff}",
    "\u0001",
    "a\u0000b",
  ],
  ..."x".repeat(200).split("").slice(0, 1),
  ...["x".repeat(200), "x".repeat(201), `${"x".repeat(200)}y`, `${"x".repeat(200)}Y`, `${"x".repeat(199)}😀`],
];
const NAMES = ["anna", "Bert", "c", "Çelik", "d.e@example.com", "😀", "李", "ab", "abc", "zoe"];
const GROUPS = ["staff", "IT", "Ärzte"];

const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TEXTS) },
  fc.string({ maxLength: 3, unit: "grapheme" }),
);
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined });

const user = fc.record({
  name: fc.constantFrom(...NAMES),
  active: fc.boolean(),
  externalId: maybe(text),
  displayName: maybe(text),
  title: maybe(text),
  nickName: maybe(text),
  familyName: text,
  phoneNumbers: fc.array(fc.record({ value: text }, { noNullPrototype: true }), { maxLength: 1 }),
  emails: fc.array(
    fc.record({
      value: maybe(text),
      type: maybe(fc.constantFrom("work", "home")),
      primary: maybe(fc.boolean()),
    }, { noNullPrototype: true }),
    { maxLength: 3 },
  ),
});
type GivenUser = typeof user extends fc.Arbitrary<infer T> ? T : never;

async function write(
  directory: TargetDirectory,
  { name, active, externalId, familyName, ...rest }: GivenUser,
): Promise<void> {
  const attributes: JsonObject = JSON.parse(
    JSON.stringify({ ...rest, name: { familyName, givenName: "" } }),
  );
  const before = await directory.read("user", name.toLowerCase());
  const content = { kind: "user", name, active, attributes } as const;
  await directory.write({
    ...{ kind: "user", name, expected: before?.version ?? null },
    next: { content, backends: {}, ...externalId === undefined ? {} : { externalId } },
  });
}

const quoted = text.map((one) => JSON.stringify(one));
const path = fc.constantFrom(
  ...["userName", "externalId", "displayName", "emails", "emails.value", "title", "emails.type", "id"],
  ...[
    "nickName",
    "name.familyName",
    "phoneNumbers",
    "urn:ietf:params:scim:schemas:core:2.0:User:DISPLAYNAME",
  ],
);
const date = fc.integer({ min: -30, max: 30 }).map((at) =>
  `"${new Date(1_700_000_000_000 + at * 3).toISOString()}"`
);
const comparison = fc.oneof(
  fc.tuple(path, fc.constantFrom("eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"), quoted).map((all) =>
    all.join(" ")
  ),
  fc.tuple(
    fc.constant("userName"),
    fc.constantFrom("eq", "sw", "gt", "le"),
    fc.constantFrom(...NAMES).map((one) => `"${one}"`),
  ).map((all) => all.join(" ")),
  path.map((one) => `${one} pr`),
  fc.tuple(path, fc.constantFrom("eq null", "ne null")).map((all) => all.join(" ")),
  fc.constantFrom("active eq true", 'active eq "False"', "active ne true", "active pr", 'active eq "x"'),
  fc.tuple(
    fc.constantFrom("meta.created", "meta.lastModified"),
    fc.constantFrom("eq", "ne", "gt", "ge", "lt", "le", "sw"),
    date,
  ).map((all) => all.join(" ")),
  fc.constantFrom(...GROUPS).map((one) => `groups.display eq "${one}"`),
  fc.constantFrom("groups pr", 'emails[type eq "work"]', "emails[not (value pr)]"),
  fc.tuple(fc.constantFrom("eq", "sw", "ne", "co"), quoted).map(([one, value]) =>
    `emails[type eq "work" and value ${one} ${value}]`
  ),
  fc.tuple(fc.constantFrom("eq", "sw", "ne", "co"), quoted).map(([one, value]) =>
    `emails[type eq "work" or value ${one} ${value}]`
  ),
);
const filter = fc.letrec<{ filter: string }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    comparison,
    fc.tuple(tie("filter"), tie("filter")).map(([a, b]) => `(${a}) and (${b})`),
    fc.tuple(tie("filter"), tie("filter")).map(([a, b]) => `(${a}) or (${b})`),
    tie("filter").map((one) => `not (${one})`),
  ),
})).filter;

const asked: fc.Arbitrary<Asked> = fc.record({
  kind: fc.constant("user" as const),
  filter: fc.option(filter),
  sortBy: fc.option(
    fc.constantFrom(
      "userName",
      "externalId",
      "displayName",
      "emails",
      "emails.value",
      "title",
      "meta.created",
      "meta.lastModified",
      "active",
    ),
  ),
  sortOrder: fc.constantFrom("ascending", "descending"),
});

/** All pages, by cursor. */
async function walk(directory: TargetDirectory, query: Asked, count: number): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const page = answered(await ask(directory, { ...query, cursor, count }));
    assertEquals(page.startIndex, page.total === 0 ? 1 : found.length + 1);
    found.push(...canonicals(page.resources));
    cursor = page.nextCursor;
  }
  return found;
}

async function assertAnswers(directory: TargetDirectory, query: Asked): Promise<void> {
  const expected = await evaluate(directory, query);
  const page = answered(await ask(directory, query));
  const found = canonicals(page.resources);
  const isSorted = query.sortBy !== null;
  assertEquals([query, page.total, ...isSorted ? found : found.toSorted()], [
    query,
    expected.length,
    ...isSorted ? expected : expected.toSorted(),
  ]);
  const second = answered(await ask(directory, { ...query, startIndex: 2, count: 3 }));
  assertEquals(canonicals(second.resources), found.slice(1, 4));
  assertEquals(await walk(directory, query, 2), found);
}

Deno.test("queryResources() equals a naive evaluation of all resources", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(user, { maxLength: 12 }),
      fc.array(fc.constantFrom(...NAMES), { maxLength: 4 }),
      fc.array(asked, { minLength: 1, maxLength: 12 }),
      async (users, members, queries) => {
        await using world = await openWorld({ merge: { minUnmerged: 20, maxUnmerged: 40 } });
        for (const one of users) await write(world.directory, one);
        await putGroup(world.directory, "staff", members);
        await putUser(world.directory, "zoe", { active: false });
        for (const query of queries) await assertAnswers(world.directory, query);
      },
    ),
    { numRuns: 60 },
  );
});

// What a query reads of the store, and what it answers while indexes are built, with several nodes, and while resources change.

const USERS = 3000;

/** Counts the values that are read, while the store is open. */
function counting(store: Store): Store & { reads: number } {
  const counted: Store & { reads: number } = {
    ...store,
    reads: 0,
    get(key) {
      counted.reads++;
      return store.get(key);
    },
    async *list(prefix, options) {
      for await (const entry of store.list<never>(prefix, options)) {
        counted.reads++;
        yield entry;
      }
    },
    async *range(selector, options) {
      for await (const entry of store.range<never>(selector, options)) {
        counted.reads++;
        yield entry;
      }
    },
  };
  return counted;
}

async function fillCrowd(directory: TargetDirectory): Promise<void> {
  await directory.writeMany(
    numbered("u", USERS).map((name, at): DirectoryWrite => ({
      ...{ kind: "user", name, expected: null },
      next: {
        backends: {},
        externalId: `x${at}`,
        content: {
          ...{ kind: "user", name, active: at % 100 !== 0 },
          attributes: {
            name: NAME,
            nickName: `nick${at}`,
            displayName: `Person ${at % 50}`,
            emails: [{ value: `${name}@example.com`, type: "work" }, {
              value: `p${at}@home.example`,
              type: "home",
            }],
          },
        },
      },
    })),
  );
  await putGroup(directory, "staff", numbered("u", 40));
}

async function openCrowd(): Promise<
  { world: World; directory: TargetDirectory; store: Store & { reads: number } }
> {
  const world = await openWorld();
  await fillCrowd(world.directory);
  const store = counting(world.store);
  const directory = await world.reopen({ store });
  // The indexes load after the start.
  await directory.indexes.count("user", { by: "active", ranges: [], counted: "every" });
  return { world, directory, store };
}

/** Queries with the number of resources that match, of which a page has at most ten. */
const INDEXED: readonly [Asked, number][] = [
  [{ kind: "user" }, USERS],
  [{ kind: "user", startIndex: 2500 }, USERS],
  [{ kind: "user", filter: 'userName eq "u00007"' }, 1],
  [{ kind: "user", filter: 'userName sw "u01"' }, 1000],
  [{ kind: "user", filter: 'userName ge "u02000"', startIndex: 900 }, 1000],
  [{ kind: "user", filter: 'not (userName sw "u01")' }, 2000],
  [{ kind: "user", filter: 'externalId eq "x77"' }, 1],
  [{ kind: "user", filter: 'externalId eq "x77" or externalId eq "x78" or externalId eq "none"' }, 2],
  [{ kind: "user", filter: "externalId pr" }, USERS],
  [{ kind: "user", filter: "not (externalId pr)" }, 0],
  [{ kind: "user", filter: 'emails.value eq "U00009@EXAMPLE.COM"' }, 1],
  [{ kind: "user", filter: 'emails[type eq "work" and value eq "u00009@example.com"]' }, 1],
  [{ kind: "user", filter: 'emails[value sw "p1"]' }, 1111],
  [{ kind: "user", filter: "emails.value pr" }, USERS],
  [{ kind: "user", filter: 'displayName eq "person 7"' }, 60],
  [{ kind: "user", filter: 'displayName ne "person 7"', startIndex: 2900 }, USERS - 60],
  [{ kind: "user", filter: "active eq false" }, 30],
  [{ kind: "user", filter: "active eq true", startIndex: 2000 }, USERS - 30],
  [{ kind: "user", filter: 'active eq true and userName eq "u00007"' }, 1],
  [{ kind: "user", filter: 'title co "x" and externalId eq "x5"' }, 0],
  [{ kind: "user", filter: 'meta.lastModified gt "2020-01-01T00:00:00Z"' }, USERS],
  [{
    kind: "user",
    filter: 'meta.created ge "2020-01-01T00:00:00Z" and meta.created lt "2021-01-01T00:00:00Z"',
  }, 0],
  [{ kind: "user", sortBy: "displayName", startIndex: 1500 }, USERS],
  [{ kind: "user", sortBy: "emails.value", sortOrder: "descending" }, USERS],
  [{ kind: "user", sortBy: "meta.lastModified", sortOrder: "descending" }, USERS],
  [{ kind: "user", sortBy: "userName", sortOrder: "descending", startIndex: 1000 }, USERS],
  [{ kind: "user", filter: 'displayName sw "person 1"', sortBy: "displayName" }, 660],
  [{ kind: "user", filter: 'groups.display eq "staff"' }, 40],
  [{ kind: "user", filter: 'nickName eq "Nick42"' }, 1],
  [{ kind: "group", filter: 'displayName eq "STAFF"' }, 1],
];
/** A part of at most three buckets, twice, and the resources of the page. */
const MAX_READS = 900;

Deno.test("queryResources() reads only a page for a filter or an order on an indexed attribute", async (t) => {
  const { world, directory, store } = await openCrowd();
  await using _world = world;
  for (const [asked, total] of INDEXED) {
    await t.step(JSON.stringify(asked), async () => {
      store.reads = 0;
      const found = answered(await ask(directory, { count: 10, ...asked }, { maxCompared: 50 }));
      assertEquals(found.total, total);
      assertEquals(found.resources.length, Math.min(10, total - (asked.startIndex ?? 1) + 1));
      assert(store.reads <= MAX_READS, `${store.reads} reads`);
    });
  }
  // The record, and the entry of the index if it is another one: a page that is not full is not counted.
  for (const [filter, reads] of [['userName eq "u00007"', 1], ['externalId eq "x77"', 2]] as const) {
    store.reads = 0;
    await find(directory, { kind: "user", filter });
    assertEquals(store.reads, reads);
  }
  store.reads = 0;
  assertEquals(
    problemIn(await ask(directory, { kind: "user", filter: 'title eq "x"' }, { maxCompared: 50 })),
    "tooMany",
  );
  assertEquals(
    problemIn(await ask(directory, { kind: "user", sortBy: "title" }, { maxCompared: 50 })),
    "tooMany",
  );
  assertEquals(store.reads, 0);
});

Deno.test("queryResources() on another node follows the writes of the first one", async () => {
  await using nodes = await openScimNodes();
  const directory = { merge: { minUnmerged: 8, maxUnmerged: 16, stepMutations: 10 } };
  const [a, b] = [await nodes.start("a", { directory }), await nodes.start("b", { directory })];
  for (const name of numbered("u", 60)) {
    await putUser(a.target.directory, name, {
      attributes: { displayName: name, emails: [{ value: `${name}@x` }] },
    });
  }
  await b.store.catchUp();
  await assertIndexed(b.target.directory);
  const filter = 'emails.value eq "u00042@x"';
  assertEquals(await find(b.target.directory, { kind: "user", filter }), ["u00042"]);
  await putUser(b.target.directory, "u00042", { active: false });
  await a.store.catchUp();
  assertEquals(await find(a.target.directory, { kind: "user", filter }), []);
  assertEquals(await find(a.target.directory, { kind: "user", filter: "active eq false" }), ["u00042"]);
  const sorted = { kind: "user", sortBy: "meta.lastModified", sortOrder: "descending", count: 1 } as const;
  assertEquals(await find(a.target.directory, sorted), ["u00042"]);
});

Deno.test("queryResources() by cursor finds each resource that stays once, while others are written", async () => {
  await using world = await openWorld({ merge: { minUnmerged: 20, maxUnmerged: 40, stepMutations: 30 } });
  const { directory } = world;
  const stay = numbered("stay", 120);
  for (const name of stay) await putUser(directory, name, { attributes: { displayName: `d ${name}` } });
  for (const sortBy of [null, "userName", "displayName", "meta.created"]) {
    for (const sortOrder of ["ascending", "descending"] as const) {
      const found: string[] = [];
      let turn = 0;
      for (let cursor: string | null = ""; cursor !== null;) {
        const page = answered(await ask(directory, { kind: "user", sortBy, sortOrder, cursor, count: 17 }));
        found.push(
          ...page.resources.map(({ content }) => content.name).filter((name) => name.startsWith("stay")),
        );
        cursor = page.nextCursor;
        for (let n = 0; n < 5; n++) {
          await putUser(directory, `other${(turn * 37 + n) % 50}`, {
            attributes: { displayName: `d stay${turn}` },
          });
          await drop(directory, { kind: "user", name: `other${(turn++ * 61) % 50}` });
        }
      }
      const expected = sortBy !== null && sortOrder === "descending" ? stay.toReversed() : stay;
      assertEquals([sortBy, sortOrder, ...found], [sortBy, sortOrder, ...expected]);
    }
  }
});

Deno.test("queryResources() finds a user with more e-mail addresses than the index has", async () => {
  await using world = await openWorld();
  const emails = numbered("m", 250).map((name) => ({ value: `${name}@x.example` }));
  await putUser(world.directory, "many", { attributes: { emails } });
  await putUser(world.directory, "one", { attributes: { emails: emails.slice(249) } });
  const filter = 'emails.value eq "m00249@x.example"';
  assertEquals([...await find(world.directory, { kind: "user", filter })].sort(), ["many", "one"]);
  const sorted = { kind: "user", sortBy: "emails.value" } as const;
  assertEquals(answered(await ask(world.directory, sorted)).total, 2);
});

Deno.test("a renamed user or group keeps its values in the index", async () => {
  await using world = await openWorld();
  const { directory } = world;
  for (const name of numbered("u", 5)) await putUser(directory, name, { attributes: { displayName: name } });
  await putGroup(directory, "staff", numbered("u", 3));
  for (const [kind, from, to] of [["user", "u00001", "anna"], ["group", "staff", "crew"]] as const) {
    const before = await directory.read(kind, from);
    if (before === null) throw new Error(`Cannot rename ${from}: it does not exist`);
    const next = { content: { ...before.content, name: to }, backends: {} };
    const result = await directory.rename({ kind, from, expected: before.version, next });
    assertEquals(result.ok, true);
  }
  await assertIndexed(directory);
  await assertIndexed(await world.reopen());
  assertEquals(await find(directory, { kind: "user", filter: 'displayName eq "u00001"' }), ["anna"]);
});
