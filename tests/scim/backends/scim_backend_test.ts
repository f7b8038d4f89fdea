// The SCIM backend: its requests, its readers, and a Countersign as the server.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { Hono } from "hono";
import { type Clock, createSystemRandom, systemClock } from "../../../platform/runtime.ts";
import { BackendListError } from "../../../scim/backends/backend_error.ts";
import { memberPatches } from "../../../scim/backends/scim/scim_members.ts";
import { createScimBackend } from "../../../scim/backends/scim/scim_backend.ts";
import type { Backend, BackendFault, BackendOutcome } from "../../../scim/backend_port.ts";
import type { JsonObject } from "../../../scim/schema/resource.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import { createManualClock, eventually } from "../../upstream/manual_clock.ts";
import { openScim, scimSettings } from "./scim_client.ts";
import { silentLog } from "./silent_log.ts";
import { group, HOSTILE_NAMES, listAll, testBackend, user, value } from "./suite.ts";
import { createPasswordHasher } from "../../../platform/password_hasher.ts";
import { loadConfig } from "../../../platform/config/load.ts";
import { openDataDir } from "../../../platform/data_dir.ts";
import { NO_CHANGE } from "../../../platform/write_batch.ts";
import { createOrderedIds } from "../../../radius/conversation/conversation.ts";
import { createScimApp, type ScimEnv } from "../../../scim/http/app.ts";
import { createScim, type Scim } from "../../../scim/scim.ts";
import { startScimmy } from "../../support/scimmy_server.ts";

// The SCIM backend with scripted answers of a server: dialects, limits, refusals, and requests that are never repeated.

interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly body: JsonObject | null;
}

type Answer = Response | Promise<Response>;

function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers });
}

const CONFIG = { patch: { supported: true }, filter: { supported: true, maxResults: 50 } };
const EMPTY = { totalResults: 0, Resources: [] };

/** A backend whose server is `answer`; `calls` are all requests except that for the configuration. */
function open(
  answer: (call: Call) => Answer,
  { url = "https://saas.example/scim/v2", config = CONFIG, clock = systemClock }: {
    url?: string;
    config?: unknown;
    clock?: Clock;
  } = {},
): { backend: Backend; calls: Call[] } {
  const calls: Call[] = [];
  const backend = createScimBackend({
    settings: scimSettings({ url, token: "planted-token" }),
    mapping: createMapping({ user: {}, group: {} }),
    clock,
    log: silentLog(),
    fetch: async (input, init) => {
      const { pathname, searchParams } = new URL(String(input));
      const call: Call = {
        method: init?.method ?? "GET",
        path: pathname.replace(new URL(url).pathname, ""),
        query: searchParams,
        headers: new Headers(init?.headers),
        body: typeof init?.body === "string" ? JSON.parse(init.body) : null,
      };
      assertEquals(init?.redirect, "manual");
      if (call.path === "/ServiceProviderConfig") return config === null ? json(404, {}) : json(200, config);
      calls.push(call);
      return await answer(call);
    },
  });
  return { backend, calls };
}

function faultOf(outcome: BackendOutcome<unknown>): BackendFault {
  if (outcome.ok) throw new Error("a fault was expected");
  return outcome.fault;
}

const lines = (calls: readonly Call[]) => calls.map(({ method, path }) => `${method} ${path}`);

Deno.test("createScimBackend() sends its token and name, and spells attributes as in RFC 7643", async () => {
  const { backend, calls } = open(({ method }) =>
    method === "GET" ? json(200, EMPTY) : json(201, { id: "7" })
  );
  const content = user('an"na\\', {
    imgs: [{ value: "x" }],
    addresses: [{ postralCode: "1010", locality: "Wien" }],
  });
  assertEquals(value(await backend.put({ content, password: "pw" })), { remoteId: "7" });
  const [found, made] = calls;
  assertEquals(found?.query.get("filter"), 'userName eq "an\\"na\\\\"');
  assertEquals(made?.headers.get("authorization"), "Bearer planted-token");
  assertEquals(made?.headers.get("user-agent"), "Countersign");
  assertEquals(made?.body, {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
    externalId: 'an"na\\',
    addresses: [{ postalCode: "1010", locality: "Wien" }],
    userName: 'an"na\\',
    active: true,
    password: "pw",
  });
});

