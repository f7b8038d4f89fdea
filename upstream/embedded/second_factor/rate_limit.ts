// A rate limit per key and time window, in memory. A large number of keys does not end the window of another key early.

/** Counts per key. */
export interface RateLimit {
  /** Counts one; `false` if the key had used its window before. */
  take(key: string): boolean;
  /** Whether the key has used its window. Counts nothing. */
  isUsedUp(key: string): boolean;
  /** How long until the key's window ends, in milliseconds; 0 without one. */
  waitMs(key: string): number;
}

interface Window {
  readonly endsMs: number;
  count: number;
}

const MAX_KEYS = 50_000;
/** If there are too many keys, new ones share this number of windows. */
const SHARED_WINDOWS = 256;

/** @param options.count the number that is allowed in each window of `windowMs`. */
export function createRateLimit(
  nowMs: () => number,
  { count, windowMs, maxKeys = MAX_KEYS }: { count: number; windowMs: number; maxKeys?: number },
): RateLimit {
  // In the order of their ends, because all windows are equally long.
  const windows = new Map<string, Window>();
  const shared = new Map<number, Window>();
  const forgetEnded = (): void => {
    for (const [key, { endsMs }] of windows) {
      if (endsMs > nowMs()) return;
      windows.delete(key);
    }
  };
  const isOpen = (window: Window | undefined): window is Window =>
    window !== undefined && window.endsMs > nowMs();
  const current = (key: string): Window | undefined => {
    const own = windows.get(key);
    if (isOpen(own)) return own;
    const overflow = shared.size === 0 || windows.size < maxKeys ? undefined : shared.get(sharedKey(key));
    return isOpen(overflow) ? overflow : undefined;
  };
  return {
    take(key) {
      const window = current(key);
      if (window !== undefined) return ++window.count <= count;
      forgetEnded();
      const opened = { endsMs: nowMs() + windowMs, count: 1 };
      windows.delete(key);
      if (windows.size < maxKeys) windows.set(key, opened);
      else shared.set(sharedKey(key), opened);
      return count >= 1;
    },
    isUsedUp: (key) => (current(key)?.count ?? 0) >= count,
    waitMs: (key) => Math.max(0, (current(key)?.endsMs ?? 0) - nowMs()),
  };
}

/** Which of the shared windows a key uses. */
function sharedKey(key: string): number {
  let hash = 0;
  for (let at = 0; at < key.length; at++) hash = (hash * 31 + key.charCodeAt(at)) >>> 0;
  return hash % SHARED_WINDOWS;
}
