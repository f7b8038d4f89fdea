// Both interfaces of SCIM 1.1: endpoints and lists.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Answer, Call } from "./caller.ts";
import {
  type Endpoint,
  ENDPOINTS,
  ERROR_SCHEMA,
  LIST_FIELDS,
  LISTED_USER_FIELDS,
  type Parameter,
  SEARCH_SCHEMA,
} from "./document_tables.ts";
import { READER, type RowsWorld, startRowsWorld } from "./rows_world.ts";

// The list response and its query parameters with the real process: fields and their types, pages, searches, headers.

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

// Every row of the specification's table of endpoints, with the real program over HTTP: its effect, its refusals, and
// its query parameters.

let plainWorld: RowsWorld;
Deno.test.beforeAll(async () => void (plainWorld = await startRowsWorld()));
Deno.test.afterAll(() => plainWorld.dispose());

let made = 0;
const newName = () => `row${++made}`;

const HEADERS: Readonly<Record<string, string>> = {
  "content-type": "application/scim+json",
  "content-language": "en",
  vary: "Accept-Language, Cookie",
  "x-frame-options": "DENY",
};

/** A 204 has no content and so no content type (RFC 9110 §8.3). */
function assertHeaders({ headers, status }: Answer): void {
  for (const [name, value] of Object.entries(HEADERS)) {
    assertEquals(headers.get(name), name === "content-type" && status === 204 ? null : value, name);
  }
}

function assertError(answer: Answer, status: number, scimType?: string): void {
  const { schemas, status: said, detail, ...rest } = answer.json;
  assertEquals([answer.status, schemas, said], [status, [ERROR_SCHEMA], String(status)], answer.text);
  assertMatch(String(detail), /^\S.*\.$/s);
  assertEquals(rest, scimType === undefined ? {} : { scimType });
  assertHeaders(answer);
}

/** The collection of a path, and a new resource there that the path then names. */
async function prepare(path: string): Promise<{ collection: string; name: string; path: string }> {
  const name = newName();
  const collection = path.startsWith("/Groups") ? "/Groups" : "/Users";
  const created = await plainWorld.post(collection, bodyOf(collection, name, { title: "before" }));
  assertEquals(created.status, 201, created.text);
  return { collection, name, path: path.replace(/<\w+>/, name) };
}

function bodyOf(collection: string, name: string, more: Record<string, unknown> = {}) {
  return collection === "/Groups" ? { displayName: name, ...more } : { userName: name, ...more };
}

/** Sends the call of a supported row with this query. */
async function perform(row: Endpoint, query = ""): Promise<{ answer: Answer; name: string; at: string }> {
  const { collection, name, path } = await prepare(row.path);
  const fresh = newName();
  const calls: Record<string, Call> = {
    GET: {},
    POST: { method: "POST", body: bodyOf(collection, fresh) },
    PUT: { method: "PUT", body: bodyOf(collection, name, { title: "after" }) },
    DELETE: { method: "DELETE" },
  };
  const answer = await plainWorld.call(path + query, calls[row.method] ?? {});
  const named = row.method === "POST" ? fresh : name;
  return { answer, name: named, at: `${collection}/${named}` };
}

const SUCCESS: Readonly<Record<string, number>> = { GET: 200, POST: 201, PUT: 200, DELETE: 204 };

/** The state after a supported call. */
const EFFECTS: Readonly<Record<string, (done: Awaited<ReturnType<typeof perform>>) => Promise<void>>> = {
  async GET({ answer, name, at }) {
    const { Resources } = answer.json;
    if (Array.isArray(Resources)) {
      assert(Resources.some(({ id }) => id === name) || Resources.length === 100);
    } else assertEquals([answer.json.id, answer.text], [name, (await plainWorld.get(at)).text]);
  },
  async POST({ answer, name, at }) {
    const { status, text } = await plainWorld.get(at);
    assertEquals([status, text, answer.json.id], [200, answer.text, name]);
    assert(String(answer.headers.get("location")).endsWith(`/idm/scim/default${at}`));
  },
  async PUT({ answer, at }) {
    assertEquals((await plainWorld.get(at)).text, answer.text);
    assertEquals(answer.json.title, "after");
  },
  async DELETE({ answer, at }) {
    assertEquals(answer.text, "");
    assertError(await plainWorld.get(at), 404);
  },
};

/** Values that no operation with the parameter accepts. */
const BAD: Readonly<Record<Parameter, string>> = {
  refresh: "maybe",
  page: "first",
  q: "a&q=b",
  backends: "no-such-backend",
};

const title = ({ method, path, operation }: Endpoint) =>
  `${method} ${path}${operation === "" ? "" : ` (${operation})`}`;

