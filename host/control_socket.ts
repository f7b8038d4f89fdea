// The control socket: a Unix domain socket in the data directory by which an operator's commands reach a running
// server. One line of JSON in, one line of JSON out, then it is closed.

import type { Log } from "../log.ts";
import type { Clock } from "../runtime.ts";
import { DataDirFault } from "./data_dir.ts";
import { within } from "./deadline.ts";
import { type DeskAnswer, refused } from "./desk_answer.ts";
import { closeOnce, type LineRead, parseLine, readLine, writeLine } from "./socket_line.ts";

export interface ControlSocket {
  /** Takes no more connections, waits for requests that are being worked on, and removes the socket. */
  close(): Promise<void>;
}

/** How long a request may take to arrive, and then its work, and then its answer. */
const STAGE_MS = 5000;
const MOST_CONNECTIONS = 8;
/** How long the taking of connections rests after a failure. */
const REST_MS = 200;

const REFUSED_LINES: Readonly<Record<Extract<LineRead, { ok: false }>["reason"], DeskAnswer>> = {
  too_long: refused("too_long", "Cannot read the request: it is longer than 2 MiB."),
  incomplete: refused("not_a_request", "Cannot read the request: it ended before its line did."),
  not_text: refused("not_a_request", "Cannot read the request: it is not UTF-8."),
};
const NOT_JSON = refused("not_a_request", "Cannot read the request: it is not JSON.");
const TOO_SLOW = refused("too_slow", "Cannot read the request: it took longer than 5 s to arrive.");
const STILL_WORKING = refused(
  "too_slow",
  "Cannot say how it ended: the server worked on it for more than 5 s. Look before trying again.",
);
const TOO_BUSY = refused("busy", "Cannot do that now: other commands are being worked on. Try again.");
const FAILED = refused("failed", "Cannot do that: the server failed. Its log says more.");

interface ControlDeps {
  /** At most 100 octets, in a directory that only its owner may enter. */
  readonly path: string;
  readonly handle: (request: unknown) => Promise<DeskAnswer>;
  readonly log: Log;
  readonly clock: Clock;
}

/**
 * Listens at `path`, for the owner of the file alone (mode 0600). A socket that an earlier run left there is removed:
 * the caller holds the lock of the data directory, so no process serves it.
 *
 * @throws DataDirFault when it cannot listen there.
 */
export async function serveControlSocket(deps: ControlDeps): Promise<ControlSocket> {
  const { path } = deps;
  const listener = await listenPrivately(path);
  const open = new Set<Promise<void>>();
  const reading = new Set<Deno.Conn>();
  const state = { closed: false, served: 0 };

  const take = (connection: Deno.Conn): void => {
    const isFull = state.served >= MOST_CONNECTIONS;
    if (!isFull) state.served += 1;
    const work = isFull ? answer(deps, connection, TOO_BUSY) : serve(deps, { connection, reading });
    const ending = work
      .catch((fault: unknown) => deps.log.debug("a command went away", { fault: nameOf(fault) }))
      .finally(() => {
        if (!isFull) state.served -= 1;
        open.delete(ending);
        closeOnce(connection);
      });
    open.add(ending);
  };
  const accepting = accept(deps, { listener, take, isClosed: () => state.closed });

  return {
    async close() {
      state.closed = true;
      // Deno removes the socket's file when its listener closes.
      closeOnce(listener);
      for (const connection of reading) closeOnce(connection);
      await Promise.all([accepting, ...open]);
    },
  };
}

async function listenPrivately(path: string): Promise<Deno.Listener<Deno.UnixConn>> {
  try {
    await removeStale(path);
    const listener = Deno.listen({ transport: "unix", path });
    // Until here only the mode of the directory (0700) keeps others out.
    await Deno.chmod(path, 0o600);
    return listener;
  } catch (fault) {
    const reason = fault instanceof Error ? fault.message : String(fault);
    throw new DataDirFault(`Cannot listen at the control socket "${path}": ${reason}`);
  }
}

async function removeStale(path: string): Promise<void> {
  try {
    const { isSocket } = await Deno.lstat(path);
    if (isSocket !== true) throw new Error("something else than a socket is there; move it away");
    await Deno.remove(path);
  } catch (fault) {
    if (!(fault instanceof Deno.errors.NotFound)) throw fault;
  }
}

async function accept(
  { clock, log }: ControlDeps,
  { listener, take, isClosed }: {
    listener: Deno.Listener<Deno.UnixConn>;
    take: (connection: Deno.Conn) => void;
    isClosed: () => boolean;
  },
): Promise<void> {
  while (!isClosed()) {
    try {
      take(await listener.accept());
    } catch (fault) {
      if (isClosed()) return;
      log.warn("the control socket could not take a connection", { fault: nameOf(fault) });
      await new Promise<void>((resolve) => void clock.after(REST_MS, resolve));
    }
  }
}

async function serve(
  deps: ControlDeps,
  { connection, reading }: { connection: Deno.Conn; reading: Set<Deno.Conn> },
): Promise<void> {
  reading.add(connection);
  const read = await within(deps.clock, STAGE_MS, readLine(connection)).finally(() =>
    reading.delete(connection)
  );
  await answer(deps, connection, read.inTime ? await answerTo(deps, read.value) : TOO_SLOW);
}

async function answerTo({ handle, log, clock }: ControlDeps, read: LineRead): Promise<DeskAnswer> {
  if (!read.ok) return REFUSED_LINES[read.reason];
  const request = parseLine(read.line);
  if (request === undefined) return NOT_JSON;
  try {
    const handled = await within(clock, STAGE_MS, handle(request));
    return handled.inTime ? handled.value : STILL_WORKING;
  } catch (fault) {
    // Only its name: the text of a fault may quote what was asked.
    log.error("a command failed", { fault: nameOf(fault) });
    return FAILED;
  }
}

async function answer({ clock }: ControlDeps, connection: Deno.Conn, value: DeskAnswer): Promise<void> {
  await within(clock, STAGE_MS, writeLine(connection, value));
}

function nameOf(fault: unknown): string {
  return fault instanceof Error ? fault.name : typeof fault;
}
