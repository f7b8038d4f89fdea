// Rate limit for failed credentials of the identity interface, and an order of checks: those of one source run one after
// another, so that many at once do not exceed the limit and do not take all password hashers.

import { createFailureLimit, type FailureKey, type FailureLimit } from "../../platform/failure_limit.ts";
import type { Clock } from "../../platform/runtime.ts";
import { sourceKey } from "../../platform/source_key.ts";

const MAX_SOURCES = 10_000;
/** Checks of one source that may wait for their turn. */
const MAX_WAITING = 64;
/** Beyond the limit, a source gets one check in this time: a correct credential passes, guessing is slow. */
const LIMITED_CHECK_MS = 1000;

interface Caller {
  readonly source: string;
  readonly name: string;
}

export interface SourceLimit {
  /** Milliseconds until the limit ends; 0: not limited. */
  waitMs(caller: Caller): number;
  fail(caller: Caller): void;
  /** Whether a limited source may have one credential checked now. `true` uses the chance up. */
  takeLimitedCheck(source: string): boolean;
  /** Runs `work` when earlier work of the same source has ended; `null` when too much waits already. */
  inTurn<T>(source: string, work: () => Promise<T>): Promise<T> | null;
}

export function createSourceLimit({ clock }: { clock: Clock }): SourceLimit {
  const failures: FailureLimit = createFailureLimit({ clock });
  const lastCheckMs = new Map<string, number>();
  const turns = new Map<string, { last: Promise<unknown>; waiting: number }>();

  return {
    waitMs: (caller) => failures.waitMs(caller),
    fail: (caller) => void failures.fail(caller satisfies FailureKey),
    takeLimitedCheck(source) {
      const key = sourceKey(source);
      const nowMs = clock.nowMs();
      if (nowMs - (lastCheckMs.get(key) ?? 0) < LIMITED_CHECK_MS) return false;
      lastCheckMs.delete(key);
      lastCheckMs.set(key, nowMs);
      for (const oldest of lastCheckMs.keys()) {
        if (lastCheckMs.size <= MAX_SOURCES) break;
        lastCheckMs.delete(oldest);
      }
      return true;
    },
    inTurn(source, work) {
      const key = sourceKey(source);
      const turn = turns.get(key) ?? { last: Promise.resolve(), waiting: 0 };
      if (turn.waiting >= MAX_WAITING) return null;
      turns.set(key, turn);
      turn.waiting += 1;
      const done = turn.last.then(work).finally(() => {
        turn.waiting -= 1;
        if (turn.waiting === 0) turns.delete(key);
      });
      // The next one waits for the end, whatever the result.
      turn.last = done.catch(() => undefined);
      return done;
    },
  };
}
