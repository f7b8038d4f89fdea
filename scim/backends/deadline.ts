// Waits that end: a promise or a point in time, whichever comes first.

import type { Clock } from "../../runtime.ts";

/** What `withDeadline` gives when the time is over. */
export const TOO_LATE = Symbol("too late");

/** `work`, or {@link TOO_LATE} at `deadlineMs`. What `work` does later is ignored, its rejection too. */
export async function withDeadline<T>(
  work: Promise<T>,
  { clock, deadlineMs }: { clock: Clock; deadlineMs: number },
): Promise<T | typeof TOO_LATE> {
  let cancel: () => void = () => undefined;
  const late = new Promise<typeof TOO_LATE>((resolve) => {
    cancel = clock.after(Math.max(0, deadlineMs - clock.nowMs()), () => resolve(TOO_LATE));
  });
  // The race may be over when `work` fails; an unhandled rejection would end the process.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
  }
}
