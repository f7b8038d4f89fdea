// Counts the exchanges under way: so many per route (scheme, host, port) and so many in all; who finds no room waits in
// a queue with a cap and a deadline.

import type { Clock } from "../runtime.ts";

/** How many exchanges may be under way at once, and how many may wait for one. */
export interface ConnectionLimits {
  readonly perRoute: number;
  readonly total: number;
  readonly waiting: number;
}

/** A place among the exchanges under way; `leave` gives it back (once, further calls do nothing). */
export type GateOutcome = { ok: true; leave: () => void } | { ok: false; detail: string };

/** Hands out places in the order of arrival. */
export interface ConnectionGate {
  /** Resolves when there is a place, when `deadlineMs` has come, or at once when the queue is full. */
  enter(route: string, deadlineMs: number): Promise<GateOutcome>;
  underWay(): number;
  waiting(): number;
  /** Rejects the waiting callers and all new ones. Resolves when the last admitted caller has finished. */
  close(): Promise<void>;
}

interface Waiter {
  readonly route: string;
  readonly settle: (outcome: GateOutcome) => void;
}

export function createConnectionGate(clock: Clock, limits: ConnectionLimits): ConnectionGate {
  const perRoute = new Map<string, number>();
  const queue = new Set<Waiter>();
  const empty = Promise.withResolvers<void>();
  let underWay = 0;
  let closed = false;

  const hasRoom = (route: string): boolean =>
    underWay < limits.total && (perRoute.get(route) ?? 0) < limits.perRoute;

  const take = (route: string): GateOutcome => {
    underWay++;
    perRoute.set(route, (perRoute.get(route) ?? 0) + 1);
    let left = false;
    return {
      ok: true,
      leave() {
        if (left) return;
        left = true;
        giveBack(route);
      },
    };
  };

  const giveBack = (route: string): void => {
    underWay--;
    const others = (perRoute.get(route) ?? 1) - 1;
    if (others > 0) perRoute.set(route, others);
    else perRoute.delete(route);
    for (const waiter of queue) {
      if (underWay >= limits.total) break;
      if (hasRoom(waiter.route)) waiter.settle(take(waiter.route));
    }
    if (closed && underWay === 0) empty.resolve();
  };

  const wait = (route: string, waitMs: number): Promise<GateOutcome> =>
    new Promise((resolve) => {
      const waiter: Waiter = {
        route,
        settle(outcome) {
          queue.delete(waiter);
          cancelTimer();
          resolve(outcome);
        },
      };
      const cancelTimer = clock.after(
        waitMs,
        () => waiter.settle({ ok: false, detail: "no connection became free in time" }),
      );
      queue.add(waiter);
    });

  return {
    async enter(route, deadlineMs) {
      if (closed) return { ok: false, detail: "the caller is closed" };
      if (hasRoom(route)) return take(route);
      if (queue.size >= limits.waiting) return { ok: false, detail: "too many calls wait for a connection" };
      return await wait(route, Math.max(0, deadlineMs - clock.nowMs()));
    },
    underWay: () => underWay,
    waiting: () => queue.size,
    async close() {
      closed = true;
      for (const waiter of queue) waiter.settle({ ok: false, detail: "the caller is closed" });
      if (underWay === 0) empty.resolve();
      await empty.promise;
    },
  };
}
