// Every row of the specification's table of endpoints, with the real program over HTTP: its effect, its refusals, and
// its query parameters.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Answer, Call } from "./caller.ts";
import { type Endpoint, ENDPOINTS, ERROR_SCHEMA, type Parameter, SEARCH_SCHEMA } from "./document_tables.ts";
import { READER, type RowsWorld, startRowsWorld } from "./rows_world.ts";

let world: RowsWorld;
Deno.test.beforeAll(async () => void (world = await startRowsWorld()));
Deno.test.afterAll(() => world.dispose());

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
  const created = await world.post(collection, bodyOf(collection, name, { title: "before" }));
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
  const answer = await world.call(path + query, calls[row.method] ?? {});
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
    } else assertEquals([answer.json.id, answer.text], [name, (await world.get(at)).text]);
  },
  async POST({ answer, name, at }) {
    const { status, text } = await world.get(at);
    assertEquals([status, text, answer.json.id], [200, answer.text, name]);
    assert(String(answer.headers.get("location")).endsWith(`/idm/scim/default${at}`));
  },
  async PUT({ answer, at }) {
    assertEquals((await world.get(at)).text, answer.text);
    assertEquals(answer.json.title, "after");
  },
  async DELETE({ answer, at }) {
    assertEquals(answer.text, "");
    assertError(await world.get(at), 404);
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
      const isThere = (await world.get(at)).status;
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
      assertError(await world.call(row.path.toLowerCase()), 404);
      return;
    }
    const { collection } = await prepare(row.path);
    const body = bodyOf(collection, "unknown-name");
    const answer = await world.call(`${collection}/unknown-name`, {
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
    const answer = await world.call(path, { method: row.method, body, as: READER });
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
    const before = (await world.get(`${collection}/${name}`)).text;
    for (
      const { path, call } of unsupportedCalls({ ...row, path: row.path.includes("<") ? prepared : row.path })
    ) {
      assertError(await world.call(path, call), 501);
      assertError(await world.call(`${path}?refresh=maybe&page=0&backends=none`, call), 501);
    }
    assertEquals((await world.get(`${collection}/${name}`)).text, before);
  });
}

for (
  const [path, allowed] of [["/Users", "GET, HEAD, POST"], ["/Groups/g", "GET, HEAD, PUT, DELETE"]] as const
) {
  Deno.test(`a method without a row for ${path} is answered 405 with the allowed ones`, async () => {
    const method = path === "/Users" ? "DELETE" : "POST";
    const answer = await world.call(path, { method, ...method === "POST" ? { body: {} } : {} });
    assertError(answer, 405);
    assertEquals(answer.headers.get("allow"), allowed);
  });
}

Deno.test("HEAD is answered like GET, without a body", async () => {
  const { path } = await prepare("/Users/<userName>");
  for (const one of ["/Users?q=row1", path]) {
    const get = await world.get(one);
    const head = await world.call(one, { method: "HEAD" });
    assertEquals([head.status, head.text, head.headers.get("etag")], [200, "", get.headers.get("etag")]);
    assertHeaders(head);
  }
});
