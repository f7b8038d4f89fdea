// The indexes of the directory: counts, the merge, and the search for words.

import { assert, assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import type { CountedIndex } from "../../../scim/directory/counted_index.ts";
import { openCountedIndex } from "../../../scim/directory/indexes.ts";
import type { IndexContent } from "../../../scim/directory/index_bucket.ts";
import { IndexMerge, type IndexMergeOptions } from "../../../scim/directory/index_merge.ts";
import { LAST_CHARACTER } from "../../../scim/directory/keys.ts";
import { nameHash } from "../../../scim/directory/name_hashes.ts";
import { drop, dying, namesOf, numbered, openWorld, pageOf, putGroup, putUser } from "./world.ts";
import type { TargetDirectory } from "../../../scim/ports.ts";
import { type Act, act, assertFinds, assertSame, note, perform } from "./acts.ts";
import { createModel } from "./model.ts";

// A counted index with tiny buckets compared with a naive model: random changes, merges in steps, crashes and restarts.

const KEYS = Array.from({ length: 40 }, (_, at) => `k${String(at).padStart(2, "0")}`);

/** One commit: each key gets a depth, or loses its entry (`null`). */
type Commit = ReadonlyMap<string, number | null>;

interface Life {
  readonly commits: readonly Commit[];
  /** After this many commits of the merge, the store fails until the restart. */
  readonly crashAfter: number;
}

const commit: fc.Arbitrary<Commit> = fc.array(
  fc.tuple(fc.constantFrom(...KEYS), fc.option(fc.integer({ min: 0, max: 23 }), { nil: null })),
  { minLength: 1, maxLength: 8 },
).map((changes) => new Map(changes));
const life: fc.Arbitrary<Life> = fc.record({
  commits: fc.array(commit, { maxLength: 40 }),
  crashAfter: fc.integer({ min: 0, max: 60 }),
});
const limits = fc.record({
  maxEntries: fc.integer({ min: 2, max: 6 }),
  maxPending: fc.integer({ min: 1, max: 6 }),
  stepMutations: fc.integer({ min: 1, max: 12 }),
  unmerged: fc.integer({ min: 0, max: 40 }),
});

/** The index of `stores`; its entries are in the store below ["entry"]. */
function openIndex(
  store: Store,
  { stores, maxEntries, maxPending }: { stores: IndexContent; maxEntries: number; maxPending: number },
): Promise<CountedIndex> {
  return openCountedIndex({
    store,
    prefix: ["bucket"],
    log: ["log"],
    entries: ["entry"],
    stores,
    maxEntries,
    maxPending,
  });
}

function entryMutationOf(entry: string, depth: number | null) {
  const key = ["entry", entry];
  return depth === null ? { type: "delete", key } as const : { type: "set", key, value: depth } as const;
}

/** Writes a commit like the directory: an index of names has its entries in the same commit. */
async function write(
  { store, index, stores }: { store: Store; index: CountedIndex; stores: IndexContent },
  { model, changes }: { model: Map<string, number>; changes: Commit },
): Promise<void> {
  const draft = index.draft();
  for (const [key, depth] of changes) {
    const before = model.get(key);
    if (before !== undefined) draft.remove(key, before);
    if (depth !== null) draft.add(key, depth);
  }
  const entries = stores === "hashes"
    ? Array.from(changes, ([key, depth]) => entryMutationOf(key, depth))
    : [];
  await store.commit({ mutations: [...draft.mutations(), ...entries] });
  draft.apply();
  for (const [key, depth] of changes) {
    if (depth === null) model.delete(key);
    else model.set(key, depth);
  }
}

async function assertEqual(
  { store, index, stores }: { store: Store; index: CountedIndex; stores: IndexContent },
  model: ReadonlyMap<string, number>,
): Promise<void> {
  assertEquals(index.total, model.size);
  for (const [at, bucket] of index.buckets.entries()) {
    const end = index.buckets[at + 1]?.bound ?? LAST_CHARACTER;
    const own = [...model].filter(([key]) => key >= bucket.bound && key < end);
    assertEquals([bucket.bound, bucket.count], [bucket.bound, own.length]);
    if (stores === "hashes") {
      assertEquals([...bucket.hashes ?? []].sort(), own.map(([key]) => nameHash(key)).sort());
    } else {
      const below = (depth: number) => own.filter(([, one]) => one < depth).length;
      for (const depth of [1, 5, 12, 23]) assertEquals(bucket.countBelow(depth), below(depth));
    }
  }
  const entries = new Map<string, number>();
  for await (const { key, value } of store.list<number>(["entry"])) entries.set(String(key[1]), value ?? 0);
  for (const { key, depth } of index.pendingIn("", LAST_CHARACTER)) {
    if (depth === null) entries.delete(key);
    else entries.set(key, depth);
  }
  assertEquals([...entries].sort(), [...model].sort());
  for (const key of KEYS) if (stores === "hashes") assertEquals(index.mayContain(key), model.has(key));
}

for (const stores of ["depths", "hashes"] as const) {
  Deno.test(`openCountedIndex() of ${stores} equals a naive index after merges, crashes and restarts`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(life, { minLength: 1, maxLength: 4 }), limits, async (lives, limit) => {
        const store = createStore(await Deno.openKv(":memory:"));
        const model = new Map<string, number>();
        for (const { commits, crashAfter } of lives) {
          const mortal = dying(store, crashAfter);
          const index = await openIndex(mortal, { stores, ...limit });
          const merge = new IndexMerge(index, {
            minUnmerged: limit.unmerged,
            maxUnmerged: limit.unmerged,
            stepMutations: limit.stepMutations,
          });
          await assertEqual({ store, index, stores }, model);
          for (const changes of commits) {
            await write({ store, index, stores }, { model, changes });
            await merge.run().catch(() => undefined);
          }
          await assertEqual({ store, index, stores }, model);
        }
        await assertEqual({ store, index: await openIndex(store, { stores, ...limit }), stores }, model);
        await store.close();
      }),
      { numRuns: 150 },
    );
  });
}

