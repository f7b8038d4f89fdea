// One HTTP or HTTPS server over node:http. Deno.serve lacks deadlines for request heads and TLS handshakes, and a limit on
// connections. It cannot close a silent TLS handshake.

import http, { type IncomingMessage, type Server, type ServerResponse } from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import { createRangeCheck } from "../addresses.ts";
import type { SocketAddress } from "../config/config.ts";
import type { LiveSettings } from "../config/live_settings.ts";
import { faultMessage, type Log } from "../log.ts";
import type { Clock } from "../runtime.ts";
import { stopReadingBelow } from "../tls_listener.ts";
import {
  type ConnectionTable,
  createConnectionTable,
  createUnsentOctets,
  type UnsentOctets,
  type UnsentResponse,
} from "./connection_table.ts";

/** The deadline of a TLS handshake, and of a request head: from the connection, or from the first octet of the next request. */
const SILENCE_MS = 10_000;
/** The deadline of a whole request. The request gate refuses a slow body earlier. */
const REQUEST_MS = 30_000;
/** Longer than reverse proxies keep an idle connection (60 s), so that the proxy closes first. */
const KEEP_ALIVE_MS = 65_000;
const CHECK_MS = 500;
const MAX_HEAD_OCTETS = 16 * 1024;

export interface PeerInfo {
  readonly remoteAddress: string;
}

export interface HttpApp {
  (request: Request, info: PeerInfo): Promise<Response>;
  /** Answers a request of the control socket: only the console's API, for the commands of this machine. */
  answerControlSocket(request: Request): Promise<Response>;
  /** Ends the event streams, so that the listener can stop. */
  close(): void;
}

/** A certificate with its intermediates, and its key, as PEM. */
export interface HttpCertificate {
  readonly certPem: string;
  readonly keyPem: string;
}

interface HttpServerDeps {
  readonly listen: SocketAddress;
  readonly tls: HttpCertificate | null;
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

export interface HttpServer {
  readonly address: SocketAddress;
  readonly connections: ConnectionTable;
  /** Accepts no more connections, and closes those without a request in progress. Others continue. */
  stopAccepting(): void;
  /** For the handshakes from now on. Only with TLS. */
  useCertificate(certificate: HttpCertificate): void;
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
  const tlsOptions = {
    minVersion: "TLSv1.2" as const,
    handshakeTimeout: silenceMs,
    ALPNProtocols: ["http/1.1"],
  };
  const secure = tls === null ? null : https.createServer({ ...limits, ...tlsOptions, ...pairOf(tls) });
  const server: Server = secure ?? http.createServer(limits);
  server.on("secureConnection", stopReadingBelow);
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
        useCertificate: (certificate) => secure?.setSecureContext({ ...tlsOptions, ...pairOf(certificate) }),
      });
    });
  });
}

const pairOf = ({ certPem, keyPem }: HttpCertificate) => ({ cert: certPem, key: keyPem });

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
interface QueuedConnection {
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

// Converts between node:http and the Fetch API: an IncomingMessage becomes a Request, a Response is written to a
// ServerResponse. Reading and writing follow the speed of the peer, and a peer that stops reading is disconnected.

/** A client that reads no part of a response for so long is disconnected. */
const STALLED_MS = 30_000;
/** A response is written in pieces of this size, so that the deadline counts from the last piece that the client read. */
const PIECE_OCTETS = 64 * 1024;
const MAX_DROPPED_OCTETS = 64 * 1024;
const LINGER_MS = 1000;
const MAX_LINGER_OCTETS = 4 * 1024 * 1024;
/** The Fetch API cannot express these methods. OPTIONS is refused in the same way, so it takes their place. */
const NOT_IN_FETCH = new Set(["CONNECT", "TRACE", "TRACK"]);
/** The host of a request without a valid Host; the request gate refuses it. */
const NO_HOST = "invalid";

/** @throws TypeError if the target or a header is not valid in the Fetch API. */
function toRequest(incoming: IncomingMessage, { secure }: { secure: boolean }): Request {
  const headers = toHeaders(incoming.rawHeaders);
  const given = incoming.method ?? "GET";
  const method = NOT_IN_FETCH.has(given) ? "OPTIONS" : given;
  const hasBody = method !== "GET" && method !== "HEAD" && announcesBody(incoming);
  return new Request(toUrl(incoming.url ?? "", { host: headers.get("host"), secure }), {
    method,
    headers,
    body: hasBody ? toBody(incoming) : null,
  });
}

function toHeaders(raw: readonly string[]): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < raw.length; at += 2) headers.append(raw[at] ?? "", raw[at + 1] ?? "");
  return headers;
}

function announcesBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return headers["transfer-encoding"] !== undefined || (length !== undefined && Number(length) > 0);
}

function toUrl(target: string, { host, secure }: { host: string | null; secure: boolean }): string {
  const scheme = secure ? "https" : "http";
  const invalid = `${scheme}://${NO_HOST}${target.startsWith("/") ? target : "/"}`;
  if (/^https?:\/\//i.test(target)) return target;
  if (host === null || !target.startsWith("/") || /[\s/?#@\\]/.test(host)) return invalid;
  const url = `${scheme}://${host}${withoutSteps(target)}`;
  return URL.canParse(url) ? url : invalid;
}

/** RFC 3986 §5.2.4, also percent-encoded. */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?=[/?#]|$)/gi;

/** A URL would resolve `.` and `..`, so that the request would be about another resource than it names. Here, they name nothing. */
function withoutSteps(target: string): string {
  const end = target.search(/[?#]/);
  const path = end < 0 ? target : target.slice(0, end);
  const plain = path.replaceAll(DOT_SEGMENT, (segment) => segment.replaceAll(/\.|%2e/gi, "%252E"));
  return plain + target.slice(path.length);
}

/** The body as a stream. It reads from the connection only when a reader asks for data. */
function toBody(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let detach = (): void => undefined;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const onData = (chunk: Uint8Array): void => {
        controller.enqueue(new Uint8Array(chunk));
        incoming.pause();
      };
      const onEnd = (): void => {
        detach();
        controller.close();
      };
      const onBroken = (): void => {
        detach();
        controller.error(new Error("the connection closed before the body was complete"));
      };
      incoming.pause();
      incoming.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken);
      detach = () => {
        incoming.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken);
      };
    },
    pull: () => void incoming.resume(),
    cancel: () => detach(),
  }, { highWaterMark: 0 });
}

interface WriteDeps {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly clock: Clock;
  /** Octets that wait for clients, of all connections. */
  readonly unsent: UnsentOctets;
  /** 30 s unless given. */
  readonly stalledMs?: number;
}

/** Writes a response. Resolves when it is sent, or when the client is gone. Never rejects. */
async function writeResponse(response: Response, deps: WriteDeps): Promise<void> {
  const { incoming, outgoing, clock } = deps;
  const writer = new ResponseWriter(deps);
  const headers = toNodeHeaders(response.headers);
  const leavesBody = !incoming.complete && !isSmallBody(incoming);
  if (leavesBody) headers.push("connection", "close");
  const withoutBody = incoming.method === "HEAD" || response.status === 204 || response.status === 304;
  const reader = response.body?.getReader();
  outgoing.on("close", () => {
    if (!outgoing.writableFinished) reader?.cancel("the client is gone").catch(() => undefined);
  });
  if (outgoing.destroyed) return;
  try {
    if (reader === undefined) {
      outgoing.writeHead(response.status, response.status === 204 ? headers : withLength(headers, 0));
      return await writer.finish();
    }
    const first = await reader.read();
    const second = first.done ? null : reader.read();
    const isWhole = first.done || await isDoneNow(second);
    if (isWhole) {
      const octets = first.value ?? new Uint8Array();
      outgoing.writeHead(response.status, withLength(headers, octets.length));
      if (leavesBody) {
        outgoing.write(octets);
        await dropRest(incoming, clock);
        return await writer.finish();
      }
      return await writer.finish(withoutBody ? undefined : octets);
    }
    outgoing.writeHead(response.status, headers);
    if (withoutBody) {
      await reader.cancel();
      return await writer.finish();
    }
    await writer.write(first.value ?? new Uint8Array());
    let step = await second;
    while (step !== null && !step.done && !outgoing.destroyed) {
      await writer.write(step.value);
      step = await reader.read();
    }
    await writer.finish();
  } catch (_broken) {
    // The stream of the response failed, or the client is gone. The response must not look complete.
    outgoing.destroy();
  }
}

/** A body of text or octets ends within a few microtasks; any other body is a stream. */
async function isDoneNow(next: Promise<ReadableStreamReadResult<Uint8Array>> | null): Promise<boolean> {
  let done = false;
  void next?.then((step) => done = step.done, () => undefined);
  for (let turn = 0; turn < 8 && !done; turn++) await undefined;
  return done;
}

/** Whether the rest of an unread body is read and dropped, so that the connection can be reused. A larger rest is not read. */
function isSmallBody({ headers }: IncomingMessage): boolean {
  return Number(headers["content-length"] ?? Infinity) <= MAX_DROPPED_OCTETS;
}

/**
 * Reads and drops further data of a client for a short time. Closing a connection with unread data resets it, and the client
 * would lose the response.
 */
function dropRest(incoming: IncomingMessage, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    let octets = 0;
    const stop = clock.after(LINGER_MS, () => settle());
    const settle = (): void => {
      stop();
      resolve();
    };
    incoming.on("data", (chunk: Uint8Array) => {
      octets += chunk.length;
      if (octets > MAX_LINGER_OCTETS) settle();
    });
    incoming.on("end", settle).on("close", settle).resume();
  });
}

