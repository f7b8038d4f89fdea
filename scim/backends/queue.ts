// A line of callers before a backend: a few inside at a time, the others wait in order of arrival, until a deadline.

import type { Clock } from "../../runtime.ts";
import { busy } from "./trouble.ts";

const MAX_WAITING = 10_000;

export interface Queue {
  /** Throws when no place is free before `deadlineMs`, or when too many wait. */
  enter(deadlineMs: number): Promise<void>;
  leave(): void;
  /** Resolves when all places are free. */
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
