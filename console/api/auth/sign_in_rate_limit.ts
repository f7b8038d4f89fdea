// Rate limits for failed sign-ins of the console: by source and name, and by account. An attempt counts before the check, so that
// concurrent ones do not exceed the limit. The limits hold for all nodes together.

import {
  type FailureKey,
  LimitTable,
  type LimitTableDeps,
  MAX_FAILURES_PER_NAME,
  readTime,
  readTimes,
  SharedFailureLimit,
} from "../../../platform/limit_table.ts";
import { createChangeLimit } from "../change_limits.ts";
import { Refusal } from "../errors.ts";
import { sourceKey } from "../../../platform/addresses.ts";
import { adminKeyName } from "./admin_records.ts";

/** Failures a minute for one name from one source. */
export const FAILURES_PER_MINUTE = MAX_FAILURES_PER_NAME;

/** An attempt that counts as a failure until it is forgiven. */
interface SignInAttempt {
  /** Call it if the attempt did not fail. */
  forgive(): Promise<void>;
}

export interface SignInRateLimit {
  /** @throws Refusal `too_many_attempts`, with Retry-After. */
  take(key: FailureKey): Promise<SignInAttempt>;
}

/** @param name differs for each kind of sign-in, because each has its own limit */
export function createSignInRateLimit(deps: LimitTableDeps, name: string): SignInRateLimit {
  const limit = new SharedFailureLimit(deps, { name });
  return {
    async take(key) {
      const taken = await limit.take(key);
      if ("waitMs" in taken) throw tooManyAttempts(taken.waitMs);
      return taken;
    },
  };
}

/** Starts a minute from one source, such as the redirect to the provider. A start needs no secret, so none of them is a failure. */
const STARTS_PER_MINUTE = 60;

export interface StartRateLimit {
  /** Counts a start of a sign-in. @throws Refusal `too_many_changes`, with Retry-After. */
  take(source: string): Promise<void>;
}

export function createStartRateLimit(deps: LimitTableDeps): StartRateLimit {
  const limit = createChangeLimit(deps, { name: "sign_in_start", perMinute: STARTS_PER_MINUTE });
  return { take: (source) => limit.take(sourceKey(source)) };
}

function tooManyAttempts(waitMs: number): Refusal {
  return new Refusal("too_many_attempts", { "retry-after": String(Math.ceil(waitMs / 1000)) });
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
    if (isGuess(fault)) await attempts.take({ source, name });
    throw fault;
  }
}

/** After so many wrong sign-ins within {@link ACCOUNT_WINDOW_MS}, the account counts as under attack. */
export const MAX_ACCOUNT_FAILURES = 10;
export const ACCOUNT_WINDOW_MS = 60 * 60_000;
/** The wait of a source after a wrong sign-in to an account under attack. */
export const ATTACKED_WAIT_MS = 15 * 60_000;
const MAX_ACCOUNTS = 10_000;
/** Sources with a wrong sign-in, over all accounts. */
const MAX_SOURCES = 50_000;
const MAX_KNOWN_SOURCES = 20;
/** How long a source from which the account signed in keeps the normal limit. */
const KNOWN_MS = 30 * 24 * 60 * 60_000;

interface SignInOf {
  readonly name: string;
  readonly source: string;
}

export interface AccountRateLimit {
  /** @throws Refusal `too_many_attempts`, with Retry-After. */
  refuseLimited(signIn: SignInOf): Promise<void>;
  /** Whether the account signed in from this source before. */
  isKnown(signIn: SignInOf): Promise<boolean>;
  failed(signIn: SignInOf): Promise<void>;
  /** The source keeps the normal limit from now on. */
  succeeded(signIn: SignInOf): Promise<void>;
}

interface AccountSignIns {
  /** Times of the last wrong sign-ins, oldest first; at most {@link MAX_ACCOUNT_FAILURES}. */
  readonly failures: readonly number[];
  /** Sources from which the account signed in, the newest last. */
  readonly known: readonly string[];
  readonly changedMs: number;
}

const NO_SIGN_INS: AccountSignIns = { failures: [], known: [], changedMs: 0 };

/** Unknown names count as well, so that the limit does not reveal which names exist. */
export function createAccountRateLimit(deps: LimitTableDeps): AccountRateLimit {
  const { clock } = deps;
  const accounts = new LimitTable<AccountSignIns>(deps, {
    name: "account",
    maxRows: MAX_ACCOUNTS,
    expiresMs: ({ known, changedMs }) => changedMs + (known.length > 0 ? KNOWN_MS : ACCOUNT_WINDOW_MS),
    read(value, nowMs) {
      const { failures, known, changedMs } = (value ?? NO_SIGN_INS) as Partial<
        Record<keyof AccountSignIns, unknown>
      >;
      return {
        failures: readTimes(failures, nowMs),
        known: Array.isArray(known) ? known.map(String) : [],
        changedMs: readTime(changedMs, nowMs),
      };
    },
  });
  /** The last wrong sign-in of a source to an account. */
  const wrong = new LimitTable<number>(deps, {
    name: "account_source",
    maxRows: MAX_SOURCES,
    expiresMs: (atMs) => atMs + ATTACKED_WAIT_MS,
    read: readTime,
  });
  const wrongKey = ({ name, source }: SignInOf): string => `${adminKeyName(name)}\n${sourceKey(source)}`;
  const change = async (name: string, next: (account: AccountSignIns) => Partial<AccountSignIns>) => {
    await accounts.change([adminKeyName(name)], ([account = NO_SIGN_INS]) => [
      { ...account, ...next(account), changedMs: clock.nowMs() },
    ]);
  };
  const isAttacked = ({ failures }: AccountSignIns): boolean => {
    const [oldest] = failures;
    return failures.length >= MAX_ACCOUNT_FAILURES && oldest !== undefined &&
      clock.nowMs() - oldest < ACCOUNT_WINDOW_MS;
  };

  return {
    async refuseLimited(signIn) {
      const [account = NO_SIGN_INS] = await accounts.read([adminKeyName(signIn.name)]);
      if (account.known.includes(sourceKey(signIn.source)) || !isAttacked(account)) return;
      const [wrongMs] = await wrong.read([wrongKey(signIn)]);
      if (wrongMs !== undefined) throw tooManyAttempts(wrongMs + ATTACKED_WAIT_MS - clock.nowMs());
    },
    async isKnown({ name, source }) {
      const [account = NO_SIGN_INS] = await accounts.read([adminKeyName(name)]);
      return account.known.includes(sourceKey(source));
    },
    async failed(signIn) {
      const nowMs = clock.nowMs();
      await change(signIn.name, ({ failures }) => ({
        failures: [...failures, nowMs].slice(-MAX_ACCOUNT_FAILURES),
      }));
      await wrong.change([wrongKey(signIn)], () => [nowMs]);
    },
    async succeeded(signIn) {
      const key = sourceKey(signIn.source);
      await wrong.change([wrongKey(signIn)], ([wrongMs]) => wrongMs === undefined ? null : [null]);
      await change(signIn.name, ({ known }) => ({
        known: [...known.filter((one) => one !== key), key].slice(-MAX_KNOWN_SOURCES),
      }));
    },
  };
}