function toNodeHeaders(headers: Headers): string[] {
  const flat: string[] = [];
  for (const [name, value] of headers) flat.push(name, value);
  return flat;
}

function withLength(headers: string[], octets: number): string[] {
  return headers.includes("content-length") ? headers : [...headers, "content-length", String(octets)];
}

/** Writes at the speed of the client. Disconnects a client that reads nothing for {@link STALLED_MS}. */
class ResponseWriter {
  readonly #deps: WriteDeps;

  constructor(deps: WriteDeps) {
    this.#deps = deps;
  }

  /** Resolves when the client has read the octets, or is gone. */
  async write(octets: Uint8Array): Promise<void> {
    await this.#counted(octets.length, (counted) => this.#writePieces(octets, counted));
  }

  /** Writes the last octets and ends the response. */
  async finish(octets = new Uint8Array()): Promise<void> {
    const { outgoing } = this.#deps;
    await this.#counted(octets.length, async (counted) => {
      const rest = Math.max(0, octets.length - PIECE_OCTETS);
      await this.#writePieces(octets.subarray(0, rest), counted);
      await this.#untilTaken("finish", () => {
        // An ended response emits "finish" once; an empty last piece writes the head.
        if (octets.length === 0) outgoing.end();
        else outgoing.end(octets.subarray(rest));
        return false;
      });
    });
  }

  async #counted(octets: number, write: (counted: UnsentResponse) => Promise<void>): Promise<void> {
    const counted = this.#deps.unsent.add(octets, () => void this.#deps.outgoing.destroy());
    try {
      await write(counted);
    } finally {
      counted.release();
    }
  }

  async #writePieces(octets: Uint8Array, counted: UnsentResponse): Promise<void> {
    const { outgoing } = this.#deps;
    for (let at = 0; at < octets.length && !outgoing.destroyed; at += PIECE_OCTETS) {
      await this.#untilTaken("drain", () => outgoing.write(octets.subarray(at, at + PIECE_OCTETS)));
      counted.progress();
    }
  }

  /** Calls `write`. If it returns `true`, does not wait. Otherwise waits for the event, or for the end of the connection. */
  async #untilTaken(event: "drain" | "finish", write: () => boolean): Promise<void> {
    const { outgoing, clock, stalledMs = STALLED_MS } = this.#deps;
    if (outgoing.destroyed) return;
    const taken = Promise.withResolvers<void>();
    const settle = (): void => taken.resolve();
    outgoing.on(event, settle).on("close", settle);
    const stop = clock.after(stalledMs, () => {
      outgoing.destroy();
      settle();
    });
    if (!write()) await taken.promise;
    stop();
    outgoing.off(event, settle).off("close", settle);
  }
}

// The reverse proxies whose X-Forwarded-For counts, as the settings say now.

/** Whether an address is a trusted proxy, as the settings say now. */
export function followRanges(
  settings: Pick<LiveSettings, "config" | "onChange">,
): (address: string) => boolean {
  const { http } = settings.config;
  let isProxy = createRangeCheck(http.trustedProxies);
  settings.onChange((changed) => {
    if (changed.has("http.trusted_proxies")) isProxy = createRangeCheck(http.trustedProxies);
  });
  return (address) => isProxy(address);
}
