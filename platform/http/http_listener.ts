// The HTTP listener: starts the server, checks that it still accepts connections, opens it again if it does not,
// and stops it within a deadline. A listener that cannot be opened again ends the process (onGiveUp).

import { createPrivateKey, X509Certificate } from "node:crypto";
import { type SocketAddress, socketAddressText } from "../addresses.ts";
import { faultMessage, type Log } from "../log.ts";
import type { Clock } from "../runtime.ts";
import { connectionLimit, countFreeDescriptors, PROBED_DESCRIPTORS } from "./connection_table.ts";
import { type HttpApp, type HttpCertificate, type HttpServer, startHttpServer } from "./http_server.ts";

export interface ListenerDeps {
  readonly listen: SocketAddress;
  readonly tls: HttpCertificate | null;
  /** A request that arrives before the application is ready waits for it. */
  readonly app: HttpApp | Promise<HttpApp>;
  readonly log: Log;
  readonly clock: Clock;
  /** Whether an address is a reverse proxy; such an address may hold all connections. */
  readonly isProxy?: (address: string) => boolean;
  /** Derived from the free file descriptors unless given. */
  readonly maxConnections?: number;
  /** For request heads and TLS handshakes; 10 s unless given. */
  readonly silenceMs?: number;
  /** How long a response waits for a client that reads nothing; 30 s unless given. */
  readonly stalledMs?: number;
  /** The listener could not be opened again. */
  readonly onGiveUp?: (message: string) => void;
  /** Connects to the listener. */
  readonly probe?: (address: SocketAddress) => Promise<ProbeResult>;
}

/** `connected`: with the local port, which the listener must report. `refused`: the port is closed. `unknown`: this process could not try. */
export type ProbeResult =
  | { readonly outcome: "connected"; readonly port: number; readonly close: () => void }
  | { readonly outcome: "refused" | "unknown" };

const CHECK_MS = 2000;
/** The listener reports an accepted connection within this time, unless the accept loop has ended. */
const ACCEPT_MS = 1500;
/** One failed check can mean a busy process, so the listener is reopened after two in a row. */
const FAILED_CHECKS = 2;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5000;
const MAX_RETRIES = 10;

/**
 * Starts listening.
 *
 * @throws Error with the setting to change, if the address cannot be used.
 */
export async function serveHttp(deps: ListenerDeps): Promise<HttpListener> {
  const listener = new HttpListener(deps);
  await listener.start();
  return listener;
}

class HttpListener {
  readonly #deps: ListenerDeps;
  readonly #maxConnections: number;
  readonly #accepted = new Set<number>();
  #address: SocketAddress;
  #tls: HttpCertificate | null;
  #server: HttpServer | null = null;
  /** Servers that accept no more connections, with requests in progress. */
  #draining: HttpServer[] = [];
  #failedChecks = 0;
  #sawConnection = false;
  #opening = false;
  #stopped = false;
  #cancelCheck = (): void => undefined;

  constructor(deps: ListenerDeps) {
    this.#deps = deps;
    this.#address = deps.listen;
    this.#tls = deps.tls;
    this.#maxConnections = deps.maxConnections ?? this.#chooseLimit();
  }

  get address(): SocketAddress {
    return this.#address;
  }

  /** Whether it accepted a connection at the last check. */
  isServing(): boolean {
    return this.#server !== null && this.#failedChecks === 0;
  }

  async start(): Promise<void> {
    try {
      await this.#open();
    } catch (cause) {
      const where = socketAddressText(this.#deps.listen);
      throw new Error(`Cannot listen for HTTP on ${where}: ${reasonOf(cause)} (http.listen)`, { cause });
    }
    this.#scheduleCheck();
  }

  /**
   * Uses another certificate from now on; connections continue. Without TLS at the start, there is none to replace.
   *
   * @returns why it cannot be used, so that the previous one stays in use; `null`: it is in use.
   */
  useCertificate(certificate: HttpCertificate | null): string | null {
    const before = this.#tls;
    if (before === null || certificate === null) return null;
    const { certPem, keyPem } = certificate;
    if (certPem === before.certPem && keyPem === before.keyPem) return null;
    const { log } = this.#deps;
    try {
      // node:tls would accept any pair, and refuse every handshake.
      if (!new X509Certificate(certPem).checkPrivateKey(createPrivateKey(keyPem))) {
        throw new Error("http.tls_key is not the key of the certificate in http.tls_cert");
      }
    } catch (fault) {
      const problem = faultMessage(fault);
      log.error("the certificate of HTTPS cannot be used, so the previous one stays in use", { problem });
      return problem;
    }
    this.#tls = { certPem, keyPem };
    this.#server?.useCertificate(this.#tls);
    log.info("the certificate of HTTPS was read again");
    return null;
  }

  /** Ends the streams, lets requests in progress finish for `deadlineMs`, then closes them. Never rejects. */
  async stop({ deadlineMs }: { deadlineMs: number }): Promise<void> {
    this.#stopped = true;
    this.#cancelCheck();
    this.#retire();
    const deadline = this.#pause(deadlineMs);
    // A request may wait for an application that is never created. Then the deadline ends it.
    const app = await Promise.race([this.#deps.app, deadline]);
    app?.close();
    const quiet = Promise.all(this.#draining.map(({ connections }) => connections.whenQuiet()));
    await Promise.race([quiet, deadline]);
    for (const { connections } of this.#draining) connections.close("all");
  }

  #chooseLimit(): number {
    const free = countFreeDescriptors();
    const limit = connectionLimit(free);
    if (free < PROBED_DESCRIPTORS) {
      this.#deps.log.warn("the limit of open files is low; raise it (LimitNOFILE)", {
        free_descriptors: free,
        http_connections: limit,
      });
    }
    return limit;
  }

  async #open(): Promise<void> {
    const { listen, onGiveUp: _unused, probe: _probe, ...rest } = this.#deps;
    this.#server = await startHttpServer({
      ...rest,
      tls: this.#tls,
      listen: { hostname: listen.hostname, port: this.#address.port },
      maxConnections: this.#maxConnections,
      onConnection: (port) => {
        this.#sawConnection = true;
        this.#accepted.add(port);
      },
      onFailure: (fault) => void this.#reopen(fault.message),
    });
    this.#address = this.#server.address;
    this.#failedChecks = 0;
  }

