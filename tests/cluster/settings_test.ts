// A setting that an administrator saves at one gateway is in effect for the next packet of both, and after a restart.

import { assertEquals } from "@std/assert";
import { type Cluster, startCluster } from "../support/cluster.ts";
import { testNeeding } from "../support/skip_unless.ts";

const ONCE = { timeoutMs: 10_000, tries: 1 } as const;

async function save(
  cluster: Cluster,
  node: number,
  changes: Readonly<Record<string, unknown>>,
): Promise<number> {
  const path = `${cluster.node(node).dataDir}/control.sock`;
  const client = Deno.createHttpClient({
    proxy: { transport: "unix", path } as const,
    poolMaxIdlePerHost: 0,
  });
  try {
    const url = "http://localhost/console/api/settings";
    const through: RequestInit & { client: Deno.HttpClient } = { client };
    const { version } = await (await fetch(url, through)).json();
    const answer = await fetch(url, {
      ...{ ...through, method: "PUT", headers: { "content-type": "application/json" } },
      body: JSON.stringify({ version, changes }),
    });
    await answer.body?.cancel();
    return answer.status;
  } finally {
    client.close();
  }
}

let places = 0;

/** The lines of the menu that a gateway shows. */
async function menuOf(cluster: Cluster, node: number): Promise<number> {
  const client = cluster.node(node).client();
  try {
    const callingStationId = `place ${++places}`;
    const { message } = await client.ask({ userName: "ada", password: "", callingStationId }, ONCE);
    return message.split("\n").filter((line) => / - /.test(line)).length;
  } finally {
    client.close();
  }
}

testNeeding(
  { peers: [], denokv: true },
  "a saved setting is in effect on both gateways at once, and on a third that starts later",
  async () => {
    await using cluster = await startCluster({ nodes: 2 });
    const menus = () => Promise.all(cluster.nodes.map((_, node) => menuOf(cluster, node)));
    assertEquals(await menus(), [4, 4]);
    for (const [node, enabled, lines] of [[0, ["sms"], 1], [1, ["sms", "voice"], 2]] as const) {
      assertEquals(await save(cluster, node, { "factors.enabled": enabled }), 200);
      assertEquals(await menus(), [lines, lines]);
    }
    await cluster.join();
    assertEquals(await menus(), [2, 2, 2]);
  },
);
