// The servers and the connection pool of an LDAP backend. An operation waits until a connection is free, up to its deadline.

import type { CancelTimer, Clock } from "../../../platform/runtime.ts";
import type { BindVerdict, ServerStatus } from "../../backend_port.ts";
import { ConnectionLimit } from "../guarded_backend.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import { BackendError } from "../backend_error.ts";
import type { LdapEntry } from "./ldap_client.ts";
import type { Log } from "../../../platform/log.ts";
import { isRefusal } from "./ldap_result_codes.ts";

/** Longer than any pause between two logins on a busy day, shorter than the idle timeout of firewalls. */
const IDLE_MS = 60_000;

interface Idle {
  readonly connection: LdapConnection;
  readonly url: string;
  readonly sinceMs: number;
}

interface LdapPoolDeps {
  /** A connection to a server that is ready for use. */
  readonly open: (url: string, deadlineMs: number) => Promise<LdapConnection>;
  readonly servers: Pick<LdapServers, "use">;
  readonly clock: Clock;
  readonly size: number;
}

export class LdapPool {
  readonly #open: LdapPoolDeps["open"];
  readonly #servers: LdapPoolDeps["servers"];
  readonly #clock: Clock;
  readonly #limit: ConnectionLimit;
  #idle: Idle[] = [];
  #cancelSweep: CancelTimer | null = null;
  #isClosed = false;

  constructor({ open, servers, clock, size }: LdapPoolDeps) {
    this.#open = open;
    this.#servers = servers;
    this.#clock = clock;
    this.#limit = new ConnectionLimit({ clock, connections: size });
  }

  /**
   * Runs `task` with a connection. If the connection is lost and nothing was written, `task` runs once more with a new one, and then at the next
   * server.
   */
  use<T>(task: (connection: LdapConnection) => Promise<T>, deadlineMs: number): Promise<T> {
    const lend = (url: string, untilMs: number) => this.#lend(task, { url, deadlineMs: untilMs });
    return this.#limit.run(() => this.#servers.use(lend, deadlineMs), deadlineMs);
  }

  /** Opens a connection that the pool does not keep. */
  open(deadlineMs: number): Promise<LdapConnection> {
    return this.#servers.use(this.#open, deadlineMs);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelSweep?.();
    for (const { connection } of this.#idle) connection.close();
    this.#idle = [];
    await this.#limit.close();
  }

  async #lend<T>(
    task: (connection: LdapConnection) => Promise<T>,
    { url, deadlineMs }: { url: string; deadlineMs: number },
  ): Promise<T> {
    const kept = this.#take(url);
    if (kept !== null) {
      try {
        return await this.#run(task, { url, connection: kept, deadlineMs });
      } catch (thrown) {
        const isLost = thrown instanceof BackendError && thrown.fault.kind === "unreachable" &&
          !thrown.fault.unsure && !kept.isUsable() && this.#clock.nowMs() < deadlineMs;
        if (!isLost) throw thrown;
      }
    }
    return await this.#run(task, { url, connection: await this.#open(url, deadlineMs), deadlineMs });
  }

