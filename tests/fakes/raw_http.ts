// A small HTTP/1.1 server over TCP for the fakes. It can cut an answer short, send nothing, or send slowly, and it
// counts the connections that the client opens.

/** A request as it arrived. `target` is the path with its query, undecoded; `body` the raw text. */
export interface RawRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Headers;
  /** The head as received on the wire, with the request line. */
  readonly head: string;
  readonly body: string;
}

/** The answer of the server without a fault. */
export interface RawReply {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body: string;
}

/** A failure of a service. If the kind of reply matters, the request was processed before. */
export type ServiceFault =
  /** This status without processing; `body` as given, or else an error body of the service. */
  | { kind: "status"; status: number; headers?: Record<string, string>; body?: string }
  /** Processed, but never answered. */
  | { kind: "hang" }
  /** Processed, then the connection is closed without an octet. */
  | { kind: "close" }
  /** Declares the whole body, sends half of it, closes. */
  | { kind: "truncated" }
  /** One octet of the body every `everyMs` (default 50). */
  | { kind: "slow_body"; everyMs?: number }
  /** The right answer, `delayMs` late. */
  | { kind: "late"; delayMs: number }
  | { kind: "bad_json" }
  /** The right body as text/html. */
  | { kind: "wrong_type" }
  /** The right record with its booleans as texts. */
  | { kind: "wrong_shape" }
  /** `octets` (default 5,000,000) of valid JSON. */
  | { kind: "huge"; octets?: number }
  /** `depth` (default 100,000) nested arrays. */
  | { kind: "deep"; depth?: number }
  /** 302 to `to` (default the server's own address). */
  | { kind: "redirect"; to?: string }
  /** The right record with another identifier. */
  | { kind: "wrong_id" };

/** The decision of the handler for one request. */
export interface Handling {
  readonly reply: RawReply;
  readonly fault?: ServiceFault;
}

/** A running server. */
export interface RawServer {
  readonly url: string;
  /** Highest number of TCP connections that were open at once. */
  mostConnections(): number;
  /** Highest number of requests that were in progress at once. */
  mostUnderWay(): number;
  underWay(): number;
  /** From now on requests wait until the returned function is called. */
  hold(): () => void;
  /** Closes the listener and every connection, and waits for both. A second call does nothing. */
  close(): Promise<void>;
}

const MAX_HEAD_OCTETS = 64 * 1024;
const MAX_BODY_OCTETS = 1024 * 1024;

