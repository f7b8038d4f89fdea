// `deno task refresh`: brings a target up to date with its backends.

import { type CommandOutcome, finish, refusal, withDesk } from "./desk_call.ts";
import { answerText, printable } from "./desk_text.ts";
import { type Progress, terminalProgress } from "./progress.ts";
import { asksHelp, readTyped } from "./typed.ts";

const USAGE =
  `Bring a target up to date with its backends: everything is read there again. Works beside a running server as well
as without one.

  deno task refresh <target>

What is new there is taken in, what differs is updated, what is gone is marked as vanished. A backend that would take away
more than max_drop_percent of the target changes nothing.

Exit code 0: done; 1: a backend could not be read, or nothing could be done; 2: wrong use.
`;

/** The target that the arguments name, or what is wrong with them. */
export function planRefresh(args: readonly string[]): { readonly target: string } | string {
  const typed = readTyped(args, new Map());
  if (!typed.ok) return typed.problem;
  const [target, second] = typed.words;
  if (target === undefined) return "the target is missing";
  return second === undefined ? { target } : "there is more than one target";
}

async function run({ target }: { target: string }, progress: Progress): Promise<CommandOutcome> {
  try {
    return await withDesk(async (desk) => {
      const answer = await desk.ask({ op: "target.refresh", target }, { tell: progress.say });
      if (!answer.ok) return refusal(`${answer.message.split("\n").map(printable).join("\n")}\n`);
      return { out: answerText(answer), err: "", exitCode: 0 };
    });
  } finally {
    progress.clear();
  }
}

if (import.meta.main) {
  const plan = planRefresh(Deno.args);
  if (asksHelp(Deno.args)) finish({ out: USAGE, err: "", exitCode: 0 });
  else if (typeof plan === "string") {
    finish({ out: "", err: `Cannot refresh: ${printable(plan)}.\n\n${USAGE}`, exitCode: 2 });
  } else finish(await run(plan, terminalProgress()));
}
