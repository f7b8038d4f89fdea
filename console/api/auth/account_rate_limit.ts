// Limits wrong sign-ins of one account over all sources. After 10 in an hour, each source may be wrong once in 15 minutes for that account. A stranger
// never locks the account: the first attempt of every source is still checked, and a source from which the account signed in keeps the normal limit.

import type { Clock } from "../../../platform/runtime.ts";
import { sourceKey } from "../../../platform/source_key.ts";
import { Refusal } from "../errors.ts";
import { adminKeyName } from "./admin_records.ts";

/** Wrong sign-ins within {@link ACCOUNT_WINDOW_MS} from which on the account counts as under attack. */
export const MAX_ACCOUNT_FAILURES = 10;
export const ACCOUNT_WINDOW_MS = 60 * 60_000;
/** How long a source waits after a wrong sign-in for an account under attack. */
export const ATTACKED_WAIT_MS = 15 * 60_000;
const MAX_ACCOUNTS = 10_000;
const MAX_SOURCES = 2000;
const MAX_KNOWN_SOURCES = 20;

/** One sign-in: the account's name as typed, and where it comes from. */
interface SignInOf {
  readonly name: string;
  readonly source: string;
}

export interface AccountAttempts {
  /** @throws Refusal `too_many_attempts`, with Retry-After. */
  refuseAttacker(signIn: SignInOf): void;
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

export function createAccountAttempts({ clock }: { clock: Clock }): AccountAttempts {
  // Unknown names count as well, so that the limit does not tell which names exist.
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
    refuseAttacker({ name, source }) {
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

/** Puts an entry at the end of a map; beyond `max` the entry that was set longest ago goes. */
function setNewest<T>(
  map: Map<string, T>,
  { key, value, max }: { key: string; value: T; max: number },
): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}
