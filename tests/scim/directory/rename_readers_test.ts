// What readers see between the commits of a large rename: the names of now, everywhere.

import { assert, assertEquals } from "@std/assert";
import { createStore, type Store } from "../../../platform/store.ts";
import type { TargetDirectory } from "../../../scim/ports.ts";
import type { ResourceKind } from "../../../scim/schema/resource.ts";
import { links, loginOf, numbered, openWorld, putGroup, putUser, storedIn } from "./world.ts";

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