Deno.test("createScimBackend() calls another Countersign with names, pages and PUT", async () => {
  const held = new Map<string, JsonObject>();
  const { backend, calls } = open(({ method, path, query, body }) => {
    const [, collection = "", segment] = path.split("/");
    const key = `${collection}/${
      decodeURIComponent(segment ?? String(body?.userName ?? body?.displayName ?? ""))
    }`;
    if (method === "GET" && segment === undefined) {
      const all = [...held].filter(([name]) => name.startsWith(`${collection}/`)).map(([, one]) => one);
      const page = Number(query.get("page"));
      return json(200, { totalResults: all.length, Resources: all.slice((page - 1) * 2, page * 2) });
    }
    if (method === "DELETE") return new Response(null, { status: held.delete(key) ? 204 : 404 });
    if (method === "GET") return held.has(key) ? json(200, held.get(key)) : json(404, {});
    const resource = { ...body, id: key.split("/")[1] ?? "" };
    held.set(key, resource);
    return json(method === "POST" ? 201 : 200, resource);
  }, { url: "https://other.example/idm/scim/corp", config: null });
  assertEquals(backend.covers, null);
  for (const name of ["a", "b", "c/.."]) {
    value(await backend.put({ content: user(name, { imgs: [{ value: "i" }] }) }));
  }
  value(await backend.put({ content: group("team", ["a", "nobody"]) }));
  const read = value(await backend.read("group", "team"))?.content;
  assertEquals(read?.kind === "group" ? read.members : null, ["a", "nobody"]);
  assertEquals((await listAll(backend, "user")).length, 2, "a name that a path cannot have is left out");
  value(await backend.put({ content: group("team", ["a"]) }));
  value(await backend.remove("user", "a"));
  assertEquals(calls.filter(({ method }) => method === "PATCH"), []);
  assertEquals(held.get("Users/b")?.imgs, [{ value: "i" }]);
});

Deno.test("put() handles 409 by changing the existing resource", async () => {
  let made = false;
  const { backend, calls } = open(({ method }) => {
    if (method === "GET") {
      return json(200, made ? { totalResults: 1, Resources: [{ id: "9", userName: "Anna" }] } : EMPTY);
    }
    if (method === "PATCH") return json(200, { id: "9" });
    made = true;
    return json(409, { scimType: "uniqueness" });
  });
  assertEquals(value(await backend.put({ content: user("anna", { title: "T" }) })), { remoteId: "9" });
  assertEquals(lines(calls), ["GET /Users", "POST /Users", "GET /Users", "PATCH /Users/9"]);
});

Deno.test("put() looks members up again when the server refuses the cached ones", async () => {
  let annaId = "old";
  const { backend, calls } = open(({ method, path, body }) => {
    if (method === "GET" && path === "/Users") {
      return json(200, { totalResults: 1, Resources: [{ id: annaId, userName: "anna" }] });
    }
    if (method === "GET") return json(200, EMPTY);
    if (path === "/Users/old") return json(200, { id: "old" });
    const isKnown = JSON.stringify(body?.members) === JSON.stringify([{ value: annaId }]);
    return isKnown ? json(201, { id: "g" }) : json(400, { detail: "no such member" });
  });
  value(await backend.put({ content: user("anna", { title: "T" }) }));
  annaId = "new";
  assertEquals(value(await backend.put({ content: group("team", ["anna"]) })), { remoteId: "g" });
  assertEquals(calls.filter(({ method }) => method === "POST").map(({ body }) => body?.members), [
    [{ value: "old" }],
    [{ value: "new" }],
  ]);
});

Deno.test("put() never sends a POST twice, and reports that it may have arrived", async () => {
  const { backend, calls } = open(({ method }) => {
    if (method === "GET") return json(200, EMPTY);
    throw new TypeError("error sending request: connection reset");
  });
  const fault = faultOf(await backend.put({ content: user("anna") }));
  assertEquals([fault.kind, fault.unsure, fault.retry], ["unreachable", true, true]);
  assertEquals(lines(calls), ["GET /Users", "POST /Users"]);
});

