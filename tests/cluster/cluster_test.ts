// startCluster(): real gateways on one real store.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { startCluster } from "../support/cluster.ts";
import { testNeeding } from "../support/skip_unless.ts";

const NEEDS = { peers: [], denokv: true } as const;
const TOML = `
[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "secret-of-the-client"
`;
const LOGIN = { userName: "alice", password: "first", nasPort: 1, callingStationId: "198.51.100.1" };
const CHALLENGE = 11;

testNeeding(
  NEEDS,
  "startCluster() starts gateways with one store and with directories and ports of their own",
  async () => {
    await using cluster = await startCluster({ toml: TOML });
    const [a, b] = [cluster.node(0), cluster.node(1)];
    assert(a.radiusPort !== b.radiusPort && a.httpUrl !== b.httpUrl && a.dataDir !== b.dataDir);
    for (const node of cluster.nodes) {
      assertEquals((await fetch(`${node.httpUrl}/readyz`)).status, 200);
      using client = node.client();
      assertEquals((await client.ask(LOGIN)).code, CHALLENGE);
      const files = await Array.fromAsync(Deno.readDir(node.dataDir), ({ name }) => name);
      assertEquals(files.filter((name) => name.startsWith("countersign.kv")), []);
    }
  },
);

testNeeding(
  NEEDS,
  "a gateway of a cluster answers again after kill9() and restart(), and after freeze() and thaw()",
  async () => {
    await using cluster = await startCluster({ nodes: 1, toml: TOML });
    const node = cluster.node(0);
    using client = node.client();
    await node.kill9();
    await node.restart();
    assertEquals((await client.ask(LOGIN)).code, CHALLENGE);
    node.freeze();
    await assertRejects(() => client.ask({ ...LOGIN, nasPort: 2 }, { timeoutMs: 200, tries: 1 }));
    node.thaw();
    assertEquals((await client.ask({ ...LOGIN, nasPort: 3 })).code, CHALLENGE);
  },
);

testNeeding(NEEDS, "join() starts a gateway whose clock is wrong", async () => {
  await using cluster = await startCluster({ nodes: 1, toml: TOML });
  const late = await cluster.join({ clockOffsetMs: -30_000 });
  using client = late.client();
  assertEquals((await client.ask(LOGIN)).code, CHALLENGE);
  const line = await late.logged("Access-Request");
  const behindMs = Date.now() - Date.parse(line.split(" ")[0] ?? "");
  assert(behindMs >= 30_000, line);
});
