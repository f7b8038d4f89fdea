// Crashes of the process at each commit of a large directory write, and the recovery at the next start.

import { crashEverywhere } from "./crash_everywhere.ts";
import { assert, assertEquals } from "@std/assert";
import { createStore, type Store } from "../../../platform/store.ts";
import type { TargetDirectory } from "../../../scim/ports.ts";
import { drop, NAME, openWorld, putGroup, putUser, type World } from "./world.ts";

const crowd = Array.from({ length: 450 }, (_, at) => `u${String(at).padStart(3, "0")}`);

async function assertLinked(
  world: World,
  directory: TargetDirectory,
  group: string,
): Promise<readonly string[]> {
  const stored = await directory.read("group", group);
  const names = stored?.content.kind === "group" ? stored.content.members : [];
  const inside = new Set(names);
  for await (const { content, groups } of directory.all("user")) {
    assertEquals(
      [content.name, ...groups],
      inside.has(content.name) ? [content.name, group] : [content.name],
    );
  }
  assertEquals((await Array.fromAsync(world.store.list(["member"]))).length, names.length);
  assertEquals((await Array.fromAsync(world.store.list(["memberof"]))).length, names.length);
  return names;
}

async function createCrowd(directory: TargetDirectory): Promise<void> {
  await directory.writeMany(crowd.map((name) => ({
    kind: "user",
    name,
    expected: null,
    next: { content: { kind: "user", name, active: true, attributes: { name: NAME } }, backends: {} },
  })));
}

Deno.test("write() replaces a group with many members completely or not at all when the process crashes", async () => {
  const crashes = await crashEverywhere({
    async before(directory) {
      await createCrowd(directory);
      await putGroup(directory, "staff", crowd.slice(0, 250));
    },
    act: (directory) => putGroup(directory, "staff", crowd.slice(100)),
    async check(world, directory, acknowledged) {
      const names = await assertLinked(world, directory, "staff");
      if (acknowledged) assertEquals(names, crowd.slice(100));
      else assert(names.length === 250 || names.length === 350);
    },
  });
  assert(crashes > 4);
});

Deno.test("write() deletes a group with many members completely or not at all when the process crashes", async () => {
  const crashes = await crashEverywhere({
    async before(directory) {
      await createCrowd(directory);
      await putGroup(directory, "staff", crowd);
    },
    act: (directory) => drop(directory, { kind: "group", name: "staff" }),
    async check(world, directory, acknowledged) {
      const names = await assertLinked(world, directory, "staff");
      assert(names.length === 0 || (!acknowledged && names.length === crowd.length));
    },
  });
  assert(crashes > 2);
});

Deno.test("write() removes a deleted user from many groups although the process crashes", async () => {
  const groups = Array.from({ length: 120 }, (_, at) => `g${at}`);
  const crashes = await crashEverywhere({
    async before(directory) {
      await putUser(directory, "anna");
      for (const group of groups) await putGroup(directory, group, ["anna"]);
    },
    act: (directory) => drop(directory, { kind: "user", name: "anna" }),
    async check(world, directory, acknowledged) {
      const isThere = await directory.read("user", "anna") !== null;
      assert(!(acknowledged && isThere));
      const kept = (await Array.fromAsync(world.store.list(["memberof"]))).length;
      assertEquals(kept, isThere ? groups.length : 0);
      for (const group of groups.slice(0, 3)) {
        const stored = await directory.read("group", group);
        assertEquals(stored?.content.kind === "group" && stored.content.members.length, isThere ? 1 : 0);
      }
    },
  });
  assert(crashes > 1);
});

Deno.test("write() completes an interrupted change of a group before it writes anything else", async () => {
  const real = createStore(await Deno.openKv(":memory:"));
  let fails = false;
  let commits = 0;
  const store: Store = {
    ...real,
    commit: (transaction) =>
      fails && ++commits > 4 ? Promise.reject(new Error("disk")) : real.commit(transaction),
  };
  await using world = await openWorld({ store });
  await createCrowd(world.directory);
  fails = true;
  const [failed] = await Promise.allSettled([putGroup(world.directory, "staff", crowd)]);
  assertEquals(failed?.status, "rejected");
  fails = false;
  await putUser(world.directory, "last");
  assertEquals((await Array.fromAsync(real.list(["chore"]))).length, 0);
  const stored = await world.directory.read("group", "staff");
  const size = stored?.content.kind === "group" ? stored.content.members.length : 0;
  for (const name of crowd) {
    assertEquals((await world.directory.read("user", name))?.groups, size === 0 ? [] : ["staff"]);
  }
  await real.close();
});
