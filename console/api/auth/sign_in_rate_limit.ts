// Rate limits for failed sign-ins of the console: by source and name, and by account. An attempt counts before the check, so that
// concurrent ones do not exceed the limit.

import { type FailureKey, FailureLimit, MAX_FAILURES_PER_NAME } from "../../../platform/failure_limit.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { Refusal } from "../errors.ts";
import { sourceKey } from "../../../platform/addresses.ts";
import { adminKeyName } from "./admin_records.ts";

/** Failures a minute for one name from one source. */
export const FAILURES_PER_MINUTE = MAX_FAILURES_PER_NAME;

/** An attempt that counts as a failure until it is forgiven. */
export interface SignInAttempt {
  /** Call it if the attempt did not fail. */
  forgive(): void;
}

export interface SignInRateLimit {
  /** @throws Refusal `too_many_attempts`, with Retry-After. */
  take(key: FailureKey): SignInAttempt;
}

export function createSignInRateLimit({ clock }: { clock: Clock }): SignInRateLimit {
  const limit = new FailureLimit({ clock });
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
 * Runs `call`, which checks a secret of 128 bits or more, such as a link. A correct one always passes. A wrong one (`isGuess`)
 * counts, and is refused with 429 beyond the limit.
 */
export async function countGuesses<T>(
  attempts: SignInRateLimit,
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

/** After so many wrong sign-ins within {@link ACCOUNT_WINDOW_MS}, the account counts as under attack. */
export const MAX_ACCOUNT_FAILURES = 10;
export const ACCOUNT_WINDOW_MS = 60 * 60_000;
/** The wait of a source after a wrong sign-in to an account under attack. */
export const ATTACKED_WAIT_MS = 15 * 60_000;
const MAX_ACCOUNTS = 10_000;
const MAX_SOURCES = 2000;
const MAX_KNOWN_SOURCES = 20;

/** One sign-in. */
interface SignInOf {
  readonly name: string;
  readonly source: string;
}

export interface AccountRateLimit {
  /** @throws Refusal `too_many_attempts`, with Retry-After. */
  refuseLimited(signIn: SignInOf): void;
  failed(signIn: SignInOf): void;
  /** The source keeps the normal limit from now on. */
  succeeded(signIn: SignInOf): void;
}

interface Account {
  /** Times of the last wrong sign-ins, oldest first; at most {@link MAX_ACCOUNT_FAILURES}. */
  readonly failures: number[];
  /** Source → its last wrong sign-in. */
  readonly wrong: Map<string, number>;
  /** Sources from which the account signed in. */
  readonly known: Set<string>;
}

export function createAccountRateLimit({ clock }: { clock: Clock }): AccountRateLimit {
  // Unknown names count as well, so that the limit does not reveal which names exist.
  const accounts = new Map<string, Account>();
  const accountOf = (name: string): Account => {
    const key = adminKeyName(name);
    const account = accounts.get(key) ?? { failures: [], wrong: new Map(), known: new Set() };
    setNewest(accounts, { key, value: account, max: MAX_ACCOUNTS });
    return account;
  };
  const isAttacked = ({ failures }: Account): boolean => {
    const [oldest] = failures;
    return failures.length >= MAX_ACCOUNT_FAILURES && oldest !== undefined &&
      clock.nowMs() - oldest < ACCOUNT_WINDOW_MS;
  };

  return {
    refuseLimited({ name, source }) {
      const account = accounts.get(adminKeyName(name));
      const key = sourceKey(source);
      if (account === undefined || account.known.has(key) || !isAttacked(account)) return;
      const waitMs = (account.wrong.get(key) ?? -Infinity) + ATTACKED_WAIT_MS - clock.nowMs();
      if (waitMs <= 0) return;
      throw new Refusal("too_many_attempts", { "retry-after": String(Math.ceil(waitMs / 1000)) });
    },
    failed({ name, source }) {
      const { failures, wrong } = accountOf(name);
      failures.push(clock.nowMs());
      if (failures.length > MAX_ACCOUNT_FAILURES) failures.shift();
      setNewest(wrong, { key: sourceKey(source), value: clock.nowMs(), max: MAX_SOURCES });
    },
    succeeded({ name, source }) {
      const { known, wrong } = accountOf(name);
      const key = sourceKey(source);
      wrong.delete(key);
      known.delete(key);
      known.add(key);
      const [oldest] = known;
      if (known.size > MAX_KNOWN_SOURCES && oldest !== undefined) known.delete(oldest);
    },
  };
}

/** Sets an entry at the end of a map. Beyond `max`, the oldest entry is deleted. */
function setNewest<T>(
  map: Map<string, T>,
  { key, value, max }: { key: string; value: T; max: number },
): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}
