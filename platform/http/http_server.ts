// One HTTP or HTTPS server over node:http. Deno.serve lacks deadlines for request heads and TLS handshakes, and a limit on
// connections. It cannot close a silent TLS handshake.

import http, { type IncomingMessage, type Server, type ServerResponse } from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import type { SocketAddress } from "../config/config.ts";
import type { Log } from "../log.ts";
import { faultMessage } from "../log_line.ts";
import type { Clock } from "../runtime.ts";
import {
  type ConnectionTable,
  createConnectionTable,
  createUnsentOctets,
  type UnsentOctets,
} from "./connection_table.ts";
import { toRequest, writeResponse } from "./fetch_bridge.ts";

/** The deadline of a TLS handshake, and of a request head: from the connection, or from the first octet of the next request. */
const SILENCE_MS = 10_000;
/** The deadline of a whole request. The request gate refuses a slow body earlier. */
const REQUEST_MS = 30_000;
/** Longer than reverse proxies keep an idle connection (60 s), so that the proxy closes first. */
const KEEP_ALIVE_MS = 65_000;
const CHECK_MS = 500;
const MAX_HEAD_OCTETS = 16 * 1024;

/** The peer of a request. */
export interface PeerInfo {
  readonly remoteAddress: string;
}

/** Answers requests. */
export interface HttpApp {
  (request: Request, info: PeerInfo): Promise<Response>;
  /** Answers a request of the control socket: only the console's API, for the commands of this machine. */
  answerControlSocket(request: Request): Promise<Response>;
  /** Ends the event streams, so that the listener can stop. */
  close(): void;
}

export interface HttpServerDeps {
  readonly listen: SocketAddress;
  readonly tls: { readonly certPem: string; readonly keyPem: string } | null;
  readonly app: HttpApp | Promise<HttpApp>;
  readonly log: Log;
  readonly clock: Clock;
  readonly maxConnections: number;
  /** For request heads and TLS handshakes; 10 s unless given. */
  readonly silenceMs?: number;
  /** How long a response waits for a client that reads nothing; 30 s unless given. */
  readonly stalledMs?: number;
  readonly isProxy?: (address: string) => boolean;
  /** Called for each accepted connection, with the port of the peer. */
  readonly onConnection: (peerPort: number) => void;
  /** The server can accept no more connections. */
  readonly onFailure: (fault: Error) => void;
}

/** A server that listens. */
export interface HttpServer {
  readonly address: SocketAddress;
  readonly connections: ConnectionTable;
  /** Accepts no more connections, and closes those without a request in progress. Others continue. */
  stopAccepting(): void;
}

/** Starts a server. Rejects with the fault of the operating system if the address cannot be used. */
export function startHttpServer(deps: HttpServerDeps): Promise<HttpServer> {
  const { tls, listen, silenceMs = SILENCE_MS } = deps;
  const connections = createConnectionTable(deps);
  let accepting = true;
  const limits = {
    headersTimeout: silenceMs,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: CHECK_MS,
    maxHeaderSize: MAX_HEAD_OCTETS,
    // The request gate refuses a missing Host, with the security headers.
    requireHostHeader: false,
  };
  const server: Server = tls === null ? http.createServer(limits) : https.createServer({
    ...limits,
    cert: tls.certPem,
    key: tls.keyPem,
    minVersion: "TLSv1.2",
    handshakeTimeout: silenceMs,
    ALPNProtocols: ["http/1.1"],
  });
  const queue = createRequestQueue();
  const answerDeps = { ...deps, connections, unsent: createUnsentOctets(), isAccepting: () => accepting };
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse): boolean =>
    queue.add(incoming.socket, () => answer(incoming, outgoing, answerDeps));

  server.on("connection", (socket: Socket) => {
    const peer = { address: socket.remoteAddress ?? "", port: socket.remotePort ?? 0 };
    deps.onConnection(peer.port);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => connections.remove(peer));
    const added = connections.add({ ...peer, close: () => void socket.destroy() });
    if (!added || !accepting) socket.destroy();
  });
  server.on("request", (incoming: IncomingMessage, outgoing: ServerResponse) => {
    // node:http continues to parse octets of a closed connection, up to 1,000 requests. Only an error in this callback stops that;
    // node:http reports it as "clientError".
    if (!handle(incoming, outgoing)) throw new Error("the connection is closed");
  });
  // Handled like every other request, which results in 405.
  server.on("connect", (incoming: IncomingMessage, socket: Socket) => {
    const outgoing = new http.ServerResponse(incoming);
    outgoing.shouldKeepAlive = false;
    outgoing.assignSocket(socket);
    outgoing.on("finish", () => socket.destroySoon());
    handle(incoming, outgoing);
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: listen.hostname, port: listen.port, backlog: 511 }, () => {
      server.off("error", reject);
      server.on("error", deps.onFailure);
      const bound = server.address();
      const port = typeof bound === "object" && bound !== null ? bound.port : listen.port;
      resolve({
        address: { hostname: listen.hostname, port },
        connections,
        stopAccepting() {
          accepting = false;
          server.close();
          connections.close("idle");
        },
      });
    });
  });
}

interface AnswerDeps extends HttpServerDeps {
  readonly connections: ConnectionTable;
  readonly unsent: UnsentOctets;
  readonly isAccepting: () => boolean;
}

/** Answers one request. Never rejects. */
async function answer(incoming: IncomingMessage, outgoing: ServerResponse, deps: AnswerDeps): Promise<void> {
  const { connections, log, clock, unsent, stalledMs } = deps;
  // The previous response closed the connection.
  if (outgoing.socket === null) return;
  const { socket } = incoming;
  const peer = { address: socket.remoteAddress ?? "", port: socket.remotePort ?? 0 };
  connections.begin(peer);
  // A client that disconnects while a response is written causes errors here. "close" reports the end.
  outgoing.on("error", () => outgoing.destroy());
  try {
    const request = toRequest(incoming, { secure: deps.tls !== null });
    const response = await (await deps.app)(request, { remoteAddress: peer.address });
    if (!deps.isAccepting()) outgoing.setHeader("connection", "close");
    await writeResponse(response, { incoming, outgoing, clock, unsent, stalledMs });
  } catch (fault) {
    log.warn("an HTTP response was not sent", { error: faultMessage(fault) });
    outgoing.destroy();
  } finally {
    connections.end(peer);
    if (!deps.isAccepting()) socket.destroySoon();
  }
}

/** The part of a connection that {@link createRequestQueue} uses. */
export interface QueuedConnection {
  readonly destroyed: boolean;
  destroy(): unknown;
}

/** One in progress, and one that waits. */
const MAX_REQUESTS = 2;

interface PendingRequests {
  count: number;
  /** Resolves after the last request. */
  last: Promise<void>;
}

/** Answers the requests of each connection one after another. */
export function createRequestQueue() {
  const pending = new WeakMap<QueuedConnection, PendingRequests>();
  return {
    /**
     * Runs `answer` after the previous response of the connection. `answer` never rejects.
     *
     * @returns false if the connection is closed, or was closed now because it sent too many requests.
     */
    add(connection: QueuedConnection, answer: () => Promise<void>): boolean {
      if (connection.destroyed) return false;
      const queue = pending.get(connection) ?? { count: 0, last: Promise.resolve() };
      if (queue.count === MAX_REQUESTS) {
        connection.destroy();
        return false;
      }
      pending.set(connection, queue);
      queue.count += 1;
      const run = async (): Promise<void> => {
        if (!connection.destroyed) await answer();
        queue.count -= 1;
      };
      queue.last = queue.count === 1 ? run() : queue.last.then(run);
      return true;
    },
  };
}
