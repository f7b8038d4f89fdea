// A circuit breaker: stops calling a backend for a moment after several failures in a row, so that callers fail at once.

import type { Clock } from "../../runtime.ts";

const FAILURES_TO_OPEN = 3;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

export interface Circuit {
  /** `null`: go ahead. Else how long the backend is left alone yet. After a pause one caller goes ahead, to try. */
  waitMs(): number | null;
  /** The backend answered, whatever it said. */
  alive(): void;
  /** It could not be reached, or did not answer in time. `true` when this opened the circuit. */
  dead(): boolean;
}

export function createCircuit(clock: Clock): Circuit {
  let failures = 0;
  let pausedUntilMs = 0;
  let nextTryMs = 0;
  const pauseMs = (): number =>
    Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(10, failures - FAILURES_TO_OPEN));
  return {
    waitMs() {
      if (failures < FAILURES_TO_OPEN) return null;
      const leftMs = nextTryMs - clock.nowMs();
      if (leftMs > 0) return leftMs;
      // The call that tries may never report back; then the next one tries after another pause.
      nextTryMs = clock.nowMs() + pauseMs();
      return null;
    },
    alive() {
      failures = 0;
      pausedUntilMs = 0;
    },
    dead() {
      // Many calls that end together are one failure: they tell nothing that is not known, and must not make the pause the longest.
      if (clock.nowMs() < pausedUntilMs) return false;
      failures++;
      if (failures < FAILURES_TO_OPEN) return false;
      pausedUntilMs = nextTryMs = clock.nowMs() + pauseMs();
      return failures === FAILURES_TO_OPEN;
    },
  };
}
