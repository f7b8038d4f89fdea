// Renames in the directory, and readers meanwhile.

import { assert, assertEquals } from "@std/assert";
import { crashEverywhere } from "./crash_everywhere.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { RenameResult, TargetDirectory } from "../../../scim/ports.ts";
import type { Content, ResourceKind } from "../../../scim/schema/resource.ts";
import {
  createCrowd,
  drop,
  links,
  loginOf,
  NAME,
  namesOf,
  numbered,
  openWorld,
  pageOf,
  putGroup,
  putUser,
  storedIn,
  type World,
} from "./world.ts";
import { createStore, type Store } from "../../../platform/store.ts";

// Renames of users and groups: what moves, what refuses, and what a crash at each commit leaves.

/** Renames a resource, with the content that it has. */
async function rename(
  directory: TargetDirectory,
  { kind, from, to, ...change }: {
    kind: ResourceKind;
    from: string;
    to: string;
    members?: readonly string[];
    active?: boolean;
    password?: Parameters<TargetDirectory["rename"]>[0]["password"];
  },
): Promise<RenameResult> {
  const stored = await directory.read(kind, canonicalName(from));
  const { password, ...fields } = change;
  const before = stored?.content ?? { kind: "user", name: from, active: true, attributes: { name: NAME } };
  const content = { ...before, attributes: before.attributes, ...fields, name: to } as Content;
  return await directory.rename({
    kind,
    from,
    expected: stored?.version ?? "0.0",
    next: { content, backends: stored?.backends ?? {} },
    ...(password === undefined ? {} : { password }),
  });
}

/** Keys that may contain the earlier name: a login finds that it is gone, and a link finds the new name. */
const KEPT = ["gone", "renamed"];

/** A merge removes entries of the indexes later. Until then, their log hides them. */
const INDEXES = new Set(["fence", "word", "index_log"]);

async function keysWith(world: World, name: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of world.store.list([])) {
    if (key.includes(name) && !INDEXES.has(String(key[0]))) found.push(String(key[0]));
  }
  return [...new Set(found)].sort();
}

const PASSWORD = { algorithm: "scrypt", costLog2: 1, salt: "salt", hash: "hash" } as const;

Deno.test("rename() moves a user with id, groups, password, indexes and parts", async () => {
  await using world = await openWorld();
  const { directory } = world;
  const attributes = { name: { familyName: "Smith", givenName: "Anna" }, title: "x".repeat(60_000) };
  const before = storedIn(await putUser(directory, "anna", { attributes }));
  await directory.write({
    kind: "user",
    name: "anna",
    expected: before?.version ?? null,
    next: { content: before?.content as Content, backends: {} },
    password: PASSWORD,
  });
  await putGroup(directory, "staff", ["anna", "bob"]);
  await putGroup(directory, "empty", ["anne"]);
  const renamed = storedIn(await rename(directory, { kind: "user", from: "ANNA", to: "Anne" }));
  assertEquals([renamed?.id, renamed?.createdMs], [before?.id, before?.createdMs]);
  assertEquals(await keysWith(world, "anna"), KEPT);
  for (const now of [directory, await world.reopen()]) {
    const stored = await now.read("user", "anne");
    assertEquals([stored?.content.name, stored?.groups], ["Anne", ["empty", "staff"]]);
    assertEquals(stored?.content.attributes, attributes);
    assertEquals((await now.readById("user", before?.id ?? ""))?.content.name, "Anne");
    assertEquals(await now.read("user", "anna"), null);
    assertEquals(await now.readPassword("anne"), PASSWORD);
    assertEquals(await now.readPassword("anna"), null);
    const staff = await now.read("group", "staff");
    assertEquals([links(staff), staff?.memberIds], [["Anne", "bob"], [before?.id ?? "", null]]);
    assertEquals((await now.read("group", "empty"))?.memberIds, [before?.id]);
    assertEquals((await loginOf(now, "anne")).status, "active");
    assertEquals((await loginOf(now, "anna")).status, "deleted");
    const page = { page: 1, size: 10 };
    assertEquals(namesOf(pageOf(await now.search("user", "smith", page)).resources), ["Anne"]);
    assertEquals(namesOf((await now.page("user", page)).resources), ["Anne"]);
    assertEquals(now.count("user"), 1);
    assertEquals(await now.renamedTo("user", "anna"), "anne");
  }
});

Deno.test("rename() moves a group with id and members, and the groups of its members", async () => {
  await using world = await openWorld();
  const { directory } = world;
  for (const name of ["anna", "bob", "cleo"]) await putUser(directory, name);
  const before = storedIn(await putGroup(directory, "staff", ["anna", "bob"]));
  const renamed = storedIn(
    await rename(directory, { kind: "group", from: "staff", to: "Team", members: ["bob", "cleo"] }),
  );
  assertEquals([renamed?.id, links(renamed)], [before?.id, ["bob", "cleo"]]);
  assertEquals(await keysWith(world, "staff"), ["renamed"]);
  for (const now of [directory, await world.reopen()]) {
    assertEquals(links(await now.read("group", "team")), ["bob", "cleo"]);
    assertEquals(await now.read("group", "staff"), null);
    assertEquals(links(await now.read("user", "anna")), []);
    assertEquals(links(await now.read("user", "bob")), ["Team"]);
    assertEquals(links(await now.read("user", "cleo")), ["Team"]);
    assertEquals((await loginOf(now, "bob")).groups, ["Team"]);
  }
  await drop(directory, { kind: "user", name: "bob" });
  assertEquals(links(await directory.read("group", "team")), ["cleo"]);
});

