// The desk's operations on the lock that follows failures.

import { canonicalName } from "../canonical_name.ts";
import { commandEntry, type DeskDeps, operation } from "./desk_operation.ts";
import { type DeskAnswer, done, type ShownLock } from "./desk_answer.ts";
import { INPUTS } from "./desk_inputs.ts";

const quoted = (name: string) => JSON.stringify(name);

export const lockOperations = {
  "unlock": operation({ user: INPUTS.user }, unlock),
  "lock.show": operation({ user: INPUTS.user }, show),
};

async function unlock(deps: DeskDeps, { user }: { user: string }): Promise<DeskAnswer> {
  const before = shownLock(deps, user);
  const cleared = deps.limits.clear(canonicalName(user));
  const kept = { notes: usedUp(before) };
  if (cleared === null) return done(`${quoted(user)} is not locked and has no failures.`, kept);
  const audit = commandEntry({
    action: "user.unlock",
    object: `user:${user}`,
    failures: before.total,
    locks: before.locks,
  });
  await deps.store.commit({ mutations: [cleared, audit] });
  const was = before.locked ? "is unlocked" : "was not locked";
  return done(`${quoted(user)} ${was}; ${counted(before.total)} forgotten.`, kept);
}

/** Limits that keep a user from logging in without a lock: the operator who unlocks is told that they stay. */
function usedUp({ pushesLeft, sendsLeft }: ShownLock): string[] {
  return [
    ...pushesLeft ? [] : [
      "The limit of factors.pushes is reached; it ends by itself. Unlocking leaves it; the user page of the console resets it.",
    ],
    ...sendsLeft ? [] : [
      "The limit of factors.sends is reached; it ends by itself. Unlocking leaves it; the user page of the console resets it.",
    ],
  ];
}

function show(deps: DeskDeps, { user }: { user: string }): DeskAnswer {
  const lock = shownLock(deps, user);
  return done(`${quoted(user)} is ${lock.locked ? "locked" : "not locked"}.`, { lock });
}

function counted(failures: number): string {
  return failures === 1 ? "one failure is" : `${failures} failures are`;
}

function shownLock({ limits }: DeskDeps, user: string): ShownLock {
  const canonical = canonicalName(user);
  return {
    user,
    locked: limits.isLocked(canonical),
    ...limits.failures(canonical),
    pushesLeft: limits.pushesLeft(canonical),
    sendsLeft: limits.sendsLeft(canonical, null),
  };
}
