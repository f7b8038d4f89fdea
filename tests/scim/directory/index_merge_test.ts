// The index log and its merge: any limits, and a crash at each commit.

import { assert, assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import type { Store } from "../../../platform/store.ts";
import type { IndexMergeOptions } from "../../../scim/directory/index_merge.ts";
import type { TargetDirectory } from "../../../scim/ports.ts";
import { type Act, act, assertFinds, assertSame, note, perform } from "./acts.ts";
import { createModel } from "./model.ts";
import { drop, dying, namesOf, numbered, openWorld, pageOf, putGroup, putUser } from "./world.ts";

/** Sweeps after each few changes, in small commits. */
const EAGER: IndexMergeOptions = { minUnmerged: 0, maxUnmerged: 0, stepMutations: 3 };

const merge = fc.record({
  minUnmerged: fc.integer({ min: 0, max: 30 }),
  maxUnmerged: fc.integer({ min: 0, max: 60 }),
  stepMutations: fc.integer({ min: 1, max: 40 }),
});

async function keysBelow(store: Store, ...prefix: string[]): Promise<Deno.KvKey[]> {
  return (await Array.fromAsync(store.list(prefix))).map(({ key }) => key);
}

Deno.test("createDirectory() equals a naive directory however the index logs are merged", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(act, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 3 }),
      merge,
      async (lives, limits) => {
        await using world = await openWorld({ merge: limits });
        const model = createModel();
        let directory = world.directory;
        for (const acts of lives) {
          for (const one of acts) {
            await perform(directory, one);
            note(model, one);
          }
          await assertFinds(directory, model);
          directory = await world.reopen();
        }
        await assertSame(directory, model);
        await assertFinds(directory, model);
      },
    ),
    { numRuns: 25 },
  );
});

Deno.test("createDirectory() keeps its indexes when the process crashes at any commit of a write or a merge", async () => {
  const acts = fc.sample(act, { numRuns: 25, seed: 11 });
  let isComplete = false;
  for (let commits = 0; !isComplete; commits++) {
    await using world = await openWorld({ merge: EAGER });
    const model = createModel();
    const mortal = await world.reopen({ store: dying(world.store, commits) });
    isComplete = await performUntilCrash(mortal, acts, (one) => note(model, one));
    const directory = await world.reopen();
    await assertFinds(directory, model);
    // The first write continues the merge that was interrupted.
    await putUser(directory, "zoe");
    model.putUser({ name: "zoe", active: true, attributes: { name: { familyName: "", givenName: "" } } });
    await assertSame(directory, model);
    await assertFinds(await world.reopen(), model);
  }
});

/** @returns whether all acts were performed. */
async function performUntilCrash(
  directory: TargetDirectory,
  acts: readonly Act[],
  done: (one: Act) => void,
): Promise<boolean> {
  for (const one of acts) {
    try {
      await perform(directory, one);
    } catch {
      return false;
    }
    done(one);
  }
  return true;
}

Deno.test("createDirectory() merges the whole log and deletes it", async () => {
  await using world = await openWorld({ merge: EAGER });
  for (const name of numbered("u", 40)) await putUser(world.directory, name);
  // Each write does a step of the merge. These writes change only values of the group.
  for (let turn = 0; turn < 200; turn++) {
    await putGroup(world.directory, "staff", numbered("guest", turn % 3));
  }
  const logged = await keysBelow(world.store, "index_log");
  assertEquals(logged.filter((key) => key[2] !== "group values"), []);
  assertEquals((await keysBelow(world.store, "value", "default", "user")).length, 240);
  assertEquals((await keysBelow(world.store, "word", "default", "user")).length, 40);
  assertEquals(pageOf(await world.directory.search("user", "u0001", { page: 1, size: 100 })).total, 10);
});

Deno.test("createDirectory() keeps a log that is far smaller than the index", async () => {
  await using world = await openWorld({ merge: { minUnmerged: 50, maxUnmerged: 100 } });
  const names = numbered("u", 3000);
  for (let from = 0; from < names.length; from += 20) {
    await Promise.all(names.slice(from, from + 20).map((name) => putUser(world.directory, name)));
  }
  const merged = (await keysBelow(world.store, "word", "default", "user")).length;
  assert(merged > 2500, `${merged} of 3000 words are merged`);
  assert((await keysBelow(world.store, "index_log", "default", "user words")).length < 50);
});

Deno.test("search() finds a user while a merge moves the words", async () => {
  await using world = await openWorld({ merge: { minUnmerged: 10, maxUnmerged: 10, stepMutations: 2 } });
  const names = numbered("u", 300);
  await putUser(world.directory, "anna");
  let isWriting = true;
  const writing = (async () => {
    for (const name of names) await putUser(world.directory, name);
    for (const name of names.slice(0, 100)) await drop(world.directory, { kind: "user", name });
    isWriting = false;
  })();
  while (isWriting) {
    const found = pageOf(await world.directory.search("user", "anna", { page: 1, size: 10 }));
    assertEquals(namesOf(found.resources), ["anna"]);
  }
  await writing;
  assertEquals(pageOf(await world.directory.search("user", "u", { page: 1, size: 10 })).total, 200);
});
