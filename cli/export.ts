// `deno task export`: the users and groups of a target as lines of JSON or as a table, beside a running server as well as without one.

import type { JsonObject, Mapping, ResourceKind } from "../scim/schema/resource.ts";
import { createMapping } from "../scim/schema/mapping.ts";
import { type AdminApi, pathName, readLines, valueOf } from "./admin_connection.ts";
import { fileOutput, type Output, standardOutput } from "./export_output.ts";
import { createTableOut } from "../scim/transfer/csv_writer.ts";
import { printable } from "./format_result.ts";
import { asksHelp, parseCommandArgs } from "./parse_args.ts";
import { type Progress, terminalProgress } from "./progress.ts";
import { type CommandOutcome, finish, refusal, runCommand, success } from "./run_admin_command.ts";
import { checkTarget } from "./target_names.ts";

const USAGE =
  `Users and groups of a target, for deno task import. Works beside a running server as well as without one.

  deno task export <target>            the users as JSON, one a line
                [--groups]             JSON: the groups as well, before the users; CSV: the groups instead
                [--format json|csv]    csv: a table (json)
                [--output <file>]      into a file that only its owner may read, instead of to standard output

Passwords are not exported: they are kept as hashes. A table cannot hold everything that JSON can; what it lacks is named.
In a table, a cell that a spreadsheet would take for a formula begins with an apostrophe, which the import takes off.

Exit code 0: done; 1: refused, with the reason; 2: wrong use.
`;

const OPTIONS = {
  format: { type: "string" },
  groups: { type: "boolean" },
  output: { type: "string" },
} as const;

export interface ExportPlan {
  readonly target: string;
  readonly format: "json" | "csv";
  readonly kinds: readonly ResourceKind[];
  /** `null`: standard output. */
  readonly output: string | null;
}

/** What the arguments ask for, or what is wrong with them. */
export function planExport(args: readonly string[]): ExportPlan | string {
  const parsed = parseCommandArgs(args, OPTIONS);
  if (!parsed.ok) return parsed.problem;
  const { words: [target, second], values: { format = "json", groups = false, output = null } } = parsed;
  if (target === undefined) return "the target is missing";
  if (second !== undefined) return "there is more than one target";
  if (format !== "json" && format !== "csv") return "--format is json or csv";
  if (output === "") return "--output names no file";
  const withGroups: readonly ResourceKind[] = format === "csv" ? ["group"] : ["group", "user"];
  return { target, format, kinds: groups ? withGroups : ["user"], output };
}

async function run(plan: ExportPlan, progress: Progress): Promise<CommandOutcome> {
  try {
    return await runCommand((api, config) => {
      const mapping = createMapping(checkTarget(plan.target, config).mapping);
      return exportTarget(plan, { api, mapping, progress });
    });
  } finally {
    progress.clear();
  }
}

interface ExportDeps {
  readonly api: AdminApi;
  readonly mapping: Mapping;
  readonly progress: Progress;
}

async function exportTarget(
  plan: ExportPlan,
  { api, mapping, progress }: ExportDeps,
): Promise<CommandOutcome> {
  const { users, groups } = await valueOf(
    api.targets[":id"].$get({ param: { id: pathName(plan.target, "target") } }),
  );
  const total = plan.kinds.reduce((sum, kind) => sum + (kind === "user" ? users : groups), 0);
  let output: Output;
  try {
    output = plan.output === null ? standardOutput() : await fileOutput(plan.output);
  } catch (fault) {
    if (!(fault instanceof Error) || !(fault.name in Deno.errors)) throw fault;
    return refusal(`Cannot write the file (${fault.name}).\n`);
  }
  const source = { api, plan, tell: (done: number) => progress.tell("exporting", { done, total }) };
  try {
    const lost = plan.format === "json"
      ? await writeJson(source, output)
      : await writeTable(source, { output, mapping });
    await output.finish();
    return { out: "", err: lostText(lost), exitCode: 0 };
  } catch (fault) {
    await output.abandon();
    throw fault;
  }
}

function lostText(lost: readonly string[]): string {
  if (lost.length === 0) return "";
  const more = lost.length - 10;
  const named = lost.slice(0, 10).map((path) => printable(JSON.stringify(path))).join(", ");
  return `A table cannot hold all of ${named}${
    more > 0 ? ` and ${more} more` : ""
  }: use --format json for everything.\n`;
}

interface Source {
  readonly api: AdminApi;
  readonly plan: ExportPlan;
  readonly tell: (done: number) => void;
}

/** The resources of the export as lines, as they arrive. */
async function* steps({ api, plan: { target, kinds }, tell }: Source): AsyncGenerator<readonly string[]> {
  let done = 0;
  for (const kind of kinds) {
    const query = { target, format: "jsonl" as const };
    const call = kind === "user" ? api.export.users.$get({ query }) : api.export.groups.$get({ query });
    for await (const lines of readLines(call)) {
      yield lines;
      tell(done += lines.length);
    }
  }
}

async function writeJson(source: Source, output: Output): Promise<string[]> {
  for await (const lines of steps(source)) {
    if (!await output.write(`${lines.join("\n")}\n`)) break;
  }
  return [];
}

/** Reads everything twice: which columns there are is known only at the end. */
async function writeTable(
  source: Source,
  { output, mapping }: { output: Output; mapping: Mapping },
): Promise<string[]> {
  const [kind = "user"] = source.plan.kinds;
  const table = createTableOut(kind, mapping);
  for await (const lines of steps(source)) for (const line of lines) table.see(resourceOf(line));
  let isRead = await output.write(table.header());
  for await (const lines of steps(source)) {
    if (!isRead) break;
    isRead = await output.write(lines.map((line) => table.line(resourceOf(line))).join(""));
  }
  return [...table.lost];
}

/** Lines come from a server of this version. */
function resourceOf(line: string): JsonObject {
  return JSON.parse(line) as JsonObject;
}

if (import.meta.main) {
  const plan = planExport(Deno.args);
  if (asksHelp(Deno.args)) finish(success(USAGE));
  else if (typeof plan === "string") {
    finish({ out: "", err: `Cannot export: ${printable(plan)}.\n\n${USAGE}`, exitCode: 2 });
  } else finish(await run(plan, terminalProgress()));
}
