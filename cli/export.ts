// `deno task export`: writes the users and groups of a target as JSON lines or CSV.

import { COMMAND } from "../platform/command_name.ts";
import type { JsonObject, Mapping, ResourceKind } from "../scim/schema/resource.ts";
import { createMapping } from "../scim/schema/mapping.ts";
import { type AdminApi, apiValue, pathName, readLines } from "./admin_connection.ts";
import { createCsvWriter } from "../scim/transfer/columns.ts";
import { type CommandOutcome, firstOf, printable } from "./format_result.ts";
import { parseCommandArgs, type Progress, terminalProgress } from "./terminal.ts";
import { adminCommand, checkTarget, refusal, runCommand, runMain } from "./run_admin_command.ts";

const USAGE = `Export the users and groups of a target.

Usage:
  ${COMMAND} export <target> [options]  Print the users as JSON, one object per line.

Options:
  --groups           JSON: Export the groups first, then the users. CSV: Export the groups instead of the users.
  --format json|csv  Set the format (default: json).
  --output <file>    Write to a file with mode 0600 instead of standard output.

An export contains no passwords. CSV cannot contain every attribute; the command lists the ones that it leaves out.
In CSV, an apostrophe precedes a value that a spreadsheet would read as a formula. The import removes it.
`;

const OPTIONS = {
  format: { type: "string" },
  groups: { type: "boolean" },
  output: { type: "string" },
} as const;

interface ExportPlan {
  readonly target: string;
  readonly format: "json" | "csv";
  readonly kinds: readonly ResourceKind[];
  /** `null`: standard output. */
  readonly output: string | null;
}

/** Reads the arguments. A text is the problem with them. */
export function planExport(args: readonly string[]): ExportPlan | string {
  const parsed = parseCommandArgs(args, OPTIONS);
  if (!parsed.ok) return parsed.problem;
  const { words: [target, second], values: { format = "json", groups = false, output = null } } = parsed;
  if (target === undefined) return "the target is missing";
  if (second !== undefined) return "there is more than one target";
  if (format !== "json" && format !== "csv") return "--format must be json or csv";
  if (output === "") return "--output must name a file";
  const withGroups: readonly ResourceKind[] = format === "csv" ? ["group"] : ["group", "user"];
  return { target, format, kinds: groups ? withGroups : ["user"], output };
}

async function run(plan: ExportPlan): Promise<CommandOutcome> {
  const progress = terminalProgress();
  try {
    return await runCommand((api, config) => {
      const mapping = createMapping(checkTarget(plan.target, config).mapping);
      return exportTarget(plan, { api, mapping, progress });
    }, { targets: [plan.target] });
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
  const { users, groups } = await apiValue(
    api.targets[":id"].$get({ param: { id: pathName(plan.target, "target") } }),
  );
  const total = plan.kinds.reduce((sum, kind) => sum + (kind === "user" ? users : groups), 0);
  let output: ExportOutput;
  try {
    output = plan.output === null ? standardOutput() : await fileOutput(plan.output);
  } catch (fault) {
    if (!(fault instanceof Error) || !(fault.name in Deno.errors)) throw fault;
    return refusal(`Cannot write the output file (${fault.name}).\n`);
  }
  const source = { api, plan, onRead: (done: number) => progress.update("Exporting", { done, total }) };
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
  const names = firstOf(lost.map((path) => printable(JSON.stringify(path))), 10);
  return `CSV cannot contain all values of ${names}. To export everything, use --format json.\n`;
}

interface Source {
  readonly api: AdminApi;
  readonly plan: ExportPlan;
  readonly onRead: (done: number) => void;
}

/** The resources of the export as lines, as they arrive. */
async function* exportLines(
  { api, plan: { target, kinds }, onRead }: Source,
): AsyncGenerator<readonly string[]> {
  let done = 0;
  for (const kind of kinds) {
    const query = { target, format: "jsonl" as const };
    const call = kind === "user" ? api.export.users.$get({ query }) : api.export.groups.$get({ query });
    for await (const lines of readLines(call)) {
      yield lines;
      onRead(done += lines.length);
    }
  }
}

async function writeJson(source: Source, output: ExportOutput): Promise<string[]> {
  for await (const lines of exportLines(source)) {
    if (!await output.write(`${lines.join("\n")}\n`)) break;
  }
  return [];
}

/** Reads everything twice, because the columns are known only at the end. */
async function writeTable(
  source: Source,
  { output, mapping }: { output: ExportOutput; mapping: Mapping },
): Promise<string[]> {
  const [kind = "user"] = source.plan.kinds;
  const table = createCsvWriter(kind, mapping);
  for await (const lines of exportLines(source)) for (const line of lines) table.addColumns(resourceOf(line));
  let isRead = await output.write(table.header());
  for await (const lines of exportLines(source)) {
    if (!isRead) break;
    isRead = await output.write(lines.map((line) => table.line(resourceOf(line))).join(""));
  }
  return [...table.lost];
}

/** The server has the same version as the command, so the line is an object. */
function resourceOf(line: string): JsonObject {
  return JSON.parse(line) as JsonObject;
}

interface ExportOutput {
  /** @returns `false` if the reader closed the pipe. */
  write(text: string): Promise<boolean>;
  /** Completes the file. */
  finish(): Promise<void>;
  /** Deletes what was written. */
  abandon(): Promise<void>;
}

const encoder = new TextEncoder();

function standardOutput(): ExportOutput {
  return {
    async write(text) {
      try {
        await writeAll(Deno.stdout, text);
        return true;
      } catch (fault) {
        if (fault instanceof Deno.errors.BrokenPipe) return false;
        throw fault;
      }
    },
    finish: () => Promise.resolve(),
    abandon: () => Promise.resolve(),
  };
}

/** Writes a temporary file beside `path`, and renames it at the end. */
async function fileOutput(path: string): Promise<ExportOutput> {
  const temporary = `${path}.${crypto.getRandomValues(new Uint8Array(6)).toHex()}.new`;
  const file = await Deno.open(temporary, { write: true, createNew: true, mode: 0o600 });
  return {
    async write(text) {
      await writeAll(file, text);
      return true;
    },
    async finish() {
      await file.sync();
      file.close();
      await Deno.rename(temporary, path);
    },
    async abandon() {
      file.close();
      await Deno.remove(temporary);
    },
  };
}

async function writeAll(stream: { write(octets: Uint8Array): Promise<number> }, text: string): Promise<void> {
  const octets = encoder.encode(text);
  for (let at = 0; at < octets.length;) at += await stream.write(octets.subarray(at));
}

export const exportCommand = adminCommand({ usage: USAGE, plan: planExport, run });

if (import.meta.main) await runMain(exportCommand);
