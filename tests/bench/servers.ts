// The two measured servers, each started with a new directory.

import { endChild } from "../support/child.ts";
import { freeUdpPort } from "../support/free_port.ts";
import {
  awaitFirstAnswer,
  BENCH_DISK,
  BENCH_PASSWORD,
  BENCH_SECRET,
  startFileGateway,
  TOTP_SEED_HEX,
} from "./gateway.ts";

/** A server that has answered once. */
export interface MeasuredServer {
  readonly name: string;
  readonly port: number;
  readonly secret: string;
  readonly pid: number;
  /** The seed of all users in hexadecimal; `null` if a login is the password twice. */
  readonly totpSeedHex: string | null;
  /** From the start of its process to its first answer. */
  readonly firstAnswerMs: number;
  stop(): Promise<void>;
}

/** With 0 users every login is answered with a challenge. Otherwise so many users can complete one login each. */
export interface ServerOptions {
  readonly users: number;
}

/** Starts a server; the only function that the measurement needs. */
export type StartServer = (options: ServerOptions) => Promise<MeasuredServer>;

/** FreeRADIUS with the same challenge for every login. */
const STATIC_CHALLENGE = `
    update control {
      &Response-Packet-Type := Access-Challenge
    }
    update reply {
      &Message-Authenticator := 0x00
      &State := 0x000102030405060708090a0b0c0d0e0f
      &Reply-Message := "Enter the code that was sent to your phone"
    }
    handled`;
/** FreeRADIUS as a plain PAP server: an Accept to the right password. */
const PASSWORD_CHECK = `
    update control {
      &Cleartext-Password := "${BENCH_PASSWORD}"
    }
    update reply {
      &Message-Authenticator := 0x00
    }
    pap`;

/** The released gateway, with one configured client and its store on the disk. */
export async function startCountersign(options: ServerOptions): Promise<MeasuredServer> {
  const { gateway, firstAnswerMs, stop } = await startFileGateway(options);
  return {
    name: "Countersign",
    port: gateway.radiusPort,
    secret: BENCH_SECRET,
    pid: gateway.pid,
    totpSeedHex: TOTP_SEED_HEX,
    firstAnswerMs,
    stop,
  };
}

/** FreeRADIUS without storage: it does not know its users, so it accepts any number of them. */
export async function startFreeradius({ users }: ServerOptions): Promise<MeasuredServer> {
  const run = await Deno.makeTempDir({ dir: BENCH_DISK, prefix: "countersign-bench-freeradius-" });
  const port = freeUdpPort();
  const template = await Deno.readTextFile(new URL("./freeradius.conf", import.meta.url));
  const settings = template.replaceAll("@RUN@", run).replaceAll("@PORT@", String(port))
    .replaceAll("@SECRET@", `"${BENCH_SECRET}"`)
    .replaceAll("@AUTHORIZE@", users > 0 ? PASSWORD_CHECK : STATIC_CHALLENGE);
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
    await awaitFirstAnswer(port);
  } catch (fault) {
    await stop();
    throw new Error("FreeRADIUS does not answer", { cause: fault });
  }
  return {
    name: "FreeRADIUS",
    port,
    secret: BENCH_SECRET,
    pid: child.pid,
    totpSeedHex: null,
    firstAnswerMs: performance.now() - startedMs,
    stop,
  };
}
