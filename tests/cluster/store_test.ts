// The shared store: denokv, its wire format, outages and restarts.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { openKvConnect } from "../../platform/kv_connect/client.ts";
import { KvConnection } from "../../platform/open_kv.ts";
import { systemClock } from "../../platform/runtime.ts";
import { StoreUnavailable } from "../../platform/store_fault.ts";
import { watchingKv } from "../../platform/watching_kv.ts";
import { type Denokv, startDenokv } from "../support/denokv.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { startTcpProxy } from "../support/tcp_proxy.ts";
import { type ClusterNode, startCluster } from "../support/cluster.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { fromClient, openClients, startClusterWithServices } from "../fakes/cluster_services.ts";
import { CODES, type RequestParts } from "../support/radius_packets.ts";
import { totpCode } from "../support/totp.ts";

// startDenokv(): the real KV Connect server, and the behaviour of its client on which the store is built.

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

// The client of KV Connect on a real denokv: the same results as Deno KV in memory, and what it does when answers are lost.

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

// A store that stops answering: RADIUS is silent and /readyz fails; when the store answers again, the gateway continues without a restart.

const TOML = `
[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "secret-of-the-client"
`;
const CHALLENGE = 11;
const login = (nasPort: number) => ({
  ...{ userName: "alice", password: "first", nasPort },
  callingStationId: "198.51.100.1",
});

const OUTAGES: Readonly<Record<string, { begin(store: Denokv): unknown; end(store: Denokv): unknown }>> = {
  "is killed": { begin: (store) => store.kill9(), end: (store) => store.start() },
  "is frozen": { begin: (store) => store.freeze(), end: (store) => store.thaw() },
};

for (const [name, outage] of Object.entries(OUTAGES)) {
  testNeeding(
    { peers: [], denokv: true },
    `while the store ${name}, RADIUS is silent and /readyz fails; afterwards the gateway continues`,
    async () => {
      await using cluster = await startCluster({ nodes: 1, toml: TOML });
      const node = cluster.node(0);
      using client = node.client();
      const readiness = async () => {
        const response = await fetch(`${node.httpUrl}/readyz`);
        await response.body?.cancel();
        return response.status;
      };
      assertEquals([(await client.ask(login(1))).code, await readiness()], [CHALLENGE, 200]);
      await outage.begin(cluster.store);
      await assertRejects(() => client.ask(login(2), { timeoutMs: 2000, tries: 1 }), Error, "No reply");
      await eventually("/readyz fails", async () => await readiness() === 503);
      // After the deadline of the calls that were in progress, too.
      await assertRejects(() => client.ask(login(3), { timeoutMs: 2000, tries: 1 }), Error, "No reply");
      await outage.end(cluster.store);
      assertEquals((await client.ask(login(4), { timeoutMs: 500, tries: 60 })).code, CHALLENGE);
      await eventually("/readyz succeeds", async () => await readiness() === 200);
      const faults = node.logLines().filter((line) => /panic|Uncaught|KV Connect failed/.test(line));
      assertEquals(faults, []);
    },
  );
}

testNeeding({ peers: [], denokv: true }, "a gateway stops although the store does not answer", async () => {
  await using cluster = await startCluster({ nodes: 1, toml: TOML });
  const node = cluster.node(0);
  using client = node.client();
  assertEquals((await client.ask(login(1))).code, CHALLENGE);
  await cluster.store.freeze();
  // Its commit is in progress when the gateway stops.
  await assertRejects(() => client.ask(login(2), { timeoutMs: 500, tries: 1 }), Error, "No reply");
  Deno.kill(node.pid, "SIGTERM");
  await node.logged("stopped while the store did not answer");
  assertEquals((await node.stop()).code, 0);
});

// The store stops and starts again under two gateways: no packet is answered meanwhile, /readyz says why, nothing is accepted that is not
// recorded, and afterwards both gateways answer without a restart.

const SEED = new TextEncoder().encode("12345678901234567890");
const CLIENT_RETRIES = { timeoutMs: 1000, tries: 30 } as const;

