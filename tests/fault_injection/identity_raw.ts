// HTTP as octets: requests that no well-behaved client sends, from whatever address of this host.

import { connect, type Socket } from "node:net";

export interface RawAnswer {
  readonly status: number;
  /** Everything that came, head and body. */
  readonly text: string;
  /** Octets of the body that were sent before the answer was there. */
  readonly sentOctets: number;
}

export interface RawOptions {
  readonly httpUrl: string;
  /** Request line and headers, each with its line end, without the empty line. `Host` and `Connection: close` are added. */
  readonly head: string;
  /** Pieces of the body; no more is taken once there is an answer. */
  readonly body?: Iterable<Uint8Array>;
  /** Milliseconds between two pieces. */
  readonly paceMs?: number;
  /** The address that it comes from. */
  readonly from?: string;
  readonly timeoutMs?: number;
}

/** Sends, and reads until the answer is whole. Throws when there is none in time. */
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
    // A server that has answered may reset what is still being sent.
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

/** A server that answers early keeps the connection open for what is still to come, so its end says nothing. */
function isWhole(chunks: readonly Uint8Array[]): boolean {
  const text = textOf(chunks);
  const end = text.indexOf("\r\n\r\n");
  const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(text.slice(0, end + 2)) ?? [];
  return end >= 0 && length !== undefined &&
    new TextEncoder().encode(text.slice(end + 4)).length >= Number(length);
}

/** Resolves when the piece is on its way, or the connection is gone. */
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
