// The store's reads: those of one turn share calls, and each is as if it had come alone.

import { assertEquals } from "@std/assert";
import { createStore } from "../../platform/store.ts";

Deno.test("get() reads what is asked for in the same turn in few calls, each in its place", async () => {
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

Deno.test("get() lets a bad key fail alone among its neighbours", async () => {
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

Deno.test("get() after close() rejects, alone and among others", async () => {
  const store = createStore(await Deno.openKv(":memory:"));
  await store.close();
  const both = await Promise.allSettled([store.get(["a"]), store.get(["b"])]);
  assertEquals(both.map(({ status }) => status), ["rejected", "rejected"]);
  const [alone] = await Promise.allSettled([store.get(["a"])]);
  assertEquals(alone.status, "rejected");
});
