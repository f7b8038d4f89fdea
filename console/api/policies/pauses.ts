// Pauses of a long evaluation, so that logins are handled meanwhile.

import { type Clock, pauseFor } from "../../../platform/runtime.ts";

const MAX_RUN_MS = 10;

/** Returns a function that waits for the event loop if the last wait is more than 10 ms ago. */
export function createPauses(clock: Pick<Clock, "nowMs" | "after">): () => Promise<void> {
  let sinceMs = clock.nowMs();
  return async () => {
    if (clock.nowMs() - sinceMs < MAX_RUN_MS) return;
    await pauseFor(clock, 0);
    sinceMs = clock.nowMs();
  };
}
