// Queues of password checks: one check per user at a time, and so many in all, with limits on what waits.

import { withTimeout } from "../../platform/timeout.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { FirstFactorVerdict } from "../ports.ts";

type Check = () => Promise<FirstFactorVerdict>;

/** Checks of one user that may wait. More than the failures that lock a user are of no use: they would find the user locked. */
const MAX_WAITING_PER_USER = 16;
/** No client waits longer. */
const PATIENCE_MS = 10_000;

/** Runs the checks of one user one after another. */
export interface UserChecks {
  /** `busy` when too many checks of this user wait, or when this one could not begin in time. */
  run(user: string, check: Check): Promise<FirstFactorVerdict>;
}

/** Runs so many checks at once. */
export interface CheckQueue {
  /** `busy` when too many wait, or when the check could not begin in time; `unavailable` when it began and takes too long. */
  run(client: string, check: Check): Promise<FirstFactorVerdict>;
}

export function createUserChecks({ clock }: { clock: Clock }): UserChecks {
  /** By user: what waits behind the check that is under way. */
  const waiting = new Map<string, (() => void)[]>();

  const next = (user: string): void => {
    const start = waiting.get(user)?.shift();
    if (start === undefined) waiting.delete(user);
    else start();
  };

  return {
    run(user, check) {
      const others = waiting.get(user);
      if (others !== undefined && others.length >= MAX_WAITING_PER_USER) return Promise.resolve("busy");
      return new Promise((resolve, reject) => {
        const start = (): void => void check().then(resolve, reject).finally(() => next(user));
        if (others === undefined) {
          waiting.set(user, []);
          return start();
        }
        const turn = (): void => {
          cancel();
          start();
        };
        const cancel = clock.after(PATIENCE_MS, () => {
          others.splice(others.indexOf(turn), 1);
          resolve("busy");
        });
        others.push(turn);
      });
    },
  };
}

/** @param options.waitingPerClient of `waiting`, so that one client leaves places for the others. */
export function createCheckQueue(
  { atOnce, waiting, waitingPerClient, clock }: {
    atOnce: number;
    waiting: number;
    waitingPerClient: number;
    clock: Clock;
  },
): CheckQueue {
  const queue = new Set<{ readonly client: string; start(): void }>();
  let running = 0;

  const next = (): void => {
    const [first] = queue;
    if (first === undefined || running >= atOnce) return;
    queue.delete(first);
    first.start();
  };
  const isFull = (client: string): boolean => {
    if (queue.size < waitingPerClient) return false;
    if (queue.size >= waiting) return true;
    let ofClient = 0;
    for (const turn of queue) if (turn.client === client) ofClient++;
    return ofClient >= waitingPerClient;
  };

  return {
    run(client, check) {
      if (isFull(client)) return Promise.resolve("busy");
      return new Promise((resolve, reject) => {
        const turn = {
          client,
          start() {
            running++;
            check().then(resolve, reject).finally(() => {
              running--;
              cancel();
              next();
            });
          },
        };
        // A check that began keeps its place until it ends, because it still takes what the place stands for.
        const cancel = clock.after(
          PATIENCE_MS,
          () => resolve(queue.delete(turn) ? "busy" : "unavailable"),
        );
        queue.add(turn);
        next();
      });
    },
  };
}

/** @throws Error when `work` takes too long. */
export async function inTime<T>(work: Promise<T>, { clock }: { clock: Clock }): Promise<T> {
  const timed = await withTimeout(work, { clock, timeoutMs: PATIENCE_MS });
  if (!timed.inTime) throw new Error(`no answer within ${PATIENCE_MS} ms`);
  return timed.value;
}
