// Restores: where they write, and the second reading of a store to which others write.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { compareKeys, markVersion, readChanges, readStore } from "../../../platform/backup/read_store.ts";
import { RESTORE_MARKER } from "../../../platform/backup/records.ts";
import { openRestoreTarget, StoreWriter } from "../../../platform/backup/restore_target.ts";
import { DataDirFault, openDataDir } from "../../../platform/data_dir.ts";
import { openKv } from "../../../platform/open_kv.ts";
import { createSystemRandom } from "../../../platform/runtime.ts";
import fc from "../../packages/fast_check.ts";
import { STORED_VALUES } from "./backup_test.ts";

const KV_URL = "https://kv.example.com";
const SETTINGS = { auditRetentionMs: 1, conversationTtlMs: 1 };
const nowMs = () => Date.now();

async function allOf(kv: Deno.Kv): Promise<Map<string, unknown>> {
  const entries = new Map<string, unknown>();
  for await (const { key, value } of kv.list({ prefix: [] })) entries.set(Deno.inspect(key), value);
  return entries;
}

Deno.test("readStore() and StoreWriter copy 20,000 entries with every type of key and value", async () => {
  using source = await Deno.openKv(":memory:");
  using copy = await Deno.openKv(":memory:");
  const filler = new StoreWriter(source, nowMs);
  const put = (key: Deno.KvKey, value: unknown) => filler.add({ kind: "set", key, value, expiresAtMs: null });
  for (let at = 0; at < 20_000; at++) {
    await put(["user", "default", `name ${at}`], { at, text: "ä".repeat(at % 200) });
  }
  for (const part of [new Uint8Array([1, 2]), "text", -1.5, 10n ** 30n, true, ""]) {
    await put(["part", part], 1);
  }
  for (const [name, value] of Object.entries(STORED_VALUES)) await put(["value", name], value);
  for (let at = 0; at < 30; at++) await put(["large", at], new Uint8Array(65_000));
  for (let at = 0; at < 30; at++) await put(["wide", at], "€".repeat(20_000));
  await filler.flush();

  const writer = new StoreWriter(copy, nowMs);
  const batches: number[] = [];
  for await (const batch of readStore(source, { nowMs, settings: SETTINGS })) {
    batches.push(batch.length);
    for (const record of batch) await writer.add(record);
  }
  await writer.flush();
  const expected = await allOf(source);
  assertEquals(writer.written, expected.size);
  assertEquals(await allOf(copy), expected);
  assert(Math.max(...batches) <= 1000);
});

Deno.test("StoreWriter keeps the lifetime of an entry, and leaves out what expired", async () => {
  using kv = await Deno.openKv(":memory:");
  const lifetimes: unknown[] = [];
  const observed = new Proxy(kv, {
    get(target, name) {
      if (name !== "atomic") return Reflect.get(target, name, target);
      return () => {
        const operation = target.atomic();
        const set = operation.set.bind(operation);
        operation.set = (
          key,
          value,
          options,
        ) => (lifetimes.push([key[0], options]), set(key, value, options));
        return operation;
      };
    },
  });
  const writer = new StoreWriter(observed, () => 1000);
  for (const [name, expiresAtMs] of [["stays", null], ["later", 61_000], ["now", 1000]] as const) {
    await writer.add({ kind: "set", key: [name], value: 1, expiresAtMs });
  }
  await writer.flush();
  assertEquals(lifetimes, [["stays", {}], ["later", { expireIn: 60_000 }]]);
  assertEquals([writer.written, writer.expired], [2, 1]);
  assertEquals((await kv.get(["now"])).value, null);
});

Deno.test("openRestoreTarget() replaces a file only when the restore is complete", async () => {
  const home = await Deno.makeTempDir({ prefix: "countersign-restore-" });
  const path = `${home}/countersign.kv`;
  const old = await openKv(path);
  await old.set(["old"], 1);
  old.close();
  const options = { open: openKv, nowMs };

  const interrupted = await openRestoreTarget(path, options);
  await interrupted.writer.add({ kind: "set", key: ["new"], value: 2, expiresAtMs: null });
  assertEquals(await interrupted.abandon(), `The store "${path}" is unchanged.`);
  const unchanged = await openKv(path);
  assertEquals(await allOf(unchanged), new Map([['[ "old" ]', 1]]));
  unchanged.close();

  const complete = await openRestoreTarget(path, options);
  await complete.writer.add({ kind: "set", key: ["new"], value: 2, expiresAtMs: null });
  await complete.finish();
  const replaced = await openKv(path);
  assertEquals(await allOf(replaced), new Map([['[ "new" ]', 2]]));
  replaced.close();
  assertEquals([...Deno.readDirSync(home)].map(({ name }) => name), ["countersign.kv"]);
  assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
  await Deno.remove(home, { recursive: true });
});

Deno.test("openRestoreTarget() marks an endpoint until the restore is complete, so that no node starts on it", async () => {
  const home = await Deno.makeTempDir({ prefix: "countersign-restore-" });
  const open = () => Deno.openKv(`${home}/endpoint`);
  const endpoint = await open();
  for (let at = 0; at < 2500; at++) await endpoint.set(["old", at], 1);
  endpoint.close();
  const start = () =>
    openDataDir(`${home}/node`, {
      random: createSystemRandom(),
      masterKeyHex: "ab".repeat(32),
      kvUrl: KV_URL,
      open,
    });

  const interrupted = await openRestoreTarget(KV_URL, { open, nowMs });
  await interrupted.writer.add({ kind: "set", key: ["new"], value: 2, expiresAtMs: null });
  const state = await interrupted.abandon();
  assert(state.includes("incomplete") && state.includes("--force"), state);
  const { message } = await assertRejects(start, DataDirFault);
  assert(message.includes("restore") && message.includes("--force"), message);

  const complete = await openRestoreTarget(KV_URL, { open, nowMs });
  await complete.writer.add({ kind: "set", key: ["new"], value: 2, expiresAtMs: null });
  assert((await complete.kv.get(RESTORE_MARKER)).value !== null);
  await complete.finish();
  const kv = await open();
  assertEquals(await allOf(kv), new Map([['[ "new" ]', 2]]));
  kv.close();
  await (await start()).close();
  await Deno.remove(home, { recursive: true });
});

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
