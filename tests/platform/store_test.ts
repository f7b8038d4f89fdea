// The store: group commit over Deno KV. Each batch must have the result of separate transactions.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { createStore, type Store, type Transaction } from "../../platform/store.ts";
import fc from "../packages/fast_check.ts";

async function open(options: { nowMs?: () => number } = {}): Promise<Store & AsyncDisposable> {
  const store = createStore(await Deno.openKv(":memory:"), options);
  return { ...store, [Symbol.asyncDispose]: () => store.close() };
}

const set = (key: string, value: unknown): Transaction => ({
  mutations: [{ type: "set", key: [key], value }],
});
const TOO_LARGE = new Uint8Array(70_000);

async function gathered<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function valueOf(store: Store, key: string): Promise<unknown> {
  return (await store.get([key])).value;
}

function journal(text: string): Transaction {
  return { mutations: [], journal: [{ octets: new TextEncoder().encode(text), expireInMs: 60_000 }] };
}

async function removeStore(path: string): Promise<void> {
  for (const suffix of ["", "-wal", "-shm"]) {
    await Deno.remove(path + suffix).catch((fault: unknown) => {
      if (!(fault instanceof Deno.errors.NotFound)) throw fault;
    });
  }
}

Deno.test("createStore() commits simultaneous transactions in the order of the calls", async () => {
  await using store = await open();
  const outcomes = await Promise.all(Array.from({ length: 2000 }, (_, i) => store.commit(set("last", i))));
  assert(outcomes.every(({ ok }) => ok));
  assertEquals(await valueOf(store, "last"), 1999);
});

Deno.test("createStore() returns for every transaction of a batch the versionstamp that its key then has", async () => {
  await using store = await open();
  const keys = Array.from({ length: 50 }, (_, i) => `k${i}`);
  const outcomes = await Promise.all(keys.map((key) => store.commit(set(key, key))));
  for (const [at, key] of keys.entries()) {
    const outcome = outcomes[at];
    const { versionstamp } = await store.get([key]);
    assertEquals(outcome, { ok: true, versionstamp: versionstamp ?? "" });
  }
});

Deno.test("createStore() fails only an invalid transaction, and not others of the same batch", async () => {
  await using store = await open();
  const asked = [set("a", 1), set("bad", TOO_LARGE), set("b", 2), set("worse", TOO_LARGE), set("c", 3)];
  const settled = await Promise.allSettled(asked.map((transaction) => store.commit(transaction)));
  assertEquals(settled.map(({ status }) => status), [
    "fulfilled",
    "rejected",
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  assertEquals([await valueOf(store, "a"), await valueOf(store, "b"), await valueOf(store, "c")], [1, 2, 3]);
  assertEquals(await valueOf(store, "bad"), null);
});

Deno.test("createStore() applies a transaction's changes together or not at all", async () => {
  await using store = await open();
  const mutations = [...set("half", 1).mutations, ...set("bad", TOO_LARGE).mutations];
  await assertRejects(() => store.commit({ mutations }));
  assertEquals(await valueOf(store, "half"), null);
});

Deno.test("createStore() fails only a raced check, and not others of the same batch", async () => {
  await using store = await open();
  const stale = { ...set("x", "stale"), checks: [{ key: ["x"], versionstamp: "00000000000000000001" }] };
  const asked = [set("a", 1), stale, set("b", 2)];
  const outcomes = await Promise.all(asked.map((transaction) => store.commit(transaction)));
  assertEquals(outcomes.map(({ ok }) => ok), [true, false, true]);
  assertEquals(outcomes[1], { ok: false, reason: "raced" });
  assertEquals([await valueOf(store, "a"), await valueOf(store, "x"), await valueOf(store, "b")], [
    1,
    null,
    2,
  ]);
});

Deno.test("createStore() lets one of several creations of the same key win", async () => {
  await using store = await open();
  const absent = [{ key: ["seat"], versionstamp: null }];
  const outcomes = await Promise.all(
    Array.from({ length: 300 }, (_, i) => store.commit({ ...set("seat", i), checks: absent })),
  );
  assertEquals(outcomes.flatMap(({ ok }, at) => ok ? [at] : []), [0]);
  assertEquals(await valueOf(store, "seat"), 0);
});

Deno.test("createStore() lets a check see the write of an earlier transaction of the same queue", async () => {
  await using store = await open();
  const absent = [{ key: ["x"], versionstamp: null }];
  const [first, second, third, fourth] = await Promise.all([
    store.commit(set("x", 1)),
    store.commit({ ...set("y", 1), checks: absent }),
    store.commit({ mutations: [{ type: "delete", key: ["x"] }] }),
    store.commit({ ...set("z", 1), checks: absent }),
  ]);
  assertEquals([first.ok, second.ok, third.ok, fourth.ok], [true, false, true, true]);
});

Deno.test("createStore() lets a check succeed although a later transaction of the same queue writes its key", async () => {
  await using store = await open();
  const [checked, later] = await Promise.all([
    store.commit({ ...set("y", 1), checks: [{ key: ["x"], versionstamp: null }] }),
    store.commit(set("x", 1)),
  ]);
  assertEquals([checked.ok, later.ok], [true, true]);
});

Deno.test("createStore() has in batches the same result as a store that commits one by one", async () => {
  const key = fc.constantFrom("a", "b", "c");
  const step = fc.record({
    writes: fc.array(key, { minLength: 1, maxLength: 2 }),
    checks: fc.array(key, { maxLength: 2 }),
  });
  const run = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
    await using store = await open();
    const table = new Map<string, number>();
    const expected = steps.map(({ writes, checks }, at) => {
      const ok = checks.every((name) => !table.has(name));
      if (ok) { for (const name of writes) table.set(name, at); }
      return ok;
    });
    const outcomes = await Promise.all(steps.map(({ writes, checks }, at) =>
      store.commit({
        checks: checks.map((name) => ({ key: [name], versionstamp: null })),
        mutations: writes.flatMap((name) => set(name, at).mutations),
      })
    ));
    assertEquals(outcomes.map(({ ok }) => ok), expected);
    for (const name of ["a", "b", "c"]) assertEquals(await valueOf(store, name), table.get(name) ?? null);
  });
  await fc.assert(run, { numRuns: 60 });
});

