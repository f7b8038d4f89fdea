// `deno task import`: writes the users and groups of a CSV or JSON file to a target.

import type { Config } from "../platform/config/config.ts";
import { createMapping } from "../scim/schema/mapping.ts";
import { type CommandOutcome, counted, printable } from "./format_result.ts";
import { checkFile, type FileCheck } from "../scim/transfer/validate_rows.ts";
import {
  createRowErrors,
  type ImportCounts,
  ImportJob,
  ImportStopped,
  type RowErrors,
  type WriteRows,
  writeRowsOf,
} from "./import_job.ts";
import { FileError, type FileRow, openRowFile, type RowFile } from "../scim/transfer/row_reader.ts";
import { parseCommandArgs, type Progress, terminalProgress } from "./terminal.ts";
import { checkTarget, refusal, runCommand, runMain } from "./run_admin_command.ts";

const USAGE = `Import users and groups from a CSV or JSON file.

Usage:
  deno task import <target> <file> [options]  Create the users and groups of the file.

Options:
  --dry-run         Show what would be created, updated and refused. Changes nothing.
  --update          Replace users and groups that exist, instead of refusing their rows.
  --backends <a,b>  Write to these backends of the target only.

The command checks the whole file first. If a row is invalid, it changes nothing and lists the errors with their lines.
E-mail addresses and phone numbers must be valid, as in the console. A value that the user already has is allowed.

CSV files are UTF-8. The separator is a comma, a semicolon or a tab. The header names attributes of the mapping of the
target (userName, familyName, givenName, mail, phoneNumber, active, groups, password) or SCIM paths (emails[].type).
In a cell, "|" separates values. With --update, attributes without a column do not change. A file with groupName and
member contains groups; a group can have several rows.

JSON files contain an array, a ListResponse, or one object per line, in the format of SCIM. With --update, a resource is
replaced as a whole, except for its password.

The groups of a user are added to the groups that the user has. Missing groups are created.
After an interruption, run the same command with --update.
The command also fails if a row is refused. The other rows are written.
`;

const OPTIONS = {
  "dry-run": { type: "boolean" },
  update: { type: "boolean" },
  backends: { type: "string", multiple: true },
} as const;

export interface ImportPlan {
  readonly target: string;
  readonly file: string;
  readonly isDryRun: boolean;
  readonly mayUpdate: boolean;
  readonly backends: readonly string[] | null;
}

/** Reads the arguments. A text is the problem with them. */
export function planImport(args: readonly string[]): ImportPlan | string {
  const parsed = parseCommandArgs(args, OPTIONS);
  if (!parsed.ok) return parsed.problem;
  const { words: [target, file, third], values } = parsed;
  if (target === undefined) return "the target is missing";
  if (file === undefined) return "the file is missing";
  if (third !== undefined) return "there is more than one file";
  const given = values.backends?.flatMap((names) => names.split(","));
  const backends = given?.map((name) => name.trim()).filter((name) => name !== "") ?? null;
  if (backends?.length === 0) return "--backends must name a backend";
  return {
    target,
    file,
    isDryRun: values["dry-run"] === true,
    mayUpdate: values.update === true,
    backends,
  };
}

async function run(plan: ImportPlan): Promise<CommandOutcome> {
  const progress = terminalProgress();
  try {
    return await runCommand(
      (api, config) => importFile(plan, { write: writeRowsOf(api), config, progress }),
      {
        targets: [plan.target],
      },
    );
  } finally {
    progress.clear();
  }
}

interface ImportDeps {
  readonly write: WriteRows;
  readonly config: Config;
  readonly progress: Progress;
}