const RESTARTS: readonly { title: string; begin(store: Denokv): unknown; end(store: Denokv): unknown }[] = [
  { title: "stops", begin: (store) => store.stop(), end: (store) => store.start() },
  { title: "is frozen", begin: (store) => store.freeze(), end: (store) => store.thaw() },
];
const NODES = [0, 1] as const;
const CASES = RESTARTS.flatMap((outage) =>
  NODES.map((node) => ({ outage, node, user: `${outage.title} ${node}` }))
);

async function readiness({ httpUrl }: ClusterNode): Promise<{ status: number; store: string }> {
  const response = await fetch(`${httpUrl}/readyz`);
  const { parts } = await response.json();
  return { status: response.status, store: parts.store };
}

/** The answer to the challenge of one login. */
interface Answered {
  readonly parts: RequestParts;
  readonly node: number;
}

async function beginLogins(
  clients: ReturnType<typeof openClients>,
  users: readonly { user: string; node: number }[],
): Promise<Answered[]> {
  return await Promise.all(users.map(async ({ user, node }) => {
    const attributes = { ...fromClient("vpn"), userName: user, callingStationId: `station of ${user}` };
    const challenge = await clients.at(node).ask({ ...attributes, password: "first" }, CLIENT_RETRIES);
    assertEquals(challenge.code, CODES.accessChallenge);
    const password = totpCode(SEED, Date.now());
    return { node, parts: { ...attributes, password, state: challenge.state ?? new Uint8Array() } };
  }));
}

testNeeding(
  { peers: [], denokv: true },
  "while the store is away, both gateways are silent and not ready; afterwards they continue without a restart",
  async (context) => {
    await using world = await startClusterWithServices({
      pairings: CASES.map(({ user }) => [user, { kind: "totp", seed: SEED }] as const),
    });
    const { cluster } = world;
    const pids = cluster.nodes.map(({ pid }) => pid);
    for (const outage of RESTARTS) {
      await context.step(`the store ${outage.title}`, async () => {
        using clients = openClients(world);
        const cases = CASES.filter((row) => row.outage === outage);
        const logins = await beginLogins(clients, cases);
        await outage.begin(cluster.store);
        const heard = NODES.map((node) => clients.at(node).listen());
        const answers = logins.map(({ node, parts }) => ({ node, packet: clients.at(node).build(parts) }));
        for (const { node, packet } of answers) await clients.at(node).sendRaw(packet.bytes);
        for (const node of NODES) {
          const login = clients.at(node).build({ ...fromClient("vpn"), userName: "new", password: "first" });
          await clients.at(node).sendRaw(login.bytes);
          await eventually("not ready, with the reason", async () => {
            const { status, store } = await readiness(cluster.node(node));
            return status === 503 && /^does not answer for \d+ s$/.test(store);
          });
        }
        assertEquals(heard.map(({ datagrams }) => datagrams.length), [0, 0]);
        await outage.end(cluster.store);
        // The clients send the same packets again.
        const replies = await Promise.all(
          answers.map(({ node, packet }) => clients.at(node).exchange(packet, CLIENT_RETRIES)),
        );
        assertEquals(replies.map(({ code }) => code), [CODES.accessAccept, CODES.accessAccept]);
        // Each accept was recorded with its passcode, so the other gateway refuses that passcode.
        const again = await beginLogins(clients, cases.map(({ user, node }) => ({ user, node: 1 - node })));
        const refused = await Promise.all(
          again.map(({ node, parts }, at) =>
            clients.at(node).ask({ ...parts, password: logins[at]?.parts.password ?? "" }, CLIENT_RETRIES)
          ),
        );
        assertEquals(refused.map(({ code }) => code), [CODES.accessReject, CODES.accessReject]);
        for (const node of NODES) {
          await eventually("ready", async () => (await readiness(cluster.node(node))).status === 200);
        }
      });
    }
    assertEquals(cluster.nodes.map(({ pid }) => pid), pids);
  },
);
