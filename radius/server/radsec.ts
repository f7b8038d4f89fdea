// The TLS connections of RADIUS clients: RADIUS/TLS (RFC 6614) and RADIUS/1.1 (RFC 9765). Finds the client of a certificate, splits the octets
// into packets, and limits connections, requests in progress, unread answers and idle time.

import type { Log } from "../../platform/log.ts";
import type { CancelTimer, Clock, Random } from "../../platform/runtime.ts";
import type { TlsRefusal, TlsStream } from "../../platform/tls_listener.ts";
import type { SharedSecret } from "../protocol/authenticity.ts";
import type { DropReason } from "../protocol/drop_reasons.ts";
import { PACKET_CODES } from "../protocol/packet.ts";
import {
  type FramingFault,
  PacketStreamReader,
  protectionOf,
  type RadiusProtocol,
  replaceReserved,
  RESERVED_OCTETS,
  tokenOf,
  writeUnavailable,
} from "../protocol/radius_tls.ts";
import type { ClientDiscovery } from "./client_discovery.ts";
import type { Client, Clients } from "./clients.ts";
import type { Counters, FoldedLog } from "./gateway_monitor.ts";
import type { PacketStream, Request } from "./request.ts";
import { SourceRateLimit } from "./unsigned_requests.ts";

interface RadsecDeps {
  readonly clients: Pick<
    Clients,
    "findByCertificate" | "nameByCertificate" | "isTlsAddress" | "mayUseTls" | "revision"
  >;
  readonly discovery: Pick<ClientDiscovery, "isOn" | "recordPeer">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly folded: FoldedLog;
  readonly counters: Pick<Counters, "count">;
}

/** Handles a packet. Returns why the connection must be closed, or `null`. */
type Receive = (stream: PacketStream, octets: Uint8Array) => DropReason | null;

/** Connections of all clients, and of one. */
const MAX_CONNECTIONS = 1000;
export const MAX_CONNECTIONS_PER_CLIENT = 64;
/** Requests in progress on one connection; held logins count. */
export const MAX_IN_PROGRESS_PER_CONNECTION = 1024;
/** A login is held for at most 300 s. After that, its request does not count any more. */
const MAX_PROGRESS_MS = 330_000;
/** Octets of packets before the first valid one. */
export const MAX_OCTETS_BEFORE_VALID = 16_384;
/**
 * Answers that the client has not read, beyond the buffers of the system: more than a client can have requests in progress. Above this, the
 * connection is closed.
 */
export const MAX_UNSENT_OCTETS = 1024 * 1024;
/** For the rest of a packet, and for a client that reads nothing. */
const STALLED_MS = 30_000;
/** Longer than clients keep a connection for their next request. Status-Server counts as use (RFC 3539 §3.4). */
const IDLE_MS = 3_600_000;
const SWEEP_MS = 5000;
/** Handshakes of one source. Many access points can share an address. */
const HANDSHAKE_RATE = { burst: 200, perSecond: 20 };
/** Differs from the numbers of UDP sockets. */
const FIRST_NUMBER = 1_000_000;
/** RFC 5080 §2.2.1, MRD: how long the answer to a request of the gateway is awaited. */
const ANSWER_MS = 30_000;

/** Why a connection was closed by the gateway. */
type CloseReason =
  | DropReason
  | FramingFault
  | "certificate_expired"
  | "authorities_changed"
  | "client_removed"
  | "idle"
  | "incomplete_packet"
  | "nothing_valid"
  | "room_for_others"
  | "slow_reader"
  | "stopping"
  | "token_reused";

/** These are no fault of the client. */
const QUIET_REASONS: ReadonlySet<CloseReason> = new Set([
  "idle",
  "stopping",
  "room_for_others",
  "authorities_changed",
]);