  async #run<T>(
    task: (connection: LdapConnection) => Promise<T>,
    { url, connection, deadlineMs }: { url: string; connection: LdapConnection; deadlineMs: number },
  ): Promise<T> {
    connection.resetWritten();
    connection.setDeadline(deadlineMs);
    try {
      return await task(connection);
    } catch (thrown) {
      // The operations before a refusal took effect. The caller must know this to undo them.
      if (thrown instanceof BackendError && connection.hasWritten()) {
        throw new BackendError({ ...thrown.fault, unsure: true }, { cause: thrown });
      }
      throw thrown;
    } finally {
      this.#giveBack(url, connection);
    }
  }

  #take(url: string): LdapConnection | null {
    for (;;) {
      const at = this.#idle.findLastIndex((one) => one.url === url);
      const [one] = at < 0 ? [] : this.#idle.splice(at, 1);
      if (one === undefined) return null;
      if (one.connection.isUsable()) return one.connection;
      one.connection.close();
    }
  }

  #giveBack(url: string, connection: LdapConnection): void {
    if (this.#isClosed || !connection.isUsable()) return connection.close();
    this.#idle.push({ connection, url, sinceMs: this.#clock.nowMs() });
    this.#cancelSweep ??= this.#clock.after(IDLE_MS, () => this.#sweep());
  }

  #sweep(): void {
    this.#cancelSweep = null;
    const staleMs = this.#clock.nowMs() - IDLE_MS;
    for (const one of this.#idle) if (one.sinceMs <= staleMs) one.connection.close();
    this.#idle = this.#idle.filter((one) => one.sinceMs > staleMs);
    if (this.#idle.length > 0) this.#cancelSweep = this.#clock.after(IDLE_MS, () => this.#sweep());
  }
}

/** A directory needs more time for a longer password. No user types one of this length. */
const MAX_PASSWORD_OCTETS = 1024;

export interface LdapVerifier {
  /** Throws if the directory does not answer. @param check.find the entry of the user who signs in. */
  verify(
    check: { password: Uint8Array; deadlineMs: number; find: () => Promise<LdapEntry | null> },
  ): Promise<BindVerdict>;
  close(): Promise<void>;
}

/** @param deps.pool has connections that are not bound. */
export function createLdapVerifier({ pool }: { pool: LdapPool }): LdapVerifier {
  return {
    async verify({ password, deadlineMs, find }) {
      const text = readPassword(password);
      // RFC 4513 §5.1.2: a bind without a password succeeds for every user.
      if (text === null || text === "") return "wrong";
      const entry = await find();
      if (entry === null || entry.dn === "") return "wrong";
      const { dn } = entry;
      return await pool.use(async (connection) => await connection.bindUser(dn, text) ?? "right", deadlineMs);
    },
    close: () => pool.close(),
  };
}

function readPassword(octets: Uint8Array): string | null {
  if (octets.length > MAX_PASSWORD_OCTETS) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(octets);
  } catch (fault) {
    if (fault instanceof TypeError) return null;
    throw fault;
  }
}

// The servers of an LDAP backend, in order of preference: which one is asked, for how long, and whether each one answers. A server is tested by a
// bind of the gateway's account, never by the login of a user.

/** A server that is down is tested so often. */
const RETEST_MS = 10_000;
/** A server of a list is tested after so much time without an answer, so that a failed standby is known before it is needed. */
const UNTESTED_MS = 60_000;
const MAX_TEST_MS = 5000;

interface LdapServer {
  readonly url: string;
  /** Whether it is asked only if all others fail, too: the last request failed, and no test succeeded since. */
  isSuspect: boolean;
  /** Whether a request and a test failed. */
  isDown: boolean;
  isTested: boolean;
  testedMs: number;
  lastAnswerMs: number | null;
  fault: string;
}

interface LdapServersDeps {
  readonly backend: string;
  readonly urls: readonly string[];
  readonly timeoutMs: number;
  /** Connects to one server, binds and closes. Rejects if the server cannot be used. */
  readonly test: (url: string, deadlineMs: number) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

export class LdapServers {
  readonly #deps: LdapServersDeps;
  readonly #servers: readonly LdapServer[];
  #cancel: CancelTimer = () => undefined;
  #isClosed = false;

