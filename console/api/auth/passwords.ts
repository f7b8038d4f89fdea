// Passwords of administrators: the common hasher, whose refusals are said in the console's words.

import {
  type Cost,
  createPasswordHasher as createCommonHasher,
  HasherBusy,
  type PasswordHash,
  type PasswordHasher,
} from "../../../platform/password_hasher.ts";
import type { Random } from "../../../platform/runtime.ts";
import { Refusal } from "../errors.ts";

export type { PasswordHash, PasswordHasher };

/**
 * A hasher that rejects with the refusal `busy` when too much waits.
 *
 * @param deps.cost the cost of new hashes; less is for tests.
 */
export function createPasswordHasher(deps: { random: Random; cost?: Cost }): PasswordHasher {
  return inConsoleWords(createCommonHasher(deps));
}

/** The same hasher, and so the same queue, with the console's refusal. */
export function inConsoleWords(hasher: PasswordHasher): PasswordHasher {
  return {
    make: (password) => hasher.make(password).catch(refuseBusy),
    check: (password, hash) => hasher.check(password, hash).catch(refuseBusy),
    isCurrent: (hash) => hasher.isCurrent(hash),
  };
}

function refuseBusy(fault: unknown): never {
  if (fault instanceof HasherBusy) throw new Refusal("busy", { "retry-after": String(fault.retryAfterS) });
  throw fault;
}
