// Waits for a promise for a limited time.

import type { Clock } from "./runtime.ts";

/** A result that came in time, or the end of the wait. */
export type TimedResult<T> = { readonly inTime: true; readonly value: T } | { readonly inTime: false };

/** Waits for `work` for at most `timeoutMs`. What `work` does later is ignored, a rejection too. */
export async function withTimeout<T>(
  work: Promise<T>,
  { clock, timeoutMs }: { clock: Clock; timeoutMs: number },
): Promise<TimedResult<T>> {
  const { promise: timeout, resolve } = Promise.withResolvers<TimedResult<T>>();
  const cancel = clock.after(Math.max(0, timeoutMs), () => resolve({ inTime: false }));
  try {
    return await Promise.race([work.then((value) => ({ inTime: true as const, value })), timeout]);
  } finally {
    cancel();
  }
}
