// A backup of a store to which other processes write: the second reading finds every change, and says which can be incomplete.

import { assertEquals } from "@std/assert";
import { compareKeys, markVersion, readChanges, readStore } from "../../../platform/backup/read_store.ts";
import fc from "../../packages/fast_check.ts";

const READING = { nowMs: () => Date.now(), settings: { auditRetentionMs: 1, conversationTtlMs: 1 } };

const keyPart = fc.oneof(
  fc.uint8Array({ maxLength: 3 }),
  fc.string({ unit: "binary", maxLength: 3 }),
  fc.string({ maxLength: 3 }),
  fc.double(),
  fc.integer({ min: -2, max: 2 }),
  fc.bigInt({ min: -300n, max: 300n }),
  fc.bigInt(),
  fc.boolean(),
);

Deno.test("compareKeys() has the order of Deno KV", async () => {
  const keys = fc.array(fc.array(keyPart, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(keys, async (some) => {
      using kv = await Deno.openKv(":memory:");
      for (const key of some) await kv.set(key, 1);
      const listed = await Array.fromAsync(kv.list({ prefix: [] }), ({ key }) => key);
      for (const [at, key] of listed.entries()) {
        for (const [other, otherKey] of listed.entries()) {
          assertEquals(Math.sign(compareKeys(key, otherKey)), Math.sign(at - other));
        }
      }
    }),
    { numRuns: 60 },
  );
});

/** A store after two readings, with changes of each moment. `null`: the key is absent. */
async function readTwice(
  { first, between, during }: Record<"first" | "between" | "during", Record<string, number | null>>,
) {
  using kv = await Deno.openKv(":memory:");
  const apply = async (changes: Record<string, number | null>) => {
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) await kv.delete([name]);
      else await kv.set([name], value);
    }
  };
  await apply(first);
  const since = await markVersion(kv, 1);
  const keys: Deno.KvKey[] = [];
  for await (const batch of readStore(kv, READING)) keys.push(...batch.map(({ key }) => key));
  await apply(between);
  const middle = await markVersion(kv, 2);
  await apply(during);
  const firstKeys = (async function* () {
    for (const key of keys) yield await Promise.resolve(key);
  })();
  const changes = readChanges(kv, { ...READING, firstKeys, since, middle, onRead: () => undefined });
  return await Array.fromAsync(changes, ({ record, isLate }) => [
    record.kind === "set" ? record.value : null,
    String(record.key[0]),
    isLate,
  ]);
}

Deno.test("readStore() leaves out markers and the records of running nodes", async () => {
  using kv = await Deno.openKv(":memory:");
  const transient = [["restore"], ["backup"], ["node", "a"], ["change", "a", 1], ["change_head", "a"], [
    "lease",
    "default",
  ], ["lease_wanted", "default"]];
  for (const key of [...transient, ["user", "default", "ada"]]) await kv.set(key, 1);
  const batches = await Array.fromAsync(readStore(kv, READING));
  assertEquals(batches.flat().map(({ key }) => key), [["user", "default", "ada"]]);
});

Deno.test("readChanges() yields nothing if nothing changed", async () => {
  assertEquals(await readTwice({ first: { a: 1, b: 2 }, between: {}, during: {} }), []);
});

Deno.test("readChanges() yields new, changed and deleted entries, and marks those that can be incomplete", async () => {
  const found = await readTwice({
    first: { a: 1, c: 1, d: 1, e: 1, z: 1 },
    between: { b: 2, c: 2, d: null },
    during: { e: 3, f: 3, z: null },
  });
  assertEquals(found, [
    [2, "b", false],
    [2, "c", false],
    [null, "d", true],
    [3, "e", true],
    [3, "f", true],
    [null, "z", true],
  ]);
});
