// The list response and its query parameters with the real process: fields and their types, pages, searches, headers.

import { assert, assertEquals } from "@std/assert";
import type { Answer } from "./caller.ts";
import { LIST_FIELDS, LISTED_USER_FIELDS } from "./document_tables.ts";
import { type RowsWorld, startRowsWorld } from "./rows_world.ts";

let world: RowsWorld;

const PEOPLE: readonly (readonly [userName: string, more: Record<string, unknown>])[] = [
  ["ada", { name: { familyName: "Lovelace", givenName: "Ada" }, emails: [{ value: "ada.l@maths.example" }] }],
  ["Bob", { phoneNumbers: [{ value: "+41 79 123 45 67" }] }],
  ["carla", { name: { givenName: "Carla María" }, displayName: "CM" }],
  ["dora-maria", { active: false, nickName: "Dodo" }],
  ["ernst", { name: { familyName: "Le Smith" } }],
  ["özge", { emails: [{ value: "first@a.example", type: "home" }, { value: "second@b.example" }] }],
  ["zoe", {}],
];

Deno.test.beforeAll(async () => {
  world = await startRowsWorld();
  for (const [userName, more] of PEOPLE) {
    const created = await small("/Users", { method: "POST", body: { userName, ...more } });
    assertEquals(created.status, 201, created.text);
  }
  for (
    const [displayName, ...members] of [["vpn-admins", "ada", "bob"], ["night shift", "zoe", "stranger"]]
  ) {
    const body = { displayName, members: members.map((display) => ({ display })) };
    assertEquals((await small("/Groups", { method: "POST", body })).status, 201);
  }
});
Deno.test.afterAll(() => world.dispose());

function small(path: string, call: { method?: string; body?: unknown } = {}): Promise<Answer> {
  return world.call(path, { target: "small", ...call });
}

async function idsOf(path: string): Promise<string[]> {
  const { status, json, text } = await small(path);
  assertEquals(status, 200, text);
  return (json.Resources as { id: string }[]).map(({ id }) => id);
}

for (const [field, fits] of Object.entries(LIST_FIELDS)) {
  Deno.test(`list response: ${field} is present and has its type`, async () => {
    for (const path of ["/Users", "/Groups", "/Users?page=1000", "/Groups?q=nobody"]) {
      const { json, text } = await small(path);
      assert(fits(json[field]), `${path}: ${text}`);
    }
  });
}

for (const [field, fits] of Object.entries(LISTED_USER_FIELDS)) {
  Deno.test(`a user of a list: ${field} is present and has its type`, async () => {
    const { json, text } = await small("/Users");
    const resources = json.Resources as Record<string, unknown>[];
    assertEquals(resources.length, 3);
    for (const resource of resources) assert(fits(resource[field]), text);
  });
}

Deno.test("a user of a list: other mapped attributes appear when set, and only then", async () => {
  const { json } = await small("/Users?page=1");
  const [ada, bob] = json.Resources as Record<string, unknown>[];
  assertEquals([ada?.emails, ada?.phoneNumbers], [[{ value: "ada.l@maths.example" }], undefined]);
  assertEquals([bob?.phoneNumbers, bob?.emails], [[{ value: "+41 79 123 45 67" }], undefined]);
});

Deno.test("a group of a list: meta is that of a Group, and the members are present", async () => {
  const { json } = await small("/Groups");
  const [first, second] = json.Resources as Record<string, unknown>[];
  assertEquals([first?.displayName, second?.displayName], ["night shift", "vpn-admins"]);
  assertEquals((first?.meta as Record<string, unknown>).resourceType, "Group");
  assertEquals((first?.members as { display: string }[]).map(({ display }) => display).sort(), [
    "stranger",
    "zoe",
  ]);
});