/** Starts on a free port of the loopback address. */
export function startRawServer(handle: (request: RawRequest) => Handling): RawServer {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${listener.addr.port}`;
  const connections = new Set<Deno.TcpConn>();
  const loops = new Set<Promise<void>>();
  const closing = Promise.withResolvers<void>();
  let gate: PromiseWithResolvers<void> | null = null;
  let mostConnections = 0;
  let underWay = 0;
  let mostUnderWay = 0;

  const answerOne = async (connection: Deno.TcpConn, request: RawRequest): Promise<boolean> => {
    underWay++;
    mostUnderWay = Math.max(mostUnderWay, underWay);
    try {
      if (gate !== null) await Promise.race([gate.promise, closing.promise]);
      return await deliver(connection, handle(request), { url, closing: closing.promise });
    } finally {
      underWay--;
    }
  };

  const serve = async (connection: Deno.TcpConn): Promise<void> => {
    const reader = createRequestReader(connection);
    try {
      for (;;) {
        const request = await reader.next();
        if (request === null || !await answerOne(connection, request)) return;
      }
    } catch (fault) {
      if (!isConnectionLoss(fault)) throw fault;
    } finally {
      connections.delete(connection);
      closeQuietly(connection);
    }
  };

  const accept = async (): Promise<void> => {
    for await (const connection of listener) {
      connections.add(connection);
      mostConnections = Math.max(mostConnections, connections.size);
      const loop = serve(connection);
      loops.add(loop);
      loop.finally(() => loops.delete(loop));
    }
  };
  const accepting = accept();

  return {
    url,
    mostConnections: () => mostConnections,
    mostUnderWay: () => mostUnderWay,
    underWay: () => underWay,
    hold() {
      const held = Promise.withResolvers<void>();
      gate = held;
      return () => {
        gate = null;
        held.resolve();
      };
    },
    async close() {
      closing.resolve();
      closeQuietly(listener);
      for (const connection of connections) closeQuietly(connection);
      await Promise.all([accepting, ...loops]);
    },
  };
}

function createRequestReader(connection: Deno.TcpConn) {
  let buffered: Uint8Array = new Uint8Array(0);
  const more = async (): Promise<boolean> => {
    const chunk = new Uint8Array(16 * 1024);
    const count = await connection.read(chunk);
    if (count === null) return false;
    const joined = new Uint8Array(buffered.length + count);
    joined.set(buffered);
    joined.set(chunk.subarray(0, count), buffered.length);
    buffered = joined;
    return true;
  };
  const take = (octets: number): string => {
    const text = new TextDecoder().decode(buffered.subarray(0, octets));
    buffered = buffered.slice(octets);
    return text;
  };
  return {
    /** The next request, or `null` when the peer sends no more. */
    async next(): Promise<RawRequest | null> {
      let end = endOfHead(buffered);
      while (end < 0) {
        if (buffered.length > MAX_HEAD_OCTETS || !await more()) return null;
        end = endOfHead(buffered);
      }
      const head = take(end + 4);
      const headers = readHeaders(head);
      const length = Number(headers.get("content-length") ?? 0);
      if (length > MAX_BODY_OCTETS) return null;
      while (buffered.length < length) if (!await more()) return null;
      const [method = "", target = ""] = head.split("\r\n", 1)[0]?.split(" ") ?? [];
      return { method, target, headers, head, body: take(length) };
    },
  };
}

const HEAD_END = [13, 10, 13, 10];

function endOfHead(octets: Uint8Array): number {
  return octets.findIndex((_, at) => HEAD_END.every((octet, offset) => octets[at + offset] === octet));
}

function readHeaders(head: string): Headers {
  const headers = new Headers();
  for (const line of head.split("\r\n").slice(1)) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}

/** Sends the reply with the fault; returns whether the connection may carry another request. */
async function deliver(
  connection: Deno.TcpConn,
  { reply, fault }: Handling,
  { url, closing }: { url: string; closing: Promise<void> },
): Promise<boolean> {
  switch (fault?.kind) {
    case "hang":
      await Promise.race([connection.read(new Uint8Array(1)), closing]);
      return false;
    case "close":
      return false;
    case "truncated":
      await write(connection, headOf(reply) + reply.body.slice(0, Math.floor(reply.body.length / 2)));
      return false;
    case "slow_body":
      await trickle(connection, reply, { everyMs: fault.everyMs ?? 50, closing });
      return false;
    case "late":
      await pause(fault.delayMs, closing);
      await write(connection, headOf(reply) + reply.body);
      return true;
    default: {
      const distorted = distort(reply, fault, url);
      await write(connection, headOf(distorted) + distorted.body);
      return true;
    }
  }
}

/** The reply after faults that only change its content. */
function distort(reply: RawReply, fault: ServiceFault | undefined, url: string): RawReply {
  switch (fault?.kind) {
    case "bad_json":
      return { ...reply, body: '{"id": "' };
    case "wrong_type":
      return { ...reply, headers: { "Content-Type": "text/html; charset=utf-8" } };
    case "wrong_shape":
      return { ...reply, body: reply.body.replace(/: ?(true|false)\b/g, ':"$1"') };
    case "huge":
      return { ...reply, body: `{"filler":"${"x".repeat(fault.octets ?? 5_000_000)}"}` };
    case "deep": {
      const depth = fault.depth ?? 100_000;
      return { ...reply, body: "[".repeat(depth) + "]".repeat(depth) };
    }
    case "redirect":
      return { status: 302, headers: { Location: fault.to ?? `${url}/elsewhere` }, body: "" };
    default:
      return reply;
  }
}

function headOf(reply: RawReply): string {
  const lines = [`HTTP/1.1 ${reply.status} Whatever`];
  for (const [name, value] of Object.entries(reply.headers ?? {})) lines.push(`${name}: ${value}`);
  lines.push(`Content-Length: ${new TextEncoder().encode(reply.body).length}`, "", "");
  return lines.join("\r\n");
}

async function write(connection: Deno.TcpConn, text: string): Promise<void> {
  const octets = new TextEncoder().encode(text);
  for (let at = 0; at < octets.length;) at += await connection.write(octets.subarray(at));
}

async function trickle(
  connection: Deno.TcpConn,
  reply: RawReply,
  { everyMs, closing }: { everyMs: number; closing: Promise<void> },
): Promise<void> {
  await write(connection, headOf(reply));
  let closed = false;
  closing.then(() => closed = true);
  for (const character of reply.body) {
    await pause(everyMs, closing);
    if (closed) return;
    await write(connection, character);
  }
}

async function pause(delayMs: number, closing: Promise<void>): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, delayMs);
  await Promise.race([over.promise, closing]);
  clearTimeout(timer);
}

const CONNECTION_LOSS = [
  ...[Deno.errors.ConnectionReset, Deno.errors.BrokenPipe, Deno.errors.BadResource],
  ...[Deno.errors.Interrupted, Deno.errors.UnexpectedEof],
];

function isConnectionLoss(fault: unknown): boolean {
  return CONNECTION_LOSS.some((kind) => fault instanceof kind);
}

function closeQuietly(resource: { close(): void }): void {
  try {
    resource.close();
  } catch (fault) {
    if (!(fault instanceof Deno.errors.BadResource)) throw fault;
  }
}
