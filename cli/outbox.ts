// `deno task outbox`: lists and retries the writes of a target to its asynchronous backends.

import { COMMAND } from "../platform/command_name.ts";
import type { OneTarget } from "../console/api/targets/target_types.ts";
import { type AdminApi, AdminRefusal, apiValue, pathName } from "./admin_connection.ts";
import { type CommandOutcome, counted, pendingWritesTable, quoted, resultText } from "./format_result.ts";
import { parseCommandArgs } from "./terminal.ts";
import { adminCommand, checkTarget, runCommand, runMain, success } from "./run_admin_command.ts";

const USAGE = `List and retry the writes of a target to its asynchronous backends.

Usage:
  ${COMMAND} outbox <target>                    List pending and failed writes, oldest first.
  ${COMMAND} outbox <target> --retry            Retry all failed writes.
  ${COMMAND} outbox <target> --retry <backend>  Retry the failed writes of one backend.

A failed write (dead letter) is one that a backend refused permanently, or that failed too often.
The running server delivers the writes. This command delivers none.
`;

export interface OutboxPlan {
  readonly target: string;
  /** The backends whose failed writes are retried. */
  readonly retry: { readonly backend: string } | "all" | "none";
}

/** Reads the arguments. A text is the problem with them. */
export function planOutbox(args: readonly string[]): OutboxPlan | string {
  const parsed = parseCommandArgs(args.map(renameRetryOf), {
    retry: { type: "boolean" },
    "retry-of": { type: "string" },
  });
  if (!parsed.ok) return parsed.problem;
  const { words: [target, backend, third], values: { retry = false, "retry-of": ofOne = null } } = parsed;
  if (target === undefined) return "the target is missing";
  if (third !== undefined) return "there is more than one backend";
  if (!retry && ofOne === null) {
    return backend === undefined ? { target, retry: "none" } : "a backend requires --retry";
  }
  if (ofOne !== null && backend !== undefined) return "there is more than one backend";
  const one = ofOne ?? backend;
  return { target, retry: one === undefined ? "all" : { backend: one } };
}

/** The value of `--retry` is optional, which `parseArgs` does not offer. So `--retry=<backend>` has a name of its own. */
function renameRetryOf(arg: string): string {
  return arg.startsWith("--retry=") ? `--retry-of=${arg.slice("--retry=".length)}` : arg;
}

/** The API lists at most this many writes. */
const MAX_LISTED = 200;

/** Lists pending and failed writes, or retries the failed ones. */
export async function outbox(api: AdminApi, { target, retry }: OutboxPlan): Promise<CommandOutcome> {
  const one = await apiValue(api.targets[":id"].$get({ param: { id: pathName(target, "target") } }));
  return retry === "none" ? success(listText(one)) : success(await retryText(api, one, retry));
}

function listText({ name, owed }: OneTarget): string {
  if (owed.length === 0) return resultText(`Target ${quoted(name)} has no pending writes.`);
  const failed = owed.filter(({ nextMs }) => nextMs === null).length;
  const isPartial = owed.length >= MAX_LISTED;
  const total = isPartial ? `${MAX_LISTED} or more writes` : counted(owed.length, "write");
  return resultText(`Target ${quoted(name)} has ${total} in its outbox, ${failed} of them failed.`, {
    blocks: [pendingWritesTable(owed)],
    notes: [
      ...isPartial ? [`The list contains the oldest ${MAX_LISTED} writes.`] : [],
      ...failed === 0 ? [] : ["To retry failed writes, use --retry."],
    ],
  });
}

async function retryText(
  api: AdminApi,
  { name, backends }: OneTarget,
  retry: Exclude<OutboxPlan["retry"], "none">,
): Promise<string> {
  const names = backends.map((backend) => backend.name);
  if (retry !== "all" && !names.includes(retry.backend)) {
    throw new AdminRefusal(
      "unknown_backend",
      `Target ${quoted(name)} has no backend ${quoted(retry.backend)}. It has ${
        names.map(quoted).join(", ")
      }.`,
    );
  }
  let tried = 0;
  for (const backend of retry === "all" ? names : [retry.backend]) {
    const call = api.targets[":id"].retry.$post({
      param: { id: pathName(name, "target") },
      json: { backend },
    });
    tried += (await apiValue(call)).tried;
  }
  return resultText(tried === 0 ? "There are no failed writes." : `Retrying ${counted(tried, "write")}.`);
}

export const outboxCommand = adminCommand({
  usage: USAGE,
  plan: planOutbox,
  run: (plan) =>
    runCommand((api, config) => {
      checkTarget(plan.target, config);
      return outbox(api, plan);
    }, { targets: [plan.target] }),
});

if (import.meta.main) await runMain(outboxCommand);