Deno.test("createStore() distinguishes keys that are equal as text", async () => {
  await using store = await open();
  const keys: Deno.KvKey[] = [["1"], [1], [1n], [true], ["true"], ["a", "b"], ["a\0b"], [Uint8Array.of(49)]];
  const outcomes = await Promise.all(
    keys.map((key, at) =>
      store.commit({ checks: [{ key, versionstamp: null }], mutations: [{ type: "set", key, value: at }] })
    ),
  );
  assert(outcomes.every(({ ok }) => ok));
  for (const [at, key] of keys.entries()) assertEquals((await store.get(key)).value, at);
});

Deno.test("createStore() commits far more at once than one atomic operation allows", async () => {
  await using store = await open();
  const mutations = Array.from(
    { length: 600 },
    (_, i) => ({ type: "set" as const, key: ["m", i], value: i }),
  );
  const large = new Uint8Array(50_000);
  const outcomes = await Promise.all([
    ...mutations.map((one) => store.commit({ mutations: [one] })),
    ...mutations.slice(0, 250).map(({ key }) =>
      store.commit({ mutations: [], checks: [{ key: ["absent", ...key], versionstamp: null }] })
    ),
    ...Array.from({ length: 40 }, (_, i) => store.commit(set(`large${i}`, large))),
  ]);
  assert(outcomes.every(({ ok }) => ok));
  assertEquals((await gathered(store.list(["m"]))).length, 600);
  assertEquals((await valueOf(store, "large39") as Uint8Array).length, 50_000);
});

