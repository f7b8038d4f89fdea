// The log of requests: its entries, its limits and its pages.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Store } from "../../../../platform/store.ts";
import {
  type LoggedRequest,
  MAX_BATCH_REQUESTS,
  MAX_BATCHES,
  REDACTED,
  redactEntry,
  type RequestFilter,
  type RequestLogEntry,
} from "../../../../scim/v2/connections/request_log.ts";
import { eventually } from "../../../upstream/manual_clock.ts";
import { type ConnectionStage, openConnectionStage, openTwoNodes, requestEntry } from "./stage.ts";

// The request log: batches, bounds, pages, the live view, and several nodes.

const anyFilter: RequestFilter = {};

/** All requests of a connection, newest first, by pages. */
async function readAll(
  { connections: { administration } }: ConnectionStage,
  { name = "okta", size = 50, filter = anyFilter } = {},
): Promise<LoggedRequest[]> {
  const found: LoggedRequest[] = [];
  for (let cursor: string | null = null, pages = 0; pages === 0 || cursor !== null; pages++) {
    const page = await administration.requests(name, { filter, cursor, size });
    found.push(...page.requests);
    cursor = page.cursor;
    assert(pages < 10_000, "the pages have an end");
  }
  return found;
}

const namesOf = (requests: readonly LoggedRequest[]) => requests.map(({ resource }) => resource?.name ?? "");
const named = (name: string, more: Partial<RequestLogEntry> = {}) =>
  requestEntry({ resource: { kind: "user", id: "1", name }, ...more });

/** The batches of all connections in the store. */
async function batchesIn({ store }: ConnectionStage): Promise<number[]> {
  const batches = store.list<{ requests: unknown[] }>(["scim_request"]);
  return await Array.fromAsync(batches, ({ value }) => value?.requests.length ?? 0);
}

Deno.test("requests are listed newest first, in pages of any size, each once", async () => {
  const stage = await openConnectionStage();
  const names = Array.from({ length: 250 }, (_, at) => `user-${at}`);
  for (const name of names) stage.connections.record(named(name));
  for (const size of [1, 7, 100, 1000]) {
    assertEquals(namesOf(await readAll(stage, { size })), names.toReversed());
  }
  assertEquals(await batchesIn(stage), [100, 100, 50]);
  const ids = (await readAll(stage)).map(({ id }) => id);
  assertEquals(new Set(ids).size, 250);
});

Deno.test("requests that come one by one share batches, until an hour passed", async () => {
  const stage = await openConnectionStage();
  for (let count = 0; count < 5; count++) {
    stage.connections.record(named(`user-${count}`));
    stage.clock.advance(60_000);
    await readAll(stage);
  }
  assertEquals(await batchesIn(stage), [5]);
  stage.clock.advance(3_600_000);
  stage.connections.record(named("later"));
  assertEquals(namesOf(await readAll(stage))[0], "later");
  assertEquals(await batchesIn(stage), [5, 1]);
});

Deno.test("a batch of the largest requests fits into a value of the store", async () => {
  const stage = await openConnectionStage();
  const wide = "\u{1f600}";
  const attributes = Array.from({ length: 40 }, (_, at) => `a${at}`.padEnd(128, "x"));
  for (let count = 0; count < 50; count++) {
    stage.connections.record(requestEntry({
      ...{ attributes, detail: wide.repeat(400), userAgent: wide.repeat(200) },
      resource: { kind: "user", id: wide.repeat(64), name: `${count} ${wide.repeat(256)}` },
    }));
  }
  assertEquals((await readAll(stage)).length, 50);
  const batches = await batchesIn(stage);
  assert(batches.length > 5 && batches.every((count) => count > 0), batches.join());
});

