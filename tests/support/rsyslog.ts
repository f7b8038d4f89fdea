// A real rsyslog for the tests: TLS (RFC 5425) and UDP on free ports, in a temporary directory, writing each message as one line.

import { type Authority, makeAuthority } from "./certificates.ts";
import { endChild, signal } from "./child.ts";
import { freeTcpPort, freeUdpPort } from "./free_port.ts";

export interface Rsyslog extends AsyncDisposable {
  readonly tlsPort: number;
  readonly udpPort: number;
  readonly authority: Authority;
  /** A client certificate that it accepts. */
  readonly client: { readonly certFile: string; readonly keyFile: string };
  readonly folder: string;
  /** The messages that it received, as JSON, in order. Lines that are no JSON have the member `text`. */
  messages(): Promise<Record<string, unknown>[]>;
  /** Ends it with SIGTERM, so that it writes what it has. */
  stop(): Promise<void>;
  kill9(): Promise<void>;
  start(): Promise<void>;
}

const START_MS = 20_000;
const STOP_GRACE_MS = 15_000;

/** Starts it. @param options.needsClientCertificate whether a client needs a certificate of the authority */
export async function startRsyslog(
  { needsClientCertificate = false }: { needsClientCertificate?: boolean } = {},
): Promise<Rsyslog> {
  const folder = await Deno.makeTempDir({ prefix: "countersign-rsyslog-" });
  const authority = await makeAuthority(folder);
  const server = await authority.issue(["DNS:localhost", "IP:127.0.0.1"]);
  const client = await authority.issue(["DNS:gateway"]);
  const [tlsPort, udpPort] = [freeTcpPort(), freeUdpPort()];
  await Deno.writeTextFile(
    `${folder}/rsyslog.conf`,
    `global(
  workDirectory="${folder}" maxMessageSize="16k" parser.escapeControlCharactersOnReceive="on"
  defaultNetstreamDriver="gtls" defaultNetstreamDriverCAFile="${authority.caFile}"
  defaultNetstreamDriverCertFile="${server.certFile}" defaultNetstreamDriverKeyFile="${server.keyFile}"
)
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1"
  streamDriver.authMode="${needsClientCertificate ? "x509/certvalid" : "anon"}")
module(load="imudp")
input(type="imtcp" port="${tlsPort}" address="127.0.0.1")
input(type="imudp" port="${udpPort}" address="127.0.0.1")
template(name="message" type="string" string="%msg:::sp-if-no-1st-sp%%msg%\\n")
action(type="omfile" file="${folder}/messages" template="message" asyncWriting="off" flushOnTXEnd="on")
`,
  );
  let child: Deno.ChildProcess | null = null;
  const start = async (): Promise<void> => {
    child = new Deno.Command("/usr/sbin/rsyslogd", {
      args: ["-n", "-f", `${folder}/rsyslog.conf`, "-i", `${folder}/pid`],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await accepts(tlsPort);
  };
  const stop = async (): Promise<void> => {
    if (child !== null) await endChild(child, STOP_GRACE_MS);
    child = null;
  };
  await start();
  return {
    ...{ tlsPort, udpPort, authority, client, folder, stop, start },
    async kill9() {
      if (child === null) return;
      signal(child, "SIGKILL");
      await child.status;
      child = null;
    },
    async messages() {
      const text = await Deno.readTextFile(`${folder}/messages`).catch(() => "");
      return text.split("\n").filter((line) => line.trim() !== "").map((line) => {
        try {
          return JSON.parse(line) as Record<string, unknown>;
        } catch (_notJson) {
          return { text: line };
        }
      });
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function accepts(port: number): Promise<void> {
  for (const endMs = performance.now() + START_MS;;) {
    try {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      connection.close();
      return;
    } catch (fault) {
      if (performance.now() > endMs) throw fault;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
