// `deno task import`: users and groups from a file into a target, beside a running server as well as without one.

import type { Config } from "../platform/config/config.ts";
import { createMapping } from "../scim/schema/mapping.ts";
import { printable } from "./format_result.ts";
import { checkFile, type FileCheck } from "../scim/transfer/validate_rows.ts";
import { createFaultList, type FaultList } from "./error_summary.ts";
import { FileFault, type FileRow, openRowFile, type RowFile } from "../scim/transfer/row_reader.ts";
import {
  createImportRun,
  type ImportCounts,
  type ImportRun,
  ImportStopped,
  type WriteRows,
  writeRowsOf,
} from "./import_job.ts";
import { asksHelp, parseCommandArgs } from "./parse_args.ts";
import { type Progress, terminalProgress } from "./progress.ts";
import { type CommandOutcome, finish, refusal, runCommand, success } from "./run_admin_command.ts";
import { checkTarget } from "./target_names.ts";

const USAGE =
  `Users and groups from a file into a target. Works beside a running server as well as without one.

  deno task import <target> <file>
                [--dry-run]            says what would be created, updated, left alone and refused; changes nothing
                [--update]             replaces who is there already, instead of refusing the row
                [--backends <a,b>]     for these backends of the target only

The whole file is checked first. If a row is faulty, nothing is changed, and the faults are listed with their lines.
E-mail addresses and phone numbers must be valid, as in the console. A value that the user already has is allowed.

CSV: separated by comma, semicolon or tab; UTF-8. The first line names the columns: attributes of the target's mapping
(userName, familyName, givenName, mail, phoneNumber, active, groups, password…) or SCIM paths (emails[].type). Several
values in a cell are separated by "|". With --update, columns that the file has not stay as they are. A file with
groupName and member brings groups; a group may have several rows.

JSON: an array, a ListResponse, or one object a line; users and groups as the identity interface takes them. With
--update a resource is replaced as a whole, except its password.

A user's groups are added to what the user has; a group that is missing is created. After an interruption, run the same
again with --update.

Exit code 0: done; 1: a row was refused, or nothing could be done; 2: wrong use.
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

/** What the arguments ask for, or what is wrong with them. */
export function planImport(args: readonly string[]): ImportPlan | string {
  const parsed = parseCommandArgs(args, OPTIONS);
  if (!parsed.ok) return parsed.problem;
  const { words: [target, file, third], values } = parsed;
  if (target === undefined) return "the target is missing";
  if (file === undefined) return "the file is missing";
  if (third !== undefined) return "there is more than one file";
  const given = values.backends?.flatMap((names) => names.split(","));
  const backends = given?.map((name) => name.trim()).filter((name) => name !== "") ?? null;
  if (backends?.length === 0) return "--backends names no backend";
  return {
    target,
    file,
    isDryRun: values["dry-run"] === true,
    mayUpdate: values.update === true,
    backends,
  };
}

/** Runs an import with the settings of the environment. */
async function run(plan: ImportPlan, progress: Progress): Promise<CommandOutcome> {
  try {
    return await runCommand((api, config) => importFile(plan, { write: writeRowsOf(api), config, progress }));
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
    const faults = createFaultList();
    const [seed = 0] = crypto.getRandomValues(new Uint32Array(1));
    const tell = (done: number) => progress.tell("checking", { done, total: null });
    const contactRefusal = (row: FileRow) => refusalOfContacts(plan, { row, write, covers: file.covers });
    const checked = await checkFile(file, { mapping, faults, seed, tell, contactRefusal });
    if (faults.count > 0) {
      return refusal(`${faultTitle(faults, plan)}. Nothing was changed:\n${faults.text()}`);
    }
    const importRun = createImportRun({ ...plan, write, mapping, covers: file.covers, faults });
    return await writeFile(plan, { file, checked, faults, importRun, progress });
  } catch (fault) {
    if (!(fault instanceof FileFault)) throw fault;
    return refusal(`${printable(fault.message)}\n`);
  }
}

/** Why the target refuses an address or a number of a row; `null` for values that the user already has. */
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
  readonly faults: FaultList;
  readonly importRun: ImportRun;
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
      progress.tell(plan.isDryRun ? "comparing" : "importing", { done: ++done, total });
    }
    await importRun.finish();
  } catch (fault) {
    if (!(fault instanceof ImportStopped)) throw fault;
    return refusal(stoppedText(fault, { plan, counts: importRun.counts, faults }));
  }
  const seconds = (performance.now() - started) / 1000;
  const rate = Math.round(total / Math.max(seconds, 0.001)).toLocaleString("en-US");
  const took = `${seconds.toFixed(1)} s, ${rate} rows a second`;
  const out = `${summary(plan, importRun.counts)} (${took})\n${
    file.notes.map((note) => `\nNote: ${printable(note)}\n`).join("")
  }`;
  if (faults.count === 0) return { out, err: "", exitCode: 0 };
  return { out, err: `${faultTitle(faults, plan)}:\n${faults.text()}`, exitCode: 1 };
}

function faultTitle({ count }: FaultList, { isDryRun }: ImportPlan): string {
  const rows = count === 1 ? "One row" : `${count.toLocaleString("en-US")} rows`;
  return isDryRun ? `${rows} would be refused` : `${rows} cannot be imported`;
}

const number = (value: number) => value.toLocaleString("en-US");

/** What was counted, as one sentence; what backends have not got yet is said of each. */
export function summary({ isDryRun }: Pick<ImportPlan, "isDryRun">, counts: ImportCounts): string {
  const { created, updated, unchanged, refused, filledGroups, madeGroups } = counts;
  const rows = `${number(created)} created, ${number(updated)} updated, ${number(unchanged)} left alone, ${
    number(refused)
  } refused`;
  const groups = filledGroups === 0
    ? ""
    : `; ${number(filledGroups)} ${filledGroups === 1 ? "group" : "groups"} with new members, ${
      number(madeGroups)
    } of them new`;
  const owed = [...counts.owed].map(([backend, count]) =>
    `; ${number(count)} ${count === 1 ? "write" : "writes"} still owed to ${printable(backend)}`
  ).join("");
  return `${isDryRun ? "Dry run, nothing is changed. It would be: " : ""}${rows}${groups}${owed}.`;
}

function stoppedText(
  { line, message }: ImportStopped,
  { plan, counts, faults }: { plan: ImportPlan; counts: ImportCounts; faults: FaultList },
): string {
  const again = plan.isDryRun ? "" : " Run the same again with --update to go on.";
  return `Stopped at line ${line}: ${printable(message)}\nUntil then: ${
    summary(plan, counts)
  }${again}\n${faults.text()}`;
}

if (import.meta.main) {
  const plan = planImport(Deno.args);
  if (asksHelp(Deno.args)) finish(success(USAGE));
  else if (typeof plan === "string") {
    finish({ out: "", err: `Cannot import: ${printable(plan)}.\n\n${USAGE}`, exitCode: 2 });
  } else finish(await run(plan, terminalProgress()));
}
