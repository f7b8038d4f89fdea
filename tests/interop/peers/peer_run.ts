// The start and the end of a peer: a temporary directory, its server, and its clients. If the start fails, everything is ended.

import { endChild } from "../../support/child.ts";
import type { PeerSetUp } from "./login.ts";

interface PeerProgram {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface PeerRun {
  /** The temporary directory. */
  readonly directory: string;
  /** Starts a program without input and output. */
  startServer(path: string, program: PeerProgram): Deno.ChildProcess;
  /** Starts a program with a terminal. `graceMs`: how long it may take to end. */
  startClient(path: string, program: PeerProgram, options?: { graceMs?: number }): Deno.ChildProcess;
}

const SERVER_GRACE_MS = 3000;
const CLIENT_GRACE_MS = 500;

/** @param start starts the server, waits until it is up, and returns what begins a login. */
export async function setUpPeer(
  name: string,
  start: (run: PeerRun) => Promise<PeerSetUp["login"]>,
): Promise<PeerSetUp> {
  const directory = await Deno.makeTempDir({ prefix: `countersign-${name}-` });
  const children: { readonly child: Deno.ChildProcess; readonly graceMs: number }[] = [];
  const run: PeerRun = {
    directory,
    startServer(path, { args, env = {} }) {
      const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
      const child = new Deno.Command(path, { args: [...args], env, ...quiet }).spawn();
      children.push({ child, graceMs: SERVER_GRACE_MS });
      return child;
    },
    startClient(path, { args, env = {} }, { graceMs = CLIENT_GRACE_MS } = {}) {
      const piped = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
      const child = new Deno.Command(path, { args: [...args], env, ...piped }).spawn();
      children.push({ child, graceMs });
      return child;
    },
  };
  const dispose = async () => {
    // The clients before their server.
    for (const { child, graceMs } of children.toReversed()) await endChild(child, graceMs);
    await Deno.remove(directory, { recursive: true });
  };
  try {
    return { login: await start(run), [Symbol.asyncDispose]: dispose };
  } catch (fault) {
    await dispose();
    throw fault;
  }
}