  /** Stops accepting; requests in progress continue. */
  #retire(): void {
    if (this.#server === null) return;
    this.#server.stopAccepting();
    this.#draining = this.#draining.filter(({ connections }) => connections.size() > 0);
    this.#draining.push(this.#server);
    this.#server = null;
  }

  #scheduleCheck(): void {
    if (this.#stopped) return;
    this.#cancelCheck = this.#deps.clock.after(CHECK_MS, () => void this.#check());
  }

  /** Connects to itself if there was no connection since the last check, because node:net reports no error if accept fails. */
  async #check(): Promise<void> {
    const quiet = !this.#sawConnection;
    this.#sawConnection = false;
    this.#accepted.clear();
    const isAlive = quiet && !this.#opening ? await this.#acceptsConnections() : true;
    if (this.#stopped) return;
    this.#failedChecks = isAlive ? 0 : this.#failedChecks + 1;
    if (this.#failedChecks >= FAILED_CHECKS) await this.#reopen("it accepts no connections");
    this.#scheduleCheck();
  }

  async #acceptsConnections(): Promise<boolean> {
    const probe = this.#deps.probe ?? connectToSelf;
    const result = await probe(this.#address);
    // Without a free descriptor the result is unknown; the next check tries again.
    if (result.outcome !== "connected") return result.outcome === "unknown" && this.#failedChecks === 0;
    for (let waitedMs = 0; waitedMs < ACCEPT_MS && !this.#accepted.has(result.port); waitedMs += 50) {
      await this.#pause(50);
    }
    result.close();
    this.#sawConnection = false;
    return this.#accepted.has(result.port);
  }

  async #reopen(why: string): Promise<void> {
    if (this.#opening || this.#stopped) return;
    this.#opening = true;
    const { log, onGiveUp } = this.#deps;
    log.error("the HTTP listener stopped accepting connections; opening it again", { why });
    this.#retire();
    let lastFault = why;
    for (let attempt = 0; attempt < MAX_RETRIES && !this.#stopped; attempt++) {
      await this.#pause(Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** attempt));
      if (this.#stopped) break;
      try {
        await this.#open();
        log.info("the HTTP listener accepts connections again");
        break;
      } catch (fault) {
        lastFault = reasonOf(fault);
        log.error("the HTTP listener could not be opened", { error: lastFault });
      }
    }
    this.#opening = false;
    if (this.#server === null && !this.#stopped) {
      onGiveUp?.(
        `The HTTP listener could not be opened again: ${lastFault}. The process ends so that it is restarted.`,
      );
    }
    if (this.#stopped) this.#retire();
  }

  #pause(ms: number): Promise<null> {
    return new Promise((resolve) => void this.#deps.clock.after(ms, () => resolve(null)));
  }
}

const WILDCARDS: Readonly<Record<string, string>> = {
  "0.0.0.0": "127.0.0.1",
  "::": "::1",
  "[::]": "::1",
  "": "127.0.0.1",
};

async function connectToSelf({ hostname, port }: SocketAddress): Promise<ProbeResult> {
  try {
    const connection = await Deno.connect({ hostname: WILDCARDS[hostname] ?? hostname, port });
    return {
      outcome: "connected",
      port: connection.localAddr.port,
      close: () => connection.close(),
    };
  } catch (fault) {
    return { outcome: fault instanceof Deno.errors.ConnectionRefused ? "refused" : "unknown" };
  }
}

function reasonOf(cause: unknown): string {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : "";
  if (code === "EADDRINUSE") return "another program uses that port";
  if (code === "EACCES") return "ports below 1024 need CAP_NET_BIND_SERVICE";
  if (code === "EADDRNOTAVAIL") return "this host has no such address";
  return faultMessage(cause);
}