/** A page, and the content of its answer: startIndex, itemsPerPage, ids. */
const PAGES: readonly (readonly [query: string, startIndex: number, ids: readonly string[]])[] = [
  ["", 1, ["ada", "Bob", "carla"]],
  ["?page=1", 1, ["ada", "Bob", "carla"]],
  ["?page=2", 4, ["dora-maria", "ernst", "zoe"]],
  ["?page=3", 7, ["özge"]],
  ["?page=4", 10, []],
  ["?page=1000000", 2999998, []],
  ["?page=002", 4, ["dora-maria", "ernst", "zoe"]],
];
for (const [query, startIndex, ids] of PAGES) {
  Deno.test(`page: ${query === "" ? "not given" : query.slice(1)} holds ${ids.join(", ") || "nothing"}`, async () => {
    const { json } = await small(`/Users${query}`);
    assertEquals([json.totalResults, json.startIndex, json.itemsPerPage], [7, startIndex, ids.length]);
    assertEquals(await idsOf(`/Users${query}`), ids);
  });
}

const BAD_VALUES: readonly string[] = [
  ...["0", "-1", "1.5", "abc", "", "1e3", "0x1", "+1", "9".repeat(17), "%20", "1&page=2"].map((it) =>
    `page=${it}`
  ),
  ...["yes", "", "1", "TRUE", "true%20", "false&refresh=true"].map((it) => `refresh=${it}`),
  "q=a&q=b",
];
for (const query of BAD_VALUES) {
  Deno.test(`a bad value, ${query.slice(0, 30)}: 400 invalidValue`, async () => {
    for (const collection of ["/Users", "/Groups"]) {
      const { status, json } = await small(`${collection}?${query}`);
      assertEquals([status, json.status, json.scimType], [400, "400", "invalidValue"]);
    }
  });
}

Deno.test("a page far past the end is empty", async () => {
  for (const page of ["99999999999", String(Number.MAX_SAFE_INTEGER), "9".repeat(16)]) {
    const { status, json } = await small(`/Users?page=${page}`);
    assertEquals([status, json.Resources], [200, []], page);
  }
});

const SEARCHES: readonly (readonly [q: string, ids: readonly string[]])[] = [
  ["ada", ["ada"]],
  ["ADA", ["ada"]],
  ["lovel", ["ada"]],
  ["ovelace", []],
  ["love ada", ["ada"]],
  ["ada yuri", []],
  ["maths", ["ada"]],
  ["ada.l@maths.example", ["ada"]],
  ["bob", ["Bob"]],
  ["+4179123", ["Bob"]],
  ["4179 ", ["Bob"]],
  ["maría", ["carla", "dora-maria"].slice(0, 1)],
  ["mari", ["dora-maria"]],
  ["vpn", ["ada", "Bob"]],
  ["admins", ["ada", "Bob"]],
  ["night shi", ["zoe"]],
  ["dodo", ["dora-maria"]],
  ["ÖZ", ["özge"]],
  ["second@", ["özge"]],
  ["le smith", ["ernst"]],
  ["  zoe  ", ["zoe"]],
  ['userName eq "BOB"', ["Bob"]],
  ['userName eq "yuri"', []],
  ['id eq "zoe"', ["zoe"]],
  ['externalId eq "zoe"', ["zoe"]],
  ['name.familyName sw "Love"', ["ada"]],
  ['emails[type eq "home"]', ["özge"]],
  ['emails[type eq "home" and value sw "second"]', []],
  ['emails.value eq "second@b.example"', ["özge"]],
  ["active eq false", ["dora-maria"]],
  ["phoneNumbers pr", ["Bob"]],
  ['userName sw "z" or userName sw "a"', ["ada", "zoe"]],
  ['not (userName co "o" or userName co "a") and active eq true', ["ernst", "özge"]],
  ['groups.display eq "vpn-admins"', ["ada", "Bob"]],
  ['urn:ietf:params:scim:schemas:core:2.0:User:userName eq "zoe"', ["zoe"]],
];
for (const [q, ids] of SEARCHES) {
  Deno.test(`q: ${q} finds ${ids.join(", ") || "zoe"}`, async () => {
    const path = `/Users?q=${encodeURIComponent(q)}`;
    const { json, text } = await small(path);
    assertEquals([...await idsOf(path)].sort(), [...ids].sort());
    assertEquals([json.totalResults, json.startIndex, json.itemsPerPage], [ids.length, 1, ids.length], text);
  });
}