const DAY_MS = 86_400_000;
const FILTERS: Readonly<Record<string, { filter: RequestFilter; names: readonly string[] }>> = {
  "all": { filter: { text: "", operation: "" }, names: ["e", "d", "Ada", "b", "ada"] },
  "done": { filter: { outcome: "done" }, names: ["Ada", "ada"] },
  "refused": { filter: { outcome: "refused" }, names: ["d", "b"] },
  "failed": { filter: { outcome: "failed" }, names: ["e"] },
  "a name in another case": { filter: { text: "ADA" }, names: ["Ada", "ada"] },
  "an address": { filter: { text: "198.51.100" }, names: ["b"] },
  "a reason": { filter: { text: "is taken" }, names: ["d"] },
  "an id": { filter: { text: "id-of-e" }, names: ["e"] },
  "an operation": { filter: { operation: "users.patch" }, names: ["Ada"] },
  "a range": { filter: { fromMs: DAY_MS + 2, toMs: DAY_MS + 4 }, names: ["d", "Ada", "b"] },
  "what is newer": { filter: { fromMs: DAY_MS + 5 }, names: ["e"] },
  "what is older": { filter: { toMs: DAY_MS + 1 }, names: ["ada"] },
  "several conditions": { filter: { operation: "users.patch", outcome: "refused" }, names: [] },
  "the name of a property": { filter: { operation: "__proto__", text: "constructor" }, names: [] },
};

for (const [title, { filter, names }] of Object.entries(FILTERS)) {
  Deno.test(`requests() finds ${title}`, async () => {
    const stage = await openConnectionStage();
    const { connections } = stage;
    const at = (ms: number) => ({ atMs: DAY_MS + ms });
    connections.record(named("ada", at(1)));
    connections.record(named("b", { ...at(2), status: 404, source: "198.51.100.7" }));
    connections.record(named("Ada", { ...at(3), operation: "users.patch", status: 204 }));
    connections.record(named("d", { ...at(4), status: 409, detail: "The name is taken." }));
    const resource = { kind: "user", id: "id-of-e", name: "e" } as const;
    connections.record(requestEntry({ ...at(5), resource, status: 503 }));
    assertEquals(namesOf(await readAll(stage, { filter, size: 2 })), names);
  });
}

for (
  const cursor of ["", "x", "1", "-1.0", "1.-1", "99999999999999999999.1", "1e3.1", "__proto__", "1.5\n"]
) {
  Deno.test(`requests() reads from the newest request for the cursor ${JSON.stringify(cursor)}`, async () => {
    const stage = await openConnectionStage();
    stage.connections.record(named("ada"));
    const page = await stage.connections.administration.requests("okta", { filter: {}, cursor, size: 5 });
    assertEquals(namesOf(page.requests), ["ada"]);
  });
}

Deno.test("the log of a connection has at most 2,000 batches", async () => {
  const stage = await openConnectionStage();
  const mutations = Array.from({ length: MAX_BATCHES }, (_, at) => ({
    ...{ type: "set", key: ["scim_request", "okta", at + 1] } as const,
    value: { requests: [named(`batch-${at + 1}`)] },
  }));
  for (let at = 0; at < mutations.length; at += 400) {
    await stage.store.commit({ mutations: mutations.slice(at, at + 400) });
  }
  for (let count = 0; count <= MAX_BATCH_REQUESTS; count++) stage.connections.record(named("new"));
  const requests = await readAll(stage, { size: 200 });
  assertEquals([requests.at(-1)?.resource?.name, (await batchesIn(stage)).length], ["batch-3", MAX_BATCHES]);
});

Deno.test("a page of a filter that matches nothing reads a limited part, and has a cursor for the rest", async () => {
  const stage = await openConnectionStage();
  const mutations = Array.from({ length: 250 }, (_, at) => ({
    ...{ type: "set", key: ["scim_request", "okta", at + 1] } as const,
    value: { requests: [named(at === 0 ? "oldest" : "other")] },
  }));
  await stage.store.commit({ mutations });
  const filter = { text: "oldest" };
  const { administration } = stage.connections;
  const first = await administration.requests("okta", { filter, cursor: null, size: 5 });
  assertEquals([first.requests, first.cursor], [[], "151.0"]);
  assertEquals(namesOf(await readAll(stage, { filter })), ["oldest"]);
});

/** A store whose commits wait, or fail. */
function createSlowStore() {
  let gate: Promise<unknown> = Promise.resolve();
  let commits = 0;
  return {
    wrap: (store: Store): Store => ({
      ...store,
      async commit(transaction) {
        commits++;
        await gate;
        return await store.commit(transaction);
      },
    }),
    until: (next: Promise<unknown>) => void (gate = next),
    commits: () => commits,
  };
}

