// The mutex by key: order, independence of keys, and tasks that fail.

import { assertEquals, assertRejects } from "@std/assert";
import { KeyedMutex } from "../../platform/semaphore.ts";

Deno.test("KeyedMutex runs tasks of one key in order, and tasks of two keys in parallel", async () => {
  const mutex = new KeyedMutex();
  const order: string[] = [];
  const gates = new Map(["a1", "b1", "a2"].map((name) => [name, Promise.withResolvers<void>()]));
  const task = (key: string, name: string) =>
    mutex.run(key, async () => {
      order.push(`${name} begins`);
      await gates.get(name)?.promise;
      order.push(`${name} ends`);
      return name;
    });
  const ended = Promise.all([task("a", "a1"), task("a", "a2"), task("b", "b1")]);
  for (const name of ["b1", "a1", "a2"]) {
    gates.get(name)?.resolve();
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  assertEquals(await ended, ["a1", "a2", "b1"]);
  assertEquals(order, ["a1 begins", "b1 begins", "b1 ends", "a1 ends", "a2 begins", "a2 ends"]);
});

Deno.test("KeyedMutex continues after a task that fails", async () => {
  const mutex = new KeyedMutex();
  const failing = mutex.run("a", () => Promise.reject(new Error("no")));
  const next = mutex.run("a", () => Promise.resolve("next"));
  await assertRejects(() => failing, Error, "no");
  assertEquals(await next, "next");
});
