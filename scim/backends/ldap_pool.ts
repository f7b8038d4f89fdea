// A few connections to a directory, each lent to one operation at a time; whoever finds none waits in line, until a deadline.

import type { CancelTimer, Clock } from "../../runtime.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import { busy, Trouble, unreachable } from "./trouble.ts";

const MAX_WAITING = 10_000;
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
  const line = createQueue(clock, size);
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
      // What went before a refusal stands: whoever compensates must know.
      if (thrown instanceof Trouble && connection.wrote()) {
        throw new Trouble({ ...thrown.fault, unsure: true }, { cause: thrown });
      }
      throw thrown;
    } finally {
      giveBack(connection);
    }
  };

  return {
    async use(task, deadlineMs) {
      await line.enter(deadlineMs);
      try {
        if (closed) throw unreachable("the gateway is stopping");
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
      } finally {
        line.leave();
      }
    },
    async close() {
      closed = true;
      cancelSweep?.();
      for (const { connection } of idle) connection.close();
      idle = [];
      await line.empty();
    },
  };
}

interface Queue {
  /** Throws when nobody leaves before `deadlineMs`, or when too many wait. */
  enter(deadlineMs: number): Promise<void>;
  leave(): void;
  /** Resolves when nobody is inside. */
  empty(): Promise<void>;
}

/** At most `size` inside; the others wait in order of arrival. */
export function createQueue(clock: Clock, size: number): Queue {
  const waiting = new Set<() => void>();
  const leaving: (() => void)[] = [];
  let inside = 0;
  return {
    enter(deadlineMs) {
      if (inside < size) {
        inside++;
        return Promise.resolve();
      }
      if (waiting.size >= MAX_WAITING) return Promise.reject(busy("too much waits for the backend already"));
      return new Promise((resolve, reject) => {
        const admit = (): void => {
          waiting.delete(admit);
          cancel();
          resolve();
        };
        const cancel = clock.after(Math.max(0, deadlineMs - clock.nowMs()), () => {
          waiting.delete(admit);
          reject(busy("the backend's connections were all in use until the time was over"));
        });
        waiting.add(admit);
      });
    },
    leave() {
      const [next] = waiting;
      if (next !== undefined) return next();
      inside--;
      if (inside === 0) { for (const done of leaving.splice(0)) done(); }
    },
    empty: () => inside === 0 ? Promise.resolve() : new Promise((resolve) => leaving.push(resolve)),
  };
}
