// The keys that a write stores: a large group only the members that differ, and a new user one value at a random place.

import { assertEquals } from "@std/assert";
import { createStore, type Mutation, type Store } from "../../../platform/store.ts";
import { links, numbered, openWorld, putGroup, putUser } from "./world.ts";

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
