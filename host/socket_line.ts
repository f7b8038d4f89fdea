// One line over a stream socket, and no more: what both ends of the control socket speak.

/** Longest line, with its end: room for one resource of the identity interface. */
export const MAX_LINE_OCTETS = 2 * 1024 * 1024;
/** What nearly every line fits into. */
const FIRST_OCTETS = 64 * 1024;

const LINE_END = 0x0a;

export type LineRead =
  | { readonly ok: true; readonly line: string }
  | { readonly ok: false; readonly reason: "too_long" | "incomplete" | "not_text" };

/** Reads up to the first line end; what follows it is not looked at. Rejects when the connection breaks. */
export async function readLine(connection: Pick<Deno.Conn, "read">): Promise<LineRead> {
  let buffer = new Uint8Array(FIRST_OCTETS);
  let filled = 0;
  while (filled < MAX_LINE_OCTETS) {
    if (filled === buffer.length) {
      const larger = new Uint8Array(buffer.length * 2);
      larger.set(buffer);
      buffer = larger;
    }
    const count = await connection.read(buffer.subarray(filled));
    if (count === null) return { ok: false, reason: "incomplete" };
    const end = buffer.subarray(filled, filled + count).indexOf(LINE_END);
    if (end >= 0) return decode(buffer.subarray(0, filled + end));
    filled += count;
  }
  return { ok: false, reason: "too_long" };
}

function decode(octets: Uint8Array): LineRead {
  try {
    return { ok: true, line: new TextDecoder("utf-8", { fatal: true }).decode(octets) };
  } catch (_notUtf8) {
    return { ok: false, reason: "not_text" };
  }
}

/** Writes a value as one line of JSON. Rejects when the connection breaks. */
export async function writeLine(connection: Pick<Deno.Conn, "write">, value: unknown): Promise<void> {
  const octets = new TextEncoder().encode(`${JSON.stringify(value)}\n`);
  for (let at = 0; at < octets.length;) at += await connection.write(octets.subarray(at));
}

/** The value of a line of JSON; `undefined` for anything else. The text is quoted nowhere: it may hold a secret. */
export function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (_notJson) {
    return undefined;
  }
}

/** Closes a connection or a listener that may be closed already. */
export function closeOnce(resource: { close(): void }): void {
  try {
    resource.close();
  } catch (fault) {
    if (!(fault instanceof Deno.errors.BadResource)) throw fault;
  }
}
