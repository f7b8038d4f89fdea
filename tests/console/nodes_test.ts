// The nodes of a cluster in the API, in the details of a login, in /metrics and in /readyz.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { apiValue } from "../../cli/admin_connection.ts";
import { conversation } from "../fakes/console_gateway.ts";
import { startConsole } from "../fakes/console_app.ts";
import { createFakeCluster, knownNode, threeNodes } from "../fakes/console_cluster.ts";
import { nodeParts } from "../../console/api/nodes/node_parts.ts";
import { openComposition } from "../fakes/composition.ts";
import { STORE_SILENT_MS } from "../../platform/store.ts";

Deno.test("GET /nodes lists the nodes with their state, and is empty for a process of its own", async () => {
  await using alone = await startConsole();
  const cookie = await alone.signIn("viewer");
  const { isShared, items } = await (await alone.call("/console/api/nodes", { cookie })).json();
  assertEquals([isShared, items], [false, []]);
  await using site = await startConsole({
    change: (deps) => ({ ...deps, cluster: createFakeCluster(() => threeNodes()) }),
  });
  const answer = await (await site.call("/console/api/nodes", { cookie: await site.signIn("viewer") }))
    .json();
  assertEquals(answer.isShared, true);
  const rows = answer.items.map((
    row: Record<string, unknown>,
  ) => [row.id, row.isSelf, row.isAlive, row.clockOffsetMs]);
  assertEquals(rows, [
    ["0a1b2c3d", true, true, 0],
    ["1a1b2c3d", false, true, 7300],
    ["2a1b2c3d", false, false, 0],
  ]);
  // The key of a process and its counters are not for people.
  assertEquals(Object.keys(answer.items[0]).filter((name) => ["publicKey", "beat"].includes(name)), []);
});

Deno.test("GET /live/logins/:id names the node that handles the login, if there are several", async () => {
  let nodes = threeNodes();
  await using site = await startConsole({
    change: (deps) => ({ ...deps, cluster: createFakeCluster(() => nodes) }),
  });
  const cookie = await site.signIn("viewer");
  const view = conversation(1);
  const nodeOf = async (node?: string) => {
    site.watch.put({ ...view, ...(node === undefined ? {} : { node }) } as typeof view);
    return (await (await site.call(`/console/api/live/logins/${view.id}`, { cookie })).json()).node;
  };
  assertEquals([await nodeOf("1a1b2c3d"), await nodeOf("ffffffff"), await nodeOf()], [
    "gate-2 (1a1b2c3d)",
    "ffffffff",
    null,
  ]);
  nodes = [knownNode("1a1b2c3d", { isSelf: true })];
  assertEquals(await nodeOf("1a1b2c3d"), null);
});

Deno.test("GET /live names the nodes, those of one host with their id, and none while there is one node", async () => {
  let nodes = threeNodes();
  await using site = await startConsole({
    change: (deps) => ({ ...deps, cluster: createFakeCluster(() => nodes) }),
  });
  const cookie = await site.signIn("viewer");
  const names = async () => (await (await site.call("/console/api/live", { cookie })).json()).nodes;
  assertEquals((await names())["1a1b2c3d"], "gate-2");
  nodes = nodes.map((node) => ({ ...node, name: node.isSelf ? "gate-1" : "gate-2" }));
  assertEquals(await names(), {
    "0a1b2c3d": "gate-1",
    "1a1b2c3d": "gate-2 (1a1b2c3d)",
    "2a1b2c3d": "gate-2 (2a1b2c3d)",
  });
  nodes = nodes.slice(0, 1);
  assertEquals(await names(), {});
});

Deno.test("nodeParts() has a part for each node: silent, of another version, with another time; none while there is one node", () => {
  let nodes = threeNodes();
  const cluster = createFakeCluster(() => nodes);
  const states = () => nodeParts(cluster).map(({ name, state, note }) => [name, state, note ?? ""]);
  assertEquals(states(), [
    ["gate-0a1b2c3d", "ok", ""],
    ["gate-2", "warning", "node_version"],
    ["gate-2a1b2c3d", "bad", "node_silent"],
  ]);
  nodes = nodes.map((node) => ({ ...node, version: "0.2.0" }));
  assertEquals(states()[1], ["gate-2", "warning", "node_clock"]);
  nodes = nodes.slice(0, 1);
  assertEquals(states(), []);
});

Deno.test("a node says where it listens for HTTP, because all nodes have one public URL", async () => {
  using kv = await Deno.openKv(":memory:");
  const toml = '[http]\nlisten = "127.0.0.1:18080"\npublic_url = "https://login.example.com"';
  await using node = await openComposition(toml, { joins: { kv, node: "aaaaaaaa" } });
  const { items } = await apiValue(node.api.nodes.$get());
  assertEquals(items.map(({ http }) => http), ["127.0.0.1:18080"]);
});

Deno.test("/metrics counts the nodes, their leases, and the changes that were read", async () => {
  await using site = await startConsole({
    change: (deps) => ({ ...deps, cluster: createFakeCluster(() => threeNodes()) }),
  });
  const metrics = await (await site.call("/metrics")).text();
  for (
    const line of [
      "nodes_alive 2",
      "nodes_silent 1",
      "leases_held 2",
      "changes_read_total 40",
      "change_lag_seconds 0.012",
    ]
  ) {
    assertStringIncludes(metrics, `\ncountersign_${line}\n`);
  }
});

Deno.test("/readyz and /metrics say that the store does not answer, and for how long", async () => {
  using kv = await Deno.openKv(":memory:");
  await using node = await openComposition("", { joins: { kv, node: "aaaaaaaa" } });
  const get = async (path: string) => {
    const url = `${node.config.http.publicUrl}${path}`;
    const request = new Request(url, { headers: { host: new URL(url).host } });
    return await (await node.app(request, { remoteAddress: "192.0.2.1" })).text();
  };
  assertEquals(JSON.parse(await get("/readyz")).parts, {
    ...{ radius: "listening", store: "answers", changes: "read", http: "does not accept connections" },
  });
  const list = kv.list.bind(kv);
  const broken = () => {
    throw new Error("connection closed");
  };
  Object.defineProperty(kv, "list", { value: broken, configurable: true });
  node.clock.advance(STORE_SILENT_MS + 2000);
  const { ok, parts } = JSON.parse(await get("/readyz"));
  assertEquals([ok, parts.changes], [false, "not read for 7 s"]);
  assertStringIncludes(await get("/metrics"), "\ncountersign_change_lag_seconds 7\n");
  Object.defineProperty(kv, "list", { value: list, configurable: true });
});