// The index log and its merge: any limits, and a crash at each commit.

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
  // With this seed they replace and delete a user and a group, and a member comes after its group.
  const acts = fc.sample(act, { numRuns: 14, seed: 266 });
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

// Several words in q: the result does not depend on how frequent a word is, and a rare word limits the reading.

const PEOPLE = 400;

/** All have the name Anna, every second one the name Berg, and each has a number. */
async function fill(directory: TargetDirectory): Promise<void> {
  const given = (at: number) => ({
    name: { givenName: "Anna", familyName: at % 2 === 0 ? "Berg" : "Tal" },
  });
  await Promise.all(
    Array.from({ length: PEOPLE }, (_, at) => putUser(directory, `n${1000 + at}`, { attributes: given(at) })),
  );
}

async function found(directory: TargetDirectory, q: string): Promise<{ total: number; names: string[] }> {
  const outcome = await directory.search("user", q, { page: 1, size: 1000 });
  if (!outcome.ok) throw new Error(outcome.problem.detail);
  return { total: outcome.page.total, names: namesOf(outcome.page.resources) };
}

Deno.test("search() of several words finds the users who have all of them, however frequent each word is", async () => {
  await using world = await openWorld();
  await fill(world.directory);
  const rows: [string, number][] = [
    ["anna n1007", 1],
    ["n1007 anna", 1],
    ["berg n1007", 0],
    ["anna n100", 10],
    ["anna n10 tal", 50],
    ["anna berg", PEOPLE / 2],
    ["an be", PEOPLE / 2],
    ["anna zoe", 0],
    ["n1001 n1002", 0],
  ];
  for (const [q, total] of rows) {
    const { names, total: said } = await found(world.directory, q);
    assertEquals([said, names.length], [total, total], q);
    assertEquals(names, names.toSorted(), q);
  }
});

Deno.test("search() of a common and a rare word reads only a part of the common one", async () => {
  let read = 0;
  await using world = await openWorld();
  await fill(world.directory);
  const counting: Store = {
    ...world.store,
    async *range<T>(...args: Parameters<Store["range"]>) {
      for await (const entry of world.store.range<T>(...args)) {
        read += 1;
        yield entry;
      }
    },
  };
  const directory = await world.reopen({ store: counting });
  read = 0;
  assertEquals((await found(directory, "anna n1007")).total, 1);
  assert(read < 100, `${read} entries were read`);
});
