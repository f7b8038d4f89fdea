// `deno task unlock`: forgets a user's failures, so that they can log in again.

import { finish, runRequest } from "./desk_call.ts";
import { asksHelp, readTyped } from "./typed.ts";

const USAGE = `Unlock a user who failed too often. Works beside a running server as well as without one.

  deno task unlock <user>          forgets the failures, and the lock that followed from them
  deno task unlock <user> --show   shows them, and changes nothing

Exit code 0: done; 1: refused, with the reason; 2: wrong use.
`;

/** The operation that the arguments ask for, or what is wrong with them. */
export function planUnlock(args: readonly string[]): { op: string; user: string } | string {
  const typed = readTyped(args, new Map([["--show", "alone"]]));
  if (!typed.ok) return typed.problem;
  const [user, second] = typed.words;
  if (user === undefined) return "a user name is missing";
  if (second !== undefined) return "there is more than one user name";
  return { op: typed.options.has("--show") ? "lock.show" : "unlock", user };
}

if (import.meta.main) {
  const plan = planUnlock(Deno.args);
  if (asksHelp(Deno.args)) finish({ out: USAGE, err: "", exitCode: 0 });
  else if (typeof plan === "string") {
    finish({ out: "", err: `Cannot unlock: ${plan}.\n\n${USAGE}`, exitCode: 2 });
  } else finish(await runRequest(plan));
}
