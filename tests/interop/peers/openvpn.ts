// OpenVPN with openvpn-auth-radius, configured as in the setup guide. The plug-in shows no challenge, and starts the session after
// the answer to its Accounting-Start.

import { makeAuthority } from "../../support/certificates.ts";
import { freeUdpPort } from "../../support/free_port.ts";
import { guideText } from "./guided.ts";
import type { Door, PeerRow, PeerSetUp } from "./login.ts";
import { setUpPeer } from "./peer_run.ts";
import { openTerminalLogin, type Screen, watchScreen } from "./screen.ts";

export const OPENVPN: PeerRow = {
  title: "OpenVPN with openvpn-auth-radius",
  needs: { peers: ["openvpn", "openvpnAuthRadius", "opensslProgram"], root: true },
  setUp: setUpOpenVpn,
};

const PROGRAM = "/usr/sbin/openvpn";

/** It renews its keys after this time. The default of both sides is an hour. */
const RENEWAL_S = 6;

async function setUpOpenVpn(gateway: Door): Promise<PeerSetUp> {
  let server: Screen | null = null;
  const setUp = await setUpPeer("openvpn", async ({ directory: run, startClient }) => {
    const port = freeUdpPort();
    await writeSettings(run, { port, gateway });
    // The server, too, is read: its output says when it is up.
    const start = (config: string, ...more: string[]) =>
      startClient(PROGRAM, { args: ["--config", `${run}/${config}`, ...more] }, { graceMs: 3000 });
    const isUp = (text: string) => text.includes("Initialization Sequence Completed");
    // The client has no device: it would read nothing while a device that is down takes no packet. The renewal time of a token is that of the keys by default, and then too short.
    const early = ["--reneg-sec", String(RENEWAL_S), "--auth-gen-token", "43200", "3600"];
    server = watchScreen(start("server.conf", ...early, "--verb", "3"), "openvpn");
    await server.until(isUp, "the end of its start");
    let count = 0;
    return async ({ name, password }) => {
      const file = `${run}/user-${++count}`;
      await Deno.writeTextFile(file, `${name}\n${password}\n`, { mode: 0o600 });
      return openTerminalLogin(start("client.ovpn", "--auth-user-pass", file), {
        program: "openvpn",
        endings: [["Initialization Sequence Completed", "accept"], ["AUTH_FAILED", "reject"]],
      });
    };
  });
  return { ...setUp, serverShows: async (text) => await server?.until((all) => all.includes(text), text) };
}

async function writeSettings(
  run: string,
  { port, gateway }: { port: number; gateway: Door },
): Promise<void> {
  const authority = await makeAuthority(run);
  const { certFile, keyFile } = await authority.issue(["IP:127.0.0.1"]);
  const moved = [
    ["/etc/openvpn/server/server.conf", `${run}/server.conf`],
    ["/etc/openvpn/radius.cnf", `${run}/radius.cnf`],
  ] as const;
  const part = (title: string) => guideText("openvpn", title, { gateway, moved });
  await Deno.writeTextFile(`${run}/radius.cnf`, part("/etc/openvpn/radius.cnf"), { mode: 0o600 });
  const server = `dev-type tun
dev cs${port}
topology subnet
server 10.251.8.0 255.255.255.0
local 127.0.0.1
port ${port}
ca ${authority.caFile}
cert ${certFile}
key ${keyFile}
dh none
`;
  await Deno.writeTextFile(`${run}/server.conf`, server + part("/etc/openvpn/server/server.conf"));
  const client = `client
dev null
remote 127.0.0.1 ${port}
nobind
ca ${authority.caFile}
ifconfig-noexec
route-noexec
connect-retry-max 1
`;
  await Deno.writeTextFile(
    `${run}/client.ovpn`,
    client + part("client.ovpn").replace("auth-user-pass\n", ""),
  );
}
