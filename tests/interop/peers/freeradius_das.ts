// FreeRADIUS as the dynamic authorization server of a NAS: it acknowledges, refuses or ignores Disconnect-Requests.

import { endChild, runProgram } from "../../support/child.ts";
import { freeUdpPort } from "../../support/free_port.ts";
import { eventually } from "../../upstream/manual_clock.ts";

export interface Das extends AsyncDisposable {
  readonly port: number;
  readonly secret: string;
  /** Its log, with the attributes of each request. */
  log(): Promise<string>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

const SECRET = "the secret of Disconnect-Requests";
const GRACE_MS = 3000;

/** Starts it on a free port, and waits until it answers. */
export async function startDas(): Promise<Das> {
  const run = await Deno.makeTempDir({ prefix: "countersign-das-" });
  const port = freeUdpPort();
  const template = await Deno.readTextFile(new URL("./freeradius_das.conf", import.meta.url));
  const values: readonly [string, string | number][] = [["RUN", run], ["PORT", port], ["SECRET", SECRET]];
  const text = values.reduce((all, [name, value]) => all.replaceAll(`@${name}@`, String(value)), template);
  await Deno.writeTextFile(`${run}/das.conf`, text, { mode: 0o600 });
  let child: Deno.ChildProcess | null = null;
  const das: Das = {
    port,
    secret: SECRET,
    log: () => Deno.readTextFile(`${run}/das.log`).catch(() => ""),
    async start() {
      child = new Deno.Command("/usr/sbin/freeradius", {
        args: ["-f", "-xx", "-n", "das", "-d", run, "-l", `${run}/das.log`],
        ...{ stdin: "null", stdout: "null", stderr: "null" },
      }).spawn();
      await eventually("FreeRADIUS answers", () => answers(port), { withinMs: 30_000 });
    },
    async stop() {
      if (child !== null) await endChild(child, GRACE_MS);
      child = null;
    },
    async [Symbol.asyncDispose]() {
      await das.stop();
      await Deno.remove(run, { recursive: true });
    },
  };
  await das.start();
  return das;
}

/** A Disconnect-Request of radclient for a user whose session is not there. */
async function answers(port: number): Promise<boolean> {
  const { stdout } = await runProgram("/usr/bin/radclient", {
    args: ["-x", "-r", "1", "-t", "1", `127.0.0.1:${port}`, "disconnect", SECRET],
    stdin: 'User-Name = "gone", Message-Authenticator = 0x00\n',
  });
  return stdout.includes("Received Disconnect-NAK");
}
