// `deno task import`: writes the users and groups of a CSV or JSON file to a target.

import { COMMAND } from "../platform/command_name.ts";
import { type AdminApi, AdminRefusal, AdminUnreachable, apiValue } from "./admin_connection.ts";
import { type CommandOutcome, counted, printable } from "./format_result.ts";
import { adminCommand, checkTarget, refusal, runCommand, runMain } from "./run_admin_command.ts";
import { parseCommandArgs, type Progress, terminalProgress } from "./terminal.ts";
import { canonicalName } from "../platform/canonical_name.ts";
import type { Config } from "../platform/config/config.ts";
import { createMapping } from "../scim/schema/mapping.ts";
import type { JsonObject, Mapping, ResourceKind } from "../scim/schema/resource.ts";
import type { RowOutcome } from "../scim/transfer/bulk_plan.ts";
import { FileError, type FileRow, openRowFile, type RowFile } from "../scim/transfer/row_reader.ts";
import {
  checkFile,
  type FileCheck,
  type Identified,
  identifyRow,
  validNames,
} from "../scim/transfer/upload.ts";

const USAGE = `Import users and groups from a CSV or JSON file.

Usage:
  ${COMMAND} import <target> <file> [options]  Create the users and groups of the file.

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

interface ImportPlan {
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

export interface ImportCounts {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly refused: number;
  /** Groups that get new members from rows of users, and how many of them this import created. */
  readonly filledGroups: number;
  readonly madeGroups: number;
  /** Pending writes, by the name of the backend. */
  readonly owed: ReadonlyMap<string, number>;
}

/** Ends the import. `line` is the first row with an unknown result. */
class ImportStopped extends Error {
  override readonly name = "ImportStopped";
  constructor(readonly line: number, message: string) {
    super(message);
  }
}

interface ImportJobDeps {
  readonly write: WriteRows;
  readonly target: string;
  readonly mapping: Mapping;
  readonly mayUpdate: boolean;
  readonly isDryRun: boolean;
  readonly backends: readonly string[] | null;
  readonly covers: readonly string[] | null;
  readonly faults: RowErrors;
}

/** Writes rows to the target. A dry run only compares. */
type WriteRows = (
  request: Pick<ImportJobDeps, "target" | "mayUpdate" | "isDryRun" | "backends" | "covers"> & {
    readonly rows: readonly JsonObject[];
  },
) => Promise<readonly RowOutcome[]>;

/** Writes rows through the administration API. */
function writeRowsOf(api: AdminApi): WriteRows {
  return async ({ rows, backends, covers, ...options }) => {
    const json = {
      ...options,
      rows: [...rows],
      covers: covers === null ? null : [...covers],
      ...(backends === null ? {} : { backends: [...backends] }),
    };
    const { outcomes } = await apiValue(api.imports.rows.$post({ json }));
    return outcomes as readonly RowOutcome[];
  };
}

interface Waiting {
  readonly line: number;
  readonly request: JsonObject;
  /** The name of the resource; `null` for a request about members. */
  readonly name: string | null;
}

/** Limits of a batch. A response is fast, and the server can handle other requests in between. A larger row is sent alone. */
const MAX_BATCH_CHARACTERS = 48_000;
const MAX_BATCH_ROWS = 250;
const MAX_IN_FLIGHT = 2;
const MAX_MEMBERS_PER_REQUEST = 5000;

export class ImportJob {
  readonly #deps: ImportJobDeps;
  readonly #rows = { created: 0, updated: 0, unchanged: 0, refused: 0 };
  readonly #memberships = new Memberships();
  /** Canonical names: groups with a row of their own, groups with new members from rows of users, and groups created for those. */
  readonly #sentGroups = new Set<string>();
  readonly #filledGroups = new Set<string>();
  readonly #madeGroups = new Set<string>();
  readonly #pending = new Map<string, number>();
  readonly #inFlight: Promise<void>[] = [];
  #lastKind: ResourceKind | null = null;
  #batch: Waiting[] = [];
  #characters = 0;

  constructor(deps: ImportJobDeps) {
    this.#deps = deps;
  }

  get counts(): ImportCounts {
    return {
      ...this.#rows,
      filledGroups: this.#filledGroups.size,
      madeGroups: this.#madeGroups.size,
      owed: this.#pending,
    };
  }

  async add(row: FileRow): Promise<void> {
    const { line, kind, body } = row;
    const found = identifyRow(row, this.#deps.mapping);
    if (found === null) throw new ImportStopped(line, "The file has changed since it was checked.");
    // Rows of users create missing groups, so rows of the other kind must be finished first.
    if (kind !== this.#lastKind) await this.#drain();
    this.#lastKind = kind;
    if (kind === "group") await this.#putGroup(row, found);
    else await this.#put({ line, name: found.name, request: { kind, body, groups: validNames(row.groups) } });
    if (this.#memberships.isFull) await this.finish();
  }

  /** Sends the remaining rows and memberships. */
  async finish(): Promise<void> {
    await this.#drain();
    for (const { group, members, line } of this.#memberships.take()) {
      // A row of this file brings the group. A dry run does not create it, so there is nothing to compare with.
      if (this.#deps.isDryRun && this.#sentGroups.has(canonicalName(group))) continue;
      for (let from = 0; from < members.length; from += MAX_MEMBERS_PER_REQUEST) {
        const add = members.slice(from, from + MAX_MEMBERS_PER_REQUEST);
        await this.#put({ line, name: null, request: { kind: "members", group, add } });
      }
    }
    await this.#drain();
  }

  async #putGroup({ line, body }: FileRow, { name, members }: Identified): Promise<void> {
    const canonical = canonicalName(name);
    if (this.#sentGroups.has(canonical)) {
      // A further row of the same group adds its members.
      for (const member of members) this.#memberships.add({ group: name, member, line });
      return;
    }
    this.#sentGroups.add(canonical);
    await this.#put({ line, name, request: { kind: "group", body, joins: this.#madeGroups.has(canonical) } });
  }

  async #put(waiting: Waiting): Promise<void> {
    const size = JSON.stringify(waiting.request).length;
    const isFull = this.#batch.length >= MAX_BATCH_ROWS || this.#characters + size > MAX_BATCH_CHARACTERS;
    if (isFull) await this.#send();
    this.#batch.push(waiting);
    this.#characters += size;
  }

  /** Sends the batch. A few requests run at the same time. */
  async #send(): Promise<void> {
    if (this.#batch.length === 0) return;
    if (this.#inFlight.length >= MAX_IN_FLIGHT) await this.#inFlight.shift();
    const request = this.#request(this.#batch);
    // The caller that awaits the request receives the error. Until then, the rejection must not count as unhandled.
    request.catch(() => undefined);
    this.#inFlight.push(request);
    this.#batch = [];
    this.#characters = 0;
  }

  async #drain(): Promise<void> {
    await this.#send();
    while (this.#inFlight.length > 0) await this.#inFlight.shift();
  }

  async #request(sent: readonly Waiting[]): Promise<void> {
    const { write, target, mayUpdate, isDryRun, backends, covers } = this.#deps;
    const rows = sent.map(({ request }) => request);
    const outcomes = await write({ target, rows, mayUpdate, isDryRun, backends, covers }).catch(
      (fault: unknown) => {
        if (fault instanceof AdminRefusal && fault.code === "body_too_large" && sent.length === 1) {
          return TOO_LARGE;
        }
        if (!(fault instanceof AdminUnreachable) && !(fault instanceof AdminRefusal)) throw fault;
        throw new ImportStopped(sent[0]?.line ?? 0, fault.message);
      },
    );
    this.#count(sent, outcomes);
  }

  #count(sent: readonly Waiting[], outcomes: readonly RowOutcome[]): void {
    for (const [at, waiting] of sent.entries()) {
      const outcome = outcomes[at];
      if (outcome === undefined) {
        throw new ImportStopped(
          waiting.line,
          "The server returned an unexpected result. Check that it has the same version.",
        );
      }
      if (outcome.did === "refused") this.#refuse(waiting, outcome.detail);
      else this.#countRow(waiting, outcome);
    }
    const [first] = outcomes;
    const isUnavailable = outcomes.every((one) => one.did === "refused" && UNAVAILABLE.has(one.code));
    if (isUnavailable && first?.did === "refused") throw new ImportStopped(sent[0]?.line ?? 0, first.detail);
  }

  #refuse({ line, name, request }: Waiting, detail: string): void {
    this.#rows.refused++;
    const problem = name === null ? `Group ${JSON.stringify(request["group"])}: ${detail}` : detail;
    this.#deps.faults.add(line, problem);
  }

  #countRow({ line, name, request }: Waiting, outcome: Exclude<RowOutcome, { did: "refused" }>): void {
    const { did, joins = [], joined = [], made = [] } = outcome;
    for (const backend of outcome.owes ?? []) {
      this.#pending.set(backend, (this.#pending.get(backend) ?? 0) + 1);
    }
    if (name === null) {
      const group = canonicalName(String(request["group"]));
      if (did === "created") this.#madeGroups.add(group);
      if (did !== "unchanged") this.#filledGroups.add(group);
      return;
    }
    // A group that rows of users created counts as created by its own row.
    const isOwn = request["joins"] === true && this.#madeGroups.delete(canonicalName(name));
    this.#rows[isOwn ? "created" : did]++;
    for (const group of joins) this.#memberships.add({ group, member: name, line });
    for (const group of joined) this.#filledGroups.add(canonicalName(group));
    for (const group of made) this.#madeGroups.add(canonicalName(group));
  }
}

/** Refusals that apply to every row. */
const UNAVAILABLE: ReadonlySet<string> = new Set(["backend_unreachable", "busy"]);

const TOO_LARGE: readonly RowOutcome[] = [
  { did: "refused", code: "too_large", detail: "The row is too large." },
];

interface RowErrors {
  readonly count: number;
  add(line: number, problem: string): void;
  /** One line per error, at most 50. Empty without errors. */
  text(): string;
}

const MAX_SHOWN = 50;

export function createRowErrors(): RowErrors {
  const shown: string[] = [];
  let count = 0;
  return {
    get count() {
      return count;
    },
    add(line, problem) {
      count++;
      if (count <= MAX_SHOWN) shown.push(`  line ${line}: ${printable(problem)}\n`);
    },
    text() {
      const more = count - MAX_SHOWN;
      return `${shown.join("")}${more > 0 ? `  and ${more.toLocaleString("en-US")} more\n` : ""}`;
    },
  };
}

const MAX_MEMBERSHIPS = 20_000;

/** Memberships from rows of users, collected by group. */
class Memberships {
  #groups = new Map<string, { group: string; members: string[]; line: number }>();
  #size = 0;

  get isFull(): boolean {
    return this.#size >= MAX_MEMBERSHIPS;
  }

  /** @param membership.line the row that names the group. The first one of a group counts. */
  add({ group, member, line }: { group: string; member: string; line: number }): void {
    const canonical = canonicalName(group);
    const found = this.#groups.get(canonical);
    if (found === undefined) this.#groups.set(canonical, { group, members: [member], line });
    else found.members.push(member);
    this.#size++;
  }

  /** Returns the groups in the order in which they were first named, and starts over. */
  take() {
    const taken = [...this.#groups.values()];
    this.#groups = new Map();
    this.#size = 0;
    return taken;
  }
}

export const importCommand = adminCommand({ usage: USAGE, plan: planImport, run });

if (import.meta.main) await runMain(importCommand);