for (const status of [301, 302, 303, 307, 308]) {
  Deno.test(`put() does not follow a redirect (${status}), and reports that the write may have been done`, async () => {
    const { backend, calls } = open(({ method }) =>
      method === "GET" ? json(200, EMPTY) : json(status, {}, { location: "https://elsewhere.example/" })
    );
    const fault = faultOf(await backend.put({ content: user("anna") }));
    assertEquals([fault.kind, fault.unsure, fault.retry], ["unreachable", true, true]);
    assertEquals(lines(calls), ["GET /Users", "POST /Users"]);
  });
}

Deno.test("read() repeats a GET once when the connection fails", async () => {
  let failures = 1;
  const { backend } = open(() => {
    if (failures-- > 0) throw new TypeError("connection reset");
    return json(200, EMPTY);
  });
  assertEquals(value(await backend.read("user", "anna")), null);
});

const STATUSES: readonly (readonly [number, BackendFault["kind"], boolean, boolean])[] = [
  [400, "refused", false, false],
  [401, "refused", false, true],
  [413, "refused", false, false],
  [418, "nonsense", false, true],
  [429, "busy", false, true],
  [500, "refused", true, true],
  [501, "unsupported", false, false],
  [503, "busy", true, true],
  [504, "unreachable", true, true],
];

for (const [status, kind, unsure, retry] of STATUSES) {
  Deno.test(`put() reports the meaning of ${status}, without the token or the password`, async () => {
    const said = { detail: "no: planted-token, planted-password", scimType: "x" };
    const { backend } = open(({ method }) =>
      method === "GET" ? json(200, EMPTY) : json(status, said, { "retry-after": "7" })
    );
    const fault = faultOf(await backend.put({ content: user("anna"), password: "planted-password" }));
    assertEquals([fault.kind, fault.unsure, fault.retry, fault.retryAfterMs], [kind, unsure, retry, 7000]);
    assert(!fault.detail.includes("planted") && fault.detail.includes(`(${status}: x: no: `), fault.detail);
  });
}

Deno.test("put() gives up at its deadline, and reports that a write may have arrived", async () => {
  const never = new Promise<Response>(() => undefined);
  const clock = createManualClock();
  const { backend, calls } = open(({ method }) => method === "GET" ? json(200, EMPTY) : never, { clock });
  const putting = backend.put({ content: user("anna") });
  await eventually("the write is sent", () => calls.some(({ method }) => method !== "GET"));
  clock.advance(scimSettings({}).timeoutMs);
  const fault = faultOf(await putting);
  assertEquals([fault.kind, fault.unsure], ["unreachable", true]);
});

for (const status of [404, 500, 501]) {
  Deno.test(`createScimBackend() treats ${status} of /Groups from a healthy server as a server without groups`, async () => {
    const { backend } = open(({ path }) => path === "/Groups" ? json(status, {}) : json(200, EMPTY));
    assertEquals(backend.holds.groups, true);
    assertEquals(await listAll(backend, "group"), []);
    assertEquals(backend.holds.groups, false);
    assertEquals(value(await backend.read("group", "g")), null);
    assertEquals(value(await backend.remove("group", "g")), null);
    assertEquals(faultOf(await backend.put({ content: group("g") })).kind, "unsupported");
  });
}

Deno.test("list() uses the page size of the server, follows totalResults, and ends on an empty page", async () => {
  const all = Array.from({ length: 120 }, (_, n) => ({ id: `i${n}`, userName: `u${n}` }));
  for (const total of [120, 500]) {
    const { backend, calls } = open(({ query }) => {
      const from = Number(query.get("startIndex")) - 1;
      return json(200, {
        totalResults: total,
        Resources: all.slice(from, from + Number(query.get("count"))),
      });
    });
    assertEquals((await listAll(backend, "user")).length, 120);
    assertEquals(calls.length, total === 120 ? 3 : 4);
    assertEquals(calls[0]?.query.get("count"), "50");
  }
});

Deno.test("list() stops when a server returns the same page again and again", async () => {
  const { backend } = open(() => json(200, { totalResults: 1e9, Resources: [{ id: "1", userName: "a" }] }));
  const fault = await assertRejects(() => listAll(backend, "user"), BackendListError);
  assertEquals(fault.fault.kind, "nonsense");
});

