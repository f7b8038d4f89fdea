// Limits: the table of windows, the rate limit, and the limit of failures.

import { assert, assertEquals } from "@std/assert";
import {
  createRateLimit,
  LimitTable,
  ProvenDigests,
  SharedFailureLimit,
} from "../../platform/limit_table.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createVault } from "../../platform/vault.ts";
import { openNode } from "../fakes/shared_store.ts";
import { createManualClock, type ManualClock } from "../upstream/manual_clock.ts";

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

const WINDOW_MS = 60_000;

Deno.test("take() allows a limited number in a window, per key", async () => {
  let now = 0;
  const limit = createRateLimit({ clock: { nowMs: () => now } }, {
    name: "n",
    count: 2,
    windowMs: WINDOW_MS,
  });
  const taken = await Promise.all(["a", "a", "a", "b"].map((key) => limit.take(key)));
  assertEquals(taken, [true, true, false, true]);
  assertEquals([await limit.waitMs("a"), await limit.waitMs("b")], [WINDOW_MS, 0]);
  now = WINDOW_MS;
  assertEquals([await limit.waitMs("a"), await limit.take("a")], [0, true]);
});

Deno.test("take() with too many keys ends the window of no key, and still limits new keys", async () => {
  let now = 0;
  const options = { name: "n", count: 2, windowMs: WINDOW_MS, maxKeys: 10 };
  const limit = createRateLimit({ clock: { nowMs: () => now } }, options);
  await limit.take("victim");
  await limit.take("victim");
  for (let key = 0; key < 10_000; key++) await limit.take(`key ${key}`);
  assert(await limit.waitMs("victim") > 0);
  assert(!await limit.take("victim"));
  assert(!await limit.take("another key"));
  now = WINDOW_MS;
  assert(await limit.take("victim") && await limit.take("another key"));
});

/** The limit of one node. */
const openLimit = (clock: ManualClock) => new SharedFailureLimit({ clock }, { name: "test" });
const ANN = { source: "192.0.2.1", name: "ann" };

Deno.test("SharedFailureLimit allows five failures in any minute, for each name and source", async () => {
  const clock = createManualClock();
  const limit = openLimit(clock);
  for (let failure = 0; failure < 5; failure++) {
    assertEquals(limit.waitMs(ANN), 0);
    await limit.take(ANN);
    clock.advance(1000);
  }
  const others = [{ ...ANN, name: "ben" }, { ...ANN, source: "192.0.2.2" }, { source: null, name: "ann" }];
  assertEquals([ANN, ...others].map((key) => limit.waitMs(key)), [55_000, 0, 0, 0]);
  assertEquals(limit.waitMs({ source: "::ffff:192.0.2.1", name: "ANN" }), 55_000);
  clock.advance(55_000);
  assertEquals(limit.waitMs(ANN), 0);
  await limit.take(ANN);
  assertEquals(limit.waitMs(ANN), 1000);
});

Deno.test("SharedFailureLimit counts all addresses of an IPv6 /64 as one source, over all names", async () => {
  const limit = openLimit(createManualClock());
  for (let at = 0; at < 30; at++) await limit.take({ source: `2001:db8::${at + 1}`, name: `name ${at}` });
  assertEquals(limit.waitMs({ source: "2001:db8::ffff", name: "new" }) > 0, true);
  assertEquals(limit.waitMs({ source: "2001:db8:0:1::1", name: "new" }), 0);
});

Deno.test("SharedFailureLimit can forgive a failure", async () => {
  const limit = openLimit(createManualClock());
  for (let at = 0; at < 4; at++) await limit.take(ANN);
  const taken = await limit.take(ANN);
  if ("forgive" in taken) await taken.forgive();
  assertEquals(limit.waitMs(ANN), 0);
  await limit.take(ANN);
  assertEquals(limit.waitMs(ANN) > 0, true);
});

Deno.test("SharedFailureLimit removes the key with the oldest failure when it has 20,000", async () => {
  const limit = openLimit(createManualClock());
  const failFive = async (name: string) => {
    for (let at = 0; at < 5; at++) await limit.take({ source: null, name });
  };
  await failFive("first");
  await failFive("second");
  for (let at = 0; at < 19_999; at++) await limit.take({ source: null, name: `name ${at}` });
  const isLimited = (name: string) => limit.waitMs({ source: null, name }) > 0;
  assertEquals([isLimited("first"), isLimited("second")], [false, true]);
});

Deno.test("ProvenDigests remembers a credential for a day, and at most 1,000", () => {
  const clock = createManualClock();
  const proven = new ProvenDigests({ clock });
  proven.add("a");
  assertEquals([proven.has("a"), proven.has("b")], [true, false]);
  clock.advance(24 * 3_600_000);
  assertEquals(proven.has("a"), false);
  for (let at = 0; at < 1001; at++) proven.add(`digest ${at}`);
  assertEquals([proven.has("digest 0"), proven.has("digest 1")], [false, true]);
});
