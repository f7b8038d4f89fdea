// The parameter q: words and filters over the indexes.

import { assertEquals } from "@std/assert";
import type { TargetDirectory } from "../../../scim/ports.ts";
import type { JsonObject, ResourceKind } from "../../../scim/schema/resource.ts";
import { NAME, namesOf, openWorld, pageOf, putGroup, putUser } from "./world.ts";

interface Row {
  readonly name: string;
  readonly attributes: JsonObject;
}

const PEOPLE: readonly Row[] = [
  {
    name: "anna.smith",
    attributes: {
      name: { familyName: "Smith", givenName: "Anna" },
      emails: [{ value: "Anna.Smith@example.com", type: "work" }, { value: "anna@home.example" }],
      phoneNumbers: [{ value: "+49 171 1234567" }],
    },
  },
  {
    name: "bert",
    attributes: {
      name: { familyName: "Smith-Jones", givenName: "Bert Maria" },
      displayName: "Bert the Great",
      emails: [{ value: "bert@example.com", type: "home" }],
    },
  },
  { name: "Clara", attributes: { name: { familyName: "O'Brien", givenName: "Clara" }, title: "boss" } },
  { name: "émile", attributes: { name: NAME, nickName: "a".repeat(30) + "b" } },
];

async function fill(directory: TargetDirectory): Promise<void> {
  for (const { name, attributes } of PEOPLE) await putUser(directory, name, { attributes });
  await putGroup(directory, "VPN Users", ["anna.smith", "bert"]);
  await putGroup(directory, "it-admins", ["clara"]);
}

interface Found {
  readonly kind?: ResourceKind;
  readonly q: string;
  readonly finds: readonly string[];
}

/** The result, ordered by name. */
const ROWS: readonly Found[] = [
  { q: "anna", finds: ["anna.smith"] },
  { q: "SMITH", finds: ["anna.smith", "bert"] },
  { q: "smith exa", finds: ["anna.smith", "bert"] },
  { q: "jones", finds: ["bert"] },
  { q: "brien", finds: ["Clara"] },
  { q: "o'b", finds: ["Clara"] },
  { q: "maria", finds: ["bert"] },
  { q: "great bert", finds: ["bert"] },
  { q: "reat", finds: [] },
  { q: "home", finds: ["anna.smith"] },
  { q: "+49 171 12", finds: ["anna.smith"] },
  { q: "+49 171 12 ", finds: ["anna.smith"] },
  { q: "anna +49171", finds: ["anna.smith"] },
  { q: "49171", finds: ["anna.smith"] },
  { q: "vpn", finds: ["anna.smith", "bert"] },
  { q: "users smith an", finds: ["anna.smith"] },
  { q: "admins", finds: ["Clara"] },
  { q: "e\u0301", finds: ["émile"] },
  { q: "a".repeat(30), finds: ["émile"] },
  { q: "a".repeat(31), finds: [] },
  { q: "boss", finds: [] },
  { q: "", finds: ["anna.smith", "bert", "Clara", "émile"] },
  { q: " ,;( ", finds: ["anna.smith", "bert", "Clara", "émile"] },
  { kind: "group", q: "vpn", finds: ["VPN Users"] },
  { kind: "group", q: "USERS vp", finds: ["VPN Users"] },
  { kind: "group", q: "admin", finds: ["it-admins"] },
  { kind: "group", q: "anna", finds: [] },
  { q: 'userName eq "ANNA.smith"', finds: ["anna.smith"] },
  { q: 'id eq "bert"', finds: ["bert"] },
  { q: 'externalId eq "bert"', finds: ["bert"] },
  { q: 'userName sw "an"', finds: ["anna.smith"] },
  { q: 'userName co "a"', finds: ["anna.smith", "Clara"] },
  { q: 'emails.value eq "anna@home.example"', finds: ["anna.smith"] },
  { q: 'emails eq "anna@home.example"', finds: ["anna.smith"] },
  { q: 'emails[type eq "work" and value sw "anna"]', finds: ["anna.smith"] },
  { q: 'emails[type eq "home" and value sw "anna"]', finds: [] },
  { q: 'phoneNumbers.value sw "+49 171"', finds: ["anna.smith"] },
  { q: 'name.familyName sw "smith"', finds: ["anna.smith", "bert"] },
  { q: 'name.givenName eq "bert maria"', finds: ["bert"] },
  { q: 'displayName eq "Bert the Great"', finds: ["bert"] },
  { q: 'name.familyName sw "smith" and not (userName eq "bert")', finds: ["anna.smith"] },
  { q: 'userName eq "bert" or name.familyName eq "O\'Brien"', finds: ["bert", "Clara"] },
  { q: 'userName eq "bert" or title pr', finds: ["bert", "Clara"] },
  { q: 'title eq "boss"', finds: ["Clara"] },
  { q: 'userName eq "zoe"', finds: [] },
  { q: 'groups.value eq "vpn users"', finds: ["anna.smith", "bert"] },
  { kind: "group", q: 'displayName eq "vpn users"', finds: ["VPN Users"] },
  { kind: "group", q: 'displayName sw "it"', finds: ["it-admins"] },
  { kind: "group", q: 'members.value eq "clara"', finds: ["it-admins"] },
];

