// A few connections to a directory, each lent to one operation at a time; an operation that finds none waits in line, until a deadline.

import type { CancelTimer, Clock } from "../../runtime.ts";
import { ConnectionLimit } from "./connection_limit.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import { Trouble } from "./trouble.ts";

/** Longer than any pause between two logins of a busy day, shorter than what firewalls remember. */
const IDLE_MS = 60_000;

export interface LdapPool {
  /**
   * Lends a connection to `task`. When the connection turns out to be lost and nothing was written over it, `task` runs once more over a new one.
   */
  use<T>(task: (connection: LdapConnection) => Promise<T>, deadlineMs: number): Promise<T>;
  close(): Promise<void>;
}

interface Idle {
  readonly connection: LdapConnection;
  readonly sinceMs: number;
}

export function createLdapPool(
  { open, clock, size }: {
    /** A connection that is ready for use. */
    open: (deadlineMs: number) => Promise<LdapConnection>;
    clock: Clock;
    size: number;
  },
): LdapPool {
  const limit = new ConnectionLimit({ clock, connections: size });
  let idle: Idle[] = [];
  let cancelSweep: CancelTimer | null = null;
  let closed = false;

  const sweep = (): void => {
    cancelSweep = null;
    const staleMs = clock.nowMs() - IDLE_MS;
    for (const one of idle) if (one.sinceMs <= staleMs) one.connection.close();
    idle = idle.filter((one) => one.sinceMs > staleMs);
    if (idle.length > 0) cancelSweep = clock.after(IDLE_MS, sweep);
  };

  const take = (): LdapConnection | null => {
    for (let one = idle.pop(); one !== undefined; one = idle.pop()) {
      if (one.connection.usable()) return one.connection;
      one.connection.close();
    }
    return null;
  };

  const giveBack = (connection: LdapConnection): void => {
    if (closed || !connection.usable()) return connection.close();
    idle.push({ connection, sinceMs: clock.nowMs() });
    cancelSweep ??= clock.after(IDLE_MS, sweep);
  };

  const run = async <T>(
    connection: LdapConnection,
    task: (connection: LdapConnection) => Promise<T>,
    deadlineMs: number,
  ): Promise<T> => {
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
      giveBack(connection);
    }
  };

  const lend = async <T>(
    task: (connection: LdapConnection) => Promise<T>,
    deadlineMs: number,
  ): Promise<T> => {
    const kept = take();
    if (kept !== null) {
      try {
        return await run(kept, task, deadlineMs);
      } catch (thrown) {
        const isLost = thrown instanceof Trouble && thrown.fault.kind === "unreachable" &&
          !thrown.fault.unsure && !kept.usable() && clock.nowMs() < deadlineMs;
        if (!isLost) throw thrown;
      }
    }
    return await run(await open(deadlineMs), task, deadlineMs);
  };

  return {
    use: (task, deadlineMs) => limit.run(() => lend(task, deadlineMs), deadlineMs),
    async close() {
      closed = true;
      cancelSweep?.();
      for (const { connection } of idle) connection.close();
      idle = [];
      await limit.close();
    },
  };
}
