// A RADIUS client for tests: sends, retransmits, waits with a deadline, and checks every reply.

import {
  buildRequest,
  type BuiltRequest,
  readReply,
  type Reply,
  type RequestParts,
} from "./radius_packets.ts";

/** The address of the server, and the secret shared with it. */
export interface ClientOptions {
  readonly port: number;
  readonly secret: string;
  readonly hostname?: string;
}

/** The wait for each try, and the number of tries. */
export interface Patience {
  readonly timeoutMs?: number;
  readonly tries?: number;
}

/** The packets that a client's socket receives, from {@link RadiusClient.listen} on until it is disposed of. */
export interface Heard extends Disposable {
  readonly datagrams: readonly Uint8Array[];
}

/** A client with one socket, so one source port. Close it, or declare it with `using`. */
export interface RadiusClient extends Disposable {
  /**
   * Builds a request and waits for its reply; without an answer the same datagram is sent again. Throws when no reply
   * arrives.
   */
  ask(parts: RequestParts, patience?: Patience): Promise<Reply>;
  /** The same with an existing request: for retransmissions and re-issued requests. */
  exchange(request: BuiltRequest, patience?: Patience): Promise<Reply>;
  /** Builds a request without sending it. */
  build(parts: RequestParts): BuiltRequest;
  /** Sends octets unchanged. */
  sendRaw(bytes: Uint8Array): Promise<void>;
  /** Every packet that arrived. To prove that there was no reply, read it after the reply to a later request. */
  listen(): Heard;
  /** Everything that arrives within `forMs`. */
  collect(forMs: number): Promise<Uint8Array[]>;
  close(): void;
}

/** Loopback is fast; only held requests take longer, and their tests set this. */
const DEFAULT_PATIENCE = { timeoutMs: 5000, tries: 3 } as const;

/** Opens a client on a free port of the loopback interface. */
export function openRadiusClient(options: ClientOptions): RadiusClient {
  const hostname = options.hostname ?? "127.0.0.1";
  const socket = Deno.listenDatagram({ transport: "udp", hostname, port: 0 });
  const server: Deno.NetAddr = { transport: "udp", hostname, port: options.port };
  const listeners = new Set<(bytes: Uint8Array) => void>();
  const pump = receiveAll(socket, listeners);
  let identifier = Math.floor(Math.random() * 256);

  const build = (parts: RequestParts) => {
    identifier = (identifier + 1) % 256;
    return buildRequest(options.secret, { identifier, ...parts });
  };
  const exchange = async (request: BuiltRequest, patience: Patience = {}) => {
    const { timeoutMs, tries } = { ...DEFAULT_PATIENCE, ...patience };
    for (let attempt = 1; attempt <= tries; attempt++) {
      const arrival = nextWith(listeners, { identifier: request.identifier, timeoutMs });
      await socket.send(request.bytes, server);
      const bytes = await arrival;
      if (bytes !== null) return readReply(bytes, request, options.secret);
    }
    throw new Error(`No reply after ${tries} tries of ${timeoutMs} ms`);
  };
  const listen = (): Heard => {
    const datagrams: Uint8Array[] = [];
    const note = (bytes: Uint8Array) => void datagrams.push(bytes);
    listeners.add(note);
    return { datagrams, [Symbol.dispose]: () => void listeners.delete(note) };
  };
  const close = () => {
    socket.close();
    pump.stop();
  };
  return {
    build,
    exchange,
    ask: (parts, patience) => exchange(build(parts), patience),
    async sendRaw(bytes) {
      await socket.send(bytes, server);
    },
    listen,
    async collect(forMs) {
      using heard = listen();
      await new Promise((resolve) => setTimeout(resolve, forMs));
      return [...heard.datagrams];
    },
    close,
    [Symbol.dispose]: close,
  };
}

function nextWith(
  listeners: Set<(bytes: Uint8Array) => void>,
  { identifier, timeoutMs }: { identifier: number; timeoutMs: number },
): Promise<Uint8Array | null> {
  return new Promise((resolve) => {
    const settle = (bytes: Uint8Array | null) => {
      clearTimeout(timer);
      listeners.delete(note);
      resolve(bytes);
    };
    const note = (bytes: Uint8Array) => {
      if (bytes[1] === identifier) settle(bytes);
    };
    const timer = setTimeout(() => settle(null), timeoutMs);
    listeners.add(note);
  });
}

function receiveAll(
  socket: Deno.DatagramConn,
  listeners: ReadonlySet<(bytes: Uint8Array) => void>,
): { stop(): void } {
  let stopped = false;
  const loop = async () => {
    while (!stopped) {
      try {
        const [bytes] = await socket.receive(new Uint8Array(4200));
        for (const listener of [...listeners]) listener(bytes);
      } catch (fault) {
        if (stopped || fault instanceof Deno.errors.BadResource || fault instanceof Deno.errors.Interrupted) {
          return;
        }
        // An ICMP "port unreachable" appears on the next receive; the deadline of the exchange handles it.
        if (!(fault instanceof Deno.errors.ConnectionRefused)) throw fault;
      }
    }
  };
  void loop();
  return {
    stop() {
      stopped = true;
    },
  };
}