Deno.test("record() returns at once while the store does not answer, and its memory is bounded", async () => {
  const slow = createSlowStore();
  const stage = await openConnectionStage({ wrap: slow.wrap });
  const { promise, resolve } = Promise.withResolvers<void>();
  slow.until(promise);
  stage.connections.record(named("first"));
  stage.clock.advance(500);
  await eventually("the first commit waits", () => slow.commits() === 1);
  for (let count = 0; count < 20_000; count++) stage.connections.record(named("later"));
  stage.clock.advance(10_000);
  resolve();
  assertEquals((await readAll(stage, { size: 200 })).length, 5001);
  stage.connections.record(named("after"));
  assertEquals((await readAll(stage, { size: 200 })).length, 5002);
  assertMatch((await stage.lines()).join(""), /requests of connections were not logged.*15000/);
});

Deno.test("requests are lost while the store fails, and later ones are logged", async () => {
  const slow = createSlowStore();
  const stage = await openConnectionStage({ wrap: slow.wrap });
  stage.connections.record(named("before"));
  await readAll(stage);
  slow.until(Promise.reject(new Error("The disk is full")));
  stage.connections.record(named("meanwhile"));
  assertEquals(namesOf(await readAll(stage)), ["before"]);
  slow.until(Promise.resolve());
  stage.connections.record(named("after"));
  assertEquals(namesOf(await readAll(stage)), ["after", "before"]);
  assertMatch((await stage.lines()).join(""), /The disk is full/);
});

Deno.test("many requests need few commits", async () => {
  const slow = createSlowStore();
  const stage = await openConnectionStage({ wrap: slow.wrap });
  for (let count = 0; count < 1000; count++) stage.connections.record(named("ada"));
  stage.clock.advance(500);
  await readAll(stage);
  assertEquals(slow.commits(), 10);
});

Deno.test("close() writes the requests that wait, and later ones set no timer", async () => {
  const stage = await openConnectionStage();
  stage.connections.record(named("last"));
  await stage.connections.close();
  const timers = stage.clock.timers();
  stage.connections.record(named("too late"));
  assertEquals(stage.clock.timers(), timers);
  assertEquals(namesOf(await readAll(stage)), ["last"]);
});

Deno.test("requests of a new process come after those of the previous one", async () => {
  const stage = await openConnectionStage();
  stage.connections.record(named("old"));
  await stage.connections.close();
  const next = await openConnectionStage({ store: stage.store });
  next.connections.record(named("new"));
  assertEquals(namesOf(await readAll(next)), ["new", "old"]);
});

Deno.test("two nodes write one log, and observers on both see every request once, in order of each node", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = await openTwoNodes(kv);
  const seen: LoggedRequest[][] = [[], []];
  const stops = [a, b].map(({ connections }, at) =>
    connections.administration.observeRequests((requests) => void seen[at]?.push(...requests))
  );
  const atMs = a.clock.nowMs();
  for (let count = 0; count < 30; count++) {
    for (const [at, node] of [a, b].entries()) {
      node.connections.record(named(`${at}-${count}`, { atMs }));
      if (count % 10 === 9) await readAll(node);
    }
  }
  await eventually("both observers have all requests", async () => {
    await Promise.all([a.store.catchUp(), b.store.catchUp()]);
    return seen.every((requests) => requests.length >= 60);
  });
  for (const requests of seen) {
    assertEquals(new Set(requests.map(({ id }) => id)).size, 60);
    for (const at of [0, 1]) {
      const names = namesOf(requests).filter((name) => name.startsWith(`${at}-`));
      assertEquals(names, Array.from({ length: 30 }, (_, count) => `${at}-${count}`));
    }
  }
  assertEquals((await readAll(b)).length, 60);
  for (const stop of stops) stop();
  a.connections.record(named("unseen", { atMs }));
  await readAll(a);
  await b.store.catchUp();
  assertEquals(seen.map((requests) => requests.length), [60, 60]);
});

Deno.test("an observer sees no requests of the time before it", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = await openTwoNodes(kv);
  a.connections.record(named("before", { atMs: a.clock.nowMs() }));
  await readAll(a);
  a.clock.advance(1000);
  const seen: LoggedRequest[] = [];
  b.connections.administration.observeRequests((requests) => void seen.push(...requests));
  a.connections.record(named("after", { atMs: a.clock.nowMs() }));
  await readAll(a);
  await eventually("the observer has the request", async () => {
    await b.store.catchUp();
    return seen.length > 0;
  });
  assertEquals(namesOf(seen), ["after"]);
});