async function importFile(
  plan: ImportPlan,
  { write, config, progress }: ImportDeps,
): Promise<CommandOutcome> {
  const mapping = createMapping(checkTarget(plan.target, config).mapping);
  try {
    const file = await openRowFile(plan.file, { mapping });
    const faults = createRowErrors();
    const [seed = 0] = crypto.getRandomValues(new Uint32Array(1));
    const onChecked = (done: number) => progress.update("Checking", { done, total: null });
    const contactRefusal = (row: FileRow) => refusalOfContacts(plan, { row, write, covers: file.covers });
    const checked = await checkFile(file, { mapping, faults, seed, onChecked, contactRefusal });
    if (faults.count > 0) {
      return refusal(`${errorTitle(faults, plan)}. Nothing was changed:\n${faults.text()}`);
    }
    const importRun = new ImportJob({ ...plan, write, mapping, covers: file.covers, faults });
    return await writeFile(plan, { file, checked, faults, importRun, progress });
  } catch (fault) {
    if (!(fault instanceof FileError)) throw fault;
    return refusal(`${printable(fault.message)}\n`);
  }
}

/** The reason for which the target refuses an e-mail address or a phone number of a row; `null` if it accepts them. */
async function refusalOfContacts(
  { target, backends }: ImportPlan,
  { row: { kind, body }, write, covers }: {
    row: FileRow;
    write: WriteRows;
    covers: readonly string[] | null;
  },
): Promise<string | null> {
  const rows = [{ kind, body, groups: [] }];
  const [outcome] = await write({ target, rows, mayUpdate: true, isDryRun: true, backends, covers });
  return outcome?.did === "refused" && outcome.code === "invalid_value" ? outcome.detail : null;
}

interface Writing {
  readonly file: RowFile;
  readonly checked: FileCheck;
  readonly faults: RowErrors;
  readonly importRun: ImportJob;
  readonly progress: Progress;
}

async function writeFile(plan: ImportPlan, writing: Writing): Promise<CommandOutcome> {
  const { file, checked, faults, importRun, progress } = writing;
  const total = checked.users + checked.groups;
  const started = performance.now();
  let done = 0;
  try {
    for await (const read of file.rows()) {
      if (read.ok) await importRun.add(read.row);
      progress.update(plan.isDryRun ? "Comparing" : "Importing", { done: ++done, total });
    }
    await importRun.finish();
  } catch (fault) {
    if (!(fault instanceof ImportStopped)) throw fault;
    return refusal(stoppedText(fault, { plan, counts: importRun.counts, faults }));
  }
  const seconds = (performance.now() - started) / 1000;
  const rate = Math.round(total / Math.max(seconds, 0.001)).toLocaleString("en-US");
  const took = `${seconds.toFixed(1)} s, ${rate} rows per second`;
  const out = `${importSummary(plan, importRun.counts)} (${took})\n${
    file.notes.map((note) => `\nNote: ${printable(note)}\n`).join("")
  }`;
  if (faults.count === 0) return { out, err: "", exitCode: 0 };
  return { out, err: `${errorTitle(faults, plan)}:\n${faults.text()}`, exitCode: 1 };
}

function errorTitle({ count }: RowErrors, { isDryRun }: ImportPlan): string {
  return `${counted(count, "row")} ${isDryRun ? "would be refused" : "cannot be imported"}`;
}

/** The counts of an import as one sentence, with the pending writes of each backend. */
export function importSummary({ isDryRun }: Pick<ImportPlan, "isDryRun">, counts: ImportCounts): string {
  const { filledGroups, madeGroups } = counts;
  const rows = (["created", "updated", "unchanged", "refused"] as const).map((key) =>
    `${counts[key].toLocaleString("en-US")} ${key}`
  ).join(", ");
  const groups = filledGroups === 0
    ? ""
    : `; ${counted(filledGroups, "group")} with new members, ${
      madeGroups.toLocaleString("en-US")
    } of them new`;
  const pending = [...counts.owed].map(([backend, count]) =>
    `; ${counted(count, "write")} pending for ${printable(backend)}`
  ).join("");
  return `${isDryRun ? "Dry run, nothing is changed. Result would be: " : ""}${rows}${groups}${pending}.`;
}

function stoppedText(
  { line, message }: ImportStopped,
  { plan, counts, faults }: { plan: ImportPlan; counts: ImportCounts; faults: RowErrors },
): string {
  const again = plan.isDryRun ? "" : " To continue, run the same command with --update.";
  return `Stopped at line ${line}: ${printable(message)}\nBefore that: ${
    importSummary(plan, counts)
  }${again}\n${faults.text()}`;
}

if (import.meta.main) await runMain({ usage: USAGE, plan: planImport, run });
