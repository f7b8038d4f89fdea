// Rows of rate limits: bounded, and on several nodes together no more tries than the limit.

import { assertEquals } from "@std/assert";
import { openNode } from "../fakes/shared_store.ts";
import { SharedFailureLimit } from "../../platform/failure_limit.ts";
import { LimitTable } from "../../platform/limit_table.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createVault } from "../../platform/vault.ts";
import { createManualClock } from "../upstream/manual_clock.ts";

const vault = createVault(new Uint8Array(32).fill(7), createSystemRandom());
const expiresMs = (row: number): number => row;
const read = (value: unknown): number => Number(value);

Deno.test("LimitTable forgets ended rows, and the row that ends first when it is full", async () => {
  const clock = createManualClock();
  const table = new LimitTable<number>({ clock }, { name: "n", maxRows: 3, expiresMs, read });
  const endMs = clock.nowMs() + 1000;
  for (let at = 0; at < 5; at++) await table.change([`key ${at}`], () => [endMs + at]);
  assertEquals(await table.read(["key 1", "key 2", "key 4"]), [undefined, endMs + 2, endMs + 4]);
  clock.advance(1003);
  assertEquals(await table.read(["key 3", "key 4"]), [undefined, endMs + 4]);
  await table.change(["key 4"], () => [null]);
  await table.change(["last"], () => [endMs + 9000]);
  assertEquals(table.size, 1);
});

Deno.test("LimitTable stores nothing while one node uses the store", async () => {
  using kv = await Deno.openKv(":memory:");
  const { store } = await openNode(kv, "a");
  const alone = { ...store, isShared: false };
  const deps = { clock: createManualClock(), store: alone, vault };
  const table = new LimitTable<number>(deps, { name: "n", maxRows: 3, expiresMs, read });
  await table.change(["ada"], () => [Number.MAX_SAFE_INTEGER]);
  assertEquals(await Array.fromAsync(store.list([])), []);
});

Deno.test("LimitTable on two nodes counts each of 40 concurrent changes, and stores no name", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = createManualClock();
  const open = async (name: string) => {
    const { store } = await openNode(kv, name);
    const options = { name: "n", maxRows: 100, expiresMs: () => clock.nowMs() + 60_000, read };
    return { store, table: new LimitTable<number>({ clock, store, vault }, options) };
  };
  const [a, b] = [await open("a"), await open("b")];
  await Promise.all(
    Array.from(
      { length: 40 },
      (_, at) =>
        (at % 2 === 0 ? a : b).table.change(["ada lovelace", `other ${at}`], ([count = 0]) => [count + 1, 1]),
    ),
  );
  await Promise.all([a.store.catchUp(), b.store.catchUp()]);
  assertEquals([await a.table.read(["ada lovelace"]), await b.table.read(["ada lovelace"])], [[40], [40]]);
  const late = await open("c");
  assertEquals(await late.table.read(["ada lovelace"]), [40]);
  const keys = (await Array.fromAsync(a.store.list(["tries"]))).map(({ key }) => key.join("/"));
  assertEquals(keys.filter((key) => key.includes("ada lovelace") || key.includes("other ")), []);
});

Deno.test("SharedFailureLimit allows five tries a minute on two nodes together, and a forgiven one counts on neither", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = createManualClock();
  const open = async (name: string) => {
    const { store } = await openNode(kv, name);
    return { store, limit: new SharedFailureLimit({ clock, store, vault }, { name: "sign_in" }) };
  };
  const nodes = [await open("a"), await open("b")] as const;
  const key = { source: "192.0.2.1", name: "ada" };
  const [first] = await Promise.all([nodes[0].limit.take(key)]);
  if ("forgive" in first) await first.forgive();
  const taken = await Promise.all(
    Array.from({ length: 12 }, (_, at) => nodes[at % 2 === 0 ? 0 : 1].limit.take(key)),
  );
  assertEquals(taken.filter((one) => "forgive" in one).length, 5);
  assertEquals(taken.flatMap((one) => "waitMs" in one ? one.waitMs : []), Array(7).fill(60_000));
  // The store still has the rows that ended.
  clock.advance(60_000);
  assertEquals("forgive" in await nodes[1].limit.take(key), true);
});

Deno.test("SharedFailureLimit limits for a minute although the other node's clock is ten minutes ahead", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = createManualClock();
  const ahead = { nowMs: () => clock.nowMs() + 600_000 };
  const open = async (name: string, time: { nowMs: () => number }) => {
    const { store } = await openNode(kv, name);
    return { store, limit: new SharedFailureLimit({ clock: time, store, vault }, { name: "sign_in" }) };
  };
  const [a, b] = [await open("a", ahead), await open("b", clock)];
  const key = { source: "192.0.2.1", name: "ada" };
  for (let tries = 0; tries < 5; tries++) await a.limit.take(key);
  await b.store.catchUp();
  assertEquals([b.limit.waitMs(key), await b.limit.take(key)], [60_000, { waitMs: 60_000 }]);
  const late = await open("c", clock);
  assertEquals(await late.limit.take(key), { waitMs: 60_000 });
  clock.advance(60_000);
  assertEquals([b.limit.waitMs(key), "forgive" in await b.limit.take(key)], [0, true]);
});

for (const value of ["a text", 7, { times: [1] }, [null, "x"], true]) {
  Deno.test(`SharedFailureLimit counts from zero after a row of another form: ${JSON.stringify(value)}`, async () => {
    using kv = await Deno.openKv(":memory:");
    const clock = createManualClock();
    const key = { source: "192.0.2.1", name: "ada" };
    const open = async (name: string) => {
      const { store } = await openNode(kv, name);
      return { store, limit: new SharedFailureLimit({ clock, store, vault }, { name: "sign_in" }) };
    };
    const a = await open("a");
    await a.limit.take(key);
    const rows = await Array.fromAsync(a.store.list(["tries"]));
    const other = await openNode(kv, "later");
    for (const row of rows) {
      await other.store.commit({ mutations: [{ type: "set", key: row.key, value }] });
    }
    await a.store.catchUp();
    // The other node read the rows at its start.
    for (const { limit } of [a, await open("b")]) {
      const taken = await limit.take(key);
      assertEquals("forgive" in taken, true);
    }
  });
}
