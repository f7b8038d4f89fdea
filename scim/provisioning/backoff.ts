// How long to wait before trying again: growing, with jitter, so that what failed together does not come back together. Pure.

import type { BackendFault } from "../backend_port.ts";

const FIRST_MS = 1000;
const LONGEST_MS = 10 * 60_000;
/** A backend that is away is asked for at least this often: one call a minute is no burden, and its return is seen soon. */
const LONGEST_AWAY_MS = 60_000;
const LONGEST_ASKED_MS = 3600_000;
/** So often is a write tried that the backend itself does not want. */
export const MOST_ATTEMPTS = 50;

/** Whether the fault is the backend's as a whole, and not one resource's. */
export function isAway({ kind }: BackendFault): boolean {
  return kind === "unreachable" || kind === "busy";
}

/**
 * @param attempts how often it was tried, from 1.
 * @param chance uniform in [0, 1).
 */
export function retryDelayMs(
  fault: BackendFault,
  { attempts, chance }: { attempts: number; chance: number },
): number {
  const longestMs = isAway(fault) ? LONGEST_AWAY_MS : LONGEST_MS;
  const grownMs = Math.min(longestMs, FIRST_MS * 2 ** Math.min(attempts - 1, 20));
  const askedMs = Math.min(fault.retryAfterMs ?? 0, LONGEST_ASKED_MS);
  return Math.max(Math.round(grownMs * (0.8 + 0.4 * chance)), askedMs);
}

/** Whether to give up on a write until an operator retries it. An unreachable backend is never a reason to. */
export function isHopeless(fault: BackendFault, attempts: number): boolean {
  return !fault.retry || (attempts >= MOST_ATTEMPTS && !isAway(fault));
}
