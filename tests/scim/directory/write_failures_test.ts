// Directory writes that the store rejects: the directory stays as it was, and prepared changes are undone.

import { assertEquals, assertRejects } from "@std/assert";
import { createStore, type Store } from "../../../platform/store.ts";
import { drop, loginOf, namesOf, numbered, openWorld, putGroup, putUser } from "./world.ts";

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
