// openconnect with ocserv, configured as in the setup guide: a real VPN with RADIUS authentication (radcli). An empty answer is a User-Password without
// octets, and the requests have no Message-Authenticator. `--authenticate` ends before the tunnel, so no network device
// is needed.

import { createHash, X509Certificate } from "node:crypto";
import { type Certificate, makeAuthority } from "../../support/certificates.ts";
import { freeTcpPort } from "../../support/free_port.ts";
import { guideText } from "./guided.ts";
import type { Door, PeerRow, PeerSetUp } from "./login.ts";
import { setUpPeer } from "./peer_run.ts";
import { openTerminalLogin } from "./screen.ts";

export const OPENCONNECT: PeerRow = {
  title: "openconnect through ocserv",
  needs: { peers: ["ocserv", "openconnect", "opensslProgram"], root: true },
  setUp: setUpOcserv,
};

const UP_WITHIN_MS = 10_000;

function setUpOcserv(gateway: Door): Promise<PeerSetUp> {
  return setUpPeer("ocserv", async ({ directory: run, startServer, startClient }) => {
    const port = freeTcpPort();
    const certificate = await (await makeAuthority(run)).issue(["IP:127.0.0.1"]);
    await writeSettings(run, { port, gateway, certificate });
    await waitUntilUp(port, startServer("/usr/sbin/ocserv", { args: ["-f", "-c", `${run}/ocserv.conf`] }));
    const pin = await pinOf(certificate);
    return async ({ name, password }) => {
      const args = [
        ...["--authenticate", `--user=${name}`, `--servercert=pin-sha256:${pin}`],
        `https://127.0.0.1:${port}`,
      ];
      const login = openTerminalLogin(startClient("/usr/sbin/openconnect", { args }), {
        program: "openconnect",
        endings: [["COOKIE=", "accept"], ["Login failed", "reject"], ["Authentication failed", "reject"]],
      });
      await login.shows("Password:");
      await login.answer(password);
      return login;
    };
  });
}

async function writeSettings(
  run: string,
  { port, gateway, certificate }: { port: number; gateway: Door; certificate: Certificate },
): Promise<void> {
  const moved = [
    ["/etc/radcli/servers", `${run}/servers`],
    ["/etc/radcli/radiusclient.conf", `${run}/radius.conf`],
  ] as const;
  const part = (title: string) => guideText("ocserv", title, { gateway, moved });
  // Without max-ban-score, ocserv refuses an address after a few wrong codes.
  const ocserv = `${part("/etc/ocserv/ocserv.conf")}
listen-host = 127.0.0.1
tcp-port = ${port}
run-as-user = root
run-as-group = root
socket-file = ${run}/socket
server-cert = ${certificate.certFile}
server-key = ${certificate.keyFile}
isolate-workers = false
max-ban-score = 0
max-clients = 64
max-same-clients = 0
use-occtl = false
device = vpns
ipv4-network = 10.251.7.0/24
cisco-client-compat = true
`;
  await Deno.writeTextFile(`${run}/servers`, part("/etc/radcli/servers"), { mode: 0o600 });
  await Deno.writeTextFile(`${run}/radius.conf`, part("/etc/radcli/radiusclient.conf"));
  await Deno.writeTextFile(`${run}/ocserv.conf`, ocserv);
}

async function waitUntilUp(port: number, server: Deno.ChildProcess): Promise<void> {
  let ended = false;
  void server.status.then(() => ended = true);
  for (const end = performance.now() + UP_WITHIN_MS; performance.now() < end && !ended;) {
    const isUp = await Deno.connect({ hostname: "127.0.0.1", port }).then((connection) => {
      connection.close();
      return true;
    }, (fault: unknown) => {
      if (fault instanceof Deno.errors.ConnectionRefused) return false;
      throw fault;
    });
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`ocserv does not listen on port ${port}${ended ? ": it ended" : ""}`);
}

/** The form that `--servercert` accepts: SHA-256 of the public key. */
async function pinOf({ certFile }: Certificate): Promise<string> {
  const { publicKey } = new X509Certificate(await Deno.readTextFile(certFile));
  return createHash("sha256").update(publicKey.export({ type: "spki", format: "der" })).digest("base64");
}
