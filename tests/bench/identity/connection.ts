// One persistent connection of HTTP/1.1 (RFC 9112) with the minimum for a measurement: a request, and an answer with
// Content-Length.

/** An answer; `body` is a view that the next exchange overwrites. */
export interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
}

export interface Connection extends Disposable {
  /** Sends one request and reads its whole answer. Rejects when the peer breaks off or sends another format. */
  exchange(request: Uint8Array): Promise<Answer>;
}

const FIRST_OCTETS = 256 * 1024;
const MAX_OCTETS = 64 * 1024 * 1024;
const HEAD_END = [13, 10, 13, 10] as const;
const latin1 = new TextDecoder("latin1");

export async function openConnection(port: number): Promise<Connection> {
  const socket = await Deno.connect({ hostname: "127.0.0.1", port });
  socket.setNoDelay(true);
  let buffer = new Uint8Array(FIRST_OCTETS);
  let filled = 0;

  /** Reads until at least `octets` have arrived. */
  const fillTo = async (octets: number): Promise<void> => {
    if (octets > MAX_OCTETS) throw new Error(`Cannot read an answer of ${octets} octets`);
    if (octets > buffer.length) {
      const larger = new Uint8Array(Math.min(MAX_OCTETS, Math.max(octets, buffer.length * 2)));
      larger.set(buffer.subarray(0, filled));
      buffer = larger;
    }
    while (filled < octets) {
      const read = await socket.read(buffer.subarray(filled));
      if (read === null) {
        throw new Error(`Cannot read an answer: the connection ended after ${filled} octets`);
      }
      filled += read;
    }
  };

  const readHead = async (): Promise<{ text: string; octets: number }> => {
    for (let from = 0;;) {
      const at = indexOfEnd(buffer.subarray(0, filled), from);
      if (at >= 0) return { text: latin1.decode(buffer.subarray(0, at)), octets: at + HEAD_END.length };
      from = Math.max(0, filled - HEAD_END.length);
      await fillTo(filled + 1);
    }
  };

  return {
    async exchange(request) {
      filled = 0;
      for (let sent = 0; sent < request.length;) sent += await socket.write(request.subarray(sent));
      const head = await readHead();
      const { status, bodyOctets } = readStatus(head.text);
      await fillTo(head.octets + bodyOctets);
      return { status, body: buffer.subarray(head.octets, head.octets + bodyOctets) };
    },
    [Symbol.dispose]: () => socket.close(),
  };
}

function indexOfEnd(octets: Uint8Array, from: number): number {
  for (let at = octets.indexOf(HEAD_END[0], from); at >= 0; at = octets.indexOf(HEAD_END[0], at + 1)) {
    if (HEAD_END.every((octet, i) => octets[at + i] === octet)) return at;
  }
  return -1;
}

/** The fields of an answer's head. Throws when it has no length of the body. */
export function readStatus(head: string): { status: number; bodyOctets: number } {
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
  const length = /\r\ncontent-length: *(\d{1,9})/i.exec(head)?.[1];
  if (!Number.isInteger(status)) throw new Error(`Cannot read an answer: it begins "${head.slice(0, 40)}"`);
  if (status === 204 || status === 304) return { status, bodyOctets: 0 };
  if (length === undefined) throw new Error("Cannot read an answer: it has no Content-Length");
  return { status, bodyOctets: Number(length) };
}
