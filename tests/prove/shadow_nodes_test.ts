// Shadow mode on two nodes with one denokv: what both of them observed is in the report of each, with more users than one commit
// can have.

import { assertEquals } from "@std/assert";
import { type ClusterNode, startCluster } from "../support/cluster.ts";
import { FIRST_PASSWORD, FREERADIUS_NEEDS, startFreeRadius } from "../support/freeradius.ts";
import { runProgram } from "../support/child.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";

const SECRET = "shared-with-the-vpn";
const USERS_OF_A_NODE = 25;

/** The names of the users of a node, and one who signs in at both. */
const usersOf = (node: number) => [
  "ada",
  ...Array.from({ length: USERS_OF_A_NODE }, (_, at) => `user${node}-${at}`),
];

async function signIn(port: number, users: readonly string[]): Promise<void> {
  const requests = users.map((user, at) =>
    `User-Name = "${user}", User-Password = "${FIRST_PASSWORD}", NAS-Port = ${at}, Message-Authenticator = 0x00`
  );
  const { stdout, stderr } = await runProgram("/usr/bin/radclient", {
    args: ["-x", "-t", "20", "-r", "1", `127.0.0.1:${port}`, "auth", SECRET],
    stdin: `${requests.join("\n\n")}\n`,
  });
  assertEquals(stdout.split("Received Access-Accept").length - 1, users.length, stdout + stderr);
}

/** Whether the report of a node has all users and sign-ins of both nodes. A node writes what it observed every half minute. */
async function isComplete(node: ClusterNode): Promise<boolean> {
  const { stdout: users } = await node.command("cli/shadow_report.ts", "--users");
  const { stdout: sums } = await node.command("cli/shadow_report.ts");
  return users.includes(`${2 * USERS_OF_A_NODE + 1} users would be refused.`) &&
    sums.includes(`${2 * (USERS_OF_A_NODE + 1)} / 0 / 0`);
}

testNeeding(
  { ...FREERADIUS_NEEDS, denokv: true },
  "shadow mode: the report of each node has the users of both, also after a restart",
  async () => {
    await using present = await startFreeRadius();
    await using cluster = await startCluster({
      toml: `
[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "${SECRET}"
first_factor = "radius"
first_factor_server = { address = "127.0.0.1:${present.port}", secret = "${present.secret}" }
mode = "shadow"
`,
    });
    const nodes = [cluster.node(0), cluster.node(1)];
    await Promise.all(nodes.map(({ radiusPort }, at) => signIn(radiusPort, usersOf(at))));
    for (const node of nodes) {
      await eventually("the report has what both nodes observed", () => isComplete(node), {
        withinMs: 60_000,
      });
    }
    await nodes[0]?.kill9();
    await nodes[0]?.restart();
    assertEquals(await isComplete(cluster.node(0)), true);
    const faults = cluster.logLines().filter((line) => line.includes("shadow mode could not be written"));
    assertEquals(faults, []);
  },
);
