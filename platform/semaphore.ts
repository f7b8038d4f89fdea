// Concurrent tasks: a semaphore with a bounded queue, a mutex by key, single flight, and a wait for the running tasks.

import type { Clock } from "./runtime.ts";

export interface SemaphoreLimits {
  /** Tasks that run at the same time. */
  readonly concurrent: number;
  /** Tasks that may wait. */
  readonly waiting: number;
}

/** Why a task did not run. */
export type SemaphoreRefusal = "queue_full" | "wait_timeout" | "closed";

type SemaphoreResult<T> =
  | { readonly ran: true; readonly value: T }
  | { readonly ran: false; readonly reason: SemaphoreRefusal };

/** Bounds how many tasks run at the same time. The others wait in the order of arrival, up to a number and a time. */
export class Semaphore {
  readonly #clock: Clock;
  readonly #limits: SemaphoreLimits;
  readonly #queue = new Set<(refusal: SemaphoreRefusal | null) => void>();
  readonly #drained = Promise.withResolvers<void>();
  #running = 0;
  #isClosed = false;

  constructor({ clock, limits }: { clock: Clock; limits: SemaphoreLimits }) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Runs `task` as soon as there is a place. The wait ends at `waitUntilMs`; the task itself has no deadline. */
  async run<T>(task: () => Promise<T>, waitUntilMs = Infinity): Promise<SemaphoreResult<T>> {
    const reason = await this.#enter(waitUntilMs);
    if (reason !== null) return { ran: false, reason };
    try {
      return { ran: true, value: await task() };
    } finally {
      this.#leave();
    }
  }

  /** Refuses the waiting tasks and all new ones. Resolves when the running tasks have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const settle of this.#queue) settle("closed");
    if (this.#running === 0) this.#drained.resolve();
    await this.#drained.promise;
  }

  #enter(waitUntilMs: number): Promise<SemaphoreRefusal | null> {
    if (this.#isClosed) return Promise.resolve("closed");
    if (this.#running < this.#limits.concurrent) {
      this.#running++;
      return Promise.resolve(null);
    }
    if (this.#queue.size >= this.#limits.waiting) return Promise.resolve("queue_full");
    return new Promise((resolve) => {
      const settle = (refusal: SemaphoreRefusal | null): void => {
        this.#queue.delete(settle);
        cancelTimer?.();
        resolve(refusal);
      };
      const cancelTimer = waitUntilMs === Infinity
        ? null
        : this.#clock.after(Math.max(0, waitUntilMs - this.#clock.nowMs()), () => settle("wait_timeout"));
      this.#queue.add(settle);
    });
  }

  /** Gives the place to the task that has waited longest. */
  #leave(): void {
    const [next] = this.#queue;
    if (next !== undefined) return next(null);
    this.#running--;
    if (this.#isClosed && this.#running === 0) this.#drained.resolve();
  }
}

/** Runs tasks of one key one after another, for changes that first read the stored value. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `task` when the earlier tasks of `key` have ended. The outcome is that of the task. */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const { promise: own, resolve: release } = Promise.withResolvers<void>();
    this.#last.set(key, own);
    await before;
    try {
      return await task();
    } finally {
      release();
      if (this.#last.get(key) === own) this.#last.delete(key);
    }
  }
}

/** Knows the running tasks, so that their owner can wait for them before it closes what they use. */
export class RunningTasks {
  readonly #running = new Set<Promise<unknown>>();

  /** Runs `task`. The outcome is that of the task. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    const running = task();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Resolves when the tasks that run now have ended, whatever their outcome. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }
}

/** Single flight: callers that arrive during a run share the next run. */
export function createSingleFlight<T>(): (run: () => Promise<T>) => Promise<T> {
  let current: Promise<T> | null = null;
  let next: Promise<T> | null = null;

  const start = (run: () => Promise<T>): Promise<T> => {
    const started = run().finally(() => {
      if (current === started) current = null;
    });
    current = started;
    return started;
  };
  return (run) => {
    // The next run begins a moment after the current one ended.
    if (next !== null) return next;
    if (current === null) return start(run);
    next = current.then(() => undefined, () => undefined).then(() => {
      next = null;
      return start(run);
    });
    return next;
  };
}
