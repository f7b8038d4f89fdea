// Random queries compared with a naive evaluation of all resources: the same resources, totals, orders and pages, by index and by cursor.

import { assertEquals } from "@std/assert";
import fc from "../../../packages/fast_check.ts";
import type { TargetDirectory } from "../../../../scim/ports.ts";
import type { JsonObject } from "../../../../scim/schema/resource.ts";
import { canonicals } from "../../directory/acts.ts";
import { openWorld, putGroup, putUser } from "../../directory/world.ts";
import { answered, ask, type Asked, evaluate } from "./query_world.ts";

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
