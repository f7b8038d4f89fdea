// Users that stay in memory: a read of them reads nothing from the store, and each write of a user is seen by the next read.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import { UserCache } from "../../../scim/directory/user_cache.ts";
import type { TargetDirectory } from "../../../scim/ports.ts";
import { keepRenderings, renderOnce } from "../../../scim/schema/renderings.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import { ALL_KEYS } from "../../../scim/v2/query/query_plan.ts";
import { act, perform, writeOf } from "./acts.ts";
import { drop, namesOf, numbered, openWorld, putGroup, putUser } from "./world.ts";

/** Every user by each way of reading that may use memory. */
async function readInMemory(directory: TargetDirectory, inStore: readonly Stored[]): Promise<Stored[][]> {
  const size = 5;
  const pages: Stored[] = [];
  for (let page = 1; (page - 1) * size < Math.max(1, inStore.length); page++) {
    pages.push(...(await directory.page("user", { page, size })).resources);
  }
  const reversed = await directory.page("user", { page: 1, size: 100, isReverse: true });
  const listing = { by: "name", ranges: [ALL_KEYS], counted: "first" } as const;
  const listed = await directory.indexes.list("user", listing, { offset: 0, limit: 100 });
  const byId = await Promise.all(inStore.map(({ id }) => directory.readById("user", id)));
  return [
    pages,
    reversed.resources.toReversed(),
    [...await directory.indexes.readMany("user", listed)],
    byId.filter((stored) => stored !== null),
  ];
}

/** @param stored as a value without getters */
function plain(stored: Stored): unknown {
  return JSON.parse(JSON.stringify(stored));
}

async function assertAsInStore(directory: TargetDirectory): Promise<void> {
  // An export reads the store.
  const inStore = await Array.fromAsync(directory.all("user"));
  // Twice: the first reads bring the users into memory.
  for (let times = 0; times < 2; times++) {
    for (const found of await readInMemory(directory, inStore)) {
      assertEquals(found.map(plain), inStore.map(plain));
    }
  }
}

Deno.test("read(), readById(), page() and a list return what the store has after each write", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 15 }), async (acts) => {
      await using world = await openWorld();
      for (const one of acts) {
        await perform(world.directory, one);
        await assertAsInStore(world.directory);
      }
    }),
    { numRuns: 10 },
  );
});

Deno.test("reads during writes leave nothing outdated in memory", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 2, maxLength: 12 }), async (acts) => {
      await using world = await openWorld();
      const { directory } = world;
      await putUser(directory, "anna");
      const writes = await Promise.all(acts.map((one) => writeOf(directory, one)));
      await Promise.all(writes.flatMap((write) => [
        directory.page("user", { page: 1, size: 5 }),
        write(),
        directory.read("user", "anna"),
        directory.page("user", { page: 1, size: 100, isReverse: true }),
      ]));
      await assertAsInStore(directory);
    }),
    { numRuns: 20 },
  );
});

Deno.test("a rename of a group is seen in its members that are in memory", async () => {
  await using world = await openWorld();
  const { directory } = world;
  for (const name of numbered("u", 12)) await putUser(directory, name);
  await putGroup(directory, "staff", numbered("u", 12));
  await assertAsInStore(directory);
  const staff = await directory.read("group", "staff");
  await directory.rename({
    kind: "group",
    from: "staff",
    expected: staff?.version ?? "",
    next: {
      content: { kind: "group", name: "people", attributes: {}, members: numbered("u", 12) },
      backends: {},
    },
  });
  await assertAsInStore(directory);
  assertEquals((await directory.read("user", "u00003"))?.groups, ["people"]);
});

/** A store that counts reads of one value and of a range. */
function counting(store: Store): { readonly store: Store; readonly reads: () => number } {
  let reads = 0;
  return {
    reads: () => reads,
    store: {
      ...store,
      get(key) {
        reads += 1;
        return store.get(key);
      },
      range(...given) {
        reads += 1;
        return store.range(...given);
      },
    },
  };
}

