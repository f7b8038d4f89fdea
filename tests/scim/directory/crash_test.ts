// The directory after a crash or a failed write, and its laws.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { crashEverywhere } from "./crash_everywhere.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import type { TargetDirectory } from "../../../scim/ports.ts";
import {
  createCrowd,
  drop,
  loginOf,
  NAME,
  namesOf,
  numbered,
  openWorld,
  pageOf,
  putGroup,
  putUser,
  type World,
} from "./world.ts";
import fc from "../../packages/fast_check.ts";
import {
  type Act,
  act,
  assertFinds,
  assertSame,
  canonicals,
  FAMILY,
  note,
  perform,
  writeOf,
} from "./acts.ts";
import { createModel } from "./model.ts";

// Crashes of the process at each commit of a large directory write, and the recovery at the next start.

const crowd = numbered("u", 450);

async function assertLinked(
  world: World,
  directory: TargetDirectory,
  group: string,
): Promise<readonly string[]> {
  const stored = await directory.read("group", group);
  const names = stored?.content.kind === "group" ? stored.content.members : [];
  const inside = new Set(names);
  for await (const { content, groups } of directory.all("user")) {
    assertEquals([content.name, groups], [content.name, inside.has(content.name) ? [group] : []]);
  }
  assertEquals((await Array.fromAsync(world.store.list(["member"]))).length, names.length);
  assertEquals((await Array.fromAsync(world.store.list(["memberof"]))).length, names.length);
  return names;
}

Deno.test("write() replaces a group with many members completely or not at all when the process crashes", async () => {
  const crashes = await crashEverywhere({
    async before(directory) {
      await createCrowd(directory, crowd);
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
      await createCrowd(directory, crowd);
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
  await createCrowd(world.directory, crowd);
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

// The directory compared with a naive model: random sequences of writes, concurrent writes, and a restart.

const GROUP_IN_A_GROUP_DROPPED: Act[] = [
  { kind: "group", name: "ab", members: [] },
  { kind: "group", name: "staff", members: ["ab"] },
  { kind: "drop", what: "group", name: "ab" },
];

Deno.test("createDirectory() equals a naive directory after any sequence of writes and a restart", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 40 }), async (acts) => {
      await using world = await openWorld();
      const model = createModel();
      for (const one of acts) {
        await perform(world.directory, one);
        note(model, one);
      }
      await assertSame(world.directory, model);
      await assertFinds(world.directory, model);
      const again = await world.reopen();
      await assertSame(again, model);
      await assertFinds(again, model);
    }),
    { numRuns: 25, examples: [[GROUP_IN_A_GROUP_DROPPED]] },
  );
});

Deno.test("createDirectory() counts and finds exactly when index buckets are split and emptied again", async () => {
  await using world = await openWorld();
  const model = createModel();
  const random = fc.sample(fc.integer({ min: 0, max: 99_999 }), { numRuns: 1500, seed: 7 });
  const given = random.map((number) => ({
    name: `u${number}`,
    active: true,
    attributes: { name: { familyName: FAMILY[number % 8] ?? "", givenName: `g${number % 100}` } },
  }));
  await world.directory.writeMany([...new Map(given.map((one) => [one.name, one])).values()].map((one) => ({
    kind: "user",
    name: one.name,
    expected: null,
    next: { content: { kind: "user", ...one }, backends: {} },
  })));
  for (const one of given) model.putUser(one);
  for (const one of given.slice(0, 700)) {
    if (!model.users.has(one.name)) continue;
    await drop(world.directory, { kind: "user", name: one.name });
    model.drop("user", one.name);
  }
  for (const directory of [world.directory, await world.reopen()]) {
    for (const size of [50, 333]) {
      for (let page = 1; page <= model.users.size / size + 1; page++) {
        const { total, resources } = await directory.page("user", { page, size });
        assertEquals(total, model.users.size);
        assertEquals(canonicals(resources), model.names("user").slice((page - 1) * size, page * size));
      }
    }
    for (const q of ["u", "u1", "u12", "g", "g7", "smith", "s", "o'", "b", "g1 smith"]) {
      const expected = model.found("user", q);
      const gathered: string[] = [];
      for (let page = 1; page <= expected.length / 100 + 1; page++) {
        const found = pageOf(await directory.search("user", q, { page, size: 100 }));
        assertEquals([q, found.total], [q, expected.length]);
        gathered.push(...canonicals(found.resources));
      }
      assertEquals(gathered.sort(), expected.sort());
    }
  }
});

