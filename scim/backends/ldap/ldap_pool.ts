// A few connections to a directory, each lent to one operation at a time; an operation that finds none waits in line, until a deadline.

import type { CancelTimer, Clock } from "../../../platform/runtime.ts";
import { ConnectionLimit } from "../connection_limit.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import { Trouble } from "../backend_error.ts";

/** Longer than any pause between two logins of a busy day, shorter than what firewalls remember. */
const IDLE_MS = 60_000;

interface Idle {
  readonly connection: LdapConnection;
  readonly sinceMs: number;
}

export class LdapPool {
  readonly #open: (deadlineMs: number) => Promise<LdapConnection>;
  readonly #clock: Clock;
  readonly #limit: ConnectionLimit;
  #idle: Idle[] = [];
  #cancelSweep: CancelTimer | null = null;
  #isClosed = false;

  /** @param deps.open a connection that is ready for use. */
  constructor(
    { open, clock, size }: {
      open: (deadlineMs: number) => Promise<LdapConnection>;
      clock: Clock;
      size: number;
    },
  ) {
    this.#open = open;
    this.#clock = clock;
    this.#limit = new ConnectionLimit({ clock, connections: size });
  }

  /**
   * Lends a connection to `task`. When the connection turns out to be lost and nothing was written over it, `task` runs once more over a new one.
   */
  use<T>(task: (connection: LdapConnection) => Promise<T>, deadlineMs: number): Promise<T> {
    return this.#limit.run(() => this.#lend(task, deadlineMs), deadlineMs);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelSweep?.();
    for (const { connection } of this.#idle) connection.close();
    this.#idle = [];
    await this.#limit.close();
  }

  async #lend<T>(task: (connection: LdapConnection) => Promise<T>, deadlineMs: number): Promise<T> {
    const kept = this.#take();
    if (kept !== null) {
      try {
        return await this.#run(task, { connection: kept, deadlineMs });
      } catch (thrown) {
        const isLost = thrown instanceof Trouble && thrown.fault.kind === "unreachable" &&
          !thrown.fault.unsure && !kept.usable() && this.#clock.nowMs() < deadlineMs;
        if (!isLost) throw thrown;
      }
    }
    return await this.#run(task, { connection: await this.#open(deadlineMs), deadlineMs });
  }

  async #run<T>(
    task: (connection: LdapConnection) => Promise<T>,
    { connection, deadlineMs }: { connection: LdapConnection; deadlineMs: number },
  ): Promise<T> {
    connection.forget();
    connection.setDeadline(deadlineMs);
    try {
      return await task(connection);
    } catch (thrown) {
      // The operations before a refusal took effect: the caller needs that to compensate.
      if (thrown instanceof Trouble && connection.wrote()) {
        throw new Trouble({ ...thrown.fault, unsure: true }, { cause: thrown });
      }
      throw thrown;
    } finally {
      this.#giveBack(connection);
    }
  }

  #take(): LdapConnection | null {
    for (let one = this.#idle.pop(); one !== undefined; one = this.#idle.pop()) {
      if (one.connection.usable()) return one.connection;
      one.connection.close();
    }
    return null;
  }

  #giveBack(connection: LdapConnection): void {
    if (this.#isClosed || !connection.usable()) return connection.close();
    this.#idle.push({ connection, sinceMs: this.#clock.nowMs() });
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
