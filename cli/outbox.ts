// `deno task outbox`: what a target still owes its backends, and trying again what was given up.

import type { OneTarget } from "../console/api/targets/target_types.ts";
import { type AdminApi, AdminRefusal, pathName, valueOf } from "./admin_connection.ts";
import { counted, owedTable, printable, quoted, resultText } from "./format_result.ts";
import { asksHelp, parseCommandArgs } from "./parse_args.ts";
import { type CommandOutcome, finish, runCommand, success } from "./run_admin_command.ts";
import { checkTarget } from "./target_names.ts";

const USAGE =
  `What a target still owes its asynchronous backends. Works beside a running server as well as without one.

  deno task outbox <target>                    lists what is owed, the oldest first, and dead letters among it
  deno task outbox <target> --retry            tries all dead letters again
  deno task outbox <target> --retry <backend>  the same, those of one backend

A dead letter is a write that a backend refused for good, or too often. Delivering is the running server's work.

Exit code 0: done; 1: refused, with the reason; 2: wrong use.
`;

export interface OutboxPlan {
  readonly target: string;
  /** Backends whose dead letters are tried again: one, all, or none. */
  readonly retry: { readonly backend: string } | "all" | "none";
}

/** What the arguments ask for, or what is wrong with them. */
export function planOutbox(args: readonly string[]): OutboxPlan | string {
  const parsed = parseCommandArgs(args.map(spelled), {
    retry: { type: "boolean" },
    "retry-of": { type: "string" },
  });
  if (!parsed.ok) return parsed.problem;
  const { words: [target, backend, third], values: { retry = false, "retry-of": ofOne = null } } = parsed;
  if (target === undefined) return "the target is missing";
  if (third !== undefined) return "there is more than one backend";
  if (!retry && ofOne === null) {
    return backend === undefined ? { target, retry: "none" } : "a backend belongs to --retry";
  }
  if (ofOne !== null && backend !== undefined) return "there is more than one backend";
  const one = ofOne ?? backend;
  return { target, retry: one === undefined ? "all" : { backend: one } };
}

/** `--retry=<backend>` as well as `--retry <backend>`. */
function spelled(arg: string): string {
  return arg.startsWith("--retry=") ? `--retry-of=${arg.slice("--retry=".length)}` : arg;
}

/** Writes that the API lists, the oldest first. */
const MAX_LISTED = 200;

/** Lists pending writes, or tries dead letters again. */
export async function outbox(api: AdminApi, { target, retry }: OutboxPlan): Promise<CommandOutcome> {
  const one = await valueOf(api.targets[":id"].$get({ param: { id: pathName(target, "target") } }));
  return retry === "none" ? success(listText(one)) : success(await retryText(api, one, retry));
}

function listText({ name, owed }: OneTarget): string {
  if (owed.length === 0) return resultText(`Target ${quoted(name)} owes its backends nothing.`);
  const dead = owed.filter(({ nextMs }) => nextMs === null).length;
  const many = owed.length >= MAX_LISTED
    ? `${MAX_LISTED} writes or more; the oldest are listed,`
    : `${counted(owed.length, "write")},`;
  const did = `Target ${quoted(name)} owes its backends ${many} ${dead === 0 ? "no" : dead} dead ${
    dead === 1 ? "letter" : "letters"
  } among them.`;
  const notes = dead === 0 ? [] : ["Dead letters are tried again with --retry."];
  return resultText(did, { blocks: [owedTable(owed)], notes });
}

async function retryText(
  api: AdminApi,
  { name, backends }: OneTarget,
  retry: Exclude<OutboxPlan["retry"], "none">,
): Promise<string> {
  const names = backends.map((backend) => backend.name);
  if (retry !== "all" && !names.includes(retry.backend)) {
    const known = names.map(quoted).join(", ");
    throw new AdminRefusal(
      "unknown_backend",
      `Target ${quoted(name)} has no backend of that name. It has ${known}.`,
    );
  }
  let tried = 0;
  for (const backend of retry === "all" ? names : [retry.backend]) {
    const call = api.targets[":id"].retry.$post({
      param: { id: pathName(name, "target") },
      json: { backend },
    });
    tried += (await valueOf(call)).tried;
  }
  return resultText(
    tried === 0 ? "There are no dead letters." : `${counted(tried, "dead letter")} tried again.`,
  );
}

if (import.meta.main) {
  const plan = planOutbox(Deno.args);
  if (asksHelp(Deno.args)) finish(success(USAGE));
  else if (typeof plan === "string") {
    finish({ out: "", err: `Cannot do that: ${printable(plan)}.\n\n${USAGE}`, exitCode: 2 });
  } else {finish(
      await runCommand((api, config) => {
        checkTarget(plan.target, config);
        return outbox(api, plan);
      }),
    );}
}
