// A number of tries for each key in a window of time. It holds for all nodes that share the store.

import { LimitTable, type LimitTableDeps, readTime } from "./limit_table.ts";

export interface RateLimit {
  /** Counts one; `false` if the key had used its window before. */
  take(key: string): Promise<boolean>;
  /** How long a key that has used its window must wait, in milliseconds; 0 if it need not wait. */
  waitMs(key: string): Promise<number>;
}

interface CountedWindow {
  readonly endsMs: number;
  readonly count: number;
}

const MAX_KEYS = 50_000;
/** If there are too many keys, new ones share this number of windows. */
const SHARED_WINDOWS = 256;

/** @param options.count the number that is allowed in each window of `windowMs`; it may change. `name` differs for each limit. */
export function createRateLimit(
  deps: LimitTableDeps,
  { name, count: given, windowMs, maxKeys = MAX_KEYS }: {
    name: string;
    count: number | (() => number);
    windowMs: number;
    maxKeys?: number;
  },
): RateLimit {
  const { clock } = deps;
  const allowed = () => typeof given === "number" ? given : given();
  // Windows of known keys are never forgotten early: new keys share the windows that are left.
  const windows = new LimitTable<CountedWindow>(deps, {
    name,
    maxRows: maxKeys + SHARED_WINDOWS,
    expiresMs: ({ endsMs }) => endsMs,
    read(value, nowMs) {
      const { endsMs, count } = value as Partial<Record<keyof CountedWindow, unknown>>;
      return { endsMs: readTime(endsMs, nowMs + windowMs), count: typeof count === "number" ? count : 0 };
    },
  });
  const find = async (key: string): Promise<{ used: string; window: CountedWindow | undefined }> => {
    const [own] = await windows.read([key]);
    if (own !== undefined || windows.size < maxKeys) return { used: key, window: own };
    const used = sharedKey(key);
    const [window] = await windows.read([used]);
    return { used, window };
  };
  return {
    async take(key) {
      const { used } = await find(key);
      return await windows.change([used], ([window]) => {
        if (window === undefined) {
          return allowed() < 1 ? null : [{ endsMs: clock.nowMs() + windowMs, count: 1 }];
        }
        return window.count >= allowed() ? null : [{ ...window, count: window.count + 1 }];
      });
    },
    async waitMs(key) {
      const { window } = await find(key);
      return window === undefined || window.count < allowed() ? 0 : window.endsMs - clock.nowMs();
    },
  };
}

/** The name of the window that a key shares with others. */
function sharedKey(key: string): string {
  let hash = 0;
  for (let at = 0; at < key.length; at++) hash = (hash * 31 + key.charCodeAt(at)) >>> 0;
  return `shared window ${hash % SHARED_WINDOWS}`;
}
