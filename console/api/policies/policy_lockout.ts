// Protects from policies that lock everyone out: they are stored only if the administrator confirms them.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { PolicyEvaluator } from "../../../radius/policy/evaluator.ts";
import type { AdminCommands } from "../auth/admin_commands.ts";
import { createPauses } from "./pauses.ts";
import { type People, targetOf } from "../deps.ts";
import type { ErrorCode } from "../error_codes.ts";

export interface PolicyLockoutDeps {
  readonly people: People;
  readonly clock: Pick<Clock, "nowMs" | "after">;
  readonly administrators: Pick<AdminCommands, "list">;
}

/** Users that are checked. If all of these are locked out, the list needs a confirmation. */
const MAX_USERS = 20_000;
const MAX_MS = 5000;

/** Why a list needs a confirmation; `null`: some users and some administrators can still sign in. */
export async function findLockout(
  deps: PolicyLockoutDeps,
  draft: PolicyEvaluator,
): Promise<ErrorCode | null> {
  if (draft.isEmpty) return null;
  if (await locksOutEvery(deps, draft, userNames(deps))) return "policies_lock_out_users";
  return await locksOutEvery(deps, draft, adminNames(deps)) ? "policies_lock_out_admins" : null;
}

/** Whether every user of the names is locked out. Usually the first one is not, which ends the search. */
async function locksOutEvery(
  { people: { policies: { preview } }, clock }: PolicyLockoutDeps,
  draft: PolicyEvaluator,
  names: AsyncIterable<string>,
): Promise<boolean> {
  const endMs = clock.nowMs() + MAX_MS;
  const pause = createPauses(clock);
  let checked = 0;
  for await (const name of names) {
    const isLockedOut = await preview.isLockedOut(draft, name);
    if (isLockedOut === false) return false;
    if (isLockedOut === true) checked++;
    await pause();
    if (checked >= MAX_USERS || clock.nowMs() > endMs) break;
  }
  return checked > 0;
}

async function* userNames({ people }: PolicyLockoutDeps): AsyncIterable<string> {
  for await (const { content } of targetOf(people, undefined).directory.all("user")) {
    yield canonicalName(content.name);
  }
}

/** Administrators whose names may be names of users. */
async function* adminNames({ administrators }: PolicyLockoutDeps): AsyncIterable<string> {
  for (const { name } of (await administrators.list()).items) yield canonicalName(name);
}