  constructor(deps: LdapServersDeps) {
    this.#deps = deps;
    const testedMs = deps.clock.nowMs();
    this.#servers = deps.urls.map((url) => ({
      ...{ url, isSuspect: false, isDown: false, isTested: false, testedMs, lastAnswerMs: null, fault: "" },
    }));
    if (this.#servers.length > 1) this.#watch();
  }

  /**
   * Runs `attempt` at one server after the other until one answers. Each one has its share of the time until `deadlineMs`. After a write that may
   * have happened, no other server is asked.
   */
  async use<T>(attempt: (url: string, deadlineMs: number) => Promise<T>, deadlineMs: number): Promise<T> {
    const { clock } = this.#deps;
    const sound = this.#servers.filter(({ isSuspect }) => !isSuspect);
    const asked = sound.length === 0 ? this.#servers : sound;
    let last: unknown = new Error("Cannot use an LDAP backend without a server");
    for (const [at, server] of asked.entries()) {
      const nowMs = clock.nowMs();
      try {
        const value = await attempt(server.url, nowMs + (deadlineMs - nowMs) / (asked.length - at));
        this.#works(server);
        return value;
      } catch (thrown) {
        last = thrown;
        if (!isServerFault(thrown)) {
          if (thrown instanceof BackendError) this.#works(server);
          throw thrown;
        }
        this.#failed(server, thrown.fault.detail);
        if (thrown.fault.unsure || clock.nowMs() >= deadlineMs) break;
      }
    }
    throw last;
  }

  /** Tests all servers, at the same time. */
  async testAll(): Promise<void> {
    await Promise.all(this.#servers.map((server) => this.#test(server)));
  }

  /** The state of each server, in order of preference. */
  status(): readonly ServerStatus[] {
    const areAllDown = this.#servers.every(({ isDown }) => isDown);
    return this.#servers.map(({ url, isDown, lastAnswerMs, fault }) => ({
      server: url.replace(/^ldaps?:\/\//, ""),
      state: areAllDown ? "all_down" : isDown ? "down" : lastAnswerMs === null ? "unknown" : "answers",
      lastAnswerMs,
      fault,
    }));
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  /** Tests the servers that are due, in the background. */
  #watch(): void {
    if (this.#isClosed) return;
    const nowMs = this.#deps.clock.nowMs();
    for (const server of this.#servers) {
      const isIdle = nowMs - Math.max(server.testedMs, server.lastAnswerMs ?? 0) >= UNTESTED_MS;
      if (server.isSuspect || isIdle) void this.#test(server);
    }
    this.#cancel = this.#deps.clock.after(RETEST_MS, () => this.#watch());
  }

  async #test(server: LdapServer): Promise<void> {
    if (server.isTested || this.#isClosed) return;
    const { clock, log, test, timeoutMs, backend } = this.#deps;
    server.isTested = true;
    server.testedMs = clock.nowMs();
    try {
      await test(server.url, clock.nowMs() + Math.min(timeoutMs, MAX_TEST_MS));
      this.#works(server);
    } catch (thrown) {
      server.fault = thrown instanceof BackendError ? thrown.fault.detail : String(thrown);
      server.isSuspect = true;
      if (server.isDown || this.#isClosed) return;
      server.isDown = true;
      log.warn("a directory server does not answer", { backend, server: server.url, fault: server.fault });
    } finally {
      server.isTested = false;
    }
  }

  #works(server: LdapServer): void {
    server.lastAnswerMs = this.#deps.clock.nowMs();
    server.isSuspect = false;
    server.fault = "";
    if (!server.isDown) return;
    server.isDown = false;
    this.#deps.log.info("a directory server answers again", {
      backend: this.#deps.backend,
      server: server.url,
    });
  }

  #failed(server: LdapServer, fault: string): void {
    server.isSuspect = true;
    server.fault = fault;
    // Whether it is down must be known soon. The calls of a single server show it.
    if (this.#servers.length > 1) void this.#test(server);
  }
}

/** Whether another server may succeed: this one does not answer in its time, is shutting down, or does not accept the gateway's account. */
function isServerFault(thrown: unknown): thrown is BackendError {
  if (!(thrown instanceof BackendError)) return false;
  const { kind, isLocal } = thrown.fault;
  return kind === "unreachable" || (kind === "busy" && isLocal === true) ||
    isRefusal(thrown, "invalidCredentials");
}
