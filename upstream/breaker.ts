// A circuit breaker for one route: after several failures in a row it rejects all calls for a while, then lets one call try.
// Pure: every function takes a state and a time and gives the next state.

/** Closed while `failures` is below the limit; otherwise it opens until `retryAtMs`, when one call may try. */
export interface Breaker {
  readonly failures: number;
  /** When the current row of failures began. */
  readonly sinceMs: number;
  /** How often it opened in a row; each time the wait doubles. */
  readonly openings: number;
  readonly retryAtMs: number;
  readonly probing: boolean;
}

/** What opens it, and for how long. */
export interface BreakerLimits {
  /** Failures in a row that open it. */
  readonly failures: number;
  /** A row that took longer than this starts anew. */
  readonly windowMs: number;
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
}

export const BREAKER_LIMITS: BreakerLimits = {
  failures: 5,
  windowMs: 30_000,
  firstWaitMs: 5_000,
  longestWaitMs: 60_000,
};

export const CLOSED_BREAKER: Breaker = { failures: 0, sinceMs: 0, openings: 0, retryAtMs: 0, probing: false };

/** Whether it rejects all calls now, apart from the one that tries. */
export function isOpen(breaker: Breaker): boolean {
  return breaker.openings > 0;
}

/** Whether a call may go out, and the state afterwards: an open breaker's first call after the wait is the probe. */
export function admitCall(breaker: Breaker, nowMs: number): { admitted: boolean; next: Breaker } {
  if (!isOpen(breaker)) return { admitted: true, next: breaker };
  if (breaker.probing || nowMs < breaker.retryAtMs) return { admitted: false, next: breaker };
  return { admitted: true, next: { ...breaker, probing: true } };
}

/** What a call told about the route. `unused`: it was admitted but never went out. */
export type CallLesson = "alive" | "down" | "unused";

/** The state after a call. `jitter` is from 0 to 1 and shortens the wait by up to a half. */
export function afterCall(
  breaker: Breaker,
  lesson: CallLesson,
  { nowMs, jitter, limits }: { nowMs: number; jitter: number; limits: BreakerLimits },
): Breaker {
  if (lesson === "unused") return { ...breaker, probing: false };
  if (lesson === "alive") return CLOSED_BREAKER;
  if (isOpen(breaker)) {
    // A call that was under way when it opened says nothing new; a probe that failed doubles the wait.
    return breaker.probing ? opened(breaker, { nowMs, jitter, limits }) : breaker;
  }
  const fresh = breaker.failures === 0 || nowMs - breaker.sinceMs > limits.windowMs;
  const counted: Breaker = fresh
    ? { ...CLOSED_BREAKER, failures: 1, sinceMs: nowMs }
    : { ...breaker, failures: breaker.failures + 1 };
  return counted.failures < limits.failures ? counted : opened(counted, { nowMs, jitter, limits });
}

function opened(
  breaker: Breaker,
  { nowMs, jitter, limits }: { nowMs: number; jitter: number; limits: BreakerLimits },
): Breaker {
  const fullMs = Math.min(limits.firstWaitMs * 2 ** breaker.openings, limits.longestWaitMs);
  return {
    ...breaker,
    openings: breaker.openings + 1,
    retryAtMs: nowMs + fullMs * (1 - jitter / 2),
    probing: false,
  };
}
