// `deno task unlock`: deletes the failures of a user, so that the user can log in again.

import type { LockView, UserView } from "../console/api/users/user_types.ts";
import { type AdminApi, AdminRefusal, pathName, valueOf } from "./admin_connection.ts";
import { counted, lockTable, quoted, resultText } from "./format_result.ts";
import { asksHelp, parseCommandArgs } from "./parse_args.ts";
import { type CommandOutcome, finish, runCommand, success } from "./run_admin_command.ts";

const USAGE = `Unlock a user who failed too often. Works beside a running server as well as without one.

  deno task unlock <user>          forgets the failures, and the lock that followed from them
  deno task unlock <user> --show   shows them, and changes nothing

Exit code 0: done; 1: refused, with the reason; 2: wrong use.
`;

export interface UnlockPlan {
  readonly user: string;
  /** Shows the lock and changes nothing. */
  readonly isShown: boolean;
}

/** What the arguments ask for, or what is wrong with them. */
export function planUnlock(args: readonly string[]): UnlockPlan | string {
  const parsed = parseCommandArgs(args, { show: { type: "boolean" } });
  if (!parsed.ok) return parsed.problem;
  const [user, second] = parsed.words;
  if (user === undefined) return "a user name is missing";
  if (second !== undefined) return "there is more than one user name";
  return { user, isShown: parsed.values.show === true };
}

/** Unlocks a user, or shows the lock. */
export async function unlock(api: AdminApi, { user, isShown }: UnlockPlan): Promise<CommandOutcome> {
  const one = api.users[":id"];
  const param = { id: pathName(user, "user") };
  const before = lockOf(await valueOf(one.$get({ param, query: {} })));
  if (isShown) {
    const did = `${quoted(user)} is ${before.locked ? "locked" : "not locked"}.`;
    return success(resultText(did, { blocks: [lockTable(before)] }));
  }
  const after = lockOf((await valueOf(one.unlock.$post({ param, json: {} }))).user);
  const notes = [
    ...limitNote(after.pushesBlockedUntilMs, "pushes"),
    ...limitNote(after.sendsBlockedUntilMs, "sends"),
  ];
  if (!before.locked && before.failures === 0 && before.locks === 0) {
    return success(resultText(`${quoted(user)} is not locked and has no failures.`, { notes }));
  }
  const was = before.locked ? "is unlocked" : "was not locked";
  const failures = before.failures === 1 ? "one failure is" : `${counted(before.failures, "failure")} are`;
  return success(resultText(`${quoted(user)} ${was}; ${failures} forgotten.`, { notes }));
}

/** @throws AdminRefusal when the server does not know of logins. */
function lockOf({ login }: Pick<UserView, "login">): LockView {
  if (login === null) {
    throw new AdminRefusal("unknown_object", "Cannot do that: this target's users do not log in.");
  }
  return login.lock;
}

/** A limit can refuse logins without a lock. Unlocking leaves it. */
function limitNote(blockedUntilMs: number | null, limit: "pushes" | "sends"): string[] {
  return blockedUntilMs === null ? [] : [
    `The limit of factors.${limit} is reached; it ends by itself. Unlocking leaves it; the user page of the console resets it.`,
  ];
}

if (import.meta.main) {
  const plan = planUnlock(Deno.args);
  if (asksHelp(Deno.args)) finish(success(USAGE));
  else if (typeof plan === "string") {
    finish({ out: "", err: `Cannot unlock: ${plan}.\n\n${USAGE}`, exitCode: 2 });
  } else finish(await runCommand((api) => unlock(api, plan)));
}
