// A counted index with tiny buckets compared with a naive model: random changes, merges in steps, crashes and restarts.

import { assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import type { CountedIndex } from "../../../scim/directory/counted_index.ts";
import { openCountedIndex } from "../../../scim/directory/index_follower.ts";
import type { IndexContent } from "../../../scim/directory/index_bucket.ts";
import { IndexMerge } from "../../../scim/directory/index_merge.ts";
import { LAST_CHARACTER } from "../../../scim/directory/keys.ts";
import { nameHash } from "../../../scim/directory/name_hashes.ts";
import { dying } from "./world.ts";

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
    stores,
    maxEntries,
    maxPending,
    async *entries(from, to) {
      const selector = { start: ["entry", from], end: ["entry", to ?? LAST_CHARACTER] };
      for await (const { key, value } of store.range<number>(selector)) {
        yield { key: String(key[1]), depth: value ?? 0 };
      }
    },
    ...(stores === "hashes" ? {} : { entryMutation: entryMutationOf }),
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
