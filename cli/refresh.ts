// `deno task refresh`: reads all backends of a target again.

import { COMMAND } from "../platform/command_name.ts";
import type { OneTarget, RefreshState } from "../console/api/targets/target_types.ts";
import { type AdminApi, apiValue, pathName } from "./admin_connection.ts";
import { type CommandOutcome, counted, printable, quoted, resultText } from "./format_result.ts";
import { parseCommandArgs, type Progress, terminalProgress } from "./terminal.ts";
import { adminCommand, checkTarget, refusal, runCommand, runMain, success } from "./run_admin_command.ts";

const USAGE = `Read all backends of a target again.

Usage:
  ${COMMAND} refresh <target>  Add new resources, update changed ones, and mark removed ones as vanished.

If more than max_drop_percent of a backend's users or groups are missing, and more than 10, none of them is marked
as vanished. The others are still added and updated.
The command fails in this case, and if a backend cannot be read.
`;

/** Reads the name of the target from the arguments. A text is the problem with them. */
export function planRefresh(args: readonly string[]): { readonly target: string } | string {
  const parsed = parseCommandArgs(args, {});
  if (!parsed.ok) return parsed.problem;
  const [target, second] = parsed.words;
  if (target === undefined) return "the target is missing";
  return second === undefined ? { target } : "there is more than one target";
}

const POLL_INTERVAL_MS = 500;

async function run({ target }: { target: string }): Promise<CommandOutcome> {
  const progress = terminalProgress();
  const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  try {
    return await runCommand(async (api, config) => {
      checkTarget(target, config);
      return await runRefresh(api, { target, progress, wait });
    }, { targets: [target] });
  } finally {
    progress.clear();
  }
}

interface RefreshOptions {
  readonly target: string;
  readonly progress: Pick<Progress, "showText">;
  /** Waits between two polls. */
  readonly wait: (ms: number) => Promise<void>;
}

/** Starts a refresh, or joins the one that runs, and waits until it ends. */
export async function runRefresh(
  api: AdminApi,
  { target, progress, wait }: RefreshOptions,
): Promise<CommandOutcome> {
  const one = api.targets[":id"];
  const param = { id: pathName(target, "target") };
  let state: OneTarget = await apiValue(one.refresh.$post({ param, json: {} }));
  while (state.refresh.running) {
    const last = state.refresh.read.at(-1);
    if (last !== undefined) progress.showText(`${last.backend}: ${counted(last.read, last.kind)} read`);
    await wait(POLL_INTERVAL_MS);
    state = await apiValue(one.$get({ param }));
  }
  return outcomeOf(target, state.refresh);
}

function outcomeOf(target: string, { report, problem }: RefreshState): CommandOutcome {
  if (report === null) return refusal(`${printable(problem ?? "The refresh did not end.")}\n`);
  const { faults, tookMs, created, updated, unchanged, vanished, deleted } = report;
  const counts = `${created} created, ${updated} updated, ${unchanged} unchanged, ${vanished} vanished, ` +
    `${deleted} deleted, in ${(tookMs / 1000).toFixed(1)} s`;
  if (faults.length === 0) {
    return success(resultText(`Target ${quoted(target)} is up to date with its backends: ${counts}.`));
  }
  const named = faults.map(({ backend, detail }) => `  ${printable(`${backend}: ${detail}`)}\n`).join("");
  return refusal(
    `${
      printable(`Cannot bring target ${quoted(target)} up to date with every backend: ${counts}.`)
    }\n${named}`,
  );
}

export const refreshCommand = adminCommand({ usage: USAGE, plan: planRefresh, run });

if (import.meta.main) await runMain(refreshCommand);
