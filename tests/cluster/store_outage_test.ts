// A store that stops answering: RADIUS is silent and /readyz fails; when the store answers again, the gateway continues without a restart.

import { assertEquals, assertRejects } from "@std/assert";
import { startCluster } from "../support/cluster.ts";
import type { Denokv } from "../support/denokv.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";

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
