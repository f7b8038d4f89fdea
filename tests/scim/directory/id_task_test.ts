// The task that stores the ids of earlier versions: crashes, writes in between, and several nodes.

import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Store } from "../../../platform/store.ts";
import type { ResourceRecord } from "../../../scim/directory/records.ts";
import { IdsIncomplete } from "../../../scim/directory/resource_ids.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import { openScimNodes, until } from "../../fakes/scim_nodes.ts";
import { drop, dying, openWorld, putUser } from "./world.ts";
import { assertIndexed } from "./value_model.ts";
import { fill, idIn, tableOf, toEarlierVersion, untilComplete } from "./id_table.ts";

Deno.test("createDirectory() stores the ids of an earlier version, also if the process crashes at any commit", async () => {
  for (let commits = 0;; commits++) {
    assert(commits < 50);
    await using world = await openWorld();
    await fill(world.directory);
    const table = await tableOf(world.store, world.directory);
    const versions = await Array.fromAsync(world.directory.all("user"), ({ version }) => version);
    await toEarlierVersion(world.store);
    let failures = 0;
    const mortal = dying(world.store, commits);
    const store: Store = {
      ...mortal,
      commit: (transaction) =>
        mortal.commit(transaction).catch((fault: unknown) => {
          failures++;
          throw fault;
        }),
    };
    const directory = await world.reopen({ store, idsPerCommit: 3 });
    const { value } = await world.store.get<{ count: number }>(["resource_id_task", "default"]);
    assert((value?.count ?? 0) <= 15);
    await until("the task ends", async () => {
      return failures > 0 || await directory.indexes.isReady({ by: "active" });
    });
    // A record has the same id before and after it is stored.
    const half = await Array.fromAsync(directory.all("user"), ({ id }) => id);
    assertEquals(half.filter((id) => !Object.hasOwn(table, id)), []);
    const again = await world.reopen({ idsPerCommit: 3 });
    await untilComplete(world.store);
    assertEquals(await tableOf(world.store, again), table);
    assertEquals(await Array.fromAsync(again.all("user"), ({ version }) => version), versions);
    await assertIndexed(again);
    if (failures === 0) return assert(commits > 5);
  }
});

Deno.test("writes of old records store their ids, while the task is in progress", async () => {
  await using world = await openWorld();
  await fill(world.directory);
  const table = await tableOf(world.store, world.directory);
  await toEarlierVersion(world.store);
  const directory = await world.reopen({ idsPerCommit: 2 });
  await Promise.all([
    putUser(directory, "u00011", { active: false }),
    drop(directory, { kind: "user", name: "u00003" }),
    drop(directory, { kind: "group", name: "staff" }),
    putUser(directory, "new"),
  ]);
  await untilComplete(world.store);
  const after = await tableOf(world.store, directory);
  const { id } = await directory.read("user", "new") as Stored;
  const left = Object.entries(table).filter(([, what]) => !["user u00003", "group staff"].includes(what));
  assertEquals(after, { ...Object.fromEntries(left), [id]: "user new" });
  await assertIndexed(directory);
  await assertIndexed(await world.reopen());
});

Deno.test("readById() of an unknown id fails until the ids of an earlier version are stored", async () => {
  await using world = await openWorld();
  await fill(world.directory);
  const id = await idIn(world.directory, "user", "large");
  await toEarlierVersion(world.store);
  const directory = await world.reopen({ store: dying(world.store, 0) });
  await assertRejects(() => directory.readById("user", id), IdsIncomplete);
  assertEquals(await idIn(directory, "user", "large"), id);
});

Deno.test("one of two nodes stores the ids of an earlier version, and the ids that a node of that version drops", async () => {
  await using nodes = await openScimNodes();
  const a = await nodes.start("a");
  await fill(a.target.directory);
  const before = await Array.fromAsync(a.target.directory.all("user"), ({ id }) => id);
  // Its own task would store ids while they are removed.
  await untilComplete(a.store, "corp");
  await toEarlierVersion(a.store);
  await a.stop();
  const b = await nodes.start("b", { directory: { idsPerCommit: 4 } });
  const c = await nodes.start("c", { directory: { idsPerCommit: 4 } });
  const complete = async () => {
    const { value } = await b.store.get<{ isComplete: boolean }>(["resource_id_task", "corp"]);
    return value?.isComplete === true;
  };
  await until("the task is complete", complete);
  await c.store.catchUp();
  assertEquals(await Array.fromAsync(c.target.directory.all("user"), ({ id }) => id), before);
  const [first = ""] = before;
  assertEquals((await c.target.directory.readById("user", first))?.content.name, "large");
  await assertIndexed(b.target.directory);
  await assertIndexed(c.target.directory);
  // A node of the earlier version writes the record.
  const key = ["user", "corp", "large"];
  const { id: _id, ...dropped } = (await c.store.get<ResourceRecord>(key)).value ?? {};
  await c.store.commit({ mutations: [{ type: "set", key, value: dropped }] });
  assertEquals((await c.target.directory.readById("user", first))?.id, first);
  await b.store.catchUp();
  await until(
    "the id is stored again",
    async () => (await b.store.get<ResourceRecord>(key)).value?.id === first,
  );
});
