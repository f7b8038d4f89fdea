// A mutex by key: runs tasks of one key one after another, for changes that first count what is there.

export interface KeyedMutex {
  /** Runs `task` when the earlier tasks of `key` have ended. The outcome is that of the task. */
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
}

export function createKeyedMutex(): KeyedMutex {
  const last = new Map<string, Promise<void>>();
  return {
    async run(key, task) {
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