for (const row of ENDPOINTS.filter(({ supported }) => supported)) {
  Deno.test(`${title(row)} is supported`, async () => {
    const done = await perform(row);
    assertEquals(done.answer.status, SUCCESS[row.method], done.answer.text);
    assertHeaders(done.answer);
    await EFFECTS[row.method]?.(done);
  });

  for (const name of Object.keys(BAD) as Parameter[]) {
    const listens = row.query.includes(name);
    Deno.test(`${title(row)} ${listens ? "listens to" : "ignores"} ${name}`, async () => {
      const { answer, at } = await perform(row, `?${name}=${BAD[name]}`);
      if (!listens) {
        assertEquals(answer.status, SUCCESS[row.method], answer.text);
        return;
      }
      assertError(answer, 400, "invalidValue");
      // A refused write had no effect.
      const isThere = (await plainWorld.get(at)).status;
      assertEquals(isThere, row.method === "POST" ? 404 : 200);
    });
  }

  Deno.test(`${title(row)} ignores unknown parameters`, async () => {
    const { answer } = await perform(
      row,
      "?startIndex=abc&count=-1&filter=%28&attributes=x&page%00=0&__proto__=1",
    );
    assertEquals(answer.status, SUCCESS[row.method], answer.text);
  });

  Deno.test(`${title(row)} answers 404 for a resource that does not exist`, async () => {
    if (!row.path.includes("<")) {
      assertError(await plainWorld.call(row.path.toLowerCase()), 404);
      return;
    }
    const { collection } = await prepare(row.path);
    const body = bodyOf(collection, "unknown-name");
    const answer = await plainWorld.call(`${collection}/unknown-name`, {
      method: row.method,
      ...row.method === "PUT" ? { body } : {},
    });
    assertError(answer, 404);
  });

  Deno.test(`${title(row)} is ${row.method === "GET" ? "open" : "closed"} to a credential with read access`, async () => {
    const { collection, name, path } = await prepare(row.path);
    const body = row.method === "GET" || row.method === "DELETE"
      ? undefined
      : bodyOf(collection, row.method === "POST" ? newName() : name);
    const answer = await plainWorld.call(path, { method: row.method, body, as: READER });
    if (row.method === "GET") assertEquals(answer.status, 200);
    else assertError(answer, 403);
  });
}

const SEARCH = { schemas: [SEARCH_SCHEMA], filter: 'userName sw "a"', startIndex: 1, count: 10 };
const PATCH = {
  schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
  Operations: [{ op: "replace", path: "active", value: false }],
};

/** The calls of an unsupported row. */
function unsupportedCalls({ method, path }: Endpoint): { path: string; call: Call }[] {
  const paths = path.startsWith("[prefix]")
    ? ["/.search", "/Users/.search", "/Groups/.search", "/some/where/.search"]
    : [path];
  const methods = method === "any" ? ["GET", "POST", "PUT", "PATCH", "DELETE"] : [method];
  return paths.flatMap((one) =>
    methods.map((verb) => ({
      path: one,
      call: {
        method: verb,
        ...verb === "PATCH" ? { body: PATCH } : verb === "POST" || verb === "PUT" ? { body: SEARCH } : {},
      },
    }))
  );
}

for (const row of ENDPOINTS.filter(({ supported }) => !supported)) {
  Deno.test(`${title(row)} is not supported: 501, and nothing is changed`, async () => {
    const { path: prepared, collection, name } = await prepare(row.path);
    const before = (await plainWorld.get(`${collection}/${name}`)).text;
    for (
      const { path, call } of unsupportedCalls({ ...row, path: row.path.includes("<") ? prepared : row.path })
    ) {
      assertError(await plainWorld.call(path, call), 501);
      assertError(await plainWorld.call(`${path}?refresh=maybe&page=0&backends=none`, call), 501);
    }
    assertEquals((await plainWorld.get(`${collection}/${name}`)).text, before);
  });
}

for (
  const [path, allowed] of [["/Users", "GET, HEAD, POST"], ["/Groups/g", "GET, HEAD, PUT, DELETE"]] as const
) {
  Deno.test(`a method without a row for ${path} is answered 405 with the allowed ones`, async () => {
    const method = path === "/Users" ? "DELETE" : "POST";
    const answer = await plainWorld.call(path, { method, ...method === "POST" ? { body: {} } : {} });
    assertError(answer, 405);
    assertEquals(answer.headers.get("allow"), allowed);
  });
}

Deno.test("HEAD is answered like GET, without a body", async () => {
  const { path } = await prepare("/Users/<userName>");
  for (const one of ["/Users?q=row1", path]) {
    const get = await plainWorld.get(one);
    const head = await plainWorld.call(one, { method: "HEAD" });
    assertEquals([head.status, head.text, head.headers.get("etag")], [200, "", get.headers.get("etag")]);
    assertHeaders(head);
  }
});
