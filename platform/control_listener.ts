// The control socket: a Unix domain socket in the data directory, through which commands use the console's API. Only the
// owner of the data directory can open it.

import { faultMessage, type Log } from "./log.ts";
import { type Clock, withTimeout } from "./runtime.ts";
import { DataDirFault } from "./data_dir.ts";

export interface ControlListenerDeps {
  /** At most 100 octets, in a directory that only its owner can enter. */
  readonly path: string;
  /** Answers a request; never rejects. */
  readonly answer: (request: Request) => Promise<Response>;
  readonly log: Log;
  readonly clock: Clock;
  /** `Deno.serve` unless given. */
  readonly serve?: (options: Deno.ServeUnixOptions, answer: ControlListenerDeps["answer"]) => Serving;
}

type Serving = Pick<Deno.HttpServer, "finished" | "shutdown">;

/** How long requests in progress may take after {@link ControlListener.close}. */
const DRAIN_MS = 10_000;
const REOPEN_MS = 1000;

/**
 * Listens at `path`, only for the owner of the file (mode 0600). Removes a socket that an earlier process left there: the caller
 * holds the lock of the data directory, so no process uses that socket.
 *
 * @throws DataDirFault if it cannot listen there
 */
export async function listenControl(deps: ControlListenerDeps): Promise<ControlListener> {
  const listener = new ControlListener(deps);
  try {
    await listener.open();
  } catch (fault) {
    throw new DataDirFault(`Cannot listen at the control socket "${deps.path}": ${faultMessage(fault)}`);
  }
  return listener;
}

/** Deno's server ends if it cannot accept a connection, for example without a free file descriptor. This class reopens it. */
export class ControlListener {
  readonly #deps: ControlListenerDeps;
  #serving: Serving | null = null;
  #opening: Promise<void> = Promise.resolve();
  #isClosed = false;
  #cancelReopen = () => {};

  constructor(deps: ControlListenerDeps) {
    this.#deps = deps;
  }

  async open(): Promise<void> {
    this.#opening = this.#open();
    await this.#opening;
  }

  async #open(): Promise<void> {
    const { path, answer, log, serve = (options, handler) => Deno.serve(options, handler) } = this.#deps;
    await removeStale(path);
    if (this.#isClosed) return;
    const serving = serve({
      path,
      onListen: () => undefined,
      onError(fault) {
        log.error("a request of the control socket failed", { fault: faultMessage(fault) });
        return new Response(null, { status: 500 });
      },
    }, answer);
    this.#serving = serving;
    serving.finished.then(() => this.#ended("it ended"), (fault) => this.#ended(faultMessage(fault)));
    // Until now, the mode of the directory (0700) protects the socket.
    await Deno.chmod(path, 0o600);
  }

  /** Accepts no further requests, removes the socket, and waits at most {@link DRAIN_MS} for those in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelReopen();
    // The caller of open() reports a failure.
    await this.#opening.catch(() => undefined);
    const serving = this.#serving;
    if (serving === null) return;
    const { clock, log } = this.#deps;
    // Aborting a server that shuts down throws in Deno 2.9.6. Requests still in progress end with the process.
    const drained = await withTimeout(serving.shutdown().catch(() => undefined), {
      clock,
      timeoutMs: DRAIN_MS,
    });
    if (!drained.inTime) log.warn("requests of the control socket did not end in time");
  }

  #ended(why: string): void {
    this.#serving = null;
    if (this.#isClosed) return;
    this.#deps.log.warn("the control socket stopped accepting connections; opening it again", { why });
    this.#cancelReopen = this.#deps.clock.after(REOPEN_MS, () => {
      this.open().catch((fault: unknown) => this.#ended(faultMessage(fault)));
    });
  }
}

async function removeStale(path: string): Promise<void> {
  try {
    const { isSocket } = await Deno.lstat(path);
    if (isSocket !== true) throw new Error("the file is not a socket; move it away");
    await Deno.remove(path);
  } catch (fault) {
    if (!(fault instanceof Deno.errors.NotFound)) throw fault;
  }
}