/** A connection that accepts a request of the gateway. */
export interface DisconnectStream {
  readonly secret: SharedSecret;
  /**
   * Sends a request and waits for the answer, which is not verified.
   *
   * @param write returns the request with this Identifier (RADIUS/1.1: Token)
   * @returns `null`: none came in time, or the connection ended
   */
  exchange(
    write: (identifier: number) => Uint8Array,
  ): Promise<{ readonly request: Uint8Array; readonly answer: Uint8Array } | null>;
}

export class RadsecConnections {
  readonly #deps: RadsecDeps;
  readonly #handshakes: SourceRateLimit;
  readonly #connections = new Set<RadsecConnection>();
  #receive: Receive = () => null;
  #listener: { readonly pem: { readonly certPem: string } } | null = null;
  #next = FIRST_NUMBER;
  #cancelSweep: CancelTimer = () => {};

  constructor(deps: RadsecDeps) {
    this.#deps = deps;
    this.#handshakes = new SourceRateLimit(deps.clock, HANDSHAKE_RATE);
  }

  /** Handles packets with `receive` from now on. */
  serve(receive: Receive): void {
    this.#receive = receive;
    this.#sweepLater();
  }

  /** Shows the certificate of the listener of these connections. */
  show(listener: { readonly pem: { readonly certPem: string } }): void {
    this.#listener = listener;
  }

  /** The certificate in use; "" without a listener. */
  get certPem(): string {
    return this.#listener?.pem.certPem ?? "";
  }

  get size(): number {
    return this.#connections.size;
  }

  /** How many connections each client has. */
  byClient(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { client: { name } } of this.#connections) counts.set(name, (counts.get(name) ?? 0) + 1);
    return counts;
  }

  /** Whether this address may begin a handshake now. While an administrator adds a client, any address may show its certificate. */
  mayConnect(source: string): boolean {
    const { clients, discovery } = this.#deps;
    return (clients.mayUseTls(source) || discovery.isOn()) && this.#handshakes.take(source);
  }

  /** Whether this is the address of a client in the settings. */
  isNamed(source: string): boolean {
    return this.#deps.clients.isTlsAddress(source);
  }

  /** Logs and counts a connection that was not accepted. */
  refused(
    { source, reason, detail }: {
      source: string;
      reason: TlsRefusal | "unknown_certificate" | "needs_tls_1_3" | "too_many_connections";
      detail: string;
    },
  ): void {
    const { counters, folded } = this.#deps;
    counters.count("tls_refused");
    folded.write(`tls ${reason}`, {
      level: reason === "resumed_session" ? "debug" : "warn",
      message: `RADIUS over TLS: refused: ${REFUSALS[reason]}`,
      fields: { reason, source, ...(detail === "" ? {} : { detail }) },
    });
  }

