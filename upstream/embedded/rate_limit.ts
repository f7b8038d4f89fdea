// So many a window, per key, in memory. With too many keys the oldest windows are forgotten first.

/** Counts per key. */
export interface RateLimit {
  /** Counts one; `false` when the key had used up its window before. */
  take(key: string): boolean;
  /** Whether the key has used up its window; counts nothing. */
  isUsedUp(key: string): boolean;
  /** How long until the key's window ends, in milliseconds; 0 without one. */
  waitMs(key: string): number;
}

interface Window {
  readonly endsMs: number;
  count: number;
}

const MAX_KEYS = 50_000;

/** @param options.count how many are allowed in each window of `windowMs`. */
export function createRateLimit(
  nowMs: () => number,
  { count, windowMs, maxKeys = MAX_KEYS }: { count: number; windowMs: number; maxKeys?: number },
): RateLimit {
  // In order of their ends, because all windows are equally long.
  const windows = new Map<string, Window>();
  const forgetOld = (): void => {
    for (const [key, { endsMs }] of windows) {
      if (endsMs > nowMs() && windows.size < maxKeys) return;
      windows.delete(key);
    }
  };
  const current = (key: string): Window | undefined => {
    const window = windows.get(key);
    return window !== undefined && window.endsMs > nowMs() ? window : undefined;
  };
  return {
    take(key) {
      const window = current(key);
      if (window !== undefined) return ++window.count <= count;
      forgetOld();
      windows.delete(key);
      windows.set(key, { endsMs: nowMs() + windowMs, count: 1 });
      return count >= 1;
    },
    isUsedUp: (key) => (current(key)?.count ?? 0) >= count,
    waitMs: (key) => Math.max(0, (current(key)?.endsMs ?? 0) - nowMs()),
  };
}