Deno.test("read() treats hostile answers as nonsense, without further harm", async () => {
  const bodies = ["[]", "null", "{", '"text"', "[".repeat(100_000), '{"id":5,"userName":"a"}'];
  for (const body of bodies) {
    const { backend } = open(() => new Response(body, { status: 200 }), {
      url: "https://x.example/idm/scim/t",
      config: null,
    });
    assertEquals(faultOf(await backend.read("user", "a")).kind, "nonsense", body.slice(0, 20));
  }
});

Deno.test("memberPatches() adds and removes at most 100 members per request", () => {
  const removed = Array.from({ length: 150 }, (_, n) => `h${n}`);
  const added = Array.from({ length: 250 }, (_, n) => `w${n}`);
  const sizes = memberPatches({ added, removed }).map(({ Operations: operations }) => {
    const list = operations as readonly JsonObject[];
    const [first] = list;
    return first?.op === "add" ? (first.value as readonly unknown[]).length : -list.length;
  });
  assertEquals(sizes, [100, 100, 50, -100, -50]);
});

// The SCIM backend against a second Countersign behind a real HTTP server.

const PASSWORD = "the other one's password";
const SETTINGS = `
[targets.corp.backends.local]
kind = "store"
[[scim.credential]]
name = "writer"
password = "${PASSWORD}"
targets = ["corp"]
access = "write"
`;

async function openIdentity(folder: string): Promise<{ identity: Scim; close: () => Promise<void> }> {
  const loaded = loadConfig({
    env: (name) => name === "COUNTERSIGN_CONFIG" ? "other.toml" : undefined,
    readTextFile: () => SETTINGS,
    cwd: folder,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const random = createSystemRandom();
  const dataDir = await openDataDir(folder, { random, masterKeyHex: "" });
  const hasher = createPasswordHasher({ random, cost: { costLog2: 4 } });
  const identity = await createScim({
    config: loaded.config,
    store: dataDir.store,
    vault: dataDir.vault,
    clock: systemClock,
    random,
    log: silentLog(),
    fetch,
    createHasher: () => hasher,
    orderedId: createOrderedIds(systemClock, random),
    prepareOffboarding: () => NO_CHANGE,
    prepareForgetDevices: () => NO_CHANGE,
    prepareGroupCleanup: () => NO_CHANGE,
    namedAccess: () => ({ namesGroups: () => false, isGroupNamed: () => false }),
    prepareRename: () => Promise.resolve(NO_CHANGE),
  });
  return {
    identity,
    async close() {
      await identity.close();
      await dataDir.close();
    },
  };
}

testBackend("createScimBackend() on a second Countersign", {
  register: (name, body) => Deno.test(name, body),
  open: async () => {
    const folder = await Deno.makeTempDir({ prefix: "other-" });
    const { identity, close } = await openIdentity(folder);
    const { prefix, routes, onError } = createScimApp(identity.apps);
    const app = new Hono<ScimEnv>().onError(onError)
      .use(async (c, next) => {
        c.set("body", { allowLarge: () => undefined, read: () => c.req.raw.bytes() });
        await next();
      })
      .route(prefix, routes);
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
      (request) => app.fetch(request, { remoteAddress: "127.0.0.1" }),
    );
    const url = `http://127.0.0.1:${server.addr.port}/idm/scim/corp`;
    const scim = openScim(scimSettings({ url, userName: "writer", password: PASSWORD }));
    return {
      backend: scim.backend,
      storesUnknownMembers: true,
      async dispose() {
        await scim.close();
        await server.shutdown();
        await close();
        await Deno.remove(folder, { recursive: true });
      },
    };
  },
});

// The SCIM backend against a real server of another vendor.

/** Its filters do not know the escapes of JSON strings (RFC 7644 §3.4.2.2), and answer them with 400. */
const MISREAD_BY_SCIMMY = new Set(HOSTILE_NAMES.filter((name) => name.includes('"') || name.includes("\\")));

testBackend("createScimBackend() on SCIMMY", {
  register: (name, body) => Deno.test(name, body),
  open: async () => {
    const server = await startScimmy();
    const { backend, close } = openScim(scimSettings({ url: server.url, token: server.token }));
    return {
      backend,
      caseExact: true,
      mayRefuse: MISREAD_BY_SCIMMY,
      async dispose() {
        await close();
        await server.close();
      },
    };
  },
});
