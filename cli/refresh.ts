// `deno task refresh`: brings a target up to date with its backends.

import type { OneTarget, RefreshState } from "../console/api/targets/target_types.ts";
import type { RefreshReport } from "../scim/ports.ts";
import { type AdminApi, pathName, valueOf } from "./admin_connection.ts";
import { counted, printable, quoted, resultText } from "./format_result.ts";
import { type Progress, terminalProgress } from "./progress.ts";
import { asksHelp, parseCommandArgs } from "./parse_args.ts";
import { type CommandOutcome, finish, refusal, runCommand, success } from "./run_admin_command.ts";
import { checkTarget } from "./target_names.ts";

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
  const parsed = parseCommandArgs(args, {});
  if (!parsed.ok) return parsed.problem;
  const [target, second] = parsed.words;
  if (target === undefined) return "the target is missing";
  return second === undefined ? { target } : "there is more than one target";
}

const LOOK_EVERY_MS = 500;

async function run({ target }: { target: string }, progress: Progress): Promise<CommandOutcome> {
  const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  try {
    return await runCommand(async (api, config) => {
      checkTarget(target, config);
      return await refreshTarget(api, { target, progress, wait });
    });
  } finally {
    progress.clear();
  }
}

interface RefreshOptions {
  readonly target: string;
  readonly progress: Pick<Progress, "say">;
  /** Waits between two questions for the state of the refresh. */
  readonly wait: (ms: number) => Promise<void>;
}

/** Refreshes a target, and gives the outcome of the command. */
export async function refreshTarget(api: AdminApi, options: RefreshOptions): Promise<CommandOutcome> {
  return outcomeOf(options.target, await refresh(api, options));
}

/** Starts a refresh, or follows the one that runs, until it ends. */
async function refresh(api: AdminApi, { target, progress, wait }: RefreshOptions): Promise<RefreshState> {
  const one = api.targets[":id"];
  const param = { id: pathName(target, "target") };
  let state: OneTarget = await valueOf(one.refresh.$post({ param, json: {} }));
  while (state.refresh.running) {
    const last = state.refresh.read.at(-1);
    if (last !== undefined) progress.say(`${last.backend}: ${counted(last.read, last.kind)} read`);
    await wait(LOOK_EVERY_MS);
    state = await valueOf(one.$get({ param }));
  }
  return state.refresh;
}

function outcomeOf(target: string, { report, problem }: RefreshState): CommandOutcome {
  if (report === null) return refusal(`${printable(problem ?? "The refresh did not end.")}\n`);
  const { faults, tookMs, created, updated, unchanged, vanished, deleted }: RefreshReport = report;
  const what =
    `${created} created, ${updated} updated, ${unchanged} left alone, ${vanished} vanished, ${deleted} ` +
    `deleted, in ${(tookMs / 1000).toFixed(1)} s`;
  if (faults.length === 0) {
    return success(resultText(`Target ${quoted(target)} is up to date with its backends: ${what}.`));
  }
  const named = faults.map(({ backend, detail }) => `  ${printable(`${backend}: ${detail}`)}\n`).join("");
  return refusal(
    `${printable(`Cannot bring target ${quoted(target)} up to date with every backend: ${what}.`)}\n${named}`,
  );
}

if (import.meta.main) {
  const plan = planRefresh(Deno.args);
  if (asksHelp(Deno.args)) finish(success(USAGE));
  else if (typeof plan === "string") {
    finish({ out: "", err: `Cannot refresh: ${printable(plan)}.\n\n${USAGE}`, exitCode: 2 });
  } else finish(await run(plan, terminalProgress()));
}
