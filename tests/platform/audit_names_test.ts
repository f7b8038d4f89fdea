// The index of the names of audit records in blocks.

import { assert, assertEquals } from "@std/assert";
import { startAuditIndex } from "../../platform/audit_names.ts";
import { auditIndexKey } from "../../platform/audit.ts";
import type { Log } from "../../platform/log.ts";
import { createManualClock, settle } from "../upstream/manual_clock.ts";
import { HOUR_MS, idsOf, LAST, login, open } from "./log_world.ts";

Deno.test("an index of many names, long ones and one of every login is written in values that the store takes", async () => {
  await using world = await open();
  const { store } = world;
  const logins = 5000;
  for (let at = 0; at < logins; at += 500) {
    const name = (n: number) => n % 2 === 0 ? `${"ä".repeat(250)}${n}` : `u${n}`;
    await Promise.all(
      Array.from({ length: 500 }, (_, n) => store.commit({ mutations: [login(name(at + n))] })),
    );
  }
  let runs = 1;
  while (await store.indexAudit({ all: true })) runs++;
  assert(runs > 2);
  assertEquals((await idsOf(store, auditIndexKey("object", "client:vpn"))).length, logins);
  for (const name of ["u1", "u4999", `${"ä".repeat(250)}4000`]) {
    assertEquals((await idsOf(store, auditIndexKey("object", `user:${name}`))).length, 1);
  }
});

Deno.test("names with characters that take two octets each fit into one commit of the index", async () => {
  await using world = await open();
  const { store } = world;
  const name = (at: number) => `${String(at).padStart(5, "0")}${"a".repeat(247)}\u0436`;
  for (let at = 0; at < 2048; at += 256) {
    await Promise.all(
      Array.from({ length: 256 }, (_, n) => store.commit({ mutations: [login(name(at + n))] })),
    );
  }
  while (await store.indexAudit({ all: true }));
  assertEquals((await idsOf(store, auditIndexKey("object", `user:${name(2047)}`))).length, 1);
});

Deno.test("two runs of the index at once, and a run after a restart, index each record once", async () => {
  await using world = await open();
  const index = () => world.store.indexAudit({ all: true });
  const names = ["ada", "bob", "ada"];
  const write = () => Promise.all(names.map((name) => world.store.commit({ mutations: [login(name)] })));
  await write();
  await Promise.all([index(), index()]);
  while (await index());
  await write();
  await world.restart();
  while (await index());
  assertEquals((await idsOf(world.store, auditIndexKey("object", "user:ada"))).length, 4);
  assertEquals(await indexedIds(world.kv), 2 * 2 * names.length);
});

/** How many ids the values of the index have. */
async function indexedIds(kv: Deno.Kv): Promise<number> {
  const values = await Array.fromAsync(
    kv.list<Record<string, string>>({ prefix: ["audit_names"] }),
    ({ value }) => value,
  );
  return values.flatMap((one) => Object.values(one)).flatMap((ids) => ids.split(" ")).length;
}

Deno.test("the names of records that this process wrote are indexed and found without a read of the records", async () => {
  await using world = await open();
  const { store } = world;
  while (await store.indexAudit({ all: true }));
  await Promise.all(["ada", "bob", "ada"].map((name) => store.commit({ mutations: [login(name)] })));
  // Without their records, only memory has the names.
  for await (const { key } of world.kv.list({ prefix: ["audit"] })) await world.kv.delete(key);
  const ada = () => idsOf(store, auditIndexKey("object", "user:ada"));
  const found = await ada();
  assertEquals(found.length, 2);
  assertEquals(await store.indexAudit({ all: false }), false);
  assertEquals(await indexedIds(world.kv), 0);
  assertEquals(await store.indexAudit({ all: true }), false);
  assertEquals(await indexedIds(world.kv), 2 * 3);
  assertEquals(await ada(), found);
});

Deno.test("names of which memory has too many are read from the log", async () => {
  await using world = await open();
  const { store } = world;
  while (await store.indexAudit({ all: true }));
  // Each commit of the index has at most 400 objects, and memory has 64 of them.
  const logins = 65 * 400;
  for (let at = 0; at < logins; at += 500) {
    await Promise.all(
      Array.from({ length: 500 }, (_, n) => store.commit({ mutations: [login("ada", `vpn${at + n}`)] })),
    );
  }
  const found = () => idsOf(store, auditIndexKey("object", "user:ada"));
  assertEquals((await found()).length, logins);
  while (await store.indexAudit({ all: true }));
  assertEquals(await indexedIds(world.kv), 2 * logins);
  assertEquals((await found()).length, logins);
});

Deno.test("a reader of a name reads each record once, also if a run of the index ends meanwhile", async () => {
  await using world = await open();
  const { store } = world;
  const prefix = auditIndexKey("object", "user:ada");
  const write = () => Promise.all(["ada", "ada"].map((name) => store.commit({ mutations: [login(name)] })));
  await write();
  await store.indexAudit({ all: true });
  await write();
  for (const reverse of [false, true]) {
    const found: string[] = [];
    const range = { start: [...prefix, ""], end: [...prefix, LAST] };
    for await (const { key } of store.range(range, { reverse })) {
      found.push(String(key.at(-1)));
      if (found.length === 1) await store.indexAudit({ all: true });
    }
    assertEquals(reverse ? found.reverse() : found, await idsOf(store, ["audit"]));
    await write();
  }
});

Deno.test("startAuditIndex() indexes everything at first and each hour, full commits meanwhile, and continues after a failure", async () => {
  const clock = createManualClock();
  let lines = 0;
  let [more, isFailing] = [0, false];
  const runs: boolean[] = [];
  const store = {
    indexAudit: ({ all }: { all: boolean }) => {
      runs.push(all);
      return isFailing ? Promise.reject(new Error("it is closed")) : Promise.resolve(more-- > 0);
    },
  };
  const log = { error: () => lines++ } as unknown as Log;
  const stop = startAuditIndex({ store, clock, log });
  const look = async (times = 1) => {
    for (let at = 0; at < times; at++) {
      clock.advance(5000);
      await settle();
    }
    return runs.splice(0);
  };
  more = 2;
  assertEquals(await look(), [true, true, true]);
  [more, isFailing] = [1, false];
  assertEquals(await look(2), [false, false, false]);
  isFailing = true;
  assertEquals(await look(), [false]);
  const hour = HOUR_MS / 5000;
  assertEquals((await look(hour - 3)).at(-1), true);
  assertEquals(await look(), [true]);
  assertEquals(lines, hour - 1);
  [more, isFailing] = [0, false];
  assertEquals(await look(2), [true, false]);
  stop();
  assertEquals(await look(hour), []);
  assertEquals(clock.timers(), 0);
});

Deno.test("a record is found by name after a restart with a clock that was set back, also if the index was ahead of all records", async () => {
  await using world = await open();
  while (await world.store.indexAudit({ all: true }));
  world.nowMs -= HOUR_MS;
  await world.restart();
  const write = () => world.store.commit({ mutations: [login("ada")] });
  await write();
  const found = () => idsOf(world.store, auditIndexKey("object", "user:ada"));
  assertEquals((await found()).length, 1);
  while (await world.store.indexAudit({ all: true }));
  assertEquals((await found()).length, 1);
  assertEquals(await indexedIds(world.kv), 2);
});
