// HTTP as octets: requests that no well-behaved client sends, from any address of this host.

import { connect, type Socket } from "node:net";

export interface RawAnswer {
  readonly status: number;
  /** The whole answer, head and body. */
  readonly text: string;
  /** Octets of the body that were sent before the answer arrived. */
  readonly sentOctets: number;
}

export interface RawOptions {
  readonly httpUrl: string;
  /**
   * Request line and headers, each with its line end, without the empty line. `Host` and `Connection: close` are added.
   */
  readonly head: string;
  /** Parts of the body; no more are read after an answer. */
  readonly body?: Iterable<Uint8Array>;
  /** Milliseconds between two parts. */
  readonly paceMs?: number;
  /** The source address. */
  readonly from?: string;
  readonly timeoutMs?: number;
}

/** Sends, and reads until the answer is complete. Throws when none arrives in time. */
export async function sendRaw(options: RawOptions): Promise<RawAnswer> {
  const { httpUrl, head, body = [], paceMs = 0, from = "127.0.0.1", timeoutMs = 60_000 } = options;
  const { hostname, port, host } = new URL(httpUrl);
  const socket = connect({ host: hostname, port: Number(port), localAddress: from });
  const chunks: Uint8Array[] = [];
  const ended = new Promise<void>((resolve) => {
    socket.on("data", (chunk: Uint8Array) => {
      chunks.push(chunk);
      if (isWhole(chunks)) socket.destroy();
    });
    socket.on("close", () => resolve());
    // A server that has answered may reset the rest of the request.
    socket.on("error", () => socket.destroy());
  });
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const [line, ...rest] = head.split("\r\n");
  socket.write([line, `Host: ${host}`, "Connection: close", ...rest].join("\r\n") + "\r\n");
  let sentOctets = 0;
  for (const piece of body) {
    if (chunks.length > 0 || socket.destroyed) break;
    await write(socket, piece);
    sentOctets += piece.length;
    if (paceMs > 0) await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, paceMs))]);
  }
  await ended;
  clearTimeout(timer);
  const text = textOf(chunks);
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? [];
  if (status === undefined) {
    throw new Error(`There was no answer to ${JSON.stringify(line)}: ${JSON.stringify(text)}`);
  }
  return { status: Number(status), text, sentOctets };
}

function textOf(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("");
}

/** A server that answers early keeps the connection open for the rest of the request, so its end proves nothing. */
function isWhole(chunks: readonly Uint8Array[]): boolean {
  const text = textOf(chunks);
  const end = text.indexOf("\r\n\r\n");
  const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(text.slice(0, end + 2)) ?? [];
  return end >= 0 && length !== undefined &&
    new TextEncoder().encode(text.slice(end + 4)).length >= Number(length);
}

/** Resolves when the part was sent, or the connection has ended. */
function write(socket: Socket, piece: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (socket.write(piece)) return setTimeout(resolve, 0);
    const go = () => {
      socket.off("drain", go);
      socket.off("close", go);
      resolve();
    };
    socket.on("drain", go);
    socket.on("close", go);
  });
}
