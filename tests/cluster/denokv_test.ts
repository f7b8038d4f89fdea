// startDenokv(): the real KV Connect server, and the behaviour of its client on which the store is built.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { startDenokv } from "../support/denokv.ts";
import { testNeeding } from "../support/skip_unless.ts";

const NEEDS = { peers: [], denokv: true } as const;
const CHECKED = { key: ["checked"], versionstamp: null };

testNeeding(
  NEEDS,
  "startDenokv() serves clients, and keeps its data and its port over stop() and kill9()",
  async () => {
    await using server = await startDenokv();
    const { url } = server;
    const kv = await server.open();
    await kv.set(["a"], 1);
    for (const end of [() => server.stop(), () => server.kill9()]) {
      await end();
      assertEquals(server.pid, 0);
      await assertRejects(() => server.open(), TypeError, "failed to connect");
      await server.start();
      assertEquals(server.url, url);
      // The same client continues.
      assertEquals((await kv.get(["a"])).value, 1);
    }
    kv.close();
  },
);

testNeeding(
  NEEDS,
  "freeze() leaves calls pending until thaw(), and dispose() ends a frozen server",
  async () => {
    const server = await startDenokv();
    const kv = await server.open();
    await kv.set(["a"], 1);
    await server.freeze();
    const order: string[] = [];
    const pending = kv.get(["a"]).then(() => order.push("answered"));
    // The connection is open, so the call is neither answered nor refused.
    await fetch(server.url, { signal: AbortSignal.timeout(200) }).catch(() => order.push("silent"));
    server.thaw();
    await pending;
    assertEquals(order, ["silent", "answered"]);
    kv.close();
    await server.freeze();
    await server.dispose();
    assertEquals(server.pid, 0);
  },
);

testNeeding(NEEDS, "startDenokv() reports why the server does not start", async () => {
  await assertRejects(() => startDenokv({ args: ["--no-such-option"] }), Error, "--no-such-option");
});

testNeeding(
  NEEDS,
  "a server that is down leaves calls pending, and they complete after its start",
  async () => {
    await using server = await startDenokv();
    const kv = await server.open();
    await kv.get(["a"]);
    await server.kill9();
    const pending = kv.atomic().check(CHECKED).set(CHECKED.key, 1).commit();
    await server.start();
    assert((await pending).ok);
    kv.close();
  },
);

testNeeding(NEEDS, "versionstamps of later commits are larger, also for other keys", async () => {
  await using server = await startDenokv();
  const [a, b] = [await server.open(), await server.open()];
  const stamps: string[] = [];
  for (let turn = 0; turn < 20; turn++) {
    stamps.push((await (turn % 2 === 0 ? a : b).set(["key", turn], turn)).versionstamp);
  }
  assertEquals(stamps, stamps.toSorted());
  assertEquals(new Set(stamps).size, stamps.length);
  a.close();
  b.close();
});

testNeeding(NEEDS, "a commit with more than ten checks is refused", async () => {
  await using server = await startDenokv();
  const kv = await server.open();
  const commit = (checks: number) => {
    const atomic = kv.atomic().set(["a"], 1);
    for (let at = 0; at < checks; at++) atomic.check({ key: ["absent", at], versionstamp: null });
    return atomic.commit();
  };
  assert((await commit(10)).ok);
  await assertRejects(() => commit(11), Error, "Too many checks");
  kv.close();
});
