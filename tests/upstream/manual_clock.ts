// A clock that moves only when a test moves it.

import { nextTurn } from "../support/settle.ts";
import type { Clock } from "../../platform/runtime.ts";

export interface ManualClock extends Clock {
  /** Advances the clock and runs the due timers, in order. */
  advance(byMs: number): void;
  /** The number of timers that are set. */
  timers(): number;
}

/** @param startMs the default is a Thursday in 2027. */
export function createManualClock(startMs = 1_800_000_000_000): ManualClock {
  let nowMs = startMs;
  const timers = new Map<symbol, { atMs: number; task: () => void }>();
  const nextDue = (untilMs: number) =>
    [...timers].filter(([, { atMs }]) => atMs <= untilMs).sort(([, a], [, b]) => a.atMs - b.atMs)[0];
  return {
    nowMs: () => nowMs,
    after(delayMs, task) {
      const key = Symbol();
      timers.set(key, { atMs: nowMs + delayMs, task });
      return () => timers.delete(key);
    },
    advance(byMs) {
      const untilMs = nowMs + byMs;
      for (let due = nextDue(untilMs); due !== undefined; due = nextDue(untilMs)) {
        const [key, { atMs, task }] = due;
        timers.delete(key);
        nowMs = Math.max(nowMs, atMs);
        task();
      }
      nowMs = untilMs;
    },
    timers: () => timers.size,
  };
}

/** Runs all tasks that wait only for their turn. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await nextTurn();
}

/** Waits for something that needs real time, such as a commit. Throws after `withinMs`. @param what a function can add what it saw last */
export async function eventually(
  what: string | (() => string),
  hasHappened: () => boolean | Promise<boolean>,
  { withinMs = 30_000 } = {},
): Promise<void> {
  for (const endMs = performance.now() + withinMs; !await hasHappened();) {
    if (performance.now() > endMs) {
      const text = typeof what === "string" ? what : what();
      throw new Error(`This did not happen in ${withinMs / 1000} s: ${text}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
