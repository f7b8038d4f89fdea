// The other end of the control socket: how a command asks a running server.

import { type Clock, systemClock } from "../runtime.ts";
import { within } from "./deadline.ts";
import { type DeskAnswer, type DeskRequest, isDeskAnswer } from "./desk_answer.ts";
import { closeOnce, parseLine, readLine, writeLine } from "./socket_line.ts";

/**
 * What became of a call. `absent`: no process listens there, and nothing was sent. `forbidden`: this user may not.
 * `silent`: the server was there, and gave no answer; the operation may have been done.
 */
export type ControlCall =
  | { readonly reached: true; readonly answer: DeskAnswer }
  | { readonly reached: false; readonly reason: "absent" | "forbidden" | "silent" };

/** A little more than the server takes for its three stages. */
const CALL_MS = 16_000;

/** Asks the server whose socket is at `path`. Rejects only for what no server causes, such as a path that is too long. */
export async function callControlSocket(
  path: string,
  request: DeskRequest,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<ControlCall> {
  let connection: Deno.Conn;
  try {
    connection = await Deno.connect({ transport: "unix", path });
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound || fault instanceof Deno.errors.ConnectionRefused) {
      return { reached: false, reason: "absent" };
    }
    if (fault instanceof Deno.errors.PermissionDenied) return { reached: false, reason: "forbidden" };
    throw fault;
  }
  try {
    const called = await within(clock, CALL_MS, exchange(connection, request));
    return called.inTime && called.value !== null
      ? { reached: true, answer: called.value }
      : { reached: false, reason: "silent" };
  } finally {
    closeOnce(connection);
  }
}

async function exchange(connection: Deno.Conn, request: DeskRequest): Promise<DeskAnswer | null> {
  // A server that is too busy answers and closes without reading, so a write that fails is no end yet.
  const written = writeLine(connection, request).catch((fault: unknown) => fault);
  const read = await readLine(connection).catch(() => null);
  await written;
  if (read === null || !read.ok) return null;
  const answer = parseLine(read.line);
  return isDeskAnswer(answer) ? answer : null;
}