Deno.test("q: empty or blank, it is ignored", async () => {
  for (const q of ["", "%20%20"]) assertEquals((await small(`/Users?q=${q}`)).json.totalResults, 7);
});

Deno.test("q and page: the second page of a search continues after the first", async () => {
  const all = ["active eq true", "e"];
  for (const q of all) {
    const found = new Set<string>();
    const { json } = await small(`/Users?q=${encodeURIComponent(q)}`);
    for (let page = 1; page <= 4; page++) {
      const ids = await idsOf(`/Users?q=${encodeURIComponent(q)}&page=${page}`);
      assertEquals(ids.length <= 3, true);
      for (const id of ids) {
        assert(!found.has(id), `${id} is on two pages of ${q}`);
        found.add(id);
      }
    }
    assertEquals(found.size, json.totalResults);
  }
});

Deno.test("q: groups are found by the words of their names", async () => {
  assertEquals(await idsOf("/Groups?q=shift"), ["night shift"]);
  assertEquals(await idsOf("/Groups?q=VPN"), ["vpn-admins"]);
  assertEquals(await idsOf(`/Groups?q=${encodeURIComponent('members.display eq "zoe"')}`), ["night shift"]);
});

const BAD_FILTERS = [
  'shoeSize eq "42"',
  'userName.size eq "x"',
  "active gt true",
  'name.shoe sw "a"',
  'meta.created gt "yesterday"',
];
for (const q of BAD_FILTERS) {
  Deno.test(`q: ${q} names an attribute that no user has: 400 invalidFilter`, async () => {
    const { status, json, text } = await small(`/Users?q=${encodeURIComponent(q)}`);
    assertEquals([status, json.scimType], [400, "invalidFilter"], text);
  });
}

/** A text that resembles a filter and is not one is a search for its words. */
// deno-fmt-ignore
const MALFORMED = [
  'userName eq "', "userName eq", "eq eq eq", 'userName eq "a" and', "emails[", "emails[]", 'emails[type eq "x"', "not", "not (",
  "and or not", "\\", "[]", '"\\u0000"', "userName\u0000eq", "%", "*", "{}", '(userName eq "a"))', 'userName xx "a"',
  `${"(".repeat(200)}userName pr${")".repeat(200)}`, Array(60).fill("userName pr").join(" and "), "\u202e\u2066",
  "🦊".repeat(500), "a\u0301".repeat(400),
];
for (const q of MALFORMED) {
  Deno.test(`q: ${JSON.stringify(q.slice(0, 24))}, malformed, finds no user or is refused`, async () => {
    const { status, json, text } = await small(`/Users?q=${encodeURIComponent(q)}`);
    if (status === 200) assertEquals([json.totalResults, json.Resources], [0, []], text);
    else assert(status === 400 && typeof json.scimType === "string", text);
  });
}

for (const q of ["(", ")", "((((((((((((", '"', ",;"]) {
  Deno.test(`q: ${q} has no word, so it restricts nothing`, async () => {
    assertEquals((await small(`/Users?q=${encodeURIComponent(q)}`)).json.totalResults, 7);
  });
}

Deno.test("q: a word that is repeated a thousand times is one word", async () => {
  const once = await small("/Users?q=a");
  assertEquals((await small(`/Users?q=${"a%20".repeat(900)}`)).text, once.text);
});

Deno.test("a known ETag is answered 304, until the content changes", async () => {
  for (const path of ["/Users?page=3", "/Users/zoe", "/Groups"]) {
    const first = await small(path);
    const etag = first.headers.get("etag") ?? "";
    assert(etag.startsWith('W/"'), etag);
    const again = await world.call(path, { target: "small", headers: { "if-none-match": etag } });
    assertEquals([again.status, again.text, again.headers.get("etag")], [304, "", etag]);
  }
  const held = (await small("/Users/zoe")).headers.get("etag") ?? "";
  await small("/Users/zoe", { method: "PUT", body: { title: "x" } });
  const now = await world.call("/Users/zoe", { target: "small", headers: { "if-none-match": held } });
  assertEquals(now.status, 200);
});
