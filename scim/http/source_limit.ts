// Limits the checks of SCIM credentials by source address and name.

import { sourceKey } from "../../platform/addresses.ts";
import { type FailureTaken, SharedFailureLimit } from "../../platform/failure_limit.ts";
import { LimitTable, type LimitTableDeps, readTime } from "../../platform/limit_table.ts";
import type { Clock } from "../../platform/runtime.ts";

const MAX_SOURCES = 10_000;
/** Checks of one source that can wait. */
const MAX_WAITING = 64;
/** A limited source gets one check in this time: a correct credential passes, and guessing is slow. */
const LIMITED_CHECK_MS = 1000;

export interface CredentialCaller {
  readonly source: string;
  readonly name: string;
}

/** Limits the checks of credentials by source address. The limits hold for all nodes together; turns are those of this node. */
export class SourceLimit {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #failures: SharedFailureLimit;
  /** When the last check beyond the limit was, by source. */
  readonly #limitedChecks: LimitTable<number>;
  readonly #turns = new Map<string, { last: Promise<unknown>; waiting: number }>();

  constructor(deps: LimitTableDeps) {
    this.#clock = deps.clock;
    this.#failures = new SharedFailureLimit(deps, { name: "scim_credential" });
    this.#limitedChecks = new LimitTable(deps, {
      name: "scim_limited_check",
      maxRows: MAX_SOURCES,
      expiresMs: (lastMs) => lastMs + LIMITED_CHECK_MS,
      read: readTime,
    });
  }

  /** Milliseconds until the limit ends; 0: not limited. */
  waitMs(caller: CredentialCaller): number {
    return this.#failures.waitMs(caller);
  }

  /** Counts a failure before the check. */
  take(caller: CredentialCaller): Promise<FailureTaken> {
    return this.#failures.take(caller);
  }

  /** Whether a limited source may have one credential checked now. `true` uses up the check. */
  takeLimitedCheck(source: string): Promise<boolean> {
    return this.#limitedChecks.change(
      [sourceKey(source)],
      ([lastMs]) => lastMs === undefined ? [this.#clock.nowMs()] : null,
    );
  }

  /** Runs `work` after earlier work of the same source. `null` if too many calls wait. */
  inTurn<T>(source: string, work: () => Promise<T>): Promise<T> | null {
    const key = sourceKey(source);
    const turn = this.#turns.get(key) ?? { last: Promise.resolve(), waiting: 0 };
    if (turn.waiting >= MAX_WAITING) return null;
    this.#turns.set(key, turn);
    turn.waiting += 1;
    const done = turn.last.then(work).finally(() => {
      turn.waiting -= 1;
      if (turn.waiting === 0) this.#turns.delete(key);
    });
    // The next call waits for the end of this one, whatever its result.
    turn.last = done.catch(() => undefined);
    return done;
  }
}
