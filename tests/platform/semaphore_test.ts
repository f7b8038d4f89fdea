// The mutex by key (order, independence of keys, tasks that fail) and the wait for running tasks.

import { assertEquals, assertRejects } from "@std/assert";
import { KeyedMutex, RunningTasks } from "../../platform/semaphore.ts";
import { nextTurn } from "../support/settle.ts";

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

Deno.test("RunningTasks.settled() waits for the running tasks, whatever their outcome", async () => {
  const tasks = new RunningTasks();
  await tasks.settled();
  const [good, bad] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const outcomes = Promise.allSettled([tasks.run(() => good.promise), tasks.run(() => bad.promise)]);
  let isSettled = false;
  const settled = tasks.settled().then(() => isSettled = true);
  bad.reject(new Error("no"));
  await nextTurn();
  assertEquals(isSettled, false);
  good.resolve("yes");
  await settled;
  assertEquals((await outcomes).map(({ status }) => status), ["fulfilled", "rejected"]);
});
