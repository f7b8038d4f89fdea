// Limits failed sign-ins of the console. An attempt counts before the check, so that many at once do not exceed the limit.

import {
  createFailureLimit,
  type FailureKey,
  MAX_FAILURES_PER_NAME,
} from "../../../platform/failure_limit.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { Refusal } from "../errors.ts";

/** Failures a minute for one name from one source. */
export const FAILURES_PER_MINUTE = MAX_FAILURES_PER_NAME;

/** An attempt that counts as a failure until it is forgiven. */
export interface Attempt {
  /** The attempt was no failure. */
  forgive(): void;
}

export interface Attempts {
  /** @throws Refusal `too_many_attempts`, with Retry-After. */
  take(key: FailureKey): Attempt;
}

/** A limiter of its own, with an empty memory. */
export function createAttempts({ clock }: { clock: Clock }): Attempts {
  const limit = createFailureLimit({ clock });
  return {
    take(key) {
      const waitMs = limit.waitMs(key);
      if (waitMs > 0) {
        throw new Refusal("too_many_attempts", { "retry-after": String(Math.ceil(waitMs / 1000)) });
      }
      return { forgive: limit.fail(key) };
    },
  };
}

/**
 * Runs `call` with a secret of 128 bits or more in it, such as a link. A correct one passes whatever failed before; a
 * wrong one (`isGuess`) counts, and is answered 429 beyond the limit.
 */
export async function countGuesses<T>(
  attempts: Attempts,
  { source, name, isGuess }: { source: string; name: string; isGuess: (fault: unknown) => boolean },
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (fault) {
    if (isGuess(fault)) attempts.take({ source, name });
    throw fault;
  }
}
