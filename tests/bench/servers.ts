// The two measured servers, each started with a new directory.

import { endChild } from "../support/child.ts";
import { freeUdpPort } from "../support/free_port.ts";
import { startProgram } from "../support/program.ts";
import { openRadiusClient } from "../support/radius_client.ts";

/** A server that has answered once. */
export interface MeasuredServer {
  readonly name: string;
  readonly port: number;
  readonly secret: string;
  readonly pid: number;
  /** From the start of its process to its first answer. */
  readonly firstAnswerMs: number;
  stop(): Promise<void>;
}

/** Starts a server; the only function that the measurement needs. */
export type StartServer = () => Promise<MeasuredServer>;

const SECRET = "a secret for the measurement";
/** On the disk, because /tmp may be memory, where no challenge is durable. */
const DISK = "/var/tmp";
const FIRST_ANSWER_TIMEOUT_MS = 20_000;
const SETTINGS = `
[server]
log_level = "warn"
[[radius.client]]
name = "bench"
address = ["127.0.0.1"]
secret = "${SECRET}"
`;

/** The released gateway, with one configured client and its store on the disk. */
export async function startCountersign(): Promise<MeasuredServer> {
  const startedMs = performance.now();
  const dataDir = await Deno.makeTempDir({ dir: DISK, prefix: "countersign-bench-" });
  const gateway = await startProgram({ toml: SETTINGS, dataDir });
  await firstAnswer(gateway.radiusPort);
  return {
    name: "Countersign",
    port: gateway.radiusPort,
    secret: SECRET,
    pid: gateway.pid,
    firstAnswerMs: performance.now() - startedMs,
    async stop() {
      await gateway.dispose();
      await Deno.remove(dataDir, { recursive: true });
    },
  };
}

/** FreeRADIUS with a static challenge and no storage. */
export async function startFreeradius(): Promise<MeasuredServer> {
  const run = await Deno.makeTempDir({ dir: DISK, prefix: "countersign-bench-freeradius-" });
  const port = freeUdpPort();
  const template = await Deno.readTextFile(
    new URL("./freeradius_static_challenge.conf", import.meta.url),
  );
  const settings = template.replaceAll("@RUN@", run).replaceAll("@PORT@", String(port))
    .replaceAll("@SECRET@", `"${SECRET}"`);
  await Deno.writeTextFile(`${run}/peer.conf`, settings);
  const startedMs = performance.now();
  const child = new Deno.Command("/usr/sbin/freeradius", {
    args: ["-f", "-n", "peer", "-d", run],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const stop = async () => {
    await endChild(child, 3000);
    await Deno.remove(run, { recursive: true });
  };
  try {
    await firstAnswer(port);
  } catch (fault) {
    await stop();
    throw new Error("FreeRADIUS does not answer", { cause: fault });
  }
  return {
    name: "FreeRADIUS",
    port,
    secret: SECRET,
    pid: child.pid,
    firstAnswerMs: performance.now() - startedMs,
    stop,
  };
}

/** Sends a request every 5 ms until a valid answer arrives. */
async function firstAnswer(port: number): Promise<void> {
  using client = openRadiusClient({ port, secret: SECRET });
  const reply = await client.ask(
    { userName: "first", password: "first", nasPort: 1, callingStationId: "198.51.100.1" },
    { timeoutMs: 5, tries: FIRST_ANSWER_TIMEOUT_MS / 5 },
  );
  if (reply.problems.length > 0) throw new Error(`The first answer is wrong: ${reply.problems.join("; ")}`);
}
