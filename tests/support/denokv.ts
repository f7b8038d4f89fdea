// A real denokv (a KV Connect server) for the tests, on a free port, with a temporary SQLite file.

import { processState } from "./process_memory.ts";
import { endChild, signal } from "./child.ts";
import { findDenokv } from "./denokv_build.ts";
import { freeTcpPort } from "./free_port.ts";
import { TextLineStream } from "./lines.ts";

/**
 * The access token of all servers of the tests. It is a constant because `Deno.openKv()` reads it from the environment, which
 * test files that run in parallel share.
 */
export const DENOKV_TOKEN = "access-token-of-the-tests";
/** `Deno.openKv()` and the gateway read the token from this variable. */
export const DENOKV_TOKEN_VARIABLE = "DENO_KV_ACCESS_TOKEN";

const READY_MS = 20_000;
const STOP_GRACE_MS = 5_000;
/** How long a start on the former port waits until another process has left that port. */
const PORT_WAIT_MS = 60_000;
const MAX_LINES = 2_000;
const LISTENING = /Listening on http:/;
const PORT_TAKEN = /Failed to start server|Address already in use/;

/** Options of {@link startDenokv}. */
export interface DenokvOptions {
  /** More arguments of `denokv serve`, such as `--num-workers 2`. */
  readonly args?: readonly string[];
  /** The directory for its temporary files; the default is that of the system. */
  readonly dir?: string;
  /** The program; without it, the one that tests/support/denokv_build.ts built. */
  readonly program?: string;
}

/** A running server. Declare it with `await using`, or call `dispose()`. */
export interface Denokv extends AsyncDisposable {
  /** `http://127.0.0.1:port`; it does not change when the server starts again. */
  readonly url: string;
  readonly token: string;
  /** The process id; 0 while it is stopped. */
  readonly pid: number;
  /** Its messages, in the order of arrival; the oldest are dropped after 2,000. */
  logLines(): readonly string[];
  /** Opens a client. The caller closes it. */
  open(): Promise<Deno.Kv>;
  /** Ends it with SIGTERM, and with SIGKILL after 5 s. The file stays. */
  stop(): Promise<void>;
  /** Ends it with SIGKILL. The file stays. */
  kill9(): Promise<void>;
  /** Stops it with SIGSTOP: connections stay open, and nothing answers. */
  freeze(): Promise<void>;
  /** Continues it after `freeze()`. */
  thaw(): void;
  /** Starts it on the same port, with the same file; does nothing while it runs. */
  start(): Promise<void>;
  /** Ends it, also while it is frozen, and removes its file. */
  dispose(): Promise<void>;
}

/** Starts a server and waits until it listens. Throws with its messages when it does not start. */
export async function startDenokv(options: DenokvOptions = {}): Promise<Denokv> {
  const program = options.program ?? builtProgram();
  const folder = await Deno.makeTempDir({
    prefix: "denokv-",
    ...options.dir === undefined ? {} : { dir: options.dir },
  });
  const lines: string[] = [];
  let port: number | null = null;
  let child: Deno.ChildProcess | null = null;

  const start = async (): Promise<void> => {
    if (child !== null) return;
    ({ child, port } = await launchAgain(program, { folder, port, lines, args: options.args ?? [] }));
  };
  const end = async (graceMs: number): Promise<void> => {
    const running = child;
    child = null;
    if (running === null) return;
    // A frozen process receives SIGTERM only when it continues.
    signal(running, "SIGCONT");
    await endChild(running, graceMs);
  };
  const dispose = async (): Promise<void> => {
    await end(0);
    await Deno.remove(folder, { recursive: true });
  };
  try {
    await start();
  } catch (fault) {
    await dispose();
    throw fault;
  }
  return {
    url: `http://127.0.0.1:${port}`,
    token: DENOKV_TOKEN,
    get pid() {
      return child?.pid ?? 0;
    },
    logLines: () => lines,
    open() {
      Deno.env.set(DENOKV_TOKEN_VARIABLE, DENOKV_TOKEN);
      return Deno.openKv(`http://127.0.0.1:${port}`);
    },
    stop: () => end(STOP_GRACE_MS),
    async kill9() {
      const running = child;
      child = null;
      if (running === null) return;
      signal(running, "SIGKILL");
      await running.status;
    },
    async freeze() {
      if (child === null) return;
      signal(child, "SIGSTOP");
      await untilStopped(child.pid);
    },
    thaw() {
      if (child !== null) signal(child, "SIGCONT");
    },
    start,
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}

/** A process can run on for a moment after the signal. */
async function untilStopped(pid: number): Promise<void> {
  while (await processState(pid) !== "T") await new Promise((resolve) => setTimeout(resolve, 5));
}

interface Launch {
  readonly folder: string;
  /** The former port; `null` for any free one. */
  readonly port: number | null;
  readonly lines: string[];
  readonly args: readonly string[];
}

function builtProgram(): string {
  const found = findDenokv();
  if ("missing" in found) throw new Error(`Cannot start denokv: ${found.missing}`);
  return found.path;
}

/** Starts the server. If another process took the port meanwhile, it tries again. */
async function launchAgain(
  program: string,
  launch: Launch,
): Promise<{ child: Deno.ChildProcess; port: number }> {
  for (const end = performance.now() + PORT_WAIT_MS;;) {
    const port = launch.port ?? freeTcpPort();
    const started = await launchOnce(program, { ...launch, port });
    if (typeof started !== "string") return { child: started, port };
    if (!PORT_TAKEN.test(started) || performance.now() > end) {
      throw new Error(`Cannot start denokv: ${started}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** The server, or its messages when it did not start. */
async function launchOnce(
  program: string,
  { folder, port, lines, args }: Launch & { port: number },
): Promise<Deno.ChildProcess | string> {
  const child = new Deno.Command(program, {
    args: ["--sqlite-path", `${folder}/kv.sqlite`, "serve", "--addr", `127.0.0.1:${port}`, ...args],
    // The token is not an argument, because arguments are visible to every user.
    env: { [DENOKV_TOKEN_VARIABLE]: DENOKV_TOKEN, RUST_LOG: "info", RUST_LOG_STYLE: "never" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const { promise: listens, resolve } = Promise.withResolvers<boolean>();
  const own: string[] = [];
  const drained = (async () => {
    for await (const line of child.stderr.pipeThrough(new TextLineStream())) {
      for (const list of [own, lines]) {
        list.push(line);
        if (list.length > MAX_LINES) list.shift();
      }
      if (LISTENING.test(line)) resolve(true);
    }
    resolve(false);
  })();
  const timer = setTimeout(() => resolve(false), READY_MS);
  const isReady = await listens;
  clearTimeout(timer);
  if (isReady) return child;
  await endChild(child, 0);
  await drained;
  return own.join("\n") || "it ended without a message";
}
