// How long to wait after a call to another system failed: the pause doubles with each failure, and is shortened or lengthened at random, so that
// the calls of an outage do not come back together.

import { HOUR_MS } from "./durations.ts";
import type { Random } from "./runtime.ts";

export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
  /** The pause is multiplied by a random factor from the first number to the second. */
  readonly factors: readonly [number, number];
}

/** The pause before the next try. @param failures in a row, from 1 */
export function backoffMs(
  { firstMs, longestMs, factors: [from, to] }: Backoff,
  failures: number,
  random: Random,
): number {
  const pauseMs = Math.min(longestMs, firstMs * 2 ** Math.min(Math.max(0, failures - 1), 20));
  const share = from === to ? 0 : (random.bytes(1)[0] ?? 0) / 255;
  return Math.round(pauseMs * (from + (to - from) * share));
}

const MAX_RETRY_AFTER_MS = HOUR_MS;
const RETRIES: Backoff = { firstMs: 1000, longestMs: 300_000, factors: [1, 0.75] };

/** The pause of the log export and of alerts, at least as long as the receiver asked. @param failures tries that failed in a row, from 1 */
export function retryPauseMs(
  { failures, retryAfterMs }: { failures: number; retryAfterMs: number },
  random: Random,
): number {
  return Math.max(Math.min(retryAfterMs, MAX_RETRY_AFTER_MS), backoffMs(RETRIES, failures, random));
}
