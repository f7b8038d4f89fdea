// The client of KV Connect on a real denokv: the same results as Deno KV in memory, and what it does when answers are lost.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { openKvConnect } from "../../platform/kv_connect/client.ts";
import { KvConnection } from "../../platform/open_kv.ts";
import { systemClock } from "../../platform/runtime.ts";
import { StoreUnavailable } from "../../platform/store_fault.ts";
import { watchingKv } from "../../platform/watching_kv.ts";
import { type Denokv, startDenokv } from "../support/denokv.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { startTcpProxy } from "../support/tcp_proxy.ts";

const NEEDS = { peers: [], denokv: true } as const;
const deps = ({ token }: Denokv) => ({ clock: systemClock, token });
const connect = (server: Denokv, port?: number) =>
  openKvConnect(port === undefined ? server.url : `http://127.0.0.1:${port}`, deps(server));
const keysOf = async (kv: Deno.Kv, selector: Deno.KvListSelector, options?: Deno.KvListOptions) =>
  await Array.fromAsync(kv.list(selector, options), ({ key, value }) => [key, value]);

/** Every kind of key part and value that the product stores, and some more. */
const ENTRIES: readonly (readonly [Deno.KvKey, unknown])[] = [
  [["text"], "ümlaut €😀"],
  [["text", "a\0b", "", "ä"], ["a", null, undefined]],
  [["number", 0], 0],
  [["number", -1.5], -1.5],
  [["number", 1e21], { nested: { list: [1, 2, { deep: true }] } }],
  [["number", -0.001], new Map([["key", new Set([1])]])],
  [["octets", Uint8Array.of(0, 255, 0)], Uint8Array.of(1, 0, 2)],
  [["octets", new Uint8Array()], new Uint8Array()],
  [["inside"], { sealed: Uint8Array.of(1, 2, 3), at: new Date(5), big: 2n ** 70n }],
  [["flag", false], false],
  [["flag", true], true],
  [["integer", 0n], 1],
  [["integer", -70_000n], 2],
  [["integer", 2n ** 63n], 3],
];

testNeeding(
  NEEDS,
  "it stores and lists what Deno KV does, in the same order, and each reads the other's values",
  async () => {
    await using server = await startDenokv();
    using own = await connect(server);
    using runtime = await server.open();
    using memory = await Deno.openKv(":memory:");
    for (const [at, [key, value]] of ENTRIES.entries()) {
      assert((await (at % 2 === 0 ? own : runtime).atomic().set(key, value).commit()).ok);
      await memory.set(key, value);
    }
    for (
      const options of [{}, { reverse: true }, { limit: 5 }, { limit: 5, reverse: true }, { batchSize: 2 }, {
        batchSize: 3,
        reverse: true,
      }]
    ) {
      for (
        const selector of [
          { prefix: [] },
          { prefix: ["number"] },
          { prefix: ["number"], start: ["number", -1] },
          { prefix: ["number"], end: ["number", 0] },
          { start: ["flag", true], end: ["octets"] },
          { prefix: ["absent"] },
        ]
      ) {
        const expected = await keysOf(memory, selector, options);
        assertEquals(await keysOf(own, selector, options), expected);
        assertEquals(await keysOf(runtime, selector, options), expected);
      }
    }
    const keys = ENTRIES.slice(0, 9).map(([key]) => key).concat([["absent"]]);
    assertEquals(await own.getMany(keys), await runtime.getMany(keys));
    assertEquals(await own.get(["absent"]), { key: ["absent"], value: null, versionstamp: null });
  },
);

testNeeding(
  NEEDS,
  "its commits check versions, delete, expire, and report what the server refuses",
  async () => {
    await using server = await startDenokv();
    using own = await connect(server);
    const key = ["a"];
    const first = await own.atomic().check({ key, versionstamp: null }).set(key, 1).commit();
    if (!first.ok) throw new Error("The first commit failed");
    assertEquals((await own.get(key)).versionstamp, first.versionstamp);
    assertEquals(await own.atomic().check({ key, versionstamp: null }).set(key, 2).commit(), { ok: false });
    assert((await own.atomic().check({ key, versionstamp: first.versionstamp }).delete(key).commit()).ok);
    assertEquals((await own.get(key)).value, null);
    await assertRejects(() => own.set(key, "x".repeat(70_000)), Error, "exceeds the value size limit");
    assert((await own.set(key, 3, { expireIn: 1 })).ok);
    // The server deletes what is expired when it starts.
    await server.stop();
    await server.start();
    assertEquals((await own.get(key)).value, null);
  },
);