Deno.test("page() and readById() of users in memory read nothing from the store", async () => {
  const real = createStore(await Deno.openKv(":memory:"));
  const counted = counting(real);
  await using world = await openWorld({ store: counted.store });
  const { directory } = world;
  for (const name of numbered("u", 30)) await putUser(directory, name);
  const read = async () => {
    const { resources } = await directory.page("user", { page: 2, size: 10 });
    const one = await directory.readById("user", resources[0]?.id ?? "");
    return [...resources, one];
  };
  const first = await read();
  const before = counted.reads();
  assertEquals(await read(), first);
  assertEquals(counted.reads(), before);
  await putUser(directory, "u00012", { attributes: { title: "Engineer" } });
  const changed = await directory.page("user", { page: 2, size: 10 });
  assertEquals(changed.resources[2]?.attributesText?.includes("Engineer"), true);
  await drop(directory, { kind: "user", name: "u00000" });
  assertEquals(
    namesOf((await directory.page("user", { page: 2, size: 10 })).resources),
    numbered("u", 30).slice(11, 21),
  );
  await real.close();
});

Deno.test("no user stays in memory if other nodes write the store", async () => {
  const cache = new UserCache(0);
  await cache.read((reading) => {
    reading.keep("anna", STORED);
    reading.keepNames("all", ["anna"]);
    return Promise.resolve();
  });
  assertEquals([cache.find("anna"), cache.findById(STORED.id), cache.findNames("all")], [
    undefined,
    undefined,
    undefined,
  ]);
});

const STORED: Stored = {
  id: "00000000-0000-4000-8000-000000000000",
  content: { kind: "user", name: "anna", active: true, attributes: {} },
  attributesText: "{}",
  groups: [],
  backends: {},
  createdMs: 0,
  modifiedMs: 0,
  version: "1.0",
};

Deno.test("UserCache drops the users that were not used for long when they and their texts take too much", async () => {
  const cache = new UserCache(100_000);
  const names = numbered("u", 200);
  await cache.read((reading) => {
    for (const [at, name] of names.entries()) {
      const stored = { ...STORED, id: `id ${at}`, content: { ...STORED.content, name } };
      reading.keep(name, stored);
      cache.find("u00000");
    }
    return Promise.resolve();
  });
  const inMemory = names.filter((name) => cache.find(name) !== undefined);
  assert(inMemory.length <= 100_000 / 1200 + 1, `${inMemory.length} users are in memory`);
  assert(inMemory.includes("u00000") && inMemory.includes("u00199"));
  assertEquals(cache.findById("id 20"), undefined);
  assertEquals(cache.findById("id 199")?.content.name, "u00199");
  // The text of one user takes the place of many.
  const last = cache.find("u00199");
  if (last !== undefined) renderOnce(last, { name: "idm", on: [] }, () => "x".repeat(60_000));
  await cache.read((reading) => {
    reading.keep("next", { ...STORED, id: "next" });
    return Promise.resolve();
  });
  assertEquals(cache.find("u00150"), undefined);
});

Deno.test("UserCache keeps nothing that was written while it was read", async () => {
  const cache = new UserCache(100_000);
  await cache.read((reading) => {
    cache.forget("anna", { isNameChange: false });
    reading.keep("anna", STORED);
    reading.keepNames("all", ["anna"]);
    return Promise.resolve();
  });
  assertEquals([cache.find("anna"), cache.findNames("all")], [undefined, ["anna"]]);
  cache.forget("bert", { isNameChange: true });
  assertEquals(cache.findNames("all"), undefined);
});

Deno.test("renderOnce() renders again for another interface, another context, and a copy of the resource", () => {
  let count = 0;
  const render = () => `text ${++count}`;
  const stored = { ...STORED };
  const [one, other] = [{}, {}];
  const renderIdm = (resource: Stored, on: readonly unknown[]) =>
    renderOnce(resource, { name: "idm", on }, render);
  assertNotEquals(renderIdm(stored, [one]), renderIdm(stored, [one]));
  const sizes: number[] = [];
  keepRenderings(stored, (octets) => sizes.push(octets));
  const text = renderIdm(stored, [one, "https://a"]);
  assertEquals(renderIdm(stored, [one, "https://a"]), text);
  assertNotEquals(renderOnce(stored, { name: "v2", on: [one, "https://a"] }, render), text);
  assertEquals(renderIdm(stored, [one, "https://a"]), text);
  assertNotEquals(renderIdm({ ...stored }, [one, "https://a"]), text);
  const changed = [[other, "https://a"], [one, "https://b"], [one], [one, "https://b", "group"]];
  assertEquals(new Set(changed.map((on) => renderIdm(stored, on))).size, changed.length);
  assertEquals(sizes, [6, 6, 0, 0, 0, 0]);
  assertEquals(renderOnce(stored, { name: "v2", on: [] }, () => "李"), "李");
  assertEquals(sizes.at(-1), 2 - 6);
});
