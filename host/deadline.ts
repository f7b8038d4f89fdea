// A wait with an end.

import type { Clock } from "../runtime.ts";

/** Waits for `work`, at most `limitMs`; work that ends or fails later is ignored. */
export async function within<T>(
  clock: Clock,
  limitMs: number,
  work: Promise<T>,
): Promise<{ inTime: true; value: T } | { inTime: false }> {
  const { promise, resolve } = Promise.withResolvers<{ inTime: false }>();
  const cancel = clock.after(limitMs, () => resolve({ inTime: false }));
  try {
    return await Promise.race([work.then((value) => ({ inTime: true as const, value })), promise]);
  } finally {
    cancel();
  }
}
