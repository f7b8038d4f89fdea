// Ids of resources, and the keys that the directory writes.

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import { createDirectoryKeys } from "../../../scim/directory/keys.ts";
import {
  deriveId,
  findRecordById,
  isResourceId,
  type RecordByIdDeps,
} from "../../../scim/directory/reader.ts";
import type { Content, Stored } from "../../../scim/schema/resource.ts";
import { act, perform } from "./acts.ts";
import { drop, dying, links, NAME, numbered, openWorld, putGroup, putUser, storedIn } from "./world.ts";
import { idIn, KINDS, LARGE, tableOf } from "./id_table.ts";
import { createStore, type Mutation, type Store } from "../../../platform/store.ts";

// Ids and external ids of resources (RFC 7643 §3.1): kept by every write, found again, and stored for records of earlier versions.

Deno.test("deriveId() has the form and the order of its time, and differs with each of its facts", () => {
  const source = {
    target: "default",
    kind: "user",
    canonical: "anna",
    createdMs: 1_700_000_000_000,
  } as const;
  const id = deriveId(source);
  assertMatch(id, /^018bcfe5-6800-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const others = [
    deriveId(source, 1),
    deriveId({ ...source, target: "other" }),
    deriveId({ ...source, kind: "group" }),
    deriveId({ ...source, canonical: "bert" }),
    deriveId({ ...source, createdMs: source.createdMs + 1 }),
  ];
  assertEquals(new Set([id, ...others]).size, 6);
  assert((others.at(-1) ?? "") > id);
});

for (
  const text of ["", "anna", "__proto__", "018BCFE5-6800-8000-8000-000000000000", "x".repeat(100_000), "\0"]
) {
  Deno.test(`readById() finds nothing under ${JSON.stringify(text.slice(0, 40))}`, async () => {
    await using world = await openWorld();
    assert(!isResourceId(text));
    assertEquals(await world.directory.readById("user", text), null);
  });
}

Deno.test("write() keeps the id of a resource, whatever it changes", async () => {
  await using world = await openWorld();
  const { directory, store } = world;
  await putUser(directory, "anna");
  await putGroup(directory, "staff", []);
  const user = await idIn(directory, "user", "anna");
  const group = await idIn(directory, "group", "staff");
  assertNotEquals(user, group);
  const acts: (() => Promise<unknown>)[] = [
    () => putUser(directory, "Anna", { active: false, attributes: LARGE }),
    () => putUser(directory, "anna"),
    () => putGroup(directory, "STAFF", ["anna", "unknown"]),
    () => directory.changeMembers({ group: "staff", add: ["bert"], remove: ["anna"] }),
    () => putGroup(directory, "staff", numbered("u", 500)),
    () => putGroup(directory, "staff", ["anna"]),
  ];
  for (const one of acts) {
    await one();
    const ids = [await idIn(directory, "user", "anna"), await idIn(directory, "group", "staff")];
    assertEquals(ids, [user, group]);
    assertEquals(Object.keys(await tableOf(store, directory)).sort(), [user, group].sort());
  }
  assertEquals(links(await directory.readById("group", group)), ["anna"]);
  assertEquals(await directory.readById("group", user), null);
  const again = await world.reopen();
  assertEquals((await again.readById("user", user))?.content.name, "anna");
});

Deno.test("write() never gives the id of a deleted resource again, also not in the same millisecond", async () => {
  await using world = await openWorld({ clock: { nowMs: () => 5, after: () => () => undefined } });
  const { directory } = world;
  const ids = new Set<string>();
  for (let round = 0; round < 5; round++) {
    for (const kind of KINDS) {
      const written = kind === "user" ? await putUser(directory, "x") : await putGroup(directory, "x", []);
      const { id } = storedIn(written) as Stored;
      assert(!ids.has(id));
      ids.add(id);
      await drop(directory, { kind, name: "x" });
      assertEquals(await directory.readById(kind, id), null);
    }
  }
  assertEquals(await tableOf(world.store, directory), {});
});

Deno.test("a restored user has the id and the external id from before the deletion", async () => {
  await using world = await openWorld();
  const { directory } = world;
  const content = { kind: "user", name: "anna", active: true, attributes: { name: NAME } } as const;
  const next = { content, backends: {} };
  await directory.write({ kind: "user", name: "anna", expected: null, next: { ...next, externalId: "E1" } });
  const id = await idIn(directory, "user", "anna");
  const deleted = await drop(directory, { kind: "user", name: "anna" });
  const trashed = deleted.ok ? deleted.trashed ?? "" : "";
  await directory.write({
    ...{ kind: "user", name: "anna", expected: null, next },
    restores: { id: trashed, groups: [] },
  });
  const restored = await directory.readById("user", id);
  assertEquals([restored?.id, restored?.externalId], [id, "E1"]);
  await tableOf(world.store, directory);
});

Deno.test("write() keeps the external id unless the caller gives one", async () => {
  await using world = await openWorld();
  const { directory } = world;
  const rows: readonly [given: { externalId?: string | null }, expected: string | undefined][] = [
    [{}, undefined],
    [{ externalId: "0x1 Ä" }, "0x1 Ä"],
    [{}, "0x1 Ä"],
    [{ externalId: "__proto__" }, "__proto__"],
    [{ externalId: null }, undefined],
  ];
  for (const kind of KINDS) {
    const content: Content = kind === "user"
      ? { kind, name: "x", active: true, attributes: { name: NAME } }
      : { kind, name: "x", attributes: {}, members: ["a"] };
    for (const [given, expected] of rows) {
      const before = await directory.read(kind, "x");
      const next = { content, backends: {}, ...given };
      await directory.write({ kind, name: "x", expected: before?.version ?? null, next });
      assertEquals((await directory.read(kind, "x"))?.externalId, expected);
    }
  }
});

Deno.test("the index of ids equals the resources after any sequence of writes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 25 }), async (acts) => {
      await using world = await openWorld();
      for (const one of acts) await perform(world.directory, one);
      const table = await tableOf(world.store, world.directory);
      assertEquals(await tableOf(world.store, await world.reopen()), table);
    }),
    { numRuns: 40 },
  );
});

