// Accepts TLS connections whose peers have a certificate (mutual TLS), over node:tls. Reads the certificates again when their files change.
// Limits handshakes in number and in time.

import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import tls, { type Server, type TLSSocket } from "node:tls";
import { type SocketAddress, socketAddressText, sourceKey } from "./addresses.ts";
import { canonicalFingerprint, type CertificateIdentity, subjectAltNames } from "./certificate_names.ts";
import { faultMessage, type Log } from "./log.ts";
import type { CancelTimer, Clock } from "./runtime.ts";

/** Paths of PEM files. */
interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** The other end of a connection. Its certificate was verified. */
export interface TlsPeer extends CertificateIdentity {
  readonly source: string;
  readonly port: number;
  /** By ALPN; "" if the client offered none. */
  readonly protocol: string;
  readonly isTls13: boolean;
  readonly subject: string;
  /** When the certificate expires. */
  readonly validToMs: number;
}

/** What happens on a connection. */
export interface TlsStreamEvents {
  /** `octets` is valid during the call. */
  readonly data: (octets: Uint8Array) => void;
  /** The peer has taken what was written. */
  readonly drained: () => void;
  /** Called once. */
  readonly closed: () => void;
}

/** A connection after its handshake. */
export interface TlsStream {
  readonly peer: TlsPeer;
  /** Octets that were written and not taken. */
  readonly unsentOctets: number;
  /** Reads from now on. Call it once. */
  start(events: TlsStreamEvents): void;
  /**
   * `false`: the peer has not taken everything; `drained` follows. There is no way to stop reading meanwhile: a paused connection of node:tls
   * still reads into memory without a limit (Deno 2.9.6).
   */
  write(octets: Uint8Array): boolean;
  /** Sends what was written, and closes. A peer that does not close too is disconnected after five seconds. */
  end(): void;
  destroy(): void;
}

/** Why a connection was not accepted. */
export type TlsRefusal =
  | "no_certificate"
  | "certificate_expired"
  | "certificate_untrusted"
  | "no_common_protocol"
  | "handshake_timeout"
  | "handshake_failed"
  | "too_many_handshakes"
  | "resumed_session";

interface TlsListenerDeps {
  readonly listen: readonly SocketAddress[];
  readonly files: TlsFiles;
  /** The names of the settings of the files, for messages. */
  readonly settings: { readonly listen: string } & TlsFiles;
  /** In the order of preference. */
  readonly protocols: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  readonly readTextFile?: (path: string) => Promise<string>;
  /** Whether this address may begin a handshake now. */
  readonly mayConnect: (source: string) => boolean;
  /** Whether the settings name this address. */
  readonly isNamed: (source: string) => boolean;
  readonly onPeer: (stream: TlsStream) => void;
  readonly onRefused: (
    refused: { readonly source: string; readonly reason: TlsRefusal; readonly detail: string },
  ) => void;
  /** The authorities of peers changed, so connections must be verified again. */
  readonly onAuthoritiesChange: () => void;
  /** 10 s unless given. */
  readonly handshakeMs?: number;
  /** 5 s unless given. */
  readonly closeMs?: number;
}

/** Certificates that are in use. */
interface TlsPem {
  readonly certPem: string;
  readonly keyPem: string;
  readonly caPem: string;
}

const HANDSHAKE_MS = 10_000;
/** Handshakes at the same time: in total, of networks that are not known, and of one network. A network is an IPv4 address or an IPv6 /64. */
const MAX_HANDSHAKES = 200;
const MAX_UNKNOWN_HANDSHAKES = 100;
export const MAX_HANDSHAKES_PER_NETWORK = 50;
/** Networks that connected before. Beyond it, the one that connected longest ago is forgotten. */
const MAX_KNOWN_NETWORKS = 4096;
const RELOAD_MS = 30_000;
/** Finds peers that are gone, also behind a firewall that forgot the connection. */
const KEEP_ALIVE_MS = 60_000;
/** How long a peer may take to read the rest and to close, after this side has closed. */
const CLOSE_MS = 5000;

/** Opens a listener on each address. @throws Error with the setting to change. */
export async function openTlsListener(deps: TlsListenerDeps): Promise<TlsListener> {
  const listener = new TlsListener(deps);
  await listener.open();
  return listener;
}

export class TlsListener {
  readonly #deps: TlsListenerDeps;
  readonly #servers: Server[] = [];
  readonly #handshakes = new HandshakeTable<Socket>();
  readonly #knownNetworks = new Set<string>();
  readonly #sources = new WeakMap<Socket, string>();
  readonly #addresses: SocketAddress[] = [];
  #pem: TlsPem = { certPem: "", keyPem: "", caPem: "" };
  #cancelReload: CancelTimer = () => {};
  #isClosed = false;
  #lastProblem = "";

