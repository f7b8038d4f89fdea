// Lets a fake clock run while something real is awaited: each turn of the event loop is a little of its time, so that deadlines of calls, held
// requests and the second before a Reject pass quickly, and in order.

import type { ManualClock } from "../../upstream/manual_clock.ts";

/** What a turn is worth. A call to a fake needs a few turns; its deadline of five seconds is two hundred and fifty. */
const TURN_MS = 20;

/** One turn of the event loop, in which sockets and the store are heard. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}

/** Awaits `pending` while time passes. */
export async function whileTimePasses<T>(clock: ManualClock, pending: Promise<T>): Promise<T> {
  let settled = false;
  const noted = pending.finally(() => {
    settled = true;
  });
  // Whoever awaits the result below handles a rejection; this line only keeps the runtime from calling it unhandled before.
  noted.catch(() => null);
  while (!settled) {
    await turn();
    if (!settled) clock.advance(TURN_MS);
  }
  return await noted;
}

/** Lets `forMs` of the clock pass, in turns. */
export async function pass(clock: ManualClock, forMs: number): Promise<void> {
  const untilMs = clock.nowMs() + forMs;
  while (clock.nowMs() < untilMs) {
    clock.advance(Math.min(TURN_MS, untilMs - clock.nowMs()));
    await turn();
  }
}

/** Moves the clock far at once, and lets what came due finish. */
export async function jump(clock: ManualClock, byMs: number): Promise<void> {
  clock.advance(byMs);
  for (let count = 0; count < 5; count++) await turn();
}

/** Waits in turns, without the clock, until something is so. Throws after 4 s. */
export async function becomes(what: string, isSo: () => boolean): Promise<void> {
  for (const end = performance.now() + 4000; performance.now() < end;) {
    if (isSo()) return;
    await turn();
  }
  throw new Error(`It never came to this: ${what}`);
}