Deno.test("the groups that name a user have the id of the user, however it comes and goes", async () => {
  await using world = await openWorld();
  const { directory, store } = world;
  await putGroup(directory, "staff", ["Anna", "unknown"]);
  const group = async () => (await directory.read("group", "staff"))?.memberIds;
  assertEquals(await group(), [null, null]);
  const version = (await directory.read("group", "staff"))?.version;
  await putUser(directory, "anna");
  const first = await idIn(directory, "user", "anna");
  assertEquals(await group(), [first, null]);
  // Responses with ids have another member now.
  assertNotEquals((await directory.read("group", "staff"))?.version, version);
  assertEquals(links(await directory.read("group", "staff")), ["Anna", "unknown"]);
  await putGroup(directory, "staff", ["anna"]);
  assertEquals(await group(), [first]);
  const deleted = await drop(directory, { kind: "user", name: "anna" });
  assertEquals(await group(), []);
  await directory.changeMembers({ group: "staff", add: ["anna"], remove: [] });
  assertEquals(await group(), [null]);
  await directory.write({
    ...{ kind: "user", name: "anna", expected: null },
    next: { content: { kind: "user", name: "anna", active: true, attributes: { name: NAME } }, backends: {} },
    restores: { id: deleted.ok ? deleted.trashed ?? "" : "", groups: ["staff"] },
  });
  assertEquals(await group(), [first]);
  await putGroup(directory, "staff", [...numbered("u", 500), "anna"]);
  assertEquals((await group())?.filter((id) => id !== null), [first]);
  await tableOf(store, await world.reopen());
});

Deno.test("a new user gets its id in all groups that name it, also if the process crashes", async () => {
  const groups = numbered("g", 120);
  for (let commits = 0;; commits++) {
    assert(commits < 20);
    await using world = await openWorld();
    for (const name of groups) await putGroup(world.directory, name, ["anna"]);
    const mortal = await world.reopen({ store: dying(world.store, commits) });
    const isDone = await putUser(mortal, "anna").then(() => true, () => false);
    const directory = await world.reopen();
    await tableOf(world.store, directory);
    assertEquals((await Array.fromAsync(world.store.list(["chore"]))).length, 0);
    if (isDone) return assert(commits > 2);
  }
});

Deno.test("a resource that gets another name between the two reads of an id is found", async () => {
  const record = {
    name: "beth",
    id: deriveId({ target: "default", kind: "user", canonical: "beth", createdMs: 1 }),
  };
  const entries = ["anna", "beth"].map((canonical) => ({ kind: "user", canonical, createdMs: 1 }));
  const read = (names: readonly string[]) =>
    findRecordById({
      keys: createDirectoryKeys("default"),
      store: { get: () => Promise.resolve({ value: entries.length > 1 ? entries.shift() : entries[0] }) },
      reader: {
        record: (_kind: string, name: string) => Promise.resolve(names.includes(name) ? record : null),
      },
    } as unknown as RecordByIdDeps, { kind: "user", id: record.id });
  assertEquals((await read(["beth"]))?.canonical, "beth");
  assertEquals(await read(["cleo"]), null);
});

// The keys that a write stores: a large group only the members that differ, and a new user one value at a random place.

Deno.test("write() of a large group writes only the members that differ", async () => {
  const written: Mutation[] = [];
  await using world = await openWorld();
  const members = numbered("u", 5000);
  await putGroup(world.directory, "staff", members);
  const store: Store = {
    ...world.store,
    commit(transaction) {
      written.push(...transaction.mutations);
      return world.store.commit(transaction);
    },
  };
  const directory = await world.reopen({ store });
  await putGroup(directory, "staff", [...members.slice(1), "new"]);
  const keys = written.map((one) => one.type === "audit" ? "audit" : String(one.key[0]));
  assertEquals(keys.sort(), ["group", "index_log", "member", "member", "memberof", "memberof"]);
  assertEquals(links(await (await world.reopen()).read("group", "staff")), ["new", ...members.slice(1)]);
});

Deno.test("write() of a new user writes one scattered value, one id in the order of time, and appends the rest", async () => {
  const written: Mutation[] = [];
  const real = createStore(await Deno.openKv(":memory:"));
  const store: Store = {
    ...real,
    commit(transaction) {
      written.push(...transaction.mutations);
      return real.commit(transaction);
    },
  };
  await using world = await openWorld({ store });
  await putUser(world.directory, "first");
  written.length = 0;
  await putUser(world.directory, "anna.smith", { attributes: { emails: [{ value: "a@example.org" }] } });
  const keys = written.map((one) => one.type === "audit" ? "audit" : String(one.key[0]));
  assertEquals(keys.sort(), ["index_log", "index_log", "index_log", "resource_id", "user"]);
  await real.close();
});