Deno.test("createDirectory() handles concurrent writes as if they came one by one", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(act, { maxLength: 15 }),
      fc.array(act, { minLength: 2, maxLength: 12 }),
      async (before, acts) => {
        await using world = await openWorld();
        const model = createModel();
        for (const one of before) {
          await perform(world.directory, one);
          note(model, one);
        }
        const writes = await Promise.all(acts.map((one) => writeOf(world.directory, one)));
        const results = await Promise.all(writes.map((write) => write()));
        // Another write may have made a version outdated. A refused write must change nothing.
        for (const [at, one] of acts.entries()) if (results[at]?.ok) note(model, one);
        await assertSame(world.directory, model);
        await assertFinds(await world.reopen(), model);
      },
    ),
    { numRuns: 40 },
  );
});

Deno.test("writeMany() leaves no tombstone of a user who is deleted and created in the same commit", async () => {
  await using world = await openWorld();
  await putUser(world.directory, "anna");
  const expected = (await world.directory.read("user", "anna"))?.version ?? null;
  const content = { kind: "user", name: "Anna", active: true, attributes: { name: NAME } } as const;
  const results = await world.directory.writeMany([
    { kind: "user", name: "anna", expected, next: null },
    { kind: "user", name: "anna", expected: null, next: { content, backends: {} } },
  ]);
  assertEquals(results.map(({ ok }) => ok), [true, true]);
  assertEquals(world.directory.count("user"), 1);
  for (const prefix of ["gone", "departure"]) {
    assertEquals((await Array.fromAsync(world.store.list([prefix]))).length, 0);
  }
});

// Directory writes that the store rejects: the directory stays as it was, and prepared changes are undone.

/** A store in memory that calls `faults.commit`, if it is set, instead of its own commit. */
async function openFaultyStore() {
  const real = createStore(await Deno.openKv(":memory:"));
  const faults: { commit: Store["commit"] | null } = { commit: null };
  const store: Store = {
    ...real,
    commit: (t) => faults.commit === null ? real.commit(t) : faults.commit(t),
  };
  return { real, store, faults, [Symbol.asyncDispose]: () => real.close() };
}

const failWithDisk: Store["commit"] = () => Promise.reject(new Error("disk"));

/** A directory over the faulty store, and the names whose offboarding was undone. */
async function openOffboardingWorld({ store }: { readonly store: Store }) {
  const undone: string[] = [];
  const world = await openWorld({
    store,
    prepareOffboarding: (name) => ({ mutations: [], done: () => undefined, undo: () => undone.push(name) }),
  });
  return { ...world, undone };
}

Deno.test("write() rejects when the store fails, and the directory stays unchanged", async () => {
  await using faulty = await openFaultyStore();
  await using world = await openOffboardingWorld(faulty);
  await putUser(world.directory, "anna");
  faulty.faults.commit = failWithDisk;
  await assertRejects(() => drop(world.directory, { kind: "user", name: "anna" }), Error, "disk");
  await assertRejects(() => putUser(world.directory, "bert"), Error, "disk");
  faulty.faults.commit = null;
  assertEquals(world.undone, ["anna"]);
  assertEquals(namesOf((await world.directory.page("user", { page: 1, size: 9 })).resources), ["anna"]);
  assertEquals((await loginOf(world.directory, "anna")).status, "active");
  await putUser(world.directory, "bert");
  assertEquals(world.directory.count("user"), 2);
});

Deno.test("write() undoes the prepared changes of a large group that another request writes meanwhile", async () => {
  await using faulty = await openFaultyStore();
  faulty.faults.commit = (t) =>
    (t.checks?.length ?? 0) > 0 ? Promise.resolve({ ok: false, reason: "raced" }) : faulty.real.commit(t);
  const asked: string[] = [];
  await using world = await openWorld({
    store: faulty.store,
    prepareGroupCleanup: (name) => ({
      mutations: [],
      done: () => asked.push(`done ${name}`),
      undo: () => asked.push(`undo ${name}`),
    }),
  });
  const members = numbered("m", 600);
  assertEquals((await putGroup(world.directory, "g", members)).ok, false);
  assertEquals(asked, ["undo g"]);
  faulty.faults.commit = null;
  assertEquals((await putGroup(world.directory, "g", members)).ok, true);
  assertEquals(asked, ["undo g", "done g"]);
});

Deno.test("write() undoes prepared changes in reverse order", async () => {
  await using faulty = await openFaultyStore();
  await using world = await openOffboardingWorld(faulty);
  await putUser(world.directory, "anna");
  await putUser(world.directory, "bert");
  faulty.faults.commit = failWithDisk;
  await Promise.allSettled(["anna", "bert"].map((name) => drop(world.directory, { kind: "user", name })));
  // Both in one commit, then each in its own.
  assertEquals(world.undone, ["bert", "anna", "anna", "bert"]);
});
