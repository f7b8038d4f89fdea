// The log export of two gateways on one store: every record of both arrives, also if the sending gateway is killed or stopped.

import { assert, assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import { createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { type Cluster, type ClusterNode, startCluster } from "../support/cluster.ts";
import { DENOKV_TOKEN, DENOKV_TOKEN_VARIABLE } from "../support/denokv.ts";
import { runProgram } from "../support/child.ts";
import { PROGRAM_FLAGS } from "../support/program.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";

interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** The users of the received records of new users, with repetitions. */
  readonly users: string[];
  readonly ids: Set<string>;
  /** From now on, it answers 503. */
  isDown: boolean;
  /** The secret of the signatures; without one, they are not verified. */
  secret: string;
  unsigned: number;
}

/** A receiver of webhooks that verifies each signature. */
function startReceiver(): Receiver {
  const receiver = { users: [] as string[], ids: new Set<string>(), isDown: false, secret: "", unsigned: 0 };
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
    async (request) => {
      const body = await request.text();
      if (receiver.isDown) return new Response(null, { status: 503 });
      const { headers } = request;
      const [id, timestamp] = [headers.get("webhook-id"), headers.get("webhook-timestamp")];
      const key = Uint8Array.fromBase64(receiver.secret.slice("whsec_".length));
      const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
      if (receiver.secret !== "" && headers.get("webhook-signature") !== `v1,${expected}`) {
        receiver
          .unsigned++;
      }
      for (const { event, user } of JSON.parse(body).records) {
        receiver.ids.add(event.id);
        if (event.action === "user.created") receiver.users.push(user.target.name);
      }
      return new Response();
    },
  );
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${server.addr.port}/in`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  });
}

async function createUsers(node: ClusterNode, prefix: string, count: number): Promise<void> {
  const scim = createCaller(node, { account: WRITER, target: "default" });
  for (let number = 0; number < count; number++) {
    const name = { givenName: "Test", familyName: `${prefix}${number}` };
    assertEquals((await scim.post("/Users", { userName: `${prefix}${number}`, name })).status, 201);
  }
}

async function add(cluster: Cluster, receiver: Receiver): Promise<void> {
  const { code, stdout, stderr } = await runProgram(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", ...PROGRAM_FLAGS, "cli/log_export.ts", "add", "siem"],
      ...["--webhook", receiver.url, "--allow-http"],
    ],
    env: {
      NO_COLOR: "1",
      COUNTERSIGN_CONFIG: cluster.node(0).configPath,
      COUNTERSIGN_MASTER_KEY: cluster.masterKeyHex,
      [DENOKV_TOKEN_VARIABLE]: DENOKV_TOKEN,
    },
  });
  assertEquals([code, stderr], [0, ""]);
  receiver.secret = /whsec_\S+/.exec(stdout)?.[0] ?? "";
}

testNeeding(
  { peers: [], denokv: true },
  "every record of two gateways arrives, with skewed clocks, a dead sender and a receiver that was down",
  async () => {
    await using receiver = startReceiver();
    await using cluster = await startCluster({
      toml: credentialsToml(["default"]),
      clockOffsetsMs: [0, -4000],
    });
    await add(cluster, receiver);
    const [a, b] = [cluster.node(0), cluster.node(1)];
    await Promise.all([createUsers(a, "a", 30), createUsers(b, "b", 30)]);
    const has = (count: number) => () => new Set(receiver.users).size >= count;
    await eventually("the users of both are there", has(60), { withinMs: 20_000 });
    // On a busy host, a node can miss its beats. Its records are then read again.
    const wasSilent = cluster.logLines().some((line) => line.includes("a node stopped answering"));
    if (!wasSilent) assertEquals(receiver.users.length, 60, "nothing is repeated");
    assertEquals(receiver.unsigned, 0);
    receiver.isDown = true;
    await Promise.all([createUsers(a, "c", 10), createUsers(b, "d", 10)]);
    await a.kill9();
    await createUsers(b, "e", 10);
    receiver.isDown = false;
    await eventually("the other gateway sends the rest", has(90), { withinMs: 60_000 });
    await a.restart();
    await createUsers(a, "f", 10);
    await eventually("the users of the restarted gateway are there", has(100), { withinMs: 60_000 });
    assertEquals(receiver.unsigned, 0);
  },
);

testNeeding(
  { peers: [], denokv: true },
  "a gateway that was stopped for a while sends no record too few",
  async () => {
    await using receiver = startReceiver();
    await using cluster = await startCluster({ toml: credentialsToml(["default"]) });
    await add(cluster, receiver);
    const [a, b] = [cluster.node(0), cluster.node(1)];
    await createUsers(a, "a", 5);
    const has = (count: number) => () => new Set(receiver.users).size >= count;
    await eventually("the first are there", has(5), { withinMs: 20_000 });
    // It is stopped in the middle of its writes.
    const writing = createUsers(a, "b", 40);
    await eventually("some are there", has(8), { withinMs: 20_000 });
    a.freeze();
    await createUsers(b, "c", 10);
    await b.logged("a node stopped answering");
    a.thaw();
    await writing;
    await eventually("all are there", has(55), { withinMs: 60_000 });
    assert(receiver.ids.size >= 55);
  },
);