Deno.test("two nodes that begin a batch at the same time take different numbers", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = await openTwoNodes(kv);
  for (const [at, node] of [a, b].entries()) node.connections.record(named(String(at)));
  await Promise.all([readAll(a), readAll(b)]);
  assertEquals(namesOf(await readAll(a)).toSorted(), ["0", "1"]);
  assertEquals(await batchesIn(a), [1, 1]);
});

// Redaction of the request log: an entry has names of attributes, and no values but the name of the resource.

interface RedactionRow {
  readonly given: Partial<RequestLogEntry>;
  readonly logged: Partial<RequestLogEntry>;
}

/** What a request has, and what the log keeps of it. */
const REDACTIONS: Readonly<Record<string, RedactionRow>> = {
  "names of attributes": {
    given: {
      attributes: ["userName", "name.givenName", "urn:ietf:params:scim:schemas:core:2.0:User:title", "$ref"],
    },
    logged: {
      attributes: ["userName", "name.givenName", "urn:ietf:params:scim:schemas:core:2.0:User:title", "$ref"],
    },
  },
  "paths with a filter, and other texts, are no names": {
    given: { attributes: ['emails[value eq "ada@example.org"]', "", "a b", "password=x", "1a", "é", "a\nb"] },
    logged: { attributes: [] },
  },
  "each name once": { given: { attributes: ["active", "active"] }, logged: { attributes: ["active"] } },
  "forty names": {
    given: { attributes: Array.from({ length: 5000 }, (_, at) => `a${at}`) },
    logged: { attributes: Array.from({ length: 40 }, (_, at) => `a${at}`) },
  },
  "a quoted value": {
    given: { detail: 'The value "ada@example.org" of emails is not an address.' },
    logged: { detail: `The value ${REDACTED} of emails is not an address.` },
  },
  "a quoted value with an escaped quotation mark": {
    given: { detail: String.raw`The value "a\"b secret" is wrong, and 'so is this'.` },
    logged: { detail: `The value ${REDACTED} is wrong, and ${REDACTED}.` },
  },
  "a quoted value without an end": {
    given: { detail: 'The filter ends after "ada@exam' },
    logged: { detail: `The filter ends after ${REDACTED}` },
  },
  "the name of the resource and of attributes may be quoted": {
    given: { detail: 'Would change "active" of "ada" from "x".', attributes: ["active"] },
    logged: { detail: `Would change "active" of "ada" from ${REDACTED}.`, attributes: ["active"] },
  },
  "a detail without an end": {
    given: { detail: "a ".repeat(100_000) },
    logged: { detail: "a ".repeat(200) },
  },
  "control characters and marks of text direction": {
    given: {
      userAgent: "okta\r\n\x1b[31mred\u202e",
      method: "GET\0",
      operation: "users.get",
      source: "\u2028::1",
    },
    logged: { userAgent: "okta [31mred", method: "GET", operation: "users.get", source: "::1" },
  },
  "half of a character": { given: { userAgent: "a\ud83d" }, logged: { userAgent: "a" } },
  "long texts": {
    given: {
      userAgent: "u".repeat(16_000),
      method: "M".repeat(100),
      resource: { kind: "group", id: "i".repeat(1000), name: "n".repeat(1000) },
    },
    logged: {
      userAgent: "u".repeat(200),
      method: "M".repeat(16),
      resource: { kind: "group", id: "i".repeat(128), name: "n".repeat(256) },
    },
  },
  "a fraction of a millisecond": { given: { durationMs: 1.25 }, logged: { durationMs: 1 } },
  "no resource": { given: { resource: null }, logged: { resource: null } },
};

for (const [title, { given, logged }] of Object.entries(REDACTIONS)) {
  Deno.test(`redactEntry() logs ${title}`, () => {
    assertEquals(redactEntry(requestEntry(given)), requestEntry(logged));
  });
}

Deno.test("redactEntry() takes no other members of an entry", () => {
  const entry = {
    ...requestEntry(),
    body: "secret",
    resource: { kind: "user", id: "1", name: "ada", password: "x" },
  };
  assertEquals(redactEntry(entry as RequestLogEntry), requestEntry());
});

Deno.test("redactEntry() is fast for quotation marks without an end", () => {
  const startedMs = performance.now();
  for (const mark of ['"', "'", '"\\', '"a"', '\\"']) {
    redactEntry(requestEntry({ detail: mark.repeat(50_000), userAgent: mark.repeat(8000) }));
  }
  assert(performance.now() - startedMs < 1000);
});
