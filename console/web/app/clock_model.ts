// Time in the page: the server's clock, which ticks once a second, and a timer. Ages and countdowns do not depend on the
// browser's clock.

import { type ReadonlySignal, signal } from "@preact/signals";

export interface ClockModel {
  readonly nowMs: ReadonlySignal<number>;
  /** Takes the time of an answer of the server. */
  adjust(serverNowMs: number): void;
  /** Updates the time. Called once a second. */
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

/** A stream that was silent for this long is lost: two heartbeats of the server, and some. Pages check it more often. */
export const MAX_SILENCE_MS = 12_000;

/** Runs a task after a delay. Models take this function as a dependency. Returns a function that cancels the task. */
export type RunLater = (delayMs: number, task: () => void) => () => void;

/** {@link RunLater} with the browser's timer. */
export const runLater: RunLater = (delayMs, task) => {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
};