const REFUSED: readonly [what: string, from: string, to: string, expected: unknown][] = [
  ["the new name exists", "anna", "BOB", "taken"],
  ["the resource does not exist", "unknown", "other", "changed"],
];

for (const [what, from, to, reason] of REFUSED) {
  Deno.test(`rename() changes nothing if ${what}`, async () => {
    await using world = await openWorld();
    for (const name of ["anna", "bob"]) await putUser(world.directory, name);
    const before = await Array.fromAsync(world.store.list([]));
    assertEquals(await rename(world.directory, { kind: "user", from, to }), { ok: false, reason });
    assertEquals(await Array.fromAsync(world.store.list([])), before);
  });
}

Deno.test("rename() refuses a version that is not current", async () => {
  await using world = await openWorld();
  const old = storedIn(await putUser(world.directory, "anna"));
  await putUser(world.directory, "anna", { attributes: { title: "new" } });
  const result = await world.directory.rename({
    kind: "user",
    from: "anna",
    expected: old?.version ?? "",
    next: { content: { ...old?.content as Content, name: "anne" }, backends: {} },
  });
  assertEquals(result, { ok: false, reason: "changed" });
});

Deno.test("rename() there and back leaves no alias of a name in use", async () => {
  await using world = await openWorld();
  const { directory } = world;
  await putUser(directory, "anna");
  await rename(directory, { kind: "user", from: "anna", to: "anne" });
  await rename(directory, { kind: "user", from: "anne", to: "annie" });
  assertEquals(await directory.renamedTo("user", "anna"), "annie");
  await rename(directory, { kind: "user", from: "annie", to: "anna" });
  assertEquals(await directory.renamedTo("user", "anna"), null);
  assertEquals(await directory.renamedTo("user", "anne"), "anna");
  assertEquals((await loginOf(directory, "anna")).status, "active");
  await putUser(directory, "anne");
  assertEquals(await directory.renamedTo("user", "anne"), null);
  await putGroup(directory, "staff", []);
  await rename(directory, { kind: "group", from: "staff", to: "team" });
  assertEquals(await directory.renamedTo("group", "staff"), "team");
  await putGroup(directory, "staff", []);
  assertEquals(await directory.renamedTo("group", "staff"), null);
});

Deno.test("rename() to the name of a deleted user is possible, and the trash keeps that user", async () => {
  await using world = await openWorld();
  const { directory } = world;
  await putUser(directory, "anne");
  await drop(directory, { kind: "user", name: "anne" });
  await putUser(directory, "anna");
  assert((await rename(directory, { kind: "user", from: "anna", to: "anne" })).ok);
  assertEquals((await Array.fromAsync(directory.trash.list())).map(({ name }) => name), ["anne"]);
  assertEquals((await loginOf(directory, "anne")).status, "active");
});

Deno.test("rename() that deactivates a user removes the user from all groups", async () => {
  await using world = await openWorld();
  const { directory } = world;
  await putUser(directory, "anna");
  await putGroup(directory, "staff", ["anna"]);
  storedIn(await rename(directory, { kind: "user", from: "anna", to: "anne", active: false }));
  assertEquals(links(await directory.read("group", "staff")), []);
  assertEquals(links(await directory.read("user", "anne")), []);
});

/** Each membership has both keys, and each user's record names exactly the groups that contain the user. */
async function assertConsistent(world: World, directory: TargetDirectory): Promise<void> {
  const groupsOf = new Map<string, string[]>();
  const pairs: string[] = [];
  for await (const { content } of directory.all("group")) {
    for (const name of content.kind === "group" ? content.members : []) {
      groupsOf.set(canonicalName(name), [...groupsOf.get(canonicalName(name)) ?? [], content.name]);
      pairs.push(`${canonicalName(name)} ${canonicalName(content.name)}`);
    }
  }
  for await (const { content, groups } of directory.all("user")) {
    assertEquals([content.name, groups], [content.name, groupsOf.get(canonicalName(content.name)) ?? []]);
  }
  const reverse = (await Array.fromAsync(world.store.list<string>(["memberof"]))).map(({ key, value }) =>
    `${String(key[2])} ${value}`
  );
  assertEquals(reverse.sort(), pairs.sort());
}

