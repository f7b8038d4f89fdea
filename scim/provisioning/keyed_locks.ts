// Locks by key: writes of one resource run one after the other. The number and the time of waiting callers are limited.

import type { Clock } from "../../platform/runtime.ts";
import { ScimRefusal } from "../http/refusals.ts";

/** Releases a lock. A second call does nothing. */
export type Release = () => void;

export interface KeyedLocks {
  /** Waits for the lock of `key`. Rejects with the refusal `busy` if too many callers wait, or if it takes too long. */
  hold(key: string): Promise<Release>;
  /** Takes the lock if it is free. Otherwise returns `null`. */
  tryHold(key: string): Release | null;
  /** Runs `task` under the lock. */
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
}

interface Waiter {
  readonly grant: () => void;
}

/** @param limits `each`: the maximum number of callers that wait for one key; `all`: for all keys; `waitMs`: the longest wait. */
export function createKeyedLocks(
  clock: Clock,
  { each = 256, all = 4096, waitMs = 30_000 }: { each?: number; all?: number; waitMs?: number } = {},
): KeyedLocks {
  const queues = new Map<string, Waiter[]>();
  let waiting = 0;

  const releaseOf = (key: string): Release => {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const next = queues.get(key)?.shift();
      if (next === undefined) queues.delete(key);
      else next.grant();
    };
  };
  const tryHold = (key: string): Release | null => {
    if (queues.has(key)) return null;
    queues.set(key, []);
    return releaseOf(key);
  };
  const wait = (key: string, queue: Waiter[]): Promise<Release> => {
    if (queue.length >= each || waiting >= all) return Promise.reject(busy());
    waiting++;
    return new Promise((resolve, reject) => {
      const cancel = clock.after(waitMs, () => {
        queue.splice(queue.indexOf(waiter), 1);
        waiting--;
        reject(busy());
      });
      const waiter: Waiter = {
        grant() {
          cancel();
          waiting--;
          resolve(releaseOf(key));
        },
      };
      queue.push(waiter);
    });
  };
  const hold = (key: string): Promise<Release> => {
    const release = tryHold(key);
    return release === null ? wait(key, queues.get(key) ?? []) : Promise.resolve(release);
  };

  return {
    hold,
    tryHold,
    async run(key, task) {
      const release = await hold(key);
      try {
        return await task();
      } finally {
        release();
      }
    },
  };
}

function busy(): ScimRefusal {
  return new ScimRefusal("busy", { headers: { "Retry-After": "1" } });
}