Deno.test("createStore() needs few commits for very many journal lines, and for one invalid transaction among many", async () => {
  const kv = await Deno.openKv(":memory:");
  let commits = 0;
  const counting = new Proxy(kv, {
    get(target, name) {
      if (name === "atomic") commits++;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const store = createStore(counting);
  const text = "x".repeat(800);
  await Promise.all(Array.from({ length: 3000 }, () => store.commit(journal(text))));
  assert(commits <= 8, `${commits} commits for 2.4 MB`);
  commits = 0;
  const raced = { ...set("x", 1), checks: [{ key: ["x"], versionstamp: "00000000000000000001" }] };
  const asked = Array.from({ length: 400 }, (_, i) => i === 123 ? raced : set(`k${i}`, i));
  const outcomes = await Promise.all(asked.map((transaction) => store.commit(transaction)));
  assertEquals(outcomes.flatMap(({ ok }, at) => ok ? [] : [at]), [123]);
  assert(commits <= 2 * 9 + 1, `${commits} commits for one that raced`);
  await store.close();
});

Deno.test("createStore() lists the keys below a prefix, in order, with limit and reversed", async () => {
  await using store = await open();
  const mutations = [3, 1, 2].map((i) => ({ type: "set" as const, key: ["p", i], value: i }));
  await store.commit({ mutations: [...mutations, { type: "set", key: ["q", 9], value: 9 }] });
  const values = async (options?: { limit?: number; reverse?: boolean }) =>
    (await gathered(store.list<number>(["p"], options))).map(({ value }) => value);
  assertEquals(await values(), [1, 2, 3]);
  assertEquals(await values({ limit: 2 }), [1, 2]);
  assertEquals(await values({ reverse: true, limit: 1 }), [3]);
});

Deno.test("createStore() returns the time of its last answer", async () => {
  let nowMs = 1000;
  await using store = await open({ nowMs: () => nowMs });
  assertEquals(store.lastAnswerMs(), 1000);
  nowMs = 2000;
  await store.get(["x"]);
  assertEquals(store.lastAnswerMs(), 2000);
  nowMs = 3000;
  await store.commit(set("x", 1));
  assertEquals(store.lastAnswerMs(), 3000);
});

Deno.test("createStore() waits in close() for commits in progress", async () => {
  const path = await Deno.makeTempFile();
  try {
    const store = createStore(await Deno.openKv(path));
    const asked = Array.from({ length: 3000 }, (_, i) => store.commit(set(`k${i}`, i)));
    await store.close();
    assert((await Promise.all(asked)).every(({ ok }) => ok));
    const kv = await Deno.openKv(path);
    assertEquals((await kv.get(["k2999"])).value, 2999);
    kv.close();
  } finally {
    await removeStore(path);
  }
});

Deno.test("createStore() rejects after close(), and reports no success", async () => {
  const store = await open();
  await store.close();
  await assertRejects(() => store.commit(set("x", 1)));
  await assertRejects(() => store.get(["x"]));
});

Deno.test("range() returns the keys from its start up to its end, in both directions, with a limit", async () => {
  await using store = await open();
  const keys = ["a", "b", "c", "d", "e"];
  await store.commit({ mutations: keys.map((key) => ({ type: "set", key: ["r", key], value: key })) });
  const selector = { start: ["r", "b"], end: ["r", "e"] };
  const values = async (options: { limit?: number; reverse?: boolean }) =>
    (await gathered(store.range<string>(selector, options))).map(({ value }) => value);
  assertEquals(await values({}), ["b", "c", "d"]);
  assertEquals(await values({ limit: 2 }), ["b", "c"]);
  assertEquals(await values({ limit: 2, reverse: true }), ["d", "c"]);
});

Deno.test("range() continues after the batches in which it is read", async () => {
  await using store = await open();
  const keys = Array.from({ length: 1200 }, (_, i) => i);
  for (let at = 0; at < keys.length; at += 400) {
    const mutations = keys.slice(at, at + 400).map((
      i,
    ) => ({ type: "set", key: ["r", i], value: i } as const));
    await store.commit({ mutations });
  }
  const all = await gathered(store.range<number>({ start: ["r"], end: ["r", 1100] }));
  assertEquals(all.map(({ value }) => value), keys.slice(0, 1100));
});

Deno.test("createStore() sends no transaction that is too large for a commit, and still groups those that fit", async () => {
  const kv = await Deno.openKv(":memory:");
  let commits = 0;
  const counting = new Proxy(kv, {
    get(target, name) {
      if (name === "atomic") commits++;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const store = createStore(counting);
  const value = new Uint8Array(60_000);
  const large = (key: string, count: number): Transaction => ({
    mutations: Array.from({ length: count }, (_, i) => ({ type: "set", key: [key, i], value })),
    sizeOctets: count * value.length,
  });
  const asked = [large("a", 8), large("b", 8), large("c", 4), large("d", 4), large("e", 8)];
  const outcomes = await Promise.all(asked.map((transaction) => store.commit(transaction)));
  assert(outcomes.every(({ ok }) => ok));
  assertEquals(commits, 4);
  await store.close();
});

Deno.test("get() reads the keys of one turn in few calls, each with its own result", async () => {
  const kv = await Deno.openKv(":memory:");
  for (let i = 0; i < 25; i += 2) await kv.set(["n", i], i);
  let calls = 0;
  const counting = new Proxy(kv, {
    get(target, name) {
      if (name === "get" || name === "getMany") calls += 1;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const store = createStore(counting);
  const entries = await Promise.all(Array.from({ length: 25 }, (_, i) => store.get<number>(["n", i])));
  assertEquals(
    entries.map(({ value }) => value),
    Array.from({ length: 25 }, (_, i) => i % 2 === 0 ? i : null),
  );
  assertEquals(entries.map(({ key }) => key[1]), Array.from({ length: 25 }, (_, i) => i));
  assertEquals(calls, 3);
  await store.close();
});

Deno.test("get() fails only for an invalid key, and not for others of the same turn", async () => {
  const store = createStore(await Deno.openKv(":memory:"));
  await store.commit({ mutations: [{ type: "set", key: ["good"], value: 1 }] });
  const [good, bad, other] = await Promise.allSettled([
    store.get(["good"]),
    store.get(["x".repeat(3000)]),
    store.get(["good"]),
  ]);
  assertEquals([good.status, bad.status, other.status], ["fulfilled", "rejected", "fulfilled"]);
  await store.close();
});

Deno.test("get() rejects after close(), alone and with others", async () => {
  const store = createStore(await Deno.openKv(":memory:"));
  await store.close();
  const both = await Promise.allSettled([store.get(["a"]), store.get(["b"])]);
  assertEquals(both.map(({ status }) => status), ["rejected", "rejected"]);
  const [alone] = await Promise.allSettled([store.get(["a"])]);
  assertEquals(alone.status, "rejected");
});

Deno.test("list() reads no more entries than its limit", async () => {
  const kv = await Deno.openKv(":memory:");
  const asked: (number | undefined)[] = [];
  const noting = new Proxy(kv, {
    get(target, name) {
      if (name !== "list") return Reflect.get(target, name).bind(target);
      return (selector: Deno.KvListSelector, options: Deno.KvListOptions = {}) => {
        asked.push(options.batchSize);
        return target.list(selector, options);
      };
    },
  });
  const store = createStore(noting);
  await Array.fromAsync(store.list(["m"], { limit: 1, reverse: true }));
  await Array.fromAsync(store.list(["m"]));
  assertEquals(asked, [1, 500]);
  await store.close();
});
