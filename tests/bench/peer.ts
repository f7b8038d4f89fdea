// A measured server, and how a program beside the gateway becomes one.

import { endChild, endingWithParent, signal } from "../support/child.ts";
import { awaitFirstAnswer, BENCH_SECRET } from "./gateway.ts";
import type { Postgresql } from "./postgresql.ts";

/** A server that has answered once. */
export interface MeasuredServer {
  readonly name: string;
  readonly port: number;
  readonly secret: string;
  /** Its processes, with that of its database. The processes that they started belong to it, too. */
  readonly pids: readonly number[];
  /** The seed of all users in hexadecimal; `null` if a login is the password twice. */
  readonly totpSeedHex: string | null;
  /** From the start of its process to its first answer. A database runs before. */
  readonly firstAnswerMs: number;
  /** Kills all its processes at once, and starts it again with what it stored. */
  restartKilled(): Promise<void>;
  stop(): Promise<void>;
}

/** With 0 users every login is answered with a challenge. Otherwise so many users can complete one login each. */
export interface ServerOptions {
  readonly users: number;
}

/** Starts a server; the only function that the measurement needs. */
export type StartServer = (options: ServerOptions) => Promise<MeasuredServer>;

/** A program whose files are in a directory of its own, which is removed when it stops. */
export interface PeerProgram {
  readonly name: string;
  readonly port: number;
  readonly directory: string;
  readonly command: readonly [program: string, ...args: string[]];
  readonly totpSeedHex: string | null;
  /** Stops after the program. */
  readonly database?: Postgresql;
}

/** Starts the program and waits for its first answer. Throws without one; then nothing is left. */
export async function startPeer(peer: PeerProgram): Promise<MeasuredServer> {
  const { name, port, directory, totpSeedHex, database } = peer;
  const [program, ...args] = peer.command;
  const [command, commandArgs] = endingWithParent(program, args);
  const spawn = () =>
    new Deno.Command(command, { args: commandArgs, stdin: "null", stdout: "null", stderr: "null" }).spawn();
  const startedMs = performance.now();
  let child = spawn();
  const stop = async () => {
    await endChild(child, 3000);
    await database?.stop();
    await Deno.remove(directory, { recursive: true });
  };
  try {
    await awaitFirstAnswer(port);
  } catch (fault) {
    const log = await Deno.readTextFile(`${directory}/peer.log`).catch(() => "");
    await stop();
    throw new Error(`${name} does not answer: ${log.slice(-1000)}`, { cause: fault });
  }
  return {
    name,
    port,
    secret: BENCH_SECRET,
    get pids() {
      return [child.pid, ...database === undefined ? [] : [database.pid]];
    },
    totpSeedHex,
    firstAnswerMs: performance.now() - startedMs,
    async restartKilled() {
      signal(child, "SIGKILL");
      await Promise.all([child.status, database?.kill()]);
      await database?.restart();
      child = spawn();
      await awaitFirstAnswer(port);
    },
    stop,
  };
}
