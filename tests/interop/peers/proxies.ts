// Proxies between a client and the gateway: FreeRADIUS and radsecproxy.

import { openRadiusClient } from "../../support/radius_client.ts";
import { CODES } from "../../support/radius_packets.ts";
import { freeUdpPort } from "../../support/free_port.ts";
import type { Certificate } from "../../support/certificates.ts";
import type { Door, PeerRow, PeerSetUp } from "./login.ts";
import { guideText } from "./guided.ts";
import { setUpPeer } from "./peer_run.ts";
import { setUpRadclient } from "./radclient.ts";

// Shared functions of the proxies in front of the gateway.

/**
 * Waits until a proxy answers on its own port: each answers Status-Server itself, without the gateway. Throws when the
 * proxy ends.
 */
export async function answersStatusServer(front: Door, proxy: Deno.ChildProcess): Promise<void> {
  using client = openRadiusClient(front);
  const ended = proxy.status.then(({ code }) => {
    throw new Error(`It ended with code ${code}`);
  });
  await Promise.race([client.ask({ code: CODES.statusServer }, { timeoutMs: 20, tries: 3000 }), ended]);
}

// FreeRADIUS between radclient and the gateway: requests arrive with Proxy-State, from the proxy's port, and signed
// again.

export const FREERADIUS_PROXY: PeerRow = {
  title: "radclient through FreeRADIUS as a proxy",
  needs: { peers: ["radclient", "freeradius"] },
  setUp: (gateway) => setUpProxy(gateway),
};

const FRONT_SECRET = "the front door of the proxy";

function setUpProxy(gateway: Door, tls?: TlsFiles): Promise<PeerSetUp> {
  return setUpPeer("proxy", async ({ directory: run, startServer }) => {
    const front: Door = { port: freeUdpPort(), secret: FRONT_SECRET };
    await writeSettings(run, { front, gateway, tls });
    // With threads, FreeRADIUS 3.2.1 sometimes keeps the first packet of a TLS connection until the next one.
    const threads = tls === undefined ? [] : ["-s"];
    const args = ["-f", ...threads, "-xx", "-l", `${run}/proxy.log`, "-n", "proxy", "-d", run];
    const proxy = startServer("/usr/sbin/freeradius", { args });
    const withLog = async <T>(problem: string, work: Promise<T>): Promise<T> => {
      try {
        return await work;
      } catch (cause) {
        const log = await Deno.readTextFile(`${run}/proxy.log`).catch(() => "(it wrote no log)");
        throw new Error(`${problem}:\n${log.slice(-8000)}`, { cause });
      }
    };
    await withLog("FreeRADIUS does not come up", answersStatusServer(front, proxy));
    const { login } = setUpRadclient(front, { nasPort: true, signed: false });
    return (user) => withLog("FreeRADIUS forwards no login", login(user));
  });
}

/** The files of a client of RADIUS over TLS. */
interface TlsFiles extends Certificate {
  readonly caFile: string;
}

/** FreeRADIUS as a client of the gateway with TLS (RFC 6614). */
export function setUpFreeradiusTls(port: number, tls: TlsFiles): Promise<PeerSetUp> {
  return setUpProxy({ port, secret: NO_SECRET }, tls);
}

/** The guides have that of RFC 6614 §2.3. */
const NO_SECRET = "";

async function writeSettings(
  run: string,
  { front, gateway, tls }: { front: Door; gateway: Door; tls: TlsFiles | undefined },
): Promise<void> {
  const template = await Deno.readTextFile(new URL("./freeradius_proxy.conf", import.meta.url));
  const values: readonly [string, string | number][] = [
    ["RUN", run],
    ["PORT", front.port],
    ["SECRET", front.secret],
    [
      "GATEWAY",
      tls === undefined
        ? homeServer(gateway)
        : guideText("freeradius_tls", "/etc/freeradius/3.0/proxy.conf", {
          gateway,
          moved: movedFiles("/etc/freeradius/countersign", tls),
        }),
    ],
  ];
  const text = values.reduce((all, [name, value]) => all.replaceAll(`@${name}@`, String(value)), template);
  await Deno.writeTextFile(`${run}/proxy.conf`, text, { mode: 0o600 });
}

/** The gateway by UDP, where Status-Server is asked often. */
const homeServer = ({ port, secret }: Door) =>
  `home_server gateway {
  type = auth
  ipaddr = 127.0.0.1
  port = ${port}
  secret = "${secret}"
  response_window = 20
  zombie_period = 40
  status_check = status-server
  check_interval = 6
  num_answers_to_alive = 3
}
home_server_pool gateway {
  type = fail-over
  home_server = gateway
}
realm countersign {
  auth_pool = gateway
  nostrip
}`;

/** The paths in a setup guide, and the files of a test. */
const movedFiles = (folder: string, { caFile, certFile, keyFile }: TlsFiles) =>
  [
    [`${folder}/ca.pem`, caFile],
    [`${folder}/client.pem`, certFile],
    [`${folder}/client.key`, keyFile],
  ] as const;

// radsecproxy between radclient and the gateway, with Status-Server: about every 25 s it checks the gateway with a
// packet that is always signed, while the logins that it forwards are not.

export const RADSECPROXY: PeerRow = {
  title: "radclient through radsecproxy",
  needs: { peers: ["radclient", "radsecproxy"] },
  setUp: (gateway) => setUpRadsecproxy(gateway),
};

const FRONT_OF_RADSECPROXY = "the-front-door-of-radsecproxy";

/** Starts radsecproxy in front of a gateway. */
export function setUpRadsecproxy(gateway: Door): Promise<PeerSetUp> {
  return startRadsecproxy(freeDoor(), { gateway });
}

/** Starts radsecproxy in front of a gateway with TLS (RFC 6614). `door`: where it takes packets. */
export async function setUpRadsecproxyTls(
  port: number,
  tls: TlsFiles,
): Promise<PeerSetUp & { readonly door: Door }> {
  const door = freeDoor();
  return { door, ...await startRadsecproxy(door, { gateway: { port, secret: NO_SECRET }, tls }) };
}

const freeDoor = (): Door => ({ port: freeUdpPort(), secret: FRONT_OF_RADSECPROXY });

function startRadsecproxy(
  front: Door,
  { gateway, tls }: { gateway: Door; tls?: TlsFiles },
): Promise<PeerSetUp> {
  return setUpPeer("radsecproxy", async ({ directory, startServer }) => {
    const file = `${directory}/radsecproxy.conf`;
    await Deno.writeTextFile(file, settingsOf(front, gateway, tls), { mode: 0o600 });
    const proxy = startServer("/usr/sbin/radsecproxy", { args: ["-f", "-c", file] });
    await answersStatusServer(front, proxy).catch((cause: unknown) => {
      throw new Error("radsecproxy does not come up", { cause });
    });
    return setUpRadclient(front, { nasPort: true, signed: false }).login;
  });
}

const settingsOf = (front: Door, gateway: Door, tls?: TlsFiles) =>
  tls === undefined
    ? `ListenUDP 127.0.0.1:${front.port}
client front {
  type udp
  host 127.0.0.1
  secret ${front.secret}
}
server gateway {
  type udp
  host 127.0.0.1
  port ${gateway.port}
  secret ${gateway.secret}
  StatusServer on
}
realm * {
  server gateway
  accountingServer gateway
}
`
    : guideText("radsecproxy", "/etc/radsecproxy.conf", {
      gateway: { ...front, port: gateway.port },
      moved: [
        ["ListenUDP *:1812", `ListenUDP 127.0.0.1:${front.port}`],
        ...movedFiles("/etc/radsecproxy", tls),
      ],
    });