  /** Takes a connection over after its handshake. */
  accept(stream: TlsStream): void {
    const { clients, discovery } = this.#deps;
    const { peer } = stream;
    const refuse = (reason: Parameters<RadsecConnections["refused"]>[0]["reason"]): void => {
      stream.destroy();
      const { source, subject, names, fingerprint } = peer;
      this.refused({ source, reason, detail: [subject, ...names, `SHA-256 ${fingerprint}`].join("; ") });
    };
    const protocol: RadiusProtocol = peer.protocol === "radius/1.1" ? "radius/1.1" : "radius/1.0";
    // RFC 9765 §3.5.
    if (protocol === "radius/1.1" && !peer.isTls13) return refuse("needs_tls_1_3");
    const client = clients.findByCertificate({ ...peer, protocol });
    if (client === null) {
      discovery.recordPeer({ ...peer, client: clients.nameByCertificate(peer) });
      return refuse("unknown_certificate");
    }
    if (!this.#makeRoom(client.name)) return refuse("too_many_connections");
    const connection = new RadsecConnection({
      ...this.#deps,
      ...{ stream, client, protocol, number: this.#next++ },
      receive: (from, octets) => this.#receive(from, octets),
      onClosed: () => this.#connections.delete(connection),
    });
    this.#connections.add(connection);
    connection.start();
  }

  /** The connection on which a client accepts Disconnect-Requests: one of this source, otherwise another one. */
  findDisconnectStream(client: string, source: string): DisconnectStream | null {
    let found: RadsecConnection | null = null;
    for (const one of this.#connections) {
      if (one.isEnding || one.client.name !== client || !one.client.tlsDisconnect) continue;
      if (one.source === source) return one;
      found = one;
    }
    return found;
  }

  /** Closes each connection as soon as it has no request in progress, because its certificate must be verified again. */
  verifyAgain(): void {
    for (const connection of this.#connections) connection.finish("authorities_changed");
  }

  /** Closes the connections. */
  stop(): void {
    this.#cancelSweep();
    for (const connection of this.#connections) connection.close("stopping");
  }

  #makeRoom(client: string): boolean {
    const own = [...this.#connections].filter((one) => one.client.name === client);
    if (own.length >= MAX_CONNECTIONS_PER_CLIENT && !closeLongestIdle(own)) return false;
    return this.#connections.size < MAX_CONNECTIONS || closeLongestIdle([...this.#connections]);
  }

  #sweepLater(): void {
    this.#cancelSweep = this.#deps.clock.after(SWEEP_MS, () => {
      for (const connection of [...this.#connections]) connection.sweep();
      this.#sweepLater();
    });
  }
}

function closeLongestIdle(connections: readonly RadsecConnection[]): boolean {
  let longest: RadsecConnection | null = null;
  for (const one of connections) {
    if (!one.isBusy && (longest === null || one.usedMs < longest.usedMs)) longest = one;
  }
  longest?.close("room_for_others");
  return longest !== null;
}

const REFUSALS = {
  no_certificate: "the client sent no certificate",
  certificate_expired: "the certificate of the client has expired, or is not valid yet",
  certificate_untrusted:
    "the certificate of the client was not issued by an authority in radius.tls_ca, or not for clients",
  no_common_protocol: "the client offers neither radius/1.1 nor radius/1.0 (ALPN)",
  handshake_timeout: "the TLS handshake took too long",
  handshake_failed: "the TLS handshake failed",
  too_many_handshakes:
    "too many TLS handshakes at the same time; the oldest one of the busiest address was closed",
  resumed_session: "a resumed session is not accepted; the client will begin a full handshake",
  unknown_certificate:
    "no client has this certificate, or not at this address; set tls.san or tls.fingerprint of a client",
  needs_tls_1_3: "RADIUS/1.1 needs TLS 1.3",
  too_many_connections: "too many connections are busy",
} as const satisfies Record<TlsRefusal, string> & Record<string, string>;

interface ConnectionDeps extends RadsecDeps {
  readonly stream: TlsStream;
  readonly client: Client;
  readonly protocol: RadiusProtocol;
  readonly number: number;
  readonly receive: Receive;
  readonly onClosed: () => void;
}

/** Answers to requests of the gateway (RFC 6614 §2.5). */
const ANSWER_CODES: ReadonlySet<number> = new Set([
  PACKET_CODES["Disconnect-ACK"].code,
  PACKET_CODES["Disconnect-NAK"].code,
]);
const ANSWERED_CODES: ReadonlySet<number> = new Set([
  PACKET_CODES["Access-Request"].code,
  PACKET_CODES["Accounting-Request"].code,
]);

class RadsecConnection implements PacketStream, DisconnectStream {
  readonly #deps: ConnectionDeps;
  readonly number: number;
  readonly secret: SharedSecret;
  readonly #reader = new PacketStreamReader();
  /** Requests in progress, with the time of their start. */
  readonly #requests = new Map<Request, number>();
  /** The Tokens of RADIUS/1.1 requests in progress. */
  readonly #tokens = new Set<number>();
  /** Requests of the gateway, by Identifier or Token. */
  readonly #exchanges = new Map<number, (answer: Uint8Array | null) => void>();
  #client: Client;
  #revision: number;
  #nextIdentifier: number;
  #octetsBeforeValid = 0;
  #usedMs: number;
  /** Since when a packet is incomplete, or the client has not read; 0: not. */
  #incompleteMs = 0;
  #unreadMs = 0;
  /** Why the connection ends after the requests in progress. */
  #ending: CloseReason | null = null;
  #isClosed = false;

  constructor(deps: ConnectionDeps) {
    this.#deps = deps;
    this.number = deps.number;
    this.secret = protectionOf(deps.protocol);
    this.#client = deps.client;
    this.#revision = deps.clients.revision;
    this.#usedMs = deps.clock.nowMs();
    this.#nextIdentifier = new DataView(deps.random.bytes(4).buffer).getUint32(0);
  }

  get client(): Client {
    return this.#client;
  }

  get source(): string {
    return this.#deps.stream.peer.source;
  }

  get usedMs(): number {
    return this.#usedMs;
  }

  get isBusy(): boolean {
    return this.#requests.size > 0 || this.#exchanges.size > 0;
  }

  get isEnding(): boolean {
    return this.#isClosed || this.#ending !== null;
  }

  start(): void {
    const { stream, log, protocol } = this.#deps;
    log.info("RADIUS over TLS: connected", { ...this.#fields(), protocol, subject: stream.peer.subject });
    stream.start({
      data: (octets) => this.#read(octets),
      drained: () => this.#unreadMs = 0,
      closed: () => this.#closed(null),
    });
  }

  begin(request: Request): boolean {
    this.#octetsBeforeValid = -1;
    if (this.#requests.size >= MAX_IN_PROGRESS_PER_CONNECTION) return false;
    this.#requests.set(request, this.#deps.clock.nowMs());
    if (this.secret.isClear) this.#tokens.add(tokenOf(request.octets));
    return true;
  }

  end(request: Request, reply: Uint8Array | null): void {
    if (this.#requests.delete(request)) this.#tokens.delete(tokenOf(request.octets));
    if (reply !== null) this.send(reply);
    else if (this.secret.isClear && ANSWERED_CODES.has(request.octets[0] as number)) {
      this.send(writeUnavailable(request.octets));
    }
    if (this.#ending !== null && !this.isBusy) this.close(this.#ending);
  }

  send(octets: Uint8Array): void {
    if (this.#isClosed) return;
    const { stream, clock } = this.#deps;
    if (stream.unsentOctets > MAX_UNSENT_OCTETS) return this.close("slow_reader");
    if (!stream.write(octets) && this.#unreadMs === 0) this.#unreadMs = clock.nowMs();
  }

  async exchange(
    write: (identifier: number) => Uint8Array,
  ): Promise<{ readonly request: Uint8Array; readonly answer: Uint8Array } | null> {
    const identifier = this.isEnding ? null : this.#freeIdentifier();
    if (identifier === null) return null;
    const { promise, resolve } = Promise.withResolvers<Uint8Array | null>();
    this.#exchanges.set(identifier, resolve);
    const cancel = this.#deps.clock.after(ANSWER_MS, () => resolve(null));
    const request = write(identifier);
    this.send(request);
    const answer = await promise;
    cancel();
    this.#exchanges.delete(identifier);
    if (this.#ending !== null && !this.isBusy) this.close(this.#ending);
    return answer === null ? null : { request, answer };
  }

  /** Closes as soon as no request is in progress. Further requests are not read. */
  finish(reason: CloseReason): void {
    this.#ending ??= reason;
    if (!this.isBusy) this.close(reason);
  }

  /** Closes now. What was written is sent. */
  close(reason: CloseReason): void {
    if (this.#isClosed) return;
    const { stream } = this.#deps;
    if (reason === "slow_reader") stream.destroy();
    else stream.end();
    this.#closed(reason);
  }

  /** Ends a connection whose time is over. */
  sweep(): void {
    const { clock, stream } = this.#deps;
    const nowMs = clock.nowMs();
    const isLate = (sinceMs: number) => sinceMs > 0 && nowMs - sinceMs > STALLED_MS;
    for (const [request, startedMs] of this.#requests) {
      // In order of their start.
      if (nowMs - startedMs <= MAX_PROGRESS_MS) break;
      this.#requests.delete(request);
      this.#tokens.delete(tokenOf(request.octets));
    }
    if (isLate(this.#unreadMs)) this.close("slow_reader");
    else if (isLate(this.#incompleteMs)) this.close("incomplete_packet");
    else if (!this.#findClient()) this.close("client_removed");
    else if (stream.peer.validToMs <= nowMs) this.finish("certificate_expired");
    else if (!this.isBusy && nowMs - this.#usedMs > IDLE_MS) this.close("idle");
  }

  #closed(reason: CloseReason | null): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { log, folded, onClosed } = this.#deps;
    onClosed();
    for (const resolve of this.#exchanges.values()) resolve(null);
    this.#requests.clear();
    this.#tokens.clear();
    const fields = { ...this.#fields(), ...(reason === null ? {} : { reason }) };
    const message = reason === null ? "RADIUS over TLS: the client closed" : "RADIUS over TLS: closed";
    if (reason === null || QUIET_REASONS.has(reason)) log.info(message, fields);
    else folded.write(`tls closed ${reason}`, { level: "warn", message, fields });
  }

  #fields(): { client: string; source: string } {
    return { client: this.#client.name, source: this.source };
  }

  #read(octets: Uint8Array): void {
    if (this.#isClosed) return;
    const nowMs = this.#deps.clock.nowMs();
    this.#usedMs = nowMs;
    const fault = this.#reader.read(octets, (packet) => this.#take(packet));
    if (fault !== null) return this.close(fault);
    if (this.#reader.waitingOctets === 0) this.#incompleteMs = 0;
    else if (this.#incompleteMs === 0) this.#incompleteMs = nowMs;
  }

  /** Returns whether further packets are read. */
  #take(packet: Uint8Array): boolean {
    this.#incompleteMs = 0;
    if (ANSWER_CODES.has(packet[0] as number)) this.#answered(packet);
    else if (this.#ending !== null) return true;
    else if (!this.#findClient()) this.close("client_removed");
    // RFC 9765 §4.2.2: two requests in progress with one Token.
    else if (this.secret.isClear && this.#tokens.has(tokenOf(packet))) this.close("token_reused");
    else if (this.#isWithoutValid(packet)) this.close("nothing_valid");
    else {
      if (this.secret.isClear) replaceReserved(packet, this.#deps.random.bytes(RESERVED_OCTETS));
      const reason = this.#deps.receive(this, packet);
      if (reason !== null) this.close(reason);
    }
    return !this.#isClosed;
  }

  /** Whether too many octets came without a valid packet. */
  #isWithoutValid(packet: Uint8Array): boolean {
    if (this.#octetsBeforeValid < 0) return false;
    this.#octetsBeforeValid += packet.length;
    return this.#octetsBeforeValid > MAX_OCTETS_BEFORE_VALID;
  }

  /** Updates the client after a change of the settings. `false`: no client has this certificate any more. */
  #findClient(): boolean {
    const { clients, stream, protocol } = this.#deps;
    if (this.#revision === clients.revision) return true;
    const client = clients.findByCertificate({ ...stream.peer, protocol });
    if (client === null) return false;
    this.#client = client;
    this.#revision = clients.revision;
    return true;
  }

  #answered(packet: Uint8Array): void {
    const identifier = this.secret.isClear ? tokenOf(packet) : packet[1] as number;
    this.#exchanges.get(identifier)?.(packet.slice());
  }

  #freeIdentifier(): number | null {
    const values = this.secret.isClear ? 2 ** 32 : 256;
    for (let tries = 0; tries < 256; tries++) {
      const identifier = this.#nextIdentifier++ % values;
      if (!this.#exchanges.has(identifier)) return identifier;
    }
    return null;
  }
}
