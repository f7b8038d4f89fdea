// `deno task unlock`: unlocks a user after failed sign-ins, or the codes of an administrator.

import { COMMAND, COMMAND_SPACE } from "../platform/command_name.ts";
import type { LockView, UserView } from "../console/api/users/user_types.ts";
import { type AdminApi, AdminRefusal, apiValue, pathName } from "./admin_connection.ts";
import { type CommandOutcome, counted, lockTable, quoted, resultText } from "./format_result.ts";
import { parseCommandArgs } from "./terminal.ts";
import { adminCommand, runCommand, runMain, success } from "./run_admin_command.ts";

const USAGE = `Unlock a user after failed sign-ins.

Usage:
  ${COMMAND} unlock <user>         Unlock the user and reset the count of failures.
  ${COMMAND} unlock <user> --show  Show the lock and the count of failures. Changes nothing.
  ${COMMAND} unlock --administrator <name>
  ${COMMAND_SPACE}                       Unlock the codes of an administrator after too many wrong ones.
`;

interface UnlockPlan {
  readonly user: string;
  /** Shows the lock and changes nothing. */
  readonly isShown: boolean;
  /** `user` is an administrator. */
  readonly isAdministrator?: true;
}

/** Reads the arguments. A text is the problem with them. */
export function planUnlock(args: readonly string[]): UnlockPlan | string {
  const parsed = parseCommandArgs(args, { show: { type: "boolean" }, administrator: { type: "boolean" } });
  if (!parsed.ok) return parsed.problem;
  const [user, second] = parsed.words;
  if (user === undefined) return "the user is missing";
  if (second !== undefined) return "there is more than one user";
  const { show, administrator } = parsed.values;
  if (show === true && administrator === true) return "--show and --administrator exclude each other";
  return {
    user,
    isShown: show === true,
    ...(administrator === true ? { isAdministrator: true } as const : {}),
  };
}

/** Unlocks a user or an administrator, or shows the lock. */
export async function unlock(
  api: AdminApi,
  { user, isShown, isAdministrator }: UnlockPlan,
): Promise<CommandOutcome> {
  if (isAdministrator) {
    const param = { id: pathName(user, "administrator") };
    await apiValue(api.administrators[":id"].unlock.$post({ param, json: {} }));
    return success(resultText(`The codes of ${quoted(user)} are unlocked.`));
  }
  const one = api.users[":id"];
  const param = { id: pathName(user, "user") };
  const before = lockOf(await apiValue(one.$get({ param, query: {} })));
  if (isShown) {
    const did = `${quoted(user)} is ${before.locked ? "locked" : "not locked"}.`;
    return success(resultText(did, { blocks: [lockTable(before)] }));
  }
  const after = lockOf((await apiValue(one.unlock.$post({ param, json: {} }))).user);
  const notes = [
    ...limitNote(after.pushesBlockedUntilMs, "pushes"),
    ...limitNote(after.sendsBlockedUntilMs, "sends"),
  ];
  if (!before.locked && before.failures === 0 && before.locks === 0) {
    return success(resultText(`${quoted(user)} is not locked and has no failures.`, { notes }));
  }
  const was = before.locked ? "is unlocked" : "was not locked";
  const failures = `${counted(before.failures, "failure")} ${before.failures === 1 ? "is" : "are"}`;
  return success(resultText(`${quoted(user)} ${was}; ${failures} reset.`, { notes }));
}

/** @throws AdminRefusal if the users of the target do not sign in. */
function lockOf({ login }: Pick<UserView, "login">): LockView {
  if (login === null) {
    throw new AdminRefusal("unknown_object", "Cannot read the lock: users of this target do not sign in.");
  }
  return login.lock;
}

/** A rate limit can refuse logins without a lock. Unlocking does not reset it. */
function limitNote(blockedUntilMs: number | null, limit: "pushes" | "sends"): string[] {
  return blockedUntilMs === null ? [] : [
    `The rate limit factors.${limit} is reached. It ends by itself. To reset it now, use the user page of the console.`,
  ];
}

export const unlockCommand = adminCommand({
  usage: USAGE,
  plan: planUnlock,
  run: (plan) => runCommand((api) => unlock(api, plan)),
});

if (import.meta.main) await runMain(unlockCommand);
