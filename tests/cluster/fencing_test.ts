// A gateway that was stopped while it held the lease of a target, and continues when another one has written: it still believes that it is the
// writer, and none of its writes takes effect.

import { assert, assertEquals } from "@std/assert";
import { BackendTraps, startScimWire } from "../fakes/backend_traps.ts";
import { type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { startCluster } from "../support/cluster.ts";
import { startScimmy } from "../support/scimmy_server.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";

const body = (userName: string, title: string) => ({ userName, title });
const TARGETS = ["alone", "remote"] as const;

async function eventuallyWritten(scim: Caller, userName: string, title: string): Promise<void> {
  await eventually("the other gateway writes", async () => {
    const { status, text } = await scim.put(`/Users/${userName}`, body(userName, title));
    assert(status === 200 || status === 503, text);
    return status === 200;
  });
}

testNeeding(
  { peers: [], denokv: true },
  "of two gateways that both believe that they are the writer, the one that was stopped writes nothing",
  async () => {
    const scimmy = await startScimmy();
    await using _closed = { [Symbol.asyncDispose]: () => scimmy.close() };
    await using wire = startScimWire(scimmy);
    await using cluster = await startCluster({
      toml: `${credentialsToml(TARGETS)}
[http]
public_url = "http://127.0.0.1:8080"
[targets.alone]
[targets.remote.backends.local]
kind = "store"
[targets.remote.backends.saas]
kind = "scim"
url = "${wire.url}"
token = "${scimmy.token}"
timeout_ms = 30000
`,
    });
    const at = (node: number, target: typeof TARGETS[number]) =>
      createCaller(cluster.node(node), { account: WRITER, target });
    const tags: string[] = [];
    for (const target of TARGETS) {
      const { status, headers, text } = await at(0, target).post("/Users", body("ada", "old"));
      assertEquals(status, 201, text);
      tags.push(headers.get("etag") ?? "none");
    }

    // The backend has performed the write of the first gateway, and its answer waits.
    const traps = new BackendTraps("after", ["ada"]);
    wire.trap(traps);
    const called = at(0, "remote").put("/Users/ada", body("ada", "of a"));
    await eventually("the backend has the write", () => traps.held.size === 1);
    cluster.node(0).freeze();
    // It receives this when it continues.
    const based = at(0, "alone").call("/Users/ada", {
      method: "PUT",
      body: body("ada", "of a"),
      headers: { "if-match": tags[0] ?? "" },
    });
    await Promise.all(TARGETS.map((target) => eventuallyWritten(at(1, target), "ada", "of b")));
    traps.release();
    cluster.node(0).thaw();

    assertEquals((await called).status, 503);
    const { status } = await based;
    assert(status === 412 || status === 503, `status ${status}`);
    for (const target of TARGETS) {
      const [left, right] = await Promise.all([0, 1].map((node) => at(node, target).get("/Users/ada")));
      assertEquals([left?.json.title, right?.json.title], ["of b", "of b"], target);
    }
    assertEquals([...scimmy.users.values()].map(({ title }) => title), ["of b"]);

    // It is a writer like any other again.
    for (const target of TARGETS) {
      await eventuallyWritten(at(0, target), "ada", "again");
      assertEquals((await at(1, target).get("/Users/ada")).json.title, "again");
    }
    assertEquals([...scimmy.users.values()].map(({ title }) => title), ["again"]);
  },
);