  constructor(deps: TlsListenerDeps) {
    this.#deps = deps;
  }

  get addresses(): readonly SocketAddress[] {
    return this.#addresses;
  }

  get pem(): TlsPem {
    return this.#pem;
  }

  async open(): Promise<void> {
    this.#pem = await this.#readFiles();
    for (const address of this.#deps.listen) this.#addresses.push(await this.#listen(address));
    this.#scheduleReload();
  }

  /** Accepts no more connections. Those that were accepted continue. */
  close(): void {
    this.#isClosed = true;
    this.#cancelReload();
    for (const server of this.#servers) server.close();
    for (const socket of this.#handshakes.keys()) socket.destroy();
  }

  /** Reads the files again now, and uses them if they changed and are valid. Returns why they cannot be used, or `null`. */
  async reload(): Promise<string | null> {
    const { log } = this.#deps;
    try {
      const next = await this.#readFiles();
      const { certPem, keyPem, caPem } = this.#pem;
      this.#lastProblem = "";
      if (next.certPem === certPem && next.keyPem === keyPem && next.caPem === caPem) return null;
      this.#pem = next;
      for (const server of this.#servers) server.setSecureContext(this.#options());
      log.info("the certificates of RADIUS over TLS were read again", certificateFields(next.certPem));
      if (next.caPem !== caPem) this.#deps.onAuthoritiesChange();
      return null;
    } catch (fault) {
      const problem = faultMessage(fault);
      if (problem !== this.#lastProblem) {
        log.error("the certificates of RADIUS over TLS cannot be used, so the previous ones stay in use", {
          problem,
        });
      }
      this.#lastProblem = problem;
      return problem;
    }
  }

  #scheduleReload(): void {
    if (this.#isClosed) return;
    this.#cancelReload = this.#deps.clock.after(RELOAD_MS, () => {
      void this.reload().finally(() => this.#scheduleReload());
    });
  }

  /** @throws Error if a file cannot be used. node:tls would accept it, and refuse every handshake. */
  async #readFiles(): Promise<TlsPem> {
    const { files, settings, readTextFile = Deno.readTextFile } = this.#deps;
    const read = async <T>(name: keyof TlsFiles, check: (pem: string) => T): Promise<string> => {
      try {
        const pem = await readTextFile(files[name]);
        check(pem);
        return pem;
      } catch (fault) {
        throw new Error(`Cannot use ${settings[name]}: ${files[name]}: ${faultMessage(fault)}`, {
          cause: fault,
        });
      }
    };
    const certPem = await read("cert", (pem) => new X509Certificate(pem));
    const keyPem = await read("key", (pem) => {
      if (!new X509Certificate(certPem).checkPrivateKey(createPrivateKey(pem))) {
        throw new Error(`it is not the key of the certificate in ${settings.cert}`);
      }
    });
    const caPem = await read("ca", (pem) => {
      const blocks = certificateBlocks(pem);
      if (blocks.length === 0) throw new Error("it contains no certificate");
      for (const block of blocks) new X509Certificate(block);
    });
    return { certPem, keyPem, caPem };
  }

  #options() {
    const { certPem: cert, keyPem: key, caPem: ca } = this.#pem;
    const { protocols, handshakeMs = HANDSHAKE_MS } = this.#deps;
    return {
      ...{ cert, key, ca, requestCert: true, rejectUnauthorized: true, minVersion: "TLSv1.2" as const },
      ALPNProtocols: [...protocols],
      handshakeTimeout: handshakeMs,
    };
  }

  #listen({ hostname, port }: SocketAddress): Promise<SocketAddress> {
    const { settings, log } = this.#deps;
    const server = tls.createServer(this.#options());
    this.#servers.push(server);
    server.on("connection", (socket: Socket) => this.#begin(socket));
    server.on("secureConnection", (socket: TLSSocket) => this.#verify(socket));
    server.on("tlsClientError", (fault: Error, socket: TLSSocket) => this.#fail(fault, socket));
    return new Promise((resolve, reject) => {
      server.once("error", (fault: Error) =>
        reject(
          new Error(
            `Cannot listen on TCP ${socketAddressText({ hostname, port })}: ${
              listenReason(fault)
            } (${settings.listen})`,
            { cause: fault },
          ),
        ));
      server.listen({ host: hostname, port, backlog: 511 }, () => {
        server.on(
          "error",
          (fault: Error) => log.error("RADIUS over TLS: the listener failed", { fault: fault.message }),
        );
        const bound = server.address();
        resolve({ hostname, port: typeof bound === "object" && bound !== null ? bound.port : port });
      });
    });
  }

  #begin(socket: Socket): void {
    const { mayConnect, isNamed, onRefused } = this.#deps;
    const source = plainAddress(socket.remoteAddress ?? "");
    const network = sourceKey(source);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#handshakes.delete(socket));
    if (this.#isClosed || source === "" || !mayConnect(source)) {
      socket.destroy();
      return;
    }
    this.#sources.set(socket, source);
    const isKnown = this.#knownNetworks.has(network) || isNamed(source);
    const dropped = this.#handshakes.add(socket, { network, isKnown });
    if (dropped === null) return;
    const of = this.#sources.get(dropped) ?? "";
    this.#sources.delete(dropped);
    dropped.destroy();
    onRefused({ source: of, reason: "too_many_handshakes", detail: "" });
  }

  /**
   * node:tls verifies a certificate in a full handshake only. In a resumed session, `authorized` is true for any peer that had a session, also
   * if its certificate has expired since or its authority was removed. So resumed sessions are refused, and the client begins a full handshake.
   */
  #verify(socket: TLSSocket): void {
    const raw = rawSocketOf(socket);
    if (raw !== null) this.#handshakes.delete(raw);
    socket.on("error", () => socket.destroy());
    const source = plainAddress(socket.remoteAddress ?? "");
    const refuse = (reason: TlsRefusal, detail = ""): void => {
      socket.destroy();
      if (!this.#isClosed) this.#deps.onRefused({ source, reason, detail });
    };
    if (this.#isClosed || source === "") return void socket.destroy();
    if (socket.isSessionReused()) return refuse("resumed_session");
    const peer = socket.authorized === true ? peerOf(socket, source) : null;
    if (peer === null) return refuse("certificate_untrusted");
    if (peer.validToMs <= this.#deps.clock.nowMs()) return refuse("certificate_expired", peer.subject);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    this.#noteNetwork(sourceKey(source));
    const { clock, closeMs = CLOSE_MS } = this.#deps;
    this.#deps.onPeer(streamOf(socket, peer, { clock, closeMs }));
  }

  #noteNetwork(network: string): void {
    this.#knownNetworks.delete(network);
    this.#knownNetworks.add(network);
    if (this.#knownNetworks.size <= MAX_KNOWN_NETWORKS) return;
    const [oldest] = this.#knownNetworks;
    if (oldest !== undefined) this.#knownNetworks.delete(oldest);
  }

  #fail(fault: Error, socket: TLSSocket): void {
    const raw = rawSocketOf(socket);
    // node:tls does not close a connection whose handshake took too long.
    socket.destroy();
    raw?.destroy();
    const source = raw === null ? "" : this.#sources.get(raw);
    // Without a source, the connection was refused before its handshake ended.
    if (this.#isClosed || source === undefined) return;
    const { code = "" } = fault as Error & { readonly code?: string };
    const error = String(socket.authorizationError ?? "");
    this.#deps.onRefused({
      source,
      reason: refusalOf({ code, error, message: fault.message }),
      detail: error || code,
    });
  }
}

interface Handshake {
  /** As `sourceKey()` names it. */
  readonly network: string;
  /** Whether it is a network of the settings, or connected before. */
  readonly isKnown: boolean;
}

/**
 * Handshakes in progress. A new one always gets a place: if there are too many, the oldest one of the network that has the most is dropped. So a
 * network with few handshakes keeps them, and one that sends nothing waits in vain. Networks that are not known have half of the places at most.
 */
export class HandshakeTable<T> {
  /** The oldest first. */
  readonly #handshakes = new Map<T, Handshake>();

  get size(): number {
    return this.#handshakes.size;
  }

  /** Returns the handshake that is dropped for it. */
  add(one: T, handshake: Handshake): T | null {
    const { network, isKnown } = handshake;
    const dropped = this.#oldestBeyond(MAX_HANDSHAKES_PER_NETWORK, (other) => other.network === network) ??
      (isKnown ? null : this.#oldestBeyond(MAX_UNKNOWN_HANDSHAKES, (other) => !other.isKnown)) ??
      this.#oldestBeyond(MAX_HANDSHAKES, () => true);
    if (dropped !== null) this.#handshakes.delete(dropped);
    this.#handshakes.set(one, handshake);
    return dropped;
  }

  delete(one: T): void {
    this.#handshakes.delete(one);
  }

  keys(): Iterable<T> {
    return this.#handshakes.keys();
  }

  /** If `max` handshakes are counted, the oldest one of the network that has the most of them; otherwise `null`. */
  #oldestBeyond(max: number, isCounted: (one: Handshake) => boolean): T | null {
    const byNetwork = new Map<string, { readonly oldest: T; count: number }>();
    let count = 0;
    let most: { readonly oldest: T; count: number } | null = null;
    for (const [key, handshake] of this.#handshakes) {
      if (!isCounted(handshake)) continue;
      count++;
      const of = byNetwork.get(handshake.network) ?? { oldest: key, count: 0 };
      of.count++;
      byNetwork.set(handshake.network, of);
      if (most === null || of.count > most.count) most = of;
    }
    return count < max || most === null ? null : most.oldest;
  }
}

function refusalOf({ code, error, message }: { code: string; error: string; message: string }): TlsRefusal {
  if (code === "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE") return "no_certificate";
  if (code === "ERR_SSL_NO_APPLICATION_PROTOCOL") return "no_common_protocol";
  if (error === "CERT_HAS_EXPIRED" || error === "CERT_NOT_YET_VALID") return "certificate_expired";
  if (error !== "") return "certificate_untrusted";
  return message.includes("handshake timeout") ? "handshake_timeout" : "handshake_failed";
}

/** The connection below TLS: node:tls has no public name for it, and a connection whose handshake failed has no address any more. */
function rawSocketOf(socket: TLSSocket): Socket | null {
  return (socket as TLSSocket & { readonly _parent?: Socket })._parent ?? null;
}

/** The parts of a connection that node:net and node:tls have no public names for. */
interface WithHandle {
  readonly _handle?: { readStart(): number; readStop(): number } | null;
}

/**
 * Lets a connection that is paused stop reading. node:tls of Deno 2.9.6 decrypts and keeps what a paused connection receives, without a limit, because
 * it pauses only itself and not the connection below.
 */
export function stopReadingBelow(socket: TLSSocket): void {
  const raw = rawSocketOf(socket) as Socket & WithHandle | null;
  const { _handle: handle } = socket as WithHandle;
  if (handle === null || handle === undefined) return;
  const [start, stop] = [handle.readStart, handle.readStop];
  handle.readStart = () => {
    raw?._handle?.readStart();
    return start.call(handle);
  };
  handle.readStop = () => {
    raw?._handle?.readStop();
    return stop.call(handle);
  };
}

function peerOf(socket: TLSSocket, source: string): TlsPeer | null {
  const { raw, fingerprint256, subject, valid_to: validTo } = socket.getPeerCertificate();
  const fingerprint = canonicalFingerprint(fingerprint256 ?? "");
  if (raw === undefined || fingerprint === null) return null;
  return {
    source,
    port: socket.remotePort ?? 0,
    protocol: socket.alpnProtocol || "",
    isTls13: socket.getProtocol() === "TLSv1.3",
    names: subjectAltNames(new Uint8Array(raw)),
    fingerprint,
    subject: Object.entries(subject ?? {}).map(([name, value]) => `${name}=${value}`).join(", "),
    validToMs: Date.parse(validTo) || 0,
  };
}

function streamOf(
  socket: TLSSocket,
  peer: TlsPeer,
  { clock, closeMs }: { clock: Clock; closeMs: number },
): TlsStream {
  return {
    peer,
    get unsentOctets() {
      return socket.writableLength;
    },
    start({ data, drained, closed }) {
      socket.on("drain", drained);
      socket.on("close", closed);
      socket.on("data", data);
    },
    write: (octets) => socket.write(octets),
    end() {
      const cancel = clock.after(closeMs, () => socket.destroy());
      socket.once("close", cancel);
      socket.end();
    },
    destroy: () => void socket.destroy(),
  };
}

/** IPv4 inside IPv6, which a dual-stack socket reports, as plain IPv4. */
function plainAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

function certificateBlocks(pem: string): string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

function certificateFields(certPem: string): { subject: string; valid_to: string } {
  const { subject, validTo } = new X509Certificate(certPem);
  return { subject: subject.replaceAll("\n", ", "), valid_to: validTo };
}

function listenReason(fault: Error): string {
  const { code = "" } = fault as Error & { readonly code?: string };
  if (code === "EADDRINUSE") return "another program uses that port";
  if (code === "EACCES") return "ports below 1024 need CAP_NET_BIND_SERVICE";
  if (code === "EADDRNOTAVAIL") return "this host has no such address";
  return fault.message;
}
