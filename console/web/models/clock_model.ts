// The server's time in the page, ticking once a second: ages and countdowns must not depend on the browser's clock.

import { type ReadonlySignal, signal } from "@preact/signals";

export interface ClockModel {
  readonly nowMs: ReadonlySignal<number>;
  /** The server said what time it is. */
  adjust(serverNowMs: number): void;
  /** Moves on; called once a second. */
  tick(): void;
}

/** @param localNowMs the browser's clock. */
export function createClockModel(localNowMs: () => number = Date.now): ClockModel {
  let offsetMs = 0;
  const nowMs = signal(localNowMs());
  const tick = () => {
    nowMs.value = localNowMs() + offsetMs;
  };
  return {
    nowMs,
    adjust(serverNowMs) {
      offsetMs = serverNowMs - localNowMs();
      if (Math.abs(nowMs.peek() - serverNowMs) > 1000) tick();
    },
    tick,
  };
}
