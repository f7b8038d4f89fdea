// One after the other per key: for changes that first count what is there.

export interface Turns {
  /** Runs `task` when those before it under the same key have ended; its outcome is the task's own. */
  take<T>(key: string, task: () => Promise<T>): Promise<T>;
}

export function createTurns(): Turns {
  const last = new Map<string, Promise<void>>();
  return {
    async take(key, task) {
      const before = last.get(key);
      const { promise: mine, resolve: done } = Promise.withResolvers<void>();
      last.set(key, mine);
      await before;
      try {
        return await task();
      } finally {
        done();
        if (last.get(key) === mine) last.delete(key);
      }
    },
  };
}
