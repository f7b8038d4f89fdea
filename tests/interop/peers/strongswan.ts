// strongSwan with xauth-radius, configured as in the setup guide. Its requests are signed. It shows no challenge. The client is
// charon-cmd, which uses the port 500.

import { makeAuthority } from "../../support/certificates.ts";
import { runProgram } from "../../support/child.ts";
import { DISCONNECT_GUIDES } from "../../../platform/client_guides.ts";
import { guideText } from "./guided.ts";
import type { Door, PeerRow, PeerSetUp } from "./login.ts";
import { setUpPeer } from "./peer_run.ts";
import { openTerminalLogin } from "./screen.ts";

export const STRONGSWAN: PeerRow = {
  title: "strongSwan with xauth-radius",
  needs: {
    peers: [
      ...["charon", "charonRadius", "charonXauth", "charonCmd"] as const,
      ...["swanctl", "strongswanOpenssl", "opensslProgram"] as const,
    ],
    root: true,
  },
  setUp: (gateway) => setUpStrongSwan(gateway),
};

const UP_WITHIN_MS = 10_000;
const PLUGINS =
  "random nonce aes sha1 sha2 hmac kdf drbg pem pkcs1 pkcs8 x509 pubkey openssl constraints kernel-netlink socket-default";

/** @param options.disconnectPort where it accepts Disconnect-Requests, as its guide says; absent: nowhere */
export function setUpStrongSwan(
  gateway: Door,
  { disconnectPort = null }: { disconnectPort?: number | null } = {},
): Promise<PeerSetUp> {
  return setUpPeer("strongswan", async ({ directory: run, startServer, startClient }) => {
    const env = { STRONGSWAN_CONF: `${run}/strongswan.conf`, SWANCTL_DIR: `${run}/swanctl` };
    await writeSettings(run, { gateway, disconnectPort });
    startServer("/usr/lib/ipsec/charon", { args: [], env });
    await loadConnection(run, env);
    return async ({ name, password }) => {
      const args = [
        ...["-w", "/usr/sbin/charon-cmd", "--host", "127.0.0.1", "--identity", name],
        ...["--profile", "ikev1-hybrid", "--remote-identity", "vpn.example.com", "--cert", `${run}/ca.pem`],
      ];
      const login = openTerminalLogin(startClient("setsid", { args, env }), {
        program: "charon-cmd",
        endings: [
          [`XAuth authentication of '${name}' (myself) successful`, "accept"],
          ["XAuth authentication failed", "reject"],
          [`XAuth authentication of '${name}' (myself) failed`, "reject"],
        ],
      });
      await login.answer(password);
      return login;
    };
  });
}

async function writeSettings(
  run: string,
  { gateway, disconnectPort }: { gateway: Door; disconnectPort: number | null },
): Promise<void> {
  const authority = await makeAuthority(run);
  const { certFile, keyFile } = await authority.issue(["DNS:vpn.example.com"], { isRsa: true });
  for (const folder of ["x509", "x509ca", "private"]) {
    await Deno.mkdir(`${run}/swanctl/${folder}`, { recursive: true });
  }
  await Deno.copyFile(certFile, `${run}/swanctl/x509/server.pem`);
  await Deno.copyFile(keyFile, `${run}/swanctl/private/server.key`);
  await Deno.copyFile(authority.caFile, `${run}/swanctl/x509ca/ca.pem`);
  const part = (title: string) => guideText("strongswan", title, { gateway });
  const plugin = part("/etc/strongswan.d/charon/eap-radius.conf");
  const settingsOfPlugin = disconnectPort === null
    ? plugin
    : withDisconnects(plugin, { gateway, disconnectPort });
  await Deno.writeTextFile(`${run}/eap-radius.conf`, settingsOfPlugin, { mode: 0o600 });
  await Deno.writeTextFile(`${run}/swanctl/swanctl.conf`, part("/etc/swanctl/conf.d/vpn.conf"));
  const settings = `charon {
    load = ${PLUGINS} vici eap-radius
    plugins {
        vici {
            socket = unix://${run}/vici
        }
        include ${run}/eap-radius.conf
    }
}
charon-cmd {
    load = ${PLUGINS} xauth-generic
}
`;
  await Deno.writeTextFile(`${run}/strongswan.conf`, settings);
}

/** Adds the part of the guide, with another port, to the section of the plug-in. */
function withDisconnects(
  plugin: string,
  { gateway, disconnectPort }: { gateway: Door; disconnectPort: number },
): string {
  const { text, port } = DISCONNECT_GUIDES.strongswan;
  const part = text.replace("{secret}", gateway.secret).replace(`port = ${port}`, `port = ${disconnectPort}`);
  return `${plugin.slice(0, plugin.lastIndexOf("}"))}${part}}\n`;
}

async function loadConnection(run: string, env: Readonly<Record<string, string>>): Promise<void> {
  const args = ["--load-all", "--uri", `unix://${run}/vici`, "--file", `${run}/swanctl/swanctl.conf`];
  let last = "";
  for (const end = performance.now() + UP_WITHIN_MS; performance.now() < end;) {
    const { code, stdout, stderr } = await runProgram("/usr/sbin/swanctl", { args, env });
    if (code === 0) return;
    last = stdout + stderr;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`swanctl cannot load the connection: ${last.slice(-1000)}`);
}