Deno.test("search() finds by words and by filters", async (t) => {
  await using world = await openWorld();
  await fill(world.directory);
  for (const { kind = "user", q, finds } of ROWS) {
    await t.step(`${kind}: ${q}`, async () => {
      const page = pageOf(await world.directory.search(kind, q, { page: 1, size: 10 }));
      const order = (names: readonly string[]) =>
        names.toSorted((a, b) => a.toLowerCase() < b.toLowerCase() ? -1 : 1);
      assertEquals([page.total, ...order(namesOf(page.resources))], [finds.length, ...order(finds)]);
    });
  }
});

Deno.test("search() returns the result of a filter in pages", async () => {
  await using world = await openWorld();
  await fill(world.directory);
  const q = 'name.familyName sw "smith"';
  const pages = await Promise.all(
    [1, 2, 3].map((page) => world.directory.search("user", q, { page, size: 1 })),
  );
  assertEquals(pages.map((page) => namesOf(pageOf(page).resources)), [["anna.smith"], ["bert"], []]);
  assertEquals(pages.map((page) => [pageOf(page).total, pageOf(page).startIndex]), [[2, 1], [2, 2], [2, 3]]);
});

Deno.test("search() reports what is invalid in a filter", async () => {
  await using world = await openWorld();
  const outcome = await world.directory.search("user", 'nonsense eq "x"', { page: 1, size: 1 });
  assertEquals(!outcome.ok && outcome.problem.kind, "invalidFilter");
});

Deno.test("search() refuses to read more than 10,000 resources, but counts one word exactly", async () => {
  await using world = await openWorld();
  const names = Array.from({ length: 10_001 }, (_, at) => `u${at}`);
  await world.directory.writeMany(names.map((name) => ({
    kind: "user",
    name,
    expected: null,
    next: {
      content: {
        kind: "user",
        name,
        active: true,
        attributes: { name: { familyName: "Doe", givenName: "" } },
      },
      backends: {},
    },
  })));
  await putGroup(world.directory, "all", names);
  const few = pageOf(await world.directory.search("group", 'members.value eq "U7"', { page: 1, size: 9 }));
  assertEquals(namesOf(few.resources), ["all"]);
  const options = { page: 101, size: 100 };
  for (
    const q of [
      'title eq "boss"',
      'name.familyName sw "do"',
      "u doe",
      'groups.value eq "all"',
      'not (userName eq "u1")',
    ]
  ) {
    const outcome = await world.directory.search("user", q, options);
    assertEquals([q, !outcome.ok && outcome.problem.kind], [q, "tooMany"]);
  }
  const one = pageOf(await world.directory.search("user", "doe", options));
  assertEquals([one.total, one.resources.length], [10_001, 1]);
  const narrow = pageOf(await world.directory.search("user", "u10000 doe", { page: 1, size: 100 }));
  assertEquals(namesOf(narrow.resources), ["u10000"]);
  const both = await world.directory.search("user", 'userName eq "u7" and title eq "boss"', options);
  assertEquals(pageOf(both).total, 0);
});