testNeeding(NEEDS, "it continues after a restart of the server, and calls wait for the server", async () => {
  await using server = await startDenokv();
  using own = await connect(server);
  await own.set(["a"], 1);
  await server.kill9();
  const waiting = [own.get(["a"]), own.atomic().set(["b"], 2).commit()] as const;
  await server.start();
  assertEquals((await waiting[0]).value, 1);
  assert((await waiting[1]).ok);
});

testNeeding(
  NEEDS,
  "it never sends a write twice: without an answer the outcome is unknown; a read is repeated",
  async () => {
    await using server = await startDenokv();
    using proxy = startTcpProxy(Number(new URL(server.url).port));
    using own = await connect(server, proxy.port);
    using direct = await connect(server);
    const before = await direct.set(["counter"], 1);
    proxy.cutAnswers();
    const unknown = await assertRejects(() => own.set(["counter"], 2), StoreUnavailable);
    assertEquals(unknown.wasSent, true);
    const applied = await direct.get(["counter"]);
    assertEquals(applied.value, 2);
    // A later write of another node would be lost if the write were sent again.
    await direct.set(["counter"], 3);
    const reading = own.get(["counter"]);
    proxy.pass();
    assertEquals((await reading).value, 3);
    assert(before.versionstamp < (applied.versionstamp ?? ""));
  },
);

testNeeding(NEEDS, "close() ends calls in progress, also while the server is frozen", async () => {
  await using server = await startDenokv();
  const own = await connect(server);
  await server.freeze();
  const ended = [
    assertRejects(() => own.get(["a"]), StoreUnavailable),
    assertRejects(() => own.set(["a"], 1), StoreUnavailable),
  ];
  own.close();
  await Promise.all(ended);
});

testNeeding(
  NEEDS,
  "with deadlines, a dead connection is replaced, and the same object continues",
  async () => {
    await using server = await startDenokv();
    using proxy = startTcpProxy(Number(new URL(server.url).port));
    const open = () => connect(server, proxy.port);
    const { promise: reopened, resolve: onReopened } = Promise.withResolvers<void>();
    using kv = new KvConnection(await open(), {
      ...{ clock: systemClock, open, onReopened },
      deadlines: { readMs: 300, commitMs: 300, holdMs: 100, reopenMs: 10 },
    });
    await kv.set(["a"], 1);
    proxy.blackHole();
    const lost = await assertRejects(() => kv.set(["a"], 2), StoreUnavailable, "did not answer in time");
    assertEquals(lost.wasSent, true);
    await reopened;
    assertEquals((await kv.get(["a"])).value, 1);
    assert((await kv.set(["a"], 3)).ok);
  },
);

testNeeding(
  NEEDS,
  "a watch ends with a change of one of its keys, and not with that of another key or a ping",
  async () => {
    await using server = await startDenokv();
    using own = await connect(server);
    using other = await connect(server);
    const watching = watchingKv(own);
    if (watching === null) throw new Error("The client cannot watch");
    await other.set(["a"], 1);
    const ready = Promise.withResolvers<void>();
    let isChanged = false;
    const changed = watching.waitForChange([["a"], ["b"]], { onReady: ready.resolve, timeoutMs: 20_000 })
      .then(() => isChanged = true);
    await ready.promise;
    await other.set(["c"], 1);
    await other.get(["c"]);
    assertEquals(isChanged, false);
    await other.set(["b"], 2);
    await changed;
    await assertRejects(() => watching.waitForChange([["a"]], { onReady: () => {}, timeoutMs: 50 }));
    const gone = Promise.withResolvers<void>();
    const ended = watching.waitForChange([["a"]], { onReady: gone.resolve, timeoutMs: 20_000 });
    await gone.promise;
    await Promise.all([assertRejects(() => ended), server.kill9()]);
    await assertRejects(() => watching.waitForChange([["a"]], { onReady: () => {}, timeoutMs: 20_000 }));
  },
);

testNeeding(NEEDS, "many calls at once share a few connections", async () => {
  await using server = await startDenokv();
  using proxy = startTcpProxy(Number(new URL(server.url).port));
  using own = await connect(server, proxy.port);
  const commits = Array.from({ length: 200 }, (_, at) => own.set(["many", at], at));
  assertEquals(new Set((await Promise.all(commits)).map(({ versionstamp }) => versionstamp)).size, 200);
  assert(proxy.opened() <= 20, `${proxy.opened()} connections`);
});
