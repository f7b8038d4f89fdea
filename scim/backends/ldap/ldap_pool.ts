// The connection pool of an LDAP backend. An operation waits until a connection is free, up to its deadline.

import type { CancelTimer, Clock } from "../../../platform/runtime.ts";
import type { BindVerdict } from "../../backend_port.ts";
import { ConnectionLimit } from "../guarded_backend.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import { BackendError } from "../backend_error.ts";
import type { LdapEntry } from "./ldap_client.ts";
import type { LdapServers } from "./ldap_servers.ts";

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
