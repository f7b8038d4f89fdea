// Counts failed sign-ins of each source address, so that guessing is slow. Kept in memory and bounded.

import type { Clock } from "../../../runtime.ts";
import { sourceKey } from "../../../source_key.ts";
import { Refusal } from "../refusal.ts";

/** Five failures a minute from one source; then it waits. */
export const FAILURES_PER_MINUTE = 5;
const WINDOW_MS = 60_000;
const MAX_SOURCES = 10_000;

/** A place among a source's attempts. It is taken before the check, so that many at once do not slip through. */
export interface Attempt {
  /** Gives the place back: the attempt was no failure. */
  forgive(): void;
}

export interface Attempts {
  /** @throws Refusal `too_many_attempts`, with Retry-After. */
  take(source: string): Attempt;
}

/** A limiter of its own, with an empty memory. */
export function createAttempts({ clock }: { clock: Clock }): Attempts {
  const bySource = new Map<string, number[]>();
  return {
    take(source) {
      const nowMs = clock.nowMs();
      const key = sourceKey(source);
      // Changed in place, so that an attempt under way can still be forgiven.
      const recent = bySource.get(key) ?? [];
      while (nowMs - (recent[0] ?? nowMs) >= WINDOW_MS) recent.shift();
      const oldest = recent[0];
      if (oldest !== undefined && recent.length >= FAILURES_PER_MINUTE) {
        const waitS = Math.max(1, Math.ceil((oldest + WINDOW_MS - nowMs) / 1000));
        throw new Refusal("too_many_attempts", { "retry-after": String(waitS) });
      }
      recent.push(nowMs);
      // Put at the end, so that the first key is the one not seen for longest.
      bySource.delete(key);
      bySource.set(key, recent);
      if (bySource.size > MAX_SOURCES) forgetFirst(bySource);
      return {
        forgive() {
          const at = recent.indexOf(nowMs);
          if (at >= 0) recent.splice(at, 1);
        },
      };
    },
  };
}

function forgetFirst(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
