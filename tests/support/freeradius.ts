// FreeRADIUS as the first-factor server of a gateway under test, with PAP, CHAP, MS-CHAP and EAP. One process per test
// file is enough: it keeps nothing about a user.

import { makeAuthority } from "./certificates.ts";
import { endChild, runProgram, signal } from "./child.ts";
import { freeUdpPort } from "./free_port.ts";
import type { Needs } from "./skip_unless.ts";

/** What a test of this server needs. */
export const FREERADIUS_NEEDS: Needs = { peers: ["freeradius", "radclient", "opensslProgram"] };

/** The password of every user. `stranger` is refused with any; `expired` is asked for a new one over PAP. */
export const FIRST_PASSWORD = "first";

/** The Reply-Message of an Access-Reject without EAP. */
export const REFUSAL = "The first server refuses this password.";

/** The attributes of each Access-Accept, as radclient prints them, in this order. Class is `CLASS_HEX`. */
export const CLASS_HEX = `0x${new TextEncoder().encode("class of the first server").toHex()}`;
export const ACCEPT_LINES: readonly string[] = [
  `Class = ${CLASS_HEX}`,
  'Filter-Id = "staff"',
  "Session-Timeout = 3600",
  "Framed-IP-Address = 10.20.30.40",
  "Tunnel-Type:1 = VLAN",
  "Tunnel-Medium-Type:1 = IEEE-802",
  'Tunnel-Private-Group-Id:1 = "20"',
  `Tunnel-Password:1 = "the tunnel's password"`,
  'Cisco-AVPair = "shell:priv-lvl=1"',
  'Cisco-AVPair = "ip:route=10.1.0.0 255.255.0.0"',
  'Cisco-AVPair = "ip:route=10.2.0.0 255.255.0.0"',
  'Cisco-AVPair = "ip:dns-servers=10.0.0.53"',
  'Cisco-AVPair = "url-redirect-acl=portal"',
];

export interface FreeRadius extends AsyncDisposable {
  /** The Access-Accept of a tunnelled method has the name inside the tunnel, that of EAP-TLS the name of the certificate. */
  readonly port: number;
  /** The Access-Accept has the outer name, as FreeRADIUS does without further settings. For methods with a tunnel. */
  readonly outerNamePort: number;
  readonly secret: string;
  /** The authority of its certificate, and of the users' certificates. */
  readonly caFile: string;
  /** A certificate for EAP-TLS with this common name. */
  certificateOf(user: string): Promise<{ readonly certFile: string; readonly keyFile: string }>;
  /** Its log, with the attributes of each packet. */
  log(): Promise<string>;
  /** Resolves when it answers. */
  start(): Promise<void>;
  /** Ends it at once. Its ports stay its own for the next start. */
  kill(): Promise<void>;
}

const SECRET = "the-secret-of-the-first-server";
const UP_WITHIN_MS = 30_000;

const USERS = `stranger Auth-Type := Reject
DEFAULT Cleartext-Password := "${FIRST_PASSWORD}"
`;

/** @param options.isUp false: it is only prepared, and `start()` starts it */
export async function startFreeRadius({ isUp = true }: { isUp?: boolean } = {}): Promise<FreeRadius> {
  const run = await Deno.makeTempDir({ prefix: "countersign-freeradius-" });
  const port = freeUdpPort();
  const outerNamePort = freeUdpPort();
  const authority = await makeAuthority(run);
  const { certFile, keyFile } = await authority.issue(["DNS:radius.example.com"], { isRsa: true });
  const values = { RUN: run, PORT: port, OUTER_NAME_PORT: outerNamePort, SECRET };
  await fill("freeradius.conf", `${run}/first.conf`, values);
  await fill("freeradius_eap.conf", `${run}/eap.conf`, { RUN: run, CERT_FILE: certFile, KEY_FILE: keyFile });
  await Deno.writeTextFile(`${run}/users`, USERS);
  let child: Deno.ChildProcess | null = null;
  const end = async (how: (running: Deno.ChildProcess) => Promise<unknown>) => {
    if (child !== null) await how(child);
    child = null;
  };
  const server: FreeRadius = {
    port,
    outerNamePort,
    secret: SECRET,
    caFile: authority.caFile,
    certificateOf: (user) =>
      authority.issue([`email:${user}@example.com`], { isRsa: true, commonName: user }),
    log: () => Deno.readTextFile(`${run}/first.log`).catch(() => ""),
    async start() {
      const started = new Deno.Command("/usr/sbin/freeradius", {
        args: ["-f", "-xx", "-n", "first", "-d", run, "-l", `${run}/first.log`],
        ...{ stdin: "null", stdout: "null", stderr: "null" },
      }).spawn();
      child = started;
      await untilUp(started, { port, log: server.log });
    },
    kill: () =>
      end(async (running) => {
        signal(running, "SIGKILL");
        await running.status;
      }),
    async [Symbol.asyncDispose]() {
      await end((running) => endChild(running, 3000));
      await Deno.remove(run, { recursive: true });
    },
  };
  if (isUp) await server.start();
  return server;
}

async function fill(
  from: string,
  to: string,
  values: Readonly<Record<string, string | number>>,
): Promise<void> {
  const template = await Deno.readTextFile(new URL(`./${from}`, import.meta.url));
  const text = Object.entries(values).reduce(
    (all, [name, value]) => all.replaceAll(`@${name}@`, String(value)),
    template,
  );
  await Deno.writeTextFile(to, text, { mode: 0o600 });
}

async function untilUp(
  child: Deno.ChildProcess,
  { port, log }: { port: number; log: () => Promise<string> },
): Promise<void> {
  let hasEnded = false;
  void child.status.then(() => hasEnded = true);
  for (const end = performance.now() + UP_WITHIN_MS; performance.now() < end && !hasEnded;) {
    const { stdout } = await runProgram("/usr/bin/radclient", {
      args: ["-x", "-r", "1", "-t", "0.3", `127.0.0.1:${port}`, "status", SECRET],
      stdin: "Message-Authenticator = 0x00\n",
    });
    if (stdout.includes("Received Access-Accept")) return;
  }
  throw new Error(`FreeRADIUS did not come up:\n${(await log()).slice(-2000)}`);
}
