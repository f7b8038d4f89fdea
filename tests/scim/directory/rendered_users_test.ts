// Texts of users in memory: a read of them reads nothing from the store, and each write of a user is seen by the next read.

import { assert, assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { RenderedUsers } from "../../../scim/directory/rendered_users.ts";
import type { RenderedUser, TargetDirectory, UserRenderer } from "../../../scim/ports.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import { ALL_KEYS } from "../../../scim/v2/query/query_plan.ts";
import { act, perform, writeOf } from "./acts.ts";
import { drop, numbered, openWorld, putGroup, putUser } from "./world.ts";

/** A renderer whose text has all that responses have of a user. */
const RENDERER: UserRenderer = {
  interfaceName: "v2",
  on: [],
  render: ({ id, version, groups, content, backends }) =>
    Promise.resolve(JSON.stringify([id, version, groups, content, backends])),
};

/** Every user by each way of reading that may use memory. */
async function readTexts(directory: TargetDirectory, inStore: readonly Stored[]): Promise<string[][]> {
  const size = 5;
  const reads = directory.render(RENDERER);
  const pages: RenderedUser[] = [];
  for (let page = 1; (page - 1) * size < Math.max(1, inStore.length); page++) {
    pages.push(...(await reads.page({ page, size })).users);
  }
  const reversed = await reads.page({ page: 1, size: 100, isReverse: true });
  const listing = { by: "name", ranges: [ALL_KEYS], counted: "first" } as const;
  const listed = await reads.list(listing, { offset: 0, limit: 100 });
  const byId = await Promise.all(inStore.map(({ id }) => reads.readById(id)));
  const byName = await Promise.all(inStore.map(({ content }) => reads.read(canonicalName(content.name))));
  return [
    pages,
    reversed.users.toReversed(),
    await reads.readMany(listed),
    byId.filter((user) => user !== null),
    byName.filter((user) => user !== null),
  ].map((users) => users.map(({ text }) => text));
}

async function assertAsInStore(directory: TargetDirectory): Promise<void> {
  // An export reads the store.
  const inStore = await Array.fromAsync(directory.all("user"));
  const texts = await Promise.all(inStore.map(RENDERER.render));
  // Twice: the first reads bring the users into memory.
  for (let times = 0; times < 2; times++) {
    for (const found of await readTexts(directory, inStore)) assertEquals(found, texts);
  }
}

Deno.test("render() answers with what the store has after each write, by each way of reading", async () => {
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
      const reads = directory.render(RENDERER);
      await Promise.all(writes.flatMap((write) => [
        reads.page({ page: 1, size: 5 }),
        write(),
        directory.render(RENDERER).read("anna"),
        reads.page({ page: 1, size: 100, isReverse: true }),
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

Deno.test("page(), read() and readById() of users in memory read nothing from the store", async () => {
  const real = createStore(await Deno.openKv(":memory:"));
  const counted = counting(real);
  await using world = await openWorld({ store: counted.store });
  const { directory } = world;
  for (const name of numbered("u", 30)) await putUser(directory, name);
  const listing = { by: "name", ranges: [ALL_KEYS], counted: "first" } as const;
  const read = async () => {
    const reads = directory.render(RENDERER);
    const { users } = await reads.page({ page: 2, size: 10 });
    const listed = await reads.readMany(await reads.list(listing, { offset: 10, limit: 10 }));
    assertEquals(listed, users);
    return [...users, await reads.readById(users[0]?.id ?? ""), await reads.read("u00013")];
  };
  const first = await read();
  const before = counted.reads();
  assertEquals(await read(), first);
  assertEquals(counted.reads(), before);
  await putUser(directory, "u00012", { attributes: { title: "Engineer" } });
  assert((await read())[2]?.text.includes("Engineer"));
  await drop(directory, { kind: "user", name: "u00000" });
  const { users, total } = await directory.render(RENDERER).page({ page: 2, size: 10 });
  assertEquals([users.map(({ name }) => name), total], [numbered("u", 30).slice(11, 21), 29]);
  await real.close();
});

/** Users named u00000 and so on over no store, and how often each is rendered. */
function openRendered(maxOctets: number) {
  const stored = (name: string): Stored => ({
    id: `id of ${name}`,
    content: { kind: "user", name, active: true, attributes: {} },
    attributesText: "{}",
    groups: name === "anna" ? ["staff"] : [],
    backends: {},
    createdMs: 0,
    modifiedMs: 0,
    version: "1.0",
  });
  let isRenaming = false;
  let pages = 0;
  const users = new RenderedUsers({
    directory: {
      read: (_kind, canonical) => Promise.resolve(stored(canonical)),
      readById: () => Promise.resolve(null),
      page(_kind, { page }) {
        pages += 1;
        return Promise.resolve({ total: 0, startIndex: page, resources: [] });
      },
      indexes: {
        count: () => Promise.resolve(0),
        list: () => Promise.resolve([]),
        manyValued: () => Promise.resolve(null),
        readMany: () => Promise.resolve([]),
        groupsOf: () => Promise.resolve([]),
      },
    },
    maxOctets,
    isRenaming: () => isRenaming,
  });
  let rendered = 0;
  const isInMemory = async (name: string, renderer: Partial<UserRenderer> = {}) => {
    const before = rendered;
    const render = () => `text ${++rendered}`.padEnd(1000);
    await users.render({ interfaceName: "idm", on: [], render, ...renderer }).read(name);
    return rendered === before;
  };
  const isPageInMemory = async (page: number) => {
    const before = pages;
    await users.render({ interfaceName: "idm", on: [], render: () => "" }).page({ page, size: 100 });
    return pages === before;
  };
  const rename = (isActive: boolean) => void (isRenaming = isActive);
  return { users, isInMemory, isPageInMemory, rename };
}

Deno.test("RenderedUsers keeps a limited number of pages, also of pages without users", async () => {
  const { isPageInMemory } = openRendered(1_000_000);
  assertEquals(await isPageInMemory(1), false);
  assert(await isPageInMemory(1));
  for (let page = 2; page <= 20_000; page++) await isPageInMemory(page);
  assert(await isPageInMemory(20_000));
  assertEquals(await isPageInMemory(1), false);
});

Deno.test("RenderedUsers drops the users that were not used for the longest time", async () => {
  const { isInMemory } = openRendered(15_500);
  const names = numbered("u", 10);
  for (const name of names) assertEquals(await isInMemory(name), false);
  assert(await isInMemory("u00000"));
  assertEquals(await isInMemory("next"), false);
  for (const name of ["u00000", "next", "u00009"]) assert(await isInMemory(name));
  assertEquals(await isInMemory("u00001"), false);
  assertEquals(await isInMemory("李", { render: () => "李".repeat(7000) }), true);
  const many = await Promise.all(names.map((name) => isInMemory(name)));
  assertEquals(many.filter((isKnown) => isKnown).length < 2, true);
});

Deno.test("RenderedUsers keeps a text for one interface and one context", async () => {
  const { users, isInMemory } = openRendered(1_000_000);
  const [mapping, other] = [{}, {}];
  assertEquals(await isInMemory("bert", { on: [mapping, "https://a"] }), false);
  assert(await isInMemory("bert", { on: [mapping, "https://a"] }));
  assertEquals(await isInMemory("bert", { interfaceName: "v2", on: [mapping, "https://a"] }), false);
  assert(await isInMemory("bert", { on: [mapping, "https://a"] }));
  for (const on of [[other, "https://a"], [mapping, "https://b"], [mapping], [mapping, "https://b", "x"]]) {
    assertEquals(await isInMemory("bert", { on }), false);
  }
  assertEquals(await isInMemory("anna"), false);
  assert(await isInMemory("anna"));
  users.groupsChanged();
  assertEquals(await isInMemory("anna"), false);
  assert(await isInMemory("bert", { on: [mapping, "https://b", "x"] }));
});

Deno.test("RenderedUsers keeps nothing that was written, or renamed, while it was read, or that other nodes can write", async () => {
  const { users, isInMemory, rename } = openRendered(1_000_000);
  const reads = users.render({ interfaceName: "idm", on: [], render: () => "outdated" });
  users.forget("bert", { isNameChange: false });
  assertEquals((await reads.read("bert"))?.text, "outdated");
  assertEquals(await isInMemory("bert"), false);
  assert(await isInMemory("bert"));
  rename(true);
  assertEquals(await isInMemory("bert"), false);
  assertEquals(await isInMemory("new"), false);
  rename(false);
  assertEquals(await isInMemory("new"), false);
  // More writes than are remembered: what began before them keeps nothing.
  const late = users.render({ interfaceName: "idm", on: [], render: () => "outdated" });
  users.forget("eve", { isNameChange: false });
  for (let n = 0; n < 20_001; n++) users.forget(`u${n}`, { isNameChange: false });
  await late.read("eve");
  assertEquals(await isInMemory("eve"), false);
  const shared = openRendered(0);
  assertEquals([await shared.isInMemory("bert"), await shared.isInMemory("bert")], [false, false]);
});
