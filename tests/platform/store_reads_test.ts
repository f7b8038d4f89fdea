// Reads of the store: reads of one turn share calls, and each has the same result as alone.

import { assertEquals } from "@std/assert";
import { createStore } from "../../platform/store.ts";

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