Deno.test("rename() of a user in many groups is complete or not done when the process crashes", async () => {
  const groups = numbered("g", 400);
  const crashes = await crashEverywhere({
    async before(directory) {
      await createCrowd(directory, ["anna", "bob"]);
      await directory.writeMany(groups.map((name) => ({
        kind: "group",
        name,
        expected: null,
        next: { content: { kind: "group", name, attributes: {}, members: ["anna", "bob"] }, backends: {} },
      })));
    },
    act: (directory) => rename(directory, { kind: "user", from: "anna", to: "zoe" }),
    async check(world, directory, acknowledged) {
      const isOld = await directory.read("user", "anna") !== null;
      assertEquals(await directory.read("user", "zoe") === null, isOld);
      assert(!(acknowledged && isOld));
      if (!isOld) assertEquals(await keysWith(world, "anna"), KEPT);
      assertEquals((await directory.read("user", isOld ? "anna" : "zoe"))?.groups.length, groups.length);
      await assertConsistent(world, directory);
    },
  });
  assert(crashes >= 3);
});

for (
  const [what, members, commits] of [
    ["with its members", (names: string[]) => names, 4],
    ["and of a few members", (names: string[]) => [...names.slice(5), "new"], 4],
    ["and of most members", (names: string[]) => names.slice(225), 9],
  ] as const
) {
  Deno.test(`rename() of a large group ${what} is complete or not done when the process crashes`, async () => {
    const crowd = numbered("u", 450);
    const crashes = await crashEverywhere({
      async before(directory) {
        await createCrowd(directory, crowd);
        await putGroup(directory, "staff", crowd);
      },
      act: (directory) =>
        rename(directory, { kind: "group", from: "staff", to: "Team", members: members([...crowd]) }),
      async check(world, directory, acknowledged) {
        const old = await directory.read("group", "staff");
        const now = await directory.read("group", "team");
        assertEquals(old === null, now !== null);
        assert(!(acknowledged && now === null));
        assertEquals(links(old ?? now), old !== null ? crowd : members([...crowd]).toSorted());
        if (now !== null) assertEquals(await keysWith(world, "staff"), ["renamed"]);
        await assertConsistent(world, directory);
      },
    });
    assert(crashes >= commits);
  });
}

// What readers see between the commits of a large rename: the names of now, everywhere.

/** Renames a resource, and runs `look` before each commit of the rename and after the last. Returns the number of commits. */
async function renameWatched(
  { directory, kind, from, to }: { directory: TargetDirectory; kind: ResourceKind; from: string; to: string },
  watch: { look: (() => Promise<void>) | null },
  look: () => Promise<void>,
): Promise<number> {
  const stored = await directory.read(kind, from);
  if (stored === null) throw new Error(`Cannot find ${from}`);
  let commits = 0;
  watch.look = async () => {
    commits++;
    await look();
  };
  const { attributes } = stored.content;
  const content = { ...stored.content, attributes, name: to };
  storedIn(await directory.rename({ kind, from, expected: stored.version, next: { content, backends: {} } }));
  watch.look = null;
  await look();
  return commits;
}

async function openWatched() {
  const real = createStore(await Deno.openKv(":memory:"));
  const watch: { look: (() => Promise<void>) | null } = { look: null };
  const store: Store = {
    ...real,
    async commit(transaction) {
      // Memory has followed every earlier commit, and it cannot change while `look` reads.
      await watch.look?.();
      return await real.commit(transaction);
    },
  };
  return { watch, world: await openWorld({ store }), close: () => real.close() };
}

Deno.test("readers see the new name of a user in all groups during the rename", async () => {
  const { watch, world, close } = await openWatched();
  const { directory } = world;
  await putUser(directory, "anna");
  const groups = numbered("g", 320);
  for (const group of groups) await putGroup(directory, group, ["anna"]);
  const commits = await renameWatched(
    { directory, kind: "user", from: "anna", to: "zoe" },
    watch,
    async () => {
      if (await directory.read("user", "zoe") === null) return;
      const names = await Promise.all(
        groups.map(async (group) => links(await directory.read("group", group))),
      );
      // A look before memory followed the first commit sees the earlier name everywhere.
      assertEquals(new Set(names.flat()).size, 1);
    },
  );
  assert(commits >= 3);
  assertEquals(links(await directory.read("group", "g00319")), ["zoe"]);
  await world[Symbol.asyncDispose]();
  await close();
});

Deno.test("readers and logins see the new name of a group in all members during the rename", async () => {
  const { watch, world, close } = await openWatched();
  const { directory } = world;
  const crowd = numbered("u", 600);
  for (const name of crowd) await putUser(directory, name);
  await putGroup(directory, "staff", crowd);
  const seen = new Set<string>();
  const commits = await renameWatched(
    { directory, kind: "group", from: "staff", to: "team" },
    watch,
    async () => {
      const some = ["u00000", "u00300", "u00599"];
      const names = await Promise.all(some.map(async (name) => [
        ...links(await directory.read("user", name)) ?? [],
        ...(await loginOf(directory, name)).groups,
      ]));
      assertEquals(new Set(names.flat()).size, 1);
      seen.add(names.flat().join());
    },
  );
  assert(commits >= 3);
  assert(seen.has(Array(6).fill("team").join()));
  await world[Symbol.asyncDispose]();
  await close();
});
