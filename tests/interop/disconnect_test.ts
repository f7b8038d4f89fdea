// Disconnect-Requests to FreeRADIUS as a dynamic authorization server (RFC 5176), ordered with `deno task disconnect`.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runBeside } from "../cli/people_world.ts";
import { runProgram } from "../support/child.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { freeUdpPort } from "../support/free_port.ts";
import { startDas } from "./peers/freeradius_das.ts";
import { setUpStrongSwan, STRONGSWAN } from "./peers/strongswan.ts";

const CLIENT_SECRET = "the shared secret of the vpn";

/** Two entries of one address: one with the right secret of Disconnect-Requests, and one without it. */
const tomlOf = ({ port, secret }: { port: number; secret: string }) => `
[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "${CLIENT_SECRET}"
disconnect_port = ${port}
disconnect_secret = "${secret}"

[[radius.client]]
name = "misconfigured"
address = ["127.0.0.1"]
nas_identifier = "misconfigured"
secret = "${CLIENT_SECRET}"
disconnect_port = ${port}
`;

async function account(gateway: RunningProgram, attributes: string): Promise<void> {
  const { stdout, stderr } = await runProgram("radclient", {
    args: ["-x", "-t", "3", "-r", "3", `127.0.0.1:${gateway.accountingPort}`, "acct", CLIENT_SECRET],
    stdin: `${attributes}\n`,
    timeoutMs: 20_000,
  });
  assertMatch(`${stdout}${stderr}`, /Received Accounting-Response/);
}

const sessionOf = (user: string, more = "") =>
  `User-Name="${user}",Acct-Session-Id="session-${user}",NAS-IP-Address=127.0.0.1,Framed-IP-Address=10.8.0.9,` +
  `Calling-Station-Id="198.51.100.7"${more}`;

const RESULTS: Readonly<Record<string, RegExp>> = {
  ada: /disconnected\n/,
  // It wants Framed-IP-Address, and gets it with the second request.
  forti: /disconnected\n/,
  keeper: /refused by the client \(504 Session Context Not Removable\)/,
  gone: /refused by the client \(503 Session Context Not Found\)/,
  mute: /no answer: check port, secret and firewall/,
  wrong: /no answer: check port, secret and firewall/,
};

testNeeding(
  { peers: ["radclient", "freeradius"] },
  "FreeRADIUS acknowledges, refuses and ignores Disconnect-Requests, and the command shows each result",
  async () => {
    await using das = await startDas();
    await using gateway = await startProgram({ toml: tomlOf(das) });
    for (const user of Object.keys(RESULTS)) {
      const more = user === "wrong" ? ',NAS-Identifier="misconfigured"' : "";
      await account(gateway, `${sessionOf(user, more)},Acct-Status-Type=Start`);
    }
    const list = await runBeside(gateway, "disconnect", "--list");
    assertStringIncludes(list.stdout, "6 sessions connected.");
    const ends = await Promise.all(
      Object.entries(RESULTS).map(async ([user, result]) => {
        const { code, stdout, stderr } = await runBeside(gateway, "disconnect", "--user", user);
        assertMatch(stdout, result, `${user}: ${stderr}`);
        return code;
      }),
    );
    assertEquals(ends, [0, 0, 1, 1, 1, 1]);
    const log = await das.log();
    // Only the requests with the shared secret of the client, instead of that of Disconnect-Requests.
    assertStringIncludes(log, "invalid Message-Authenticator");
    assertStringIncludes(log, 'Acct-Session-Id = "session-ada"');
    // A Stop ends the session, so nothing is left to disconnect.
    await account(gateway, `${sessionOf("ada")},Acct-Status-Type=Stop,Acct-Terminate-Cause=Admin-Reset`);
    const none = await runBeside(gateway, "disconnect", "--user", "ada");
    assertEquals([none.code, none.stdout], [0, "No such session is connected.\n"]);
  },
);

// A tunnel needs IPsec in the kernel, which test hosts often lack. strongSwan answers only a request with right authenticators.
testNeeding(
  STRONGSWAN.needs,
  "strongSwan with the part of its setup guide verifies the request, and refuses a user without a tunnel",
  async () => {
    const disconnectPort = freeUdpPort();
    const toml = `
[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "${CLIENT_SECRET}"
disconnect_port = ${disconnectPort}
`;
    await using gateway = await startProgram({ toml });
    const door = { port: gateway.radiusPort, secret: CLIENT_SECRET };
    await using _setUp = await setUpStrongSwan(door, { disconnectPort });
    await account(gateway, `${sessionOf("ada")},Acct-Status-Type=Start`);
    const { stdout, stderr } = await runBeside(gateway, "disconnect", "--user", "ada");
    assertMatch(stdout, /refused by the client/, stderr);
  },
);
